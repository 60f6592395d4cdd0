"""From solved problems to coefficients: of the merged rows, and of the input rows they stand for.

Equal rows of equal target were one variable, whose bound is the sum of theirs. Its coefficient c goes to the first of
them up to that row's own bound, then to the next, so that no more of them are support vectors than need be:

    c_s = sign(c) min(bound_s, max(0, |c| - bound_1 - ... - bound_(s-1))).

No coefficient is too small to be kept: the sum over equal rows is c up to rounding, relative to c itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin import _native
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.optimality import Certificate
from maxmargin.runtime.control import Progress
from maxmargin.runtime.validation import Array
from maxmargin.solvers import Solution
from maxmargin.svm.kernel.training import TrainingSet


@dataclass(frozen=True)
class Machine:
    """One problem of a fit and what came of it: ``f`` are the values, without intercept, on its canonical rows."""

    rows: Array
    problem: DualProblem
    solution: Solution
    certificate: Certificate
    f: Array
    intercept: float
    third: float
    seen: Sequence[Progress] = ()


def gather(
    machines: Sequence[Machine], n_machines: int, places: Sequence[int], scale: Array
) -> tuple[Array, Array, Array]:
    """The rows that any machine uses; all machines' coefficients on them, one column a machine; and the part of its
    bound that each takes up (0 where there is no bound)."""
    each = []
    for machine in machines:
        coef = machine.problem.coefficients(machine.solution.a)
        at = np.flatnonzero(coef)
        each.append((machine.rows[at], coef[at], np.abs(coef[at]) / machine.problem.bound[at]))
    used = np.unique(np.concatenate([rows for rows, _, _ in each])) if each else np.empty(0, int)
    coefficients, filled = np.zeros((len(used), n_machines)), np.zeros((len(used), n_machines))
    for (rows, coef, part), place, factor in zip(each, places, scale, strict=True):
        at = np.searchsorted(used, rows)
        coefficients[at, place], filled[at, place] = factor * coef, part
    return used, coefficients, filled


def divided(
    data: TrainingSet, used: Array, coefficients: Array, filled: Array, weights: Array, bounds: Array
) -> tuple[Array, Array]:
    """The support vectors among the input rows, in their order, and their coefficients."""
    place = np.full(data.n + 1, -1)  # the last entry serves rows that are in no merged row
    place[used] = np.arange(len(used))
    of = place[data.rows.member_of]
    members = np.flatnonzero(of >= 0)
    of = of[members]
    if len(members) == len(used):
        return members, coefficients[of]
    per_input = np.empty((len(members), coefficients.shape[1]))
    _native.distribute_coefficients(
        of,
        data.rows.share(weights)[members],
        coefficients,
        np.ascontiguousarray(np.broadcast_to(filled, coefficients.shape)),
        np.ascontiguousarray(bounds[members]),
        per_input,
    )
    keep = per_input.any(axis=1)
    return members[keep], per_input[keep]
