"""A separating hyperplane, or the weights of a proof: a system of linear inequalities and its alternative.

By Farkas' lemma exactly one of two systems has a solution, where z are the points with their columns scaled to [-1, 1]:

    y_i (w'z_i + b) >= t > 0  for all i      or      sum_i alpha_i y_i (z_i, 1) = 0,  sum_i alpha_i = 1,  alpha >= 0.

Two methods decide which one; each can return either solution.

Nonnegative least squares (Lawson & Hanson 1974) on the second system, A alpha = e. If the residual r = e - A alpha
vanishes, alpha is the proof. If not, A'r <= 0 by optimality, which is the first system for (w, b) = -r. It takes
few steps and leaves residuals of 1e-16, but r holds squares of distances: it does not see a distance below 1e-8.

The linear program

    maximise t      subject to  y_i (w'z_i + b) >= t  for all i,  -1 <= w_j <= 1

always has a solution. t > 0 separates; if t = 0, the multipliers of its constraints are the proof. It takes longer, and
sees distances down to 1e-12: it is used if the result of the first method does not hold.

Each result is verified: a hyperplane must hold for all rows by more than rounding, a proof must sum to zero. If none
does, the question is not decidable in float64.

Few rows suffice. The search starts with the rows that lie deepest in the other class, and adds rows that violate the
hyperplane. It ends with a hyperplane that holds for all rows, or with a proof among its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin.problems.separability.proof import COMMON_POINT_TOL, ends, relative_length
from maxmargin.runtime.canonical_rows import row_hashes
from maxmargin.runtime.validation import Array, Points

CHUNK_ROWS = 4096  # rows whose scaled copy is held at a time
FIRST_MIN_ROWS, FIRST_MAX_ROWS = 64, 1000  # rows to start with: four a column, within these
DENSE_MAX_ENTRIES = 2e7  # entries of sparse rows that may be made dense
UNIT_ROUNDOFF = 2.0**-53
TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class Decision:
    """A separating hyperplane (w, b), or w = None and the weights of the rows whose combinations meet."""

    w: Array | None
    b: float
    rows: Array
    weights: Array


def decide(X: Points, y: Array, fit_intercept: bool = True) -> Decision:
    """The hyperplane that separates the rows with y = +1 from those with y = -1, or the proof that there is none;
    ArithmeticError if that is not decidable in float64."""
    duplicates = _contradictory_rows(X, y)
    if len(duplicates):
        return Decision(None, 0.0, duplicates, np.ones(2) if fit_intercept else np.full(2, 0.5))
    table = _Scaled(X, fit_intercept)
    w = _first_guess(table, y, fit_intercept)
    f = table.values(w)
    found = _in_columns(X, y, w * table.unit, fit_intercept) if _separates(f, y, w, fit_intercept) else None
    if found is not None:
        return found
    used, reach, nearest = np.zeros(len(y), bool), {1: np.inf, -1: np.inf}, np.inf
    size = int(np.clip(4 * (X.shape[1] + 2), FIRST_MIN_ROWS, FIRST_MAX_ROWS))
    while True:
        before = np.count_nonzero(used)
        for side, limit in reach.items():  # rows that lie deeper in the other class than those in use
            new = np.flatnonzero(~used & (y == side) & (y * f <= limit))
            used[new[np.argsort((y * f)[new], kind="stable")[: size // 2]]] = True
        rows = np.flatnonzero(used)
        if len(rows) == before:
            raise ArithmeticError(
                "Double precision cannot tell whether the classes are separable: their hulls come within "
                f"{nearest:.1e} of each other, in parts of the columns' ranges."
            )
        Z = table.rows(rows)
        for solve in (_least_squares, _linear_program):
            answer = solve(Z, y[rows], fit_intercept)
            if answer is None:
                continue
            w, alpha = answer
            f = table.values(w)
            if _separates(f, y, w, fit_intercept):
                found = _in_columns(X, y, w * table.unit, fit_intercept)
                if found is None:
                    raise ArithmeticError(
                        "The classes are separable, but by less than the rounding of w'x + b in float64: centre and "
                        "scale the columns of X, for instance with sklearn.preprocessing.StandardScaler."
                    )
                return found
            alpha[alpha < UNIT_ROUNDOFF * alpha.max()] = 0.0
            kept = rows[alpha > 0]
            weights = _normalised(alpha[alpha > 0], y[kept], fit_intercept)
            nearest = relative_length(X, kept, y[kept] * weights, fit_intercept)
            if nearest <= COMMON_POINT_TOL:
                return Decision(None, 0.0, kept, weights)
            if _separates(f[rows], y[rows], w, fit_intercept):
                break
        reach = {side: float((y * f)[used & (y == side)].min()) for side in (1, -1)}
        size *= 2


def _separates(f: Array, y: Array, w: Array, fit_intercept: bool) -> bool:
    """Whether w'z is larger for one class than for the other (without an intercept, than 0), by more than rounding."""
    low, high = _inner(f, y, fit_intercept)
    return low - high > 2 * (len(w) + 2) * UNIT_ROUNDOFF * float(np.abs(w).sum())


