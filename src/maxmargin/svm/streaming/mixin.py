"""Learning from streams, as methods of an estimator: batches are checked and passed to
:class:`~maxmargin.svm.streaming.learner.Stream`.

A batch that is refused leaves the model unchanged. Held-out batches are not used for training; they estimate the error
of the model; see :mod:`maxmargin.svm.streaming.report`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from maxmargin.runtime.class_weights import check_class_weights
from maxmargin.runtime.control import Control, Status, print_note, scaling_hint
from maxmargin.runtime.threads import Stop
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_labels,
    check_new_points,
    check_number,
    check_targets,
    check_training,
    warn,
)
from maxmargin.svm.linear.coef_bounds import has_bounds
from maxmargin.svm.linear.parameters import intercept_of
from maxmargin.svm.streaming.batches import batch_weights, labels, named, opened, passes, places, ready
from maxmargin.svm.streaming.learner import Stream, StreamRun, kept_apart, nothing_learnt, streams
from maxmargin.svm.streaming.report import Estimate, StreamReport, estimate

LARGEST_ENTRY = 1e100  # entries whose squares are still far from overflow


class StreamingMixin:
    """``partial_fit`` and ``fit_stream`` of a linear classifier with the parameters of ``LinearSVC``."""

    _stream: Stream
    classes_: Array

    def _check_streaming(self: Any) -> None:
        self._check_parameters()
        if math.isinf(self.C):
            raise ValueError("C=inf, the hard margin, cannot be learnt from a stream: give a finite C, or use fit.")
        if has_bounds(self):
            raise ValueError(
                "monotonic_cst and coef_bounds cannot be learnt from a stream: leave them out, or use fit."
            )

    def _ongoing(self: Any) -> Stream | None:
        """The stream so far; that of the last fit, if there was one since."""
        if "report_" not in vars(self):
            return vars(self).get("_stream")
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        share = self._present.astype(float)
        if isinstance(self.class_weight, str):  # balanced weights are those of the frequencies
            share[self._present] = 1.0 / self.class_weight_[self._present]
        totals = float(self.report_.n_samples) * share / share.sum()
        kind, scaling = intercept_of(self)
        return Stream.after(coef, self.intercept_, totals, self.class_weight_, kind=kind, scaling=scaling)

    def _admit(self: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Points, Array, Array]:
        """Check a batch and make room for its classes: points, labels and weights."""
        stream = self._ongoing()
        if stream is None:
            X, y = check_training(self, X, y)
        else:
            if hasattr(self, "feature_names_in_") or not ready(X, stream.n_features):
                X = check_new_points(self, X)
            if not (type(y) is np.ndarray and y.shape == X.shape[:1]):  # most are
                y = check_targets(y, X.shape[0])
            if X.shape[1] != stream.n_features:
                raise ValueError(f"X has {X.shape[1]} columns, and the stream has {stream.n_features}.")
        values = X.data if sp.issparse(X) else X
        if X.dtype == np.float64 and values.size and max(values.max(), -values.min()) > LARGEST_ENTRY:
            raise ValueError(
                f"X has entries beyond {LARGEST_ENTRY:.0e}, whose squares overflow: scale the columns of X."
            )
        y, weights = labels(y), batch_weights(sample_weight, X.shape[0])
        kind, scaling = intercept_of(self)
        if stream is not None and not stream.is_open and np.array_equal(classes, self.classes_):
            classes = None  # repeated
        announced = None if classes is None else check_labels(labels(np.asarray(classes)))[0]
        if stream is None:
            self.classes_ = np.unique(y) if announced is None else announced
            size = {"n_features": X.shape[1], "n_classes": len(self.classes_)}
            stream = Stream.empty(**size, is_open=announced is None, intercept=kind, scaling=scaling)
        if (stream.intercept, stream.scaling) != (kind, scaling):
            raise ValueError(
                "fit_intercept and intercept_scaling cannot change within a stream: begin a new one with "
                "clone(estimator), or set them back."
            )
        self._stream = self._with_classes(stream, y, announced)
        vars(self).pop("report_", None)  # from here on the stream is the model, not the last fit
        return X, y, weights

    def _with_classes(self, stream: Stream, y: Array, announced: Array | None) -> Stream:
        """The stream with the classes of y, and those announced now; an error for classes that were not announced."""
        names = self.classes_
        if announced is not None:
            lost = names[~places(announced, names).known]
            more = announced[~places(names, announced).known]
            if len(lost) or (len(more) and not stream.is_open):
                raise ValueError(
                    f"classes={announced.tolist()} are not those of the stream, {names.tolist()}: "
                    + (f"{lost.tolist()} have been met." if len(lost) else f"{more.tolist()} were not announced.")
                )
        for these in (y,) if announced is None else (announced, y):
            known = places(names, these).known
            new = these[:0] if known.all() else np.unique(these[~known])
            if len(new) and not stream.is_open:
                raise ValueError(
                    f"y has labels that are not among the classes, {names.tolist()}: {new.tolist()}. Give all "
                    "classes in the first call, or none: then new ones are added as they occur."
                )
            for label in new:
                stream = stream.with_class(int(np.searchsorted(names, label)))
                names = np.union1d(names, np.array([label]))
            stream = stream if announced is None else stream.closed()
        self.classes_ = names
        return stream

    def _factors(self: Any) -> Array:
        """Weights of the classes so far; balanced weights are those of the stream so far."""
        totals, given = self._stream.totals, self.class_weight
        if isinstance(given, dict) and self._stream.is_open:  # its other classes may still occur
            known = set(self.classes_.tolist())
            check_class_weights(given, np.array(list(given)), np.arange(len(given)), totals)
            given = {label: weight for label, weight in given.items() if label in known}
        if isinstance(given, str) and not totals.any():
            totals = np.ones(len(totals))
        return check_class_weights(given, self.classes_, np.arange(len(totals)), totals)

    def _learn(self: Any, X: Points, y: Array, weights: Array, stop: Stop | None = None) -> None:
        self._stream.learn(
            X,
            places(self.classes_, y).at,
            weights,
            C=float(self.C),
            squared=self.loss == "squared_hinge",
            class_weight=self._factors(),
            balanced=isinstance(self.class_weight, str),
            stop=stop,
        )

    def _publish(self: Any, n_iter: int) -> None:
        """The model's public attributes; reports of an earlier model are removed."""
        for name in ("report_", "history_", "stream_report_"):
            vars(self).pop(name, None)
        self.coef_, self.intercept_ = self._stream.mean()
        vars(self).pop("calibration_", None)  # a stream has no folds
        self.class_weight_ = self._factors()
        self._present = self._stream.totals > 0
        self.n_iter_, self.t_ = n_iter, self._stream.t

    def _forget_stream(self) -> None:
        """Nothing is left of a stream once there is another fit."""
        for name in ("_stream", "stream_report_", "t_"):
            vars(self).pop(name, None)

    @available_if(streams)
    @all_or_nothing(copies=("_stream",))
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, stream_size: float | None = None
    ) -> Self:
        """Update the model with the rows of a batch, each used once.

        The result does not depend on how the rows are divided into batches. A batch that is refused leaves the model
        unchanged. After ``fit``, learning continues from its solution, as if that came from as many rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows in random order: not sorted by class or time, for instance. Learning is much faster if all columns have
            about the same scale.
        y : array-like of shape (n_samples,)
            Class labels: numbers, strings or booleans.
        classes : array-like of shape (n_classes,), optional
            All possible labels; others are refused. Without it, new classes are added as they occur, with the model
            that they would have if they had been announced; this costs one more model.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of two equals repeating the sample.
        stream_size : float, optional
            n: the number of rows, or their total weight, to which C refers. The model approaches that of ``fit`` on a
            stream of this length, however often it is repeated. Without it n is the total weight of all rows so far,
            and the model approaches that of ``fit`` on all of them. Kept from call to call.

        Returns
        -------
        self : object
            The estimator; ``t_`` is the number of rows used.

        Examples
        --------
        >>> from maxmargin import LinearSVC
        >>> model = LinearSVC().partial_fit([[-1.0], [1.0]], ["left", "right"])
        >>> model.partial_fit([[-2.0], [2.0]], ["left", "right"]).predict([[3.0]]), model.t_
        (array(['right'], dtype='<U5'), 4)
        """
        self._check_streaming()
        if stream_size is not None:
            check_number("stream_size", stream_size, above=0)
        X, y, weights = self._admit(X, y, classes, sample_weight)
        self._factors()
        if stream_size is not None:
            self._stream.set_size(float(stream_size))
        self._learn(X, y, weights)
        self._publish(1)
        return self

    @available_if(streams)
    @all_or_nothing(copies=("_stream",))
    def fit_stream(
        self: Any,
        batches: Any,
        *,
        epochs: int = 1,
        classes: Any = None,
        held_out: Any = 0.1,
        stream_size: float | None = None,
    ) -> Any:
        """Fit the model to a stream of batches in one or more epochs, and estimate its error.

        The coefficients are averages over all steps, in which later steps have more weight. At the time limit or after
        Ctrl-C the estimator has the model of the rows so far. An error names its batch, and leaves the estimator
        unchanged; with :meth:`partial_fit` the updates of earlier batches are kept. With ``warm_start=True`` learning
        continues from the present model.

        Parameters
        ----------
        batches : iterable or callable
            Of (X, y) or (X, y, sample_weight): a list, an object whose ``__iter__`` restarts, a function that returns
            an iterator, or, for one epoch, a generator.
        epochs : int, default=1
            Passes over the batches.
        classes : array-like, optional
            All possible labels; see :meth:`partial_fit`.
        held_out : float, None, (X, y) or (X, y, sample_weight), default=0.1
            The fraction of batches, at least the first one, that are held out (up to 256 MB, in memory), or rows given
            for that purpose; None or 0 for no estimates.
        stream_size : float, optional
            n: the number of rows, or their total weight, to which C refers. Without it the rows so far, and after the
            first epoch those of an epoch: the model approaches that of ``fit`` on these rows.

        Returns
        -------
        self : object
            With ``stream_report_`` (a :class:`~maxmargin.svm.streaming.report.StreamReport`), ``history_`` (the
            estimated objective per row after each epoch), ``n_iter_`` (epochs started) and ``t_`` (rows used).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin import LinearSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> batches = [(X[i::10], y[i::10]) for i in range(10)]
        >>> model = LinearSVC().fit_stream(batches, epochs=20)
        >>> model.score(X, y) > 0.9, model.n_iter_, model.t_
        (True, 20, 2700)
        """
        self._check_streaming()
        check_number("epochs", epochs, least=1, integer=True)
        if stream_size is not None:
            check_number("stream_size", stream_size, above=0)
        share, given = kept_apart(held_out)
        begin = passes(batches, int(epochs))
        run = StreamRun(Control.of_deadline(self), share)
        if not self.warm_start:
            for name in [name for name in vars(self) if name.endswith("_") or name in ("_stream", "_present")]:
                del vars(self)[name]
        if given is not None:
            with named("held_out"):
                run.keep(*self._admit(given[0], given[1], classes, given[2]))
        with run.control.catching_interrupts():
            status = self._epochs(run, begin, int(epochs), classes, stream_size)
        self._conclude(run, status)
        return self

    def _epochs(
        self: Any, run: StreamRun, begin: Callable[[], Iterator[Any]], epochs: int, classes: Any, size: float | None
    ) -> Status | None:
        """Go through the batches; the reason to stop before the end, if there was one."""
        status = None
        while run.epoch < epochs and status is None:
            run.epoch, rows, weight, i = run.epoch + 1, run.rows, 0.0, -1
            for i, batch in enumerate(begin()):
                with named(f"batch {i + 1} of epoch {run.epoch}"):
                    X, y, sample_weight = opened(batch)
                    X, y, weights = self._admit(X, y, classes, sample_weight)
                    self._factors()
                if run.holds(i):
                    if run.epoch == 1:
                        run.keep(X, y, weights)
                    continue
                if size is not None or run.epoch == 1:
                    self._stream.set_size(size)
                before = self._stream.t, self._stream.weight
                self._learn(X, y, weights, run.control.stop)
                run.rows += self._stream.t - before[0]
                weight += self._stream.weight - before[1]
                status = run.control.stop()
                if status is not None:
                    break
                if self.verbose:
                    run.report(i)
            if run.rows == rows and status is None:
                raise ValueError(nothing_learnt(i + 1, run.epoch))
            if size is None and run.epoch == 1 and epochs > 1 and status is None:
                self._stream.set_size(weight)
            self._publish(run.epoch)
            self._evaluate(run)
        if size is None:
            self._stream.set_size(None)
        return status

    def _evaluate(self: Any, run: StreamRun) -> None:
        """The estimate at the end of an epoch."""
        square = float((self.coef_**2).sum())
        if self._stream.intercept == "penalised":
            square += float((self.intercept_**2).sum()) / self._stream.scaling**2
        found = Estimate(math.nan, math.nan, math.nan)
        if run.held:
            values = np.concatenate([self._values(X) for X, _, _ in run.held])
            found = estimate(
                values,
                np.concatenate([places(self.classes_, y).at for _, y, _ in run.held]),
                self._codes(values),
                np.concatenate([weights for _, _, weights in run.held]),
                self.class_weight_,
                squared=self.loss == "squared_hinge",
                penalty=0.5 * square / (float(self.C) * self._stream.size),
            )
        norm = math.sqrt(float((self.coef_**2).sum(axis=1).max()))
        run.estimates.append(found)
        run.history.append(
            iteration=run.epoch,
            objective=found.objective,
            margin=2.0 / norm if norm > 0 else math.inf,
            seconds=run.control.seconds,
        )
        run.control.report(run.epoch, math.nan, 0, primal=found.objective, norm=norm)
        if self.verbose:
            print_note(
                f"{run.control.seconds:8.2f} s  epoch {run.epoch}, rows learnt {run.rows:,}"
                + (
                    f", held out: objective {found.objective:.5g} +- {found.standard_error:.2g} a row, error "
                    f"{found.error_rate:.2%}"
                    if run.held
                    else ""
                )
            )

    def _conclude(self: Any, run: StreamRun, status: Status | None) -> None:
        """The account of the run, and the warning if it was cut short."""
        epochs = f"{run.epoch} epoch{'s' if run.epoch > 1 else ''}"
        columns = zip(*run.estimates, strict=True)
        objectives, standard_errors, error_rates = (np.array(column) for column in columns)
        dense = run.held and not sp.issparse(run.held[0][0])  # rare columns of sparse rows are not badly scaled
        self.history_ = run.history
        self.stream_report_ = StreamReport(
            model=f"{self._title()}, from a stream",
            parameters=self._parameters(),
            ended=f"the stream ended after {epochs}" if status is None else f"{status.value} (in epoch {run.epoch})",
            complete=status is None,
            rows=run.rows,
            size=self._stream.size,
            held_out=sum(X.shape[0] for X, _, _ in run.held),
            objectives=objectives,
            standard_errors=standard_errors,
            error_rates=error_rates,
            seconds=run.control.seconds,
            advice=scaling_hint(run.held[0][0], getattr(self, "feature_names_in_", None)).strip() if dense else "",
        )
        if status is not None:
            warn(
                f"fit_stream was cut short in epoch {run.epoch}, after {run.rows:,} rows: {status.value}. The model is "
                "the average over these rows.",
                ConvergenceWarning,
            )
