"""Fitted models as ONNX graphs, for programs that have no Python.

ONNX has an operator for support vector machines, of float32 by its definition. Here a model is written out in the plain
operators instead, all in double: kernel values (``_onnx_kernels``), then

    values   F = K C + b                                        one column per binary model
    label    one-vs-one      the class with most votes, the first of equals; a vote for i of the pair (i, j) if F > 0
             one-vs-rest     the class of the largest value, the first of equals
             two classes     classes_[1] if F > 0
             one class       1 if F >= 0, else -1

which are the rules of :mod:`maxmargin.svm.models.multiclass`. Votes are counted by a matrix product with zeros and
ones.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.table_encoder import TableEncoder
from maxmargin.io._atomic import write_atomically
from maxmargin.io._container import ModelFileError
from maxmargin.io._onnx_graph import Graph, encoded
from maxmargin.io._onnx_kernels import dense, kernel_product
from maxmargin.kernels import Precomputed
from maxmargin.runtime.validation import Array
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import pairs

KERNEL_ESTIMATORS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge", "KernelRidgeCV")
LINEAR_ESTIMATORS = ("LinearSVC", "LinearSVR", "LinearOneClassSVM", "Perceptron", "CountErrorsSVC")


@overload
def to_onnx(estimator: Any, path: None = None) -> bytes: ...
@overload
def to_onnx(estimator: Any, path: str | os.PathLike[str]) -> None: ...
def to_onnx(estimator: Any, path: str | os.PathLike[str] | None = None) -> bytes | None:
    """Export a fitted model as an ONNX graph in double precision.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, KernelRidgeCV, a linear estimator or Perceptron
        Fitted; or a ``Pipeline`` of scalers and one of these, or a search such as ``GridSearchCV`` that found one.
        Scalers are ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler`` and ``RobustScaler``. The first step may be
        a ``TableEncoder``.
    path : str or path, optional
        The file to write; it is replaced only when the new one is complete.

    Returns
    -------
    model : bytes, or None if it was written to a file
        The serialised model, for ``onnxruntime.InferenceSession`` and ``onnx.load_model_from_string``.

    Raises
    ------
    ModelFileError
        If the model cannot be exported (a kernel on objects, a custom function, another estimator), or exceeds 2 GB,
        the limit of ONNX files.
    ImportError
        If onnx is not installed: ``pip install "maxmargin[onnx]"``.

    Notes
    -----
    With a ``TableEncoder`` of text columns there is an input for each column instead of ``X``: a matrix of one column,
    double for numbers and string for categories and texts, NaN and "" where a value is missing. Prices, dates and times
    must be converted first: such a column is a number, and each further part of a date ("day month") is a separate
    column. The words of texts are found by an operator of onnxruntime, which other runtimes do not have; it requires at
    least one row, and, if there are terms with letters beyond ASCII, the locale C.UTF-8 (Linux).

    The input is ``X``, a double matrix with one row per point; with ``kernel="precomputed"`` the kernel values with the
    training points. Outputs are ``label`` and ``decision``, as ``predict`` and ``decision_function`` give them, or
    ``value`` for a regression. Labels are int64, string, bool or double, like the training labels.

    A call stores the kernel values of all its rows with all support vectors: pass large data in batches. The graph does
    not validate its input: missing values, or negative values in histograms, are not detected.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.io import to_onnx
    >>> model = SVC(gamma=1.0).fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> import numpy as np
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(to_onnx(model))
    >>> label, decision = session.run(None, {"X": np.array([[0.5], [4.0]])})
    >>> label, np.allclose(decision, model.decision_function([[0.5], [4.0]]))
    (array(['low', 'high'], dtype=object), True)
    """
    graph = Graph()
    scalers, model = _opened(estimator)
    check_is_fitted(model)
    if getattr(model, "_objects", False):
        raise ModelFileError(
            f"{type(model).__name__} was fitted on objects that are not vectors, which ONNX operators do not compare."
        )
    first = [*scalers, model][0]
    inputs = [graph.input("X", graph.onnx.TensorProto.DOUBLE, first.n_features_in_)]
    X = "X"
    for step in scalers:
        if isinstance(step, TableEncoder):
            if step is not first:
                raise ModelFileError("A TableEncoder can be exported to ONNX only as the first step.")
            X, inputs = encoded(graph, step, inputs)
        else:
            X = _scaled(graph, step, X)
    values = _values(graph, model, X)
    outputs = _outputs(graph, model, values)
    about = {"estimator": repr(estimator)}
    if hasattr(first, "feature_names_in_"):
        about["feature_names"] = json.dumps(first.feature_names_in_.tolist())
    model = graph.model(inputs, outputs, **about)
    if path is None:
        return model
    write_atomically(path, [model])
    return None


def _opened(estimator: Any) -> tuple[list[Any], Any]:
    """The scalers, and the model after them."""
    *scalers, model = _steps(getattr(estimator, "best_estimator_", estimator))
    return scalers, model


def _steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline, and of pipelines in it, that do anything."""
    if not hasattr(estimator, "steps"):
        return [estimator]
    active = [step for _, step in estimator.steps if step is not None and not isinstance(step, str)]
    return [inner for step in active for inner in _steps(step)]