def _inner(f: Array, y: Array, fit_intercept: bool) -> tuple[float, float]:
    """The values that face each other: the smallest of the positive class, the largest of the negative one."""
    if fit_intercept:
        return float(f[y > 0].min()), float(f[y < 0].max())
    return float((y * f).min()), -float((y * f).min())


def _normalised(alpha: Array, y: Array, fit_intercept: bool) -> Array:
    """Weights that sum to one in each class; without an intercept, in all."""
    sides = np.array([y > 0, y < 0] if fit_intercept else [y != 0], float)
    return alpha / (np.maximum(sides @ alpha, np.finfo(float).tiny) @ sides)


def _contradictory_rows(X: Points, y: Array) -> Array:
    """Two equal rows of different classes, if there are any."""
    key = row_hashes(X)
    order = np.lexsort((y, key))
    for t in np.flatnonzero((key[order[1:]] == key[order[:-1]]) & (y[order[1:]] != y[order[:-1]])):
        i, j = int(order[t]), int(order[t + 1])
        if abs(X[[i]] - X[[j]]).max() == 0:
            return np.array([i, j])
    return order[:0]


class _Scaled:
    """z = (x - centre) unit: columns between -1 and 1, constant ones 0. Sparse points keep their zeros, and so do all
    points where the hyperplane has to pass through the origin."""

    def __init__(self, X: Points, fit_intercept: bool) -> None:
        low, high = ends(X)
        if fit_intercept and not sp.issparse(X):
            centre, scale = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
        else:
            centre, scale = np.zeros(len(low)), np.maximum(-low, high)
            scale[(high == low) & fit_intercept] = 0.0
        narrow = np.flatnonzero((scale > 0) & (scale < 1e-290))
        if len(narrow):
            raise ValueError(
                f"Column {narrow[0]} of X varies by {scale[narrow[0]]:.0e} only, which is next to nothing in float64: "
                "multiply it by 1e300."
            )
        self.X, self.centre = X, centre
        self.unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)

    def rows(self, at: Array | slice) -> Points:
        if sp.issparse(self.X):
            return sp.csr_array(self.X[at].multiply(self.unit[None, :]))
        return (self.X[at].astype(np.float64) - self.centre) * self.unit

    def total(self, coefficients: Array) -> Array:
        """sum_i c_i z_i."""
        if sp.issparse(self.X):
            return (self.X.T @ coefficients) * self.unit
        return np.sum([coefficients[strip] @ self.rows(strip) for strip in _strips(self.X)], axis=0)

    def values(self, w: Array) -> Array:
        """w'z_i."""
        if sp.issparse(self.X):
            return self.X @ (w * self.unit)
        return np.concatenate([self.rows(strip) @ w for strip in _strips(self.X)])


def _strips(X: Points) -> list[slice]:
    return [slice(start, start + CHUNK_ROWS) for start in range(0, X.shape[0], CHUNK_ROWS)]


