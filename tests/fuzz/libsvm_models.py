"""A fuzz target for LIBSVM models: files changed at random are refused with ``ModelFileError``, or
give an estimator that answers or refuses new points as usual, and that can be written again.

For a long run: ``PYTHONPATH=tests python tests/fuzz/libsvm_models.py 100000``, which sets a memory limit.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from fuzz.model_files import MEMORY, limit_memory
from maxmargin.io import ModelFileError, read_libsvm_model, write_libsvm_model

HEAD = "svm_type {}\nkernel_type {}\nnr_class {}\ntotal_sv {}\nrho {}\n"
ORIGINALS = [
    HEAD.format("c_svc", "linear", 2, 2, 0.5) + "label 7 3\nnr_sv 1 1\nSV\n1 1:2 \n-1 1:1 3:0.25 \n",
    HEAD.format("c_svc", "rbf\ngamma 0.5", 3, 3, "0.1 -0.2 0.3")
    + "label 1 2 3\nnr_sv 1 1 1\nprobA 1 2 3\nprobB 1 2 3\nSV\n0.5 0.5 1:0.25 4:-1 \n1 -1 2:1 \n-1 1 \n",
    HEAD.format("nu_svc", "polynomial\ndegree 3\ngamma 1\ncoef0 0.5", 2, 2, -1)
    + "label -1 1\nnr_sv 1 1\nSV\n1 1:2 \n-1 2:1e-3 \n",
    HEAD.format("epsilon_svr", "sigmoid\ngamma 0.1\ncoef0 0", 2, 2, 0) + "SV\n0.5 1:1 2:2 \n-0.5 3:1 \n",
    HEAD.format("one_class", "precomputed", 2, 2, 0.2) + "SV\n0.5 0:1 \n0.5 0:3 \n",
    HEAD.format("nu_svr", "linear", 2, 1, 0) + "SV\n0.5 1:1 \n",
]
WORDS = ["", "0", "1", "-1", "2", "nan", "inf", "1e999", "99999999999", "2147483647", "2147483647:1", "0:1", "1:", ":"]
WORDS += ["\n", " ", "\t", "SV", "SV\n", "rho", "label", "nr_sv", "gamma", "degree", "total_sv 0", "1_0", "\0", "\x85"]
WORDS += [
    "c_svc",
    "nu_svc",
    "one_class",
    "epsilon_svr",
    "precomputed",
    "rbf",
    "linear",
    "100000",
    "\r\n",
    "-0",
    "1e-320",
]


def mutated(text, rng):
    """Words and letters replaced, cut or repeated; lines exchanged."""
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        action = rng.integers(5)
        if action < 2:
            words = text.split(" ")
            words[int(rng.integers(len(words)))] = WORDS[int(rng.integers(len(WORDS)))]
            text = " ".join(words)
        elif action == 2:
            lines = text.split("\n")
            i, j = rng.integers(len(lines), size=2)
            lines[i], lines[j] = lines[j], lines[i] if rng.random() < 0.5 else lines[j]
            text = "\n".join(lines)
        elif action == 3:
            at = int(rng.integers(len(text) + 1))
            text = text[:at] + WORDS[int(rng.integers(len(WORDS)))] + text[at + int(rng.integers(4)) :]
        else:
            at, end = sorted(rng.integers(len(text) + 1, size=2).tolist())
            text = text[:at] + (text[at:end] * 2 if rng.random() < 0.5 else "") + text[end:]
    data = text.encode("latin-1")
    if rng.random() < 0.1 and data:
        changed = bytearray(data)
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
        data = bytes(changed)
    return data


def survives(path):
    """Whether the file is read."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = read_libsvm_model(path)
        except ModelFileError:
            return False
        if model.n_features_in_ < 10**6:
            with contextlib.suppress(ValueError, MemoryError, OverflowError):
                model.predict(np.zeros((2, model.n_features_in_)))
        with contextlib.suppress(ModelFileError):
            write_libsvm_model(model, path.with_suffix(".again"))
    return True


def run(count, folder, rng):
    """The number of changed files that were read."""
    path, read = Path(folder) / "libsvm.model", 0
    for i in range(count):
        path.write_bytes(mutated(ORIGINALS[i % len(ORIGINALS)], rng))
        try:
            read += survives(path)
        except BaseException:
            print(path.read_bytes())
            raise
    return read


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        run(500, place, np.random.default_rng(0))  # so that all code is loaded
        limit_memory(MEMORY)
        print(run(int(sys.argv[1]), place, np.random.default_rng()), "of", sys.argv[1], "changed files were read")
