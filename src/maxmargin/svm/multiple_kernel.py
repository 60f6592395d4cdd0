"""Models that learn the weights of their kernels: ``MultipleKernelSVC`` and ``MultipleKernelSVR``."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Precomputed, Scaled, Sum, as_kernel
from maxmargin.kernels.gram.matrices import kernel_matrices
from maxmargin.runtime.class_weights import check_class_weights
from maxmargin.runtime.control import Control, Status, warn_unless_converged
from maxmargin.runtime.estimator import parameters, shared_parameters
from maxmargin.runtime.parameter_docs import documented, entries
from maxmargin.runtime.text_report import TextReport, tolerance_text
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_labels, check_number, check_weights
from maxmargin.svm.kernel.classification import SVC
from maxmargin.svm.kernel.context import FitContext, InputRows, prepare
from maxmargin.svm.kernel.formulations import CClassification, EpsilonRegression
from maxmargin.svm.kernel.regression import SVR
from maxmargin.svm.kernel.weight_learning import LearntWeights, WeightedProblem, learn_weights
from maxmargin.svm.kernel_input import KernelInput
from maxmargin.svm.models.multiclass import one_vs_one

DEFAULT_KERNELS = (Normalized(Linear()), Normalized(Polynomial(degree=2)), RBF())

MULTIPLE_KERNELS = entries(
    """
kernels : list of Kernel or str, default=None
    The kernels: objects of :mod:`maxmargin.kernels` (including sums, products and kernels on some columns), or names,
    for default parameters. None means the cosine kernel, (1 + cosine)^2, and the Gaussian kernel. The weights depend on
    the scales of the kernels: :class:`~maxmargin.kernels.Normalized` makes them comparable.
norm : {1, 2}, default=1
    Norm of the weights, which is at most one: with 1 few kernels have a nonzero weight, with 2 most of them.
tol : float, default=1e-3
    Stop when the relative duality gap of weights and model is at most this; also the tolerance of the last fit.
cache_size : float, default=200
    Megabytes for the kernel matrices, half of each, which are computed once.
max_iter : int, default=200
    Maximum number of weight vectors to try; -1 for no limit.
solver : str, default="auto"
    Solver of the last fit.
verbose : bool, default=False
    Print progress on standard error.
kernel_weights_ : array of shape (n_kernels,)
    d.
kernel_ : Kernel
    The weighted sum of the kernels with nonzero weights.
report_ : KernelWeightsReport
    The bounds on the optimum, and the status of the search.
n_iter_ : int
    Weight vectors tried.
