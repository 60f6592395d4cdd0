"""The report of a fit: attributes, text, and HTML in a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from maxmargin.kernels import Callable as CallableKernel
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.problems.certificate import Certificate
from maxmargin.runtime.control import KERNEL_WORDS, Control, Status, scaling_hint, warn_unless_converged
from maxmargin.runtime.history import History
from maxmargin.runtime.text_report import TextReport, short_numbers, tolerance_text
from maxmargin.runtime.validation import Array, Points

CONSTANT_MAX_SHARE = 1e-14  # of the primal objective: |w|^2 / 2 is then nothing but rounding


@dataclass(frozen=True)
class FitReport(TextReport):
    """The report of a fit, with the certificate of optimality.

    A fit may solve several problems (one-vs-one, one-vs-rest). Then objectives, evaluations and iterations are sums,
    as is the gap; the violation is the worst; ``margins`` has one entry per problem, and ``margin`` is the smallest.

    Attributes
    ----------
    model : str
        What was fitted, e.g. ``"SVC, 10 classes, one-vs-one, 45 binary problems"``.
    solver, solver_reason : str
        The solver and why it was chosen.
    kernel : Kernel
        The kernel with its resolved parameters.
    parameters : str
        C, nu or epsilon, depending on the estimator.
    status : Status
        How the fit ended; ``status.value`` describes it.
    n_iter, kernel_evaluations, n_support : int
        Solver iterations, computed kernel values, and support vectors.
    n_samples, n_features : int
        Shape of the training data.
    margins : array
        2 / |w| of each binary problem.
    training_error : float
        Fraction of misclassified training samples (one-class: of samples outside); for regression the root mean squared
        error. NaN if a large fit was stopped before it was computed.
    error_name : str
        What this error is called in the text.
    primal_objective, dual_objective, duality_gap, relative_gap, kkt_violation : float
        The certificate, computed independently of the solver: the violation, which determines ``status``, in float64
        from its definition. Objectives of a problem of more than 256 rows may be sums of float32 kernel values, with a
        relative error of about 1e-7.
    stationarity, primal_infeasibility, dual_infeasibility, complementarity : float
        Violations of the individual KKT conditions.
    kernel_valid : bool or None
        False if the kernel is known not to be positive semidefinite (the gap then proves nothing), None if unknown.
    tol, seconds : float
        Tolerance, and duration of the fit.
    dtype : str
        Precision of the training data.
    threads : int
        Number of threads.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> report = SVC(kernel="linear", C=10.0).fit([[0.0], [1.0], [3.0]], [0, 0, 1]).report_
    >>> report.converged, report.n_support, round(report.margin, 3)
    (True, 2, 2.0)
    >>> report.relative_gap < 1e-3
    True
    """

    model: str
    solver: str
    solver_reason: str
    kernel: Kernel
    parameters: str
    status: Status
    n_iter: int
    kernel_evaluations: int
    n_support: int
    n_samples: int
    n_features: int
    margins: Array
    training_error: float
    error_name: str
    primal_objective: float
    dual_objective: float
    relative_gap: float
    kkt_violation: float
    stationarity: float
    primal_infeasibility: float
    dual_infeasibility: float
    complementarity: float
    kernel_valid: bool | None
    tol: float
    seconds: float
    dtype: str
    threads: int

    scikit_learn_words: ClassVar[str] = KERNEL_WORDS  # of the warning at the limit of iterations

    @classmethod
    def deferred(cls, fields: Callable[[], dict[str, Any]]) -> Self:
        """Create a report whose fields are computed on first access, so that short fits do not wait for them."""
        report = object.__new__(cls)
        report.__dict__["_fields"] = fields
        return report

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields") if name in type(self).__dataclass_fields__ else None
        if fields is not None:
            self.__dict__.update(fields())
            self.__dict__.pop("_fields", None)
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.", name=name, obj=self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}

    @property
    def duality_gap(self) -> float:
        return self.primal_objective - self.dual_objective

    @property
    def margin(self) -> float:
        return float(np.min(self.margins, initial=math.inf))

    @property
    def converged(self) -> bool:
        return self.status.converged

    def distance_from_optimum(self) -> str:
        """Upper bound on the distance of the model from the optimum, in the units of ``tol``."""
        gap = "" if self.kernel_valid is False else f" and the relative duality gap {self.relative_gap:.2e}"
        return f"certified violation is {self.kkt_violation:.2e} (tol={self.tol:g}){gap}"

    def _lines(self) -> list[tuple[str, str]]:
        share = f" ({self.n_support / self.n_samples:.0%} of {self.n_samples:,} samples)" if self.n_samples else ""
        error = f"{self.training_error:.4g}" if self.error_name.startswith("root") else f"{self.training_error:.2%}"
        if math.isnan(self.training_error):
            error = "not computed: the fit was stopped"
        gap = f"{without_rounding(self.duality_gap):.3g} (relative {without_rounding(self.relative_gap):.1e})"
        if self.kernel_valid is False:
            gap = "proves nothing: the kernel is indefinite (not positive semidefinite)"
        many = len(self.margins) > 1
        return [
            ("model", self.model),
            ("kernel", short_numbers(" ".join(str(self.kernel).split()), 6)),
            ("parameters", self.parameters),
            ("solver", f"{self.solver} ({self.solver_reason})"),
            ("status", self.status.value),
            ("iterations", f"{self.n_iter:,}"),
            ("kernel evaluations", f"{self.kernel_evaluations:,}"),
            ("support vectors", f"{self.n_support:,}{share}"),
            ("smallest margin" if many else "margin", self._margin_text()),
            (self.error_name, error),
            ("objective", f"primal {self.primal_objective:.8g}, dual {self.dual_objective:.8g}"),
            ("duality gap", gap),
            ("KKT violation", f"{self.kkt_violation:.2e} (tolerance {tolerance_text(self.tol)})"),
            ("time", f"{self.seconds:.3g} s, {self.dtype}, {self.threads} thread{'s' if self.threads != 1 else ''}"),
        ]

    def _margin_text(self) -> str:
        if CONSTANT_MAX_SHARE * abs(self.primal_objective) * self.margin**2 > 0.5 or math.isinf(self.margin):
            return "infinite (w = 0, a constant function)"
        return f"{self.margin:.6g}"


def kernel_validity(kernel: Kernel) -> bool | None:
    """Whether a kernel is positive semidefinite; None if unknown."""
    return kernel.psd or (None if isinstance(kernel, (CallableKernel, Precomputed)) else False)


def without_rounding(gap: float) -> float:
    """A gap for readers: 0 where rounding made it negative."""
    return 0.0 if -1e-6 < gap < 0 else gap


def combine(certificates: Sequence[Certificate]) -> dict[str, float]:
    """The fields of a report from the certificates of its problems: sums of objectives, the worst of the rest."""
    primal = sum(c.primal for c in certificates)
    dual = sum(c.dual for c in certificates)
    gap, size = primal - dual, max(abs(primal), abs(dual))
    relative_gap = gap / size if size and math.isfinite(gap) else (0.0 if gap == 0 else math.inf)
    if len(certificates) == 1:  # its relative gap may refer to another size, if the objective is zero
        relative_gap = certificates[0].relative_gap
    worst = {
        name: max((getattr(c, name) for c in certificates), default=0.0)
        for name in ("stationarity", "primal_infeasibility", "dual_infeasibility", "complementarity")
    }
    return {
        "primal_objective": primal,
        "dual_objective": dual,
        "relative_gap": relative_gap,
        "kkt_violation": max((c.violation for c in certificates), default=0.0),
        **worst,
    }


@dataclass(frozen=True)
class SolverUsed:
    """The solver, the reason for its choice, and the kernel values it computed."""

    name: str
    reason: str
    evaluations: int = 0


class FitOutcome(Protocol):
    """The outcome of the problems of a fit, one entry per problem."""

    @property
    def status(self) -> Status: ...
    @property
    def solver(self) -> SolverUsed: ...
    @property
    def n_iter(self) -> Array | int: ...
    @property
    def margins(self) -> Array: ...
    @property
    def certificates(self) -> Sequence[Certificate]: ...
    @property
    def history(self) -> History: ...
    @property
    def advice(self) -> str: ...


class FittedRows(Protocol):
    """The rows and options of a fit."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def control(self) -> Control: ...
    @property
    def threads(self) -> int: ...
    @property
    def input_shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...


