"""The perceptron (Rosenblatt 1958): go through the points, and add every one that is on the wrong side.

    if y_i (w'x_i + b) <= 0:      w <- w + eta y_i x_i,      b <- b + eta y_i

With v = (w, b) and z_i = (x_i, 1), the classes separable by some unit vector u with y_i u'z_i >= gamma > 0, and
|z_i| <= R, no order of the points allows more than (R / gamma)^2 such mistakes from v = 0 (Novikoff 1962): a mistake
adds at least gamma eta to u'v, and at most R^2 eta^2 to |v|^2. Otherwise there is no end to them. So after each epoch
all points are looked at with v as it then is. The run has converged when none is on the wrong side, and what it
returns in any case is the v with the fewest points there (Gallant 1990).

The averaged perceptron (Freund & Schapire 1999) returns the mean of v_1, ..., v_T, the vectors after each look at a
point. A mistake at look t is in all but the first t - 1 of them, so the mean is v_T - s / T with s the sum of
(t - 1) eta y_i z_i over the mistakes: looks without one cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numba
import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.validation import Array, Points


@numba.njit(cache=True, nogil=True)
def _pass_dense(
    X: Array, y: Array, order: Array, v: Array, s: Array, t: int, eta: float, intercept: float
) -> tuple[int, float]:
    """One look at every point, in the given order: how many are on the wrong side, and how far in all. t looks were
    before; ``eta`` = 0 changes nothing; ``intercept`` is the last entry of every z."""
    d, mistakes, loss = X.shape[1], 0, 0.0
    for i in order:
        f = v[d] * intercept
        for k in range(d):
            f += X[i, k] * v[k]
        if not y[i] * f > 0:
            mistakes += 1
            loss -= y[i] * f
            if eta > 0:
                step = eta * y[i]
                for k in range(d):
                    v[k] += step * X[i, k]
                    s[k] += t * step * X[i, k]
                v[d] += step * intercept
                s[d] += t * step * intercept
        t += 1
    return mistakes, loss


@numba.njit(cache=True, nogil=True)
def _pass_csr(
    data: Array,
    indices: Array,
    indptr: Array,
    y: Array,
    order: Array,
    v: Array,
    s: Array,
    t: int,
    eta: float,
    intercept: float,
) -> tuple[int, float]:
    """The same for sparse points."""
    d, mistakes, loss = len(v) - 1, 0, 0.0
    for i in order:
        f = v[d] * intercept
        for p in range(indptr[i], indptr[i + 1]):
            f += data[p] * v[indices[p]]
        if not y[i] * f > 0:
            mistakes += 1
            loss -= y[i] * f
            if eta > 0:
                step = eta * y[i]
                for p in range(indptr[i], indptr[i + 1]):
                    v[indices[p]] += step * data[p]
                    s[indices[p]] += t * step * data[p]
                v[d] += step * intercept
                s[d] += t * step * intercept
        t += 1
    return mistakes, loss


@dataclass(frozen=True)
class Epoch:
    """One time through the points.

    Attributes
    ----------
    mistakes : int
        Points that were on the wrong side when they were looked at: the updates of this epoch.
    errors : int
        Points on the wrong side at its end.
    objective : float
        The perceptron's criterion then, the mean of max(0, -y f).
    best : bool
        Whether no earlier epoch had so few errors.
    """

    mistakes: int
    errors: int
    objective: float
    best: bool


@dataclass
class PerceptronRun:
    """The state of a run on one binary problem.

    Parameters
    ----------
    v : array of shape (n_features + 1,)
        Where to start: w and then b.
    eta : float
        The step.
    fit_intercept, average : bool
    """

    v: Array
    eta: float = 1.0
    fit_intercept: bool = True
    average: bool = False
    s: Array = field(init=False)
    looks: int = 0
    best: Array = field(init=False)
    fewest: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        self.s = np.zeros_like(self.v)
        self.best = self.v.copy()

    @property
    def result(self) -> Array:
        """v, or the mean of all v so far."""
        return self.v - self.s / self.looks if self.average and self.looks else self.v.copy()

    def epoch(self, X: Points, y: Array, order: Array) -> Epoch:
        """Learn from every point once, in the given order, and look at the outcome."""
        mistakes, _ = self._pass(X, y, order, self.v, self.looks, self.eta)
        self.looks += len(order)
        result = self.result
        errors, loss = self._pass(X, y, np.arange(len(y)), result, 0, 0.0)
        if not np.isfinite(loss):
            raise ValueError("w'x overflows in float64: scale the columns of X to about 1.")
        better = self.fewest < 0 or errors < self.fewest
        if better:
            self.best, self.fewest = result, errors
        return Epoch(mistakes, errors, loss / len(y), better)

    def _pass(self, X: Points, y: Array, order: Array, v: Array, t: int, eta: float) -> tuple[int, float]:
        intercept = 1.0 if self.fit_intercept else 0.0
        if sp.issparse(X):
            return _pass_csr(X.data, X.indices, X.indptr, y, order, v, self.s, t, float(eta), intercept)
        return _pass_dense(X, y, order, v, self.s, t, float(eta), intercept)


def epochs(run: PerceptronRun, X: Points, y: Array, random: np.random.RandomState | None, most: int) -> Iterator[Epoch]:
    """At most so many epochs, each in a new random order, or in that of the rows without ``random``; the last is the
    first without errors."""
    for _ in range(most):
        order = np.arange(len(y)) if random is None else random.permutation(len(y))
        epoch = run.epoch(X, y, order)
        yield epoch
        if epoch.errors == 0:
            return
