"""Models as ONNX graphs: onnxruntime's labels and values are those of the estimators, to 1e-9."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

from maxmargin import SVC, SVR, KernelPCA, KernelRidge, KernelRidgeCV, LinearSVC, NuSVC, NuSVR, OneClassSVM, Perceptron
from maxmargin.data.table import Table
from maxmargin.data.table_encoder import TableEncoder
from maxmargin.io import ModelFileError, _onnx_graph
from maxmargin.io.onnx import to_onnx
from maxmargin.kernels import (
    RBF,
    Callable,
    Centered,
    ChiSquared,
    Columns,
    HistogramIntersection,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Power,
    Product,
    Sigmoid,
    Spectrum,
)

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

rng = np.random.default_rng(7)
X = np.abs(rng.normal(size=(80, 4)))
NEW = np.abs(rng.normal(size=(60, 4)))
T = np.sin(X[:, 0]) - X[:, 1]
NAMES = ["linear", "poly", "rbf", "sigmoid", "laplacian", "chi2", "intersection"]


def random_labels(n_classes, seed=0, n=80):
    """Labels that have little to do with the points, so that votes are often equal."""
    labels = np.random.default_rng(seed).integers(0, n_classes, n)
    labels[:n_classes] = range(n_classes)
    return labels


def run(estimator, Z=NEW):
    """The outputs by name, from onnxruntime with all its optimisations."""
    session = onnxruntime.InferenceSession(to_onnx(estimator))
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": Z}), strict=True))


def close(values, expected):
    assert values.shape == expected.shape
    assert values.dtype == np.float64
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(values[~finite], expected[~finite])
    scale = np.abs(expected[finite]).max(initial=1.0)
    np.testing.assert_allclose(values[finite], expected[finite], rtol=1e-9, atol=1e-9 * scale)


def agrees(estimator, Z=NEW):
    outputs = run(estimator, np.asarray(Z, np.float64))
    if "value" in outputs:
        close(outputs["value"], estimator.predict(Z))
    else:
        close(outputs["decision"], estimator.decision_function(Z))
        assert outputs["label"].tolist() == estimator.predict(Z).tolist()


# Every kernel, every scheme


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_kernels_by_name(kernel, n_classes):
    agrees(SVC(kernel=kernel, C=3.0).fit(X, random_labels(n_classes)))


SCHEMES = [
    {},
    {"decision_function_shape": "ovo"},
    {"break_ties": True},
    {"multiclass": "ovr"},
    {"multiclass": "crammer_singer"},
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_schemes(scheme, n_classes):
    trained = SVC(C=5.0, gamma=2.0, **scheme).fit(X, random_labels(n_classes))
    if n_classes > 3 and not scheme:
        votes = np.floor(trained.decision_function(NEW) + 1 / 3)
        assert ((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()  # there are ties to break
    agrees(trained)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 5),
    columns=st.integers(1, 6),
    kernel=st.sampled_from(NAMES),
    scheme=st.sampled_from(SCHEMES),
    form=st.sampled_from(["dense", "sparse", "float32"]),
    offset=st.sampled_from([0.0, 1000.0]),
)
def test_random_models(seed, n_classes, columns, kernel, scheme, form, offset):
    draw = np.random.default_rng(seed)
    offset *= kernel in ("rbf", "laplacian")  # other kernels lose digits there, whoever computes them
    points, new = (offset + draw.exponential(size=(n, columns)) for n in (40, 15))
    if form == "sparse":
        points, new = (np.where(draw.random(Z.shape) < 0.5, 0.0, Z) for Z in (points, new))
    trained = SVC(kernel=kernel, max_iter=300, tol=0.1, **scheme)
    given_as = {"dense": np.asarray, "sparse": sp.csr_array, "float32": np.float32}[form]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early: any coefficients will do
        trained.fit(given_as(points), random_labels(n_classes, seed, 40))
    agrees(trained, new)


KERNELS = [
    3.0 * Linear(),
    Power(2.0 * Columns(Linear(), [0, 2]), 2),
    0.3 * RBF(gamma=0.7),
    RBF(gamma=0.5) + 0.1 * Linear(),
    0.5 * (RBF(gamma=1.0) * Linear()) + Columns(Laplacian(gamma=0.3), slice(1, 3)),
    Product([0.1 * Linear(), 0.7 * RBF(gamma=0.1)]),
    Columns(HistogramIntersection(), [3]) * ChiSquared(),
    RBF(gamma=1.0) ** 0.5,
    Polynomial(degree=2.5, gamma=0.5, coef0=1.0),
    Polynomial(degree=0, gamma=1.0),
    Polynomial(degree=40, gamma=0.1, coef0=0.5),
    Normalized(Linear()),
    Normalized(Polynomial(degree=2, gamma=1.0, coef0=1.0)),
    Normalized(0.2 * Columns(Linear(), [0]) + HistogramIntersection()) + 0.1 * Linear(),
    Normalized(Sigmoid(gamma=0.2)) + 0.1 * Normalized(RBF(gamma=1.0) * Linear()),
    Centered(RBF(gamma=0.5)),
    Centered(0.1 * Linear()) + RBF(gamma=1.0),
    Normalized(Centered(Linear() ** 2)),
    0.1 * Normalized(Normalized(Linear())) + RBF(gamma=1.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_out_of_kernels(kernel):
    agrees(SVR(kernel=kernel, C=1.0).fit(X, T))


@pytest.mark.parametrize("kernel", [0.3 * RBF(gamma=0.7), Normalized(RBF(gamma=1.0)), 3.0 * Linear()], ids=str)
def test_a_single_support_vector(kernel):
    """All factors are then single numbers, which a runtime may merge into products of float32 factors."""
    trained = OneClassSVM(kernel=kernel, nu=0.5).fit(X[:1])
    assert len(trained.support_) == 1
    agrees(trained)
    agrees(KernelRidge(kernel=kernel).fit(X[:1], T[:1]))


def test_no_support_vectors():
    trained = SVR(epsilon=100.0).fit(X, T)
    assert len(trained.support_) == 0
    agrees(trained)


def test_a_precomputed_kernel():
    K = RBF(gamma=0.5)
    trained = SVC(kernel="precomputed").fit(K(X), random_labels(3))
    agrees(trained, K(NEW, X))


# Every estimator


@pytest.mark.parametrize(
    "trained",
    [
        NuSVC(nu=0.3),
        NuSVC(nu=0.2, multiclass="ovr", kernel="laplacian"),
        LinearSVC(),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(loss="hinge", intercept_scaling=1.0),
        LinearSVC(fit_intercept=False),
        Perceptron(tol=1e-3),
        Perceptron(average=True, tol=1e-3),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers(trained, n_classes):
    agrees(trained.fit(X, random_labels(n_classes)))


def test_a_joint_model_of_two_classes_has_one_value_whatever_the_shape():
    agrees(SVC(multiclass="crammer_singer", decision_function_shape="ovo").fit(X, random_labels(2)))


def test_a_linear_model_with_sparse_weights():
    agrees(LinearSVC().fit(X, random_labels(3)).sparsify())


@pytest.mark.parametrize(
    "trained",
    [SVR(), SVR(kernel="poly", degree=2), NuSVR(), KernelRidge(), KernelRidge(kernel="linear"), KernelRidgeCV()],
    ids=str,
)
def test_regressions(trained):
    agrees(trained.fit(X, T))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine"])
def test_several_targets(kernel):
    agrees(KernelRidge(kernel=kernel, alpha=[0.1, 1.0]).fit(X, np.column_stack((T, T**2))))


def test_linear_regression_and_linear_one_class():
    regression = pytest.importorskip("maxmargin.svm.linear.regression")
    one_class = pytest.importorskip("maxmargin.svm.linear.one_class")
    agrees(regression.LinearSVR(epsilon=0.1).fit(X, T))
    agrees(make_pipeline(MinMaxScaler((1, 2)), one_class.LinearOneClassSVM(nu=0.3)).fit(X))


def test_one_class():
    trained = OneClassSVM(nu=0.3, gamma=1.0).fit(X)
    agrees(trained)
    assert set(run(trained)["label"].tolist()) == {-1, 1}
    assert run(trained)["label"].dtype == np.int64


# Labels


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["no", "yes"], object),
        (["a", "ö", "猫"], object),
        ([False, True], np.bool_),
        ([-5, 3, 10**12], np.int64),
        (np.array([7, 8], np.uint8), np.int64),
        ([0.0, 1.0, 2.0], np.float64),
    ],
)
def test_types_of_labels(labels, kind):
    y = np.asarray(labels)[random_labels(len(labels))]
    trained = SVC(gamma=1.0).fit(X, y)
    agrees(trained)
    assert run(trained)["label"].dtype == kind


def test_a_label_that_does_not_fit():
    y = np.array([1, 2**64 - 1], np.uint64)[random_labels(2)]
    with pytest.raises(ModelFileError, match="18446744073709551615"):
        to_onnx(SVC().fit(X, y))


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize(("n_classes", "absent"), [(2, 0), (2, 1), (3, 1), (4, 0)])
def test_a_class_without_weight_is_never_predicted(scheme, n_classes, absent):
    y = random_labels(n_classes)
    trained = SVC(gamma=1.0, **scheme).fit(X, y, sample_weight=(y != absent).astype(float))
    agrees(trained)
    assert absent not in run(trained)["label"]


@pytest.mark.parametrize("absent", [0, 2])
def test_a_linear_model_with_a_class_without_weight(absent):
    y = random_labels(3)
    agrees(LinearSVC().fit(X, y, sample_weight=(y != absent).astype(float)))


def test_values_of_exactly_zero():
    """On a grid of whole numbers f is computed without rounding: zero is a vote for the second class of a pair."""
    points, grid = np.array([[-2.0], [0.0], [2.0]]), np.arange(-3.0, 4.0)[:, None]
    trained = SVC(kernel="linear", C=float("inf"), decision_function_shape="ovo").fit(points, [0, 1, 2])
    assert np.count_nonzero(trained.decision_function(grid) == 0.0) >= 2
    for shape, ties in itertools.product(("ovo", "ovr"), (False, True)):
        if (shape, ties) != ("ovo", True):
            agrees(trained.set_params(decision_function_shape=shape, break_ties=ties), grid)
    two = SVC(kernel="linear", C=float("inf")).fit(points[:2] + 1, ["a", "b"])
    assert two.decision_function([[0.0]]) == 0.0
    agrees(two, grid)


# Pipelines


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler(),
        MinMaxScaler((0.1, 0.3), clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False, with_scaling=False),
        make_pipeline(MaxAbsScaler(), "passthrough", MinMaxScaler()),
        "passthrough",
        None,
    ],
    ids=str,
)
@pytest.mark.parametrize("columns", [1, 4])
def test_pipelines(scaler, columns):
    for trained in (SVC(kernel="linear"), SVC(kernel="sigmoid"), LinearSVC()):
        agrees(make_pipeline(scaler, trained).fit(3 * X[:, :columns], random_labels(3)), 4 * NEW[:, :columns])


def test_scaling_keeps_its_digits_where_points_are_far_from_the_origin():
    agrees(make_pipeline(StandardScaler(), SVC()).fit(1e6 + X, random_labels(3)), 1e6 + NEW)
    agrees(SVC().fit(1e6 + X, random_labels(3)), 1e6 + NEW)


def test_a_search_is_the_model_it_found():
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1.0]}, cv=2)
    agrees(search.fit(X, random_labels(2)))


# The graph


def test_any_number_of_rows():
    for kernel in ("rbf", "laplacian"):
        trained = SVC(kernel=kernel).fit(X, random_labels(3))
        session = onnxruntime.InferenceSession(to_onnx(trained))
        for n in (0, 1, 7, 3000):
            Z = np.abs(rng.normal(size=(n, 4)))
            label, decision = session.run(None, {"X": Z})
            assert label.shape == (n,)
            assert decision.shape == (n, 3)
            if n:
                close(decision, trained.decision_function(Z))


def test_points_farther_than_numbers_can_square():
    agrees(SVC().fit(X, random_labels(3)), np.array([[1e200, 0.0, -1e300, 1.0]]))


@pytest.mark.parametrize("far", [1e3, 1e5, 1e8])
def test_two_clusters_that_are_far_apart(far):
    """No mean is near to the points of both: their distances are sums of squared differences."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    X[::2] += far
    model = SVC(C=1e4, gamma=0.5, tol=1e-6).fit(X, rng.integers(2, size=30))
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    got = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": X}), strict=True))["decision"]
    differences = X[:, None, :] - model.support_vectors_[None]
    K = np.exp(-0.5 * (differences**2).sum(axis=2))
    want = K @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-11 * np.abs(model.dual_coef_).sum())


