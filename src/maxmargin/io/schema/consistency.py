"""What the attributes of a fitted estimator must agree on, beyond the shapes that the schema compares.

A k-class estimator has, with t functions over s support vectors and r rows in ``dual_coef_``,

    two classes, one function    t = 1              r = 1
    one-vs-one                   t = k (k - 1) / 2  r = k - 1
    one-vs-rest, joint           t = k              r = k
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.io._container import BLOCK_ENTRIES, ModelFileError, all_in_blocks
from maxmargin.io._decoder import rises
from maxmargin.io._tree import Allowance
from maxmargin.io.schema.words import Lengths, all_rising, check_points_of
from maxmargin.kernels import Precomputed
from maxmargin.kernels.feature_space import _row_keys
from maxmargin.svm import SVC

Values = dict[str, Any]
ROW_KEY_BYTES = 200  # of a digest and a mean in the table by which the Centered kernel finds its reference points
ROWS_AT_ONCE = 1000  # whose digests are computed together


def require(held: Any, what: str) -> None:
    if not held:
        raise ModelFileError(f"is damaged: {what}.")


def kernel_method(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Points of the kind that the kernel compares, and a number of columns unless they are objects."""
    kernel, objects = state["kernel_"], bool(state.get("_objects", False))
    require(objects or "n_features_in_" in state, "n_features_in_ is missing")
    require(kernel.takes_objects if objects else kernel.takes_vectors, "the kernel does not suit the points")
    expansion = state.get("_expansion")
    precomputed = isinstance(kernel, Precomputed)
    if expansion is not None:
        require(precomputed == isinstance(expansion.kernel, Precomputed), "two kernels differ")
        if precomputed:
            require(expansion.anchors.max(initial=-1) < lengths["d"], "an index is beyond the training points")
        else:
            require(objects == (expansion.anchors.dtype == object), "the points are of two sorts")
    points = state.get("X_fit_")
    if points is not None:
        require(objects == (points.dtype == object), "the points are of two sorts")
        require(not precomputed or points.shape[0] == points.shape[1], "the kernel matrix is not square")


