"""From solved problems to coefficients: of the merged rows, and of the input rows they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin._validation import Array
from maxmargin.optimality import Certificate
from maxmargin.problems import DualProblem
from maxmargin.solvers import Solution
from maxmargin.svm.training import TrainingSet


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
    """The support vectors among the input rows, in their order, and their coefficients.

    Equal rows were one variable, whose bound is the sum of theirs. Its coefficient is given to the first of them up to
    that row's own bound, then to the next, so that no more of them are support vectors than need be."""
    place = np.full(data.gram.n + 1, -1)  # the last entry serves rows that are in no merged row
    place[used] = np.arange(len(used))
    members = np.flatnonzero(place[data.rows.member_of] >= 0)
    of = place[data.rows.member_of[members]]
    if len(members) == len(used):
        return members, coefficients[of]
    share = data.rows.share(weights)[members]
    order = np.argsort(of, kind="stable")
    total = np.cumsum(share[order]) - share[order]
    first = np.flatnonzero(np.diff(of[order], prepend=-1))
    before = np.empty(len(members))
    before[order] = total - np.repeat(total[first], np.diff(np.append(first, len(order))))
    part = np.clip(filled[of] - before[:, None], 0.0, share[:, None])
    part[part < 1e-12] = 0.0
    alone = (before <= 1e-12)[:, None]  # without a bound the first row takes all
    fraction = np.where(filled[of] > 0, part / np.where(filled[of] > 0, filled[of], 1.0), alone)
    per_input = coefficients[of] * fraction
    # A row at its bound is exactly there. (The joint machine gives no bounds: its rows divide several coefficients.)
    bound = np.where(np.isfinite(bounds[members]), bounds[members], 0.0)
    full = (part >= (1 - 1e-9) * share[:, None]) & (per_input != 0) & (bound > 0)
    per_input = np.where(full, np.sign(per_input) * bound, per_input)
    keep = np.any(per_input != 0, axis=1)
    return members[keep], per_input[keep]