"""
)


@dataclass(frozen=True)
class KernelWeightsReport(TextReport):
    """The report of learned kernel weights.

    Attributes
    ----------
    model : str
        What was fitted.
    status : Status
        How the fit ended.
    primal_objective, dual_objective : float
        Upper and lower bound on the optimum over all weights.
    relative_gap : float
        Their difference divided by the larger one.
    n_iter : int
        Weight vectors tried.
    n_kernels, n_used : int
        Number of kernels, and of those with a nonzero weight.
    tol, seconds : float
        Tolerance, and duration of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MultipleKernelSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> report = MultipleKernelSVC().fit(X, y).report_
    >>> report.converged, report.relative_gap <= report.tol
    (True, True)
    """

    model: str
    status: Status
    primal_objective: float
    dual_objective: float
    relative_gap: float
    n_iter: int
    n_kernels: int
    n_used: int
    tol: float
    seconds: float

    @property
    def converged(self) -> bool:
        return self.status.converged

    @property
    def duality_gap(self) -> float:
        return self.primal_objective - self.dual_objective

    def _lines(self) -> list[tuple[str, str]]:
        return [
            ("model", self.model),
            ("status", self.status.value),
            ("kernels", f"{self.n_used} of {self.n_kernels} have weight"),
            ("objective", f"between {self.dual_objective:.6g} and {self.primal_objective:.6g}"),
            ("duality gap", f"relative {self.relative_gap:.1e}, tolerance {tolerance_text(self.tol)}"),
            ("weight vectors", f"{self.n_iter:,}"),
            ("time", f"{self.seconds:.2f} s"),
        ]


@documented(MULTIPLE_KERNELS)
@parameters
class MultipleKernelModel(KernelInput, abc.ABC):
    """What the two estimators share: the steps of a fit, and the model inside."""

    _: KW_ONLY
    kernels: Any = None
    norm: int = 1
    C: float = 1.0
    tol: float = 1e-3
    cache_size: float = 200
    max_iter: int = 200
    solver: str = "auto"
    verbose: bool = False
    n_jobs: int | None = None
    max_seconds: float | None = None

    _of_one_kernel: ClassVar[Any]  # the class of estimators with one kernel

    def _model(self, kernel: Kernel) -> Any:
        """The estimator with one kernel, and the parameters that it shares."""
        shared = shared_parameters(self, self._of_one_kernel, without="max_iter")  # which counts weight vectors here
        return self._of_one_kernel(kernel=kernel, **shared)

    @abc.abstractmethod
    def _problems(self, context: FitContext) -> list[WeightedProblem]:
        """The dual problems whose objectives are summed."""

    def _kernel(self) -> Sum:
        """The unresolved kernels."""
        given = DEFAULT_KERNELS if self.kernels is None else self.kernels
        if isinstance(given, (str, Kernel)) or not isinstance(given, Sequence) or len(given) == 0:
            raise ValueError(f"kernels must be a list of kernels, such as [RBF(), Linear()]; got {given!r}.")
        kernels = [as_kernel(kernel) for kernel in given]
        if any(isinstance(kernel, Precomputed) for kernel in kernels):
            raise ValueError(
                "kernels holds 'precomputed', and one X cannot be several matrices: give kernels as objects or "
                "functions, each of its own columns of X (maxmargin.kernels.Columns)."
            )
        return Sum(kernels)

    def _is_precomputed(self) -> bool:
        return False

    def _check_parameters(self) -> None:
        if self.norm not in (1, 2) or isinstance(self.norm, bool):
            raise ValueError(f"norm must be 1 (few kernels have weight) or 2 (most have); got norm={self.norm!r}.")
        check_number("C", self.C, above=0, remedy="Kernel weights are learnt with a finite C.")
        check_number("max_iter", self.max_iter, least=-1, integer=True, remedy="-1 means no limit.")
        self._model(Linear())._check_parameters()

    def _learn(self, X: Any, y: Array, rows: InputRows, sample_weight: Any, **options: Any) -> Self:
        """Weights, then the model with their sum; ``options`` are those of :func:`prepare`."""
        n = rows.X.shape[0]
        kernels = self._kernel()
        bytes_needed = 8.0 * (0.5 * len(kernels.kernels) + 2) * n * n  # their halves, K(d), and one while it is made
        if bytes_needed > self.cache_size * 1e6:
            raise ValueError(
                f"cache_size={self.cache_size:g} MB cannot hold the matrices of {len(kernels.kernels)} kernels of "
                f"{n:,} rows: give cache_size={np.ceil(bytes_needed / 1e6):g}, fewer kernels, or fewer rows."
            )
        context = prepare(self, rows, kernels, **options)
        with context.control.catching_interrupts():
            resolved: Any = context.kernel
            matrices = kernel_matrices(resolved.kernels, context.X, context.threads)
            learnt = learn_weights(
                self._problems(context),
                matrices,
                int(self.norm),
                tol=context.tol,
                control=context.control,
                threads=context.threads,
            )
        del matrices
        self.kernel_weights_, self.n_iter_ = learnt.weights, learnt.n_iter
        used = [(k, float(w)) for k, w in zip(resolved.kernels, learnt.weights, strict=True) if w > 0]
        self.kernel_ = Sum([Scaled(kernel, weight) for kernel, weight in used])
        model = self._model(self.kernel_)
        if self.max_seconds is not None:  # what the weights have left, and a tenth in any case
            model.max_seconds = max(0.1 * self.max_seconds, self.max_seconds - context.control.seconds)
        self.estimator_ = model.fit(X, y, sample_weight).set_params(max_seconds=self.max_seconds)
        self.report_ = self._reported(learnt, context.control)
        distance = f"certified relative duality gap is {learnt.relative_gap:.2e} (tol={self.tol:g})"
        warn_unless_converged(self, learnt.status, distance)
        return self

    def _reported(self, learnt: LearntWeights, control: Control) -> KernelWeightsReport:
        return KernelWeightsReport(
            model=f"{type(self).__name__}, norm {self.norm}",
            status=learnt.status,
            primal_objective=learnt.upper,
            dual_objective=learnt.lower,
            relative_gap=learnt.relative_gap,
            n_iter=learnt.n_iter,
            n_kernels=len(learnt.weights),
            n_used=int(np.count_nonzero(learnt.weights)),
            tol=float(self.tol),
            seconds=control.seconds,
        )

    def predict(self, X: Any) -> Array:
        """Predictions of the model with the learnt kernel.

        {X -> labels}
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))


