import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    SVR,
    KernelPCA,
    KernelRidge,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NystroemSVC,
    OneClassSVM,
    shapley_values,
)
from maxmargin.kernels import (
    RBF,
    Callable,
    ChiSquared,
    Columns,
    HistogramIntersection,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Sigmoid,
)
from reference.native.shapley import shapley

D = 5


def _data(seed=0):
    X = np.abs(np.random.default_rng(seed).normal(size=(50, D)))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 1).astype(int)


def _by_subsets(function, x, background):
    """From the definition, with nothing but the fitted function."""
    return shapley(lambda known: function(np.where(known, x, background)).mean(axis=0), len(x))


KERNELS = [
    RBF(0.5),
    Laplacian(0.3),
    ChiSquared(0.7),
    Polynomial(3, 0.5, 1.0),
    Polynomial(2, 0.5, 0.0),
    Polynomial(9, 0.2, 1.0),
    Linear(),
    HistogramIntersection(),
    RBF(0.4) + 2 * Linear(),
    Columns(RBF(3.0), [0, 2]) * Columns(Laplacian(0.2), [1, 3]) * Columns(ChiSquared(2.0), [4]),
    Columns(RBF(1.0), [0, 0, 1]),
    (RBF(0.1) + Laplacian(0.2)) * RBF(0.3),
    (RBF(0.1) + 0.5 * RBF(2.0)) ** 2,
    Normalized(2 * RBF(0.3)),
    Normalized(RBF(0.3) * Laplacian(0.2) + 3 * Laplacian(0.5)),
    RBF(0.2) ** 1.5,
    Linear() ** 2,
    Columns(Polynomial(3, 0.5, 1.0), [0, 2]) + Columns(Sigmoid(0.5), [1]),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_kernel_against_all_subsets(kernel):
    X, y = _data()
    model, background = SVC(kernel=kernel, C=5.0).fit(X, y), X[10:13]
    found = shapley_values(model, X[:3], background)
    function = lambda Z: model.decision_function(Z)[:, None]  # noqa: E731
    expected = np.array([_by_subsets(function, x, background)[:, 0] for x in X[:3]])
    np.testing.assert_allclose(found.values, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))
    np.testing.assert_allclose(found.base_values, function(background).mean(), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_without_background_the_values_add_up(kernel):
    X, y = _data()
    model = SVC(kernel=kernel, C=5.0).fit(X, y)
    found = shapley_values(model, X[:4])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.decision_function(X[:4]), atol=1e-11)


def test_a_feature_that_is_left_out_is_left_out_of_the_kernel():
    X, y = _data()
    model = SVR(gamma=0.5).fit(X, y)
    a, b, S = model.dual_coef_[0], model.intercept_[0], model.support_vectors_
    for x, values in zip(X[:3], shapley_values(model, X[:3]).values, strict=True):
        value = lambda known, x=x: a @ np.exp(-0.5 * ((x - S) ** 2 * known).sum(axis=1)) + b  # noqa: E731
        np.testing.assert_allclose(values, shapley(value, D), atol=1e-13)