@pytest.mark.parametrize("kernel", NAMES)
def test_only_doubles_and_no_array_of_rows_times_points_times_columns(kernel):
    model = onnx.load_model_from_string(to_onnx(SVC(kernel=kernel).fit(X, random_labels(3))))
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    for value in [*inferred.graph.value_info, *inferred.graph.output]:
        assert len(value.type.tensor_type.shape.dim) <= 2
        assert value.type.tensor_type.elem_type != onnx.TensorProto.FLOAT
    assert all(constant.data_type != onnx.TensorProto.FLOAT for constant in model.graph.initializer)


@pytest.mark.parametrize("kernel", NAMES)
def test_another_runtime_says_the_same(kernel):
    from onnx.reference import ReferenceEvaluator

    trained = SVC(kernel=kernel).fit(X, random_labels(3))
    model = onnx.load_model_from_string(to_onnx(trained))
    with np.errstate(all="ignore"):
        label, decision = ReferenceEvaluator(model).run(None, {"X": NEW})
    close(decision, trained.decision_function(NEW))
    np.testing.assert_array_equal(label, trained.predict(NEW))


def test_what_the_model_says_of_itself():
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = onnx.load_model_from_string(to_onnx(make_pipeline(StandardScaler(), SVC(C=2.0)).fit(table, T > 0)))
    told = {entry.key: entry.value for entry in model.metadata_props}
    assert model.producer_name == "maxmargin"
    assert "SVC(C=2.0)" in told["estimator"]
    assert json.loads(told["feature_names"]) == ["a", "b", "c", "d"]


