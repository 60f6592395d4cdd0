"""The solutions of all pairs of classes, found again for rows of which some have come and some have left.

Everything is done for all pairs at once, by arrays with one entry per variable: a fit of many small problems takes no
longer than a few hundred calls of Python would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.problems.dual import c_svc
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.solving.batch import Posed, Solved
from maxmargin.svm.models.expansion import KernelExpansion

BALANCED = 1e-14  # residual of an equality, relative to the sum of its variables' sizes, that is rounding


@dataclass(frozen=True)
class Terms:
    """Coefficients of some canonical rows in the functions of all pairs."""

    rows: Array
    coefficient: Array  # shape (rows, pairs)

    @classmethod
    def of(cls, row: Array, problem: Array, value: Array, n_problems: int) -> Terms:
        """From single coefficients."""
        rows, at = np.unique(row, return_inverse=True)
        table = np.zeros((len(rows), n_problems))
        table[at, problem] = value
        return cls(rows, table)


@dataclass(frozen=True)
class LastPairs:
    """The solutions of a batch."""

    posed: Posed
    codes: Array  # the class of each segment
    values: Array
    f: Array

    @classmethod
    def of(cls, context: FitContext, solved: Solved) -> LastPairs:
        return cls(solved.posed, _codes(context, solved.posed), solved.a, solved.f)

    def matches(self, context: FitContext, posed: Posed) -> bool:
        """Whether a batch has the same pairs."""
        return np.array_equal(self.posed.runs, posed.runs) and np.array_equal(self.codes, _codes(context, posed))

    def found(self, context: FitContext, posed: Posed, places: Array) -> FoundPairs:
        """What is known of the variables of a new batch; ``places`` are the canonical rows' places in the last fit, -1
        where they are new."""
        last, problem, second = self.posed, _problem(posed), _second(posed)
        was = places[posed.order[posed.place]]
        rank = np.full(int(last.order.max()) + 2, -1)  # of a row in its class; the last entry is that of new rows
        sizes = np.diff(last.start)
        rank[last.order] = np.arange(len(last.order)) - np.repeat(last.start[:-1], sizes)
        before = last.at[problem] + np.where(second, sizes[posed.runs[problem, 0]], 0)
        column = np.where((was >= 0) & (was < len(rank) - 1), rank[np.minimum(was, len(rank) - 1)], -1)
        at = np.where(column >= 0, before + column, -1)
        values, f = np.zeros(len(at)), np.zeros(len(at))
        known = at >= 0
        values[known], f[known] = self.values[at[known]], self.f[at[known]]
        left = self.values != 0
        left[at[known]] = False
        gone = Terms.of(last.order[last.place][left], _problem(last)[left], self.values[left], last.n_problems)
        return FoundPairs(posed, problem, values, f, known, gone)


@dataclass(frozen=True)
class FoundPairs:
    """The last solutions on the rows of a new batch: one entry per variable."""

    posed: Posed
    problem: Array
    values: Array  # zero where a row is new
    f: Array
    known: Array
    gone: Terms  # of rows that are not there any more, by their places in the last fit

    def start(self) -> Array:
        """Feasible variables near the last ones: few of them differ."""
        posed, at = self.posed, self.posed.at
        a = np.clip(self.values, posed.lower, posed.upper)
        reach = 1e-14 * (posed.upper - posed.lower)
        a = np.where(a - posed.lower <= reach, posed.lower, np.where(posed.upper - a <= reach, posed.upper, a))
        excess, size = np.add.reduceat(a, at[:-1]), np.add.reduceat(np.abs(a), at[:-1])
        for p in np.flatnonzero(np.abs(excess) > BALANCED * np.diff(at) * size):
            own = slice(at[p], at[p + 1])
            part, lower, upper, e = a[own], posed.lower[own], posed.upper[own], excess[p]
            room = np.where((part > lower) & (part < upper), part - lower if e > 0 else upper - part, 0.0)
            most = int(room.argmax())
            if room[most] > abs(e):
                part[most] -= e
            else:
                a[own] = c_svc(posed.target[own], upper - lower).balanced(part)
        return a

    def fitted(self, context: FitContext, gone: Points | None) -> Array:
        """f of ``values``: the last ones without the terms of rows that are gone, and those of new rows."""
        posed, problem = self.posed, self.problem
        row, f = posed.order[posed.place], self.f.copy()
        none = np.zeros(posed.n_problems)
        if gone is not None:
            lost = KernelExpansion(context.kernel, gone, self.gone.coefficient, none).decision(
                context.X, context.threads
            )
            f -= lost[row, problem]
        new = np.flatnonzero(~self.known)
        used = np.flatnonzero(self.values)
        if len(new) and len(used):
            terms = Terms.of(row[used], problem[used], self.values[used], posed.n_problems)
            rows, at = np.unique(row[new], return_inverse=True)
            expansion = KernelExpansion(context.kernel, context.X[terms.rows], terms.coefficient, none)
            f[new] = expansion.decision(context.X[rows], context.threads)[at, problem[new]]
        elif len(new):
            f[new] = 0.0
        return f


def _codes(context: FitContext, posed: Posed) -> Array:
    codes: Array = context.target[posed.order[posed.start[:-1]]]
    return codes


def _problem(posed: Posed) -> Array:
    """The problem of each variable."""
    return np.repeat(np.arange(posed.n_problems), np.diff(posed.at))


def _second(posed: Posed) -> Array:
    """Whether a variable belongs to its problem's second class."""
    local = np.arange(posed.at[-1]) - np.repeat(posed.at[:-1], np.diff(posed.at))
    second: Array = local >= np.repeat(np.diff(posed.start)[posed.runs[:, 0]], np.diff(posed.at))
    return second
