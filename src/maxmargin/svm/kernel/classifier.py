"""What the classifiers share: from labels to binary tasks, one joint problem, or many; and back to labels.

A classifier says what the problem of a task is, and what its parameters are."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin

from maxmargin.kernels.gram.operator import Gram, StoredGram
from maxmargin.kernels.gram.shared import ClassBlocks
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem, JointProblem
from maxmargin.problems.verification import settled, verified_joint
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.control import Status
from maxmargin.runtime.threads import effective_threads, single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_choice,
    check_class_weights,
    check_flag,
    check_labels,
    check_weights,
)
from maxmargin.solvers import CrammerSinger
from maxmargin.solvers.hulls import InseparableError
from maxmargin.svm.kernel.coefficients import Machine, gather
from maxmargin.svm.kernel.pipeline import KernelMachine, identity_of, known_rows
from maxmargin.svm.kernel.probabilities import ProbabilityMixin
from maxmargin.svm.kernel.training import TrainingSet
from maxmargin.svm.models.multiclass import (
    Task,
    certain,
    one_vs_one,
    one_vs_rest,
    pairs,
    predict_codes,
    votes_with_confidence,
)

PATIENT = 1e8  # multiplications that a fit may do after it was asked to stop
SCHEMES = {"ovo": "one-vs-one", "ovr": "one-vs-rest", "crammer_singer": "joint (Crammer and Singer)"}


class KernelClassifier(ProbabilityMixin, ClassifierMixin, KernelMachine, abc.ABC):
    """What ``SVC`` and ``NuSVC`` share; they differ in the problem of a task."""

    def _check_parameters(self) -> None:
        self._check_shared()
        self._check_calibration()
        check_flag("fit_intercept", self.fit_intercept)
        check_flag("break_ties", self.break_ties)
        check_choice("decision_function_shape", self.decision_function_shape, ["ovo", "ovr"])
        check_choice("multiclass", self.multiclass, SCHEMES)
        if self.multiclass == "crammer_singer" and self.solver != "auto":
            raise ValueError(
                f"solver={self.solver!r} solves binary problems; multiclass='crammer_singer' is one joint problem and "
                "has its own solver: use solver='auto'."
            )

    @abc.abstractmethod
    def _problem(self, y: Array, weight: Array) -> DualProblem:
        """The problem of one task; ``weight`` includes the class weights."""

    @abc.abstractmethod
    def _parameters(self) -> str:
        """C, nu: what the machine has, in words."""

    @all_or_nothing
    @with_callbacks
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
        X, y = self._training_points(X, y, supervised=True)
        self.classes_, codes = check_labels(y)
        weights = check_weights(sample_weight, X.shape[0])
        self.class_weight_ = check_class_weights(self.class_weight, self.classes_, codes, weights)
        self._foretell(X, y, weights, "accuracy")
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
        used, coefficients, filled = gather(machines, len(tasks), solved, scale)
        factors = np.ones(len(tasks))
        factors[solved] = scale
        intercept[solved] = [factor * m.intercept for factor, m in zip(scale, machines, strict=True)]
        self._remember(data, machines)
        bounds = np.outer(self._bounds(weights * self.class_weight_[codes]), factors)
        self._publish_classifier(X, codes, weights, data, used, coefficients, filled, intercept, bounds)
        iterations = np.zeros(len(tasks), np.int32)
        iterations[solved] = [machine.solution.n_iter for machine in machines]
        self.n_iter_ = iterations
        self._calibrate(data, machines, solved, len(tasks), gram_of)
        self._report(data, machines, self._training_codes(data, machines, solved, used, coefficients), codes)

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

    def _training_codes(
        self, data: TrainingSet, machines: Sequence[Machine], solved: Sequence[int], used: Array, coefficients: Array
    ) -> Array | None:
        """Predicted class of every canonical row, mostly from values that the certificates needed anyway; None if that
        would take long and the fit was asked to stop.

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
        if len(doubtful) and isinstance(data.gram, StoredGram):
            decision = data.gram.product(used, coefficients, doubtful) + self.intercept_
            predicted[doubtful] = self._codes(decision)
        elif len(doubtful) * len(used) * data.X.shape[-1] > PATIENT and data.control.stop() is not None:
            return None
        elif len(doubtful):
            predicted[doubtful] = self._codes(self._expansion.decision(data.X[doubtful], data.threads))
        return predicted

    def _fit_joint(self, X: Points, codes: Array, weights: Array, data: TrainingSet, effective: Array) -> None:
        """The joint machine: one problem for all classes."""
        if not np.all(effective > 0):
            active = np.flatnonzero(effective > 0)
            gram = data.gram.subset(active)
        else:
            active, gram = np.arange(data.gram.n), data.gram
        problem = JointProblem(data.target[active], self._bounds(effective[active]), len(self.classes_))
        start = None
        last = getattr(self, "_last_fit", None) if self.warm_start else None
        identity = identity_of(data)[active]
        if last is not None and "joint" in last and last["joint"].shape[1] == problem.n_classes:
            known, found = known_rows(last["identity"], identity)
            start = np.zeros((len(active), problem.n_classes))
            start[found] = last["joint"][known[found]]
        control = data.control.of_one()
        solution = CrammerSinger().solve(problem, gram, tol=self.tol, control=control, start=start)
        F = verified_joint(
            problem, solution.a, gram.product(np.arange(gram.n), solution.a), data.defined_values(active)
        )
        certificate = optimality.certify_joint(problem, solution.a, F)
        status = settled(solution.status, certificate, np.inf, self.tol)
        solution = replace(solution, status=status)
        if problem.hard_margin and solution.status is Status.INSEPARABLE:
            raise InseparableError(
                "C=inf asks for a hard margin, but the classes cannot be separated jointly with this kernel. "
                "Use a finite C, or another kernel."
            )
        nonzero = np.flatnonzero(solution.a.any(axis=1))
        predicted = data.target.copy()
        predicted[active] = np.where(self._present, F, -np.inf).argmax(axis=1)
        self._last_fit: Any = {"identity": identity, "joint": solution.a} if self.warm_start else None
        self._evaluations = data.gram.evaluations + (0 if gram is data.gram else gram.evaluations)
        self._solver_name, self._solver_reason = CrammerSinger.name, "the joint machine is one problem over all classes"
        no_intercept = np.zeros(problem.n_classes)
        A, bound = solution.a[nonzero], problem.bound[nonzero]
        filled = (A[np.arange(len(A)), problem.label[nonzero]] / bound)[:, None]
        bounds = np.full((len(codes), problem.n_classes), np.nan)
        self._publish_classifier(X, codes, weights, data, active[nonzero], A, filled, no_intercept, bounds)
        self.n_iter_ = np.array([solution.n_iter], np.int32)
        self._calibrate_joint(data, problem, solution.a, F, gram, active)
        machine = Machine(active, None, solution, certificate, F, 0.0, 0.0, control.seen)  # type: ignore[arg-type]
        self._report(data, [machine], predicted, codes)

    @abc.abstractmethod
    def _bounds(self, weight: Array) -> Array:
        """The bounds of rows of these weights."""

    def _publish_classifier(
        self,
        X: Points,
        codes: Array,
        weights: Array,
        data: TrainingSet,
        used: Array,
        coefficients: Array,
        filled: Array,
        intercept: Array,
        bounds: Array,
    ) -> None:
        """scikit-learn's attributes; for one-vs-one, dual_coef_ in LIBSVM's layout of k - 1 rows."""
        listed = self._publish(X, data, used, coefficients, filled, intercept, weights, bounds, order_by=codes)
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

    def _report(self, data: TrainingSet, machines: Sequence[Machine], predicted: Array | None, codes: Array) -> None:
        used = data.rows.member_of >= 0
        wrong = math.nan if predicted is None else float(np.mean(predicted[data.rows.member_of[used]] != codes[used]))
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
