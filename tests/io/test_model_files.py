"""Model files: every estimator comes back to the bit, and no file, damaged or forged, does harm."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
import tracemalloc
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import maxmargin
from fuzz.model_files import mutated, resealed, survives
from maxmargin import (
    SVC,
    SVDD,
    SVR,
    BasisRegression,
    KernelDiscriminantAnalysis,
    KernelKMeans,
    KernelKNeighborsClassifier,
    KernelKNeighborsRegressor,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    MultipleKernelSVC,
    MultipleKernelSVR,
    NuSVC,
    NuSVR,
    Nystroem,
    NystroemRidge,
    NystroemSVC,
    NystroemSVR,
    OneClassSVM,
    QuantileSVR,
    RandomFeatures,
    StreamingKernelSVC,
    kernels,
)
from maxmargin.data.table_encoder import TableEncoder
from maxmargin.inspection.compression import compress
from maxmargin.io import ModelFileError, _container, load, model_file, save
from maxmargin.io._decoder import Decoder
from maxmargin.io._tree import Encoder
from maxmargin.io.schema.estimators import ESTIMATORS
from maxmargin.io.schema.records import RECORDS
from maxmargin.io.schema.registry import ENTRIES, class_of
from maxmargin.io.schema.searches import SCORERS, SEARCHES, SPLITTERS, STEPS
from maxmargin.kernel_methods import feature_maps
from maxmargin.kernels import (
    RBF,
    ArcCosine,
    Centered,
    ChiSquared,
    Columns,
    HistogramIntersection,
    Jaccard,
    Laplacian,
    Linear,
    Matern,
    Mismatch,
    Normalized,
    Periodic,
    Polynomial,
    Power,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Subsequence,
    Tanimoto,
    WeightedDegree,
)
from maxmargin.model_selection import SVCCV, SVRCV, LinearSVCCV, NuSVCCV, OneClassSVMCV
from maxmargin.svm.count_errors import CountErrorsSVC
from maxmargin.svm.linear.classification import LinearSVC
from maxmargin.svm.linear.one_class import LinearOneClassSVM
from maxmargin.svm.linear.regression import LinearSVR
from maxmargin.svm.perceptron import Perceptron

rng = np.random.default_rng(5)
X = np.abs(rng.normal(size=(45, 4)))
NEW = np.abs(rng.normal(size=(20, 4)))
Y3 = rng.integers(0, 3, 45)
T = X[:, 0] - X[:, 1] ** 2
TEXTS = ["".join(rng.choice(list("abcd"), 8)) for _ in range(45)]
SETS = [frozenset(rng.choice(list("abcdefg"), 3).tolist()) for _ in range(45)]
NUMBER_SETS = [frozenset(rng.choice(9, 3).tolist()) for _ in range(45)]
TABLE = pd.DataFrame(X, columns=["a", "b", "c", "d"])
GRAM, NEW_GRAM = X @ X.T, NEW @ X.T

# (estimator, training points, targets, new points)
VECTOR_KERNELS = [
    RBF(),
    RBF(sigma=2.0),
    Laplacian(),
    Linear(),
    Polynomial(2, coef0=1.0),
    Sigmoid(gamma=0.1),
    ChiSquared(),
    HistogramIntersection(),
    Matern(nu=1.5),
    RationalQuadratic(),
    Periodic(),
    ArcCosine(),
    Tanimoto(),
    Centered(RBF()),
    Normalized(Polynomial()),
    RBF() + 2 * Linear(),
    RBF() * Laplacian() + Linear() ** 2,
    Columns(RBF(), [0, 2]) + Columns(HistogramIntersection(), slice(1, None)),
    Centered(Columns(Linear(), [True, False, True, True])),
]
OBJECT_KERNELS = [
    (Spectrum(2), TEXTS),
    (Mismatch(3), TEXTS),
    (Subsequence(2), TEXTS),
    (Normalized(Spectrum(2)) + Subsequence(3), TEXTS),
    (Centered(Spectrum(2)), TEXTS),
    (WeightedDegree(3), TEXTS),
    (Jaccard(), SETS),
    (Jaccard(), NUMBER_SETS),
]
LABELS = [
    np.array(["ä", "bee", "c"])[Y3],
    np.array(["ä", "bee", "c"], dtype=object)[Y3],
    Y3.astype(np.int8),
    Y3.astype(float),
    Y3 > 0,
    np.array([b"x", b"yy", b"z"])[Y3],
]
CASES = [
    *((SVC(kernel=kernel), X, Y3, NEW) for kernel in VECTOR_KERNELS),
    *((SVC(kernel=kernel), things, Y3, things[:20]) for kernel, things in OBJECT_KERNELS),
    *((SVC(multiclass=m), X, y, NEW) for m in ("ovo", "ovr", "crammer_singer") for y in (Y3, Y3 > 0)),
    *((SVC(), X, y, NEW) for y in LABELS),
    (SVC(), X.astype(np.float32), Y3, NEW),
    (SVC(), sp.csr_matrix(X), Y3, sp.csr_matrix(NEW)),
    (SVC(kernel="linear"), sp.csr_array(X), Y3, sp.csr_array(NEW)),
    (SVC(), sp.random_array((45, 3000), density=0.01, rng=1, format="csr"), Y3, None),
    (SVC(), np.repeat(X, 2, axis=0), np.repeat(Y3, 2), NEW),
    (SVC(class_weight={0: 2.0, 1: 1.0, 2: 0.5}), X, Y3, NEW),
    (SVC(class_weight={0: 0.0, 1: 1.0, 2: 1.0}), X, Y3, NEW),
    (SVC(gamma=np.float64(0.3), C=np.int64(2)), X, Y3, NEW),
    (SVC(C=np.inf), X[:6], [0, 0, 0, 1, 1, 1], NEW),
    (SVC(), TABLE, Y3, pd.DataFrame(NEW, columns=TABLE.columns)),
    (SVC(kernel=Columns(RBF(), ["b", "d"])), TABLE, Y3, pd.DataFrame(NEW, columns=TABLE.columns)),
    (SVC(kernel="precomputed"), GRAM, Y3, NEW_GRAM),
    (SVC(kernel=Precomputed()), GRAM, Y3, NEW_GRAM),
    (SVC(warm_start=True), X, Y3, NEW),
    (NuSVC(nu=0.2), X, Y3, NEW),
    *((SVR(kernel=kernel), X, T, NEW) for kernel in ("linear", "poly", "rbf", "sigmoid")),
    (NuSVR(), X, T, NEW),
    (SVR(), X, np.column_stack([T, -T]), NEW),
    (NuSVR(), X, np.column_stack([T, -T]), NEW),
    (LinearSVR(), X, np.column_stack([T, -T]), NEW),
    (LinearSVR(loss="pinball", quantile=0.8), X, T, NEW),
    (QuantileSVR(), X, T, NEW),
    (QuantileSVR(quantiles=[0.2, 0.8], non_crossing=True), X, T, NEW),
    (MultipleKernelSVC(kernels=[RBF(gamma=0.5), "linear"]), X, Y3, NEW),
    (MultipleKernelSVC(norm=2), X, Y3 > 0, NEW),
    (MultipleKernelSVR(), X, T, NEW),
    (SVDD(nu=0.2), X, None, NEW),
    (SVDD(kernel="linear", C=0.2), X, None, NEW),
    (OneClassSVM(nu=0.2), X, None, NEW),
    (OneClassSVM(nu=0.2, kernel=Jaccard()), SETS, None, SETS[:9]),
    (LinearSVC(), X, Y3, NEW),
    (LinearSVC(coef_bounds=(0.0, None)), X, Y3, NEW),
    (LinearSVR(monotonic_cst=np.ones(X.shape[1], int)), X, T, NEW),
    (LinearSVC(warm_start=True), X, Y3 > 0, NEW),
    (LinearSVC(multi_class="crammer_singer"), X, Y3, NEW),
    (Perceptron(max_iter=5), X, Y3, NEW),
    (CountErrorsSVC(), X[:20], Y3[:20] > 0, NEW),
    (KernelRidge(kernel="rbf"), X, T, NEW),
    (KernelRidge(), X, T, NEW),
    (KernelRidge(kernel="precomputed", alpha=[0.1, 2.0]), GRAM, np.column_stack([T, -T]), NEW_GRAM),
    (KernelRidgeCV(kernel="rbf", alphas=np.array([0.1, 1.0])), X, T, NEW),
    (KernelRidgeCV(kernel="rbf"), X, np.column_stack([T, -T]), NEW),
    (Nystroem(n_components=9, random_state=0), X, None, NEW),
    (Nystroem(n_components=9, landmarks="kmeans", random_state=0), X, None, NEW),
    (Nystroem("precomputed", n_components=9, random_state=0), GRAM, None, NEW_GRAM),
    (Nystroem(Spectrum(2), n_components=9, random_state=0), TEXTS, None, TEXTS[:9]),
    (StreamingKernelSVC(n_components=9), X, Y3, NEW),
    (StreamingKernelSVC(features="nystroem", n_components=9), X, Y3 > 0, NEW),
    (NystroemSVC(n_components=9), X, Y3, NEW),
    (NystroemSVC(n_components=9, loss="hinge"), X, Y3 > 0, NEW),
    (NystroemSVC(kernel=Spectrum(2), n_components=9), TEXTS, Y3, TEXTS[:9]),
    (NystroemSVC(n_components="auto"), X, Y3, NEW),
    (NystroemSVR(n_components=9), X, T, NEW),
    (NystroemRidge(n_components=9), X, T, NEW),
    (NystroemRidge(n_components=9), X, np.column_stack([T, -T]), NEW),
    (RandomFeatures(n_components=9, random_state=0), X, None, NEW),
    (RandomFeatures(kernel="laplacian", n_components=8, random_state=0), X, None, NEW),
    (BasisRegression(), X, T, NEW),
    (BasisRegression("gaussian", alpha=0.1), X, T, NEW),
    (BasisRegression(None), X, np.column_stack([T, -T]), NEW),
    (BasisRegression(feature_maps.PolynomialMap(2), alpha=0.1), X, T, NEW),
    (KernelPCA(2, kernel="rbf"), X, None, NEW),
    (KernelPCA(3, kernel="rbf", fit_inverse_transform=True), X, None, NEW),
    (KernelPCA(2, kernel="precomputed"), GRAM, None, NEW_GRAM),
    (KernelPCA(2, kernel=Spectrum(2)), TEXTS, None, TEXTS[:9]),
    (KernelKNeighborsClassifier(3), X, Y3, NEW),
    (KernelKNeighborsClassifier(3, weights="distance", kernel=Jaccard()), SETS, Y3, SETS[:9]),
    (KernelKNeighborsRegressor(3), X, T, NEW),
    (KernelKNeighborsRegressor(3, kernel="laplacian"), sp.csr_matrix(X), np.column_stack([T, -T]), NEW),
    (KernelKMeans(3, kernel="rbf", random_state=0), X, None, NEW),
    (KernelDiscriminantAnalysis(kernel="rbf"), X, Y3, NEW),
    (feature_maps.GaussianBasis(), X, None, NEW),
    (feature_maps.GaussianBasis(centers=sp.csr_matrix(X[:3])), X, None, NEW),
    (feature_maps.GaussianSeriesMap(), X, None, NEW),
    (feature_maps.MonomialMap(2), X, None, NEW),
    (feature_maps.PolynomialMap(2), X, None, NEW),
    (feature_maps.PolarMap(), X[:, :2], None, NEW[:, :2]),
    (feature_maps.RadialMap(), X, None, NEW),
    (make_pipeline(StandardScaler(), SVC()), X, Y3, NEW),
    (make_pipeline(MinMaxScaler(), feature_maps.PolynomialMap(2), LinearSVC()), X, Y3, NEW),
    (make_pipeline(MaxAbsScaler(), "passthrough", KernelRidge(kernel="rbf")), X, T, NEW),
    (make_pipeline(StandardScaler().set_output(transform="pandas"), SVC()), TABLE, Y3, TABLE[:9]),
]
MIXED = TABLE.assign(colour=np.array(["red", "green", "blue"], object)[rng.integers(0, 3, 45)], size=Y3)
CASES += [
    (Pipeline([("columns", columns), ("trained", SVC())]), MIXED, Y3, MIXED[:9])
    for columns in (
        ColumnTransformer([("n", StandardScaler(), ["a", "b"]), ("c", OneHotEncoder(), ["colour", "size"])]),
        ColumnTransformer([("c", OrdinalEncoder(), ["colour"]), ("d", "drop", ["a"])], remainder="passthrough"),
        ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore", drop="first"), ["colour"])], remainder="drop"),
        ColumnTransformer(
            [("c", OneHotEncoder(min_frequency=16, handle_unknown="infrequent_if_exist"), ["colour"])],
            remainder=MinMaxScaler(),
        ),
    )
]


class Grouped(NamedTuple):
    """A search whose folds keep groups together."""

    search: SVCCV


class Streamed(NamedTuple):
    """A model that is to learn from a stream."""

    trained: LinearSVC


class Compressed(NamedTuple):
    """A model that is to lose some of its support vectors."""

    trained: SVC


CASES += [
    (LinearSVR(), X, T, NEW),
    (LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive"), X, T, NEW),
    (LinearOneClassSVM(nu=0.2), X + 3.0, None, NEW),
    (Streamed(LinearSVC()), X, Y3, NEW),
    *((SVC(calibration=method), X, Y3, NEW) for method in ("sigmoid", "isotonic", "temperature")),
    (LinearSVC(calibration="sigmoid"), X, Y3, NEW),
    (Compressed(SVC()), X, Y3, NEW),
    (Streamed(LinearSVC(loss="hinge", intercept_scaling=2.0)), X, Y3 > 0, NEW),
    (Pipeline([("encode", TableEncoder()), ("scale", StandardScaler()), ("trained", SVC())]), MIXED, Y3, MIXED[:9]),
]
GRID = {"Cs": [0.1, 1.0], "gammas": [0.1, 1.0]}
SIDES = np.where(Y3 == 0, -1, 1)
CASES += [
    (SVCCV(**GRID), X, Y3, NEW),
    (SVCCV(**GRID, cv=KFold(3, shuffle=True, random_state=0), refit=True, scoring="balanced_accuracy"), X, Y3, NEW),
    (SVCCV(Cs=[1.0], kernel=["linear", RBF()]), X, np.array(["u", "v", "w"])[Y3], NEW),
    (SVCCV(**GRID), TABLE, Y3, pd.DataFrame(NEW, columns=TABLE.columns)),
    (SVCCV(Cs=[1.0], cv=[(np.arange(30), np.arange(30, 45)), (np.arange(15, 45), np.arange(15))]), X, Y3, NEW),
    (SVCCV(**GRID, cells=100), np.concatenate([X + 0.01 * k for k in range(6)]), np.tile(Y3 > 0, 6), NEW),
    (NuSVCCV(nus=[0.1, 0.2], gammas=[0.5], cv=StratifiedKFold(3)), X, Y3, NEW),
    (SVRCV(**GRID, cv=ShuffleSplit(2, random_state=1)), X, T, NEW),
    (LinearSVCCV(Cs=[0.1, 1.0]), X, Y3, NEW),
    (OneClassSVMCV(nus=[0.1, 0.3], gammas=[0.5, 1.0]), X, None, NEW),
    (OneClassSVMCV(nus=[0.1, 0.3], gammas=[0.5], scoring="rejection"), X, None, NEW),
    (OneClassSVMCV(nus=[0.1, 0.3], gammas=[0.5]), X, SIDES, NEW),
    (OneClassSVMCV(nus=[0.1, 0.3], gammas=[0.5], scoring="roc_auc"), X, SIDES, NEW),
    (KernelRidgeCV(kernel="rbf", scoring="r2", store_cv_results=True), X, T, NEW),
    (KernelRidgeCV(alphas=[0.1, 1.0], store_cv_results=True), X, np.column_stack([T, -T]), NEW),
    *(
        (SVCCV(Cs=[1.0], gammas=[0.5], cv=cv), X[:, :2], Y3 > 0, NEW[:, :2])
        for cv in (LeaveOneOut(), StratifiedShuffleSplit(2, random_state=0), PredefinedSplit(np.arange(45) % 3))
    ),
    (SVRCV(Cs=[1.0], gammas=[0.5], cv=TimeSeriesSplit(3)), X, T, NEW),
    *(
        (Grouped(SVCCV(Cs=[1.0], gammas=[0.5], cv=cv)), X, Y3 > 0, NEW)
        for cv in (*(GroupKFold(3), StratifiedGroupKFold(3), GroupShuffleSplit(2, random_state=0), LeaveOneGroupOut()),)
    ),
]
METHODS = ("predict", "decision_function", "transform", "score_samples", "predict_proba", "kneighbors")


def fitted(case):
    estimator, points, targets, _ = case
    if isinstance(estimator, Streamed):
        return estimator.trained.fit_stream([(points[::2], targets[::2]), (points[1::2], targets[1::2])], epochs=2)
    if isinstance(estimator, Grouped):
        return estimator.search.fit(points, targets, groups=np.arange(45) // 3 % 5)
    if isinstance(estimator, Compressed):
        return compress(estimator.trained.fit(points, targets), points, tolerance=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data: convergence, rank
        return estimator.fit(points) if targets is None else estimator.fit(points, targets)


def same(a, b):
    """Equal to the bit, in type and layout too."""
    if isinstance(a, tuple):
        return all(same(*pair) for pair in zip(a, b, strict=True))
    if sp.issparse(a):
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in ("data", "indices", "indptr"))
    if isinstance(a, pd.DataFrame):
        return a.equals(b)
    if isinstance(a, np.ndarray):
        bits = a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
        return a.dtype == b.dtype and a.shape == b.shape and bits
    return type(a) is type(b) and (a == b or a != a)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mm"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The bytes of a small model's file."""
    path = tmp_path_factory.mktemp("small") / "model.mm"
    save(SVC(kernel="linear").fit([[0.0], [1.0], [3.0]], [0, 1, 1]), path)
    return path.read_bytes()