# Files and refusals


def inner_products(A, B):
    return A @ B.T


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "model.onnx"
    trained = SVC().fit(X, T > 0)
    assert to_onnx(trained, path) is None
    assert path.read_bytes() == to_onnx(trained)
    with pytest.raises(ModelFileError):
        to_onnx(SVC(kernel=inner_products).fit(X, T > 0), path)
    assert path.read_bytes() == to_onnx(trained)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize(
    ("estimator", "data", "message"),
    [
        (SVC(kernel=Spectrum(2)), [["ab", "ba", "bb"], [0, 1, 0]], "objects that are not vectors"),
        (SVC(kernel=inner_products), None, "Callable"),
        (SVC(kernel=2.0 * Callable(inner_products) + RBF()), None, "Callable"),
        (KernelPCA(), None, "KernelPCA"),
        (make_pipeline(PolynomialFeatures(), SVC()), None, r"PolynomialFeatures\(\)"),
        (SVC(multiclass="ovr", decision_function_shape="ovo"), None, "decision_function_shape='ovr'"),
        (SVC(break_ties=True, decision_function_shape="ovo"), None, "break_ties must be False"),
    ],
    ids=["objects", "callable", "inside a sum", "KernelPCA", "PolynomialFeatures", "one-vs-rest", "ties"],
)
def test_what_has_no_form_is_refused_by_name(estimator, data, message):
    estimator.fit(*(data or (X, random_labels(3))))
    with pytest.raises(ModelFileError, match=message):
        to_onnx(estimator)


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        to_onnx(SVC())
    with pytest.raises(NotFittedError):
        to_onnx(make_pipeline(StandardScaler(), SVC()))


