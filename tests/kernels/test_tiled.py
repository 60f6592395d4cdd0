"""Operators on tiles, and the fitted function: shared blocks, precision, and what float32 may decide."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC
from maxmargin.kernels import (
    RBF,
    ArcCosine,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Tanimoto,
)
from maxmargin.kernels.gram.choice import STORED_MAX_ROWS, make_gram
from maxmargin.kernels.gram.shared import ClassBlocks, HeldGram
from maxmargin.kernels.gram.sides import tileable, varying_columns
from maxmargin.kernels.gram.tiled import MIRRORED_MIN_COLUMNS, TiledGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import c_svc, eps_svr, nu_svc, one_class
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import SOLVERS
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import certain, pairs, predict_codes

KERNELS = [
    RBF(gamma=0.3),
    Laplacian(gamma=0.2),
    Linear(),
    Polynomial(degree=3, gamma=0.5, coef0=1.0),
    Sigmoid(gamma=0.1, coef0=0.2),
]
MORE_KERNELS = [
    *(Matern(gamma=0.3, nu=nu) for nu in (0.5, 1.5, 2.5)),
    *(RationalQuadratic(gamma=0.3, alpha=alpha) for alpha in (0.5, 1.0, 3.0)),
    *(ArcCosine(order) for order in (1, 2)),
    Periodic(period=1.7, gamma=0.4),
    Tanimoto(),
]


def cloud(n, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_scale_of_the_data_cancels_against_the_kernel_s(kernel, size):
    """Values depend on gamma times the data's scale, so single precision must not see either alone."""
    X = cloud(60)
    values = TiledGram(kernel.resolve(X), X).product(np.arange(60), np.ones(60), single=True)
    power = 1 if isinstance(kernel, Laplacian) else 2
    scaled = kernel.resolve(X)
    if isinstance(kernel, Linear):
        expected = values * size**2
    else:
        scaled = scaled.set_params(gamma=scaled.gamma / size**power)
        expected = values
    got = TiledGram(scaled.resolve(size * X), size * X).product(np.arange(60), np.ones(60), single=True)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", MORE_KERNELS, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_values_are_the_kernel_s_own(kernel, sparse):
    X = cloud(150, 6) * (cloud(150, 6, seed=1) > 0)
    X[3] = 0.0
    X[7], X[9] = X[8], 2 * X[8]
    points = sp.csr_matrix(X) if sparse else X
    resolved = kernel.resolve(points)
    assert tileable(resolved, points) == (not sparse or isinstance(kernel, (ArcCosine, Tanimoto)))
    if not tileable(resolved, points):
        return
    exact, every = resolved.matrix(points, points), np.arange(150)
    gram = TiledGram(resolved, points, threads=2)
    assert not gram.single_is_exact
    coef = np.random.default_rng(2).standard_normal(150)
    size = np.abs(exact) @ np.abs(coef)
    rough, fine = 1e-5, 1e-13
    np.testing.assert_allclose(gram.block(every, every[:40]), exact[:, :40], rtol=fine, atol=fine)
    assert np.all(np.abs(gram.product(every, coef) - exact @ coef) <= fine * size)
    assert np.all(np.abs(gram.product(every, coef, single=True) - exact @ coef) <= rough * size)
    np.testing.assert_allclose(gram.diagonal(), np.diag(exact), rtol=1e-12)
    single = np.empty((150, 150), np.float32)
    gram.fill(every, single)
    np.testing.assert_allclose(single, exact, rtol=rough, atol=rough)
    part = gram.subset(every[20:60])
    np.testing.assert_allclose(part.product(np.arange(40), coef[:40]), exact[20:60, 20:60] @ coef[:40], atol=1e-6)


@pytest.mark.parametrize("kernel", MORE_KERNELS, ids=repr)
def test_fits_and_predictions_with_tiles_are_those_of_the_stored_matrix(kernel):
    X = cloud(1500, 3, seed=4)
    y = (X[:, 0] * X[:, 1] + 0.2 * X[:, 2] > 0).astype(int)
    model = SVC(kernel=kernel, C=2.0, tol=1e-5).fit(X[:1200], y[:1200])
    K = model.kernel_.matrix(X, X[:1200])
    stored = SVC(kernel="precomputed", C=2.0, tol=1e-5).fit(K[:1200], y[:1200])
    assert model.report_.converged
    np.testing.assert_allclose(model.decision_function(X), stored.decision_function(K), atol=2e-3)
    assert model.report_.dual_objective == pytest.approx(stored.report_.dual_objective, rel=1e-5)