# Round trips


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(repr(case[0]).split())[:80])
def test_every_estimator_comes_back_to_the_bit(case, path):
    trained, new = fitted(case), case[3] if case[3] is not None else case[1]
    save(trained, path)
    again = load(path)
    assert type(again) is type(trained)
    assert repr(again) == repr(trained)
    used = 0
    for method in METHODS:
        if hasattr(trained, method):
            used += 1
            assert same(getattr(trained, method)(new), getattr(again, method)(new)), method
    assert used
    for name, value in vars(trained).items():
        if (name.endswith("_") and isinstance(value, np.ndarray)) or sp.issparse(value):
            assert same(value, getattr(again, name)), name
    if hasattr(trained, "best_params_"):
        _check_search(trained, again, case)
    assert str(getattr(trained, "report_", "")) == str(getattr(again, "report_", ""))
    for name in ("history_", "coef_", "n_support_", "feature_names_in_"):
        if hasattr(trained, name):
            assert np.array_equal(_plain(getattr(trained, name)), _plain(getattr(again, name))), name
    second = path.with_name("second.mm")
    save(again, second)
    assert second.read_bytes() == path.read_bytes()


def _check_search(search, again, case):
    """A search comes back with its table of results, its best cell and its scores."""
    assert list(search.cv_results_) == list(again.cv_results_)
    for name, column in search.cv_results_.items():
        found = again.cv_results_[name]
        assert type(found) is type(column)
        if isinstance(column, np.ma.MaskedArray):
            assert repr(column.tolist()) == repr(found.tolist())
        elif isinstance(column, list):
            assert repr(column) == repr(found)
        else:
            assert same(column, found), name
    for name in ("best_index_", "best_score_", "n_splits_", "status_", "error_reasons_"):
        assert getattr(search, name) == getattr(again, name)
    assert repr(search.best_params_) == repr(again.best_params_)
    assert same(search.score(case[1], case[2]), again.score(case[1], case[2]))


