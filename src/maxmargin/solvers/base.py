"""What a solver takes and gives.

A solver minimises a :class:`~maxmargin.problems.dual.DualProblem` whose kernel values come from a
:class:`~maxmargin.kernels.gram.operator.Gram`. It returns feasible variables in every case, says how it ended, and
never decides itself whether it was right: :mod:`maxmargin.problems.optimality` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class Solution:
    """Feasible variables and how they were reached.

    Attributes
    ----------
    a : array
        The problem's variables (for the joint machine a matrix, one column a class).
    f : array
        K @ coefficients, as the solver knows it.
    status : Status
    n_iter : int
        Steps taken: pairs for SMO, coordinates for coordinate descent, iterations for interior points.
    fresh : bool
        Whether ``f`` was computed from ``a`` alone, in float64, after the last step.
    """

    a: Array
    f: Array
    status: Status
    n_iter: int
    fresh: bool = False


class Solver(Protocol):
    """One algorithm for :class:`~maxmargin.problems.dual.DualProblem`."""

    name: str

    def refuses(self, problem: DualProblem) -> str | None:
        """Why this solver cannot take the problem, or None if it can."""
        ...

    def solve(
        self, problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None = None
    ) -> Solution:
        """Minimise to violation <= tol, or stop for a reason that the status names."""
        ...
