"""Displays of regressions, kernel matrices and projections: what is drawn is what the models say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA
from sklearn.linear_model import HuberRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("matplotlib")

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from maxmargin import SVR, NuSVR
from maxmargin.displays._figure import BLUE, VERMILION
from maxmargin.displays.gram import GramDisplay
from maxmargin.displays.projection import ProjectionDisplay
from maxmargin.displays.regression import RegressionDisplay
from maxmargin.kernel_methods.feature_maps import GaussianBasis, MonomialMap
from maxmargin.kernel_methods.pca import KernelPCA
from maxmargin.kernel_methods.ridge import BasisRegression, KernelRidge
from maxmargin.kernels import RBF, Linear, Sigmoid


def waves(n=30, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 6, n)
    return x[:, None], np.sin(x) + 0.1 * rng.standard_normal(n)


def drawn(figure):
    """Draw, so that what cannot be drawn fails here."""
    figure.draw_without_rendering()


# Regression


@pytest.mark.parametrize(
    "model",
    [
        SVR(C=5, epsilon=0.1),
        NuSVR(nu=0.3, C=5),
        KernelRidge(alpha=0.1, kernel="rbf"),
        BasisRegression(MonomialMap(3, include_bias=True)),
        make_pipeline(StandardScaler(), SVR(C=5)),
    ],
    ids=["svr", "nu", "ridge", "basis", "pipeline"],
)
def test_points_and_curve(model):
    X, y = waves()
    model.fit(X, y)
    display = RegressionDisplay.from_estimator(model, X, y).plot()
    assert display.plot() is display
    grid, curve = display.line_.get_data()
    np.testing.assert_allclose(curve, model.predict(grid[:, None]), rtol=1e-12, atol=1e-12)
    assert grid[0] < X.min()
    assert grid[-1] > X.max()
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack((X[:, 0], y)))
    drawn(display.figure_)


@pytest.mark.parametrize("model", [SVR(C=5, epsilon=0.17), NuSVR(nu=0.4, C=5)], ids=["svr", "nu"])
def test_tube(model):
    X, y = waves()
    model.fit(X, y)
    epsilon = model.epsilon_ if hasattr(model, "epsilon_") else 0.17
    display = RegressionDisplay.from_estimator(model, X, y).plot()
    outline = display.tube_.get_paths()[0].vertices
    at = display.grid[250]
    heights = outline[np.isclose(outline[:, 0], at), 1]
    middle = model.predict([[at]])[0]
    np.testing.assert_allclose([heights.min(), heights.max()], [middle - epsilon, middle + epsilon])
    low, high = display.ax_.get_ylim()
    assert low < display.curve.min() - epsilon
    assert high > display.curve.max() + epsilon


def test_rings_are_on_the_support_vectors():
    X, y = waves()
    model = SVR(C=5, epsilon=0.1).fit(X, y)
    rings = RegressionDisplay.from_estimator(model, X, y).plot().rings_
    np.testing.assert_array_equal(rings.get_offsets(), np.column_stack((X[model.support_, 0], y[model.support_])))
    # none of them inside the tube
    assert (np.abs(model.predict(X) - y)[model.support_] >= 0.1 - 1e-2).all()


def test_rings_in_a_pipeline_are_on_the_points_as_given():
    X, y = waves()
    model = make_pipeline(StandardScaler(), SVR(C=5, epsilon=0.1)).fit(X, y)
    display = RegressionDisplay.from_estimator(model, X, y).plot()
    np.testing.assert_array_equal(display.rings_.get_offsets()[:, 0], X[model[-1].support_, 0])
    assert display.epsilon == 0.1


def test_basis_functions_in_a_pipeline():
    X, y = waves(12)
    model = make_pipeline(StandardScaler(), BasisRegression("polynomial")).fit(X, y)
    display = RegressionDisplay.from_estimator(model, X, y, basis=True)
    np.testing.assert_allclose(display.basis.sum(axis=1), model.predict(display.grid[:, None]), atol=1e-10)
    with pytest.raises(ValueError, match="not in a pipeline"):  # the weights' places would be scaled ones
        display.plot(blend_at=1.0)


def test_other_points_get_no_rings():
    X, y = waves()
    model = SVR(C=5, epsilon=0.01).fit(X, y)
    assert RegressionDisplay.from_estimator(model, *waves(seed=1)).plot().rings_ is None
    assert RegressionDisplay.from_estimator(model, X[:3], y[:3]).plot().rings_ is None


def test_a_tube_only_where_epsilon_means_one():
    X, y = waves()
    assert RegressionDisplay.from_estimator(HuberRegressor(epsilon=1.5).fit(X, y), X, y).plot().tube_ is None
    assert RegressionDisplay.from_estimator(sklearn.svm.SVR(epsilon=0.3).fit(X, y), X, y).epsilon == 0.3
    # scikit-learn's model does not tell how wide its tube is
    assert RegressionDisplay.from_estimator(sklearn.svm.NuSVR().fit(X, y), X, y).plot().tube_ is None


@pytest.mark.parametrize("basis", [GaussianBasis(0.7), MonomialMap(4, include_bias=True)], ids=["gaussian", "powers"])
def test_weighted_basis_functions_add_up_to_the_curve(basis):
    X, y = waves(12)
    model = BasisRegression(basis, alpha=1e-3).fit(X, y)
    display = RegressionDisplay.from_estimator(model, X, y, basis=True).plot()
    assert len(display.basis_lines_) == len(model.coef_)
    total = sum(line.get_ydata() for line in display.basis_lines_)
    np.testing.assert_allclose(total, display.curve, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [BasisRegression(GaussianBasis(1.0), alpha=0.1), KernelRidge(alpha=0.1, kernel="rbf")],
    ids=["basis", "ridge"],
)
def test_blend_weights_blend_to_the_prediction(model):
    X, y = waves(12)
    model.fit(X, y)
    figure = Figure()
    left, _ = figure.subplots(1, 2)
    display = RegressionDisplay.from_estimator(model, X, y).plot(left, blend_at=2.5)
    assert display.figure_ is figure
    places, weights = display.blend_ax_.collections[-1].get_offsets().T
    np.testing.assert_array_equal(places, X[:, 0])
    np.testing.assert_allclose(weights @ y, model.predict([[2.5]])[0], rtol=1e-8)
    # the colours of the lab: the curve in ink, points and positive weights blue, negative ones vermilion
    assert display.line_.get_color() == "0.1"
    np.testing.assert_array_equal(display.points_.get_facecolor()[0], to_rgba(BLUE))
    shown = display.blend_ax_.collections[-1].get_facecolor()
    np.testing.assert_array_equal(shown, [to_rgba(VERMILION if weight < 0 else BLUE) for weight in weights])
    assert "2.5" in display.blend_ax_.get_ylabel()
    drawn(figure)


def test_truth_and_names_of_columns():
    X, y = waves()
    for table in (pd.DataFrame({"time $t$": X[:, 0]}), pl.DataFrame({"time $t$": X[:, 0]})):
        model = SVR().fit(table, y)
        display = RegressionDisplay.from_estimator(model, table, pd.Series(y, name="height"), truth=np.sin).plot()
        assert display.xlabel == "time $t$"
        assert display.ylabel == "height"
        np.testing.assert_allclose(display.truth_.get_ydata(), np.sin(display.grid))
        assert len(display.rings_.get_offsets()) == len(model.support_)
        drawn(display.figure_)
    constant = RegressionDisplay.from_estimator(SVR().fit(X, y), X, y, truth=lambda x: 1.0).plot()
    assert (constant.truth_.get_ydata() == 1.0).all()


def test_sparse_points_and_a_flat_array_will_do():
    X, y = waves()
    model = SVR().fit(X, y)
    want = RegressionDisplay.from_estimator(model, X, y)
    for points in (sp.csr_matrix(X), X[:, 0].tolist()):
        display = RegressionDisplay.from_estimator(model, points, y).plot()
        np.testing.assert_array_equal(display.curve, want.curve)
        assert len(display.rings_.get_offsets()) == len(model.support_)


def test_equal_points_have_a_picture():
    X, y = np.full((4, 1), 2.0), np.full(4, 3.0)
    drawn(RegressionDisplay.from_estimator(SVR().fit(X, y), X, y).plot().figure_)


def test_a_curve_that_runs_away_does_not_flatten_the_points():
    X, y = np.linspace(-1, 1, 11)[:, None], np.tile([0.0, 1.0], 6)[:11]
    model = BasisRegression(MonomialMap(10, include_bias=True)).fit(X, y)
    display = RegressionDisplay.from_estimator(model, X, y).plot()
    low, high = display.ax_.get_ylim()
    assert display.curve.max() - display.curve.min() > 5
    assert high - low < 2.5
    assert low < 0
    assert high > 1


def test_a_title_may_be_mathematics_later():
    X, y = waves()
    display = RegressionDisplay.from_estimator(SVR(C=2).fit(X, y), X, y).plot(legend=False)
    assert display.ax_.get_title() == "SVR: C = 2, epsilon = 0.1"
    assert display.ax_.get_legend() is None
    display.ax_.set_title("$\\varepsilon$")
    assert display.ax_.title.get_parse_math()


def test_regression_refusals():
    X, y = waves()
    two = np.column_stack((X, X))
    model = SVR().fit(X, y)
    with pytest.raises(ValueError, match=r"X has 2 columns.*one axis.*PredictionErrorDisplay"):
        RegressionDisplay.from_estimator(SVR().fit(two, y), two, y)
    with pytest.raises(ValueError, match="30 samples and y has 29"):
        RegressionDisplay.from_estimator(model, X, y[:-1])
    with pytest.raises(ValueError, match=r"2 targets.*one target at a time"):
        RegressionDisplay.from_estimator(KernelRidge().fit(X, np.column_stack((y, y))), X, y)
    with pytest.raises(ValueError, match=r"basis=True.*SVR has none"):
        RegressionDisplay.from_estimator(model, X, y, basis=True)
    with pytest.raises(ValueError, match="blend_weights"):
        RegressionDisplay.from_estimator(model, X, y).plot(blend_at=1.0)
    with pytest.raises(ValueError, match="truth must give one number"):
        RegressionDisplay.from_estimator(model, X, y, truth=lambda x: np.ones((3, 2)))
    with pytest.raises(TypeError, match="basis must be True or False"):
        RegressionDisplay.from_estimator(model, X, y, basis="gaussian")
    with pytest.raises(ValueError, match="n_grid"):
        RegressionDisplay.from_estimator(model, X, y, n_grid=1)


# Kernel matrices


def lines_of(ax):
    """Heights of the horizontal lines."""
    return sorted(line.get_ydata()[0] for line in ax.lines if line.get_ydata()[0] == line.get_ydata()[-1])


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(4, 25), classes=st.integers(2, 4))
def test_gram_is_sorted_by_class(seed, n, classes):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 2)), np.array(list("dbac"))[np.r_[0, 1, rng.integers(0, classes, n - 2)]]
    display = GramDisplay.from_kernel(RBF(gamma=0.7), X, y).plot()
    shown = np.asarray(display.image_.get_array())
    order = sorted(range(n), key=lambda i: y[i])  # sorted() is stable
    want = np.array([[np.exp(-0.7 * np.sum((X[i] - X[j]) ** 2)) for j in order] for i in order])
    np.testing.assert_allclose(shown, want, atol=1e-12)
    ends = [sum(y <= label) for label in sorted(set(y))][:-1]
    np.testing.assert_array_equal(lines_of(display.ax_), np.array(ends) - 0.5)
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == sorted(set(y))
    for tick, label in zip(display.ax_.get_xticks(), sorted(set(y)), strict=True):
        places = [at for at, i in enumerate(order) if y[i] == label]
        assert tick == np.mean(places)


def test_gram_caption_tells_the_smallest_eigenvalue():
    X = np.random.default_rng(0).standard_normal((20, 2))
    valid = GramDisplay.from_kernel(RBF(gamma=5.0), X).plot()
    smallest = np.linalg.eigvalsh(RBF(gamma=5.0)(X))[0]
    assert valid.caption_.get_text() == f"valid kernel matrix:\nsmallest eigenvalue {smallest:.2g}"
    singular = GramDisplay.from_kernel("linear", X).plot()
    assert singular.caption_.get_text().endswith("smallest eigenvalue about 0")

    kernel = Sigmoid(gamma=1.0, coef0=-1.0)
    values = np.linalg.eigvalsh(kernel(X))
    invalid = GramDisplay.from_kernel(kernel, X).plot()
    assert f"not a kernel: smallest eigenvalue {values[0]:.2g}," in invalid.caption_.get_text()
    assert f"{(values < 0).sum()} of 20 eigenvalues negative" in invalid.caption_.get_text()
    assert invalid.caption_.get_color() != valid.caption_.get_color()
    skew = GramDisplay.from_matrix([[2.0, 1.0], [0.5, 2.0]]).plot()
    assert "not symmetric,\nby 0.25" in skew.caption_.get_text()


def test_gram_colours_part_at_zero_when_there_are_negative_values():
    X = np.random.default_rng(0).standard_normal((10, 2))
    low, high = GramDisplay.from_kernel("linear", X).plot().image_.get_clim()
    assert low == -high < 0
    assert GramDisplay.from_kernel("rbf", X).plot().image_.get_clim() == (0.0, 1.0)
    bare = GramDisplay.from_kernel("rbf", X).plot(cmap="magma", colorbar=False)
    assert bare.colorbar_ is None
    assert bare.image_.get_cmap().name == "magma"


def test_gram_titles_name_the_kernel_in_few_digits():
    X = np.random.default_rng(0).standard_normal((10, 2))
    assert GramDisplay.from_kernel("rbf", X).plot().ax_.get_title() == f"RBF(gamma={1 / (2 * X.var()):.4g})"
    assert GramDisplay.from_matrix(np.eye(3), title="mine").plot().ax_.get_title() == "mine"


def test_gram_of_things_and_of_functions():
    words = ["aa", "ab", "bb", "abab"]

    def letters(a, b):
        return float(len(set(a) & set(b)))

    display = GramDisplay.from_kernel(letters, words, ["x", "y", "y", "x"]).plot()
    assert display.order_.tolist() == [0, 3, 1, 2]
    np.testing.assert_array_equal(display.K[1], [1.0, 2.0, 1.0, 2.0])
    K = sp.csr_matrix(np.eye(3))
    np.testing.assert_array_equal(GramDisplay.from_kernel("precomputed", K).K, np.eye(3))
    table = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    np.testing.assert_array_equal(GramDisplay.from_kernel(Linear(), table).K, np.eye(2))


def test_gram_of_one_class():
    display = GramDisplay.from_matrix(np.eye(3), ["a", "a", "a"]).plot()
    assert display.boundaries_.tolist() == []
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a"]


def test_gram_refusals():
    with pytest.raises(ValueError, match=r"square matrix.*shape \(2, 3\)"):
        GramDisplay.from_matrix(np.ones((2, 3)))
    with pytest.raises(ValueError, match="4 samples and y has 3"):
        GramDisplay.from_kernel("rbf", np.eye(4), [0, 1, 0])
    with pytest.raises(ValueError, match="Did you mean 'rbf'"):
        GramDisplay.from_kernel("rfb", np.eye(4))
    with pytest.raises(ValueError, match=r"K\[0, 1\] is nan"):
        GramDisplay.from_matrix([[1.0, np.nan], [1.0, 1.0]])


# Projections


def test_scatter_is_the_projections_by_class():
    X, y = make_circles(60, factor=0.3, noise=0.05, random_state=0)
    names = np.array(["outer", "inner"])[y]
    pca = KernelPCA(n_components=3, kernel="rbf", gamma=2.0).fit(X)
    display = ProjectionDisplay.from_estimator(pca, X, names, components=(2, 0)).plot()
    Z = pca.transform(X)
    for scatter, name in zip(display.scatters_, ["inner", "outer"], strict=True):
        np.testing.assert_array_equal(scatter.get_offsets(), Z[names == name][:, [2, 0]])
        assert scatter.get_label() == name
    assert display.ax_.get_xlabel().startswith("component 3 (")
    assert display.ax_.get_ylabel().startswith("component 1 (")
    assert len(ProjectionDisplay.from_estimator(pca, X).plot().scatters_) == 1


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_shares_are_of_the_whole_variance(kernel):
    X = np.random.default_rng(0).standard_normal((40, 3)) * [3.0, 2.0, 1.0]
    pca = KernelPCA(n_components=2, kernel=kernel, gamma=0.1).fit(X)
    every = KernelPCA(kernel=kernel, gamma=0.1).fit(X).eigenvalues_
    shares = ProjectionDisplay.from_estimator(pca, X).shares
    np.testing.assert_allclose(shares, every[:2] / every.sum(), rtol=1e-6)
    if kernel == "linear":
        np.testing.assert_allclose(shares, PCA().fit(X).explained_variance_ratio_[:2], rtol=1e-8)
        assert f"({shares[0]:.0%} of the variance)" in ProjectionDisplay.from_estimator(pca, X).plot().ax_.get_xlabel()


def test_other_transformers_will_do():
    X = np.random.default_rng(0).standard_normal((20, 3))
    pca = PCA().fit(X)
    np.testing.assert_array_equal(ProjectionDisplay.from_estimator(pca, X).shares, pca.explained_variance_ratio_[:2])
    display = ProjectionDisplay.from_estimator(MonomialMap(2).fit(X), X).plot()
    assert display.ax_.get_xlabel() == "component 1"


def test_contours_are_the_components_on_the_plane():
    X, y = make_circles(60, factor=0.3, noise=0.05, random_state=0)
    pca = KernelPCA(n_components=3, kernel="rbf", gamma=2.0).fit(X)
    display = ProjectionDisplay.from_estimator(pca, X, y, components=(0, 2), n_grid=9).plot(kind="contours")
    assert len(display.axes_) == 2
    _, first, second, values = display.plane
    for i, j in ((0, 0), (3, 7), (8, 2)):
        np.testing.assert_allclose(values[:, i, j], pca.transform([[first[j], second[i]]])[0, [0, 2]], atol=1e-12)
    assert display.axes_[1].get_title().startswith("component 3")
    np.testing.assert_array_equal(display.scatters_[0].get_offsets(), X[y == 0])
    drawn(display.figure_)
    # one component alone, on given axes, of a table
    figure = Figure()
    ax = figure.subplots()
    table = pd.DataFrame(X, columns=["length", "width"])
    alone = ProjectionDisplay.from_estimator(pca.fit(table), table, components=[1]).plot(ax, kind="contours")
    assert alone.ax_ is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    drawn(figure)


def test_projection_refusals():
    X, y = make_circles(30, noise=0.05, random_state=0)
    pca = KernelPCA(n_components=2, kernel="rbf").fit(X)
    with pytest.raises(ValueError, match=r"components=\(0, 2\).*there are 2.*n_components"):
        ProjectionDisplay.from_estimator(pca, X, components=(0, 2))
    with pytest.raises(ValueError, match="components is empty"):
        ProjectionDisplay.from_estimator(pca, X, components=())
    with pytest.raises(ValueError, match="two axes"):
        ProjectionDisplay.from_estimator(pca, X, components=[0]).plot()
    with pytest.raises(ValueError, match="kind must be one of"):
        ProjectionDisplay.from_estimator(pca, X).plot(kind="contour")
    with pytest.raises(ValueError, match="30 samples and y has 29"):
        ProjectionDisplay.from_estimator(pca, X, y[:-1])
    wide = np.column_stack((X, X))
    with pytest.raises(ValueError, match="two columns"):
        ProjectionDisplay.from_estimator(KernelPCA(2).fit(wide), wide).plot(kind="contours")
    K = RBF(gamma=1.0)(X)
    rows = ProjectionDisplay.from_estimator(KernelPCA(2, kernel="precomputed").fit(K), K).plot()
    np.testing.assert_allclose(rows.Z, KernelPCA(2, kernel="rbf", gamma=1.0).fit_transform(X), atol=1e-10)
