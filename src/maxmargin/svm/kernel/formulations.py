"""How an estimator poses its problems: formulations as values.

A formulation fills :class:`~maxmargin.problems.dual.DualProblem` with targets and weights, knows the bounds of rows of
given weights, and converts a solved problem to a function with margin one. It knows no data, no solver and no
estimator.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace

import numpy as np

from maxmargin import problems
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array, warn
from maxmargin.svm.kernel.solving.outcomes import BinaryModel

SMALLEST_RHO = 1e-150  # a margin that decision values can be divided by without overflow


def _bounds(C: float, weight: Array) -> Array:
    """C of rows of these weights; a row without weight has none."""
    return np.where(weight > 0, C, 0.0) if math.isinf(C) else C * weight


class Formulation(abc.ABC):
    """How rows become a problem; defaults of those without a scale of their own."""

    @property
    def is_batched(self) -> bool:
        """Whether all pairs of classes can be posed at once: C-SVC with an intercept and a finite C."""
        return False

    @abc.abstractmethod
    def problem(self, y: Array, weight: Array) -> DualProblem:
        """The problem of rows with these targets and weights."""

    def bounds(self, weight: Array) -> Array:
        """The bounds of rows of these weights."""
        return weight

    def limits(self, weight: Array, coefficient: Array) -> Array:
        """The largest sizes that coefficients of these signs may have in rows of these weights."""
        return self.bounds(weight)

    def completed(self, model: BinaryModel) -> BinaryModel:
        """The model with its intercept chosen where optimality leaves a choice."""
        return model

    def scale(self, model: BinaryModel) -> float:
        """Factor from the dual's variables to decision values with margin one."""
        return 1.0

    @abc.abstractmethod
    def describe(self, epsilon: float) -> str:
        """The hyperparameters, for the report; ``epsilon`` is that of the solution."""


@dataclass(frozen=True)
class CClassification(Formulation):
    """C-SVC."""

    C: float
    fit_intercept: bool

    @property
    def is_batched(self) -> bool:
        return bool(self.fit_intercept) and math.isfinite(self.C)

    def problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.c_svc(y, self.C * weight, fit_intercept=self.fit_intercept)

    def bounds(self, weight: Array) -> Array:
        return _bounds(self.C, weight)

    def describe(self, epsilon: float) -> str:
        return f"C = {self.C:g}" + (" (hard margin)" if math.isinf(self.C) else "")


@dataclass(frozen=True)
class NuClassification(Formulation):
    """nu-SVC; ``default_nu``: nu is the default, which is lowered if it is infeasible."""

    nu: float
    fit_intercept: bool
    default_nu: float

    def problem(self, y: Array, weight: Array) -> DualProblem:
        largest = problems.largest_nu(y, weight) if self.fit_intercept else 1.0
        if self.nu > largest * (1 + 1e-12):
            cause = f"nu={self.nu:g} is more than twice the smaller class's share: at most {largest:.6g} is feasible"
            # A value that the class sizes allow, or the default, is lowered; any other is an error.
            if self.nu > problems.largest_nu(y, np.ones(len(y))) and self.nu != self.default_nu:
                raise ValueError(f"specified nu is infeasible: {cause}. Lower nu, or weight the classes.")
            warn(f"{cause}, and is used instead.")
        return problems.nu_svc(y, weight, min(self.nu, largest), fit_intercept=self.fit_intercept)

    def completed(self, model: BinaryModel) -> BinaryModel:
        """Where nu was lowered, all of the lighter class is at its bound, and every larger rho that keeps the heavier
        class's margin is optimal too. With a larger nu rho would grow without bound; it grows by the factor by which
        nu was too large, so that weights that rule out a class do so."""
        ratio = self.nu / model.problem.nu
        if not self.fit_intercept or ratio <= 1 + 1e-12:
            return model
        positive, negative = (model.problem.bound[model.problem.target == side].sum() for side in (1, -1))
        side = 1.0 if positive > negative else -1.0
        on_margin = side * model.rho - model.intercept  # f of the heavier class on its margin
        rho = ratio * model.rho
        return replace(model, rho=rho, intercept=side * rho - on_margin)

    def scale(self, model: BinaryModel) -> float:
        """rho is the margin's value: divided by it, decision values have margin one, as those of C-SVC."""
        return 1.0 / model.rho if model.rho > SMALLEST_RHO else 1.0

    def describe(self, epsilon: float) -> str:
        return f"nu = {self.nu:g}"


@dataclass(frozen=True)
class EpsilonRegression(Formulation):
    """Epsilon-SVR."""

    C: float
    epsilon: float
    fit_intercept: bool

    def problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.eps_svr(y, self.C * weight, self.epsilon, fit_intercept=self.fit_intercept)

    def bounds(self, weight: Array) -> Array:
        return _bounds(self.C, weight)

    def describe(self, epsilon: float) -> str:
        return f"C = {self.C:g}, epsilon = {self.epsilon:g}"


@dataclass(frozen=True)
class NuRegression(Formulation):
    """nu-SVR."""

    C: float
    nu: float
    fit_intercept: bool

    def problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.nu_svr(y, self.C * weight, self.nu, fit_intercept=self.fit_intercept)

    def bounds(self, weight: Array) -> Array:
        return _bounds(self.C, weight)

    def describe(self, epsilon: float) -> str:
        return f"C = {self.C:g}, nu = {self.nu:g} (epsilon = {epsilon:.4g})"


@dataclass(frozen=True)
class QuantileRegression(Formulation):
    """The pinball loss."""

    C: float
    quantile: float
    fit_intercept: bool

    def problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.quantile(y, self.C * weight, self.quantile, fit_intercept=self.fit_intercept)

    def bounds(self, weight: Array) -> Array:
        return self.C * weight

    def limits(self, weight: Array, coefficient: Array) -> Array:
        return np.where(coefficient > 0, self.quantile, 1.0 - self.quantile) * self.bounds(weight)

    def describe(self, epsilon: float) -> str:
        return f"C = {self.C:g}, quantile = {self.quantile:g}"


@dataclass(frozen=True)
class OneClass(Formulation):
    """The one-class problem."""

    nu: float

    def problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.one_class(weight, self.nu)

    def describe(self, epsilon: float) -> str:
        return f"nu = {self.nu:g}"


@dataclass(frozen=True)
class BallDescription(Formulation):
    """The smallest ball; ``y`` are the squared lengths k(x, x) of the rows in feature space."""

    nu: float

    def problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.svdd(y, weight, self.nu)

    def scale(self, model: BinaryModel) -> float:
        """Coefficients of the centre, which sum to one."""
        return 1.0 / float(model.problem.totals[0])

    def describe(self, epsilon: float) -> str:
        return f"nu = {self.nu:g}"
