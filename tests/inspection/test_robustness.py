import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearOneClassSVM, LinearSVC, NuSVC, OneClassSVM, margin_report, robustness


def _ball(rng, n, d, norm):
    """Points of the unit ball, many near its surface."""
    if norm == np.inf:
        return rng.choice([-1.0, 1.0], size=(n, d)) * rng.random((n, d)) ** 0.1
    directions = rng.normal(size=(n, d))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True) * rng.random((n, 1)) ** 0.1


def _moons():
    return make_moons(80, noise=0.2, random_state=0)


@pytest.mark.parametrize("norm", [2, np.inf])
@pytest.mark.parametrize("estimator", [SVC(kernel="linear", C=3.0), LinearSVC()], ids=["kernel", "linear"])
def test_linear_distances_are_exact(estimator, norm):
    X, y = make_blobs(60, n_features=3, centers=2, cluster_std=2.0, random_state=0)
    estimator.fit(X, y)
    found = robustness(estimator, X[:8], norm=norm)
    assert found.exact
    w = estimator.coef_[0]
    step = w / np.linalg.norm(w) if norm == 2 else np.sign(w)
    for x, radius in zip(X[:8], found.radius, strict=True):
        side = np.sign(estimator.decision_function(x[None])[0])
        inside, across = x - side * step * radius * (1 - 1e-9), x - side * step * radius * (1 + 1e-9)
        assert estimator.predict(inside[None]) == estimator.predict(x[None])
        assert estimator.predict(across[None]) != estimator.predict(x[None])


def test_several_linear_classes_against_a_solver():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC().fit(X, y)
    found = robustness(model, X[::25])
    assert found.exact
    for x, radius, own in zip(X[::25], found.radius, model.predict(X[::25]), strict=True):
        distances = []
        for j in set(range(3)) - {own}:
            w, b = model.coef_[own] - model.coef_[j], model.intercept_[own] - model.intercept_[j]
            start = x - w * (w @ x + b) / (w @ w)
            constraint = {"type": "eq", "fun": lambda z, w=w, b=b: w @ z + b}
            nearest = minimize(lambda z, x=x: ((z - x) ** 2).sum(), start, constraints=[constraint], tol=1e-12)
            distances.append(np.sqrt(nearest.fun))
        np.testing.assert_allclose(radius, min(distances), rtol=1e-5)


@pytest.mark.parametrize("norm", [2, np.inf])
@pytest.mark.parametrize(
    "estimator",
    [SVC(gamma=2.0, C=10.0), NuSVC(gamma=0.5, nu=0.3), OneClassSVM(gamma=1.0), SVC(gamma=1e-3), LinearOneClassSVM()],
    ids=["narrow", "nu", "one-class", "wide", "linear one-class"],
)
def test_no_point_inside_the_radius_has_another_prediction(estimator, norm):
    X, y = _moons()
    estimator.fit(X, y)
    found = robustness(estimator, X, norm=norm)
    assert found.exact == isinstance(estimator, LinearOneClassSVM)
    assert (found.radius > 0).mean() > 0.9
    rng = np.random.default_rng(0)
    for x, radius, own in zip(X[::4], found.radius[::4], found.prediction[::4], strict=True):
        near = x + min(radius, 100.0) * (1 - 1e-9) * _ball(rng, 500, 2, norm)
        assert (estimator.predict(near) == own).all()


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_several_classes(multiclass, kernel):
    X, y = make_blobs(90, n_features=2, centers=5, cluster_std=2.5, random_state=1)
    model = SVC(kernel=kernel, gamma=0.2, multiclass=multiclass).fit(X, y)
    found = robustness(model, X)
    assert found.exact == (kernel == "linear" and multiclass != "ovo")
    rng = np.random.default_rng(0)
    for x, radius, own in zip(X[::3], found.radius[::3], found.prediction[::3], strict=True):
        near = x + min(radius, 100.0) * (1 - 1e-9) * _ball(rng, 300, 2, 2)
        assert (model.predict(near) == own).all()


def test_the_bound_is_not_far_from_the_truth():
    X, y = _moons()
    model = SVC(gamma=1.0, C=10.0).fit(X, y)
    radius = robustness(model, X).radius
    grid = np.stack(np.meshgrid(np.linspace(-3, 4, 350), np.linspace(-3, 3, 300)), -1).reshape(-1, 2)
    of_grid, own = model.predict(grid), model.predict(X)
    truth = np.array([np.linalg.norm(grid[of_grid != c] - x, axis=1).min() for x, c in zip(X, own, strict=True)])
    assert (radius <= truth + 1e-9).all()
    assert np.median(radius / truth) > 0.2


def test_accuracy_and_margin_report():
    X, y = _moons()
    for model in (SVC(gamma=1.0, C=10.0).fit(X, y), LinearSVC().fit(X, y)):
        found = robustness(model, X)
        assert found.accuracy(y, 0.0) == model.score(X, y)
        right = model.predict(X) == y
        report = margin_report(model, X, y)
        for eps in (0.05, 0.2, 1.0):
            assert found.accuracy(y, eps) == np.mean(right & (found.radius > eps)) == report.robustness(eps)
        assert "boundary, Euclidean norm, 80 rows" in str(found)
    with pytest.raises(ValueError, match="norm"):
        report.robustness(0.1, norm=3)
    K = X @ X.T
    with pytest.raises(ValueError, match="precomputed"):
        margin_report(SVC(kernel="precomputed").fit(K, y), K, y).robustness(0.1)


def test_the_maximum_margin_is_the_most_stable():
    """Of all separating planes that of the hard margin has the largest smallest radius, d+ = d- = margin / 2."""
    X, y = make_blobs(40, n_features=2, centers=[[-3, 0], [3, 1]], random_state=0)
    model = SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y)
    report = margin_report(model, X, y)
    smallest = robustness(model, X).radius.min()
    np.testing.assert_allclose([report.d_plus, report.d_minus, smallest], report.margin / 2, rtol=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(200):
        w = model.coef_[0] + rng.normal(size=2) * 0.2
        f = X @ w
        b = -(f[y == 1].min() + f[y == 0].max()) / 2
        assert (np.where(y == 1, 1, -1) * (f + b)).min() / np.linalg.norm(w) <= smallest * (1 + 1e-6)


def test_refusals():
    X, y = _moons()
    with pytest.raises(ValueError, match="norm must be 2"):
        robustness(SVC().fit(X, y), X, norm=1)
    with pytest.raises(ValueError, match="Linear and RBF"):
        robustness(SVC(kernel="poly").fit(X, y), X)
    with pytest.raises(TypeError, match="robustness takes a classifier"):
        robustness(SVR().fit(X, y), X)
    with pytest.raises(TypeError, match="Pipeline"):
        robustness(make_pipeline(StandardScaler(), SVC()).fit(X, y), X)
