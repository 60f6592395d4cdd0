"""What is computed of a solution to judge it: both objectives, and how far each optimality condition is missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import numpy as np

from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class Certificate:
    """Certificate of a solution, independent of the solver.

    Attributes
    ----------
    primal, dual : float
        Objectives of the fitted function and of its multipliers; optimal when equal.
    violation : float
        LIBSVM's measure m(a) - M(a): the largest difference of gradients between a variable that may fall and one
        that may rise. The stopping rule is violation <= tol.
    stationarity : float
        Largest residual of the equality constraints, the derivative of the Lagrangian with respect to b, rho, epsilon.
        (Its derivative with respect to w is zero by construction: w is the expansion.)
    dual_infeasibility : float
        Largest violation of a bound.
    primal_infeasibility : float
        Largest violation of a constraint without slack (hard margin).
    complementarity : float
        Largest product of a multiplier and the slack of its constraint.
    norm : float
        |w|, the norm of the fitted function in feature space.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc, optimality
    >>> problem = c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    >>> a, f = np.array([0.5, -0.5]), np.array([1.0, -1.0])  # the optimum of two points, 1 and -1, and K @ a
    >>> found = optimality.best_certificate(problem, a, f)
    >>> found.primal, found.dual, found.violation
    (0.5, 0.5, 0.0)
    """

    primal: float
    dual: float
    violation: float
    stationarity: float
    dual_infeasibility: float
    primal_infeasibility: float
    complementarity: float
    norm: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        if self.gap == 0:
            return 0.0
        return self.gap / max(abs(self.primal), abs(self.dual)) if math.isfinite(self.gap) else math.inf


FIELDS = tuple(field.name for field in fields(Certificate))
_values_of = attrgetter(*FIELDS)


@dataclass(frozen=True)
class Certificates(Sequence[Certificate]):
    """The certificates of several problems as columns, one entry per problem."""

    primal: Array
    dual: Array
    violation: Array
    stationarity: Array
    dual_infeasibility: Array
    primal_infeasibility: Array
    complementarity: Array
    norm: Array

    @classmethod
    def of(cls, each: Sequence[Certificate]) -> Certificates:
        table = np.array([_values_of(one) for one in each], np.float64).reshape(-1, len(FIELDS))
        return cls(*np.ascontiguousarray(table.T))

    def __len__(self) -> int:
        return len(self.primal)

    def __getitem__(self, p: Any) -> Any:
        return Certificate(*[float(column[p]) for column in _values_of(self)])

    def replace(self, p: int, certificate: Certificate) -> None:
        """Replace the certificate of problem p, in place."""
        for name in FIELDS:
            getattr(self, name)[p] = getattr(certificate, name)