def _scaled(graph: Graph, scaler: Any, X: str) -> str:
    """X after a scaler, computed as it does itself."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    check_is_fitted(scaler)
    kind = type(scaler)
    if kind is MinMaxScaler:
        X = graph.add("Add", graph.times(X, scaler.scale_), scaler.min_)
        return graph.add("Clip", X, *map(float, scaler.feature_range)) if scaler.clip else X
    if kind not in (StandardScaler, MaxAbsScaler, RobustScaler):
        raise ModelFileError(
            f"The step {scaler!r} cannot be exported to ONNX; StandardScaler, MinMaxScaler, MaxAbsScaler and "
            "RobustScaler can be."
        )
    if kind is StandardScaler and scaler.with_mean:
        X = graph.add("Sub", X, scaler.mean_)
    if kind is RobustScaler and scaler.with_centering:
        X = graph.add("Sub", X, scaler.center_)
    if scaler.scale_ is not None:
        X = graph.times(X, 1.0 / scaler.scale_)
    return graph.add("Clip", X, -1.0, 1.0) if getattr(scaler, "clip", False) else X


def _values(graph: Graph, model: Any, X: str) -> str:
    """The values of all binary models, shape (n, models)."""
    if _is_one_of(model, KERNEL_ESTIMATORS):
        return _expanded(graph, model._expansion, X)
    if _is_one_of(model, LINEAR_ESTIMATORS):
        coef: Any = model.coef_
        weights = np.atleast_2d(coef.toarray() if sp.issparse(coef) else coef)
        return _affine(graph, X, weights.T, np.atleast_1d(model.intercept_))
    known = ", ".join((*KERNEL_ESTIMATORS, *LINEAR_ESTIMATORS))
    raise ModelFileError(f"{type(model).__name__} cannot be exported to ONNX; these can be: {known}.")


def _is_one_of(model: Any, names: tuple[str, ...]) -> bool:
    """Whether this is an estimator of this package by one of these names, or derived from one. Comparing with the
    classes would load them all."""
    bases = type(model).__mro__
    return any(base.__name__ in names and base.__module__.startswith("maxmargin.") for base in bases)


def _expanded(graph: Graph, expansion: KernelExpansion, X: str) -> str:
    C, b, kernel = expansion.coefficients, expansion.intercept, expansion.kernel
    if isinstance(kernel, Precomputed):
        return _affine(graph, graph.add("Gather", X, expansion.anchors, axis=1), C, b)
    if len(C) == 0:
        return _affine(graph, graph.add("Gather", X, np.array([0]), axis=1), np.zeros((1, len(b))), b)
    return graph.add("Add", kernel_product(graph, kernel, X, dense(expansion.anchors), C), b)


def _affine(graph: Graph, X: str, W: Array, b: Array) -> str:
    return graph.add("Add", graph.add("MatMul", X, W.astype(np.float64)), b.astype(np.float64))


def _outputs(graph: Graph, model: Any, values: str) -> list[Any]:
    """What the user is given, with its shapes."""
    types = graph.onnx.TensorProto
    if not hasattr(model, "classes_"):
        if is_outlier_detector(model):
            _column(graph, values, "decision")
            inside = _column(graph, graph.add("GreaterOrEqual", values, 0.0))
            graph.add("Where", inside, np.array(1), np.array(-1), result="label")
            return [graph.output("label", types.INT64, None), graph.output("decision", types.DOUBLE, None)]
        n_values = (
            len(np.ravel(model.intercept_)) if not hasattr(model, "_expansion") else len(model._expansion.intercept)
        )
        single = getattr(model, "_single", n_values == 1)
        if single:
            _column(graph, values, "value")
        else:
            graph.add("Identity", values, result="value")
        return [graph.output("value", types.DOUBLE, None if single else n_values)]
    codes, n_columns = _classified(graph, model, values)
    classes, kind = _labels(graph, model.classes_)
    graph.add("Gather", classes, codes, result="label")
    return [graph.output("label", kind, None), graph.output("decision", types.DOUBLE, n_columns)]


def _column(graph: Graph, values: str, result: str | None = None) -> str:
    return graph.add("Squeeze", values, np.array([1]), result=result)


def _labels(graph: Graph, classes: Array) -> tuple[str, int]:
    """The classes as a constant, and their type."""
    types = graph.onnx.TensorProto
    if classes.dtype.kind in "iu":
        if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
            raise ModelFileError(f"The label {classes.max()} does not fit into 64 bits with a sign.")
        return graph.constant(classes.astype(np.int64)), types.INT64
    if classes.dtype.kind == "b":
        return graph.constant(classes), types.BOOL
    if classes.dtype.kind == "f":
        return graph.constant(classes.astype(np.float64)), types.DOUBLE
    if all(isinstance(label, str) for label in classes.tolist()):
        return graph.constant(classes.astype(object)), types.STRING
    raise ModelFileError(
        f"Labels of type {type(classes[0]).__name__} cannot be exported to ONNX: use strings or integers."
    )


def _classified(graph: Graph, model: Any, values: str) -> tuple[str, int | None]:
    """The class codes, and the number of columns of ``decision``, which is made here too."""
    n_classes = len(model.classes_)
    scheme = getattr(model, "_scheme", "ovr")
    present = getattr(model, "_present", np.ones(n_classes, bool))
    if n_classes == 2 and scheme != "crammer_singer":
        _column(graph, values, "decision")
        # A class that has no weight is never predicted: the other is, whatever the value.
        threshold = 0.0 if present.all() else math.inf if present[0] else -math.inf
        second = _column(graph, graph.add("Greater", values, threshold))
        return graph.add("Cast", second, to=graph.onnx.TensorProto.INT64), None
    shape = getattr(model, "decision_function_shape", "ovr")
    if scheme != "ovo":
        if shape == "ovo" and n_classes > 2:
            raise ModelFileError(
                f"decision_function_shape='ovo' needs one value per pair, which multiclass={model.multiclass!r} does "
                "not have: use decision_function_shape='ovr'."
            )
        possible = graph.add("Where", present, values, -np.inf)
        if n_classes == 2:
            difference = graph.add("MatMul", values, np.array([[-1.0], [1.0]]))
            _column(graph, difference, "decision")
        else:
            graph.add("Identity", possible, result="decision")
        return _largest(graph, possible), None if n_classes == 2 else n_classes
    if shape == "ovo":
        if model.break_ties:
            raise ModelFileError("break_ties must be False when decision_function_shape is 'ovo'.")
        graph.add("Identity", values, result="decision")
        return _largest(graph, _votes(graph, values, present, "Greater")), n_classes * (n_classes - 1) // 2
    decision = _votes_with_confidence(graph, values, present)
    ranking = decision if model.break_ties else _votes(graph, values, present, "Greater")
    return _largest(graph, ranking), n_classes


def _largest(graph: Graph, ranking: str) -> str:
    return graph.add("ArgMax", ranking, axis=1, keepdims=0)  # the first of equals


def _votes(graph: Graph, values: str, present: Array, wins: str) -> str:
    """Votes of each class: W I + (1 - W) J, where W says which pairs i won, and row (i, j) of I and J marks i and j."""
    of_pair = np.array(pairs(len(present)))
    first, second = (np.eye(len(present))[of_pair[:, side]] * present for side in (0, 1))
    won = graph.add("Cast", graph.add(wins, values, 0.0), to=graph.onnx.TensorProto.DOUBLE)
    return graph.add("Add", graph.add("MatMul", won, first - second), second.sum(axis=0))


def _votes_with_confidence(graph: Graph, values: str, present: Array) -> str:
    """Votes, plus the summed confidence squeezed below one third."""
    of_pair, every = np.array(pairs(len(present))), np.eye(len(present))
    confidence = graph.add("MatMul", values, every[of_pair[:, 0]] - every[of_pair[:, 1]])
    bound = graph.add("Mul", graph.add("Add", graph.add("Abs", confidence), 1.0), 3.0)
    votes = _votes(graph, values, present, "GreaterOrEqual")
    return graph.add("Add", votes, graph.add("Div", confidence, bound), result="decision")
