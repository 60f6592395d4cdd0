import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_iris, make_moons

from maxmargin import SVC, SVR, KernelPCA, LinearSVC, LinearSVR, OneClassSVM, counterfactual, robustness
from maxmargin.kernels import Laplacian, Polynomial


def _moons():
    return make_moons(80, noise=0.2, random_state=0)


def _iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("estimator", [SVC(kernel="linear"), LinearSVC()], ids=["kernel", "linear"])
def test_of_two_linear_classes_it_is_the_projection(estimator):
    X, y = _moons()
    estimator.fit(X, y)
    for x, radius in zip(X[:8], robustness(estimator, X[:8]).radius, strict=True):
        found = counterfactual(estimator, x)
        assert found.nearest
        assert found.prediction == estimator.predict([found.point])[0] != estimator.predict([x])[0]
        np.testing.assert_allclose(found.distance, radius, atol=1e-4)


@pytest.mark.parametrize("box", [None, (0.1, 8.0)])
@pytest.mark.parametrize("fixed", [None, [1]])
@pytest.mark.parametrize(
    "estimator", [LinearSVC(), SVC(kernel="linear", multiclass="crammer_singer")], ids=["ovr", "joint"]
)
def test_of_several_linear_classes_it_is_the_solution_of_a_quadratic_program(estimator, box, fixed):
    X, y = _iris()
    estimator.fit(X, y)
    W, b = estimator.coef_, np.ravel(estimator.intercept_)
    for x in X[::40]:
        for target in {0, 1, 2} - {int(estimator.predict([x])[0])}:
            found = counterfactual(estimator, x, target, bounds=box, fixed=fixed)
            assert found.prediction == target
            others = [j for j in range(3) if j != target]
            A, least = W[target] - W[others], b[others] - b[target] + 1e-6
            limits = [list(box) if box else [None, None] for _ in range(4)]
            if fixed:
                limits[1] = [x[1], x[1]]
            best = minimize(
                lambda z, x=x: ((z - x) ** 2).sum(),
                found.point,
                jac=lambda z, x=x: 2 * (z - x),
                constraints=[LinearConstraint(A, least)],
                bounds=limits,
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            np.testing.assert_allclose(found.distance**2, best.fun, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", Polynomial(3, 1.0, 1.0)], ids=str)
def test_of_curved_boundaries_it_is_as_near_as_the_nearest_point_of_a_grid(kernel):
    X, y = _moons()
    model = SVC(kernel=kernel, gamma=1.0, C=10.0).fit(X, y)
    side = np.linspace(-3, 4, 700)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    of_grid = model.predict(grid)
    for x in X[:6]:
        found = counterfactual(model, x)
        own = model.predict([x])[0]
        nearest = np.linalg.norm(grid[of_grid != own] - x, axis=1).min()
        assert found.prediction != own
        assert found.decision >= 1e-6
        assert not found.nearest
        assert found.distance <= nearest * 1.001
        assert found.distance >= robustness(model, [x]).radius[0] if kernel == "rbf" else True


def test_fixed_and_bounded_features_of_a_kernel():
    X, y = _iris()
    table = pd.DataFrame(X, columns=list("abcd"))
    model = SVC(C=10.0).fit(table, y)
    found = counterfactual(model, table.iloc[[60]], target=2, fixed=["a", "b"], bounds=(0.0, 5.5))
    assert found.prediction == 2
    assert not found.change[:2].any()
    assert found.point[2:].max() <= 5.5
    assert "2 instead of 1" in str(found)
    assert found.feature_names == list("abcd")
    one = counterfactual(model, table.iloc[[60]], target=0, margin=0.5)
    assert one.decision >= 0.5


def test_one_vs_one_of_several_classes():
    X, y = _iris()
    model = SVC(C=10.0).fit(X, np.array(["a", "b", "c"])[y])
    for x in X[::30]:
        for target in "abc":
            assert counterfactual(model, x, target).prediction == target


def test_a_point_that_is_there_already_stays():
    X, y = _moons()
    model = SVC().fit(X, y)
    own = model.predict(X[:1])[0]
    found = counterfactual(model, X[0], target=own)
    assert found.distance == 0.0
    assert np.array_equal(found.point, X[0])


@pytest.mark.parametrize("estimator", [SVR(C=10.0), LinearSVR(C=10.0)], ids=["kernel", "linear"])
def test_a_value_of_a_regression(estimator):
    X, _ = _iris()
    estimator.fit(X[:, :3], X[:, 3])
    found = counterfactual(estimator, X[0, :3], (1.0, 1.2))
    assert 1.0 <= found.prediction <= 1.2
    found = counterfactual(estimator, X[0, :3], (1.5, np.inf))
    assert found.prediction >= 1.5


def test_an_outlier():
    X, _ = _moons()
    model = OneClassSVM(gamma=1.0, nu=0.2).fit(X)
    inside = X[model.predict(X) == 1][0]
    out = counterfactual(model, inside)
    assert out.prediction == -1
    assert counterfactual(model, out.point + 3 * out.change).prediction == 1


def test_what_does_not_exist_is_said():
    X, y = _moons()
    linear, curved = LinearSVC().fit(X, y), SVC(gamma=1.0).fit(X, y)
    for model in (linear, curved):
        own = X[model.predict(X) == 0][0]
        with pytest.raises(ValueError, match="no point with the prediction 1"):
            counterfactual(model, own, fixed=[0, 1])
        with pytest.raises(ValueError, match=r"bounds contradict each other for feature 0: from 2 to 1"):
            counterfactual(model, own, bounds=([2.0, 0.0], [1.0, 1.0]))
        with pytest.raises(ValueError, match="target=7 is not a class"):
            counterfactual(model, own, 7)
    with pytest.raises(ValueError, match="margin"):
        counterfactual(linear, X[0], margin=0.0)
    with pytest.raises(ValueError, match="one point"):
        counterfactual(linear, X[:2])
    with pytest.raises(ValueError, match="kernel with a derivative"):
        counterfactual(SVC(kernel=Laplacian()).fit(X, y), X[0])
    with pytest.raises(ValueError, match="kernel with a derivative"):
        counterfactual(SVC(kernel="spectrum").fit(["aab", "bba"], [0, 1]), "aab")
    with pytest.raises(ValueError, match="interval"):
        counterfactual(SVR().fit(X, y), X[0], 1.0)
    with pytest.raises(TypeError, match="got KernelPCA"):
        counterfactual(KernelPCA(n_components=2).fit(X), X[0])
    with pytest.raises(ValueError, match="-1 "):
        counterfactual(OneClassSVM().fit(X), X[0], 2)


@pytest.mark.parametrize("kernel", ["rbf", Polynomial(degree=2, gamma=1.0, coef0=1.0)], ids=["rbf", "polynomial"])
def test_with_a_fixed_feature_the_search_looks_in_all_directions(kernel):
    """Support vectors may all lie on one side of the point, and the boundary is nearer on another one."""
    X = np.random.default_rng(11).normal(size=(60, 3))
    model = SVC(kernel=kernel, gamma=0.7, C=5.0).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.6)
    angle, radius = np.meshgrid(np.linspace(0, 2 * np.pi, 500), np.linspace(0.02, 5, 250))
    for x in X[:8]:
        plane = np.column_stack(
            (radius.ravel() * np.cos(angle.ravel()), np.zeros(angle.size), radius.ravel() * np.sin(angle.ravel()))
        )
        other = model.predict(x + plane) != model.predict([x])[0]
        if other.any():
            found = counterfactual(model, x, fixed=[1])
            assert found.change[1] == 0
            assert found.distance <= radius.ravel()[other].min() + 1e-3
        else:
            with pytest.raises(ValueError, match="no point with the prediction"):
                counterfactual(model, x, fixed=[1])
