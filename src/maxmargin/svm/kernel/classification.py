"""Support vector classification: ``SVC`` (by C) and ``NuSVC`` (by nu), for any number of classes."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin import problems
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array, callers_level, check_number
from maxmargin.svm.kernel.classifier import KernelClassifier
from maxmargin.svm.kernel.coefficients import Machine


class SVC(KernelClassifier):
    """C-support vector classification.

    Parameters
    ----------
    C : float, default=1.0
        Price of slack, > 0: large C gives a narrow margin with few errors, small C a wide one that ignores points.
        ``inf`` asks for a hard margin and raises an error if the classes cannot be separated.
    kernel : str, Kernel or callable, default="rbf"
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``, ``"laplacian"``, ``"chi2"``, ``"intersection"``,
        ``"precomputed"``, an object of :mod:`maxmargin.kernels`, or a function of two arrays of points that returns
        their kernel matrix.
    degree, gamma, coef0 : float, default=3, "scale", 0.0
        Parameters of a kernel given by name. ``gamma`` may be ``"scale"`` (1 / (n_features Var(X))), ``"auto"``
        (1 / n_features) or a number.
    shrinking : bool, default=True
        For compatibility; the working sets of the solvers shrink the problem in any case.
    probability : bool, default="deprecated"
        scikit-learn's deprecated name: True means ``calibration="sigmoid"``.
    tol : float, default=1e-3
        Stop when the violation m(a) - M(a) is at most this (LIBSVM's rule).
    cache_size : float, default=200
        Megabytes for kernel values.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class.
    verbose : bool, default=False
        Print progress on standard error.
    max_iter : int, default=-1
        Largest number of solver steps for each problem, -1 for no limit but a generous internal one.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether one-vs-one decision values are given a class or a pair.
    break_ties : bool, default=False
        Decide equal votes by the confidences instead of by the order of the classes.
    random_state : int, RandomState or None, default=None
        For compatibility; the fit is deterministic.
    multiclass : {"ovo", "ovr", "crammer_singer"}, default="ovo"
        One-vs-one, one-vs-rest, or the joint machine of Crammer and Singer (which has no intercept).
    solver : {"auto", "active_set", "smo", "coordinate_descent", "barrier", "qp_dual"}, default="auto"
        The algorithm; ``report_`` says which was chosen and why. The joint machine has its own.
    fit_intercept : bool, default=True
        Without an intercept the dual loses its equality constraint.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    max_seconds : float or None, default=None
        Stop after this time with the best model so far.
    warm_start : bool, default=False
        Start from the last fit's solution, row by row wherever a training row is known from then.
    calibration : {None, "sigmoid", "isotonic", "temperature"}, default=None
        How decision values become probabilities: with Platt's sigmoid, any function that does not fall, or one factor.
        It is learnt from out-of-fold values, which takes less than the fit on most data; of large sets a
        part of the rows is judged (``calibration_.n_samples``). None means no ``predict_proba``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_ : array of shape (n_support,)
        Indices of the support vectors, class by class.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
    n_support_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_classes - 1, n_support)
        y_i alpha_i, in LIBSVM's layout for one-vs-one; one row a class for the other schemes.
    coef_ : array of shape (n_machines, n_features)
        Weights of the features; linear kernel only.
    intercept_ : array of shape (n_machines,)
    n_iter_ : array of shape (n_machines,)
    fit_status_ : int
        0 if converged, 1 if not.
    kernel_ : Kernel
        The kernel with its parameters resolved on the training data.
    report_ : FitReport
        What the fit did, and the certificate of its optimality.
    calibration_ : Calibration
        With ``calibration``: what was learnt, and how well it does on rows that were left out.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> X = [[-2.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [2.0, 0.0]]
    >>> y = ["left", "left", "right", "right"]
    >>> machine = SVC(kernel="linear", C=float("inf")).fit(X, y)
    >>> machine.predict([[3.0, 5.0]])
    array(['right'], dtype='<U5')
    >>> round(machine.report_.margin, 6)
    2.0
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multiclass: str = "ovo",
        solver: str = "auto",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        calibration: str | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multiclass = multiclass
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.calibration = calibration

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(
            "C",
            self.C,
            above=0,
            infinite=True,
            remedy="Without a price of slack nothing is learnt; C=inf is a hard margin.",
        )

    @property
    def _approximation(self) -> str | None:
        return None if math.isinf(self.C) else "NystroemSVC"

    def _poses_pairs(self) -> bool:
        return bool(self.fit_intercept) and math.isfinite(self.C)

    def _problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.c_svc(y, self.C * weight, fit_intercept=self.fit_intercept)

    def _bounds(self, weight: Array) -> Array:
        return np.where(weight > 0, self.C, 0.0) if math.isinf(self.C) else self.C * weight

    def _parameters(self) -> str:
        return f"C = {self.C:g}" + (" (hard margin)" if math.isinf(self.C) else "")


class NuSVC(KernelClassifier):
    """nu-support vector classification.

    ``nu`` takes the place of C: it bounds the share of margin errors from above and the share of support vectors from
    below. Sample and class weights scale both.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]; at most twice the share of the smaller class, in every pair of classes. A larger value is an error;
        only the default, and a value that is made infeasible by weights, are lowered to the largest feasible one with a
        warning.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose, max_iter, \
decision_function_shape, break_ties, random_state, solver, fit_intercept, n_jobs, max_seconds, warm_start, \
calibration
        As in :class:`SVC`.
    multiclass : {"ovo", "ovr"}, default="ovo"
        As in :class:`SVC`; the joint machine has no form with nu.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, kernel_, \
report_
        As in :class:`SVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVC(nu=0.1).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multiclass: str = "ovo",
        solver: str = "auto",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        calibration: str | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multiclass = multiclass
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.calibration = calibration

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("nu", self.nu, above=0, most=1)
        if self.multiclass == "crammer_singer":
            raise ValueError("multiclass='crammer_singer' has no form with nu: use SVC, or 'ovo' or 'ovr'.")

    def _problem(self, y: Array, weight: Array) -> DualProblem:
        nu = float(self.nu)
        largest = problems.largest_nu(y, weight) if self.fit_intercept else 1.0
        if nu > largest * (1 + 1e-12):
            cause = f"nu={nu:g} is more than twice the smaller class's share: at most {largest:.6g} is feasible"
            # A value that the class sizes allow, or that nobody chose, is lowered; any other is the caller's mistake.
            if nu > problems.largest_nu(y, np.ones(len(y))) and nu != NuSVC().nu:
                raise ValueError(f"specified nu is infeasible: {cause}. Lower nu, or weight the classes.")
            warnings.warn(f"{cause}, and is used instead.", UserWarning, stacklevel=callers_level())
        return problems.nu_svc(y, weight, min(nu, largest), fit_intercept=self.fit_intercept)

    def _bounds(self, weight: Array) -> Array:
        return weight

    def _settled(self, machine: Machine) -> Machine:
        """Where nu was lowered, all of the lighter class is at its bound, and every larger rho that keeps the heavier
        class's margin is optimal too. With a larger nu rho would grow without bound; it grows by as much as was asked
        too much, so that weights that rule out a class do so."""
        ratio = float(self.nu) / machine.problem.nu
        if not self.fit_intercept or ratio <= 1 + 1e-12:
            return machine
        positive, negative = (machine.problem.bound[machine.problem.target == side].sum() for side in (1, -1))
        side = 1.0 if positive > negative else -1.0
        on_margin = side * machine.third - machine.intercept  # f of the heavier class on its margin
        rho = ratio * machine.third
        return replace(machine, third=rho, intercept=side * rho - on_margin)

    def _scale(self, machine: Machine) -> float:
        """rho is the margin's value: divided by it, decision values have margin one, as those of SVC."""
        return 1.0 / machine.third if machine.third > 1e-150 else 1.0

    def _parameters(self) -> str:
        return f"nu = {self.nu:g}"
