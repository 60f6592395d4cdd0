"""The vector code against what it says it does, in plain NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.kernels.gram.tiles import products
from maxmargin.kernels.gram.tiles.reference import kernel_values
from maxmargin.kernels.gram.tiles.selection import BIG, UNIT, solve_pairs
from maxmargin.kernels.gram.tiles.vectors import ROWS, panel_width

KINDS = {
    "exp2": (products.EXP2, 1),
    "linear": (products.POWER, 1),
    "cubic": (products.POWER, 3),
    "tanh": (products.TANH, 1),
    "decay": (products.DECAY, 1),
}
TOLERANCE = {np.float32: 3e-5, np.float64: 1e-12}


def padded(X, rows=ROWS):
    out = np.zeros((-(-len(X) // rows) * rows, X.shape[1]), X.dtype)
    out[: len(X)] = X
    return out


def sides(kind, n, m, d, dtype, density=1.0, seed=0):
    """Rows, their u, columns, their v: as the operator would hand them over."""
    rng = np.random.default_rng(seed)
    A, B = (0.4 * rng.standard_normal((k, d)) * (rng.random((k, d)) < density) for k in (n, m))
    A, B = A.astype(dtype), B.astype(dtype)
    if kind == products.EXP2:
        u, v = (-0.5 * (Z.astype(float) ** 2).sum(axis=1) for Z in (A, B))
    else:
        u, v = np.full(n, 0.3), np.zeros(m)
    if kind == products.DECAY:
        u[:] = 0.0
    return A, u.astype(dtype), B, v.astype(dtype)


def panels(B, v, dtype):
    width = panel_width(dtype)
    P = np.zeros((-(-len(B) // width), B.shape[1], width), dtype)
    packed = np.zeros(P.shape[0] * width, dtype)
    products.pack_dense(B, v, np.arange(len(B)), P, packed)
    return P, packed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (7, 65, 3), (200, 130, 20), (13, 700, 2)])
def test_dense_tiles_compute_the_kernel(name, n, m, d, dtype):
    kind, degree = KINDS[name]
    A, u, B, v = sides(kind, n, m, d, dtype)
    expected = kernel_values(A, u, B, v, kind, degree)
    P, packed = panels(B, v, dtype)
    left, left_u = padded(A), padded(u[:, None])[:, 0].copy()
    out = np.zeros((len(left), len(packed)), dtype)
    products.store_dense(left, left_u, P, packed, kind, degree, out, 0, len(left))
    np.testing.assert_allclose(out[:n, :m], expected, rtol=0, atol=TOLERANCE[dtype])
    coef = np.zeros(len(packed), dtype)
    coef[:m] = np.random.default_rng(1).standard_normal(m)
    total = np.ones(len(left))
    products.price_dense(left, left_u, P, packed, coef, kind, degree, total, 0, len(left))
    np.testing.assert_allclose(total[:n], 1 + expected @ coef[:m].astype(float), atol=m * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp2", "linear", "cubic", "tanh"])
def test_sparse_tiles_equal_dense_ones(name, dtype):
    kind, degree = KINDS[name]
    A, u, B, v = sides(kind, 50, 90, 40, dtype, density=0.1)
    expected = kernel_values(A, u, B, v, kind, degree)
    left, right = sp.csr_matrix(A), sp.csr_matrix(B)
    width = panel_width(dtype)
    P = np.zeros((-(-90 // width), 40, width), dtype)
    packed = np.zeros(P.shape[0] * width, dtype)
    products.pack_csr(
        right.indptr.astype(np.int64), right.indices.astype(np.int32), right.data, v, np.arange(90), P, packed
    )
    csr = left.indptr.astype(np.int64), left.indices.astype(np.int32), left.data
    order = np.random.default_rng(2).permutation(50)
    out = np.zeros((50, len(packed)), dtype)
    products.store_csr(*csr, order, u, P, packed, kind, degree, out, 0, 50)
    np.testing.assert_allclose(out[:, :90], expected[order], rtol=0, atol=TOLERANCE[dtype])
    coef = np.zeros(len(packed), dtype)
    coef[:90] = 1.0
    total = np.zeros(50)
    products.price_csr(*csr, order, u, P, packed, coef, kind, degree, total, 0, 50)
    np.testing.assert_allclose(total, expected[order].sum(axis=1), atol=90 * TOLERANCE[dtype])


def test_a_far_point_has_a_value_next_to_nothing():
    A, B = np.array([[300.0]], np.float32), np.zeros((1, 1), np.float32)
    P, packed = panels(B, np.zeros(1, np.float32), np.float32)
    out = np.ones((ROWS, len(packed)), np.float32)
    u = np.full(ROWS, -0.5 * 300.0**2, np.float32)
    products.store_dense(padded(A), u, P, packed, products.EXP2, 1, out, 0, ROWS)
    assert 0 <= out[0, 0] < 1e-29


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups", [1, 2])
def test_pair_steps_reach_the_optimality_conditions(dtype, groups):
    rng = np.random.default_rng(3)
    n = 3 * UNIT
    Z = rng.standard_normal((groups * n, 4))
    K = np.exp(-0.3 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    y = np.where(Z[:, 0] + 0.5 * rng.standard_normal(groups * n) > 0, 1.0, -1.0)
    lower, upper = np.where(y > 0, 0.0, -2.0), np.where(y > 0, 2.0, 0.0)
    matrix = np.zeros((groups * n, groups * n + 16), dtype)
    matrix[:, : groups * n] = K
    a, g = np.zeros(groups * n), (-y).astype(dtype)
    rise = np.where(a < upper, 0, BIG).astype(dtype)
    fall = np.where(a > lower, 0, -BIG).astype(dtype)
    starts = np.arange(groups) * n
    ones = np.ones(groups * n, dtype)
    goal = 1e-3 if dtype is np.float32 else 1e-10
    steps = solve_pairs(matrix, g, a, lower, upper, rise, fall, ones, starts, starts + n, dtype(goal), 100_000)
    assert 0 < steps < 100_000
    gradient = K @ a - y
    for start in starts:
        mine = slice(start, start + n)
        assert abs(a[mine].sum()) < 1e-9
        worst = gradient[mine][(a > lower)[mine]].max() - gradient[mine][(a < upper)[mine]].min()
        assert worst <= goal + (1e-4 if dtype is np.float32 else 1e-11)
    assert np.all((a >= lower) & (a <= upper))


def test_the_steps_stop_at_their_limit():
    K = np.eye(UNIT, UNIT + 16, dtype=np.float32)
    y = np.resize([1.0, -1.0], UNIT)
    lower, upper = np.where(y > 0, 0.0, -5.0), np.where(y > 0, 5.0, 0.0)
    a, g = np.zeros(UNIT), (-y).astype(np.float32)
    rise, fall = np.where(y > 0, 0, BIG).astype(np.float32), np.where(y > 0, -BIG, 0).astype(np.float32)
    whole = np.zeros(1, int), np.array([UNIT])
    assert solve_pairs(K, g, a, lower, upper, rise, fall, np.ones(UNIT, np.float32), *whole, np.float32(0), 3) == 3
    assert np.count_nonzero(a) == 6


def test_other_processors_get_other_tiles_and_the_same_values(tmp_path):
    """The tile adapts to narrower and fewer registers: compiled for AVX2, it computes the same kernel."""
    script = (
        "import numpy as np\n"
        "from maxmargin.kernels.gram.tiles.vectors import BITS, VECTORS\n"
        "from maxmargin.kernels import RBF\n"
        "from maxmargin.kernels.gram.tiled import TiledGram\n"
        "X = np.random.default_rng(0).standard_normal((150, 7))\n"
        "kernel = RBF(gamma=0.2).resolve(X)\n"
        "every = np.arange(150)\n"
        "f = TiledGram(kernel, X).product(every, np.ones(150), single=True)\n"
        "print(BITS, VECTORS, np.abs(f - kernel.matrix(X, X).sum(axis=1)).max())\n"
    )
    environment = {**os.environ, "NUMBA_CPU_NAME": "haswell", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    bits, vectors, error = done.stdout.split()
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        assert (int(bits), int(vectors)) == (256, 2)
    assert float(error) < 1e-4
