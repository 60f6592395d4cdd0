"""A fuzz target for data files: files of every format, changed at random, are read or refused with ``DataFileError``,
whole and in batches. Nothing else may happen; a crash of the process above all.

For a long run: ``MAXMARGIN_FUZZ=1000000 pytest tests/data/test_data_files.py -k random``, or
``PYTHONPATH=tests python tests/fuzz/data_files.py 100000``, which sets a memory limit.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fuzz.model_files import MEMORY, limit_memory
from maxmargin.data.text import arrow_text
from maxmargin.io import DataFileError, read_batches, read_data

WORDS = [b"", b"nan", b"inf", b"-inf", b"1e999", b"x", b"NA", b"?", b'"', b'""', b",", b";", b"\t", b"|", b":", b"#"]
WORDS += [b"\n", b"\r\n", b"\r", b" ", b"0", b"-1", b"99999999999999999999", b"2147483647:1", b"0:1", b"1:1", b"qid:1"]
WORDS += [b"\xff", b"\xef\xbb\xbf", b"\0", b"true", b"2020-01-01", b"1,5", b"1_0", "ä".encode(), b"\xe2\x80\xa8", b"'"]
QUOTED = b'"a","b","c"\n"x",1.5,"u v"\n"y, z",2,"w"\n"x",-3e-2,"u v"\n'
CSV = b'a,b,"c d",label\n1,2.5,red,x\n3,-4e2,"bl""ue",y\n5,6,red,"x"\n7,8,green,y\n'
NUMBERS = b"".join(b"%d;%d.5;%d\n" % (i, i * i % 7, i % 2) for i in range(20))
SVM = b"1 1:0.5 3:2 # a remark\n-1 2:1\n1 qid:3 4:1e-3\n-1 1:1 2:2 3:3\n"
PACK = {
    ".gz": lambda data: gzip.compress(data, 1),
    ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
}


def originals():
    """Valid files of every format, by name."""
    found = {
        "table.csv": CSV,
        "numbers.csv": NUMBERS,
        "table.tsv": CSV.replace(b",", b"\t"),
        "points.svm": SVM,
        "quoted.csv": QUOTED,
    }
    found |= {f"points.svm{end}": pack(SVM) for end, pack in PACK.items()}
    found |= {f"table.csv{end}": pack(CSV) for end, pack in PACK.items()} | {"points": SVM, "rows.txt": NUMBERS}
    X, y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])
    found["array.npy"] = _written(lambda file: np.save(file, X))
    found["arrays.npz"] = _written(lambda file: np.savez_compressed(file, X=X, y=y))
    found["texts.npz"] = _written(lambda file: np.savez(file, data=X, labels=y.astype(str)))
    found["sparse.npz"] = _written(lambda file: sp.save_npz(file, sp.csr_matrix(X)))
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        return found
    table = pa.table({"a": X[:, 0], "b": [True, False, True, True], "c": ["u", "v", "u", "w"], "label": y})
    table = table.append_column("d", pa.array(["p", "q", "p", "p"]).dictionary_encode())
    found["table.parquet"] = _written(lambda file: pa.parquet.write_table(table, file, row_group_size=2))
    found["plain.parquet"] = _written(lambda file: pa.parquet.write_table(table, file, compression="none"))
    for name, new in (("table.arrow", pa.ipc.new_file), ("stream.arrow", pa.ipc.new_stream)):
        sink = io.BytesIO()
        with new(sink, table.schema) as writer:
            writer.write_table(table)
        found[name] = sink.getvalue()
    return found


def _written(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def mutated(name, data, rng):
    """The bytes changed as they are; or what is packed in them changed, and packed again."""
    if rng.random() < 0.5:
        end = Path(name).suffix
        if end in PACK:
            inner = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[end].decompress(data)
            return PACK[end](changed(inner, rng))
        if end == ".npz":
            out = io.BytesIO()
            with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
                chosen = int(rng.integers(len(old.namelist())))
                for i, member in enumerate(old.namelist()):
                    inner = old.read(member)
                    new.writestr(member, changed(inner, rng) if i == chosen else inner)
            return out.getvalue()
    return changed(data, rng)


def changed(data, rng):
    """A few bytes changed, cut, repeated, or replaced by words that mean something in one of the formats."""
    made = bytearray(data)
    in_place = rng.random() < (0.7 if b"\0" in data else 0.2)  # binary formats notice other changes at once
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        place = int(rng.integers(len(made) + 1))
        action = 3 * (rng.random() < 0.3) if in_place else rng.integers(7)
        if action == 0 and place < len(made):
            made[place] = int(rng.integers(256))
        elif action == 1:
            del made[place : place + int(rng.integers(1, 40))]
        elif action == 2:
            made[place:place] = rng.bytes(int(rng.integers(1, 20)))
        elif action == 3:
            piece = bytes([int(rng.choice([0, 127, 255]))]) * 8
            made[place : place + 8] = piece[: len(made) - place]
        elif action == 4:
            made[place:place] = made[: int(rng.integers(1, 60))]
        else:
            made[place : place + int(rng.integers(0, 4))] = WORDS[int(rng.integers(len(WORDS)))]
    return bytes(made[: int(rng.integers(len(made) + 1))] if rng.random() < 0.05 else made)


def outcome(path, options, arrow):
    """What reading a file ends in, with pyarrow's reader of text tables or without; both must agree."""
    before = arrow_text.ARROW_MIN_BYTES
    arrow_text.ARROW_MIN_BYTES = 0 if arrow else 1 << 60
    try:
        data = read_data(path, **options)
    except DataFileError as error:
        return str(error)
    finally:
        arrow_text.ARROW_MIN_BYTES = before
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    y = None if data.y is None else (data.y.dtype, data.y.tolist())
    return repr((X.dtype, X.tolist(), y, data.columns, data.target))