@pytest.mark.parametrize(
    "estimator",
    [
        SVR(gamma=0.3),
        KernelRidge(kernel="rbf", gamma=0.3),
        LinearSVR(C=10.0),
        OneClassSVM(gamma=0.3),
        NuSVC(gamma=0.3, nu=0.3),
        LinearSVC(),
        NystroemSVC(n_components=20, gamma=0.3, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_every_kind_of_estimator(estimator):
    X, y = _data()
    estimator.fit(X, y)
    function = estimator.decision_function if hasattr(estimator, "decision_function") else estimator.predict
    found = shapley_values(estimator, X[:2], X[20:22])
    expected = np.array([_by_subsets(lambda Z: function(Z)[:, None], x, X[20:22])[:, 0] for x in X[:2]])
    np.testing.assert_allclose(found.values, expected, atol=1e-11)


@pytest.mark.parametrize(
    "estimator",
    [SVC(), SVC(decision_function_shape="ovo"), SVC(multiclass="ovr"), LinearSVC()],
    ids=["ovo", "pairs", "ovr", "linear"],
)
def test_one_function_per_class(estimator):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    estimator.fit(X, names)
    found = shapley_values(estimator, X[::50], X[:3])
    assert found.values.shape == (3, 4, 3)
    assert found.output_names == ["setosa", "versicolor", "virginica"]
    total = found.base_values + found.values.sum(axis=1)
    if getattr(estimator, "_scheme", "ovr") == "ovo":
        estimator.set_params(decision_function_shape="ovo")
        f = estimator.decision_function(X[::50])  # of (0, 1), (0, 2), (1, 2)
        expected = np.column_stack([f[:, 0] + f[:, 1], f[:, 2] - f[:, 0], -f[:, 1] - f[:, 2]]) / 2
        by_pair = shapley_values(estimator, X[::50], X[:3], pairs=True)
        assert by_pair.output_names[1] == "setosa against virginica"
        np.testing.assert_allclose(by_pair.base_values + by_pair.values.sum(axis=1), f, atol=1e-11)
    else:
        expected = estimator.decision_function(X[::50])
    np.testing.assert_allclose(total, expected, atol=1e-11)
    one = found.output("virginica")
    np.testing.assert_array_equal(one.values, found.values[:, :, 2])
    with pytest.raises(ValueError, match="no output 'rose'"):
        found.output("rose")


def test_several_targets():
    X, Y = make_regression(40, 4, n_targets=2, random_state=0)
    model = KernelRidge(kernel="rbf", gamma=0.1).fit(X, Y)
    found = shapley_values(model, X[:3], X[5:8])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X[:3]), rtol=1e-9)


def test_threads_and_cuts_do_not_change_bits(monkeypatch):
    X, y = _data()
    model = SVC(gamma=0.5).fit(X, y)
    one = shapley_values(model, X, X[:9], n_jobs=1).values
    assert np.array_equal(one, shapley_values(model, X, X[:9], n_jobs=3).values)
    monkeypatch.setattr("maxmargin.inspection.shapley.CALL_MAX_FACTORS", 300)  # several calls along every axis
    np.testing.assert_allclose(shapley_values(model, X, X[:9]).values, one, atol=1e-13)
    assert np.array_equal(shapley_values(model, X, X[:9], n_jobs=1).values, shapley_values(model, X, X[:9]).values)


def test_sparse_points_and_tables():
    import pandas as pd

    X, y = _data()
    X[X < 0.5] = 0.0
    model = SVC(gamma=0.5).fit(sp.csr_matrix(X), y)
    dense = shapley_values(SVC(gamma=0.5).fit(X, y), X[:3], X[:2]).values
    np.testing.assert_allclose(
        shapley_values(model, sp.csr_matrix(X[:3]), sp.csr_matrix(X[:2])).values, dense, atol=1e-9
    )
    table = pd.DataFrame(X, columns=list("abcde"))
    found = shapley_values(SVC().fit(table, y), table[:3])
    assert found.feature_names == list("abcde")
    assert list(found.to_frame().columns) == list("abcde")
    assert len(found[1]) == 1
    assert np.array_equal(found[1].values[0], found.values[1])
    assert len(found[-1]) == 1
    assert len(found[:2]) == 2
    assert "Shapley values of 3 rows" in str(found)


def test_symmetric_and_irrelevant_features():
    rng = np.random.default_rng(3)
    half = rng.normal(size=(30, 1))
    X = np.hstack([half, half, np.zeros((30, 1))])
    found = shapley_values(SVR(gamma=0.7).fit(X, half[:, 0]), X[:5], X[:4])
    np.testing.assert_allclose(found.values[:, 0], found.values[:, 1], atol=1e-14)
    assert not found.values[:, 2].any()


def test_what_cannot_be_explained_is_said():
    X, y = _data()
    for kernel in (
        Sigmoid(0.1),
        Callable(lambda A, B: A @ B.T),
        RBF(1.0) * Linear(),
        Polynomial(1.5, 1.0, 1.0),
        Normalized(Linear()),
    ):
        with pytest.raises(ValueError, match=r"shapley_values needs a kernel that is a product.*KernelExplainer"):
            shapley_values(SVC(kernel=kernel).fit(X, y), X[:2])
    with pytest.raises(ValueError, match="product over the columns"):
        shapley_values(SVC(kernel="precomputed").fit(X @ X.T, y), (X @ X.T)[:2])
    with pytest.raises(ValueError, match="product over the columns"):
        shapley_values(SVC(kernel="spectrum").fit(["aab", "bba", "aaa", "bbb"], [0, 1, 0, 1]), ["aab"])
    with pytest.raises(ValueError, match=r"background has no rows|minimum of 1"):
        shapley_values(SVC().fit(X, y), X[:2], X[:0])
    with pytest.raises(ValueError, match="features"):
        shapley_values(SVC().fit(X, y), X[:2], X[:2, :3])
    with pytest.raises(TypeError, match="last step"):
        shapley_values(make_pipeline(StandardScaler(), SVC()).fit(X, y), X[:2])
    with pytest.raises(TypeError, match="got KernelPCA"):
        shapley_values(KernelPCA(n_components=2).fit(X), X[:2])


def test_as_an_explanation_of_shap():
    X, y = _data()
    found = shapley_values(SVC().fit(X, y), X[:3])
    try:
        import shap
    except ImportError:
        with pytest.raises(ImportError, match="pip install shap"):
            found.to_shap()
    else:
        assert isinstance(found.to_shap(), shap.Explanation)
        assert np.array_equal(found.to_shap().values, found.values)
