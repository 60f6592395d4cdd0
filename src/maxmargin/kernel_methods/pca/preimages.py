"""Pre-images under the Gaussian kernel, by fixed-point steps (Mika, Schölkopf, Smola, Müller, Scholz & Rätsch 1999).

Given features g = sum_i g_i phi(x_i), find the point x whose features are nearest:

    |phi(x) - g|^2 = 1 - 2 f(x) + g'g,   f(x) = sum_i w_i,   w_i = g_i k(x_i, x)

so f is to be maximised. Its gradient is 2 gamma f(x) (t(x) - x) with t(x) = sum_i w_i x_i / f(x). Where f > 0, t(x) - x
is a direction of ascent, and x <- t(x) the step of Mika et al. It is not always an ascent itself, because some g_i are
negative: a step after which f is smaller is undone and halved.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import RBF
from maxmargin.runtime.validation import Array, Points

TILE_BYTES = 32e6  # kernel values held at a time


def climb(x: Array, g: Array, points: Points, kernel: RBF, max_iter: int, tol: float) -> tuple[Array, int]:
    """From each row of x up to a maximum of f, given the row of g; also how many rows are not there yet.

    A row has arrived when t(x) is nearer than ``tol`` sigma, sigma the width of the kernel.
    """
    x = x.copy()
    w = kernel.matrix(x, points) * g
    f = w.sum(axis=1)
    length = np.ones(len(x))
    limit = tol**2 / (2.0 * float(kernel.gamma))  # (tol sigma)^2
    going = np.flatnonzero(f > 0)
    lost = len(x) - len(going)
    for _ in range(max_iter):
        direction = np.asarray(w[going] @ points) / f[going, None] - x[going]
        far = np.einsum("ij,ij->i", direction, direction) > limit
        going, direction = going[far], direction[far]
        if len(going) == 0:
            break
        new = x[going] + length[going, None] * direction
        w_new = kernel.matrix(new, points) * g[going]
        f_new = w_new.sum(axis=1)
        up = f_new >= f[going]
        x[going[up]], w[going[up]], f[going[up]] = new[up], w_new[up], f_new[up]
        length[going] = np.where(up, np.minimum(1.0, 2.0 * length[going]), 0.5 * length[going])
        going = going[length[going] > 1e-8]  # f is flat to the last digit: there is nowhere higher to go
    return x, lost + len(going)


def fixed_points(
    z: Array,
    start: Points | None,
    points: Points,
    kernel: RBF,
    coefficients: Array,
    projections: Array,
    means: Array,
    max_iter: int,
    tol: float,
) -> tuple[Array, int]:
    """Pre-images of projections z on kernel principal components, some rows at a time; also how many are unsettled.

    ``points`` are the training points, ``projections`` theirs, ``coefficients`` (n, n_components) the expansion of the
    components and ``means`` mu_i = mean_j k(x_i, x_j). The features meant by z are g = 1/n + coefficients z, and

        f(x_j) = projections_j'z + mu_j + a number that does not depend on j

    shows which training point is nearest: there the steps begin, unless ``start`` is given and has f > 0.
    """
    n = points.shape[0]
    found = np.empty((len(z), points.shape[1]))
    unsettled, step = 0, max(1, int(TILE_BYTES // (8 * n)))
    for begin in range(0, len(z), step):
        rows = slice(begin, begin + step)
        g = z[rows] @ coefficients.T + 1.0 / n
        x = dense_rows(points[(z[rows] @ projections.T + means).argmax(axis=1)])
        if start is not None:
            own = dense_rows(start[rows])
            inside = np.einsum("ij,ij->i", kernel.matrix(own, points), g) > 0
            x[inside] = own[inside]
        found[rows], missed = climb(x, g, points, kernel, max_iter, tol)
        unsettled += missed
    return found, unsettled


def dense_rows(X: Points) -> Array:
    """Some points as a dense float64 array."""
    return (X.toarray() if sp.issparse(X) else X).astype(np.float64)
