"""Passes over the rows: sums against dense matrices, and the same rows in every form."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.kernels import RBF, Laplacian, Polynomial, Precomputed, Spectrum
from maxmargin.large_scale.certificate import certify
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.oracle import Sums
from maxmargin.large_scale.rows.targets import Labels, Values
from maxmargin.large_scale.rows.tiles import KernelRows, LinearRows, StoredRows, stored, tile_height
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import make_loss
from maxmargin.runtime.threads import Halted, Scratch
from reference import smoothed_loss as reference

N, M, K = 211, 7, 3
RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(N, M))
CODES = RNG.integers(0, K, N)
WEIGHTS = RNG.uniform(0.5, 2, N)
B, b = RNG.normal(size=(M, K)), RNG.normal(size=K)


def labels():
    return Labels.one_vs_rest(CODES, WEIGHTS, 1.7, np.array([1.0, 2.0, 0.5]))


def oracle_of(loss, form="stored", height=16, **options):
    targets = Values(RNG_TARGETS, WEIGHTS, 0.8) if not loss.loss.classifies else labels()
    rows = {
        "stored": lambda: StoredRows(MATRIX, height),
        "single": lambda: StoredRows(MATRIX.astype(np.float32), height),
        "matrix": lambda: LinearRows(MATRIX, height=height),
        "csr": lambda: LinearRows(sp.csr_matrix(MATRIX), height=height),
    }[form]()
    return LocalOracle(rows, targets, **options)


RNG_TARGETS = RNG.normal(size=(N, K))
LOSSES = {
    "hinge": SmoothedLoss(make_loss("hinge"), 0.8),
    "squared_hinge": SmoothedLoss(make_loss("squared_hinge")),
    "tube": SmoothedLoss(make_loss("epsilon_insensitive", epsilon=0.2), 0.5),
    "squares": SmoothedLoss(make_loss("squared")),
}
FORMS = ["stored", "single", "matrix", "csr"]


def by_dense_matrices(loss):
    """F, g, D and losses from dense matrices, one output at a time."""
    targets = Values(RNG_TARGETS, WEIGHTS, 0.8) if not loss.loss.classifies else labels()
    y, c = targets.tile(slice(0, N))
    F = MATRIX @ B + b
    g = np.column_stack([c[:, k] * reference.derivative(loss, F[:, k], y[:, k]) for k in range(K)])
    D = np.column_stack([c[:, k] * reference.curvature(loss, F[:, k], y[:, k]) for k in range(K)])
    total = np.array([c[:, k] @ reference.value(loss, F[:, k], y[:, k]) for k in range(K)])
    return F, g, D, total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", list(LOSSES))
def test_sums_against_dense_matrices(name, form):
    loss = LOSSES[name]
    F, g, D, total = by_dense_matrices(loss)
    oracle = oracle_of(loss, form)
    exact = {"rtol": 1e-10, "atol": 1e-10} if form != "single" else {"rtol": 1e-4, "atol": 1e-4}
    sums = oracle.evaluate(B, b, loss)
    np.testing.assert_allclose(oracle.F, F, **exact)
    np.testing.assert_allclose(sums.loss, total, **exact)
    np.testing.assert_allclose(sums.gradient[0], MATRIX.T @ g, **exact)
    sides = oracle.evaluate(None, None, loss, sides=True)
    np.testing.assert_allclose(sides.gradient[0], MATRIX.T @ np.maximum(g, 0), **exact)
    np.testing.assert_allclose(sides.gradient.sum(axis=0), MATRIX.T @ g, **exact)
    np.testing.assert_allclose(sides.slope.sum(axis=0), g.sum(axis=0), **exact)
    P, p = RNG.normal(size=(M, K)), RNG.normal(size=K)
    product, by_b = oracle.curvature_times(P, p)
    np.testing.assert_allclose(product, MATRIX.T @ (D * (MATRIX @ P + p)), **exact)
    np.testing.assert_allclose(by_b, (D * (MATRIX @ P + p)).sum(axis=0), **exact)
    only = np.array([2])
    np.testing.assert_allclose(oracle.curvature_times(P[:, 2:], p[2:], only)[0], product[:, 2:], **exact)
    T = RNG.normal(size=(M, 4))
    wide = np.column_stack((MATRIX @ T, np.ones(N)))
    np.testing.assert_allclose(oracle.curvature([1], T)[0], wide.T @ (D[:, 1:2] * wide), **exact)
    wide = np.column_stack((MATRIX, np.ones(N)))
    np.testing.assert_allclose(oracle.curvature([1])[0], wide.T @ (D[:, 1:2] * wide), **exact)
    np.testing.assert_allclose(oracle.curvature_diagonal(), (wide**2).T @ D, **exact)
    oracle.direction(P, p)
    np.testing.assert_allclose(oracle.G, MATRIX @ P + p, **exact)


@pytest.mark.parametrize("height", [1, 5, 64, 1000])
def test_any_height_of_tiles(height):
    loss = LOSSES["hinge"]
    expected = oracle_of(loss).evaluate(B, b, loss)
    found = oracle_of(loss, height=height).evaluate(B, b, loss)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-12, atol=1e-12)
    assert found.support == expected.support


@pytest.mark.parametrize("threads", [2, 5])
def test_same_bits_for_any_number_of_threads(threads):
    loss = LOSSES["hinge"]
    one, many = oracle_of(loss, "single"), oracle_of(loss, "single", threads=threads)
    for first, second in ((one, many),):
        np.testing.assert_array_equal(first.evaluate(B, b, loss).gradient, second.evaluate(B, b, loss).gradient)
        np.testing.assert_array_equal(first.curvature_times(B, b)[0], second.curvature_times(B, b)[0])
        np.testing.assert_array_equal(first.curvature([0]), second.curvature([0]))


def test_along_and_slopes():
    loss = LOSSES["tube"]
    oracle = oracle_of(loss)
    oracle.evaluate(B, b, loss)
    P, p = RNG.normal(size=(M, K)), RNG.normal(size=K)
    oracle.direction(P, p)
    steps = np.array([[0.3] * K, [0.3 + 1e-6] * K])
    values, slopes = oracle.along(steps, loss)
    np.testing.assert_allclose((values[1] - values[0]) / 1e-6, slopes[0], rtol=1e-3)
    np.testing.assert_allclose(oracle.evaluate(B + 0.3 * P, b + 0.3 * p, loss).smooth, values[0])


def test_a_part_of_the_rows_stands_for_all():
    loss = LOSSES["squared_hinge"]
    part = oracle_of(loss, height=8).part(4)
    at = np.concatenate([np.arange(s, min(s + 8, N)) for s in range(0, N, 32)])
    assert part.n == len(at)
    sums = part.evaluate(B, b, loss)
    y, c = labels().tile(at)
    F = MATRIX[at] @ B + b
    expected = [N / len(at) * c[:, k] @ reference.value(loss, F[:, k], y[:, k]) for k in range(K)]
    np.testing.assert_allclose(sums.loss, expected)
    assert part.passes == pytest.approx(len(at) / N)


def test_a_sample_estimates_all():
    oracle = oracle_of(LOSSES["hinge"])
    rows, y, c = oracle.sample(50)
    assert rows.shape == (50, M)
    assert y.shape == c.shape == (50, K)
    again = oracle.sample(50)
    np.testing.assert_array_equal(rows, again[0])
    assert abs(c.sum() / labels().tile(slice(0, N))[1].sum() - 1) < 0.3
    complete = oracle.sample(1000)
    np.testing.assert_array_equal(complete[0], MATRIX)
    np.testing.assert_allclose(complete[2], labels().tile(slice(0, N))[1])


def test_pickled_rounds_go_on():
    loss = LOSSES["squared_hinge"]
    oracle = oracle_of(loss, stop=lambda: None)
    oracle.evaluate(B, b, loss)
    copy = pickle.loads(pickle.dumps(oracle))
    np.testing.assert_array_equal(copy.curvature_times(B, b)[0], oracle.curvature_times(B, b)[0])


def test_sums_of_parts_are_the_sums():
    loss = LOSSES["hinge"]
    complete = oracle_of(loss).evaluate(B, b, loss)
    halves = []
    for rows in (slice(0, 100), slice(100, N)):
        targets = Labels(CODES[rows], WEIGHTS[rows], labels().signs, labels().factors)
        halves.append(LocalOracle(StoredRows(MATRIX[rows]), targets).evaluate(B, b, loss))
    both = Sums.added(halves)
    np.testing.assert_allclose(both.gradient, complete.gradient)
    np.testing.assert_allclose(both.linear, complete.linear)
    assert both.support == complete.support


def test_a_request_to_stop_ends_a_pass():
    with pytest.raises(Halted):
        oracle_of(LOSSES["hinge"], stop=lambda: "now").evaluate(B, b, LOSSES["hinge"])


def test_recentred_multipliers_are_kept():
    loss = LOSSES["hinge"]
    oracle = oracle_of(loss)
    oracle.evaluate(B, b, loss)
    oracle.recentre()
    y, c = labels().tile(slice(0, N))
    F = MATRIX @ B + b
    centre = np.column_stack([-reference.derivative(loss, F[:, k], y[:, k]) * y[:, k] for k in range(K)])
    moved = np.clip(centre + (1 - y * F) / loss.width, 0, 1)
    found = oracle.evaluate(None, None, loss)
    np.testing.assert_allclose(found.gradient[0], MATRIX.T @ (-y * c * moved), atol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", list(LOSSES))
def test_certificate_from_the_definition(name, intercept):
    """Primal and dual again, with multipliers repaired row by row; no dual exceeds any primal."""
    loss = LOSSES[name]
    T = RNG.normal(size=(M, 5))
    w = RNG.normal(size=(5, K)) * 0.3
    oracle = oracle_of(loss)
    found = certify(w, oracle.evaluate(T @ w, b, loss, sides=intercept), T, loss, intercept)
    targets = Values(RNG_TARGETS, WEIGHTS, 0.8) if not loss.loss.classifies else labels()
    y, c = targets.tile(slice(0, N))
    phi = MATRIX @ T
    F = phi @ w + b
    for k in range(K):
        primal = 0.5 * w[:, k] @ w[:, k] + c[:, k] @ reference.value(loss, F[:, k], y[:, k])
        assert found[k].primal == pytest.approx(primal)
        g = c[:, k] * reference.derivative(loss, F[:, k], y[:, k])
        if intercept:
            up, down = g[g > 0].sum(), -g[g < 0].sum()
            g = np.where(g > 0, g * min(1, down / up), g * min(1, up / down))
            assert abs(g.sum()) < 1e-9 * np.abs(g).sum()

        def dual(t, g=g, k=k):
            v = t * phi.T @ g
            return -0.5 * v @ v - c[:, k] @ reference.conjugate(loss, t * g / c[:, k], y[:, k])

        best = max(0.0, *(dual(t) for t in np.geomspace(1e-7, 1 if not loss.squared else 2, 4001)))
        assert found[k].dual == pytest.approx(best, rel=1e-3, abs=1e-9)
        assert found[k].dual >= best - 1e-9 * abs(best)
        assert found[k].gap >= 0


# ---- rows

X = RNG.normal(size=(150, 4))


@pytest.mark.parametrize(
    "kernel",
    [RBF(gamma=0.3), Polynomial(degree=2, gamma=0.5, coef0=1.0), Laplacian(gamma=0.2), RBF(gamma=0.3) * RBF(gamma=0.1)],
    ids=["rbf", "poly", "laplacian", "product"],
)
@pytest.mark.parametrize("form", ["dense", "single", "csr"])
def test_kernel_rows_are_kernel_values(kernel, form):
    points = {"dense": X, "single": X.astype(np.float32), "csr": sp.csr_matrix(X)}[form]
    kernel = kernel.resolve(X)
    rows = KernelRows(kernel, points, X[:10], dtype=np.float64, height=32)
    expected = kernel.matrix(X, X[:10])
    tolerance = 1e-6 if form == "single" else 1e-12
    scratch = Scratch()
    np.testing.assert_allclose(rows.tile(slice(32, 64), None, scratch), expected[32:64], atol=tolerance)
    keep = np.array([1, 5, 30])
    np.testing.assert_allclose(rows.tile(slice(32, 64), keep, scratch), expected[32:64][keep], atol=tolerance)
    np.testing.assert_allclose(rows.picked(np.array([3, 149])), expected[[3, 149]], atol=tolerance)
    np.testing.assert_allclose(stored(rows).K, expected, atol=tolerance)


def test_single_precision_values():
    kernel = RBF(gamma=0.3).resolve(X)
    rows = stored(KernelRows(kernel, X, X[:10]))
    assert rows.K.dtype == np.float32
    np.testing.assert_allclose(rows.K, kernel.matrix(X, X[:10]), atol=3e-7)


def test_far_points_are_computed_in_double():
    """Squared distances of points around 1e4 have no digits in float32."""
    far = X + 1e4
    kernel = RBF(gamma=0.3).resolve(far)
    np.testing.assert_allclose(stored(KernelRows(kernel, far, far[:10])).K, kernel.matrix(far, far[:10]), atol=1e-5)


def test_stored_and_streamed_rows_have_the_same_bits():
    kernel = RBF(gamma=0.3).resolve(X)
    streamed = KernelRows(kernel, X, X[:20], height=16)
    held = stored(streamed, threads=2)
    loss, targets = (
        SmoothedLoss(make_loss("squared_hinge")),
        Labels.one_vs_rest(np.arange(150) % 2, np.ones(150), 1.0, np.ones(2)),
    )
    one, two = (LocalOracle(rows, targets).evaluate(np.ones((20, 1)), np.zeros(1), loss) for rows in (streamed, held))
    np.testing.assert_array_equal(one.gradient, two.gradient)


def test_rows_of_a_precomputed_matrix_and_of_strings():
    gram = X @ X.T
    rows = KernelRows(Precomputed(), gram, np.array([3, 5]), dtype=np.float64)
    np.testing.assert_array_equal(rows.picked(np.arange(150)), gram[:, [3, 5]])
    words = np.array(["kernel", "kennel", "colonel"], dtype=object)
    kernel = Spectrum(2).resolve(words)
    rows = KernelRows(kernel, words, words[:2], dtype=np.float64)
    np.testing.assert_allclose(rows.picked(np.arange(3)), kernel.matrix(words, words[:2]))


def test_a_memory_map_is_read_in_tiles(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    kernel = RBF(gamma=0.3).resolve(X)
    rows = KernelRows(kernel, mapped, X[:5], dtype=np.float64)
    np.testing.assert_allclose(rows.picked(np.arange(150)), kernel.matrix(X, X[:5]), atol=1e-12)


def test_tiles_fit_the_cache():
    assert tile_height(2000) * 2000 <= 2**18
    assert tile_height(10**6) >= 1
