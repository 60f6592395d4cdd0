"""The native loops of linear models against their NumPy twins: drawn shapes, both precisions, dense and CSR rows with
either index type, every instruction level; and wrong arguments."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import linear

FORMS = ("dense", "shifted", "csr32", "csr64")
REALS = (np.float32, np.float64)


def rows_of(X, form, shift=None):
    """LinearRows of X, and the matrix that they stand for."""
    if form in ("dense", "shifted"):
        shift = np.arange(X.shape[1], dtype=float) if form == "shifted" else None
        return _native.LinearRows(X, shift=shift), X.astype(float) - (0 if shift is None else shift)
    S = sp.csr_matrix(X)
    kind = np.int32 if form == "csr32" else np.int64
    rows = _native.LinearRows(S.data, S.indptr.astype(kind), S.indices.astype(kind), X.shape[1])
    return rows, X.astype(float)


@st.composite
def matrices(draw, most=40):
    n, d = draw(st.integers(1, most)), draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = np.where(rng.random((n, d)) < draw(st.sampled_from([0.2, 0.9])), rng.standard_normal((n, d)), 0.0)
    return X.astype(draw(st.sampled_from(REALS))), draw(st.sampled_from(FORMS)), rng


@st.composite
def losses(draw, n, rng):
    """y, above, below, eps, squared as problems have them."""
    squared, kind = draw(st.booleans()), draw(st.sampled_from(["hinge", "tube", "pinball"]))
    weight = rng.choice([0.0, 0.5, 2.0], n)
    if kind == "hinge":
        y = rng.choice([-1.0, 1.0], n)
        return y, np.where(y > 0, weight, 0), np.where(y > 0, 0, weight), 0.0, squared
    if kind == "pinball":
        return rng.standard_normal(n), 0.8 * weight, 0.2 * weight, 0.0, False
    return rng.standard_normal(n), weight, weight, draw(st.sampled_from([0.0, 0.3])), squared


@given(matrices())
@settings(max_examples=40, deadline=None)
def test_products(level, case):
    X, form, rng = case
    rows, A = rows_of(X, form)
    n, d = A.shape
    assert rows.shape == (n, d)
    start, stop = sorted(rng.integers(0, n + 1, 2).tolist())
    part, w, v = A[start:stop], rng.standard_normal(d), rng.random(stop - start) * rng.integers(0, 2, stop - start)
    out = np.empty(stop - start)
    _native.rows_times(rows, w, start, stop, out)
    np.testing.assert_allclose(out, part @ w, atol=1e-10)
    _native.rows_squares(rows, start, stop, out)
    np.testing.assert_allclose(out, (part**2).sum(axis=1), atol=1e-9)
    _native.rows_squares(rows, start, stop, out, np.abs(w))
    np.testing.assert_allclose(out, part**2 @ np.abs(w), atol=1e-9)
    which = rng.integers(0, n, 7)
    some = np.empty(7)
    _native.rows_times_some(rows, w, which, some)
    np.testing.assert_allclose(some, A[which] @ w, atol=1e-10)
    for k in (1, 2, 3, 4, 7):
        V = rng.standard_normal((k, n))
        V[:, rng.random(n) < 0.5] = 0.0
        sums = np.ones((d + 1, k))
        _native.rows_sums(rows, V[:, start:stop], start, stop, sums)
        np.testing.assert_allclose(sums[:d], 1 + part.T @ V[:, start:stop].T, atol=1e-9)
        assert (sums[d] == 1).all()
    for dtype, close in ((np.float64, 1e-10), (np.float32, 1e-3)):
        scaled = np.full((stop - start, d), np.nan, dtype)
        count = _native.rows_scaled(rows, v, start, stop, scaled)
        assert count == np.count_nonzero(v)
        np.testing.assert_allclose(scaled[:count], (np.sqrt(v)[:, None] * part)[v > 0], atol=close)
    if rows.sparse:
        G = np.zeros((d, d))
        _native.rows_gram(rows, v, start, stop, G)
        np.testing.assert_allclose(np.tril(G), np.tril(part.T @ (v[:, None] * part)), atol=1e-9)
    out, factors = np.ones(d), rng.standard_normal(7)
    _native.rows_combine(rows, which, factors, out)
    np.testing.assert_allclose(out, 1 + A[which].T @ factors, atol=1e-9)


@given(matrices(), st.integers(1, 9), st.sampled_from([np.int32, np.int64]))
@settings(max_examples=30, deadline=None)
def test_tiles_of_columns_are_rows(level, case, tile, kind):
    X, _, _ = case
    S = sp.csc_matrix(X)
    n, d = X.shape
    indptr, indices = S.indptr.astype(kind), S.indices.astype(kind)
    tiles = -(-n // tile)
    cuts = np.empty((tiles + 1, d), np.int64)
    _native.csc_cuts(indptr, indices, n, tile, cuts)
    for t in range(tiles):
        begin, end, count = cuts[t], cuts[t + 1], min(tile, n - t * tile)
        size = int((end - begin).sum())
        pointer, columns, values = np.empty(count + 1, kind), np.empty(size, kind), np.empty(size, X.dtype)
        _native.csc_tile(indices, S.data, begin, end, t * tile, pointer, columns, values)
        found = sp.csr_matrix((values, columns, pointer), shape=(count, d))
        np.testing.assert_array_equal(found.toarray(), X[t * tile : t * tile + count])
        assert found.has_sorted_indices


@given(st.data(), st.integers(1, 50), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_losses(level, data, n, seed):
    rng = np.random.default_rng(seed)
    y, above, below, eps, squared = data.draw(losses(n, rng))
    rows = _native.RowLosses(y, above, below, eps, squared)
    f, b, centre = rng.standard_normal(n), 0.3, 0.7
    r, lower, upper = y - f - b, *linear.box(above, below, squared)
    beta = np.clip(rng.standard_normal(n), lower, upper)
    rho = linear.ridge(above, below, squared)
    moved = linear.after_step(r, beta, above, below, eps, squared)
    total, support, *sides = rows.survey(f, b, beta, centre, 1.0)
    np.testing.assert_allclose(total, linear.loss(r, above, below, eps, squared).sum(), rtol=1e-10)
    assert support == np.count_nonzero(moved)
    terms = (y - centre) * beta - eps * np.abs(beta), rho * beta**2 / 2, beta
    expected = [term[mask].sum() for term in terms for mask in (beta > 0, beta <= 0)]
    np.testing.assert_allclose(sides, expected, rtol=1e-10, atol=1e-12)
    out, first, theta = np.empty(n), np.empty(n), np.empty(n)
    assert rows.after_step(r, beta, 1.0, out) == np.count_nonzero(moved)
    np.testing.assert_allclose(out, moved, atol=1e-12)
    rows.derivative(f, b, first, theta)
    np.testing.assert_allclose(first, linear.derivative(r, above, below, eps, squared), atol=1e-12)
    sides = np.where(r > eps, above, np.where(r < -eps, below, 0.0))
    np.testing.assert_allclose(theta, 2 * sides if squared else np.zeros(n))
    u, t = rng.standard_normal(n), 0.4
    slope, curvature = rows.slope(r, u, t)
    inner = linear.derivative(r - t * u, above, below, eps, squared)
    np.testing.assert_allclose(slope, -(u @ inner), atol=1e-9)
    sides = np.where(r - t * u > eps, above, np.where(r - t * u < -eps, below, 0.0))
    np.testing.assert_allclose(curvature, 2 * sides @ u**2 if squared else 0.0, atol=1e-9)
    slope, _ = rows.slope(r, None, t)
    np.testing.assert_allclose(slope, -linear.derivative(r - t, above, below, eps, squared).sum(), atol=1e-9)


@given(st.data(), matrices(12), st.sampled_from([0.0, 0.5]))
@settings(max_examples=40, deadline=None)
def test_descent_is_coordinate_descent(level, data, case, rho):
    """An epoch ends where the twin does in the same order, and its sums are those of its multipliers."""
    X, form, rng = case
    rows, A = rows_of(X, form)
    n, d = A.shape
    y, above, below, eps, squared = data.draw(losses(n, rng))
    rho_i, (lower, upper) = linear.ridge(above, below, squared), linear.box(above, below, squared)
    q = np.maximum((A**2).sum(axis=1) + rho + rho_i, 1e-9)
    beta, w, order = np.zeros(n), np.zeros(d), np.flatnonzero(np.maximum(above, below) > 0)
    state = _native.Descent(rows, y, q, rho_i, lower, upper, beta, w, order)
    state.eps, state.rho, state.seed = eps, rho, 12345
    expected, met = np.zeros(n), []
    for _ in range(3):
        assert state.sweep(1, 10**6, 0.0, -1.0, False) == 1
        # rows are drawn from those not met yet; the order of the epoch is how they now stand
        met = order.copy()
        made = linear.epoch(A, y, q, rho_i, lower, upper, eps, rho, 0.0, expected, met)
        np.testing.assert_allclose(beta, expected, atol=1e-8 * (1 + np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(w, made, atol=1e-7 * (1 + np.abs(made).max()))
    np.testing.assert_array_equal(np.sort(met), np.flatnonzero(np.maximum(above, below) > 0))
    np.testing.assert_allclose(state.missing, beta.sum(), atol=1e-8 * (1 + np.abs(beta).sum()))
    value = y @ beta - eps * np.abs(beta).sum() - w @ w / 2 - rho_i @ beta**2 / 2
    np.testing.assert_allclose(state.dual, value, atol=1e-7 * (1 + abs(value) + np.abs(beta).sum()))


@pytest.mark.parametrize("sides", [1, 2])
def test_interior_passes(level, sides):
    """A step that is linearised exactly: the products of rooms and multipliers follow their definition."""
    rng = np.random.default_rng(sides)
    n = 30
    lower, upper = -rng.random((sides, n)) - 0.5, rng.random((sides, n)) + 0.5
    upper[:, :5] = np.inf
    p, ridge, f = rng.standard_normal((sides, n)), rng.random(n), rng.standard_normal(n)
    a = np.zeros((sides, n))
    rows = _native.InteriorRows(p, lower, upper, ridge, a, f)
    rows.begin(0.2, 1.0, True)
    rows.even_out(0.5, True)
    A, B, slope = a - lower, upper - a, f + p + ridge * a - 0.2
    least = np.minimum(A, B)
    z, x = np.maximum(slope, 0) + least / A, np.where(np.isfinite(B), np.maximum(-slope, 0) + least / B, 0.0)
    more = np.maximum(0, np.maximum(0.5 / A - z, np.where(x > 0, 0.5 / B - x, 0)))
    z, x = z + more, np.where(x > 0, x + more, 0)
    total, count, smallest = rows.products(0.0)
    products = np.concatenate(((A * z).ravel(), (B[x > 0] * x[x > 0]).ravel()))
    np.testing.assert_allclose([total, count, smallest], [products.sum(), len(products), products.min()])
    theta = 1 / (z / A + x / B + ridge)
    base = -slope
    q, T = np.empty(n), np.empty(n)
    for start, stop in ((0, 7), (7, n)):
        rows.weigh(start, stop, 0.2, q[start:stop], T[start:stop])
    np.testing.assert_allclose(T, theta.sum(axis=0))
    np.testing.assert_allclose(q, (theta * base).sum(axis=0), atol=1e-12)
    df, dl = 0.1 * rng.standard_normal(n), 0.05
    da = theta * (base + dl - df)
    dz, dx = -z - z * da / A, np.where(x > 0, -x + x * da / B, 0)
    q0, q1 = np.empty(n), np.empty(n)
    blocked, first, second, third = rows.predict(0, n, df, dl, q0, q1)
    bounded = x > 0
    ratios = [-da / A, -dz / z, np.where(bounded, da / B, 0), np.where(bounded, -dx / np.where(bounded, x, 1), 0)]
    np.testing.assert_allclose(blocked, max(ratio.max() for ratio in ratios))
    with np.errstate(invalid="ignore"):
        linear_part = (A * dz + da * z).sum() + np.where(bounded, B * dx - da * x, 0).sum()
    np.testing.assert_allclose([first, second, third], [products.sum(), linear_part, (da * dz - da * dx).sum()])
    corrected = base - da * dz / A - np.where(bounded, da * dx / B, 0)
    np.testing.assert_allclose(q0, (theta * corrected).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(q1, (theta * (1 / A - np.where(bounded, 1 / B, 0))).sum(axis=0), atol=1e-12)
    mu, df2 = 0.3, 0.1 * rng.standard_normal(n)
    rows.direct(0, n, df, dl, df2, 0.01, mu, True)
    to_A, to_B = mu - da * dz, mu + da * dx
    r = base + to_A / A - np.where(bounded, to_B / B, 0)
    step = theta * (r + 0.01 - df2)
    changes = np.empty(n)
    rows.changes(changes)
    np.testing.assert_allclose(changes, step.sum(axis=0), atol=1e-12)
    assert rows.advance(df2, 0.01)
    np.testing.assert_allclose(a, 0.01 * step, atol=1e-12)
    beta = np.empty(n)
    rows.beta(beta)
    np.testing.assert_allclose(beta, a.sum(axis=0), atol=1e-15)
    rows.centre(0.2, 1e-3)
    if sides == 1:  # the centred multipliers fulfil their conditions
        finite = np.isfinite(upper[0])
        A, B = a[0] - lower[0], upper[0] - a[0]
        difference = (1e-3 / A - 1e-3 / B)[finite]
        np.testing.assert_allclose(difference, (f + p[0] - 0.2)[finite], rtol=1e-5, atol=1e-6)


@given(st.sampled_from(REALS), st.sampled_from(REALS), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_lanes(level, weights, values, squared, seed):
    rng = np.random.default_rng(seed)
    n, d, L = 12, 9, 64 // np.dtype(weights).itemsize
    X = np.where(rng.random((n, d)) < 0.4, rng.standard_normal((n, d)), 0.0).astype(values)
    kind = _native.LanesSingle if weights is np.float32 else _native.LanesDouble
    rows, D = rows_of(X, "csr32")
    lane, own = rng.integers(0, L, n), rng.choice([0.5, 1.0, 3.0], L)
    bound, rho = rng.choice([0.5, 2.0], n), 0.3
    A, W, b, total = (np.zeros(shape, weights) for shape in ((n, L), (d, L), L, L))
    squares = np.maximum((D**2).sum(axis=1), 0.0)
    awake = np.ones(L, weights)
    lanes = kind(rows, lane, squares.astype(weights), bound.astype(weights), own.astype(weights), awake, A, W, b, total)
    lanes.rho, lanes.squared = rho, squared
    order, B, V = rng.permutation(n), np.zeros((n, L)), np.zeros((d, L))
    for _ in range(2):
        assert lanes.sweep(order, True) == n
        linear.lane_sweep(D, lane, bound, own, squared, rho, B, V, np.zeros(L), order)
    close = 2e-3 if weights is np.float32 else 1e-9
    np.testing.assert_allclose(A, B, atol=close)
    np.testing.assert_allclose(W, V, atol=close)
    out, norms = np.empty((n, L), weights), np.empty(L)
    _native.line_values(rows, W, 0, n, out)
    np.testing.assert_allclose(out, D @ V, atol=10 * close)
    combined = np.ones((d, L), weights)
    _native.line_sums(rows, A, 3, n, combined)
    np.testing.assert_allclose(combined, 1.0 + D[3:].T @ A[3:], atol=10 * close)
    _native.line_squares(W, norms)
    np.testing.assert_allclose(norms, (W.astype(float) ** 2).sum(axis=0), rtol=1e-12)


@given(st.data(), matrices(12))
@settings(max_examples=30, deadline=None)
def test_stochastic_steps(level, data, case):
    X, form, rng = case
    rows, A = rows_of(X, form)
    n, d = A.shape
    y, above, below, eps, squared = data.draw(losses(n, rng))
    above, below = above + 0.1 * (y > 0), below + 0.1 * (y <= 0)
    weight = np.maximum(above, below)
    drawn, eta = rng.integers(0, n, (15, 2)), 0.01 / np.arange(1.0, 16)
    u, v = np.zeros(d), np.zeros(n)
    steps = _native.StochasticSteps(rows, y, above, below, weight, u, v)
    steps.eps, steps.squared = eps, squared
    assert steps.go(drawn, eta)
    w, beta, mean_w, mean_beta = linear.steps(A, y, weight, above, below, eps, squared, drawn, eta)
    found_w, found_beta = np.empty(d), np.empty(n)
    steps.last(found_w, found_beta)
    np.testing.assert_allclose(found_w, w, atol=1e-8 * (1 + np.abs(w).max()))
    np.testing.assert_allclose(found_beta, beta, atol=1e-8 * (1 + np.abs(beta).max()))
    steps.mean(120.0, found_w, found_beta)
    np.testing.assert_allclose(found_w, mean_w, atol=1e-8 * (1 + np.abs(mean_w).max()))
    np.testing.assert_allclose(found_beta, mean_beta, atol=1e-8 * (1 + np.abs(mean_beta).max()))


def test_stochastic_steps_that_overflow_are_reported(level):
    X = np.full((3, 1), 1e200)
    steps = _native.StochasticSteps(
        _native.LinearRows(X), np.array([1.0, -1.0, 1.0]), np.ones(3), np.ones(3), np.ones(3), np.zeros(1), np.zeros(3)
    )
    steps.squared = True
    assert not steps.go(np.array([[0], [1], [2], [1]]), np.full(4, 0.5))


@given(matrices(12))
@settings(max_examples=30, deadline=None)
def test_columns(level, case):
    X, form, rng = case
    form = "dense" if form == "shifted" else form
    rows, A = rows_of(X, form)
    d, n = A.shape  # the rows are the columns of the data
    y, c = rng.choice([-1.0, 1.0], n), rng.choice([0.5, 3.0], n)
    w, slack, order = np.zeros(d), np.ones(n), rng.permutation(d)
    twin_w, twin_slack = w.copy(), slack.copy()
    for _ in range(2):
        _native.l1_descend(rows, order, y, c, w, slack)
        linear.columns_pass(A.T, order, y, c, twin_w, twin_slack)
    np.testing.assert_allclose(w, twin_w, atol=1e-8)
    np.testing.assert_allclose(slack, twin_slack, atol=1e-8)


def test_the_model_of_a_newton_step(level):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 6))
    H, r = M @ M.T + np.eye(6), 3 * rng.standard_normal(6)
    v, q = np.zeros(6), -r
    _native.l1_model(H, v, q, 1e-12, 1000, 1000)
    np.testing.assert_allclose(q, H @ v - r, atol=1e-9)
    np.testing.assert_allclose(q[v != 0], -np.sign(v[v != 0]), atol=1e-9)
    assert (np.abs(q) <= 1 + 1e-9).all()


ROWS = _native.LinearRows(np.ones((4, 2)))
V4 = np.ones(4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _native.LinearRows(np.ones((2, 2), int)), TypeError, "data must be a float32 or float64 array"),
        (lambda: _native.LinearRows(np.ones((3, 2)).T), TypeError, "another order"),
        (lambda: _native.LinearRows(np.ones((3, 2)), shift=np.ones(3)), ValueError, r"shift.shape\[0\] must be 2"),
        (
            lambda: _native.LinearRows(V4, np.array([0, 4]), np.array([0, 1, 2, 9]), 5),
            ValueError,
            r"indices must lie in \[0, 5\)",
        ),
        (lambda: _native.LinearRows(V4, np.array([0, 9]), np.arange(4), 5), ValueError, "indptr must rise"),
        (lambda: _native.LinearRows(V4, np.array([3, 1, 4]), np.arange(4), 5), ValueError, "indptr must rise"),
        (lambda: _native.LinearRows(V4, np.array([0, 4]), np.arange(4)), ValueError, "columns must be at least 0"),
        (lambda: _native.rows_times(ROWS, np.ones(3), 0, 4, V4.copy()), ValueError, r"w.shape\[0\] must be 2"),
        (lambda: _native.rows_times(ROWS, np.ones(2), 0, 5, np.ones(5)), ValueError, "start and stop"),
        (lambda: _native.rows_times(ROWS, np.ones(2), 0, 4, np.ones(3)), ValueError, r"out.shape\[0\] must be 4"),
        (lambda: _native.rows_gram(ROWS, V4, 0, 4, np.ones((2, 2))), TypeError, "CSR rows"),
        (lambda: _native.rows_times_some(ROWS, np.ones(2), np.array([4]), np.ones(1)), ValueError, "which must lie"),
        (lambda: _native.RowLosses(V4, V4, np.ones(3), 0.0, False), ValueError, r"below.shape\[0\] must be 4"),
        (lambda: _native.RowLosses(V4, V4, V4, -1.0, False), ValueError, "epsilon must be at least 0"),
        (
            lambda: _native.Descent(ROWS, *[V4.copy() for _ in range(6)], np.zeros(2), np.array([0, 7])),
            ValueError,
            "order must lie",
        ),
        (
            lambda: _native.InteriorRows(*np.ones((3, 3, 4)), V4, np.ones((3, 4)), V4.copy()),
            ValueError,
            r"p.shape\[0\] must be 1 or 2",
        ),
        (
            lambda: _native.StreamModels(np.ones((3, 1)), np.ones((3, 1)), np.ones(4), np.ones(4), np.ones(11)),
            ValueError,
            r"U.shape\[1\] must be at least",
        ),
        (lambda: _native.l1_model(np.ones((2, 3)), np.ones(2), np.ones(2), 0.1, 1, 1), ValueError, r"H.shape\[1\]"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
