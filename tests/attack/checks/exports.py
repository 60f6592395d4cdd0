"""Laws of saved models: a file gives the model back, in our format to the last bit, in others to rounding."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import maxmargin
from attack.apart import scheme_of
from attack.case import answers_of, handed, need, quiet, within
from attack.functions import values
from attack.state import differences, public, state_of
from maxmargin.io import ModelFileError, read_libsvm_model, to_onnx, write_libsvm_model
from reference import libsvm_text

FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where files cost no disk
LIBSVM_KERNELS = ("Linear", "Polynomial", "RBF", "Sigmoid")
NOT_IN_ONNX = ("Matern", "RationalQuadratic", "Tanimoto")


def saved(trial):
    """A saved and loaded model has the same parameters, the same public attributes and the same answers, bit by bit;
    and saving it again gives the same file."""
    case, model = trial.case, trial.model
    X = handed(case, case.new)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        first, second = Path(folder) / "first.mm", Path(folder) / "second.mm"
        maxmargin.save(model, first)
        again = maxmargin.load(first)
        maxmargin.save(again, second)
        assert second.read_bytes() == first.read_bytes(), "saving a loaded model gives another file"
    found = differences(*(state_of(quiet(lambda m=m: answers_of(m, X))) for m in (model, again)))
    assert not found, f"a loaded model answers differently: {found}"
    names = [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
    lost = [name for name in names if not hasattr(again, name)]
    assert not lost, f"a loaded model has no {lost}"
    changed = [name for name in names if differences(public(getattr(model, name)), public(getattr(again, name)))]
    assert not changed, f"a loaded model has other values of {changed}"
    assert repr(again.get_params()) == repr(model.get_params()), "a loaded model has other parameters"


def libsvm(trial):
    """LIBSVM's text of a model, evaluated as LIBSVM defines it, gives the same decision values; and so does the model
    that is read back from it."""
    case, model = trial.case, trial.model
    classes = getattr(model, "classes_", None)
    need(not case.precomputed and type(model.kernel_).__name__ in LIBSVM_KERNELS)
    need(classes is None or (scheme_of(case, len(classes)) == "ovo" and classes.dtype.kind in "iu"))
    need(float(getattr(model.kernel_, "degree", 3)).is_integer())
    want, bound = values(trial)
    want = np.asarray(want, np.float64)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        path = Path(folder) / "model"
        write_libsvm_model(model, path)
        text = path.read_text()
        again = read_libsvm_model(path, n_features=case.X.shape[1])
    sign = -1.0 if classes is not None and len(classes) == 2 and libsvm_text.labels(text)[0] == classes[0] else 1.0
    within(sign * libsvm_text.decisions(text, case.new), want, 4 * bound + 1e-300, "decision values of LIBSVM's text")
    f = np.asarray(getattr(again, "decision_function", again.predict)(case.new))
    if f.ndim == 1:
        within(f[:, None], want, 4 * bound + 1e-300, "decision values of the model read back")


def onnx(trial):
    """The ONNX graph of a model gives the same decision values and labels; kernels that ONNX lacks are refused."""
    case, model = trial.case, trial.model
    if any(name in str(case.params.get("kernel")) for name in NOT_IN_ONNX):
        try:
            to_onnx(model)
        except ModelFileError:
            return
        assert len(getattr(model, "support_", "?")) == 0, "a kernel that cannot be exported is exported"
    plain = onnxruntime.SessionOptions()  # its optimiser takes an intercept below 1e-38 for zero
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(to_onnx(model), plain, providers=["CPUExecutionProvider"])
    X = handed(case.but(sparse=False), case.new).astype(np.float64)
    got = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": X}), strict=True))
    want, bound = values(trial)
    f = trial.decision()
    if f.ndim == 1:
        bound = bound.sum(axis=1)
        within(got.get("decision", got.get("value")), f, 4 * bound + 1e-300, "decision values of ONNX")
    if "label" in got and want.shape[1] == 1:
        sure = np.abs(np.asarray(want, np.float64)[:, 0]) > 4 * bound
        labels = model.predict(handed(case, case.new))
        assert np.array_equal(got["label"][sure].astype(str), labels[sure].astype(str)), "labels of ONNX differ"