def _plain(value):
    if isinstance(value, dict):
        return [np.asarray(column).tolist() for column in value.values()]
    if isinstance(value, maxmargin.History):
        return np.array([value[name] for name in value.names]).tobytes()
    return value.toarray() if sp.issparse(value) else value


def test_the_cases_cover_every_class():
    seen = set()

    class Seen(Encoder):
        def _object(self, value, where):
            seen.add(type(value).__name__)
            return super()._object(value, where)

    from maxmargin.io.model_file import _describe

    for case in CASES:
        Seen(_describe).encode(fitted(case), "model")
    assert seen == set(ENTRIES)


def test_every_class_is_in_one_list():
    listed = [*ESTIMATORS, *SEARCHES, *SCORERS, *SPLITTERS, *RECORDS, *STEPS]
    assert len(set(listed)) == len(listed)
    others = {name for name in ENTRIES if not issubclass(class_of(name), BaseEstimator)}
    assert others == {*RECORDS, *SCORERS, *SPLITTERS}
    assert {name for name in ENTRIES if class_of(name).__module__.startswith("sklearn.")} == {*STEPS, *SPLITTERS}


UNSAVED = {"Kernel", "Callable", "VirtualSVC"}  # a base class, and functions that are no data


def test_every_public_estimator_and_kernel_can_be_saved():
    public = {*maxmargin.__all__, *kernels.__all__, *feature_maps.__all__}
    for name in public:
        thing = next(getattr(m, name) for m in (maxmargin, kernels, feature_maps) if hasattr(m, name))
        if isinstance(thing, type) and issubclass(thing, BaseEstimator) and name not in UNSAVED:
            assert class_of(name) is thing


