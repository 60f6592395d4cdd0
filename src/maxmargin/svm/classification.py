"""Support vector classification: ``SVC`` (by C) and ``NuSVC`` (by nu), for any number of classes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin

from maxmargin import optimality, problems
from maxmargin._control import Status
from maxmargin._parallel import effective_threads, single_threaded_blas
from maxmargin._validation import (
    Array,
    Points,
    callers_level,
    check_choice,
    check_class_weights,
    check_flag,
    check_labels,
    check_number,
    check_weights,
)
from maxmargin.gram import Gram
from maxmargin.multiclass import (
    Task,
    certain,
    one_vs_one,
    one_vs_rest,
    pairs,
    predict_codes,
    votes_with_confidence,
)
from maxmargin.problems import DualProblem, JointProblem
from maxmargin.solvers import CrammerSinger
from maxmargin.solvers.hulls import InseparableError
from maxmargin.svm.pipeline import KernelMachine, Machine, TrainingSet, gather
from maxmargin.tiled import ClassBlocks, TiledGram

SCHEMES = {"ovo": "one-vs-one", "ovr": "one-vs-rest", "crammer_singer": "joint (Crammer and Singer)"}


class KernelClassifier(ClassifierMixin, KernelMachine):
    """What ``SVC`` and ``NuSVC`` share; they differ in the problem of a task."""

    def _check_parameters(self) -> None:
        self._check_shared()
        check_flag("fit_intercept", self.fit_intercept)
        check_flag("break_ties", self.break_ties)
        check_choice("decision_function_shape", self.decision_function_shape, ["ovo", "ovr"])
        check_choice("multiclass", self.multiclass, SCHEMES)

    def _problem(self, y: Array, weight: Array) -> DualProblem:
        """The problem of one task; ``weight`` includes the class weights."""
        raise NotImplementedError

    def _parameters(self) -> str:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the machine to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training points; with ``kernel="precomputed"`` the kernel matrix of the training points.
        y : array-like of shape (n_samples,)
            Class labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of two is the same as giving the sample twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        X, y = self._training_points(X, y)
        self.classes_, codes = check_labels(y)
        weights = check_weights(sample_weight, X.shape[0])
        self.class_weight_ = check_class_weights(self.class_weight, self.classes_, codes, weights)
        n_classes = len(self.classes_)
        self._scheme = self.multiclass if n_classes > 2 or self.multiclass == "crammer_singer" else "ovo"
        data = self._prepare(X, codes, weights, pairs=self._scheme == "ovo" and n_classes > 2)
        effective = data.weight * self.class_weight_[data.target]
        if not effective.any():
            raise ValueError(
                "All samples have zero weight once class_weight is applied: there is nothing to fit. "
                "Give a class that has samples a positive weight."
            )
        self._present = np.bincount(data.target, weights=effective, minlength=n_classes) > 0
        with data.control.catching_interrupts(), single_threaded_blas():
            if self._scheme == "crammer_singer":
                self._fit_joint(X, codes, weights, data, effective)
            else:
                self._fit_tasks(X, codes, weights, data, effective)
        return self

    def _fit_tasks(self, X: Points, codes: Array, weights: Array, data: TrainingSet, effective: Array) -> None:
        """One-vs-one and one-vs-rest: independent binary problems over one operator."""
        active = np.flatnonzero(effective > 0)
        make = one_vs_one if self._scheme == "ovo" else one_vs_rest
        tasks = make(data.target[active], len(self.classes_))
        tasks = [Task(active[task.rows], task.y, task.constant) for task in tasks]
        solved = [t for t, task in enumerate(tasks) if task.constant is None]
        intercept = np.array([0.0 if task.constant is None else task.constant for task in tasks])
        gram_of = self._share_class_blocks(data, active, tasks, solved)
        posed = [(tasks[t].rows, self._problem(tasks[t].y, effective[tasks[t].rows])) for t in solved]
        machines = [self._settled(machine) for machine in self._solve(data, posed, gram_of)]
        scale = np.array([self._scale(machine) for machine in machines])
        used, coefficients = gather(machines, len(tasks), solved, scale)
        intercept[solved] = [factor * m.intercept for factor, m in zip(scale, machines, strict=True)]
        self._remember(data, machines)
        self._publish_classifier(X, codes, weights, data, used, coefficients, intercept)
        iterations = np.zeros(len(tasks), np.int32)
        iterations[solved] = [machine.solution.n_iter for machine in machines]
        self.n_iter_ = iterations
        self._report(data, machines, self._training_codes(data, machines, solved), codes)

    def _share_class_blocks(
        self, data: TrainingSet, active: Array, tasks: list[Task], solved: list[int]
    ) -> Callable[[int], Gram] | None:
        """One-vs-one: compute K of each class with itself once for all its pairs, if the memory allows it. The rows of
        the tasks are then class by class."""
        codes = data.target[active]
        if self._scheme != "ovo" or len(self.classes_) == 2 or not isinstance(data.gram, TiledGram):
            return None
        if ClassBlocks.bytes_needed(codes, data.threads) > data.gram.budget:
            return None
        of_row = np.full(data.gram.n, -1)
        of_row[active] = codes
        blocks = ClassBlocks(data.gram, of_row, len(self.classes_))
        of_task = pairs(len(self.classes_))
        for t in solved:
            i, j = of_task[t]
            rows = np.concatenate((blocks.members[i], blocks.members[j]))
            tasks[t] = Task(rows, np.where(of_row[rows] == i, 1.0, -1.0))
        return lambda k: blocks.pair(*of_task[solved[k]])

    def _settled(self, machine: Machine) -> Machine:
        """The machine with its intercept settled where optimality leaves a choice."""
        return machine

    def _scale(self, machine: Machine) -> float:
        """Factor from the dual's variables to decision values with margin one."""
        return 1.0

    def _training_codes(self, data: TrainingSet, machines: Sequence[Machine], solved: Sequence[int]) -> Array:
        """Predicted class of every canonical row, mostly from values that the certificates needed anyway.

        One-vs-one: a row that its own class wins in all of its own class's machines has the most votes there are, so
        only the others need the machines that were not trained on them."""
        if len(machines) == 0:
            doubtful = np.arange(data.gram.n)
            predicted = data.target.copy()
        elif self._scheme == "ovr" or len(self.classes_) == 2:
            covered = machines[0].rows
            decision = np.tile(self.intercept_, (len(covered), 1))
            decision[:, solved] += np.column_stack([self._scale(m) * m.f for m in machines])
            predicted = data.target.copy()
            predicted[covered] = self._codes(decision)
            doubtful = np.setdiff1d(np.arange(data.gram.n), covered)
        else:
            lost = ~self._present[data.target]
            for machine in machines:
                value = machine.f + machine.intercept
                lost[machine.rows[(value > 0) != (machine.problem.target > 0)]] = True
            predicted = data.target.copy()
            doubtful = np.flatnonzero(lost)
        if len(doubtful):
            points = data.X[data.rows.representative[doubtful]] if self._is_precomputed() else data.X[doubtful]
            predicted[doubtful] = self._codes(self._expansion.decision(points, data.threads))
        return predicted

    def _fit_joint(self, X: Points, codes: Array, weights: Array, data: TrainingSet, effective: Array) -> None:
        """The joint machine: one problem for all classes."""
        if not np.all(effective > 0):
            active = np.flatnonzero(effective > 0)
            gram = data.gram.subset(active)
        else:
            active, gram = np.arange(data.gram.n), data.gram
        problem = JointProblem(data.target[active], self._joint_bound(effective[active]), len(self.classes_))
        start = None
        last = getattr(self, "_last_fit", None) if self.warm_start else None
        if last is not None and last.get("shape") == (len(active), problem.n_classes):
            start = last["joint"]
        solution = CrammerSinger().solve(problem, gram, tol=self.tol, control=data.control, start=start)
        F = gram.product(np.arange(gram.n), solution.a)
        certificate = optimality.certify_joint(problem, solution.a, F)
        if problem.hard_margin and solution.status is Status.INSEPARABLE:
            raise InseparableError(
                "C=inf asks for a hard margin, but the classes cannot be separated jointly with this kernel. "
                "Use a finite C, or another kernel."
            )
        nonzero = np.flatnonzero(solution.a.any(axis=1))
        predicted = data.target.copy()
        predicted[active] = np.where(self._present, F, -np.inf).argmax(axis=1)
        self._last_fit: Any = {"shape": solution.a.shape, "joint": solution.a} if self.warm_start else None
        self._evaluations = data.gram.evaluations + (0 if gram is data.gram else gram.evaluations)
        self._solver_name, self._solver_reason = CrammerSinger.name, "the joint machine is one problem over all classes"
        no_intercept = np.zeros(problem.n_classes)
        self._publish_classifier(X, codes, weights, data, active[nonzero], solution.a[nonzero], no_intercept)
        self.n_iter_ = np.array([solution.n_iter], np.int32)
        machine = Machine(active, None, solution, certificate, F, 0.0, 0.0)  # type: ignore[arg-type]
        self._report(data, [machine], predicted, codes)

    def _joint_bound(self, weight: Array) -> Array:
        raise NotImplementedError

    def _publish_classifier(
        self,
        X: Points,
        codes: Array,
        weights: Array,
        data: TrainingSet,
        used: Array,
        coefficients: Array,
        intercept: Array,
    ) -> None:
        """scikit-learn's attributes; for one-vs-one, dual_coef_ in LIBSVM's layout of k - 1 rows."""
        listed = self._publish(X, data, used, coefficients, intercept, weights, order_by=codes)
        n_classes = len(self.classes_)
        of_class = codes[self.support_]
        self._n_support = np.bincount(of_class, minlength=n_classes)
        if self._scheme == "ovo" and n_classes > 2:
            dual = np.zeros((n_classes - 1, len(self.support_)))
            for column, (i, j) in enumerate(pairs(n_classes)):
                dual[j - 1, of_class == i] = listed[of_class == i, column]
                dual[i, of_class == j] = listed[of_class == j, column]
        else:
            dual = listed.T.copy()
        self.dual_coef_ = sp.csr_matrix(dual) if self._sparse else dual
        self.intercept_ = intercept

    def _report(self, data: TrainingSet, machines: Sequence[Machine], predicted: Array, codes: Array) -> None:
        used = data.rows.member_of >= 0
        wrong = float(np.mean(predicted[data.rows.member_of[used]] != codes[used]))
        name = type(self).__name__
        many = f", {SCHEMES[self._scheme]}, {len(self.intercept_)} machines" if len(self.classes_) > 2 else ""
        self._finish(
            data,
            machines,
            machine=f"{name}, {len(self.classes_)} classes{many}",
            parameters=self._parameters(),
            training_error=wrong,
        )

    def _codes(self, decision: Array) -> Array:
        if decision.shape[1] == 1:
            present = np.flatnonzero(self._present)
            codes = predict_codes(decision.ravel(), self._scheme, self._present)
            return codes if len(present) == 2 else np.full(len(decision), present[0])
        return predict_codes(decision, self._scheme, self._present)

    def decision_function(self, X: Any) -> Array:
        """Decision values of new points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        decision : array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: one value, positive for ``classes_[1]``. More: a value a class, or with one-vs-one and
            ``decision_function_shape="ovo"`` a value a pair.
        """
        decision = self._decision(self._new_points(X))
        if decision.shape[1] == 1:
            return decision.ravel()
        if self._scheme == "crammer_singer" and len(self.classes_) == 2:
            return decision[:, 1] - decision[:, 0]
        if self._scheme == "ovo" and self.decision_function_shape == "ovr":
            return votes_with_confidence(decision, self._present)
        if self._scheme != "ovo":
            if self.decision_function_shape == "ovo":
                raise ValueError(
                    f"decision_function_shape='ovo' needs one value a pair, which multiclass={self.multiclass!r} does "
                    "not have: use decision_function_shape='ovr'."
                )
            return np.where(self._present, decision, -np.inf)
        return decision

    def predict(self, X: Any) -> Array:
        """Labels of new points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        X = self._new_points(X)
        rough = self._expansion.rough_decision(X, effective_threads(self.n_jobs))
        if rough is None:
            return self.classes_[self._label(self._decision(X))]
        codes = self._label(rough[0])
        doubtful = np.flatnonzero(~certain(*rough, codes, self._scheme))
        if len(doubtful):
            codes[doubtful] = self._label(self._decision(X[doubtful]))
        return self.classes_[codes]

    def _label(self, decision: Array) -> Array:
        """Class codes, with ties broken as asked for."""
        if self._scheme == "ovo" and self.break_ties and len(self.classes_) > 2:
            return votes_with_confidence(decision, self._present).argmax(axis=1)
        return self._codes(decision)


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
    solver : {"auto", "smo", "coordinate_descent", "qp"}, default="auto"
        The algorithm; ``report_`` says which was chosen and why. The joint machine has its own.
    fit_intercept : bool, default=True
        Without an intercept the dual loses its equality constraint.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    max_seconds : float or None, default=None
        Stop after this time with the best model so far.
    warm_start : bool, default=False
        Start from the last fit's solution, row by row wherever a training row is known from then.

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
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(
            "C",
            self.C,
            above=0,
            infinite=True,
            remedy="Without a price of slack nothing is learnt; C=inf is a hard margin.",
        )

    def _problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.c_svc(y, self.C * weight, fit_intercept=self.fit_intercept)

    def _joint_bound(self, weight: Array) -> Array:
        return self.C * weight

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
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, class_weight, verbose, max_iter, \
decision_function_shape, break_ties, random_state, solver, fit_intercept, n_jobs, max_seconds, warm_start
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
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
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
