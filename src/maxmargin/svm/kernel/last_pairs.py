"""The solutions of all pairs of classes, found again for rows of which some have come and some have left.

Everything is done for all pairs at once, by arrays with one entry per variable: a fit of many small problems takes no
longer than a few hundred calls of Python would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from maxmargin.problems.dual import c_svc
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.solving.batch import Posed, Solved
from maxmargin.svm.models.expansion import KernelExpansion

PointsOf: TypeAlias = Callable[[Array], Points]  # of canonical rows, by their places
BALANCED = 1e-14  # residual of an equality, relative to the sum of its variables' sizes, that is rounding


@dataclass(frozen=True)
class Terms:
    """Coefficients of canonical rows in the functions of pairs: one entry per row and pair that is not zero."""

    row: Array
    problem: Array
    value: Array

    @classmethod
    def of(cls, posed: Posed, variables: Array, values: Array) -> Terms:
        """From some variables of a batch."""
        problem = np.searchsorted(posed.at, variables, side="right") - 1
        return cls(posed.order[posed.place[variables]], problem, values)

    def of_problems(self, problems: Array) -> tuple[Array, Array]:
        """The rows that some problems have, and the coefficients: one column per problem."""
        mine = np.flatnonzero(np.isin(self.problem, problems))
        rows, at = np.unique(self.row[mine], return_inverse=True)
        table = np.zeros((len(rows), len(problems)))
        table[at, np.searchsorted(problems, self.problem[mine])] = self.value[mine]
        return rows, table


@dataclass(frozen=True)
class LastPairs:
    """The solutions of a batch."""

    posed: Posed
    n_rows: int  # canonical rows of the fit, which need not all take part
    codes: Array  # the class of each segment
    values: Array
    f: Array

    @classmethod
    def of(cls, context: FitContext, solved: Solved) -> LastPairs:
        return cls(solved.posed, context.n, _codes(context, solved.posed), solved.a, solved.f)

    def matches(self, context: FitContext, posed: Posed) -> bool:
        """Whether a batch has the same pairs."""
        return np.array_equal(self.posed.runs, posed.runs) and np.array_equal(self.codes, _codes(context, posed))

    def found(self, posed: Posed, places: Array) -> FoundPairs:
        """What is known of the variables of a new batch; ``places`` are the canonical rows' places in the last fit, -1
        where they are new."""
        last, was = self.posed, places[posed.order]
        rank = np.full(self.n_rows + 1, -1)  # of a row in its class; the last entry is that of new rows
        rank[last.order] = np.arange(len(last.order)) - np.repeat(last.start[:-1], np.diff(last.start))
        ranks, missing = rank[was], len(self.values)
        at = np.empty(posed.at[-1], np.int64)  # the place of each variable in the last batch; ``missing`` if it is new
        for segment, begin, before in zip(posed.runs.ravel(), _begins(posed), _begins(last), strict=True):
            own = ranks[posed.start[segment] : posed.start[segment + 1]]
            at[begin : begin + len(own)] = np.where(own < 0, missing, own + before)
        values, f = np.append(self.values, 0.0)[at], np.append(self.f, 0.0)[at]
        left = np.ones(self.n_rows + 1, bool)
        left[was] = False
        gone = np.flatnonzero(self.values)
        gone = gone[left[last.order[last.place[gone]]]]
        return FoundPairs(posed, values, f, was < 0, Terms.of(last, gone, self.values[gone]))


@dataclass(frozen=True)
class FoundPairs:
    """The last solutions on the rows of a new batch: one entry per variable."""

    posed: Posed
    values: Array  # zero where a row is new
    f: Array
    new: Array  # bool: which of ``posed.order`` are new rows
    gone: Terms  # of rows that are not there any more, by their places in the last fit

    def start(self) -> Array:
        """Feasible variables near the last ones: few of them differ."""
        posed, at = self.posed, self.posed.at
        a, used = self.values.copy(), np.flatnonzero(self.values)
        lower, upper, part = posed.lower[used], posed.upper[used], self.values[used]
        reach = 1e-14 * (upper - lower)
        a[used] = np.where(part - lower <= reach, lower, np.where(upper - part <= reach, upper, part))
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

    def fitted(self, context: FitContext, last_points: PointsOf) -> Array:
        """f of ``values``: the last ones without the terms of rows that are gone, and those of new rows."""
        posed, f, used = self.posed, self.f.copy(), np.flatnonzero(self.values)
        self._add(context, f, self.gone, last_points, np.ones(len(posed.order), bool), -1.0)
        self._add(context, f, Terms.of(posed, used, self.values[used]), context.X.__getitem__, self.new, 1.0)
        return f

    def _add(self, context: FitContext, f: Array, terms: Terms, points: PointsOf, rows: Array, sign: float) -> None:
        """Add terms to f of some of ``posed.order``: rows of a class have those of its own pairs only."""
        posed, runs, begins = self.posed, self.posed.runs.ravel(), _begins(self.posed)
        for segment, (start, stop) in enumerate(pairwise(posed.start)):
            local, own = np.flatnonzero(rows[start:stop]), np.flatnonzero(runs == segment)
            used, table = terms.of_problems(own // 2) if len(local) else (local, None)
            if table is not None and len(used):
                function = KernelExpansion(context.kernel, points(used), sign * table, np.zeros(len(own)))
                values = function.decision(context.X[posed.order[start + local]], context.threads)
                for begin, column in zip(begins[own], values.T, strict=True):
                    f[begin + local] += column


def _begins(posed: Posed) -> Array:
    """Where the variables of each run begin, problem after problem."""
    sizes = np.diff(posed.start)[posed.runs.ravel()]
    begins: Array = np.cumsum(sizes) - sizes
    return begins


def _codes(context: FitContext, posed: Posed) -> Array:
    codes: Array = context.target[posed.order[posed.start[:-1]]]
    return codes
