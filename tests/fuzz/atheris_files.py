"""Coverage-guided fuzzing of the readers of files, with atheris; not part of the tests.

    python -m pip install atheris
    PYTHONPATH=src:tests python tests/fuzz/atheris_files.py model -max_total_time=600 corpus/
    PYTHONPATH=src:tests python tests/fuzz/atheris_files.py libsvm -max_total_time=600
    PYTHONPATH=src:tests python tests/fuzz/atheris_files.py csv -max_total_time=600

The first word chooses the reader: model, libsvm, csv or svmlight; the rest goes to libFuzzer (-rss_limit_mb=1024 limits
memory, -runs=100000 the number of inputs). Bytes of a model file get the right digest before they are read, so that the
fuzzer comes past it. Every input must be read, or refused with ``ModelFileError`` or ``DataFileError``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import warnings

import atheris

with atheris.instrument_imports(include=["maxmargin.io", "maxmargin.data"]):
    from maxmargin.io import (  # noqa: F401  # instrumented
        DataFileError,
        ModelFileError,
        _container,
        _decoder,
        load,
        model_file,
        read_data,
        read_libsvm_model,
        schema,
    )

from fuzz.libsvm_models import ORIGINALS
from fuzz.model_files import originals, resealed

FOLDER = tempfile.mkdtemp()
SUFFIX = {"model": ".mm", "libsvm": ".model", "csv": ".csv", "svmlight": ".svm"}


def read(kind, path):
    if kind == "model":
        load(path)
    elif kind == "libsvm":
        read_libsvm_model(path)
    else:
        read_data(path)


def sealed(data):
    """A model file of bytes: the text of the model, a zero byte, the bytes of its arrays."""
    text, _, arrays = data.partition(b"\0\0\0\0")
    try:
        header, body = json.loads(text)
        return resealed(dict(header), dict(body), arrays)
    except (TypeError, ValueError, RecursionError):
        return data


def seeds(kind):
    """Inputs to begin with."""
    if kind == "libsvm":
        return [text.encode() for text in ORIGINALS]
    if kind == "csv":
        return [b"a,b,label\n1,2,x\n3,4,y\n", b'"a";"b"\n1;"u v"\n2;w\n']
    if kind == "svmlight":
        return [b"1 1:0.5 3:2 # remark\n-1 qid:3 2:1\n"]
    found = []
    for data, _ in originals().values():
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        text = json.loads(header.pop("__metadata__")["maxmargin"])
        found.append(json.dumps([header, text], separators=(",", ":")).encode() + b"\0\0\0\0" + data[8 + length :])
    return found


def main():
    kind = sys.argv.pop(1)
    path = os.path.join(FOLDER, "file" + SUFFIX[kind])
    begin = tempfile.mkdtemp()
    for number, data in enumerate(seeds(kind)):
        with open(os.path.join(begin, str(number)), "wb") as file:
            file.write(data)

    def one_input(data):
        with open(path, "wb") as file:
            file.write(sealed(data) if kind == "model" else data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(ModelFileError, DataFileError):
                read(kind, path)

    atheris.Setup([*sys.argv, begin], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
