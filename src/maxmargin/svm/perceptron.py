"""The perceptron as an estimator: the linear classifier that the support vector machine improves upon."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from maxmargin.runtime.control import Control, Status, print_note
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.history import ThinnedList
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.text_report import TextReport
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_flag,
    check_labels,
    check_new_points,
    check_number,
    check_targets,
    check_training,
    warn,
)
from maxmargin.solvers.teaching.perceptron import PerceptronRun, epochs, largest_entry
from maxmargin.svm.linear.function import LinearClassifier
from maxmargin.svm.models.multiclass import one_vs_rest

Row = tuple[int, int, int, int, float]  # of the history: binary problem, epoch, mistakes, errors, objective


@dataclass(frozen=True)
class PerceptronReport(TextReport):
    """The report of a perceptron fit.

    Attributes
    ----------
    converged : bool
        Whether no training point is on the wrong side of any binary problem.
    ended : str
        How the fit ended, in words.
    n_iter : int
        Epochs of the binary problem that took longest.
    mistakes, errors : arrays
        Updates made for each binary problem, and points on its wrong side at the end.
    n_samples : int
        Number of training points.
    seconds : float
        Duration in seconds.

    Examples
    --------
    >>> from maxmargin import Perceptron
    >>> Perceptron().fit([[-1.0], [2.0]], [0, 1]).report_.ended
    'converged: no point is on the wrong side'
    """

    converged: bool
    ended: str
    n_iter: int
    mistakes: Array
    errors: Array
    n_samples: int
    seconds: float

    def _lines(self) -> list[tuple[str, str]]:
        problems = len(self.mistakes)
        return [
            ("model", "Perceptron" + (f", one-vs-rest, {problems} binary problems" if problems > 1 else "")),
            ("status", self.ended),
            ("epochs", f"{self.n_iter:,}"),
            ("mistakes", f"{self.mistakes.sum():,} updates"),
            (
                "wrong side",
                f"{self.errors.sum():,} of {self.n_samples:,} points" + (" x binary problems" * (problems > 1)),
            ),
            ("time", f"{self.seconds:.3g} s"),
        ]


@documented()
@parameters
class Perceptron(LinearClassifier, ClassifierMixin, Estimator):
    """Rosenblatt's perceptron, a linear classifier.

    On separable data it converges to a hyperplane without training errors after at most (R / gamma)^2 updates, where R
    is the largest norm of a point and gamma the largest possible margin. On other data it stops at ``max_iter`` with a
    warning and keeps the best hyperplane. :func:`~maxmargin.separability` checks whether data are separable.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Learn b as the weight of a column of ones.
    max_iter : int, default=1000
        Maximum number of epochs.
    tol : float or None, default=None
        Stop when the mean of max(0, -y f) has not improved by this much for ``n_iter_no_change`` epochs. None: continue
        until there are no errors, or to ``max_iter``.
    shuffle : bool, default=True
        Whether to shuffle the points before each epoch.
    verbose : bool, default=False
        Print one line per epoch on standard error.
    eta0 : float, default=1.0
        Step size. If the weights start at zero, it only scales them.
    random_state : int, RandomState or None, default=0
        Seed of the order.
    n_iter_no_change : int, default=5
        See ``tol``.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    average : bool, default=False
        Use the average of all iterates (Freund & Schapire 1999), which generalises better.
    max_seconds : float or None, default=None
        Stop after this time with the best weights so far.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        w; with more than two classes one row per class (one-vs-rest).
    intercept_ : array of shape (1,) or (n_classes,)
        b of each binary model.
    converged_ : bool
        Whether no training point is on the wrong side.
    n_iter_ : int
        Epochs of the binary problem that took longest.
    mistakes_ : array of shape (1,) or (n_classes,)
        Updates for each binary problem.
    history_ : dict of arrays
        One entry per epoch and binary problem (a few hundred entries if there are many epochs): ``problem`` (its
        number), ``epoch``, ``mistakes`` (its updates), ``errors`` (points on the wrong side at its end) and
        ``objective`` (the mean of max(0, -y f) then).
    report_ : PerceptronReport
        The report of the fit.

    Examples
    --------
    >>> from maxmargin import Perceptron
    >>> X, y = [[-2.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [2.0, 0.0]], ["left", "left", "right", "right"]
    >>> model = Perceptron().fit(X, y)
    >>> model.converged_, model.predict([[3.0, 5.0]])
    (True, array(['right'], dtype='<U5'))
    >>> print(model.report_)
    model       Perceptron
    status      converged: no point is on the wrong side
    epochs      ...
    """

    _: KW_ONLY
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = None
    shuffle: bool = True
    verbose: bool = False
    eta0: float = 1.0
    random_state: Any = 0
    n_iter_no_change: int = 5
    warm_start: bool = False
    average: bool = False
    max_seconds: float | None = None

    @property
    def _present(self) -> Array:  # type: ignore[override]
        """No class is without weight."""
        return np.ones(len(self.classes_), bool)

    def _check_parameters(self) -> None:
        for name in ("fit_intercept", "shuffle", "warm_start", "average"):
            check_flag(name, getattr(self, name))
        check_number("max_iter", self.max_iter, least=1, integer=True)
        check_number("n_iter_no_change", self.n_iter_no_change, least=1, integer=True)
        check_number("eta0", self.eta0, above=0)
        if self.tol is not None:
            check_number("tol", self.tol, least=0, remedy="None means: until there are no errors.")
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0, infinite=True)

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Perceptron:
        """Learn from training data.

        {X, y_labels -> self}
        """
        self._check_parameters()
        known = hasattr(self, "coef_") and self.warm_start
        last: tuple[Array, Array] | None = None
        if known:
            last = self.classes_, np.column_stack((self.coef_, self.intercept_))
        X, y = check_training(self, X, y)
        self.classes_, codes = check_labels(y)
        tasks = one_vs_rest(codes, len(self.classes_))
        starts = np.zeros((len(tasks), X.shape[1] + 1))
        if last is not None:
            if last[1].shape != starts.shape or not np.array_equal(last[0], self.classes_):
                raise ValueError("warm_start=True needs the classes and columns of the last fit; use a new estimator.")
            starts = last[1]
        random = check_random_state(self.random_state)
        control = Control.of_deadline(self)
        runs = [self._run(start) for start in starts]
        history: list[list[Row]] = []
        ended = []
        self.mistakes_ = np.zeros(len(runs), np.int64)
        with control.catching_interrupts():
            for m, (run, task) in enumerate(zip(runs, tasks, strict=True)):
                history.append(ThinnedList())
                ended.append(self._learn(m, run, X, task.y, random, control, history[m]))
        self._publish(runs, np.array([run.best for run in runs]))
        self._account(runs, history, ended, len(y), control)
        return self

    def _run(self, start: Array) -> PerceptronRun:
        return PerceptronRun(start.copy(), float(self.eta0), bool(self.fit_intercept), bool(self.average))

    def _learn(
        self,
        problem: int,
        run: PerceptronRun,
        X: Points,
        y: Array,
        random: np.random.RandomState,
        control: Control,
        history: list[Row],
    ) -> str:
        """All epochs of one binary problem; why they ended, empty if there are no errors."""
        lowest, without_change = np.inf, 0
        order = random if self.shuffle else None
        run_epochs = epochs(run, X, y, order, int(self.max_iter), lambda: control.stop() is not None)
        for number, epoch in enumerate(run_epochs, start=1):
            history.append((problem, number, epoch.mistakes, epoch.errors, epoch.objective))
            self.mistakes_[problem] += epoch.mistakes
            if self.verbose:
                print_note(
                    f"{control.seconds:8.2f} s  problem {problem}  epoch {number:>6,}  mistakes {epoch.mistakes:,}  "
                    f"errors {epoch.errors:,}"
                )
            if epoch.errors == 0:
                return ""
            if control.stop() is not None:
                break
            if self.tol is not None:
                without_change = without_change + 1 if epoch.objective > lowest - self.tol else 0
                lowest = min(lowest, epoch.objective)
                if without_change >= self.n_iter_no_change:
                    return f"no progress above tol in {self.n_iter_no_change} epochs"
        stop = control.stop()
        if stop is None:
            return "stopped at max_iter"
        return "stopped at max_seconds" if stop is Status.DEADLINE else "interrupted by the user"

    def _publish(self, runs: list[PerceptronRun], vectors: Array) -> None:
        self._runs = runs
        self.coef_, self.intercept_ = vectors[:, :-1].copy(), vectors[:, -1].copy()

    def _account(
        self, runs: list[PerceptronRun], history: list[list[Row]], ended: list[str], n_samples: int, control: Control
    ) -> None:
        """What the fit did, and the warning if it has not converged."""
        names = ("problem", "epoch", "mistakes", "errors", "objective")
        columns = zip(*(row for of_one in history for row in of_one), strict=True)
        self.history_ = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
        self.n_iter_ = int(self.history_["epoch"].max())
        self.converged_ = not any(ended)
        reason = next((text for text in ended if text), "converged: no point is on the wrong side")
        errors = np.array([run.fewest for run in runs])
        self.report_ = PerceptronReport(
            self.converged_, reason, self.n_iter_, self.mistakes_, errors, n_samples, control.seconds
        )
        if not self.converged_:
            worst = int(errors.argmax())
            which = "y" if len(runs) == 1 else f"y == {self.classes_.tolist()[worst]!r}"
            warn(
                f"Perceptron did not converge ({reason}, after {self.n_iter_:,} epochs): {errors[worst]:,} of "
                f"{n_samples:,} training points are on the wrong side, and the model is the best one so far. "
                f"separability(X, {which}) checks whether the classes are separable: if so, raise max_iter or scale "
                "the columns of X; if not, use SVC.",
                ConvergenceWarning,
            )

    @all_or_nothing(copies=("_runs", "mistakes_"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Perceptron:
        """Update the model with one pass over a batch of points. Convergence is not checked.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), optional
            All possible labels; required in the first call.

        Returns
        -------
        self : object
            The estimator with ``coef_`` and ``intercept_`` after the last point, and ``n_iter_`` and ``mistakes_`` of
            all calls.
        """
        self._check_parameters()
        if not hasattr(self, "_runs"):
            if classes is None:
                raise ValueError("classes must be given in the first call to partial_fit: y may not have all of them.")
            X, y = check_training(self, X, y)
            self.classes_ = check_labels(np.asarray(classes))[0]
            problems = 1 if len(self.classes_) == 2 else len(self.classes_)
            self._runs = [self._run(np.zeros(X.shape[1] + 1)) for _ in range(problems)]
            self.n_iter_, self.mistakes_ = 0, np.zeros(problems, np.int64)
        else:
            X = check_new_points(self, X)
            y = check_targets(y, X.shape[0])
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes={classes!r} are not those of the first call, {self.classes_.tolist()}.")
        if not np.isin(y, self.classes_).all():
            raise ValueError(f"y has labels that are not among the classes, {self.classes_.tolist()}.")
        codes, random = np.searchsorted(self.classes_, y), check_random_state(self.random_state)
        largest = largest_entry(X)
        for m, run in enumerate(self._runs):
            signs = np.where(codes == (1 if len(self._runs) == 1 else m), 1.0, -1.0)
            order = random.permutation(len(y)) if self.shuffle else np.arange(len(y))
            self.mistakes_[m] += run.epoch(X, signs, order, largest).mistakes
        self.n_iter_ += 1
        self._publish(self._runs, np.array([run.result for run in self._runs]))
        return self