def support_vectors(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Support vectors are training rows, each listed once."""
    kernel_method(parameters, state, lengths)
    support, shape = state["support_"], state["shape_fit_"]
    require(len(shape) in (1, 2), "shape_fit_ is no shape of points")
    require(len(support) == 0 or (support.min() >= 0 and support.max() < shape[0]), "support_ is not within shape_fit_")
    require(_all_different(support), "support_ lists a row twice")
    if isinstance(state["kernel_"], Precomputed):
        require(state["support_vectors_"].shape == (0, 0), "a precomputed kernel has no support vectors")
    else:
        require(state["support_vectors_"].shape[0] == len(support), "support_vectors_ and support_ differ in length")


def _all_different(values: Any) -> bool:
    """Whether integers >= 0 occur once each, counted for a range of values at a time."""
    if len(values) <= BLOCK_ENTRIES:
        return len(np.unique(values)) == len(values)
    if all_rising(values):
        return True
    for begin in range(int(values.min()), int(values.max()) + 1, 8 * BLOCK_ENTRIES):
        found = np.zeros(8 * BLOCK_ENTRIES, np.uint8)
        count = 0
        for at in range(0, len(values), BLOCK_ENTRIES):
            part = values[at : at + BLOCK_ENTRIES].astype(np.int64) - begin
            part = part[(part >= 0) & (part < len(found))]
            found[part] = 1
            count += len(part)
        if count != np.count_nonzero(found):
            return False
    return True


def classifier(parameters: Values, state: Values, lengths: Lengths) -> None:
    """SVC, NuSVC."""
    support_vectors(parameters, state, lengths)
    k, scheme = lengths["k"], state["_scheme"]
    require(scheme in ("ovo", "ovr", "crammer_singer"), f"the scheme {scheme[:20]!r} is unknown")
    if scheme == "crammer_singer" or (scheme == "ovr" and k > 2):
        functions, rows = k, k
    else:
        functions, rows = k * (k - 1) // 2, k - 1
    require(lengths["t"] == functions and lengths["r"] == rows, "the coefficients do not suit the number of classes")
    counts = state["_n_support"]
    require(counts.min() >= 0 and counts.sum() == lengths["s"], "n_support_ does not add up")
    require(state["_present"].any(), "no class is present")
    ends = np.cumsum(counts)
    require(rises(state["support_"], ends, least=1), "support_ is not in order")
    _calibrated(state, lengths)


def calibration(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Calibration: maps of the kind that its method makes."""
    kinds = {"sigmoid": "SigmoidMap", "isotonic": "IsotonicMap", "temperature": "TemperatureMap"}
    require(state["method"] in kinds, f"the calibration {state['method'][:20]!r} is unknown")
    require(state["kind"] in ("binary", "pairs", "classes"), f"the calibration of {state['kind'][:20]!r} is unknown")
    known = (kinds[state["method"]], "NoneType")
    require(all(type(own).__name__ in known for own in state["maps"]), "a map does not suit the calibration")


def isotonic_map(parameters: Values, state: Values, lengths: Lengths) -> None:
    """IsotonicMap: a function that does not fall, with values that are probabilities."""
    knots, levels = state["knots"], state["levels"]
    require(len(knots) > 0 and all_rising(knots) and rises(levels, np.empty(0, int), least=0), "the knots do not rise")
    require(levels[0] >= 0 and levels[-1] <= 1, "the levels are no probabilities")


def _calibrated(state: Values, lengths: Lengths) -> None:
    """The calibration of a classifier has a map for each decision value."""
    found = state.get("calibration_")
    if found is None:
        return
    t = lengths["t"]
    kind = "binary" if t == 1 else "pairs" if state.get("_scheme") == "ovo" else "classes"
    maps = 1 if kind == "binary" or (kind == "classes" and found.method == "temperature") else t
    several = np.count_nonzero(state["_present"]) > 1
    require(found.kind == kind and len(found.maps) == maps, "calibration_ does not suit the decision values")
    needed = kind == "binary" or (found.method == "temperature" and kind == "classes")
    require(not (several and needed and found.maps[0] is None), "calibration_ lacks its map")


def one_function(parameters: Values, state: Values, lengths: Lengths) -> None:
    """OneClassSVM, SVDD."""
    functions(parameters, state, lengths)
    require(lengths["t"] == 1, "there is more than one function")


def functions(parameters: Values, state: Values, lengths: Lengths) -> None:
    """SVR, NuSVR, QuantileSVR: functions over the same support vectors."""
    support_vectors(parameters, state, lengths)
    require(lengths["t"] == lengths["r"], "there is not one intercept for each function")
    require(state["_n_support"] == [lengths["s"]], "n_support_ is not the number of support vectors")
    require(all_rising(state["support_"]), "support_ is not in order")


def weighted_kernels(parameters: Values, state: Values, lengths: Lengths) -> None:
    """MultipleKernelSVC, MultipleKernelSVR: weights of the kernels, and a model of the same columns."""
    weights, model = state["kernel_weights_"], state["estimator_"]
    require(bool((weights >= 0).all()), "a kernel has a negative weight")
    require(parameters["kernels"] is None or len(parameters["kernels"]) == len(weights), "kernels and weights differ")
    require(getattr(model, "n_features_in_", None) == state.get("n_features_in_"), "estimator_ has other columns")
    if "classes_" in state:
        require(np.array_equal(model.classes_, state["classes_"]), "estimator_ has other classes")


def linear(parameters: Values, state: Values, lengths: Lengths) -> None:
    """LinearSVC."""
    require("d" in lengths, "n_features_in_ is missing")
    require(lengths["t"] == lengths["k"] or (lengths["t"] == 1 and lengths["k"] == 2), "coef_ does not suit classes_")
    stream = state.get("_stream")
    if stream is not None:
        columns = stream.n_problems(lengths["k"], stream.is_open, stream.intercept)
        suits = stream.U.shape == stream.Z.shape == (lengths["d"] + 1, columns) and len(stream.totals) == lengths["k"]
        require(suits, "the stream does not suit coef_")
    if "_present" in state:
        _calibrated(state, lengths)


def streaming_kernel(parameters: Values, state: Values, lengths: Lengths) -> None:
    """StreamingKernelSVC: a map of its columns, and a linear classifier of the map's features."""
    features, linear = state["features_"], state["linear_"]
    require(type(features).__name__ in ("RandomFeatures", "Nystroem"), "features_ is no feature map")
    require(type(linear).__name__ == "LinearSVC", "linear_ is no LinearSVC")
    require("d" in lengths and features.n_features_in_ == lengths["d"], "features_ does not suit the columns")
    outputs = len(features.get_feature_names_out())
    require(linear.n_features_in_ == outputs, "linear_ does not suit the features")
    require(np.array_equal(linear.classes_, state["classes_"]), "linear_ has other classes")


def linear_function(parameters: Values, state: Values, lengths: Lengths) -> None:
    """LinearSVR, LinearOneClassSVM."""
    require("d" in lengths, "n_features_in_ is missing")
    require(lengths["t"] == 1 or state["coef_"].ndim == 2, "there is not one intercept for each function")


def perceptron(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Perceptron: a run for each binary problem, which can be continued."""
    linear(parameters, state, lengths)
    runs = state["_runs"]
    require(len(runs) == lengths["t"], "there is not one run for each binary problem")
    for run in runs:
        require(type(run).__name__ == "PerceptronRun" and len(run.v) == lengths["d"] + 1, "a run does not suit coef_")
    history = state.get("history_", {})
    if "machine" in history:  # the name of this column in earlier versions
        state["history_"] = {"problem": history["machine"], **{k: v for k, v in history.items() if k != "machine"}}


def _landmarks(points: Any, state: Values, lengths: Lengths) -> None:
    """Landmarks of the kind that the kernel compares."""
    precomputed, objects = isinstance(state["kernel_"], Precomputed), bool(state.get("_objects", False))
    require(precomputed == (points.ndim == 1 and points.dtype != object), "the landmarks do not suit the kernel")
    require(precomputed or objects == (points.dtype == object), "the points are of two sorts")
    require(not precomputed or points.max(initial=-1) < lengths["d"], "an index is beyond the training points")


def landmark_features(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Nystroem: no more features than landmarks."""
    kernel_method(parameters, state, lengths)
    _landmarks(state["components_"], state, lengths)
    require(lengths["r"] <= lengths["m"], "there are more features than landmarks")


def landmark_estimator(parameters: Values, state: Values, lengths: Lengths) -> None:
    """NystroemSVC, NystroemSVR, NystroemRidge."""
    kernel_method(parameters, state, lengths)
    _landmarks(state["landmarks_"], state, lengths)
    if "classes_" in state:
        two = lengths["k"] == 2
        require(lengths["t"] == (1 if two else lengths["k"]), "coefficients_ do not suit classes_")
        require(state["_present"].any(), "no class has weight")
    elif state.get("_single", True):
        require(lengths["t"] == 1, "one target has several functions")


def trials(parameters: Values, state: Values, lengths: Lengths) -> None:
    """ApproximateReport: sizes that were tried."""
    listed = state["trials"]
    held = isinstance(listed, tuple) and all(type(trial).__name__ == "Trial" for trial in listed)
    require(held, "trials is no list of what was tried")


def random_features(parameters: Values, state: Values, lengths: Lengths) -> None:
    """RandomFeatures: two features a frequency, but for the last."""
    found = state["_n_features_out"]
    require(found in (2 * lengths["f"], 2 * lengths["f"] - 1), "frequencies and features differ in number")


def _weighted_outputs(coefficients: str, state: Values) -> None:
    """Coefficients and intercepts of one target or of several, learnt from weighted rows."""
    single, weights = state["_single"], state["_weights"]
    require(state[coefficients].ndim == (1 if single else 2), f"{coefficients} does not suit the number of targets")
    require(isinstance(state["intercept_"], np.ndarray) != single, "intercept_ does not suit the number of targets")
    positive = all_in_blocks(lambda part: part >= 0, weights) and weights.any()
    require(positive, "a weight is negative, or all are zero")


def ridge(parameters: Values, state: Values, lengths: Lengths) -> None:
    """KernelRidge, KernelRidgeCV."""
    kernel_method(parameters, state, lengths)
    require(not state["_single"] or lengths["q"] == 1, "one target has several functions")
    _weighted_outputs("dual_coef_", state)


def basis(parameters: Values, state: Values, lengths: Lengths) -> None:
    """BasisRegression."""
    require("n_features_in_" in state, "n_features_in_ is missing")
    require(hasattr(state["basis_"], "transform"), "basis_ is no transformer")
    _weighted_outputs("coef_", state)


def neighbors(parameters: Values, state: Values, lengths: Lengths) -> None:
    """KernelKNeighborsClassifier, KernelKNeighborsRegressor."""
    kernel_method(parameters, state, lengths)
    codes = state.get("_codes")
    if codes is not None:
        require(len(codes) and codes.min() >= 0 and codes.max() < lengths["k"], "a training point is of no class")
    check_points_of(state["kernel_"], state["X_fit_"])


def columns(parameters: Values, state: Values, lengths: Lengths) -> None:
    """The Columns kernel: its columns exist."""
    indices = state["indices_"]
    require(len(indices) and indices.min() >= 0 and indices.max() < state["n_features_"], "a column does not exist")


def centered(parameters: Values, state: Values, lengths: Lengths) -> None:
    """The Centered kernel: a mean over points that its kernel compares."""
    kernel, reference = parameters.get("kernel"), state["reference_"]
    require(reference.shape[0] > 0, "the Centered kernel has no reference")
    objects = reference.dtype == object
    suits = getattr(kernel, "takes_objects" if objects else "takes_vectors", False)
    require(suits, "the Centered kernel does not suit its reference")


def restore_reference_means(kernel: Any, allowance: Allowance) -> None:
    """The means that the Centered kernel looks up by the points' content."""
    if hasattr(kernel, "reference_"):
        n = kernel.reference_.shape[0]
        allowance.take(n, ROW_KEY_BYTES)
        kernel._known = {}
        for begin in range(0, n, ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            keys = _row_keys(kernel.reference_[rows])
            if keys is None:
                break
            kernel._known.update(zip(keys, kernel.means_[rows].tolist(), strict=True))


def restore_neighbor_search(estimator: Any, allowance: Allowance) -> None:
    """The search structure of nearest neighbours, computed when the first neighbours are searched: it may hold the
    training points in another form, and a file is to be read without."""
    from maxmargin.kernel_methods.neighbors.search import FeatureSpace

    class DeferredSpace(FeatureSpace):
        """A search structure that is computed when one of its attributes is read."""

        def __init__(self, kernel: Any, X: Any) -> None:
            self._arguments = (kernel, X)

        def __getattr__(self, name: str) -> Any:
            if "_arguments" not in self.__dict__:
                raise AttributeError(name)
            kernel, X = self.__dict__.pop("_arguments")
            super().__init__(kernel, X)
            return getattr(self, name)

    if hasattr(estimator, "X_fit_"):
        estimator._space = DeferredSpace(estimator.kernel_, estimator.X_fit_)


def search(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Searches: a table of results with a row for each cell of the grid, and an estimator for the same data."""
    results, best = state["cv_results_"], state.get("best_estimator_")
    columns = list(results.values())
    require(all(isinstance(name, str) for name in results), "a column of cv_results_ has no name")
    require(isinstance(results.get("params"), list), "cv_results_ lists no params")
    n = len(results["params"])
    require(all(isinstance(cell, dict) for cell in results["params"]), "params of cv_results_ are no dicts")
    arrays = [column for column in columns if not isinstance(column, list)]
    require(all(isinstance(a, np.ndarray) and a.shape == (n,) for a in arrays), "cv_results_ has unequal columns")
    require(state["best_index_"] < n, "best_index_ is beyond cv_results_")
    if best is None:
        return
    require(getattr(best, "n_features_in_", None) == state.get("n_features_in_"), "best_estimator_ has other columns")
    if "classes_" in state:
        same = getattr(best, "classes_", None)
        require(same is not None and np.array_equal(same, state["classes_"]), "best_estimator_ has other classes")


def partition(parameters: Values, state: Values, lengths: Lengths) -> None:
    """A tree of cuts: each node and each cell comes once, and after the node that leads to it."""
    after, n = state["after"], lengths["p"]
    nodes = np.sort(after[after >= 0])
    require(np.array_equal(nodes, np.arange(1, n)), "a node of the partition is missing")
    require(np.array_equal(np.sort(~after[after < 0]), np.arange(n + 1 if n else 0)), "a cell is missing")
    require(((after < 0) | (after > np.arange(n)[:, None])).all(), "the partition is no tree")


def cells(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Models of cells: one for each cell of the partition, of the same columns and of some of the classes."""
    models, tree = state["models_"], state["_partition"]
    require("d" in lengths, "n_features_in_ is missing")
    require(len(models) == lengths["c"] == len(tree.column) + 1, "cells and models differ in number")
    require(tree.column.max(initial=-1) < lengths["d"], "a column of the partition is beyond those of the points")
    require(state["_constant"].max(initial=0) < lengths["k"], "a cell has a class that does not exist")
    for model in models:
        require(model is None or isinstance(model, SVC), "the model of a cell is no SVC")
        if model is not None:
            require(getattr(model, "n_features_in_", None) == lengths["d"], "the model of a cell has other columns")
            require(np.isin(model.classes_, state["classes_"]).all(), "the model of a cell has other classes")


def restore_scorer(estimator: Any, allowance: Allowance) -> None:
    """The scorer of a fitted search, by its parameter ``scoring``."""
    if not hasattr(estimator, "cv_results_") or hasattr(estimator, "scorer_"):
        return
    from maxmargin.model_selection.results import scorer_of

    estimator.scorer_ = scorer_of(estimator, estimator.scoring)


def pipeline(parameters: Values, state: Values, lengths: Lengths) -> None:
    """A list of named steps."""
    steps = parameters.get("steps")
    require(isinstance(steps, list) and steps, "a pipeline has no steps")
    for step in steps or []:
        require(isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str), "a step is no pair")
        require(step[1] is None or isinstance(step[1], (str, BaseEstimator)), "a step is no estimator")


def column_transformer(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Triples of a name, a transformer and its columns."""
    for step in [*parameters.get("transformers", []), *state["transformers_"]]:
        require(isinstance(step, tuple) and len(step) == 3 and isinstance(step[0], str), "a transformer is no triple")
        require(isinstance(step[1], (str, BaseEstimator)), "a transformer is no estimator")


def encoder(parameters: Values, state: Values, lengths: Lengths) -> None:
    """Categories of every column."""
    categories = state["categories_"]
    require(all(isinstance(part, np.ndarray) and part.ndim == 1 for part in categories), "categories_ are no arrays")
    require(lengths.get("d", len(categories)) == len(categories), "categories_ do not suit the columns")
