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

from maxmargin.problems.dual import DualProblem
from maxmargin.problems.optimality import Certificate
from maxmargin.runtime.control import Progress
from maxmargin.runtime.validation import Array
from maxmargin.solvers import Solution
from maxmargin.svm.kernel.training import TrainingSet

EPS = float(np.finfo(np.float64).eps)


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


def _taken(full: Array, share: Array) -> Array:
    """What each of some equal rows takes of ``full``: in their order, each at most its share.

    ``share`` is (groups, rows) and ``full`` (groups, problems), both parts of the group's bound; the answer is
    (groups, rows, problems)."""
    before = np.zeros_like(share)
    np.cumsum(share[:, :-1], axis=1, out=before[:, 1:])
    share, full = share[:, :, None], full[:, None, :]
    left = full - before[:, :, None]
    rounding = 4.0 * before.shape[1] * EPS * before[:, :, None]
    taken = np.where(left >= share - rounding, share, np.where(left > rounding, left, 0.0))
    return np.where(full >= 1.0, share, taken)  # at the bound all rows are at theirs, however small


def divided(
    data: TrainingSet, used: Array, coefficients: Array, filled: Array, weights: Array, bounds: Array
) -> tuple[Array, Array]:
    """The support vectors among the input rows, in their order, and their coefficients."""
    place = np.full(data.n + 1, -1)  # the last entry serves rows that are in no merged row
    place[used] = np.arange(len(used))
    of = place[data.rows.member_of]
    members = np.flatnonzero(of >= 0)
    of = of[members]
    per_input = coefficients[of]  # right for rows without equals
    if len(members) == len(used):
        return members, per_input
    share = data.rows.share(weights)[members]
    filled = np.broadcast_to(filled, coefficients.shape)
    order = np.argsort(of, kind="stable")  # equal rows together, in the input's order
    starts = np.searchsorted(of[order], np.arange(len(used)))
    sizes = np.bincount(of, minlength=len(used))
    for size in np.unique(sizes[sizes > 1]):
        groups = np.flatnonzero(sizes == size)
        rows = order[starts[groups][:, None] + np.arange(size)]
        full, own = filled[groups], share[rows]
        taken = _taken(full, own)
        bounded = full[:, None, :] > 0.0
        part = np.zeros_like(taken)
        np.divide(taken, full[:, None, :], out=part, where=bounded)
        part[:, :1] = np.where(bounded, part[:, :1], 1.0)  # without a bound the first row takes all
        values = coefficients[groups][:, None, :] * part
        # A row at its bound is exactly there. (The joint problem gives no bounds: its rows divide several.)
        bound = bounds[members[rows]]
        exact = bounded & (taken == own[:, :, None]) & (bound > 0.0) & np.isfinite(bound)
        per_input[rows] = np.where(exact, np.copysign(bound, values), values)
    keep = per_input.any(axis=1)
    return members[keep], per_input[keep]
