"""Probabilities of classes, for the classifiers of this folder: ``calibration=`` and ``predict_proba``.

fit            out-of-fold decision values -> a map of each machine's value to a probability (``calibration_``)
predict_proba  decision values -> maps -> coupled or normalised -> the nearest that agree with ``predict``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import JointProblem
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array, callers_level, check_choice, check_new_points
from maxmargin.svm.calibration.agreement import agreeing
from maxmargin.svm.calibration.calibrated import METHODS, Calibration, fit_binary, fit_classes, log_loss
from maxmargin.svm.calibration.folds import PAIR, Folds, quotas, silent, stratified_folds
from maxmargin.svm.calibration.out_of_fold import joint_values, kernel_values
from maxmargin.svm.compatibility import calibration_of
from maxmargin.svm.kernel.coefficients import Machine
from maxmargin.svm.kernel.training import ABREAST, TrainingSet
from maxmargin.svm.models.multiclass import certain

SERIAL_MAX_ROWS = 500  # rows of a binary model up to which threads cost more than they bring
NEAR_TIE = 1e-9  # relative error of decision values within which ``predict`` itself is asked


def _has_calibration(estimator: Any) -> bool:
    if calibration_of(estimator) is None:
        raise AttributeError(
            f"{type(estimator).__name__} has predict_proba if it is calibrated when fitted: give it "
            "calibration='sigmoid', 'isotonic' or 'temperature'. decision_function needs no calibration."
        )
    return True


class ProbabilityMixin:
    """``predict_proba`` and ``predict_log_proba``; a classifier has the parameter ``calibration``, and its ``fit``
    calls one of the calibration steps below."""

    calibration: str | None
    classes_: Array
    _present: Array
    _scheme: str
    _scale: Any
    intercept_: Any

    def _check_calibration(self) -> None:
        if self.calibration is not None:
            check_choice("calibration", self.calibration, METHODS, " or None")

    # ------------------------------------------------------------ probabilities

    @available_if(_has_calibration)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for new points; the largest is that of the class ``predict`` gives.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to one. Where the calibrated probabilities would prefer another class
            than ``predict``, the nearest ones that do not are given.

        Notes
        -----
        There only is this method if ``calibration`` is not None.
        """
        decision, codes = self._decided(X)
        calibration: Calibration | None = getattr(self, "calibration_", None)
        if calibration is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False or calibration=None: this "
                f"{type(self).__name__} was; call fit again."
            )
        return agreeing(calibration.probabilities(decision, self._present), codes)

    @available_if(_has_calibration)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : array of shape (n_samples, n_classes)
            -inf for a class that had no weight in the training data.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _decided(self: Any, X: Any) -> tuple[Array, Array]:
        """Decision values, one column a machine, and the code of the class that ``predict`` gives each row."""
        if not hasattr(self, "_expansion"):
            points = check_new_points(self, X)
            decision = self._values(points)
            return decision, self._codes(decision)
        points = self._new_points(X)
        decision = self._decision(points)
        codes = self._label(decision)
        # predict may sum in another order: where that could matter, it has the word.
        bound = NEAR_TIE * (self._expansion.absolute_sums + np.abs(self._expansion.intercept))
        if not certain(decision, bound, codes, self._scheme).all():
            codes = np.searchsorted(self.classes_, self.predict(X))
        return decision, codes

    # ------------------------------------------------------------ steps of fit

    def _calibrate(
        self: Any,
        data: TrainingSet,
        machines: Sequence[Machine],
        solved: Sequence[int],
        n_tasks: int,
        gram_of: Callable[[int], Gram] | None,
    ) -> int:
        """One-vs-one and one-vs-rest: learn the maps from out-of-fold values, and set ``calibration_``. Returns the
        number of kernel values that this took."""
        many = self._scheme == "ovo" and len(self.classes_) > 2
        quota: Any = PAIR
        method: Any = calibration_of(self)
        if not many:
            n_support = np.mean([float(np.count_nonzero(machine.solution.a)) for machine in machines] or [0.0])
            quota = quotas(method, data.target, len(self.classes_), float(n_support))
        judge = _Judge(stratified_folds(data.target, len(self.classes_), quota=quota), data)
        folds, weights = judge.folds, data.weight * judge.folds.factor
        values: list[Any] = [None] * len(machines)
        evaluations = [0] * len(machines)

        def work(k: int) -> None:
            machine = machines[k]
            if gram_of is not None:
                gram = gram_of(k)
            else:
                everything = len(machine.rows) == data.n and bool((np.diff(machine.rows) == 1).all())
                gram = data.gram if everything else data.gram.subset(machine.rows)
            gram.budget, before = share, gram.evaluations
            values[k] = judge(machine, gram)
            evaluations[k] = gram.evaluations - before

        share = data.budget / min(ABREAST, max(1, len(machines)))
        rows_each = np.mean([len(machine.rows) for machine in machines]) if machines else 0
        run_tiles(
            work, len(machines), min(ABREAST, data.threads) if len(machines) > 1 and rows_each > SERIAL_MAX_ROWS else 1
        )
        data.gram.budget = data.budget
        if self._scheme == "ovr" and len(self.classes_) > 2:
            scores = np.full((data.n, n_tasks), -1.0)
            for t, machine, own in zip(solved, machines, values, strict=True):
                scores[machine.rows, t] = own
            rows = machines[0].rows if machines else np.empty(0, int)
            own = np.tile(self.intercept_, (len(rows), 1))
            for t, machine in zip(solved, machines, strict=True):
                own[:, t] += self._scale(machine) * machine.f
            self._learn_classes(scores[rows], data.target[rows], weights[rows], folds, own)
            return sum(evaluations)
        own = [self._scale(m) * (m.f + m.intercept) for m in machines]
        if not many:
            rows = machines[0].rows if machines else np.empty(0, int)
            self._learn_binary(values, data.target[rows] == 1, weights[rows], folds, own)
            return sum(evaluations)
        maps: list[Any] = [None] * n_tasks
        known = (folds.of_row >= 0) & (folds.factor > 0)
        for t, machine, value, training in zip(solved, machines, values, own, strict=True):
            judged = weights[machine.rows] > 0
            reached = judged & np.isfinite(value)
            known[machine.rows[judged & ~reached]] = False
            chosen, value = (np.flatnonzero(reached), value) if reached.any() else (np.flatnonzero(judged), training)
            positive, weight = machine.problem.target[chosen] > 0, weights[machine.rows[chosen]]
            maps[t] = fit_binary(method, value[chosen], positive, weight)
        self._keep("pairs", maps, folds, np.nan, int(np.count_nonzero(known)))
        return sum(evaluations)

    def _calibrate_joint(
        self: Any, data: TrainingSet, problem: JointProblem, A: Array, F: Array, gram: Gram, active: Array
    ) -> None:
        """The joint kernel machine."""
        folds = stratified_folds(problem.label, len(self.classes_))
        scores = joint_values(problem, gram, A, F, folds.of_row, silent(data.control))
        self._learn_classes(scores, problem.label, data.weight[active], folds, F)

    # ------------------------------------------------------------ what the steps share

    def _learn_binary(
        self: Any, values: Sequence[Array], positive: Array, weight: Array, folds: Folds, own: Sequence[Array]
    ) -> None:
        """Two classes: the map of their machine, if there is one (``values`` is a list of its values, ``own`` of those
        of the machine of all rows)."""
        if not values:
            self._keep("binary", [None], folds, np.nan, 0)
            return
        chosen, found, n = _reached(values[0], weight, own[0])
        found, positive, weight = found[chosen], positive[chosen], weight[chosen]
        learnt = fit_binary(calibration_of(self), found, positive, weight)
        p = learnt(found)
        loss = log_loss(np.column_stack((1.0 - p, p)), positive.astype(int), weight) if n else np.nan
        self._keep("binary", [learnt], folds, loss, n)

    def _learn_classes(self: Any, scores: Array, codes: Array, weight: Array, folds: Folds, own: Array) -> None:
        """A score a class; ``own`` are those of the machine of all rows."""
        if np.count_nonzero(self._present) < 2:  # nothing to learn: that class is certain
            n_maps = 1 if calibration_of(self) == "temperature" else len(self.classes_)
            self._keep("classes", [None] * n_maps, folds, np.nan, 0)
            return
        chosen, scores, n = _reached(scores, weight, own)
        scores, codes, weight = scores[chosen], codes[chosen], weight[chosen]
        maps = fit_classes(calibration_of(self), scores, codes, weight, self._present)
        learnt = Calibration(calibration_of(self), "classes", maps, 0, 0, np.nan, "")
        loss = log_loss(learnt.probabilities(scores, self._present), codes, weight) if n else np.nan
        self._keep("classes", maps, folds, loss, n)

    def _keep(self: Any, kind: str, maps: list[Any], folds: Folds, loss: float, n: int) -> None:
        """Set ``calibration_``, and say what was done about small classes and rows that were not reached."""

        def named(codes: Array) -> str:
            return ", ".join(repr(label) for label in self.classes_[codes].tolist())

        notes, judged = [], int(np.count_nonzero((folds.of_row >= 0) & (folds.factor > 0)))
        if len(folds.few):
            notes.append(f"fewer rows than folds in class {named(folds.few)}: it is in some of the held-out parts only")
        loud = []
        if len(folds.alone):
            loud.append(
                f"a single row in class {named(folds.alone)}: it is never left out, so that the probabilities of this "
                "class come from the machine's own training value"
            )
        if n < judged and maps != [None] * len(maps):
            rest = (
                "" if n else ", and the probabilities come from the machine's own training values: they are too certain"
            )
            loud.append(f"the fit was stopped when {n:,} of {judged:,} rows had been judged without themselves{rest}")
        self.calibration_ = Calibration(
            calibration_of(self), kind, maps, folds.count, n, float(loss), "; ".join(notes + loud)
        )
        for text in loud:
            kind_of = UserWarning if "stopped" not in text else ConvergenceWarning
            warnings.warn(f"calibration: {text}.", kind_of, stacklevel=callers_level())


class _Judge:
    """Out-of-fold values of machines, over the folds of one fit."""

    def __init__(self, folds: Folds, data: TrainingSet) -> None:
        self.folds, self.control = folds, silent(data.control)

    def __call__(self, machine: Machine, gram: Gram) -> Array:
        folds = self.folds
        of_row, judged = folds.of_row[machine.rows], folds.factor[machine.rows] > 0
        return kernel_values(machine.problem, gram, machine.solution.a, machine.f, of_row, judged, self.control)


def _reached(values: Array, weight: Array, own: Array) -> tuple[Array, Array, int]:
    """The rows to learn from, the values to learn from them, and the number of those that were judged by a machine
    without them: if there are none, the machine of all rows judges itself."""
    judged = weight > 0
    reached = judged & np.isfinite(values if values.ndim == 1 else values.sum(axis=1))
    n = int(np.count_nonzero(reached))
    return (np.flatnonzero(reached), values, n) if n else (np.flatnonzero(judged), own, 0)