def _first_guess(table: _Scaled, y: Array, fit_intercept: bool) -> Array:
    """The difference of the classes' means. With many columns a least squares fit of y, which separates nearly
    everything that has more columns than rows; its steps are few at first, as few are often enough."""
    n, d = table.X.shape
    if 4 * (d + 2) <= FIRST_MAX_ROWS:
        return table.total(y / np.where(y > 0, np.count_nonzero(y > 0), np.count_nonzero(y < 0)))
    from scipy.sparse.linalg import LinearOperator, lsqr

    operator = LinearOperator((n, d), matvec=table.values, rmatvec=table.total, dtype=np.float64)
    w = np.zeros(d)
    for steps in (10, 30, 90):
        w = lsqr(operator, y, x0=w, atol=1e-6, btol=1e-6, iter_lim=steps)[0]
        if _separates(table.values(w), y, w, fit_intercept):
            break
    return w


def _least_squares(Z: Points, y: Array, fit_intercept: bool) -> tuple[Array, Array] | None:
    """w and alpha of the nonnegative least squares problem for some rows; None where it is too large or not solved."""
    from scipy.optimize import nnls  # heavy, and needed here only

    n, d = Z.shape
    points = Z
    if sp.issparse(Z):
        columns = np.unique(Z.indices)
        if n * len(columns) > DENSE_MAX_ENTRIES:
            return None
        points = Z[:, columns].toarray()
    if points.shape[1] > n:  # the same inner products, with fewer columns
        points = np.asarray(np.linalg.qr(points.T, mode="r")).T
    A = np.vstack([points.T * y, *([y] if fit_intercept else []), np.ones(n)])
    try:
        alpha, _ = nnls(A, np.append(np.zeros(len(A) - 1), 1.0), maxiter=10 * (n + d))
    except RuntimeError:
        return None
    return Z.T @ (y * alpha), alpha


def _linear_program(Z: Points, y: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """w and alpha of the linear program for some rows. A column that is zero in all of them gets no weight: the program
    does not see it, and would leave the weight at an end of its box."""
    from scipy.optimize import linprog

    n, d = Z.shape
    columns = np.unique(Z.indices) if sp.issparse(Z) else np.flatnonzero(np.abs(Z).max(axis=0))
    parts = [-(Z[:, columns] * y[:, None]), -y[:, None] if fit_intercept else np.empty((n, 0)), np.ones((n, 1))]
    A = sp.hstack(parts, format="csr") if sp.issparse(Z) else np.hstack(parts)
    objective = np.append(np.zeros(A.shape[1] - 1), -1.0)
    bounds = [(-1.0, 1.0)] * len(columns) + [(None, None)] * (A.shape[1] - len(columns))
    for method in ("highs-ds", "highs-ipm"):
        answer = linprog(objective, A_ub=A, b_ub=np.zeros(n), bounds=bounds, method=method, options=TOLERANCES)
        if answer.status == 0:
            w = np.zeros(d)
            w[columns] = answer.x[: len(columns)]
            return w, np.maximum(0.0, -answer.ineqlin.marginals)
    raise ArithmeticError(f"The linear program of {n} rows and {d} columns was not solved: {answer.message}")


def _in_columns(X: Points, y: Array, w: Array, fit_intercept: bool) -> Decision | None:
    """The hyperplane in the columns as they were given, scaled until y (w'x + b) >= 1 in whatever order its terms
    are added, or at least in this one where large offsets leave no room for more; None where they leave none."""
    strips = _strips(X)
    for attempt in range(5):
        f = np.concatenate([X[strip] @ w for strip in strips])
        low, high = _inner(f, y, fit_intercept)
        b = -0.5 * low - 0.5 * high
        reach = max(float((abs(X[strip]) @ np.abs(w)).max()) for strip in strips)
        rounding = (len(w) + 2) * UNIT_ROUNDOFF * (reach + abs(b))
        smallest = float((y * (f + b)).min())
        if not smallest > 0:
            return None
        if 1 + rounding <= smallest <= 1 + 3 * rounding:
            break
        if attempt < 4:
            w = w / (smallest - min(1.5 * rounding, 0.5 * smallest))
    return Decision(w, b, np.empty(0, int), np.empty(0)) if smallest >= 1 else None