def survives(path, rng):
    """Whether the file is read; if so, points are finite, and targets are as many."""
    if path.suffix in (".csv", ".tsv", ".txt"):
        plain, arrow = (outcome(path, {}, arrow=choice) for choice in (False, True))
        assert plain == arrow, (plain, arrow)
    options = {"labelled": bool(rng.random() < 0.7)}
    if rng.random() < 0.2:
        options["n_features"] = int(rng.integers(1, 6))
    if rng.random() < 0.2:
        options["target"] = ["label", 0, -1, "a"][int(rng.integers(4))]
    try:
        data = read_data(path, **options)
    except DataFileError as error:
        refusal, data = error, None
    else:
        refusal = "read"
        assert data.X.ndim == 2
        assert data.X.shape[0] > 0
        assert data.y is None or data.y.shape == data.X.shape[:1]
        values = data.X.data if sp.issparse(data.X) else data.X
        assert data.X.dtype == object or np.isfinite(values).all()
    try:
        count = sum(X.shape[0] for X, _ in read_batches(path, 3, **options))
    except DataFileError as error:
        refusal = f"{refusal}{error}"
    else:
        assert data is not None
        assert count == data.X.shape[0]
    assert len(str(refusal).splitlines()) == 1
    return data is not None


def run(count, folder, rng):
    """The number of changed files that were read."""
    read, files = 0, sorted(originals().items())
    for i in range(count):
        name, data = files[i % len(files)]
        path = Path(folder) / name
        path.write_bytes(mutated(name, data, rng))
        try:
            read += survives(path, rng)
        except BaseException:
            print(f"{name}: {path.read_bytes()!r}")
            raise
    return read


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        run(500, place, np.random.default_rng(0))  # so that all code is loaded
        limit_memory(MEMORY)
        print(run(int(sys.argv[1]), place, np.random.default_rng()), "of", sys.argv[1], "changed files were read")
