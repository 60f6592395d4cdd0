"""The compiled batch: every kernel, kind of problem and form of points against float64 definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from maxmargin.problems import dual, optimality
from maxmargin.runtime.control import Control
from maxmargin.svm.kernel.solving.batch import (
    NOT_BEGUN,
    OPTIMAL,
    KernelValues,
    Posed,
    one_problem,
    pairs_of_classes,
    solve_posed,
)
from reference.native import batch

RBF = (0, 1, 0.9, 0.0, True)
LINEAR = (1, 1, 0.5, 0.0, False)
CUBIC = (1, 3, 0.4, 1.0, False)
SIGMOID = (2, 1, 0.2, 0.1, False)
LAPLACIAN = (3, 1, 0.3, 0.0, False)
FORMS = {"rbf": RBF, "linear": LINEAR, "poly": CUBIC, "sigmoid": SIGMOID, "laplacian": LAPLACIAN}


def values_of(X, form, how):
    d = X.shape[1]
    if how == "stored":
        return KernelValues.of_matrix(batch.kernel_matrix(X, form))
    if how == "csr":
        S = sp.csr_matrix(X)
        return KernelValues((S.indptr.astype(np.int64), S.indices.astype(np.int32), S.data, d), form, d, sparse=True)
    if how == "single":
        return KernelValues((X.astype(np.float32), None), form, d, single=True)
    return KernelValues((X, None), form, d, single=how == "mixed")


def against_the_rest(codes, bound, classes):
    """C-SVC of each of the classes against all other rows: problems of one run over the same segment."""
    n, k = len(codes), len(classes)
    y = np.where(codes == classes[:, None], 1.0, -1.0).ravel()
    c = np.tile(bound, k)
    return Posed(
        "c_svc",
        np.arange(n),
        np.array([0, n]),
        np.column_stack((np.zeros(k, int), np.full(k, -1))),
        np.tile(np.arange(n), k),
        n * np.arange(k + 1),
        -y,
        np.where(y > 0, 0.0, -c),
        np.where(y > 0, c, 0.0),
        y,
        np.zeros((k, 2)),
        joined=True,
    )


def solve(posed, values, tol=1e-3, **options):
    options = {"control": Control(), "budget": 2e8, "threads": 1, **options}
    return solve_posed(posed, values, tol=tol, **options)


def check(posed: Posed, solved, K, tol, problems):
    """The solution is feasible, f and the certificate are right, and tol is met in float64."""
    for p, problem in enumerate(problems):
        variables = slice(posed.at[p], posed.at[p + 1])
        a, f = solved.a[variables], solved.f[variables]
        rows = posed.order[posed.place[variables]]
        assert (a >= posed.lower[variables]).all()
        assert (a <= posed.upper[variables]).all()
        full = np.zeros(len(K))
        np.add.at(full, rows, a)
        exact = (K @ full)[rows]
        np.testing.assert_allclose(f, exact, atol=2e-4 * (1 + np.abs(full).sum()))
        gradient = exact + posed.linear[variables]
        run = np.arange(len(a)) >= posed.start[posed.runs[p, 0] + 1] - posed.start[posed.runs[p, 0]]
        group = np.zeros(len(a), int) if posed.joined else run.astype(int)
        found = batch.violation(gradient, a, posed.lower[variables], posed.upper[variables], group)
        assert solved.status[p] == OPTIMAL
        assert found <= tol * (1 + 1e-9) + 1e-12
        assert solved.certificates.violation[p] == pytest.approx(found, abs=1e-9 * (1 + np.abs(full).sum()))
        if problem is not None:
            n = problem.n_rows
            certificate = optimality.best_certificate(problem, a, exact[:n])
            ours = solved.certificates[p]
            assert ours.violation == pytest.approx(certificate.violation, abs=1e-5)
            for name in ("primal", "dual", "norm", "complementarity"):
                expected = getattr(certificate, name)
                assert getattr(ours, name) == pytest.approx(expected, rel=1e-3, abs=1e-3), name


@pytest.mark.parametrize("how", ["double", "mixed", "single", "csr", "stored"])
@pytest.mark.parametrize("kernel", FORMS)
def test_pairs_of_classes(level, kernel, how):
    if how == "csr" and kernel == "laplacian":
        pytest.skip("the Laplacian takes dense points")
    rng = np.random.default_rng(1)
    n, d, k = 150, 5, 4
    codes = rng.integers(0, k, n)
    X = (rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[codes]) * (rng.random((n, d)) < 0.7)
    if how == "single":
        X = X.astype(np.float32).astype(np.float64)
    bound = rng.uniform(0.5, 3.0, n)
    posed = pairs_of_classes(codes, bound, k)
    K = batch.kernel_matrix(X, FORMS[kernel])
    solved = solve(posed, values_of(X, FORMS[kernel], how))
    pairs = [
        dual.c_svc(posed.target[posed.at[p] : posed.at[p + 1]], bound[posed.rows(p)]) for p in range(posed.n_problems)
    ]
    if kernel == "sigmoid":  # not positive: only the conditions are claimed
        pairs = [None] * posed.n_problems
    check(posed, solved, K, 1e-3, pairs)
    # From near the solution with known values of f: the same conditions, and at the solution there is nothing to do.
    near = np.where(rng.random(len(solved.a)) < 0.1, 0.0, solved.a)
    f = np.concatenate(
        [K[np.ix_(posed.rows(p), posed.rows(p))] @ near[posed.at[p] : posed.at[p + 1]] for p in range(posed.n_problems)]
    )
    for start in (solved.a, np.zeros(len(near))):
        again = solve(posed, values_of(X, FORMS[kernel], how), start=start, known=(near, f))
        check(posed, again, K, 1e-3, pairs)
        if start is solved.a and how != "mixed":
            assert again.steps.sum() <= 0.1 * solved.steps.sum()


@pytest.mark.parametrize("how", ["double", "mixed", "csr", "stored"])
@pytest.mark.parametrize("kind", ["c_svc", "nu_svc", "eps_svr", "nu_svr", "one_class"])
def test_kinds_of_problems(level, kind, how):
    rng = np.random.default_rng(2)
    n, d = 170, 4
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    t = X[:, 0] ** 2 + 0.1 * rng.normal(size=n)
    c = rng.uniform(0.5, 2.0, n)
    problem = {
        "c_svc": lambda: dual.c_svc(y, c),
        "nu_svc": lambda: dual.nu_svc(y, c, 0.3),
        "eps_svr": lambda: dual.eps_svr(t, c, 0.05),
        "nu_svr": lambda: dual.nu_svr(t, c, 0.4),
        "one_class": lambda: dual.one_class(c, 0.2),
    }[kind]()
    posed = one_problem(problem)
    begin = problem.start()
    begin = begin[posed.order] if kind == "nu_svc" else begin
    solved = solve(posed, values_of(X, RBF, how), start=begin)
    K = batch.kernel_matrix(X, RBF)
    alone = None if kind == "nu_svc" else problem  # its rows are reordered here
    check(posed, solved, K, 1e-3 * problem.tol_scale, [alone])
    a = solved.a
    if kind == "nu_svc":
        a = np.empty_like(a)
        a[posed.order] = solved.a
    expected = optimality.best_certificate(problem, a, K @ problem.coefficients(a))
    assert solved.certificates.primal[0] == pytest.approx(expected.primal, rel=1e-4, abs=1e-4)
    assert solved.certificates.dual[0] == pytest.approx(expected.dual, rel=1e-4, abs=1e-4)
    offset = optimality.offsets(problem, a, problem.gradient(K @ problem.coefficients(a), a))
    np.testing.assert_allclose(solved.offset[0, : len(offset)], offset, atol=1e-5)


@settings(max_examples=25)
@given(
    n=st.integers(2, 90),
    d=st.integers(1, 70),
    k=st.integers(2, 7),
    how=st.sampled_from(["double", "mixed", "csr", "stored"]),
    seed=st.integers(0, 99),
)
def test_drawn_shapes(level, n, d, k, how, seed):
    rng = np.random.default_rng(seed)
    codes = np.concatenate((np.arange(2), rng.integers(0, k, n)))
    X = rng.normal(size=(len(codes), d)) * (rng.random((len(codes), d)) < 0.5)
    posed = pairs_of_classes(codes, np.full(len(codes), 10.0), k)
    form = (0, 1, 1.0 / np.sqrt(d), 0.0, True)
    solved = solve(posed, values_of(X, form, how))
    check(posed, solved, batch.kernel_matrix(X, form), 1e-3, [None] * posed.n_problems)


@given(
    n=st.integers(6, 150),
    d=st.integers(1, 41),
    step=st.sampled_from([1.0, 1 / 255, 0.037, 1e-3]),
    largest=st.sampled_from([1, 3, 127, 128, 255, 32_000, 10**6]),  # spread over twice as much; 255 fit into a byte
    dtype=st.sampled_from([np.float64, np.float32]),
    stray=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_points_on_a_lattice(level, n, d, step, largest, dtype, stray, seed):
    """Multiples of a step, which have tiles of integers; ``stray`` is one point that is none, and 10**6 is too many."""
    rng = np.random.default_rng(seed)
    multiples = rng.integers(-largest, largest + 1, (n, d)) * (rng.random((n, d)) < 0.8)
    X = (step * multiples + rng.normal(size=d)).astype(dtype)
    if stray:
        X[rng.integers(n), rng.integers(d)] += dtype(0.4 * step)
    form = (0, 1, 1.5 / (step * largest * np.sqrt(d)), 0.0, True)
    codes = np.arange(n) % 3
    bound = rng.uniform(0.5, 3.0, n)
    posed = pairs_of_classes(codes, bound, 3)
    solved = solve(posed, KernelValues((X, None), form, d, single=True))
    K = batch.kernel_matrix(X, form)
    pairs = [
        dual.c_svc(posed.target[posed.at[p] : posed.at[p + 1]], bound[posed.rows(p)]) for p in range(posed.n_problems)
    ]
    check(posed, solved, K, 1e-3, pairs)


def test_rows_of_integers_are_exact_kernel_values(level):
    """Products of integers leave only the rounding of the exponential, also for points far from the origin."""
    rng = np.random.default_rng(5)
    n, d = 400, 301
    X = 1e4 + rng.integers(0, 256, (n, d)) / 255.0
    form = (0, 1, 0.35, 0.0, True)
    bound = np.full(n, 1.0)
    posed = pairs_of_classes(np.arange(n) % 2, bound, 2)
    solved = solve(posed, KernelValues((X, X.mean(axis=0)), form, d, single=True), tol=0.5)
    K = batch.kernel_matrix(X - 1e4, form)
    full = np.zeros(n)
    np.add.at(full, posed.order[posed.place], solved.a)
    exact = (K @ full)[posed.order[posed.place]]
    np.testing.assert_allclose(solved.f, exact, atol=3e-7 * np.abs(full).sum() + 1e-12)


def test_the_rest_and_folds_give_f_of_all_rows(level):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 3)) + np.eye(3)[codes]
    posed = against_the_rest(codes, np.where(rng.random(120) < 0.8, 1.0, 0.0), np.arange(3))
    solved = solve(posed, values_of(X, RBF, "mixed"))
    check(posed, solved, batch.kernel_matrix(X, RBF), 1e-3, [None] * 3)


@pytest.mark.parametrize("how", ["mixed", "double", "csr"])
def test_same_bits_for_any_number_of_threads_and_memory(how):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 6, 500)
    X = rng.normal(size=(500, 8)) + rng.normal(size=(6, 8))[codes]
    posed = pairs_of_classes(codes, np.full(500, 5.0), 6)
    values = values_of(X, (0, 1, 0.5, 0.0, True), how)
    runs = [solve(posed, values, threads=t, budget=b) for t, b in ((1, 2e8), (3, 2e8), (2, 2e5))]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].a, other.a)
        np.testing.assert_array_equal(runs[0].f, other.f)


def test_a_stop_gives_the_best_so_far():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 12, 3000)
    X = rng.normal(size=(3000, 60))
    posed = pairs_of_classes(codes, np.full(3000, 1e4), 12)
    control = Control(max_seconds=1e-9)
    solved = solve(posed, values_of(X, (0, 1, 0.05, 0.0, True), "mixed"), tol=1e-9, threads=2, control=control)
    assert (solved.status == NOT_BEGUN).any()
    rest = np.flatnonzero(solved.status == NOT_BEGUN)
    np.testing.assert_array_equal(solved.certificates.violation[rest], 2.0)
    np.testing.assert_allclose(solved.certificates.primal[rest], 1e4 * np.diff(posed.at)[rest])


def test_an_error_of_the_stop_function_is_raised():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 12, 3000)
    posed = pairs_of_classes(codes, np.full(3000, 1e4), 12)

    class Stop(Control):
        def stop(self):
            raise RuntimeError("stop")

    values = values_of(rng.normal(size=(3000, 60)), (0, 1, 0.05, 0.0, True), "mixed")
    with pytest.raises(RuntimeError, match="stop"):
        solve(posed, values, tol=1e-9, control=Stop())


@given(
    n=st.integers(0, 40), d=st.integers(0, 4), seed=st.integers(0, 50), dtype=st.sampled_from([np.float32, np.float64])
)
def test_merge_rows(level, n, d, seed, dtype):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(dtype) * dtype(0.5)
    target, weight = rng.integers(0, 2, n).astype(float), rng.integers(0, 3, n).astype(float)
    expected = batch.merge_rows(X, target, weight)
    S = sp.csr_matrix(X)
    orders = []
    for points in ((X,), (S.indptr, S.indices, S.data, d)):
        member_of, representative = np.empty(n, np.int64), np.empty(n, np.int64)
        total, key = np.empty(n), np.empty(n, np.uint64)
        count = _native.merge_rows(points, target, weight, member_of, representative, total, key)
        groups = {(frozenset(np.flatnonzero(member_of == g).tolist()), float(total[g])) for g in range(count)}
        assert groups == expected
        assert (member_of[weight == 0] == -1).all()
        assert all(representative[g] == np.flatnonzero(member_of == g)[0] for g in range(count))
        orders.append(key[:count].tolist())
    assert orders[0] == orders[1] == sorted(orders[0])


def arguments():
    X, codes = np.ones((4, 2)), np.array([0, 0, 1, 1])
    posed = pairs_of_classes(codes, np.ones(4), 2)
    a, f = np.zeros(4), np.zeros(4)
    problems = [posed.runs, posed.at, posed.linear, posed.lower, posed.upper, posed.target, posed.totals, a, f, None]
    return {
        "points": (X, None),
        "form": RBF,
        "segments": [posed.order, posed.start],
        "problems": problems,
        "results": [np.zeros(9), np.zeros((3, 1), np.int64), np.zeros(1, np.int8)],
        "rule": (0, True, 1e-3, 0.0, 100, (0, 0, False)),
        "options": (1, 1e6, False, True, 1),
        "stop": None,
    }


@pytest.mark.parametrize(
    ("group", "place", "value", "error", "message"),
    [
        ("points", 0, np.ones((4, 2), int), TypeError, "X must be a float32 or float64"),
        ("points", 1, np.ones(3), ValueError, r"shift.shape\[0\] must be 2"),
        ("form", 0, 7, ValueError, "kind must be"),
        ("form", 1, 99, ValueError, "degree must be"),
        ("segments", 0, np.array([0, 1, 2, 9]), ValueError, "order must lie in"),
        ("segments", 1, np.array([0, 2, 5]), ValueError, "start must rise"),
        ("segments", 1, np.array([0, 0, 4]), ValueError, "no segment empty"),
        ("problems", 0, np.array([[0, 2]]), ValueError, "runs must be"),
        ("problems", 0, np.array([[1, 0]]), ValueError, "runs must be"),
        ("problems", 1, np.array([0, 3]), ValueError, "at must count"),
        ("problems", 2, np.ones(3), ValueError, "linear"),
        ("problems", 9, np.ones(3), ValueError, "begun"),
        ("problems", 7, np.ones(3), ValueError, r"a.shape\[0\] must be 4"),
        ("results", 0, np.zeros(8), ValueError, r"values.shape\[0\] must be 9"),
        ("results", 2, np.zeros(2, np.int8), ValueError, "status"),
        ("rule", 0, 6, ValueError, "rule must be"),
        ("options", 0, 0, ValueError, "threads must be"),
        ("options", 4, 25, ValueError, "rows_at_once must be"),
    ],
)
def test_wrong_arguments(group, place, value, error, message):
    given_ = arguments()
    changed = list(given_[group])
    changed[place] = value
    given_[group] = changed
    given_ = {name: tuple(item) if isinstance(item, list) else item for name, item in given_.items()}
    with pytest.raises(error, match=message):
        _native.solve_batch(*given_.values())
