"""What the next fit may start from: variables and fitted values of the last one, found again row by row.

A row is known by its content and target, so that rows may come, leave and change places between the fits. Where no
kernel value has changed either, the fitted values f = K a of the rows that are still there are known up to the terms of
coefficients that are not: those of rows that left, and of rows whose new bounds exclude their variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Kernel
from maxmargin.kernels.gram.sides import form_of
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.canonical_rows import MIXING_FACTOR, CanonicalRows, places_among
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel.context import FitContext, InputRows
from maxmargin.svm.kernel.last_pairs import FoundPairs, LastPairs
from maxmargin.svm.kernel.solving.batch import Posed, Solved
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, LastSolution, Subproblem


@dataclass(frozen=True)
class StoredVariables:
    """The solution of one problem."""

    kind: str
    rows: Array  # its rows among those of the fit
    values: Array  # one column per row, one line per variable of a row
    f: Array | None = None  # fitted values of its rows, without intercept


@dataclass(frozen=True)
class WarmStart:
    """The solutions of a fit."""

    rows: CanonicalRows
    target: Array  # of each canonical row
    variables: Sequence[StoredVariables]  # one per problem; of a joint problem, one with a line per class
    kernel: Kernel | None = None  # resolved, where the fitted values are those of its values alone
    pairs: LastPairs | None = None  # the same solutions of a batch of pairs of classes
    # given, origin: the input rows, where they are at hand, and which of them the next fit's rows are, -1 of new ones
    given: InputRows | None = None
    origin: Array | None = None

    @classmethod
    def of(cls, context: FitContext, models: Sequence[BinaryModel]) -> WarmStart:
        """The solutions of a fit's problems."""
        variables = [
            StoredVariables(m.problem.kind, m.rows, m.solution.a.reshape(_per_row(m.problem), -1), m.f) for m in models
        ]
        return cls(context.rows, context.target, variables, _kernel_of_values(context))

    @classmethod
    def of_pairs(cls, context: FitContext, solved: Solved) -> WarmStart:
        """The solutions of a batch of pairs of classes."""
        pairs = LastPairs.of(context, solved)
        return cls(context.rows, context.target, [], _kernel_of_values(context), pairs)

    @classmethod
    def of_joint(cls, context: FitContext, rows: Array, A: Array) -> WarmStart:
        """The solution of a joint problem over some of the rows."""
        return cls(context.rows, context.target, [StoredVariables("joint", rows, A.T)])

    def over(self, given: InputRows, origin: Array) -> WarmStart:
        """The same with the input rows of the last fit at hand, for a fit to rows of which it is known where they were
        among these."""
        return replace(self, given=given, origin=origin)

    def joint_start(self, context: FitContext, rows: Array, n_classes: int) -> Array | None:
        """A start of a joint problem over these rows, one column per class."""
        stored = self.variables[0] if self.variables else None
        if stored is None or stored.kind != "joint" or len(stored.values) != n_classes:
            return None
        values, _ = self._known(stored, self._places(context), rows)
        return values.T.copy()

    def starts(self, context: FitContext, posed: Sequence[Subproblem]) -> list[Subproblem]:
        """The problems with their starts: the last variables, row by row wherever a row is known."""
        if len(self.variables) != len(posed):
            return list(posed)
        places, same, started = self._places(context), self._same_values(context), []
        for sub, stored in zip(posed, self.variables, strict=True):
            if stored.kind == sub.problem.kind and len(stored.values) == _per_row(sub.problem):
                values, at = self._known(stored, places, sub.rows)
                start = sub.problem.at_bounds(sub.problem.feasible(sub.problem.at_bounds(values.ravel())))
                last = self._last_solution(context, stored, values, at) if same else None
                sub = Subproblem(sub.rows, sub.problem, start, last)
            started.append(sub)
        return started

    def start_of_pairs(self, context: FitContext, posed: Posed) -> tuple[Array | None, tuple[Array, Array] | None]:
        """A start of all pairs of classes, problem after problem, and variables whose fitted values are known, with
        these; None where they are not, or if the last fit had other pairs."""
        last = self.pairs
        if last is None or not last.matches(context, posed):
            return None, None
        found = last.found(posed, self._places(context))
        return found.start(), self._known_values(context, found)

    def _known_values(self, context: FitContext, found: FoundPairs) -> tuple[Array, Array] | None:
        if not self._same_values(context) or context.X.dtype == object:
            return None
        given = self.given
        if given is None and len(found.gone.row):
            return None

        def last_points(rows: Array) -> Points:
            assert given is not None
            return _in_form(given.X[self.rows.representative[rows]], context.X)

        return found.values, found.fitted(context, last_points)

    def _places(self, context: FitContext) -> Array:
        """The place that each canonical row had in the last fit; -1 where it is new."""
        if self.origin is None:
            return places_among(_identity(self.rows, self.target), _identity(context.rows, context.target))
        at = self.origin[context.rows.representative]
        places = np.where(at >= 0, self.rows.member_of[at], -1)
        return np.where(self.target[places] == context.target, places, -1)  # codes change with the classes

    def _known(self, stored: StoredVariables, places: Array, rows: Array) -> tuple[Array, Array]:
        """The stored variables of rows that are known, zeros of the others; and the columns they are from, or -1."""
        column = np.full(len(self.target) + 1, -1)  # the last one is that of new rows
        column[stored.rows] = np.arange(len(stored.rows))
        at = column[places[rows]]
        known = at >= 0
        values = np.zeros((len(stored.values), len(rows)))
        values[:, known] = stored.values[:, at[known]]
        return values, at

    def _same_values(self, context: FitContext) -> bool:
        """Whether every kernel value is what it was in the last fit."""
        form = None if self.kernel is None or context.centre is not None else form_of(self.kernel)
        return form is not None and form == form_of(context.kernel)

    def _last_solution(
        self, context: FitContext, stored: StoredVariables, values: Array, at: Array
    ) -> LastSolution | None:
        """The solution as it was, on the rows of today; None where its fitted values cannot be known."""
        if stored.f is None or context.X.dtype == object:
            return None
        left = np.ones(len(stored.rows), bool)
        left[at[at >= 0]] = False
        coefficient = stored.values.sum(axis=0)
        gone = np.flatnonzero(left & (coefficient != 0))
        points: Points = context.X[:0]
        if len(gone):
            if self.given is None:
                return None
            points = _in_form(self.given.X[self.rows.representative[stored.rows[gone]]], context.X)
        known = np.flatnonzero(at >= 0)
        return LastSolution(values.ravel(), known, stored.f[at[known]], points, coefficient[gone])


def _in_form(points: Points, like: Points) -> Points:
    """Points dense or sparse as others are."""
    if sp.issparse(like):
        return sp.csr_matrix(points)
    return points.toarray() if sp.issparse(points) else points


def _per_row(problem: DualProblem) -> int:
    """Variables of a row."""
    return problem.n_variables // problem.n_rows


def _kernel_of_values(context: FitContext) -> Kernel | None:
    """The kernel, if kernel values depend on nothing else."""
    return context.kernel if context.centre is None else None


def _identity(rows: CanonicalRows, target: Array) -> Array:
    """Content and target of each canonical row in one number."""
    bits = np.ascontiguousarray(target, np.float64).view(np.uint64)
    identity: Array = rows.key ^ (bits * MIXING_FACTOR)
    return identity
