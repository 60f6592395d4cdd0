"""The perceptron (Rosenblatt 1958): go through the points, and add every one that is on the wrong side.

    if y_i (w'x_i + b) <= 0:      w <- w + eta y_i x_i,      b <- b + eta y_i

With v = (w, b) and z_i = (x_i, 1), the classes separable by some unit vector u with y_i u'z_i >= gamma > 0, and
|z_i| <= R, no order of the points allows more than (R / gamma)^2 such mistakes from v = 0 (Novikoff 1962): a mistake
adds at least gamma eta to u'v, and at most R^2 eta^2 to |v|^2. Otherwise there is no end to them. So after each epoch
all points are evaluated with v as it then is. The run has converged when none is on the wrong side, and what it
returns in any case is the v with the fewest points there (Gallant 1990).

The averaged perceptron (Freund & Schapire 1999) returns the mean of v_1, ..., v_T, the vectors after each point. A
mistake at point t is in all but the first t - 1 of them, so the mean is v_T - s / T with s the sum of
(t - 1) eta y_i z_i over the mistakes: points without one cost nothing. A pass over points is in ``native/perceptron``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.runtime.arrays import csr_arrays
from maxmargin.runtime.validation import Array, Points

PASS_MAX_ENTRIES = 2**22  # of X per call: a few hundredths of a second, so that a run can be stopped in between


class Stopped(Exception):
    """An epoch was given up because the run is to stop."""


@dataclass(frozen=True)
class Epoch:
    """One time through the points."""

    mistakes: int  # points that were on the wrong side when their turn came: the updates of this epoch
    errors: int  # points on the wrong side at its end
    objective: float  # the perceptron's criterion then, the mean of max(0, -y f)
    best: bool  # whether no earlier epoch had so few errors


@dataclass
class PerceptronRun:
    """The state of a run on one binary problem.

    v: (n_features + 1,); where to start: w and then b
    eta: the step
    """

    v: Array
    eta: float = 1.0
    fit_intercept: bool = True
    average: bool = False
    s: Array = field(init=False)
    n_passed: int = 0  # points that were passed so far, all epochs together
    best: Array = field(init=False)  # shape (n_features + 1,), the vector with the fewest errors so far
    fewest: int = field(init=False, default=-1)  # its errors; -1 before the first epoch is evaluated

    def __post_init__(self) -> None:
        self.s = np.zeros_like(self.v)
        self.best = self.v.copy()

    @property
    def result(self) -> Array:
        """v, or the mean of all v so far."""
        return self.v - self.s / self.n_passed if self.average and self.n_passed else self.v.copy()

    def epoch(
        self, X: Points, y: Array, order: Array, largest: float, stopped: Callable[[], bool] = lambda: False
    ) -> Epoch:
        """Learn from every point once, in the given order, and evaluate the outcome. ``largest`` is that of X.

        A sum that overflows may have the right sign and count as no mistake, by the order of its terms: v and X
        together are refused where any sum of products of their entries could.

        Raises :class:`Stopped` when ``stopped`` returns true before that; but a first epoch is only cut short, so that
        there is something to return."""
        first = self.fewest < 0
        mistakes, passed, _ = self._pass(X, y, order, self.v, self.eta, stopped)
        self.n_passed += passed
        if passed < len(order) and not first:
            raise Stopped
        result = self.result
        with np.errstate(over="ignore", invalid="ignore"):
            bound = float(np.abs(result).sum()) * max(1.0, largest) * len(y)
        if not np.isfinite(bound):
            raise ValueError("w'x overflows in float64: scale the columns of X to about 1.")
        errors, passed, loss = self._pass(X, y, np.arange(len(y)), result, 0.0, (lambda: False) if first else stopped)
        if passed < len(y):
            raise Stopped
        better = first or errors < self.fewest
        if better:
            self.best, self.fewest = result, errors
        return Epoch(mistakes, errors, loss / len(y), better)

    def _pass(
        self, X: Points, y: Array, order: Array, v: Array, eta: float, stopped: Callable[[], bool]
    ) -> tuple[int, int, float]:
        """Pass points in the given order, and move v where ``eta`` is not zero: mistakes, points passed, and the sum of
        -y f over the mistakes."""
        arrays = csr_arrays(X) if sp.issparse(X) else None
        X = X if arrays is not None else np.require(X, requirements=["C", "A"])
        entries = X.shape[1] if arrays is None else max(1, X.nnz // max(1, X.shape[0]))
        per_call = max(1, PASS_MAX_ENTRIES // max(1, entries))
        order = np.ascontiguousarray(order, np.int64)
        mistakes, loss, intercept, eta = 0, 0.0, 1.0 if self.fit_intercept else 0.0, float(eta)
        for start in range(0, len(order), per_call):
            if start > 0 and stopped():
                return mistakes, start, loss
            part, t = order[start : start + per_call], self.n_passed + start
            if arrays is None:
                found = _native.perceptron_pass(X, y, part, v, self.s, t, eta, intercept)
            else:
                found = _native.perceptron_pass_csr(arrays, X.shape[1], y, part, v, self.s, t, eta, intercept)
            mistakes, loss = mistakes + found[0], loss + found[1]
        return mistakes, len(order), loss


def largest_entry(X: Points) -> float:
    """The largest absolute value in X."""
    values = X.data if sp.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def epochs(
    run: PerceptronRun,
    X: Points,
    y: Array,
    random: np.random.RandomState | None,
    max_epochs: int,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Epoch]:
    """At most so many epochs, each in a new random order, or in that of the rows without ``random``; the last is the
    first without errors, or the last that was evaluated before ``stopped`` returned true."""
    y = np.ascontiguousarray(y, np.float64)
    if not sp.issparse(X):
        X = np.require(X, requirements=["C", "A"])
    largest = largest_entry(X)
    for _ in range(max_epochs):
        order = np.arange(len(y)) if random is None else random.permutation(len(y))
        try:
            epoch = run.epoch(X, y, order, largest, stopped)
        except Stopped:
            return
        yield epoch
        if epoch.errors == 0:
            return