def test_kernels_without_a_form_and_wide_sparse_points_are_not_tiled():
    assert not tileable(RBF() + Linear(), cloud(3))
    assert not tileable(ArcCosine(0), cloud(3))  # it would lose half of the digits of small angles
    assert not tileable(Polynomial(degree=2.5), cloud(3))
    assert not tileable(RBF(gamma=1.0), sp.random(5, 100_000, 0.001, format="csr"))
    assert not tileable(Laplacian(gamma=1.0), sp.random(5, 50, 0.1, format="csr"))


def test_a_few_long_rows_do_not_cost_the_others_single_precision():
    X = cloud(100)
    X[:3] *= 300
    assert not TiledGram(RBF(gamma=0.1).resolve(X), X).single_is_exact
    assert TiledGram(RBF(gamma=0.1).resolve(300 * X), 300 * X).single_is_exact


@pytest.mark.parametrize("double", [True, False])
def test_shared_blocks_hold_the_kernel_of_every_pair(double, monkeypatch):
    monkeypatch.setattr("maxmargin.kernels.gram.shared.DOUBLE_MAX_ROWS", 10_000 if double else 0)
    X = cloud(90)
    codes = np.random.default_rng(1).integers(0, 4, 90)
    codes[:5] = -1
    kernel = RBF(gamma=0.3).resolve(X)
    blocks = ClassBlocks(TiledGram(kernel, X), codes, 4)
    for i, j in pairs(4):
        gram = blocks.pair(i, j)
        rows = np.concatenate((np.flatnonzero(codes == i), np.flatnonzero(codes == j)))
        K = kernel.matrix(X[rows], X[rows])
        n = len(rows)
        assert isinstance(gram, HeldGram)
        assert gram.n == n
        cols = np.random.default_rng(2).permutation(n)[: n // 2]
        coef = np.arange(1.0, len(cols) + 1)
        for single, tolerance in ((True, 1e-11 if double else 1e-3), (False, 1e-11)):
            np.testing.assert_allclose(gram.product(cols, coef, single=single), K[:, cols] @ coef, atol=tolerance)
            some = np.array([3, 0, n - 1])
            np.testing.assert_allclose(
                gram.product(cols, coef, some, single=single), K[np.ix_(some, cols)] @ coef, atol=tolerance
            )
        for order in (np.arange(n), cols, np.sort(cols)):
            for dtype in (np.float32, np.float64):
                out = np.zeros((n + 70, n + 70), dtype)
                gram.fill(order, out)
                np.testing.assert_allclose(out[: len(order), : len(order)], K[np.ix_(order, order)], atol=1e-5)
        part, own = gram.subset(cols), np.arange(len(cols))
        np.testing.assert_allclose(part.product(own, coef), K[np.ix_(cols, cols)] @ coef, atol=1e-11)
        np.testing.assert_allclose(part.block(own, own[:3]), K[np.ix_(cols, cols[:3])], atol=1e-11)


def test_one_vs_one_with_and_without_shared_blocks_is_the_same_model():
    X, y = cloud(600, seed=5), np.digitize(cloud(600, seed=5)[:, 0], [-0.6, 0.0, 0.6])
    shared = SVC(tol=1e-6).fit(X, y)
    apart = SVC(tol=1e-6, cache_size=0.01).fit(X, y)
    np.testing.assert_allclose(shared.decision_function(X), apart.decision_function(X), atol=2e-5)
    assert shared.report_.kernel_evaluations < apart.report_.kernel_evaluations


PROBLEMS = {
    "c_svc": lambda y: c_svc(np.sign(y), np.full(len(y), 10.0)),
    "c_svc without intercept": lambda y: c_svc(np.sign(y), np.full(len(y), 10.0), fit_intercept=False),
    "eps_svr": lambda y: eps_svr(y, np.full(len(y), 5.0), 0.1),
    "nu_svc": lambda y: nu_svc(np.sign(y), np.ones(len(y)), 0.4),
    "one_class": lambda y: one_class(np.ones(len(y)), 0.1),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_engine_agrees_with_the_simple_solvers_on_problems_of_many_rounds(name):
    """2,500 rows and working sets of 256: all phases, in single and double precision."""
    X = cloud(2500, 3, seed=7)
    y = X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(8).standard_normal(2500)
    y[y == 0] = 1.0
    problem = PROBLEMS[name](y)
    gram = TiledGram(RBF(gamma=0.5).resolve(X), X, threads=2)
    assert not gram.single_is_exact
    fast = type(SOLVERS["active_set"])(smallest=128, largest=256)
    simple = SOLVERS["smo"] if len(problem.totals) else SOLVERS["coordinate_descent"]
    found = {}
    for solver in (fast, simple):
        solution = solver.solve(problem, gram, tol=1e-4, control=Control())
        assert solution.status is Status.OPTIMAL
        used = np.flatnonzero(problem.coefficients(solution.a))
        f = gram.product(used, problem.coefficients(solution.a)[used])
        assert optimality.violation(problem, solution.a, problem.gradient(f, solution.a)) <= 1.1e-4
        found[solver.name] = problem.objective(f, solution.a)
    first, second = found.values()
    assert first == pytest.approx(second, rel=1e-5, abs=1e-4)


def test_large_fits_give_the_same_bits_for_any_number_of_threads():
    X = cloud(3000, 5, seed=9)
    y = (np.abs(X[:, 0]) + 0.2 * X[:, 1] > 0.7).astype(int)
    first, *others = (SVC(C=3, n_jobs=n).fit(X, y) for n in (1, 2, 4))
    for other in others:
        np.testing.assert_array_equal(first.dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(first.support_, other.support_)
        np.testing.assert_array_equal(first.intercept_, other.intercept_)
        np.testing.assert_array_equal(first.decision_function(X), other.decision_function(X))


def test_a_warm_start_at_the_solution_takes_no_steps():
    X = cloud(3000, 5, seed=10)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
    model = SVC(warm_start=True).fit(X, y)
    assert model.n_iter_[0] > 0
    assert model.fit(X, y).n_iter_[0] == 0


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("outputs", [1, 3])
def test_written_out_polynomials_are_the_expansion(degree, outputs):
    rng = np.random.default_rng(11)
    anchors, coef = rng.standard_normal((400, 3)), rng.standard_normal((400, outputs))
    kernel = Polynomial(degree=degree, gamma=0.7, coef0=0.4).resolve(anchors)
    function = KernelExpansion(kernel, anchors, coef, np.arange(float(outputs)))
    assert function._explicit is not None
    X = rng.standard_normal((50, 3))
    expected = kernel.matrix(X, anchors) @ coef + np.arange(outputs)
    np.testing.assert_allclose(function.decision(X), expected, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(function.decision(sp.csr_matrix(X)), expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_rough_values_are_within_their_bound(sparse):
    rng = np.random.default_rng(12)
    anchors = rng.standard_normal((900, 80)) * (rng.random((900, 80)) < 0.2)
    X = rng.standard_normal((4000, 80)) * (rng.random((4000, 80)) < 0.2)
    coef = rng.standard_normal((900, 3))
    if sparse:
        anchors, X = sp.csr_matrix(anchors), sp.csr_matrix(X)
    function = KernelExpansion(RBF(gamma=0.05).resolve(anchors), anchors, coef, np.zeros(3))
    values, bound = function.rough_decision(X, n_jobs=2)
    exact = function.decision(X, threads=2)
    assert np.all(np.abs(values - exact) <= bound)
    assert np.all(bound < 0.1)
    assert function.rough_decision(X[:10]) is None


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_a_certain_label_survives_every_error_within_the_bound(scheme):
    rng = np.random.default_rng(13)
    present = np.ones(4, bool)
    decision = rng.standard_normal((500, 6 if scheme == "ovo" else 4))
    bound = np.full(decision.shape[1], 0.1)
    codes = predict_codes(decision, scheme, present)
    sure = certain(decision, bound, codes, scheme)
    assert 0.2 < sure.mean() < 1
    for _ in range(200):
        other = decision + bound * rng.uniform(-1, 1, decision.shape)
        assert np.array_equal(predict_codes(other, scheme, present)[sure], codes[sure])


def test_labels_of_a_large_prediction_are_those_of_the_exact_values():
    X = cloud(2600, 12, seed=14)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
    model = SVC(C=5).fit(X, y)
    new = cloud(30_000, 12, seed=15)
    assert model._expansion.rough_decision(new) is not None
    exact = model._label(model._decision(new))
    np.testing.assert_array_equal(model.predict(new), model.classes_[exact])


def test_small_problems_store_their_kernel_and_large_ones_do_not():
    kernel = RBF(gamma=1.0)
    small, large = cloud(100), cloud(3000)
    assert type(make_gram(kernel.resolve(small), small, budget=1e9)).__name__ == "StoredGram"
    assert type(make_gram(kernel.resolve(large), large, budget=1e9)).__name__ == "TiledGram"
    assert type(make_gram(kernel.resolve(small), small, budget=10.0)).__name__ == "TiledGram"


def test_rows_are_copied_under_a_check_that_may_stop_it():
    """What raises every few rows ends the making of an operator; otherwise it changes nothing."""
    X = np.random.default_rng(0).standard_normal((STORED_MAX_ROWS + 500, 300))
    kernel = RBF(gamma=0.1).resolve(X)
    calls = []
    gram = make_gram(kernel, X, stop=lambda: calls.append(1))
    assert len(calls) > 1
    np.testing.assert_array_equal(gram.side.A, make_gram(kernel, X).side.A)

    def stop():
        calls.append(1)
        raise TimeoutError

    calls.clear()
    with pytest.raises(TimeoutError):
        make_gram(kernel, X, stop=stop)
    assert len(calls) == 1


@pytest.mark.parametrize("kernel", [RBF(gamma=0.01), Laplacian(gamma=0.05), Linear()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("n", [1, 191, 192, 193, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mirrored_block_has_the_values_of_all_tiles(kernel, n, dtype):
    X = cloud(600, MIRRORED_MIN_COLUMNS, seed=1) / 5
    gram = TiledGram(kernel.resolve(X), X, threads=2)
    rows = np.random.default_rng(2).permutation(600)[:n]
    out = np.full((n + 8, n + 16), np.nan, dtype)
    gram.fill(rows, out)
    expected = kernel.resolve(X)(X[rows], X[rows])
    np.testing.assert_allclose(out[:n, :n], expected, atol=1e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_array_equal(out[:n, :n], out[:n, :n].T)
    assert np.isnan(out[n:]).all()
    assert np.isnan(out[:, n:]).all()


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Laplacian(gamma=0.2), Linear()], ids=lambda k: type(k).__name__)
def test_columns_in_which_points_do_not_differ_are_left_out(kernel):
    """All columns differ somewhere, but not inside either half; there are subsets of subsets, too."""
    X = cloud(400, 12, seed=3)
    X[:, 3:6] = 7.5
    X[:200, 6:9], X[200:, 6:9], X[100:200, 9] = 1.25, -2.0, 0.5
    gram = TiledGram(kernel.resolve(X), X)
    coef = np.random.default_rng(4).standard_normal(100)
    for rows, left in [(np.arange(200), 6), (np.arange(200, 400), 6), (np.arange(100, 200), 5)]:
        part = gram.subset(rows)
        cols = np.arange(100)
        for single in (True, False):
            got = part.product(cols, coef, single=single)
            expected = kernel.resolve(X)(X[rows], X[rows[:100]]) @ coef
            np.testing.assert_allclose(got, expected, atol=(2e-4 if single else 1e-11) * np.abs(expected).max())
        assert part.side.d == (12 if isinstance(kernel, Linear) else left)
    inner = gram.subset(np.arange(50, 200))
    inner.product(np.arange(3), np.ones(3), single=True)
    again = inner.subset(np.arange(50, 150))
    expected = kernel.resolve(X)(X[100:200], X[100:103]) @ np.ones(3)
    for single in (True, False):
        got = again.product(np.arange(3), np.ones(3), single=single)
        np.testing.assert_allclose(got, expected, atol=(2e-4 if single else 1e-11) * np.abs(expected).max())


def test_varying_columns():
    X = np.zeros((500, 10))
    assert varying_columns(X) is None  # nothing would be left
    X[-1, 4] = 1.0
    np.testing.assert_array_equal(varying_columns(X), [4])
    assert varying_columns(cloud(500, 10)) is None
    assert varying_columns(sp.csr_matrix(X)) is None
