"""Linear support vector classification for rows on many computers: ``LinearSVC``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from maxmargin import svm
from maxmargin.kernels import Linear
from maxmargin.large_scale.dask.estimator import DASK_ENTRIES, ClusterClassifier, with_client
from maxmargin.large_scale.dask.oracle import DaskOracle
from maxmargin.large_scale.dask.problems import HingeOracle, LinearSetup, classes_of
from maxmargin.large_scale.dask.shards import Traffic
from maxmargin.large_scale.dask.training import Moments, Training, counted_workers, training
from maxmargin.large_scale.newton import NewtonSolution, RowNewton
from maxmargin.large_scale.report import SolvedRows
from maxmargin.problems.losses import make_loss
from maxmargin.runtime.class_weights import check_class_weights
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.history import History
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_number
from maxmargin.solvers.newton import Newton
from maxmargin.svm.linear.coef_bounds import has_bounds
from maxmargin.svm.linear.fit import LinearReport, fit_path
from maxmargin.svm.linear.parameters import check_linear_parameters, describe_intercept, intercept_of
from maxmargin.svm.report import SolverUsed, report_fit

SQUARED_TOL = 1e-13  # relative gap to which squared losses are solved: Newton's last step is free


@documented(DASK_ENTRIES)
@with_client(svm.LinearSVC, "maxmargin.LinearSVC")
class LinearSVC(ClusterClassifier, ClassifierMixin, Estimator):  # the mixin before the base, for its tags
    """Linear support vector classification of rows on a Dask cluster.

    Minimises 1/2 |w|^2 + C sum_i loss(y_i (w'x_i + b)) like :class:`maxmargin.LinearSVC`, and finds the same w. The
    rows stay on their workers; Newton's method takes a few dozen map-reduce steps. The parameters are those of
    :class:`maxmargin.LinearSVC`. The following raise an error that names the alternative: ``penalty="l1"``,
    ``multi_class="crammer_singer"``, ``dual=True``, solvers other than ``"newton"``, a hard margin, ``monotonic_cst``,
    ``coef_bounds``, and ``calibration``. For probabilities, use scikit-learn's ``CalibratedClassifierCV`` on held-out
    rows. ``n_jobs`` is the number of threads per worker. The fit is deterministic. With the squared hinge loss the
    solution is accurate to machine precision, because the last Newton step is cheap; with the hinge loss it is accurate
    to ``tol``.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.large_scale.dask import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50))
    >>> model.coef_.shape
    (3, 4)
    >>> model.to_local().score(X, y) > 0.9
    True
    """

    classes_: Array
    coef_: Array
    intercept_: Array
    report_: LinearReport

    def _check_parameters(self) -> None:
        """Refuse what a cluster cannot do, then what LinearSVC cannot."""
        local = "use maxmargin.LinearSVC, for rows in memory"
        if self.penalty == "l1":
            raise ValueError(f"penalty='l1' is solved by columns, and dask's blocks hold rows: use 'l2', or {local}.")
        if self.multi_class == "crammer_singer":
            raise ValueError(f"multi_class='crammer_singer' is not supported on dask: use 'ovr', or {local}.")
        if has_bounds(self):
            raise ValueError("monotonic_cst and coef_bounds are not supported on dask: use maxmargin.LinearSVC.")
        if self.calibration is not None:
            raise ValueError(
                f"calibration={self.calibration!r} is not supported on dask: fit without, and give "
                "sklearn.frozen.FrozenEstimator(model.to_local()) to sklearn.calibration.CalibratedClassifierCV, "
                f"with other rows; or {local}."
            )
        check_number("C", self.C, above=0, remedy=f"A hard margin (C=inf) is not supported on dask: {local}.")
        check_linear_parameters(self)
        if self.dual is True or self.dual is np.True_:
            raise ValueError(
                f"dual=True asks for a solver of the dual problem, and on dask the primal one is solved: use 'auto' or "
                f"False, whose solution is the same, or {local}."
            )
        if not (isinstance(self.solver, str) and self.solver in ("auto", Newton.name)):
            raise ValueError(
                f"solver={self.solver!r} is not supported on dask: use 'auto' or {Newton.name!r}, or {local}."
            )

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the model to training data on the cluster.

        {X, y, sample_weight -> self}
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
        return self

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[LinearSVC]:
        """Fit models for several values of C, each with a warm start from the next smaller one.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; a collection that is not kept on the workers (``X.persist()``) is recomputed for each C.
        Cs : array-like
            Values of C; the models are returned in this order.

        Returns
        -------
        list of LinearSVC
            One fitted model per C, with the other parameters of this estimator. The estimator itself is not modified.

        Examples
        --------
        >>> import dask.array as da
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin.large_scale.dask import LinearSVC
        >>> X, y = (da.from_array(part, chunks=50) for part in load_iris(return_X_y=True))
        >>> [model.C for model in LinearSVC().path(X, y, [10.0, 0.1, 1.0])]
        [10.0, 0.1, 1.0]
        """
        return fit_path(self, Cs, (X, y, sample_weight), ["classes_", "coef_", "intercept_"])

    def _solve(self, data: Training, totals: Array, last: tuple[Array, Array, Array] | None, control: Control) -> None:
        """Solve, from the classes, weights and intercepts of the last fit if they are of any use."""
        setup = self._setup(data, totals)
        d, outputs = data.width, 1 if len(self.classes_) == 2 else len(self.classes_)
        start: tuple[Array, Array] | None = None
        if last is not None:
            classes, coef, intercept = last
            if np.array_equal(classes, self.classes_) and coef.shape == (outputs, d):
                start = setup.weights(coef, intercept if self.fit_intercept else np.zeros(outputs))
        self.coef_, self.intercept_ = np.zeros((outputs, d)), setup.constants.copy()
        self.traffic_ = Traffic()
        solution, missed = self._solution(data, setup, start, control)
        if solution is not None:
            at = setup.solved
            self.coef_[at], self.intercept_[at] = setup.function(solution.w, solution.b)
        self.n_iter_ = 0 if solution is None else solution.n_iter
        self._report(data, solution, missed, control)

    def _setup(self, data: Training, totals: Array) -> LinearSetup:
        """The problem, but for its rows: which classes have binary problems, and how the intercept is meant."""
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
            constant=float(self.intercept_scaling) if penalised else None,
            solved=np.flatnonzero(constants == 0.0),
            constants=constants,
            n_jobs=self.n_jobs,
        )

    def _solution(
        self, data: Training, setup: LinearSetup, start: tuple[Array, Array] | None, control: Control
    ) -> tuple[NewtonSolution | None, tuple[float, int]]:
        """What Newton's method found, and how many rows are wrong; None where no class needs a binary problem."""
        shards = data.shards(setup, self.traffic_)
        columns, outputs = data.width + (setup.constant is not None), max(1, len(setup.solved))
        oracle = DaskOracle(shards, columns, outputs, kind=HingeOracle)
        if len(setup.solved) == 0:
            return None, (math.nan, data.n)
        loss = make_loss(self.loss)
        tol = min(float(self.tol), SQUARED_TOL) if loss.squared else float(self.tol)
        free = bool(self.fit_intercept) and setup.constant is None
        newton = RowNewton(None, loss, intercept=free, tol=tol, control=control)
        with data.solving(control):
            solution = newton.solve(oracle, start)
        if max(one.relative_gap for one in solution.certificates) <= self.tol:
            solution = replace(solution, status=Status.OPTIMAL)
        missed = oracle.training_error() if control.stop() is None else (math.nan, data.n)
        return solution, missed

    def _report(
        self, data: Training, solution: NewtonSolution | None, missed: tuple[float, int], control: Control
    ) -> None:
        n_classes = len(self.classes_)
        several = f", one-vs-rest, {n_classes} binary problems" if n_classes > 2 else ""
        intercept = describe_intercept(*intercept_of(self))
        parameters = f"C = {self.C:g}, {self.loss.replace('_', ' ')} loss, {intercept}"
        solver = "none" if solution is None else f"{Newton.name}, {solution.method}"
        solved = SolvedRows(
            kernel=Linear(),
            control=control,
            threads=self.traffic_.workers,
            input_shape=(data.n, data.width),
            dtype=data.dtype,
            status=Status.OPTIMAL if solution is None else solution.status,
            solver=SolverUsed(solver, counted_workers(self.traffic_)),
            n_iter=self.n_iter_,
            certificates=[] if solution is None else solution.certificates,
            history=History() if solution is None else solution.history,
        )
        report_fit(
            self,
            solved,
            solved,
            None,
            model=f"LinearSVC, {n_classes} classes{several}",
            parameters=lambda: parameters,
            training_error=lambda: missed[0] / missed[1],
            n_support=lambda: 0 if solution is None else solution.support,
            kind=LinearReport,
        )
