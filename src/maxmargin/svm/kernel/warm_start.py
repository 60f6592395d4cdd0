"""Warm starts: the variables of a fit, kept by the content and target of their rows for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.canonical_rows import MIXING_FACTOR
from maxmargin.runtime.validation import Array
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, Subproblem


@dataclass(frozen=True)
class StoredVariables:
    """The variables of one problem: one column per canonical row, one line per variable of a row."""

    kind: str
    values: Array


@dataclass(frozen=True)
class WarmStart:
    """What the next fit may start from."""

    identity: Array  # content and target of each canonical row, as one number
    variables: Sequence[StoredVariables]  # one per problem; of a joint problem, one with a line per class

    @classmethod
    def of(cls, context: FitContext, models: Sequence[BinaryModel]) -> WarmStart:
        """The variables of a fit's problems."""
        variables = []
        for model in models:
            values = np.zeros((_per_row(model.problem), context.n))
            values[:, model.rows] = model.solution.a.reshape(len(values), -1)
            variables.append(StoredVariables(model.problem.kind, values))
        return cls(_identity(context), variables)

    @classmethod
    def of_joint(cls, context: FitContext, rows: Array, A: Array) -> WarmStart:
        """The variables of a joint problem over some of the rows."""
        values = np.zeros((A.shape[1], context.n))
        values[:, rows] = A.T
        return cls(_identity(context), [StoredVariables("joint", values)])

    def joint_start(self, context: FitContext, rows: Array, n_classes: int) -> Array | None:
        """A start of a joint problem over these rows, one column per class."""
        stored = self.variables[0] if self.variables else None
        if stored is None or stored.kind != "joint" or len(stored.values) != n_classes:
            return None
        return self._known(context, stored, rows).T.copy()

    def starts(self, context: FitContext, posed: Sequence[Subproblem]) -> list[Subproblem]:
        """The problems with their starts: the last variables, row by row wherever a row is known."""
        if len(self.variables) != len(posed):
            return list(posed)
        started = []
        for sub, stored in zip(posed, self.variables, strict=True):
            if stored.kind == sub.problem.kind and len(stored.values) == _per_row(sub.problem):
                start = self._known(context, stored, sub.rows).ravel()
                start = sub.problem.feasible(sub.problem.at_bounds(start))
                sub = Subproblem(sub.rows, sub.problem, sub.problem.at_bounds(start))
            started.append(sub)
        return started

    def _known(self, context: FitContext, stored: StoredVariables, rows: Array) -> Array:
        """The stored variables of rows that are known, zeros of the others."""
        now = _identity(context)[rows]
        order = np.argsort(self.identity, kind="stable")
        before = order[np.searchsorted(self.identity, now, sorter=order).clip(max=len(order) - 1)]
        known = self.identity[before] == now
        values = np.zeros((len(stored.values), len(rows)))
        values[:, known] = stored.values[:, before[known]]
        return values


def _per_row(problem: DualProblem) -> int:
    """Variables of a row."""
    return problem.n_variables // problem.n_rows


def _identity(context: FitContext) -> Array:
    return identity_of(context.rows.key, context.target)


def identity_of(key: Array, target: Array) -> Array:
    """Content and target of each canonical row in one number."""
    bits = np.ascontiguousarray(target, np.float64).view(np.uint64)
    identity: Array = key ^ (bits * MIXING_FACTOR)
    return identity
