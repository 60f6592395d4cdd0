"""What a solver of kernel problems returns."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.runtime.control import Status as Status  # part of a solution
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class Solution:
    """The solution of a kernel problem: feasible variables, status and iterations.

    Attributes
    ----------
    a : array
        The problem's variables (for the joint problem a matrix, one column per class).
    f : array
        K @ coefficients, as computed by the solver.
    status : Status
        How the fit ended.
    n_iter : int
        Steps taken: pairs for SMO, coordinates for coordinate descent, iterations for interior points.
    fresh : bool
        Whether ``f`` was computed from ``a`` alone, in float64, after the last step.
    note : str
        A note for the report; usually empty.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers import Solution, Status
    >>> Solution(a=np.zeros(2), f=np.zeros(2), status=Status.OPTIMAL, n_iter=0).status.value
    'optimal within the tolerance'
    """

    a: Array
    f: Array
    status: Status
    n_iter: int
    fresh: bool = False
    note: str = ""
