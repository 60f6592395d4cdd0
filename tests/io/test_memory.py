"""Loading takes no more memory than the file and 64 MB, whatever the file says."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from fuzz.model_files import resealed
from maxmargin import SVC, KernelKNeighborsClassifier, NystroemSVC
from maxmargin.io import load, save
from maxmargin.kernels import Spectrum
from maxmargin.svm.linear.classification import LinearSVC

ALLOWED = 64 << 20
CHILD = """
import resource, sys, time
import numpy as np
from fuzz.model_files import limit_memory
from maxmargin import KernelKNeighborsClassifier, SVC
from maxmargin.io import ModelFileError, load
import maxmargin.io.schema.registry as registry, maxmargin.model_selection, os
for name in registry.ENTRIES:
    registry.class_of(name)
limit_memory(os.path.getsize(sys.argv[1]) + int(sys.argv[2]))
before = time.perf_counter()
try:
    load(sys.argv[1])
except ModelFileError as error:
    print("refused", error)
except MemoryError as error:
    print("too much", error)
else:
    print("read")
print(time.perf_counter() - before, file=sys.stderr)
"""


def loaded_in_child(path, allowed=ALLOWED):
    """What happens in a process that may take the size of the file and ``allowed`` bytes more."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(["tests", *sys.path])}
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(allowed)], capture_output=True, text=True, env=env, check=False
    )
    assert run.stdout, run.stderr
    return run.stdout


class Forgery:
    """A model file put together by hand."""

    def __init__(self, original):
        length = int.from_bytes(original[:8], "little")
        self.header = json.loads(original[8 : 8 + length])
        self.text = json.loads(self.header.pop("__metadata__")["maxmargin"])
        self.arrays = [original[8 + length :]]
        self.size = len(self.arrays[0])

    def add(self, array, dtype):
        """The number of a new array."""
        number, data = len(self.header), np.ascontiguousarray(array).tobytes()
        self.header[str(number)] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [self.size, self.size + len(data)],
        }
        self.arrays.append(data)
        self.size += len(data)
        return number

    def object(self, name):
        return next(entry for entry in self.text["objects"] if entry["class"] == name)

    def write(self, path):
        path.write_bytes(resealed(self.header, self.text, b"".join(self.arrays)))


@pytest.fixture
def forgery(tmp_path):
    path = tmp_path / "small.mm"
    save(SVC(kernel="linear").fit([[0.0], [1.0], [3.0]], [0, 1, 1]), path)
    return Forgery(path.read_bytes())


def _many_texts(forgery):
    """A thousand arrays of texts over one array of letters."""
    letters = forgery.add(np.full(2_000_000, 97, np.uint8), "U8")
    nodes = []
    for k in range(1000):
        ends = forgery.add(np.array([1000 * k, 2_000_000]), "I64")
        nodes.append({"texts": [letters, ends]})
    forgery.object("SVC")["parameters"]["class_weight"] = {"list": nodes}


def _wide_texts(forgery):
    """Letters of which one needs four bytes, and so all do."""
    data = np.full(40_000_000, 97, np.uint8)
    data[:4] = list("\U0001f600".encode())
    letters, ends = forgery.add(data, "U8"), forgery.add(np.array([len(data)]), "I64")
    forgery.object("SVC")["parameters"]["class_weight"] = {"texts": [letters, ends]}


def _wide_short_texts(forgery):
    data = np.frombuffer(("\U0001f600" + "a" * 96).encode() * 300_000, np.uint8)
    letters, ends = forgery.add(data, "U8"), forgery.add(np.arange(1, 300_001) * 100, "I64")
    forgery.object("SVC")["parameters"]["class_weight"] = {"texts": [letters, ends]}


def _empty_texts(forgery):
    letters, ends = forgery.add(np.empty(0, np.uint8), "U8"), forgery.add(np.zeros(20_000_000, np.int64), "I64")
    forgery.object("SVC")["parameters"]["class_weight"] = {"texts": [letters, ends]}


def _many_sets(forgery):
    elements, ends = forgery.add(np.arange(200_000), "I64"), forgery.add(np.arange(1, 200_001), "I64")
    nodes = [{"sets": [{"array": [elements, "C"]}, ends]}, {"sets": [{"array": [elements, "F"]}, ends]}] * 500
    forgery.object("SVC")["parameters"]["class_weight"] = {"list": nodes}


