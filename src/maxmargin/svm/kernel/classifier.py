"""What the classifiers share: from labels to binary tasks, one joint problem, or many; and back to labels.

A classifier says what the problem of a task is, and what its parameters are."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin

from maxmargin.kernels.gram.operator import Gram
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
    check_weighted_classes,
    check_weights,
)
from maxmargin.solvers import CrammerSinger
from maxmargin.solvers.hulls import InseparableError
from maxmargin.svm.compatibility import PlattAttributes, calibration_of, check_probability, check_unaltered
from maxmargin.svm.kernel.batch import Solved, pairs_of_classes
from maxmargin.svm.kernel.coefficients import Machine, divided, gather
from maxmargin.svm.kernel.outcome import FitOutcome
from maxmargin.svm.kernel.pipeline import KernelMachine, identity_of, known_rows
from maxmargin.svm.kernel.probabilities import ProbabilityMixin
from maxmargin.svm.kernel.solving import SolverUsed, models_of, solve_classes, solve_subproblems
from maxmargin.svm.kernel.training import TrainingSet
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import (
    Task,
    certain,
    one_vs_one,
    one_vs_rest,
    pairs,
    predict_codes,
    task_of_pair,
    votes_with_confidence,
)

STOPPED_MAX_PRODUCTS = 1e8  # multiplications that a fit may still do after it was asked to stop: about 0.1 s
SCHEMES = {"ovo": "one-vs-one", "ovr": "one-vs-rest", "crammer_singer": "joint (Crammer and Singer)"}


@dataclass(frozen=True)
class InputRows:
    """The user's rows: validated points, class codes and sample weights."""

    X: Points
    codes: Array
    weights: Array


