"""All binary problems of a fit: one for two classes, one a class for more.

In one-vs-rest a class's weight counts only in its own problem, where it is the positive one, as in LIBLINEAR. Machines
without two sides are constant and need no solver. The others are independent: they run side by side in vector lanes
where that serves them (many classes of sparse rows), else each by itself, several at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from maxmargin.problems.l1 import L1Problem
from maxmargin.problems.losses import make_loss
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import Solver
from maxmargin.solvers.registry import choose_linear_solver
from maxmargin.svm.linear.binary_models import (
    Memory,
    Outcome,
    SolvedProblem,
    gathered,
    lanes_serve,
    solve_certified,
    solve_side_by_side,
)
from maxmargin.svm.linear.rows import TrainingRows
from maxmargin.svm.models.multiclass import one_vs_rest


@dataclass(frozen=True)
class Settings:
    """What the models of a fit have in common.

    Attributes
    ----------
    C : float
    loss : {"hinge", "squared_hinge"}
    penalty : {"l2", "l1"}
    intercept, scaling
        As in :class:`~maxmargin.problems.primal.PrimalProblem`.
    solver : str or Solver
    learns : {"primal", "dual"} or None
        What the solver is to learn, where that matters.
    tol : float
    random_state : int, RandomState or None
    threads : int
    """

    C: float
    loss: str
    penalty: str
    intercept: str
    scaling: float
    solver: Any
    learns: str | None
    tol: float
    random_state: Any
    threads: int

    def bound(self, weight: Array) -> Array:
        """c_i of rows of these weights."""
        return np.where(weight > 0, math.inf, 0.0) if math.isinf(self.C) else self.C * weight

    def chosen(self, problem: PrimalProblem) -> tuple[Solver, str]:
        """The solver, and why."""
        return choose_linear_solver(self.solver, problem, self.learns)


def solve_one_vs_rest(
    rows: TrainingRows, class_weight: Array, settings: Settings, control: Control, memory: Memory | None
) -> tuple[str, str, Outcome, list[SolvedProblem | None]]:
    """The solver's name, why it was chosen, the outcome, and the models.

    Parameters
    ----------
    rows : TrainingRows
    class_weight : array of shape (n_classes,)
    settings : Settings
    control : Control
    memory : Memory or None
        Of the fit to start from.
    """
    problems, constant = _problems(rows, class_weight, settings)
    solved = [k for k, value in enumerate(constant) if value == 0.0]
    models: list[SolvedProblem | None] = [None] * len(problems)
    d, n = rows.X.shape[1], len(rows.weight)
    if not solved:
        nothing = "only one class has weight, so there is nothing to solve"
        return "none", nothing, gathered(models, np.array(constant), d, n), models
    solver, reason = settings.chosen(problems[solved[0]])
    if sp.issparse(rows.X) and rows.X.format == "csc" and not solver.reads_columns:
        return solve_one_vs_rest(replace(rows, X=rows.X.tocsr()), class_weight, settings, control, memory)
    starts = memory.starts(rows, problems) if memory is not None else [None] * len(problems)
    # One fixed seed, or the user's; every model has its own, so that the threads do not matter.
    rng = check_random_state(0 if settings.random_state is None else settings.random_state)
    seeds = rng.randint(2**31 - 1, size=len(problems)).tolist()
    if len(solved) > 2 and lanes_serve(solver, problems[0]):
        reason += f"; {len(solved)} classes side by side"
        together = solve_side_by_side(
            [problems[k] for k in solved],
            settings.bound(rows.weight),
            class_weight[solved],
            tol=settings.tol,
            control=control,
            starts=[starts[k] for k in solved],
            seeds=[seeds[k] for k in solved],
            threads=settings.threads,
        )
        for k, model in zip(solved, together, strict=True):
            models[k] = model
    else:

        def work(t: int) -> None:
            k = solved[t]
            models[k] = solve_certified(
                problems[k], solver, tol=settings.tol, control=control.of_one(), start=starts[k], seed=seeds[k]
            )

        run_tiles(work, len(solved), settings.threads)
    return solver.name, reason, gathered(models, np.array(constant), d, n), models


def _problems(rows: TrainingRows, class_weight: Array, settings: Settings) -> tuple[list[PrimalProblem], list[float]]:
    """The problems, and for each the sign of its only side; 0 where there are two."""
    problems: list[PrimalProblem] = []
    constant = []
    l1, several = settings.penalty == "l1", len(class_weight) > 2
    loss = make_loss(settings.loss)
    columns = rows.X.tocsc() if l1 and sp.issparse(rows.X) else None
    for k, task in enumerate(one_vs_rest(rows.target, len(class_weight))):
        bound = settings.bound(rows.weight * np.where(task.y > 0, class_weight[k] if several else 1.0, 1.0))
        common = (rows.X, task.y, bound, loss, settings.intercept, settings.scaling, settings.threads)
        problems.append(L1Problem(*common, csc=columns) if l1 else PrimalProblem(*common))
        used = bound > 0
        constant.append(float(((task.y > 0) & used).any()) - float(((task.y < 0) & used).any()))
    return problems, constant