def _labels(dtype, name):
    def change(forgery):
        number = forgery.add(np.arange(20_000_000 // np.dtype(dtype).itemsize, dtype=dtype), name)
        forgery.object("SVC")["state"]["classes_"] = {"array": [number, "C"]}

    return change


def _unsorted_labels(forgery):
    number = forgery.add(np.arange(20_000_000)[::-1].astype(np.int32), "I32")
    forgery.object("SVC")["state"]["classes_"] = {"array": [number, "C"]}


def _text_labels(forgery):
    letters = np.arange(0x20, 0x20 + 500_000, dtype=np.uint32).reshape(-1, 1)
    forgery.object("SVC")["state"]["classes_"] = {"array": [forgery.add(letters, "U32"), "U"]}


def _things(forgery):
    forgery.object("SVC")["parameters"]["class_weight"] = {"things": [{"float": "nan"}] * 40_000}


def _containers(opening, closing):
    def change(forgery):
        forgery.text["junk"] = [json.loads(opening + closing)] * (900_000 // len(opening + closing + ","))

    return change


def _support(forgery):
    """Twenty million support vectors of a precomputed kernel, in no order."""
    n = 20_000_000
    support = np.arange(n, dtype=np.int32)[::-1]
    state = forgery.object("SVC")["state"]
    state["support_"] = {"array": [forgery.add(support, "I32"), "C"]}
    state["dual_coef_"] = {"array": [forgery.add(np.ones((1, n)), "F64"), "C"]}
    state["support_vectors_"] = {"array": [forgery.add(np.ones((n, 1), np.float32), "F32"), "C"]}
    state["shape_fit_"] = {"tuple": [n, 1]}


def _shared_often(forgery):
    """Thousands of objects that refer to one array, which is checked for each."""
    number = forgery.add(np.ones((1_000_000, 1)), "F64")
    expansion = forgery.text["objects"].index(forgery.object("KernelExpansion"))
    copies = []
    for _ in range(2000):
        made = json.loads(json.dumps(forgery.text["objects"][expansion]))
        made["state"]["anchors"] = made["state"]["coefficients"] = {"array": [number, "C"]}
        copies.append(made)
    forgery.text["objects"][expansion + 1 : expansion + 1] = copies
    for entry in forgery.text["objects"][expansion + 1 + len(copies) :]:
        for part in ("state", "parameters"):
            for node in entry[part].values():
                if isinstance(node, dict) and node.get("object", -1) > expansion:
                    node["object"] += len(copies)


FORGERIES = {
    "many texts": _many_texts,
    "wide texts": _wide_texts,
    "wide short texts": _wide_short_texts,
    "empty texts": _empty_texts,
    "many sets": _many_sets,
    "integer labels": _labels(np.int32, "I32"),
    "float labels": _labels(np.float64, "F64"),
    "unsorted labels": _unsorted_labels,
    "text labels": _text_labels,
    "plain values": _things,
    "empty lists": _containers("[", "]"),
    "empty objects": _containers("{", "}"),
    "small objects": _containers('{"":0', "}"),
    "support vectors": _support,
    "shared often": _shared_often,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_refused_within_the_promise(name, forgery, tmp_path):
    FORGERIES[name](forgery)
    path = tmp_path / "forged.mm"
    forgery.write(path)
    assert loaded_in_child(path).startswith("refused" if name != "plain values" else ("refused", "read"))


def _long_texts():
    letters = np.random.default_rng(0).choice(list("abcd"), 50_000)
    texts = ["".join(np.roll(letters, k)) for k in range(40)]
    model = SVC(kernel=Spectrum(1)).fit([text[:50] for text in texts], [0, 1] * 20)
    anchors = np.empty(len(model._expansion.anchors), object)
    anchors[:] = ["".join(texts)] * len(anchors)
    model.support_vectors_ = anchors
    model._expansion.__dict__["anchors"] = anchors
    return model


def _large():
    rng = np.random.default_rng(0)
    return {
        "points": _widened(SVC(kernel="linear"), 4_000_000),
        "texts": _long_texts(),
        "neighbours": KernelKNeighborsClassifier(3).fit(sp.csr_matrix(rng.normal(size=(60_000, 40))), [0, 1] * 30_000),
        "classes": LinearSVC(max_iter=1, tol=1.0),
        "landmarks": NystroemSVC(n_components=5).fit(rng.normal(size=(50, 3)), [0, 1] * 25),
    }


def _widened(model, n):
    model.fit([[0.0], [1.0], [3.0]], [0, 1, 1])
    model._expansion.__dict__["anchors"] = np.ones((n, 1))
    model._expansion.__dict__["coefficients"] = np.ones((n, 1))
    return model


@pytest.mark.parametrize("name", ["points", "texts", "neighbours", "landmarks"])
def test_a_large_model_is_read_within_the_promise(name, tmp_path):
    path = tmp_path / "large.mm"
    model = _large()[name]
    save(model, path)
    assert loaded_in_child(path).startswith("read")
    if name == "neighbours":
        points = sp.csr_matrix(np.ones((3, 40)))
        assert np.array_equal(load(path).predict(points), model.predict(points))
