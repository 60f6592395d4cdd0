"""A fuzz target for model files: files changed at random are refused with ``ModelFileError``, or give an estimator
that answers or refuses new points as usual. Nothing else may happen; a crash of the process above all.

For a long run: ``MAXMARGIN_FUZZ=1000000 pytest tests/io/test_model_files.py -k random``, or
``PYTHONPATH=tests python tests/fuzz/model_files.py 100000 [model.mm ...]``, on small models of many kinds or on files
of one's own. The process then has a memory limit, beyond which loading ends in an error.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from maxmargin.io import ModelFileError, load

ODD = [0, 1, -1, 2, 255, 2**31, 2**63, -(2**63), 10**30, 0.5, 1e308, "", "x", "SVC", "RBF", None, True, [], {}]
ODD += [{"float": "nan"}, {"object": 0}, {"object": 3}, {"array": [0, "C"]}, {"array": [1, "F"]}, {"list": []}]


MEMORY = 256 << 20  # bytes that a process of a long run may take beyond what it has at its beginning


def limit_memory(extra):
    """From here on this process may take ``extra`` bytes more than it has; past that there is a MemoryError. Code that
    grows the process without asking (compiled code is loaded, threads are started) must have run before."""
    import resource

    if os.environ.get("MAXMARGIN_ATTACK_UNLIMITED"):  # sanitizers reserve terabytes of addresses
        return
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + extra, resource.RLIM_INFINITY))


def resealed(header, text, arrays):
    """The bytes of a file with this header, text and array bytes, and the right digest."""
    text["sha256"] = "0" * 64
    header["__metadata__"] = {"maxmargin": json.dumps(text, separators=(",", ":"))}
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    data = len(raw).to_bytes(8, "little") + raw + arrays
    digest = hashlib.sha256(data).hexdigest().encode()
    return data.replace(b"0" * 64, digest, 1)


def mutated(data, rng):
    """One of: bytes changed as they are; array bytes changed, nodes of the text changed, arrays' descriptions changed,
    all three with the digest made right again."""
    kind = rng.integers(4)
    if kind == 0:
        return _bytes_changed(data, rng)
    length = int.from_bytes(data[:8], "little")
    header, arrays = json.loads(data[8 : 8 + length]), data[8 + length :]
    text = json.loads(header.pop("__metadata__")["maxmargin"])
    if kind == 1:
        arrays = _bytes_changed(arrays, rng, keep_length=True)
    elif kind == 2:
        for _ in range(rng.integers(1, 4)):
            _node_changed(text["objects"], rng)
    else:
        _node_changed(header, rng)
    return resealed(header, text, arrays)


def _bytes_changed(data, rng, keep_length=False):
    changed = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(len(changed)))
        action = rng.integers(2 if keep_length else 4)
        if action == 0:
            changed[place] = int(rng.integers(256))
        elif action == 1:
            piece = bytes([int(rng.choice([0, 127, 255]))]) * 8
            changed[place : place + 8] = piece[: len(changed) - place]
        elif action == 2:
            del changed[place : place + int(rng.integers(1, 50))]
        else:
            changed[place:place] = rng.bytes(int(rng.integers(1, 50)))
        if not changed:
            break
    return bytes(changed)


def _node_changed(tree, rng):
    """Walk to a random node and put something odd, or another node, in its place."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        child = tree[key]
        if isinstance(child, (dict, list)) and child and rng.random() < 0.85:
            tree = child
            continue
        action = rng.integers(4)
        if action == 0:
            del tree[key]
        elif action == 1:
            tree[key] = copy.deepcopy(tree[keys[int(rng.integers(len(keys)))]])
        elif action == 2 and type(child) is int:
            tree[key] = child + int(rng.choice([-1, 1, 100]))
        else:
            tree[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
        return


def survives(path, points):
    """Whether the file is read; if so the estimator is asked about points, which must end in an answer or an
    exception that scikit-learn's users expect."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            estimator = load(path)
        except ModelFileError:
            return False
        for method in ("predict", "decision_function", "transform"):
            with contextlib.suppress(AttributeError, TypeError, ValueError, MemoryError, ArithmeticError, LookupError):
                getattr(estimator, method)(points)
    return True


def originals():
    """The bytes of small models of many kinds, by name."""
    import scipy.sparse as sp
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    import maxmargin as mm
    from maxmargin.data.table_encoder import TableEncoder
    from maxmargin.io import save
    from maxmargin.kernels import RBF, Centered, Columns, Jaccard, Linear, Spectrum
    from maxmargin.model_selection import SVCCV, OneClassSVMCV

    rng = np.random.default_rng(0)
    X, y = np.abs(rng.normal(size=(24, 3))), np.arange(24) % 3
    texts = ["".join(rng.choice(list("abcd"), 5)) for _ in y]
    sets = [frozenset(text) for text in texts]
    table = np.column_stack([X[:, :2].astype(object), np.array(["red", "blue", "green"], object)[y]])
    columns = ColumnTransformer([("n", StandardScaler(), [0, 1]), ("c", OneHotEncoder(), [2])])
    models = {
        "svc": mm.SVC().fit(X, np.array(["u", "v", "w"])[y]),
        "calibrated": mm.SVC(calibration="isotonic").fit(X, y),
        "composed": mm.SVC(kernel=Centered(RBF()) + Columns(Linear(), [0, 2])).fit(X, y),
        "texts": mm.SVC(kernel=Spectrum(2)).fit(texts, y),
        "sets": mm.SVC(kernel=Jaccard()).fit(sets, y),
        "sparse": mm.NuSVR().fit(sp.csr_matrix(X), X[:, 0]),
        "precomputed": mm.OneClassSVM(nu=0.2, kernel="precomputed").fit(X @ X.T),
        "neighbours": mm.KernelKNeighborsClassifier(3).fit(X, y),
        "ridge": mm.KernelRidgeCV(kernel="rbf").fit(X, X[:, 0]),
        "pca": mm.KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X),
        "landmarks": mm.NystroemSVC(n_components=5).fit(X, y),
        "linear": mm.LinearSVC().fit(X, y),
        "perceptron": mm.Perceptron(max_iter=3).fit(X, y),
        "search": SVCCV(Cs=[0.1, 1.0], gammas=[0.5, 1.0], cv=3).fit(X, y),
        "one-class search": OneClassSVMCV(nus=[0.1, 0.3], gammas=[0.5], cv=3).fit(X),
        "table": Pipeline([("encode", TableEncoder(columns=["a", "b", "c"])), ("svc", mm.SVC())]).fit(table, y),
        "columns": Pipeline([("columns", columns), ("svc", mm.SVC())]).fit(table, y),
    }
    points = {"texts": texts[:3], "sets": sets[:3], "precomputed": np.ones((3, 24)), "table": table[:3]}
    points["columns"] = table[:3]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            save(model, Path(folder) / "model.mm")
            found[name] = (Path(folder) / "model.mm").read_bytes(), points.get(name, X[:3])
    return found


def run(count, folder, rng, files):
    """The number of changed files that were read; ``files`` are pairs of bytes and points."""
    target, read = Path(folder) / "model.mm", 0
    for i in range(count):
        data, points = files[i % len(files)]
        target.write_bytes(mutated(data, rng))
        try:
            read += survives(target, points)
        except BaseException:
            print(target.read_bytes())
            raise
    return read


def main(count, paths, seed=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if paths:
            files = [(Path(path).read_bytes(), np.zeros((3, load(path).n_features_in_))) for path in paths]
        else:
            files = list(originals().values())
        with tempfile.TemporaryDirectory() as folder:
            run(500, folder, np.random.default_rng(0), files)  # so that all code is loaded
            limit_memory(MEMORY)
            read = run(count, folder, np.random.default_rng(seed), files)
    print(f"{read} of {count} changed files were read, the others refused")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
