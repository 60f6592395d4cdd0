"""From parameters and data to a finished search, for every estimator of this folder.

    check -> canonical rows -> folds -> kernels -> store -> search (-> finer search) -> refit

A subclass defines which estimator it searches, along which axes, and which job solves its cells.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from maxmargin.kernels import KERNELS, Kernel, Precomputed
from maxmargin.kernels.bandwidth import resolve_gamma
from maxmargin.kernels.gram.operator import computing_form
from maxmargin.model_selection.folds import check_groups, make_folds, splits_of
from maxmargin.model_selection.grid import BY_RATIO, Axis, Cell, Variant, cells, finer, kernel_axes, variants
from maxmargin.model_selection.jobs import Job, Setting
from maxmargin.model_selection.parameter_docs import SEARCH_ENTRIES
from maxmargin.model_selection.results import scorer_of
from maxmargin.model_selection.search import Search
from maxmargin.model_selection.store import Store
from maxmargin.runtime.callbacks import CallbackSupport, with_callbacks
from maxmargin.runtime.canonical_rows import CanonicalRows, canonical_rows
from maxmargin.runtime.control import Control, Status, print_note
from maxmargin.runtime.estimator import parameters, shared_parameters
from maxmargin.runtime.interrupts import KEPT_MODEL, NothingKept, catching_anew, interrupt_pending
from maxmargin.runtime.memory import available_memory
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_flag, check_labels, check_number, check_weights, warn
from maxmargin.svm.kernel_input import KernelInput, kernel_of

NAMED = ("gamma", "degree", "coef0")  # parameters that an estimator passes on to a kernel given by name
GAMMAS_TIMES_SCALE = (0.01, 0.1, 1.0, 10.0, 100.0)  # gammas that are tried if none are given, times "scale"


@documented(SEARCH_ENTRIES)
@parameters
class GridSearch(CallbackSupport, KernelInput, abc.ABC):
    """The searches' common part."""

    _: KW_ONLY
    cv: Any = None
    scoring: Any = None
    refit: bool = True
    refine: int = False
    n_jobs: int | None = None
    max_seconds: float | None = None
    verbose: bool = False

    _searched: ClassVar[Any]  # the class of estimators
    _axes: ClassVar[tuple[Axis, ...]]  # of its hyperparameters
    _classifies = False
    _refined: ClassVar[tuple[str, ...]] = BY_RATIO  # axes that a finer search divides

    @abc.abstractmethod
    def _job(self, setting: Setting, kernel: Kernel, K: Array | None, fold: Any, cells: Any) -> Job:
        """The job of a kernel and a fold."""

    def _estimator(self) -> Any:
        """The estimator, with the parameters that are not searched."""
        return self._searched(**shared_parameters(self, self._searched, without="kernel"))

    def _kernel(self) -> Kernel:
        several = isinstance(self.kernel, (list, tuple))
        if several and len(self.kernel) == 0:
            raise ValueError("kernel is an empty list: give at least one kernel.")
        return kernel_of(self.kernel[0] if several else self.kernel, degree=self.degree, coef0=self.coef0)

    def _is_precomputed(self) -> bool:
        listed = self.kernel if isinstance(self.kernel, (list, tuple)) else [self.kernel]
        return any(isinstance(k, Precomputed) or (isinstance(k, str) and k == "precomputed") for k in listed)

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Score every cell of the grid, and fit the best model to all data.

        {X_train, y, sample_weight, groups -> self}
        """
        check_flag("refit", self.refit)
        rounds = int(self.refine) if isinstance(self.refine, (bool, np.bool_)) else self.refine
        check_number("refine", rounds, least=0, integer=True)
        estimator = self._estimator()
        estimator._check_parameters()
        if self._is_precomputed() and isinstance(self.kernel, (list, tuple)) and len(self.kernel) > 1:
            raise ValueError("kernel='precomputed' stands alone: one matrix cannot be compared with other kernels.")
        given, axes = X, {axis.name: axis.values(self) for axis in self._axes}
        X, y, codes = self._read(X, y)
        weights = check_weights(sample_weight, X.shape[0])
        learnt = self._learnt(y, weights)
        groups = check_groups(groups, X.shape[0])
        splits = splits_of(self.cv, X, y, groups, classifier=len(codes) > 0)
        control = Control.of_deadline(self)
        threads = effective_threads(self.n_jobs)
        rows = self._rows(X, codes if len(codes) else np.zeros(X.shape[0]) if y is None else y, weights)
        at = rows.representative
        points = self._points(X, at)
        folds = make_folds(
            splits, rows, weights, learnt, given if hasattr(given, "columns") else X, y, sample_weight is not None
        )
        used = rows.member_of >= 0
        share = np.bincount(rows.member_of[used], weights=learnt[used], minlength=len(rows.weight))
        made = self._variants(points, share)
        resolved = self._resolved_all(X, points, share, made)
        budget = min(float(self.cache_size) * 1e6, 0.5 * available_memory())
        store = Store(points, [kernel for kernel in resolved if not isinstance(kernel, str)], threads, budget)
        classes = self.classes_ if self._classifies else np.empty(0)
        target, coded = (None if y is None else y[at]), codes[at] if len(codes) else codes
        setting = Setting(estimator, points, target, coded, classes, control, store.scratch)
        self.scorer_: Any = self._scorer(points, share, y)

        def job(kernel: Kernel, K: Array | None, fold: Any, some: Any) -> Any:
            return self._job(setting, kernel, K, fold, some)

        search = Search(folds, job, self.scorer_, control, threads, bool(self.verbose))
        if self.verbose:
            count = len(made) * int(np.prod([len(values) for values in axes.values()]))
            print_note(f"{count} cells, {len(folds)} folds, {X.shape[0]:,} samples, {threads} threads")
        with control.catching_interrupts():
            search.run(cells(made, axes), resolved, store)
            for _ in range(rounds):
                search.cut = search.cut or control.stop() is not None
                if search.cut or search.table.best() is None:
                    break
                fresh, more = self._finer(search.table.cells, search.table.best(), made, resolved)
                if not fresh:
                    break
                resolved += self._resolved_all(X, points, share, more)
                made += more
                search.run(fresh, resolved, store)
            self._publish(search, resolved)
            if self.refit and not interrupt_pending():  # after Ctrl-C there is no time for another fit
                with catching_anew():
                    self._refit(given, y, sample_weight if learnt is weights else learnt, estimator, made, control)
        return self

    # ------------------------------------------------------------ before the search

    def _read(self, X: Any, y: Any) -> tuple[Points, Array | None, Array]:
        """Checked points, targets (None if there are none), and the codes of classes (empty if there are none)."""
        X, y = self._training_points(X, y, supervised=True, numeric=not self._classifies)
        if not self._classifies:
            return X, y.astype(np.float64), np.empty(0, np.int64)
        self.classes_, codes = check_labels(y)
        return X, self.classes_[codes], codes

    def _learnt(self, y: Array | None, weights: Array) -> Array:
        """The weights of the samples in training."""
        return weights

    def _scorer(self, points: Points, weight: Array, y: Array | None) -> Any:
        """The scorer, given canonical rows, their weights in training, and the targets."""
        return scorer_of(self, self.scoring)

    def _rows(self, X: Points, target: Array, weights: Array) -> CanonicalRows:
        """Canonical rows; of classifiers class by class, so that the rows of a pair of classes lie together."""
        rows = canonical_rows(X, target, weights, merge=not self._is_precomputed())
        if not self._classifies:
            return rows
        order = np.argsort(target[rows.representative], kind="stable")
        place = np.empty(len(order) + 1, np.int64)
        place[order], place[-1] = np.arange(len(order)), -1
        return replace(
            rows,
            representative=rows.representative[order],
            member_of=place[rows.member_of],
            weight=rows.weight[order],
            key=rows.key[order],
        )

    def _points(self, X: Points, at: Array) -> Points:
        if not self._is_precomputed():
            return computing_form(X[at])
        K = X.toarray() if sp.issparse(X) else X
        return K if np.array_equal(at, np.arange(len(K))) else K[np.ix_(at, at)]

    def _variants(self, points: Points, weights: Array) -> list[Variant]:
        around = None
        if isinstance(self.kernel, str) and self.kernel in KERNELS:
            has_gamma = "gamma" in KERNELS[self.kernel]._get_param_names()
            if has_gamma and points.ndim == 2:
                scale = 1.0 if self.kernel == "chi2" else resolve_gamma("scale", points, weights)
                around = [float(f"{factor * scale:.6g}") for factor in GAMMAS_TIMES_SCALE]
        axes = kernel_axes(self.kernel, self.gammas, self.kernel_params, around)
        return variants(self.kernel, axes, degree=self.degree, coef0=self.coef0)

    def _resolved_all(self, X: Points, points: Points, weights: Array, made: Sequence[Variant]) -> list[Kernel | str]:
        """Every kernel made ready, or why it cannot be; an error if none can."""
        found: list[Kernel | str] = []
        first: Exception | None = None
        for variant in made:
            try:
                kernel = variant.kernel
                if not isinstance(kernel, Precomputed):
                    kernel.check_points(X)  # here, where an error can still name the user's rows
                    names = getattr(self, "feature_names_in_", None)
                    kernel = kernel.resolve(points, sample_weight=weights, feature_names=names)
                found.append(kernel)
            except (ValueError, TypeError) as error:
                first = first or error
                found.append(f"{type(error).__name__}: {error}")
        if first is not None and all(isinstance(kernel, str) for kernel in found):
            raise first
        return found

    def _finer(
        self, known: Sequence[Cell], best: int | None, made: Sequence[Variant], resolved: Sequence[Kernel | str]
    ) -> tuple[list[Cell], list[Variant]]:
        """Cells around the best that are not known yet, and their kernels."""
        assert best is not None
        cell = known[best]
        axes: dict[str, list[Any]] = {}
        for name, value in cell.params.items():
            if name == "gamma" and isinstance(value, str):
                value = float(resolved[cell.variant].gamma)  # type: ignore[union-attr]
            tried = [other.params.get(name) for other in known] + [value]
            most = 1.0 if name == "nu" else np.inf
            axes[name] = finer(tried, value, most) if name in self._refined and np.isfinite(value) else [value]
        of_kernel = {name: axes[name] for name in made[cell.variant].params}
        spec = made[cell.variant].params.get("kernel", self.kernel)
        more = variants(spec, of_kernel, degree=self.degree, coef0=self.coef0)
        fresh = cells(more, {name: axes[name] for name in cell.hyperparameters}, first=len(made))
        tried = [other.params for other in known]
        return [one for one in fresh if one.params not in tried], more

    # ------------------------------------------------------------ after the search

    def _publish(self, search: Search, resolved: Sequence[Kernel | str]) -> None:
        table, status = search.table, search.control.stop()
        if status is Status.DEADLINE and not search.cut:  # it was complete in time
            status = None
        best = table.best()
        reasons = table.error_reasons()
        if best is None and status is Status.INTERRUPTED:
            raise NothingKept("The search was interrupted before any cell had a score.")
        if best is None and status is not None:
            raise TimeoutError(
                f"The search ended before any cell had a score ({status.value}): there is no best model yet."
            )
        if best is None:
            c, k = next((c, k) for c in reasons for k in reasons[c])
            why = reasons[c][k].rstrip(".")
            remedy = " The AUC ranks two classes: for more, use 'balanced_accuracy' or 'f1_macro'." * (
                "multi_class" in why
            )
            raise ValueError(
                f"No cell of the grid has a score (scoring={self.scoring!r}). The first, {table.cells[c].params} on "
                f"split {k}: {why}.{remedy}"
            )
        self.cv_results_ = table.cv_results()
        self.error_reasons_ = reasons
        self.best_index_ = best
        self.best_params_ = dict(table.cells[best].params)
        self.best_score_ = float(np.nanmean(table.scores[best]))
        self.n_splits_ = len(search.folds)
        self.status_ = "complete" if status is None else status.value
        for name, value in table.cells[best].hyperparameters.items():
            setattr(self, f"{name}_", value)
        for name in ("gamma_", "best_estimator_", "refit_time_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        gamma = getattr(resolved[table.cells[best].variant], "gamma", None)
        if gamma is not None:
            self.gamma_ = float(gamma)
        self._variant = table.cells[best].variant
        self._chosen = dict(table.cells[best].hyperparameters)
        missing = int(np.count_nonzero(np.isnan(np.array(table.scores))))
        total = len(table.cells) * len(search.folds)
        if status is not None:
            done = int(np.count_nonzero(~np.isnan(table.means())))
            warn(
                f"{type(self).__name__} scored {done} of {len(table.cells)} cells ({status.value}). The parameters are "
                f"the best so far: {self.best_params_}.",
                ConvergenceWarning,
            )
        elif missing:
            c = next(iter(reasons))
            k = next(iter(reasons[c]))
            warn(
                f"{missing} of {total} scores are missing; the first, of {table.cells[c].params} on split {k}: "
                f"{reasons[c][k].rstrip('.')}. error_reasons_ has all.",
                FitFailedWarning,
            )
        if search.unfinished:
            warn(
                f"{search.unfinished} of {total} fits ended before tol={self.tol:g} was reached; their scores are "
                "those of the best models so far. Raise max_iter, or scale the columns of X.",
                ConvergenceWarning,
            )

    def _refit(
        self, X: Any, y: Array, sample_weight: Any, estimator: Any, made: Sequence[Variant], control: Control
    ) -> None:
        """The best model, fitted to all data."""
        estimator.set_params(**self._kernel_parameters(made[self._variant]))
        estimator.set_params(**self._chosen, verbose=False)
        if self.max_seconds is not None:
            estimator.set_params(max_seconds=max(0.1 * self.max_seconds, self.max_seconds - control.seconds))
        began = time.perf_counter()
        estimator.fit(X, y, sample_weight=sample_weight)
        self.refit_time_ = time.perf_counter() - began
        if self.verbose:
            print_note(f"{control.seconds:8.2f} s  the best model fitted to all samples")
        self.best_estimator_ = estimator.set_params(max_seconds=self.max_seconds)

    def _kernel_parameters(self, variant: Variant) -> dict[str, Any]:
        """The best kernel, as a parameter of the estimator: by name, if it has one."""
        spec = variant.params.get("kernel", self.kernel)
        rest = {name: value for name, value in variant.params.items() if name != "kernel"}
        by_name = isinstance(spec, str) and all(name in NAMED for name in rest)
        return {"kernel": spec, **rest} if by_name else {"kernel": variant.kernel}

    @property
    def _kept_after_interrupt(self) -> str:
        """What an interrupted search holds, for the message of the exception."""
        if hasattr(self, "best_estimator_"):
            return KEPT_MODEL
        return (
            "the search holds the scores so far (cv_results_, best_params_), and no model. Inside `with "
            'maxmargin.interrupts("keep"):` fit also fits the best candidate so far, and returns.'
        )

    def _best(self, method: str) -> Any:
        """The best model, fitted on all rows."""
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            cause = "the search was stopped before it was fitted" if self.refit else "refit=False left it unfitted"
            raise NotFittedError(f"{method} needs the best model, and {cause}: call fit again with refit=True.")
        return self.best_estimator_

    @property
    def n_iter_(self) -> Any:
        """Solver steps of the best model."""
        return self._best("n_iter_").n_iter_

    def predict(self, X: Any) -> Array:
        """Labels or values of new points, by the best model.

        {X_new -> values}
        """
        return self._best("predict").predict(X)
