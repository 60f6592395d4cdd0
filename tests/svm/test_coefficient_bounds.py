"""Bounds of coefficients: ``monotonic_cst`` and ``coef_bounds`` of the linear estimators."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from maxmargin import LinearSVC, LinearSVR, load, save
from maxmargin.problems.bounded import BoundedProblem
from maxmargin.problems.losses import LOSSES, make_loss
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import certify
from maxmargin.runtime.control import Control
from maxmargin.solvers import Barrier


def drawn(seed, *, n=40, d=6, classify=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
    y = X @ (rng.normal(size=d) / np.abs(X).mean(axis=0)) + rng.normal(size=n) + 0.5
    return X, np.where(y > 0, 1.0, -1.0) if classify else y


TIGHT = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 20_000, "maxfun": 200_000}


@pytest.mark.parametrize("seed", range(4))
def test_squared_losses_reach_what_scipy_finds(seed):
    X, y = drawn(seed)
    signs = np.array([1, -1, 0, 1, -1, 0])
    bounds = [(0, None) if s > 0 else (None, 0) if s < 0 else (-0.2, 0.3) for s in signs]
    model = LinearSVR(
        C=2.0,
        loss="squared_epsilon_insensitive",
        epsilon=0.1,
        tol=1e-10,
        monotonic_cst=signs,
        coef_bounds=[(-0.2, 0.3) if s == 0 else (None, None) for s in signs],
    ).fit(X, y)

    def objective(u):
        r = y - X @ u[:-1] - u[-1]
        out = np.maximum(0, np.abs(r) - 0.1)
        slope = -2 * 2.0 * out * np.sign(r)
        return 0.5 * u[:-1] @ u[:-1] + 2.0 * out @ out, np.append(u[:-1] + X.T @ slope, slope.sum())

    limits = [*bounds, (None, None)]
    best = minimize(objective, np.zeros(7), jac=True, bounds=limits, method="L-BFGS-B", options=TIGHT).fun
    ours = objective(np.append(model.coef_, model.intercept_))[0]
    assert ours <= best * (1 + 1e-7)
    assert model.report_.relative_gap <= 1e-10
    for w, (low, high) in zip(model.coef_, bounds, strict=True):
        assert low is None or w >= low
        assert high is None or w <= high


def quadratic_program(problem):
    """The least objective by Clarabel, written down from the definitions: rows with a loss t_i above each piece."""
    clarabel = pytest.importorskip("clarabel")
    X, y, n, d = problem.X, problem.y, problem.n_rows, problem.n_features
    # Variables w, b, u, v: u_i >= y_i - f_i - eps and v_i >= f_i - y_i - eps, both >= 0, are the two sides of a loss.
    above, below = problem.sides
    costs = np.concatenate([above, below])
    P = np.zeros((d + 1 + 2 * n,) * 2)
    P[np.arange(d), np.arange(d)] = 1.0
    q = np.zeros(len(P))
    if problem.squared:
        P[np.arange(d + 1, len(P)), np.arange(d + 1, len(P))] = 2 * costs
    else:
        q[d + 1 :] = costs
    rows = np.hstack([X, np.ones((n, 1))])
    none = np.zeros((n, n))
    eye = np.eye(n)
    A = np.vstack(
        [
            np.hstack([-rows, -eye, none]),
            np.hstack([rows, none, -eye]),
            np.hstack([np.zeros((2 * n, d + 1)), -np.eye(2 * n)]),
            np.hstack([-np.eye(d), np.zeros((d, 1 + 2 * n))]),
            np.hstack([np.eye(d), np.zeros((d, 1 + 2 * n))]),
        ]
    )
    eps = problem.epsilon
    limit = np.concatenate([eps - y, eps + y, np.zeros(2 * n), -problem.low, problem.high])
    kept = np.isfinite(limit)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(int(kept.sum()))]
    result = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(A[kept]), limit[kept], cones, settings
    ).solve()
    return result.obj_val


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("n", "d"), [(40, 6), (12, 30)])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_every_loss_reaches_the_quadratic_program(name, n, d, form):
    loss = make_loss(name)
    X, y = drawn(len(name), n=n, d=d, classify=loss.classifies)
    rng = np.random.default_rng(d)
    low = np.where(rng.random(d) < 0.6, rng.choice([0.0, -0.1, 0.05], d), -np.inf)
    high = np.where(rng.random(d) < 0.6, np.maximum(low, rng.choice([0.0, 0.1], d)), np.inf)
    weight = rng.choice([0.5, 1.0, 3.0], n)
    problem = BoundedProblem(X, y, weight, loss, low=low, high=high)
    best = quadratic_program(problem)
    given = problem if form == "dense" else BoundedProblem(sp.csr_matrix(X), y, weight, loss, low=low, high=high)
    solution = Barrier().solve_linear(given, tol=1e-9, control=Control())
    certificate = certify(problem, solution.w, solution.b, solution.beta)
    assert certificate.relative_gap <= 1e-9
    assert certificate.primal == pytest.approx(best, rel=1e-7)
    assert certificate.violation <= 1e-3
    assert np.all((solution.w >= low) & (solution.w <= high))
    assert np.all((solution.w == low)[low == high])


def test_more_columns_than_the_square_system_takes():
    rng = np.random.default_rng(0)
    X = sp.random(60, 2_000, 0.05, format="csr", random_state=1)
    y = np.where(X @ rng.normal(size=2_000) > 0, 1.0, -1.0)
    high = np.where(rng.random(2_000) < 0.5, 0.0, np.inf)
    for rows in (X, X.toarray()):
        problem = BoundedProblem(rows, y, np.ones(60), make_loss("hinge"), low=np.full(2_000, -0.1), high=high)
        solution = Barrier().solve_linear(problem, tol=1e-8, control=Control())
        certificate = certify(problem, solution.w, solution.b, solution.beta)
        assert certificate.relative_gap <= 1e-8
        assert np.count_nonzero(solution.w == high) > 100


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_bounds_that_are_far_away_change_nothing(intercept):
    X, y = drawn(3, classify=True)
    plain = PrimalProblem(X, y, np.ones(len(y)), make_loss("hinge"), intercept, 2.0)
    far = np.full(6, 1e6)
    bounded = BoundedProblem(X, y, np.ones(len(y)), make_loss("hinge"), intercept, 2.0, low=-far, high=far)
    a, b = (Barrier().solve_linear(problem, tol=1e-10, control=Control()) for problem in (plain, bounded))
    np.testing.assert_allclose(a.w, b.w, rtol=1e-4, atol=1e-6)
    assert plain.primal(a.w, a.b) == pytest.approx(plain.primal(b.w, b.b), rel=1e-9)


def test_a_multiplier_of_bounds_is_certified_apart():
    """A certificate of coefficients outside is infinite, and of the optimum without bounds no better than that."""
    X, y = drawn(5, classify=True)
    problem = BoundedProblem(X, y, np.ones(len(y)), make_loss("hinge"), low=np.zeros(6), high=np.full(6, 0.1))
    assert certify(problem, np.full(6, -1.0), 0.0).primal == np.inf
    assert certify(problem, np.zeros(6), 0.0).relative_gap > 1e-3
    rng = np.random.default_rng(1)
    for _ in range(50):  # weak duality
        beta = problem.feasible(rng.normal(size=len(y)))
        assert problem.dual(beta) <= problem.primal(rng.uniform(0, 0.1, 6), rng.normal()) + 1e-12


def test_the_function_is_monotonic_and_named_columns_work():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["age", "dose", "noise"])
    y = np.where(table["age"] - 0.3 * table["dose"] + rng.normal(size=200) > 0, "ill", "healthy")
    free = LinearSVC(C=10.0).fit(table, y)
    model = LinearSVC(C=10.0, monotonic_cst={"dose": 1}).fit(table, y)
    assert list(model.classes_) == ["healthy", "ill"]
    assert free.coef_[0, 1] < 0
    assert model.coef_[0, 1] == 0.0
    assert model.coef_[0, 0] > 0
    assert "bounded coefficients" in str(model.report_)
    assert model.report_.solver == "barrier"


def test_several_classes_have_the_same_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.argmax(X[:, :3], axis=1)
    model = LinearSVC(coef_bounds=(-0.5, 0.5), calibration="sigmoid").fit(X, y)
    assert model.coef_.min() == -0.5 or model.coef_.max() == 0.5
    assert np.abs(model.coef_).max() <= 0.5
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_several_targets_share_the_bounds():
    X, y = drawn(1)
    Y = np.column_stack([y, -y])
    model = LinearSVR(monotonic_cst=[1] * 6).fit(X, Y)
    assert model.coef_.min() >= 0
    for k in range(2):
        alone = LinearSVR(monotonic_cst=[1] * 6).fit(X, Y[:, k])
        np.testing.assert_array_equal(alone.coef_, model.coef_[k])


def test_one_class_with_weight_and_bounds_without_zero():
    X = np.array([[1.0], [2.0], [3.0]])
    model = LinearSVC(coef_bounds=(0.5, 2.0)).fit(X, [0, 1, 1], sample_weight=[0, 1, 1])
    assert model.coef_[0, 0] == 0.5
    assert list(model.predict(X)) == [1, 1, 1]


def test_path_warm_start_and_model_files_keep_the_bounds(tmp_path):
    X, y = drawn(2, classify=True)
    model = LinearSVC(coef_bounds=(0, [1, 1, 1, 1, 1, None]), warm_start=True)
    for fitted in model.path(X, y, [0.1, 1.0, 10.0]):
        assert fitted.coef_.min() >= 0
        assert fitted.report_.converged
    model.fit(X, y)
    again = model.set_params(C=2.0).fit(X, y)
    fresh = LinearSVC(C=2.0, coef_bounds=model.coef_bounds).fit(X, y)
    assert again.report_.relative_gap <= 1e-4
    np.testing.assert_allclose(again.decision_function(X), fresh.decision_function(X), atol=0.05)
    save(again, tmp_path / "model")
    restored = load(tmp_path / "model")
    assert restored.get_params()["coef_bounds"] == again.coef_bounds
    np.testing.assert_array_equal(restored.predict(X), again.predict(X))


WRONG = [
    ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\), but X has 3 features"),
    ({"monotonic_cst": [1, 0, 2]}, "monotonic_cst of feature 2 is 2.0: it must be -1"),
    ({"monotonic_cst": ["up", 0, 0]}, "monotonic_cst must hold -1, 0 or 1"),
    ({"monotonic_cst": {"age": 1}}, "X has no column names"),
    ({"coef_bounds": (1.0, 0.0)}, "coef_bounds of feature 0 are 1 and 0: the lower is above the upper"),
    ({"coef_bounds": [(0, 1)]}, "coef_bounds has 1 pairs, but X has 3 features"),
    ({"coef_bounds": (0, 1, 2)}, r"coef_bounds must be a tuple \(lower, upper\)"),
    ({"coef_bounds": 3.0}, "coef_bounds must be a tuple"),
    ({"coef_bounds": ([0, 0], 1)}, "coef_bounds must be a tuple"),
    ({"coef_bounds": (np.nan, 1)}, "coef_bounds of feature 0 has nan"),
    ({"coef_bounds": (None, -np.inf)}, "coef_bounds of feature 0 has -inf"),
    (
        {"monotonic_cst": [0, -1, 0], "coef_bounds": (0.5, 1)},
        r"monotonic_cst=-1 of feature 1 contradicts its coef_bounds",
    ),
    (
        {"monotonic_cst": [1, 0, 0], "solver": "coordinate_descent"},
        "takes no bounds of the coefficients: use solver='barr",
    ),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
@pytest.mark.parametrize("kind", [LinearSVC, LinearSVR])
def test_errors_by_name(kind, parameters, message):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    model = kind(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("solver", ["newton", "smo", "subgradient", "stochastic_subgradient", "pegasos", "qp_primal"])
def test_other_solvers_refuse_bounds(solver):
    X, y = drawn(1, classify=True)
    loss = "squared_hinge" if solver == "newton" else "hinge"
    with pytest.raises(ValueError, match="takes no bounds of the coefficients"):
        LinearSVC(loss=loss, solver=solver, monotonic_cst=[1] * 6).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "l1"}, "monotonic_cst needs penalty='l2'"),
        ({"C": np.inf}, "monotonic_cst needs a finite C"),
        ({"multi_class": "crammer_singer"}, "monotonic_cst needs multi_class='ovr'"),
    ],
)
def test_what_bounds_do_not_go_with(parameters, message):
    X, y = drawn(1, classify=True)
    with pytest.raises(ValueError, match=message):
        LinearSVC(monotonic_cst=[1] * 6, **parameters).fit(X, y)


def test_several_classes_and_streams_refuse_monotonic_cst():
    X, y = drawn(1, classify=True)
    with pytest.raises(ValueError, match="not supported for multiclass classification; y has 3 classes"):
        LinearSVC(monotonic_cst=[1] * 6).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="cannot be learnt from a stream"):
        LinearSVC(monotonic_cst=[1] * 6).partial_fit(X, y, classes=[-1, 1])


def test_an_unknown_column_is_named():
    table = pd.DataFrame(np.eye(4), columns=list("abcd"))
    with pytest.raises(ValueError, match="monotonic_cst names 'z', which is not a column of X"):
        LinearSVR(monotonic_cst={"z": 1}).fit(table, np.arange(4.0))