def test_a_model_that_is_too_large(monkeypatch):
    monkeypatch.setattr(_onnx_graph, "MESSAGE_MAX_BYTES", 1000)
    with pytest.raises(ModelFileError, match="ONNX files hold 2"):
        to_onnx(SVC().fit(X, T > 0))


def test_without_onnx_the_error_says_how_to_get_it():
    code = """
import sys
sys.modules["onnx"] = None
from maxmargin import SVC
from maxmargin.io.onnx import to_onnx
try:
    to_onnx(SVC().fit([[0.0], [1.0]], [0, 1]))
except ImportError as error:
    assert 'pip install "maxmargin[onnx]"' in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("missing", ["median", "mode", "indicate"])
@pytest.mark.parametrize("texts", [True, False])
def test_tables(missing, texts):
    """A TableEncoder: an input for each column where there are words, one matrix where there are none."""
    draw = np.random.default_rng(1)
    n = 60
    numbers = np.where(draw.random((n, 2)) < 0.2, np.nan, draw.normal(3, 5, (n, 2)))
    words = draw.choice(np.array(["red", "green", "blue", "rare", None], object), n, p=[0.4, 0.3, 0.1, 0.1, 0.1])
    labels = np.where((words == "red") ^ (np.nan_to_num(numbers[:, 0]) > 3), "yes", "no")
    columns = [numbers[:, 0], words, numbers[:, 1]] if texts else [numbers[:, 0], numbers[:, 1]]
    names, forms = ["a", "word", "b"], ["number", "category", "number ."]
    if not texts:
        names, forms = ["a", "b"], ["number", "number"]
    table = Table(names, columns)
    encoder = TableEncoder(names, forms=forms, missing=missing, scale=True, min_frequency=8, handle_unknown="ignore")
    model = Pipeline([("columns", encoder), ("svm", SVC())]).fit(table, labels)
    session = onnxruntime.InferenceSession(to_onnx(model))
    if texts:
        feed = {
            "a": numbers[:, :1],
            "word": np.array([word or "" for word in words], object)[:, None],
            "b": numbers[:, 1:],
        }
        feed["word"][0, 0] = "unknown"
        table = Table(names, [numbers[:, 0], np.array(["unknown", *words[1:]], object), numbers[:, 1]])
    else:
        feed = {"X": numbers}
    label, decision = session.run(None, feed)
    np.testing.assert_array_equal(label, model.predict(table))
    np.testing.assert_allclose(decision, model.decision_function(table), atol=1e-9)


@pytest.mark.parametrize("language", ["english", "french"])
def test_texts(language):
    """Columns of sentences: words are found, counted and weighted as by TfidfVectorizer."""
    draw = np.random.default_rng(2)
    words = {
        "english": ["the", "good", "bad", "Movie,", "was", "a", "x1", "under_score", "so-so"],
        "french": ["l'été", "Été", "ÇA", "était", "à", "naïf"],
    }
    n = 50
    texts = np.array([" ".join(draw.choice(words[language], draw.integers(0, 9))) for _ in range(n)], object)
    colours = draw.choice(np.array(["red", "blue"], object), n)
    labels = draw.integers(0, 3, n)
    table = Table(["text", "colour", "size"], [texts, colours, draw.normal(size=n)])
    forms = ["text", "category", "number"]
    encoder = TableEncoder(table.columns, forms=forms, missing="median", scale=True, handle_unknown="ignore")
    model = Pipeline([("columns", encoder), ("svm", SVC(C=10))]).fit(table, labels)
    texts = np.array([*texts[:-3], "", "(unknown; UNKNOWN)", "a b c"], object)
    new = Table(table.columns, [texts, *table.arrays[1:]])
    feed = {"text": texts[:, None], "colour": colours[:, None], "size": table.arrays[2][:, None]}
    label, decision = onnxruntime.InferenceSession(to_onnx(model)).run(None, feed)
    np.testing.assert_array_equal(label, model.predict(new))
    np.testing.assert_allclose(decision, model.decision_function(new), atol=1e-9)