@pytest.mark.parametrize("kernel", [RBF(), Power(RBF(), 2)])
def test_a_kernel_needs_no_fit(kernel, path):
    save(kernel, path)
    assert repr(load(path)) == repr(kernel)
    assert vars(load(path)).keys() == vars(kernel).keys()


@pytest.mark.parametrize(
    "estimator",
    [
        *(SVC(), Perceptron(), KernelPCA(), StandardScaler(), feature_maps.MonomialMap(2), SVCCV(), TableEncoder()),
        *(
            make_pipeline(StandardScaler(), SVC()),
            make_pipeline(StandardScaler(), SVC().fit(X, Y3)),
            ColumnTransformer([]),
        ),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_estimator_that_is_not_fitted_is_refused(estimator, path):
    path.write_bytes(b"the last good model")
    with pytest.raises(NotFittedError, match=r"is not fitted.*call fit first"):
        save(estimator, path)
    assert path.read_bytes() == b"the last good model"


@pytest.mark.parametrize(
    ("estimator", "points", "targets"),
    [
        (OneClassSVM(), X, None),
        (KernelPCA(2, kernel="rbf"), X, None),
        (Perceptron(), X, Y3),
        (KernelKNeighborsClassifier(3), X, Y3),
        (SVC(), X, Y3),
        (SVR(), X, T),
        (LinearSVC(), X, Y3),
        (KernelRidge(), X, T),
        (NystroemSVC(n_components=5), X, Y3),
        (StandardScaler(), X, None),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_a_refused_fit_leaves_never_replaces_a_good_file(estimator, points, targets, path):
    """Each attribute of a fitted model in turn is missing, or is that of a model of other data."""
    model = fitted((estimator, points, targets, None))
    save(model, path)
    good = path.read_bytes()
    few = None if targets is None else targets[:30]
    other = fitted((sklearn.base.clone(estimator), points[:30, :2], few, None))
    for name in [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]:
        for change in ("missing", "other"):
            broken = copy.copy(model)
            if change == "missing":
                del broken.__dict__[name]
            else:
                broken.__dict__[name] = getattr(other, name)
            message = _refused_by_save(broken, path)
            if message is None:  # of no use to predict, such as n_iter_
                load(path)
                path.write_bytes(good)
            else:
                assert "fit it again" in message or "call fit first" in message
                assert path.read_bytes() == good
            assert os.listdir(path.parent) == [path.name]


def _refused_by_save(model, path):
    try:
        save(model, path)
    except ValueError as error:
        return str(error)
    return None


def test_half_a_fit_is_named(path):
    model = OneClassSVM()
    model.n_features_in_ = 3
    with pytest.raises(NotFittedError, match=r"OneClassSVM is half-fitted: it has n_features_in_ and lacks .*fit it"):
        save(model, path)
    assert not os.listdir(path.parent)


def test_what_reads_back_otherwise_is_not_written(path, monkeypatch):
    save(SVC().fit(X, Y3), path)
    good = path.read_bytes()
    monkeypatch.setattr(model_file, "_same_bits", lambda a, b: False)
    with pytest.raises(ModelFileError, match="was not written: this SVC reads back as another one"):
        save(SVC(C=2.0).fit(X, Y3), path)
    assert path.read_bytes() == good


@pytest.mark.parametrize("length", [100, 200, 255])
def test_long_names(length, tmp_path):
    path = tmp_path / ("m" * (length - 3) + ".mm")
    save(SVC(kernel="linear").fit(X, Y3), path)
    save(SVC(kernel="linear").fit(X, Y3), path)
    assert load(path).kernel == "linear"
    path = tmp_path / ("\u00e4" * ((length - 3) // 2) + ".mm")
    save(SVC(kernel="linear").fit(X, Y3), path)
    assert load(path).kernel == "linear"


NAMED = [
    case for case in CASES if isinstance(case[1], np.ndarray) and case[1] is X and isinstance(case[0], BaseEstimator)
]


@pytest.mark.parametrize("case", NAMED[::3], ids=lambda case: " ".join(repr(case[0]).split())[:60])
def test_a_loaded_model_checks_the_names_of_columns(case, path):
    estimator, _, targets, _ = case
    model = fitted((sklearn.base.clone(estimator), TABLE, targets, None))
    save(model, path)
    again = load(path)
    assert list(again.feature_names_in_) == list(TABLE.columns)
    method = next(name for name in ("predict", "transform") if hasattr(again, name))
    getattr(again, method)(TABLE)
    with pytest.raises(ValueError, match="feature names should match"):
        getattr(again, method)(TABLE[["b", "a", "c", "d"]])


def test_shared_points_are_stored_once_and_shared_again(path):
    trained = SVC().fit(X, Y3)
    assert trained.support_vectors_ is trained._expansion.anchors
    save(trained, path)
    again = load(path)
    assert again.support_vectors_ is again._expansion.anchors
    assert again.kernel_ is again._expansion.kernel is again.report_.kernel


def test_a_loaded_perceptron_goes_on_learning(path):
    trained = Perceptron(random_state=0).partial_fit(X[:20], Y3[:20], classes=[0, 1, 2])
    save(trained, path)
    again = load(path)
    assert same(trained.partial_fit(X, Y3).coef_, again.partial_fit(X, Y3).coef_)


def test_a_loaded_model_can_be_fitted_again(path):
    save(SVC(warm_start=True).fit(X, Y3), path)
    again = load(path)
    assert again.last_solution() is None
    assert same(again.fit(X, Y3).predict(NEW), SVC().fit(X, Y3).predict(NEW))


def test_other_libraries_read_the_arrays(path):
    trained = SVC().fit(X, Y3)
    save(trained, path)
    arrays = safetensors.numpy.load_file(path).values()
    assert any(np.array_equal(array, trained.support_vectors_) for array in arrays)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(2**80), 1.5, -0.0, float("nan"), float("inf"), -float("inf"), "text", "\ud800 \x00 ü"),
        *([1, [2.0, "x"]], (1, (None,)), {"a": 1, 2: "b", None: [], True: 0.5}, slice(1, None, 2), []),
        *(np.float32(0.1), np.int8(-3), np.bool_(True), np.float64("nan"), np.float64),
        *(np.empty((0, 3)), np.zeros((2, 0, 3), np.float32), np.array(2.5), np.arange(6, dtype=np.uint16)),
        *(np.asfortranarray(X), X[::2, ::-1], X[:, 1], np.array([True, False]), np.arange(4.0).astype(">f8")),
        *(np.array(["", "ab"]), np.array([["a", "ßb"]]), np.array([b"x"]), np.array("scalar")),
        *(np.array(["a", "", "ü\ud800"], object), np.array([], object), np.array([None, 1, "x", 2.5], object)),
        np.array([frozenset(), frozenset("ab")], object),
        np.array([frozenset([1, "a", 2.5]), frozenset([2**70])], object),
        *(sp.csr_matrix(X), sp.csc_array(X), sp.csr_array((0, 5)), sp.csc_matrix((3, 0), dtype=np.float32)),
        sp.csr_matrix((np.ones(3), [2, 0, 0], [0, 3])),
    ],
)
def test_every_value_comes_back(value):
    encoder = Encoder(None)
    node = json.loads(json.dumps(encoder.encode(value, "value"), allow_nan=False))
    again = Decoder(encoder.arrays, None).decode(node)
    if isinstance(value, np.ndarray):
        assert again.shape == value.shape
        assert again.dtype == value.dtype.newbyteorder("=")
        assert again.tolist() == value.tolist() or value.dtype.kind == "f"
        assert np.array_equal(again, value)
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            assert again.flags.f_contiguous
    elif sp.issparse(value):
        assert type(again) is type(value)
        assert again.shape == value.shape
        assert (again != value).nnz == 0
    else:
        assert same(again, value)
        assert repr(again) == repr(value)


# What cannot be saved


def _product(A, B):
    return A @ B.T


class Own(SVC):
    pass


def _with_note():
    trained = SVC()
    trained.note = "mine"
    return trained


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SVC(kernel=_product), r"SVC\.kernel is a Python function: it cannot be saved; use a kernel object"),
        (SVC(kernel=kernels.Callable(_product)), r"SVC\.kernel is a Python function.*use a kernel object"),
        (SVC(kernel=RBF() + kernels.Callable(_product)), r"SVC\.kernel\.kernels\[1\] is a Python function"),
        (KernelKNeighborsClassifier(weights=np.abs), r"weights is a Python function.*use a plain value"),
        (BasisRegression(np.sin), r"BasisRegression\.basis is a Python function"),
        (SVC(random_state=np.random.RandomState(0)), r"SVC\.random_state is of type numpy\.random"),
        (Own(), r"Own is of class .*Own, which cannot be saved\. Classes that can be are .*SVC.*StandardScaler"),
        (PCA(), r"PCA is of class sklearn.decomposition.*PCA, which cannot be saved"),
        (make_pipeline(PCA(), SVC()), r"Pipeline\.steps\[0\]\[1\] is of class sklearn\..*PCA"),
        (_with_note(), r"SVC has the attribute 'note', which a model file does not hold for SVC: delete it"),
        (SVC(class_weight={(1, 2): 1.0}), r"SVC\.class_weight has a key of type tuple"),
        (SVC(gamma=1j), r"SVC\.gamma is of type builtins\.complex"),
        (SVC(gamma=np.complex128(1j)), r"SVC\.gamma is an array of type complex128"),
        ("SVC", r"The first argument is 'SVC': give the model first, save\(model, path\)"),
        (SVC, r"An estimator is needed"),
    ],
)
def test_what_cannot_be_saved_is_refused_by_name(estimator, message, path):
    with pytest.raises(ModelFileError, match=message):
        save(estimator, path)
    assert not os.listdir(path.parent)