@documented(MULTIPLE_KERNELS)
@parameters
class MultipleKernelSVC(ClassifierMixin, MultipleKernelModel):
    """Support vector classification with learned weights of several kernels.

    Minimises over weights d >= 0 of norm |d| <= 1 the sum, over all pairs of classes p, of the optima of

        1/2 sum_m |w_pm|^2 / d_m + C sum_i max(0, 1 - y_i f_p(x_i)),        f_p = sum_m w_pm'phi_m + b_p

    with phi_m the features of kernel m: one vector of weights for all pairs. The model is that of :class:`SVC` with the
    kernel sum_m d_m k_m.

    Parameters
    ----------
    {kernels, norm}
    C : float, default=1.0
        Penalty of slack, > 0.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class.
    {tol, cache_size, max_iter, solver, verbose, n_jobs, max_seconds}

    Attributes
    ----------
    {kernel_weights_, kernel_}
    estimator_ : SVC
        The model with ``kernel_``, which predicts.
    classes_ : array of shape (n_classes,)
        The labels.
    {n_iter_, n_features_in_, feature_names_in_, report_}

    Examples
    --------
    Two columns tell the classes apart, three are noise; each group has its kernel.

    >>> import numpy as np
    >>> from maxmargin import MultipleKernelSVC
    >>> from maxmargin.kernels import RBF, Columns
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = MultipleKernelSVC(kernels=[Columns(RBF(), [0, 1]), Columns(RBF(), [2, 3, 4])], C=10).fit(X, y)
    >>> bool(model.kernel_weights_[0] > 0.8)
    True
    >>> model.report_.converged
    True
    """

    _: KW_ONLY
    class_weight: Any = None

    _of_one_kernel = SVC

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights and fit the model.

        {X_train, y_labels, sample_weight -> self}
        """
        self._check_parameters()
        _, points, labels = self._kernel_and_points(X, y, supervised=True)
        weights = check_weights(sample_weight, points.shape[0])
        self.classes_, codes = check_labels(labels)
        check_class_weights(self.class_weight, self.classes_, codes, weights)
        rows = InputRows(points, codes, weights)
        return self._learn(X, labels, rows, sample_weight, classes=self.classes_)

    def _problems(self, context: FitContext) -> list[WeightedProblem]:
        assert context.classes is not None
        given = context.given
        class_weight = check_class_weights(self.class_weight, context.classes, given.target, given.weight)
        weight, pose = context.weight * class_weight[context.target], CClassification(self.C, True)
        active = np.flatnonzero(weight > 0)
        tasks = one_vs_one(context.target[active], len(context.classes))
        posed = [(active[task.rows], task.y) for task in tasks if task.constant is None]
        return [WeightedProblem(rows, pose.problem(y, weight[rows])) for rows, y in posed]

    def decision_function(self, X: Any) -> Array:
        """Decision values of ``estimator_``.

        {X -> decision}
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))


@documented(MULTIPLE_KERNELS)
@parameters
class MultipleKernelSVR(RegressorMixin, MultipleKernelModel):
    """Support vector regression with learned weights of several kernels.

    Minimises over weights d >= 0 of norm |d| <= 1, and over w and b,

        1/2 sum_m |w_m|^2 / d_m + C sum_i max(0, |y_i - f(x_i)| - epsilon),        f = sum_m w_m'phi_m + b

    with phi_m the features of kernel m. The model is that of :class:`SVR` with the kernel sum_m d_m k_m.

    Parameters
    ----------
    {kernels, norm}
    C : float, default=1.0
        Penalty of an error outside the tube, > 0.
    epsilon : float, default=0.1
        Half the width of the tube inside which errors cost nothing.
    {tol, cache_size, max_iter, solver, verbose, n_jobs, max_seconds}

    Attributes
    ----------
    {kernel_weights_, kernel_}
    estimator_ : SVR
        The model with ``kernel_``, which predicts.
    {n_iter_, n_features_in_, feature_names_in_, report_}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import MultipleKernelSVR
    >>> from maxmargin.kernels import RBF
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = MultipleKernelSVR(kernels=[RBF(gamma=g) for g in (0.01, 1, 100)], C=10).fit(x, np.sin(x).ravel())
    >>> int(model.kernel_weights_.argmax())
    1
    """

    _: KW_ONLY
    epsilon: float = 0.1

    _of_one_kernel = SVR

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights and fit the model.

        {X_train, y_values, sample_weight -> self}
        """
        self._check_parameters()
        check_number("epsilon", self.epsilon, least=0)
        _, points, target = self._kernel_and_points(X, y, supervised=True, numeric=True)
        weights = check_weights(sample_weight, points.shape[0])
        rows = InputRows(points, target.astype(np.float64), weights)
        return self._learn(X, target, rows, sample_weight)

    def _problems(self, context: FitContext) -> list[WeightedProblem]:
        pose = EpsilonRegression(self.C, float(self.epsilon), True)
        return [WeightedProblem(np.arange(context.n), pose.problem(context.target, context.weight))]