def report_fit(
    estimator: Any,
    context: FittedRows,
    outcome: FitOutcome,
    X: Points | None,
    *,
    model: str,
    parameters: Callable[[], str],
    training_error: Callable[[], float],
    error_name: str = "training error",
    n_support: Callable[[], int] | None = None,
    kind: type[FitReport] = FitReport,
    **more: Any,
) -> None:
    """The last step of a fit: ``report_``, ``history_``, and the warning unless it converged. Report and history are
    computed when they are read, so that short fits do not wait for them. X is used for a hint at columns to scale
    (None: the rows are not in this process); ``more``: the fields that a report of ``kind`` adds."""
    kernel, seconds, threads, dtype = context.kernel, context.control.seconds, context.threads, context.dtype
    n_samples, tol, used = context.input_shape[0], float(estimator.tol), outcome.solver
    n_features, n_vectors = getattr(estimator, "n_features_in_", 0), len(getattr(estimator, "support_", ()))

    def fields() -> dict[str, Any]:
        return {
            "model": model,
            "solver": used.name,
            "solver_reason": used.reason,
            "kernel": kernel,
            "parameters": parameters(),
            "status": outcome.status,
            "n_iter": int(np.sum(outcome.n_iter)),
            "kernel_evaluations": used.evaluations,
            "n_support": n_vectors if n_support is None else n_support(),
            "n_samples": n_samples,
            "n_features": n_features,
            "margins": outcome.margins,
            "training_error": training_error(),
            "error_name": error_name,
            "kernel_valid": kernel_validity(kernel),
            "tol": tol,
            "seconds": seconds,
            "dtype": str(dtype),
            "threads": threads,
            **combine(outcome.certificates),
            **more,
        }

    estimator.report_, estimator.history_ = kind.deferred(fields), outcome.history
    if not outcome.status.converged:
        hint = "" if X is None else scaling_hint(X, getattr(estimator, "feature_names_in_", None))
        distance = estimator.report_.distance_from_optimum()
        warn_unless_converged(
            estimator, outcome.status, distance, advice=outcome.advice, hint=hint, words=kind.scikit_learn_words
        )