def test_a_model_of_too_many_parts_is_refused(path):
    model = SVC().fit(X, Y3).set_params(class_weight=dict.fromkeys(range(100000), 1.5))
    with pytest.raises(ModelFileError, match="too many parts"):
        save(model, path)


# Writing

LINEAR_SVC, LINEAR_SVR = SVC(kernel="linear").fit(X, Y3), SVR(kernel="linear").fit(X, T)


def test_permissions_are_kept(path):
    mask = os.umask(0o027)
    try:
        save(LINEAR_SVC, path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    save(LINEAR_SVR, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert isinstance(load(path), SVR)
    assert os.listdir(path.parent) == ["model.mm"]


def test_a_link_stays_a_link(path):
    link = path.with_name("link.mm")
    link.symlink_to(path)
    save(LINEAR_SVC, link)
    assert link.is_symlink()
    assert isinstance(load(path), SVC)


def test_a_folder_and_a_missing_folder(tmp_path):
    with pytest.raises(IsADirectoryError):
        save(LINEAR_SVC, tmp_path)
    with pytest.raises(FileNotFoundError):
        save(LINEAR_SVC, tmp_path / "none" / "model.mm")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.mm")
    assert not os.listdir(tmp_path)


def test_a_failure_while_writing_leaves_the_old_file(path, monkeypatch):
    save(LINEAR_SVC, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(LINEAR_SVR, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.mm"]


def test_a_killed_process_leaves_a_whole_file(path):
    """Saves one model after the other and is killed at some moment; what is there is one of them."""
    code = (
        "import sys, numpy as np\n"
        "from maxmargin.kernel_methods.feature_maps import GaussianBasis\n"
        "from maxmargin.io import save\n"
        "maps = [GaussianBasis(centers=np.full((200_000, 2), float(k))).fit(np.zeros((3, 2))) for k in range(2)]\n"
        "print('ready', flush=True)\n"
        "for k in range(100_000):\n"
        "    save(maps[k % 2], sys.argv[1])\n"
    )
    for delay in (0.03, 0.1):
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        child.stdout.readline()
        while not path.exists():
            assert child.poll() is None
            time.sleep(0.001)
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert np.ptp(load(path).centers) == 0


# Reading what is damaged


def test_every_truncation_is_refused(small, path):
    for length in range(len(small)):
        path.write_bytes(small[:length])
        with pytest.raises(ModelFileError):
            load(path)


def test_every_flipped_bit_is_refused(small, path):
    data = bytearray(small)
    with open(path, "wb") as file:
        file.write(data)
    with open(path, "r+b", buffering=0) as file:
        for place in range(len(data)):
            for bit in range(8) if place < 8 else [place % 8]:
                file.seek(place)
                file.write(bytes([data[place] ^ (1 << bit)]))
                with pytest.raises(ModelFileError):
                    load(path)
            file.seek(place)
            file.write(data[place : place + 1])
    assert isinstance(load(path), SVC)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_other_byte_is_refused(small, tmp_path_factory, data):
    place = data.draw(st.integers(0, len(small) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != small[place]))
    path = tmp_path_factory.mktemp("byte") / "model.mm"
    path.write_bytes(small[:place] + bytes([byte]) + small[place + 1 :])
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes"),
        (
            b"svm_type c_svc\nkernel_type rbf\n",
            "not a maxmargin model file but a model of LIBSVM: read it with read_libsvm_model",
        ),
        (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00", "a pickle, which would run code"),
        (b"PK\x03\x04........", "zip archive"),
        (b"\xff" * 100, "does not begin with the length of its header"),
        ((2**63).to_bytes(8, "little") + b"{}", "does not begin with the length of its header"),
        ((2).to_bytes(8, "little") + b"{}", "another program"),
        ((2).to_bytes(8, "little") + b"[]", "not a JSON object"),
        ((4).to_bytes(8, "little") + b"\xff\xff\xff\xff", "not JSON"),
        ((200).to_bytes(8, "little") + b"[" * 200, "nested 200 deep"),
        ((5000).to_bytes(8, "little") + b'{"a":' + b"1" * 4994 + b"}", "impossible number"),
        ((13).to_bytes(8, "little") + b'{"a":1,"a":2}', "a name occurs twice"),
        ((9).to_bytes(8, "little") + b'{"a":NaN}', "NaN is not JSON"),
        (safetensors.numpy.save({"weight": np.zeros(3)}), "another program"),
        (safetensors.numpy.save({"0": np.zeros(3)}, {"maxmargin": "{}"}), "not a maxmargin model file"),
    ],
)
def test_other_files_are_refused(content, message, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert "not a maxmargin model file" in str(caught.value) or "is damaged" in str(caught.value)


def test_a_large_header_is_not_read(path):
    with open(path, "wb") as file:
        file.write((10**9).to_bytes(8, "little"))
        file.truncate(10**9 + 8)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="it has a header of"):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_memory_is_bounded_by_the_file(path):
    trained = SVC(kernel="linear").fit(X, Y3)
    trained._expansion.__dict__["anchors"] = np.asfortranarray(rng.normal(size=(1_000_000, 4)))
    trained._expansion.__dict__["coefficients"] = np.ones((1_000_000, 3))
    save(trained, path)
    tracemalloc.start()
    load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size + 8e6


# Reading what is forged: the digest is right


def forged(data, change):
    """The bytes with the model's text changed, and sealed again."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    text = json.loads(header["__metadata__"]["maxmargin"])
    change(header, text)
    return resealed(header, text, data[8 + length :])


def _object(text, name):
    return next(entry for entry in text["objects"] if entry["class"] == name)


def _set(name, attribute, value, part="state"):
    def change(header, text):
        _object(text, name)[part][attribute] = value

    return change


def _text(key, value):
    def change(header, text):
        text[key] = value

    return change


def _tensor(number, key, value):
    def change(header, text):
        header[str(number)][key] = value

    return change


def _missing(name, attribute):
    def change(header, text):
        del _object(text, name)["state"][attribute]

    return change


def _swap(name, first, second):
    def change(header, text):
        state = _object(text, name)["state"]
        state[first], state[second] = state[second], state[first]

    return change


def test_a_forged_file_that_changes_nothing_is_read(small, path):
    path.write_bytes(forged(small, lambda header, text: None))
    assert isinstance(load(path), SVC)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_text("version", 2), r"written by a newer maxmargin \(.*format 2; this one reads 1\): upgrade"),
        (_text("version", 0), "format version is 0"),
        (_text("version", True), "format version is True"),
        (_text("format", "other"), "not a maxmargin model file"),
        (_text("objects", {}), "no list of objects"),
        (_text("root", 5), "holds no estimator"),
        (_text("root", {"object": 99}), "object 99 does not come before"),
        (_text("root", {"eval": "1"}), "unknown type 'eval'"),
        (_text("root", {"list": {}}), "wrong number of parts"),
        (_tensor(0, "dtype", "F16"), "does not take"),
        (_tensor(0, "dtype", "C64"), "unknown type"),
        (_tensor(0, "shape", [2**40, 2**40]), "impossible shape"),
        (_tensor(0, "shape", [0, 2**60]), "no proper shape"),
        (_tensor(0, "shape", [-1]), "no proper shape"),
        (_tensor(0, "shape", [1.0]), "no proper shape"),
        (_tensor(0, "data_offsets", [0, 2**60]), "no proper shape or place"),
        (_tensor(0, "data_offsets", [8, 0]), "does not take"),
        (_set("SVC", "class", "os.system"), "no attribute 'class'"),
        (_set("SVC", "_expansion", {"array": [0, "C"]}), r"SVC._expansion is not expansion"),
        (_set("SVC", "__class__", 1), "no attribute '__class__'"),
        (_set("SVC", "predict", 1), "no attribute 'predict'"),
        (_set("SVC", "C", {"float": "1e9"}, "parameters"), "is not one of nan, inf"),
        (_set("SVC", "evil", 1, "parameters"), "SVC has no parameter 'evil'"),
        (_set("SVC", "_scheme", "none"), "the scheme 'none' is unknown"),
        (_set("SVC", "_scheme", "crammer_singer"), "do not suit the number of classes"),
        (_set("SVC", "n_features_in_", 2), r"not points \(s, d\).*d = 2"),
        (_set("SVC", "n_features_in_", True), r"not size \(d\)"),
        (_set("SVC", "shape_fit_", {"tuple": [1, 1]}), "support_ is not within shape_fit_"),
        (_set("SVC", "kernel_", None), "SVC.kernel_ is not resolved"),
        (_set("SVC", "report_", "fine"), "SVC.report_ is not FitReport"),
        (_missing("SVC", "support_"), "lacks its attribute support_"),
        (_missing("KernelExpansion", "anchors"), "lacks its attribute anchors"),
        (_swap("SVC", "support_", "_n_support"), r"SVC.support_ is not int32 \(s\)"),
        (_swap("SVC", "classes_", "intercept_"), "SVC.classes_ is not labels"),
        (_swap("KernelExpansion", "coefficients", "intercept"), "coefficients is not float64"),
    ],
)
def test_forged_files_are_refused(change, message, small, path):
    path.write_bytes(forged(small, change))
    with pytest.raises(ModelFileError, match=message):
        load(path)


def _rewritten(trained, path, name, values):
    """The file of a model with the content of one of its arrays replaced."""
    array = getattr(trained, name)
    array = array if isinstance(array, np.ndarray) else array[0]
    save(trained, path)
    data = path.read_bytes()
    assert data.count(array.tobytes()) >= 1
    changed = data.replace(array.tobytes(), np.asarray(values, array.dtype).tobytes())
    path.write_bytes(forged(changed, lambda header, text: None))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("support_", lambda a: a[::-1], "support_ is not in order"),
        ("support_", lambda a: a * 0, "lists a row twice"),
        ("support_", lambda a: a - 1000, "not within shape_fit_"),
        ("dual_coef_", lambda a: a * np.nan, "is not float64"),
        ("intercept_", lambda a: a + np.inf, "is not float64"),
        ("support_vectors_", lambda a: a * np.nan, "is not points"),
        ("classes_", lambda a: a * 0, "is not labels"),
    ],
)
def test_impossible_numbers_are_refused(name, values, message, path):
    trained = SVC(C=0.7).fit(X, np.array([7, 11, 5])[Y3])
    _rewritten(trained, path, name, values(getattr(trained, name)))
    with pytest.raises(ModelFileError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("indices", lambda a: a + 10**6, "outside its shape"),
        ("indices", lambda a: a - 10**6, "outside its shape"),
        ("indices", lambda a: a[::-1], "not in order|outside"),
        ("indptr", lambda a: a[::-1], "do not follow each other"),
        ("indptr", lambda a: np.r_[a[:-1], a[-1] + 10**6], "do not follow each other"),
    ],
)
def test_impossible_sparse_matrices_are_refused(part, values, message, path):
    points = sp.random_array((45, 3000), density=0.01, rng=1, format="csr")
    trained = SVC().fit(sp.csr_matrix(points), Y3)
    array = getattr(trained.support_vectors_, part)
    save(trained, path)
    data = path.read_bytes()
    assert array.tobytes() in data
    path.write_bytes(
        forged(data.replace(array.tobytes(), values(array).astype(array.dtype).tobytes()), lambda header, text: None)
    )
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_a_long_sparse_matrix_is_looked_at_throughout(monkeypatch):
    """Checks go in strips: faults at their ends are found, rows that begin there are none."""
    from maxmargin.io import _decoder

    monkeypatch.setattr(_container, "BLOCK_ENTRIES", 3)
    for seed in range(20):
        matrix = sp.random_array((7, 5), density=0.6, rng=seed, format="csr")
        matrix.sum_duplicates()
        data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
        _decoder._check_sparse(data, indices, indptr, 7, 5)
        for row in np.flatnonzero(np.diff(indptr) > 1):
            bad = indices.copy()
            bad[indptr[row] : indptr[row] + 2] = bad[indptr[row] : indptr[row] + 2][::-1]
            with pytest.raises(ModelFileError, match="not in order"):
                _decoder._check_sparse(data, bad, indptr, 7, 5)


@pytest.mark.parametrize(
    ("kernel", "name", "value"),
    [
        (RBF(), "gamma", "scale"),
        (RBF(), "gamma", -1.0),
        (RBF(), "gamma", {"float": "nan"}),
        (RBF(), "gamma", True),
        (RBF(), "sigma", 1.0),
        (Polynomial(), "degree", None),
        (2 * Linear(), "factor", 0),
        (RBF() + Linear(), "kernels", {"list": []}),
        (RBF() + Linear(), "kernels", {"list": [1]}),
        (Centered(RBF()), "kernel", None),
    ],
)
def test_kernels_that_are_not_ready_are_refused(kernel, name, value, path):
    save(SVC(kernel=kernel).fit(X, Y3), path)

    def change(header, text):
        for entry in text["objects"]:
            if entry["class"] == type(kernel).__name__:
                entry["parameters"][name] = value

    path.write_bytes(forged(path.read_bytes(), change))
    with pytest.raises(ModelFileError):
        load(path)


def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="is a named pipe, not a file"):
        load(path)


def test_an_object_may_not_refer_to_itself(small, path):
    def change(header, text):
        _object(text, "SVC")["parameters"]["kernel"] = {"object": text["objects"].index(_object(text, "SVC"))}

    path.write_bytes(forged(small, change))
    with pytest.raises(ModelFileError, match="does not come before its use"):
        load(path)


def test_another_version_of_scikit_learn_is_told(path):
    save(StandardScaler().fit(X), path)
    path.write_bytes(forged(path.read_bytes(), _text("scikit-learn", "1.2.3")))
    with pytest.warns(InconsistentVersionWarning, match=r"StandardScaler from version 1\.2\.3"):
        load(path)
    save(SVC().fit(X, Y3), path)
    path.write_bytes(forged(path.read_bytes(), _text("scikit-learn", "1.2.3")))
    load(path)  # nothing of scikit-learn's is in it


def test_the_digest_is_that_of_the_file_with_a_blank_in_its_place(small):
    length = int.from_bytes(small[:8], "little")
    header = json.loads(small[8 : 8 + length])
    digest = json.loads(header["__metadata__"]["maxmargin"])["sha256"]
    assert hashlib.sha256(small.replace(digest.encode(), b"0" * 64)).hexdigest() == digest
    assert _container.VERSION == 1


# Fuzzing; MAXMARGIN_FUZZ sets the number of files for a long run


@pytest.mark.parametrize("case", [CASES[0], CASES[12], CASES[14], CASES[18], CASES[-3]], ids=range(5))
def test_files_changed_at_random_do_no_harm(case, path):
    save(fitted(case), path)
    data = path.read_bytes()
    draw = np.random.default_rng(0)
    refused = 0
    count = int(os.environ.get("MAXMARGIN_FUZZ", "1500")) // 5
    for _ in range(count):
        path.write_bytes(mutated(data, draw))
        refused += not survives(path, case[3])
    assert refused > count // 2