class KernelClassifier(PlattAttributes, ProbabilityMixin, ClassifierMixin, KernelMachine, abc.ABC):
    """What ``SVC`` and ``NuSVC`` share; they differ in the problem of a task."""

    def _check_parameters(self) -> None:
        self._check_shared()
        self._check_calibration()
        check_probability(self)
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
        check_weighted_classes(self.classes_, codes, weights, sample_weight)
        self.class_weight_ = check_class_weights(self.class_weight, self.classes_, codes, weights)
        self._forecast(X, y, weights, "accuracy")
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
        given = InputRows(X, codes, weights)
        if self._scheme == "crammer_singer":
            with data.control.catching_interrupts():
                self._fit_joint(given, data, effective)
        elif not self._fit_batch(given, data, effective):
            with data.control.catching_interrupts():
                self._fit_tasks(given, data, effective)
        return self

    # ------------------------------------------------------------ pairs of classes in one compiled call

    def _poses_pairs(self) -> bool:
        """Whether tasks are C-SVC with an intercept and a finite C, so that all pairs can be posed at once."""
        return False

    def _fit_batch(self, given: InputRows, data: TrainingSet, effective: Array) -> bool:
        """One-vs-one as one batch; False where it must be fitted task by task."""
        n_classes, present = len(self.classes_), np.flatnonzero(self._present)
        if self._scheme != "ovo" or self.solver != "auto" or self.warm_start or not self._poses_pairs():
            return False
        if len(present) < 2 or (self.max_seconds is not None and data.control.stop() is not None):
            return False
        active = np.flatnonzero(effective > 0)
        posed = pairs_of_classes(data.target[active], self._bounds(effective[active]), n_classes)
        if len(active) < data.n:
            posed = replace(posed, order=active[posed.order])
        found = solve_classes(data, self._method(), posed)
        if found is None:
            return False
        solved, status, used = found
        self.__dict__.pop("_last_fit", None)
        self.__dict__.pop("calibration_", None)
        intercept, tasks = solved.intercept, np.arange(posed.n_problems)
        iterations = solved.steps.astype(np.int32)
        if len(present) < n_classes:  # a class without rows loses against every other
            tasks = task_of_pair(present[posed.runs], n_classes)
            there = self._present.astype(np.float64)
            first, second = np.triu_indices(n_classes, 1)
            intercept, iterations = there[first] - there[second], np.zeros(len(first), np.int32)
            intercept[tasks], iterations[tasks] = solved.intercept, solved.steps
        self.n_iter_ = iterations
        n_used = self._publish_pairs(given, data, solved, present, intercept)
        if calibration_of(self) is not None:
            with data.control.catching_interrupts(), single_threaded_blas():
                evaluations = self._calibrate(data, models_of(solved), tasks.tolist(), len(intercept), None)
            used = replace(used, evaluations=used.evaluations + evaluations)
        value = solved.f + np.repeat(solved.intercept, np.diff(posed.at))
        lost = ~self._present[data.target]
        lost[posed.order[posed.place[(value > 0) != (posed.target > 0)]]] = True
        predicted: Callable[[], Array] | None
        if n_classes == 2:
            target = data.target
            predicted = lambda: np.where(lost, 1 - target, target)  # noqa: E731
        else:
            predicted = self._predicted_later(data, np.flatnonzero(lost), n_used)
        self._report(data, FitOutcome.of_batch(solved, status), used, given.codes, predicted)
        return True

    def _publish_pairs(
        self, given: InputRows, data: TrainingSet, solved: Solved, present: Array, intercept: Array
    ) -> int:
        """scikit-learn's attributes from the variables of all pairs, in LIBSVM's layout; the number of support
        vectors."""
        posed, n_classes, n = solved.posed, len(self.classes_), data.n
        rows = posed.order[posed.place]
        layout = np.zeros((n_classes - 1, n))
        if n_classes == 2:
            layout[0, rows] = solved.a
            used = np.flatnonzero(layout[0])
        else:  # class i is listed against j in row j - 1, class j against i in row i
            lengths = np.diff(posed.start)[posed.runs.ravel()]
            other = (present[posed.runs[:, ::-1]] - np.array([1, 0])).ravel()
            layout[np.repeat(other, lengths), rows] = solved.a
            used = np.flatnonzero(layout.any(axis=0))
        if data.merged:
            dual, filled = layout[:, used].T, np.zeros((len(used), n_classes - 1))
            bound = np.zeros(n)
            bound[rows] = posed.upper - posed.lower
            np.divide(np.abs(dual), bound[used][:, None], out=filled, where=bound[used][:, None] > 0)
            bounds = self._bounds(given.weights * self.class_weight_[given.codes])
            bounds = np.repeat(bounds[:, None], n_classes - 1, axis=1)
            support, listed = divided(data, used, dual, filled, given.weights, bounds)
            order = np.argsort(given.codes[support], kind="stable")
        else:
            support = data.rows.representative[used]
            order, listed = np.lexsort((support, given.codes[support])), layout[:, used].T
        support, dual = support[order], np.ascontiguousarray(listed[order].T)
        counts = np.bincount(given.codes[support], minlength=n_classes)
        self._publish_support(given.X, data.kernel, support)
        self._n_support, self.intercept_ = counts, intercept
        self.dual_coef_ = sp.csr_matrix(dual) if self._sparse else dual
        if len(support) == len(used):
            anchors = self._anchors(given.X, data, support)
        else:
            used = used[np.argsort(data.target[used], kind="stable")]
            counts = np.bincount(data.target[used], minlength=n_classes)
            at = data.rows.representative[used]
            anchors, dual = at if self._is_precomputed() else data.X[used], layout[:, used]
        if n_classes == 2:
            self._expansion = KernelExpansion(data.kernel, anchors, dual.T.copy(), intercept)
        else:
            self._expansion = KernelExpansion.of_pairs(data.kernel, anchors, dual.copy(), counts, intercept)
        return len(used)

    # ------------------------------------------------------------ task by task

    def _fit_tasks(self, given: InputRows, data: TrainingSet, effective: Array) -> None:
        """One-vs-one and one-vs-rest: independent binary problems over one operator."""
        active = np.flatnonzero(effective > 0)
        make = one_vs_one if self._scheme == "ovo" else one_vs_rest
        tasks = make(data.target[active], len(self.classes_))
        tasks = [Task(active[task.rows], task.y, task.constant) for task in tasks]
        solved = [t for t, task in enumerate(tasks) if task.constant is None]
        intercept = np.array([0.0 if task.constant is None else task.constant for task in tasks])
        gram_of = self._share_class_blocks(data, active, tasks, solved)
        posed = [(tasks[t].rows, self._problem(tasks[t].y, effective[tasks[t].rows])) for t in solved]
        models, used_solver = solve_subproblems(data, self._method(), self._subproblems(data, posed), gram_of)
        models = [self._settled(model) for model in models]
        scale = np.array([self._scale(model) for model in models])
        used, coefficients, filled = gather(models, len(tasks), solved, scale)
        factors = np.ones(len(tasks))
        factors[solved] = scale
        intercept[solved] = [factor * m.intercept for factor, m in zip(scale, models, strict=True)]
        self._keep_variables(data, models)
        bounds = np.outer(self._bounds(given.weights * self.class_weight_[given.codes]), factors)
        self._publish_classifier(given, data, used, coefficients, filled, intercept, bounds)
        iterations = np.zeros(len(tasks), np.int32)
        iterations[solved] = [model.solution.n_iter for model in models]
        self.n_iter_ = iterations
        self.__dict__.pop("calibration_", None)
        if calibration_of(self) is not None:
            with single_threaded_blas():
                evaluations = self._calibrate(data, models, solved, len(tasks), gram_of)
            used_solver = replace(used_solver, evaluations=used_solver.evaluations + evaluations)
        predicted = self._training_codes(data, models, solved, len(used))
        self._report(data, FitOutcome.of_models(models, scale), used_solver, given.codes, predicted)

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
        of_row = np.full(data.n, -1)
        of_row[active] = codes
        blocks = ClassBlocks(data.gram, of_row, len(self.classes_))
        of_task = pairs(len(self.classes_))
        for t in solved:
            i, j = of_task[t]
            rows = np.concatenate((blocks.members[i], blocks.members[j]))
            tasks[t] = Task(rows, np.where(of_row[rows] == i, 1.0, -1.0))
        return lambda k: blocks.pair(*of_task[solved[k]])

    def _settled(self, model: Machine) -> Machine:
        """The binary model with its intercept settled where optimality leaves a choice."""
        return model

    def _scale(self, model: Machine) -> float:
        """Factor from the dual's variables to decision values with margin one."""
        return 1.0

    def _training_codes(
        self, data: TrainingSet, models: Sequence[Machine], solved: Sequence[int], n_used: int
    ) -> Callable[[], Array] | None:
        """Predicted class of every canonical row, mostly from values that the certificates needed anyway.

        One-vs-one: a row that its own class wins in all of its own class's models has the most votes there are, so
        only the others need the models that were not trained on them."""
        predicted = data.target
        if len(models) == 0:
            return self._predicted_later(data, np.arange(data.n), n_used)
        if self._scheme == "ovr" or len(self.classes_) == 2:
            covered = models[0].rows
            decision = np.tile(self.intercept_, (len(covered), 1))
            decision[:, solved] += np.column_stack([self._scale(m) * m.f for m in models])
            predicted = predicted.copy()
            predicted[covered] = self._codes(decision)
            doubtful = np.setdiff1d(np.arange(data.n), covered) if len(covered) < data.n else np.empty(0, int)
            return self._predicted_later(data, doubtful, n_used, predicted)
        lost = ~self._present[data.target]
        for model in models:
            value = model.f + model.intercept
            lost[model.rows[(value > 0) != (model.problem.target > 0)]] = True
        return self._predicted_later(data, np.flatnonzero(lost), n_used)

    def _predicted_later(
        self, data: TrainingSet, doubtful: Array, n_used: int, predicted: Array | None = None
    ) -> Callable[[], Array] | None:
        """A function that gives the codes of all canonical rows: those of their targets (or ``predicted``), but for the
        doubtful rows, which the fitted function decides when it is called. None if that would take long and the fit
        was asked to stop."""
        known = data.target if predicted is None else predicted
        if len(doubtful) == 0:
            return lambda: known
        features = data.X.shape[-1] if data.X.ndim > 1 else 1
        if len(doubtful) * n_used * features > STOPPED_MAX_PRODUCTS and data.control.stop() is not None:
            return None
        points = data.X[data.rows.representative[doubtful]] if self._is_precomputed() else data.X[doubtful]
        expansion, threads, codes_of = self._expansion, data.threads, self._codes_function()

        def codes() -> Array:
            found = known.copy()
            found[doubtful] = codes_of(expansion.decision(points, threads))
            return found

        return codes

    # ------------------------------------------------------------ one problem for all classes

    def _fit_joint(self, given: InputRows, data: TrainingSet, effective: Array) -> None:
        """The joint model of Crammer and Singer: one problem for all classes."""
        if not np.all(effective > 0):
            active = np.flatnonzero(effective > 0)
            gram = data.gram.subset(active)
        else:
            active, gram = np.arange(data.n), data.gram
        problem = JointProblem(data.target[active], self._bounds(effective[active]), len(self.classes_))
        start = None
        last = getattr(self, "_last_fit", None) if self.warm_start else None
        identity = identity_of(data)[active]
        if last is not None and "joint" in last and last["joint"].shape[1] == problem.n_classes:
            known, found = known_rows(last["identity"], identity)
            start = np.zeros((len(active), problem.n_classes))
            start[found] = last["joint"][known[found]]
        control = data.control.of_one()
        with single_threaded_blas():
            solution = CrammerSinger().solve(problem, gram, tol=self.tol, control=control, start=start)
            F = gram.product(np.arange(gram.n), solution.a)
        F = verified_joint(problem, solution.a, F, data.defined_values(active))
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
        no_intercept = np.zeros(problem.n_classes)
        A, bound = solution.a[nonzero], problem.bound[nonzero]
        filled = (A[np.arange(len(A)), problem.label[nonzero]] / bound)[:, None]
        bounds = np.full((len(given.codes), problem.n_classes), np.nan)
        self._publish_classifier(given, data, active[nonzero], A, filled, no_intercept, bounds)
        self.n_iter_ = np.array([solution.n_iter], np.int32)
        self.__dict__.pop("calibration_", None)
        if calibration_of(self) is not None:
            with single_threaded_blas():
                self._calibrate_joint(data, problem, solution.a, F, gram, active)
        model = Machine(active, None, solution, certificate, F, 0.0, 0.0, control.seen)  # type: ignore[arg-type]
        evaluations = data.evaluations + (0 if gram is data.gram else gram.evaluations)
        used = SolverUsed(CrammerSinger.name, "the joint model is one problem over all classes", evaluations)
        self._report(data, FitOutcome.of_models([model], np.ones(1)), used, given.codes, lambda: predicted)

    @abc.abstractmethod
    def _bounds(self, weight: Array) -> Array:
        """The bounds of rows of these weights."""

    def _publish_classifier(
        self,
        given: InputRows,
        data: TrainingSet,
        used: Array,
        coefficients: Array,
        filled: Array,
        intercept: Array,
        bounds: Array,
    ) -> None:
        """scikit-learn's attributes; for one-vs-one, dual_coef_ in LIBSVM's layout of k - 1 rows."""
        listed = self._publish(
            given.X, data, used, coefficients, filled, intercept, given.weights, bounds, order_by=given.codes
        )
        n_classes = len(self.classes_)
        of_class = given.codes[self.support_]
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

    def _report(
        self,
        data: TrainingSet,
        outcome: FitOutcome,
        used: SolverUsed,
        codes: Array,
        predicted: Callable[[], Array] | None,
    ) -> None:
        member_of = data.rows.member_of

        def error() -> float:
            if predicted is None:
                return math.nan
            counted = member_of >= 0
            return float(np.mean(predicted()[member_of[counted]] != codes[counted]))

        many = f", {SCHEMES[self._scheme]}, {len(self.intercept_)} machines" if len(self.classes_) > 2 else ""
        self._finish(
            data,
            outcome,
            used,
            fitted=f"{type(self).__name__}, {len(self.classes_)} classes{many}",
            parameters=self._parameters(),
            training_error=error,
        )

    def _codes_function(self) -> Callable[[Array], Array]:
        """Class codes from decision values, as a function of what the fit leaves, not of the estimator."""
        scheme, there = self._scheme, self._present

        def codes(decision: Array) -> Array:
            if decision.shape[1] == 1:
                present = np.flatnonzero(there)
                found = predict_codes(decision.ravel(), scheme, there)
                return found if len(present) == 2 else np.full(len(decision), present[0])
            return predict_codes(decision, scheme, there)

        return codes

    def _codes(self, decision: Array) -> Array:
        return self._codes_function()(decision)

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
        check_unaltered(self)
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
