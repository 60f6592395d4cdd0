"""The linear machine for rows on many computers: ``LinearSVC``."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from maxmargin import svm
from maxmargin.kernels import Linear
from maxmargin.large_scale.dask.hinges import HingeRounds
from maxmargin.large_scale.dask.linear_problems import LinearSetup, classes_of
from maxmargin.large_scale.dask.oracle import DaskRounds
from maxmargin.large_scale.dask.prediction import LazyPrediction
from maxmargin.large_scale.dask.shards import Traffic
from maxmargin.large_scale.dask.training import Moments, Training, training
from maxmargin.large_scale.losses import Loss
from maxmargin.large_scale.newton import Newton, NewtonSolution
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, callers_level, check_class_weights, check_number
from maxmargin.svm.linear.checks import check_linear_parameters
from maxmargin.svm.linear.report import LinearReport
from maxmargin.svm.report import combine

EXACT = 1e-13  # relative gap to which smooth losses are solved: Newton's last step is free


class LinearSVC(LazyPrediction, ClassifierMixin, Estimator):
    """Linear support vector classification of rows that lie on many computers.

    Minimises 1/2 |w|^2 + C sum_i loss(y_i (w'x_i + b)) as :class:`maxmargin.LinearSVC` does, and finds the same w: the
    rows stay on their workers, which answer a few dozen questions of Newton's method. The parameters are those of
    :class:`maxmargin.LinearSVC`, in the same order; what is not supported here raises an error that says what is.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    dual : {"auto", False}, default="auto"
        The primal problem is solved.
    tol : float, default=1e-4
        Stop when the relative duality gap is at most this. The squared hinge is solved to the last digits in any case,
        since Newton's last step costs next to nothing; the hinge ends at ``tol``.
    C : float, default=1.0
        Price of slack, > 0 and finite.
    multi_class : {"ovr"}, default="ovr"
    fit_intercept : bool, default=True
    intercept_scaling : float or None, default=None
        None leaves the intercept unpenalised. A number s adds 1/2 (b/s)^2 to the objective.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class; in one-vs-rest that of a class counts in its own machine only.
    verbose : int or bool, default=0
        Print progress on standard error.
    random_state : int, RandomState or None, default=None
        Without effect: nothing is drawn at random.
    max_iter : int, default=1000
        Largest number of Newton steps, -1 for no limit.
    solver : {"auto", "newton"}, default="auto"
        Newton's method in either case.
    n_jobs : int or None, default=None
        Threads of each worker; None means all it has.
    max_seconds : float or None, default=None
        Stop after this time with the best model so far.
    warm_start : bool, default=False
        Start from the last fit's weights, if it had the same classes and columns. The hinge gains little by it.
    calibration : None, default=None
        Probabilities are learnt from decision values afterwards, by scikit-learn's ``CalibratedClassifierCV`` on rows
        that were not used here.
    client : distributed.Client or None, default=None
        The cluster; None means the current client, or a small cluster in this process if there is none.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, n_features_in_, feature_names_in_, report_, history_
        As in :class:`maxmargin.LinearSVC`.
    traffic_ : Traffic
        Rounds, and bytes between client and workers.

    See Also
    --------
    maxmargin.LinearSVC : Rows in memory, or a stream of them (``fit_stream``).

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.large_scale.dask import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = LinearSVC().fit(da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50))
    >>> machine.coef_.shape
    (3, 4)
    >>> machine.to_local().score(X, y) > 0.9
    True
    """

    classes_: Array
    coef_: Array
    intercept_: Array
    report_: LinearReport

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        solver: Any = "auto",
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        calibration: str | None = None,
        client: Any = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.calibration = calibration
        self.client = client

    def _check_parameters(self) -> None:
        """Refuse what a cluster cannot do, then what LinearSVC cannot."""
        local = "use maxmargin.LinearSVC, for rows in memory"
        if self.penalty == "l1":
            raise ValueError(f"penalty='l1' is solved by columns, and dask's blocks hold rows: use 'l2', or {local}.")
        if self.multi_class == "crammer_singer":
            raise ValueError(f"multi_class='crammer_singer' is not supported on dask: use 'ovr', or {local}.")
        if self.calibration is not None:
            raise ValueError(
                f"calibration={self.calibration!r} is not supported on dask: fit without, and give "
                "sklearn.frozen.FrozenEstimator(machine.to_local()) to sklearn.calibration.CalibratedClassifierCV, "
                f"with other rows; or {local}."
            )
        check_number("C", self.C, above=0, remedy=f"A hard margin (C=inf) is not supported on dask: {local}.")
        check_linear_parameters(self)
        if self.dual is True or self.dual is np.True_:
            raise ValueError(
                f"dual=True asks for a solver of the dual problem, and on dask the primal one is solved: use 'auto' or "
                f"False, whose solution is the same, or {local}."
            )
        if not (isinstance(self.solver, str) and self.solver in ("auto", "newton")):
            raise ValueError(f"solver={self.solver!r} is not supported on dask: use 'auto' or 'newton', or {local}.")

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the machine to training data on the cluster.

        Parameters
        ----------
        X : dask array or dataframe, list of delayed blocks, or array-like, of shape (n_samples, n_features)
            Blocks may be arrays, tables or CSR matrices. Rows in memory are cut into blocks and sent to the workers.
        y : dask array or series, or array-like, of shape (n_samples,)
            Class labels: numbers, strings or booleans.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), default=None
            Weights; a weight of two is the same as giving the sample twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        control = Control.of(self)
        last = (self.classes_, self.coef_, self.intercept_) if self.warm_start and hasattr(self, "coef_") else None
        with control.catching_interrupts(), training(self, X, y, sample_weight, control) as data:
            self.classes_, totals = classes_of(data.summaries)
            self.class_weight_ = check_class_weights(
                self.class_weight, self.classes_, np.arange(len(self.classes_)), totals
            )
            effective = totals * self.class_weight_
            if not effective.any():
                raise ValueError("All samples have zero weight once class_weight is applied: there is nothing to fit.")
            self._present = effective > 0
            self._solve(data, totals, last, control)
        if not self.report_.status.converged:
            self._warn()
        return self

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[LinearSVC]:
        """Machines for several prices of slack, each started from the solution for the next smaller one.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; a collection that is not held on the workers (``X.persist()``) is computed for each C.
        Cs : array-like
            Values of C; the machines come in their order.

        Returns
        -------
        list of LinearSVC
            One fitted machine for each C, with the other parameters of this one, which itself stays as it is.

        Examples
        --------
        >>> import dask.array as da
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin.large_scale.dask import LinearSVC
        >>> X, y = (da.from_array(part, chunks=50) for part in load_iris(return_X_y=True))
        >>> [machine.C for machine in LinearSVC().path(X, y, [10.0, 0.1, 1.0])]
        [10.0, 0.1, 1.0]
        """
        prices = [float(C) for C in np.atleast_1d(np.asarray(Cs, dtype=np.float64))]
        if not prices:
            raise ValueError("Cs is empty: give at least one value of C.")
        machines: dict[float, LinearSVC] = {}
        fitted: dict[str, Array] = {}
        for C in sorted(set(prices)):
            machine = clone(self).set_params(C=C, warm_start=True)
            vars(machine).update(fitted)
            machines[C] = machine.fit(X, y, sample_weight)
            fitted = {name: getattr(machine, name) for name in ("classes_", "coef_", "intercept_")}
            machine.warm_start = self.warm_start
        return [machines[C] for C in prices]

    def _solve(self, data: Training, totals: Array, last: tuple[Array, Array, Array] | None, control: Control) -> None:
        """Solve, from the classes, weights and intercepts of the last fit if they are of any use."""
        setup = self._setup(data, totals)
        d, machines = data.width, 1 if len(self.classes_) == 2 else len(self.classes_)
        start: tuple[Array, Array] | None = None
        if last is not None and np.array_equal(last[0], self.classes_) and last[1].shape == (machines, d):
            start = setup.weights(last[1], last[2] if self.fit_intercept else np.zeros(machines))
        self.coef_, self.intercept_ = np.zeros((machines, d)), setup.constants.copy()
        self.traffic_ = Traffic()
        solution, missed = self._solution(data, setup, start, control)
        if solution is not None:
            at = setup.solved
            self.coef_[at], self.intercept_[at] = setup.function(solution.w, solution.b)
        self.n_iter_ = 0 if solution is None else solution.n_iter
        self._account(data, solution, missed, control)

    def _setup(self, data: Training, totals: Array) -> LinearSetup:
        """The problem, but for its rows: which classes have machines, and how the intercept is meant."""
        effective = totals * self.class_weight_
        if len(self.classes_) == 2:
            constants = np.array([float(self._present[1]) - float(self._present[0])])
            constants[self._present.all()] = 0.0
        else:  # the rest count without their class weights
            rest = totals.sum() - totals
            constants = (effective > 0).astype(float) - (rest > 0)
        penalised = self.fit_intercept and self.intercept_scaling is not None
        # Without an intercept there is nothing that makes up for a shift.
        free = self.fit_intercept and not penalised and not any(one.sparse for one in data.summaries)
        return LinearSetup(
            classes=self.classes_,
            class_weight=self.class_weight_,
            C=float(self.C),
            shift=Moments.of(data.summaries).far() if free else None,
            constant=float(self.intercept_scaling) if penalised else None,  # type: ignore[arg-type]
            solved=np.flatnonzero(constants == 0.0),
            constants=constants,
            n_jobs=self.n_jobs,
        )

    def _solution(
        self, data: Training, setup: LinearSetup, start: tuple[Array, Array] | None, control: Control
    ) -> tuple[NewtonSolution | None, tuple[float, int]]:
        """What Newton's method found, and how many rows are wrong; None where no class needs a machine."""
        shards = data.shards(setup, self.traffic_)
        columns, outputs = data.width + (setup.constant is not None), max(1, len(setup.solved))
        rounds = DaskRounds(shards, columns, outputs, kind=HingeRounds)
        if len(setup.solved) == 0:
            return None, (math.nan, data.n)
        loss = Loss.named(self.loss)
        tol = min(float(self.tol), EXACT) if loss.smooth else float(self.tol)
        free = bool(self.fit_intercept) and setup.constant is None
        newton = Newton(None, loss, intercept=free, tol=tol, control=control)
        with data.solving(control):
            solution = newton.solve(rounds, start)
        if max(one.relative_gap for one in solution.certificates) <= self.tol:
            solution = replace(solution, status=Status.OPTIMAL)
        missed = rounds.training_error() if control.stop() is None else (math.nan, data.n)
        return solution, missed

    def _account(
        self, data: Training, solution: NewtonSolution | None, missed: tuple[float, int], control: Control
    ) -> None:
        certificates = [] if solution is None else solution.certificates
        if solution is not None:
            self.history_ = solution.history
        workers, n_classes = self.traffic_.workers, len(self.classes_)
        kind = "penalised" if self.intercept_scaling is not None else "free intercept"
        kind = kind if self.fit_intercept else "no intercept"
        self.report_ = LinearReport(
            machine=f"LinearSVC, {n_classes} classes"
            + (f", one-vs-rest, {n_classes} machines" if n_classes > 2 else "")
            + f", on {workers} worker{'s' if workers != 1 else ''}",
            solver="none" if solution is None else f"newton, {solution.method}",
            solver_reason=f"one small question to all workers at a time, {self.traffic_.rounds} rounds",
            kernel=Linear(),
            parameters=f"C = {self.C:g}, {self.loss.replace('_', ' ')} loss, {kind}",
            status=Status.OPTIMAL if solution is None else solution.status,
            n_iter=self.n_iter_,
            kernel_evaluations=0,
            n_support=0 if solution is None else solution.support,
            n_samples=data.n,
            n_features=data.width,
            margins=np.array([2.0 / c.norm if c.norm > 0 else math.inf for c in certificates]),
            training_error=missed[0] / missed[1],
            error_name="training error",
            kernel_valid=True,
            tol=float(self.tol),
            seconds=control.seconds,
            dtype=data.dtype,
            threads=workers,
            **combine(list(certificates)),
        )

    def _warn(self) -> None:
        warnings.warn(
            f"LinearSVC did not converge ({self.report_.status.value}). The model is the best one so far: its "
            f"certified relative duality gap is {self.report_.relative_gap:.2e} (tol={self.tol:g}).",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )

    def decision_function(self, X: Any) -> Any:
        """Decision values of new points.

        Parameters
        ----------
        X : dask array or dataframe, or array-like or sparse matrix, of shape (n_samples, n_features)

        Returns
        -------
        decision : dask array, series or dataframe, or array, of shape (n_samples,) or (n_samples, n_classes)
            Two classes: one value, positive for ``classes_[1]``. More: a value a class.
        """
        return self._lazily(X, "decision_function")

    def to_local(self) -> svm.LinearSVC:
        """The same machine as an ordinary :class:`maxmargin.LinearSVC`, to be saved or used where there is no cluster.

        Returns
        -------
        machine : maxmargin.LinearSVC
            Fitted; it shares no memory with a cluster.

        Examples
        --------
        >>> import dask.array as da
        >>> from maxmargin.large_scale.dask import LinearSVC
        >>> X, y = da.from_array([[0.0], [1.0], [3.0]], chunks=2), da.from_array([0, 0, 1], chunks=2)
        >>> LinearSVC(C=10.0).fit(X, y).to_local()
        LinearSVC(C=10.0)
        """
        check_is_fitted(self)
        machine = svm.LinearSVC(
            **{name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        )
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") or name == "_present"}
        del fitted["traffic_"]
        machine.__dict__.update(fitted)
        return machine
