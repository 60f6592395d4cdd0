"""The interface of solvers: what they declare, accept and return.

A kernel problem is a :class:`~maxmargin.problems.dual.DualProblem` (or a
:class:`~maxmargin.problems.joint.JointProblem`) whose kernel values come from a
:class:`~maxmargin.kernels.gram.operator.Gram`; a linear problem is a
:class:`~maxmargin.problems.primal.PrimalProblem`. A solver accepts one form or several, returns feasible variables in
every case, reports how it ended, and does not decide whether it is optimal: the certificates in
:mod:`maxmargin.problems` do. A solver's own options are the fields of its class: ``Pegasos(batch_size=16)``.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.losses import LOSSES
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array
from maxmargin.solvers.run import LinearSolution, Run, Start
from maxmargin.solvers.solution import Solution

EVERY_LOSS = tuple(LOSSES)
MARGIN_LOSSES = tuple(name for name, loss in LOSSES.items() if loss.classifies)
REGRESSION_LOSSES = tuple(name for name, loss in LOSSES.items() if not loss.classifies)
SQUARED_LOSSES = tuple(name for name, loss in LOSSES.items() if loss.squared)
FORMS = ("kernel", "joint", "linear", "bounded", "l1")  # of problems


class Solver:
    """An algorithm and the problems that it accepts: a :class:`KernelSolver`, a :class:`LinearSolver`, or both.

    Attributes
    ----------
    name : str
        Name of the solver in ``SOLVERS``.
    title : str
        The method in a few words.
    accepts : tuple of str
        The forms of problems, of ``FORMS``.
    losses : tuple of str
        The losses of linear problems that it accepts, of :data:`~maxmargin.problems.losses.LOSSES`.
    learns : {"primal", "dual", "both"}
        Whether its unknowns in a linear problem are the d numbers of w, the n multipliers, or both.
    reads_columns : bool
        Whether it accepts CSC as well as CSR matrices.
    few_iterations : bool
        Whether it needs so few iterations that a limit of a thousand is never reached.
    interruptible : bool
        Whether Ctrl-C and deadlines are obeyed within a run, and not only at its end.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["newton"].accepts, SOLVERS["newton"].losses
    (('linear',), ('squared_hinge', 'squared_epsilon_insensitive', 'squared'))
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    accepts: ClassVar[tuple[str, ...]] = ("kernel",)
    losses: ClassVar[tuple[str, ...]] = ()
    learns: ClassVar[str] = "dual"
    reads_columns: ClassVar[bool] = False
    few_iterations: ClassVar[bool] = False
    interruptible: ClassVar[bool] = True

    def refuses(self, problem: Any) -> str | None:
        """Why this solver cannot solve the problem, and what to use instead; None if it can."""
        return self.refuses_loss(problem) if isinstance(problem, PrimalProblem) else None

    def refuses_form(self, problem: Any) -> str | None:
        """A refusal by the list of accepted forms of linear problems."""
        if not isinstance(problem, PrimalProblem) or problem.form in self.accepts:
            return None
        if problem.form == "bounded":
            return f"{self.name} takes no bounds of the coefficients: use solver='barrier'"
        return f"{self.name} does not take the form {problem.form}: use solver='auto'"

    def refuses_loss(self, problem: PrimalProblem, remedy: str = "use solver='barrier'") -> str | None:
        """A refusal by the list of accepted losses."""
        if problem.loss.name in self.losses:
            return None
        return f"{self.name} takes the losses {', '.join(self.losses)}, not {problem.loss.name}: {remedy}"

    def solves_small(self, problem: PrimalProblem) -> bool:
        """Whether :mod:`maxmargin.solvers.small_linear` has this method for the problem's loss."""
        return False


def report_point(problem: DualProblem, a: Array, f: Array, n_iter: int, control: Control) -> Certificate:
    """Report a point of a kernel problem, with f = K @ coefficients; its certificate."""
    now = optimality.best_certificate(problem, a, f)
    n_support = int(np.count_nonzero(a))
    control.report(n_iter, now.violation, n_support, primal=now.primal, dual=now.dual, norm=now.norm)
    return now


class KernelSolver(Solver, abc.ABC):
    """Base class of solvers for kernel problems.

    Examples
    --------
    A complete solver is in the guide to extending the library.

    >>> from maxmargin.solvers import SOLVERS, KernelSolver
    >>> [name for name, solver in SOLVERS.items() if isinstance(solver, KernelSolver)][:4]
    ['active_set', 'barrier', 'coordinate_descent', 'smo']
    """

    @abc.abstractmethod
    def solve(self, problem: Any, gram: Gram, *, tol: float, control: Control, start: Array | None = None) -> Solution:
        """Minimise a kernel problem to violation <= tol, or stop for a reason that the status names."""


class LinearSolver(Solver, abc.ABC):
    """Base class of solvers for linear problems.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS, LinearSolver
    >>> sorted(name for name, solver in SOLVERS.items() if isinstance(solver, LinearSolver))[:3]
    ['barrier', 'coordinate_descent', 'l1_coordinate_descent']
    """

    def solve_linear(
        self,
        problem: PrimalProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        """Minimise a linear problem to a relative duality gap <= tol, or stop for a reason that the status names. A
        start that is optimal is returned as it is."""
        run = Run(problem, tol, control)
        status = run.evaluate_start(start)
        return self.solve_run(run, start, random_state) if status is None else run.solution(status, 0)

    @abc.abstractmethod
    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        """Continue an unfinished run."""
