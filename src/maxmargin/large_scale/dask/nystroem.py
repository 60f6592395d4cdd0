"""Kernel machines on landmarks for rows on many computers: ``NystroemSVC``, ``NystroemSVR`` and ``NystroemRidge``.

The client chooses kernel and landmarks (:mod:`maxmargin.large_scale.dask.landmarks`) and sends them to every worker,
once. The workers compute k(x_i, z_j) for their rows, and hold the values where their memory allows. The rest is the
one-machine fit: Newton's method, its questions answered by shards.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from maxmargin import large_scale as approximation
from maxmargin.large_scale.auto import Search
from maxmargin.large_scale.dask.auto import find_size
from maxmargin.large_scale.dask.landmark_problems import LabelTargets, LandmarkSetup, ValueTargets
from maxmargin.large_scale.dask.landmarks import choose
from maxmargin.large_scale.dask.linear_problems import classes_of
from maxmargin.large_scale.dask.oracle import DaskRounds
from maxmargin.large_scale.dask.partitions import is_collection, one_column
from maxmargin.large_scale.dask.prediction import LazyPrediction
from maxmargin.large_scale.dask.shards import Traffic
from maxmargin.large_scale.dask.training import Summary, Training, training
from maxmargin.large_scale.estimator import Fitted
from maxmargin.large_scale.features.kernel_error import KernelError
from maxmargin.large_scale.features.landmarks import check_landmark_columns, generator_of
from maxmargin.large_scale.losses import Loss
from maxmargin.large_scale.newton import Newton
from maxmargin.large_scale.training import Rows, Trained, budget_of, factor_of
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, callers_level, check_class_weights
from maxmargin.svm.models.expansion import KernelExpansion

Machine = TypeVar("Machine", bound=type)


def with_client(cls: Machine) -> Machine:
    """The parameters of the one-machine estimator, and ``client``."""
    parent = cls._local.__init__  # type: ignore[attr-defined]
    signature = inspect.signature(parent)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)

    @functools.wraps(parent)
    def __init__(self: Any, *arguments: Any, client: Any = None, **parameters: Any) -> None:
        parent(self, *arguments, **parameters)
        self.client = client

    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), client]
    )
    cls.__init__ = __init__  # type: ignore[misc]
    return cls


class OnCluster(LazyPrediction):
    """What the machines on landmarks do differently where the rows are on a cluster."""

    _local: ClassVar[Any]
    traffic_: Traffic

    def _check(self, X: Any) -> None:
        machine: Any = self
        machine._check_parameters()
        if not is_collection(X) and machine._kernel().objects(X) is not None:
            raise ValueError(
                "X holds objects that are not vectors, and rows on dask are vectors: use maxmargin.large_scale."
                f"{type(self).__name__}."
            )

    def _fit_shards(
        self,
        data: Training,
        targets: LabelTargets | ValueTargets,
        loss: Loss,
        scale: float,
        first_b: Array,
        control: Control,
    ) -> Fitted:
        """Train on all rows, and set what does not depend on the kind of machine."""
        machine: Any = self
        check_landmark_columns(machine)
        rng = generator_of(0 if machine.random_state is None else machine.random_state)
        with single_threaded_blas():
            n = sum(one.used for one in data.summaries)
            found: Search | None = None
            m = 1
            if machine.n_components == "auto" and isinstance(machine.landmarks, str):
                found = find_size(machine, data, targets, loss, scale, first_b, rng, control)
                m = found.n_components
            elif isinstance(machine.landmarks, str):
                m = min(int(machine.n_components), n)
            chosen = choose(machine, data, m, rng)
            machine.kernel_ = chosen.kernel
            K_mm = chosen.landmarks.matrix(chosen.kernel, chosen.sample)
            price = targets.price if isinstance(targets, ValueTargets) else 0.0  # of squares, which are of regressions
            budget = len(data.homes) * budget_of(machine.cache_size)
            factor, dtype = factor_of(K_mm, chosen.kernel, n, loss, price, budget)
        m, T = len(chosen.landmarks), factor.T
        self.traffic_ = Traffic()
        setup = LandmarkSetup(
            chosen.kernel, chosen.landmarks.points, T, dtype, targets, machine.cache_size, machine.n_jobs
        )
        shards = data.shards(setup, self.traffic_)
        rounds = DaskRounds(shards, m, len(first_b))
        held = all(shards.every(lambda _, actor: actor.held()))
        newton = Newton(
            T, loss, intercept=bool(machine.fit_intercept), tol=float(machine.tol), control=control, scale=scale
        )
        with data.solving(control):
            solution = newton.solve(rounds, first_b=first_b)
        trained = Trained(chosen.landmarks, factor, solution, T @ solution.w, rounds, held)  # type: ignore[arg-type]
        error: KernelError | None = None
        if solution.status not in (Status.DEADLINE, Status.INTERRUPTED) and m < n:
            error = chosen.error(factor, rng)
        machine.landmarks_, machine.landmark_indices_ = chosen.landmarks.points, chosen.landmarks.indices
        machine.n_components_ = m
        machine.n_iter_, machine.history_ = solution.n_iter, solution.history
        machine._squares = np.array([c.norm**2 for c in solution.certificates])
        rows = Rows(SimpleNamespace(shape=(n, data.width)), np.empty(0), np.empty(0))
        workers = self.traffic_.workers
        source = f"{data.n:,} on {workers} worker{'s' if workers != 1 else ''}, {self.traffic_.rounds} rounds"
        return Fitted(rows, trained, error, found, control, source)

    def _like(self, data: Training) -> Any:
        """What the report wants to know of X."""
        return SimpleNamespace(shape=(data.n, data.width), ndim=2, dtype=data.dtype)

    def _warn(self, X: Any, gap: float) -> None:
        report = self.report_  # type: ignore[attr-defined]
        warnings.warn(
            f"{type(self).__name__} did not converge ({report.status.value}). The model is the best one so far: its "
            f"certified relative duality gap is {gap:.2e} (tol={report.tol:g}).",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )

    def to_local(self) -> Any:
        """The same machine as an ordinary one-machine estimator, to be saved or used where there is no cluster.

        Returns
        -------
        machine : estimator of :mod:`maxmargin.large_scale`
            Fitted, of the same name.
        """
        check_is_fitted(self)
        machine = self._local(**{k: v for k, v in self.get_params(deep=False).items() if k != "client"})  # type: ignore[attr-defined]
        for name, value in vars(self).items():
            if name not in ("client", "traffic_"):
                setattr(machine, name, value)
        return machine

    @all_or_nothing
    def fit_stream(self, *arguments: Any, **options: Any) -> Any:
        """Not here: a stream is fitted by the one-machine estimator."""
        raise AttributeError(
            f"{type(self).__name__} of maxmargin.large_scale.dask takes no streams: use that of maxmargin."
        )


@with_client
class NystroemSVC(OnCluster, approximation.NystroemSVC):
    """Support vector classification with a kernel, of rows that lie on many computers.

    The machine is that of :class:`maxmargin.large_scale.NystroemSVC`, with the same parameters and attributes, over
    the same landmarks. ``n_components="auto"`` tries sizes on rows that the client can hold, up to 100,000. With
    ``kernel="precomputed"`` X is the square kernel matrix, in chunks of rows.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0, n_components, landmarks, loss, fit_intercept, class_weight, tol, cache_size, \
max_iter, max_seconds, random_state, n_jobs, verbose
        As for :class:`maxmargin.large_scale.NystroemSVC`; ``cache_size`` and ``n_jobs`` are those of a worker.
    client : distributed.Client or None, default=None
        The cluster; None means the current client, or a small cluster in this process if there is none.

    Attributes
    ----------
    traffic_ : Traffic
        Rounds, and bytes between client and workers; the others are those of the one-machine estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from maxmargin.large_scale.dask import NystroemSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> machine = NystroemSVC(C=10.0, gamma=0.001, n_components=150, tol=1e-2)
    >>> machine = machine.fit(da.from_array(X, chunks=(600, 64)), da.from_array(y, chunks=600))
    >>> machine.to_local().score(X, y) > 0.95
    True
    """

    _local = approximation.NystroemSVC

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to training data on the cluster.

        Parameters
        ----------
        X : dask array or dataframe, list of delayed blocks, or array-like, of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the square kernel matrix.
        y : dask array or series, or array-like, of shape (n_samples,)
            Class labels: numbers, strings or booleans.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), default=None

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check(X)
        control = Control.of(self)
        with control.catching_interrupts(), training(self, X, y, sample_weight, control) as data:
            self.classes_, totals = classes_of(data.summaries)
            n_classes = len(self.classes_)
            self.class_weight_ = check_class_weights(self.class_weight, self.classes_, np.arange(n_classes), totals)
            self._present = totals * self.class_weight_ > 0
            if not self._present.any():
                raise ValueError("All samples have zero weight once class_weight is applied: there is nothing to fit.")
            present = np.flatnonzero(self._present)
            targets = LabelTargets(self.classes_, present, self.class_weight_[present], float(self.C))
            first_b = np.zeros(1 if len(present) <= 2 else len(present))
            fitted = self._fit_shards(data, targets, Loss.named(self.loss), 1.0, first_b, control)
            self._spread(fitted)
            machines = f", one-vs-rest, {n_classes} machines" if n_classes > 2 else ""
            self._account(
                self._like(data),
                fitted,
                f"NystroemSVC, approximate, {n_classes} classes{machines}",
                self._parameters(),
                "training error",
            )
        return self

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


def target_moments(summaries: list[Summary]) -> tuple[Array, float]:
    """The mean of every output, and the largest standard deviation."""
    weight = sum(one.weight for one in summaries)
    sums = sum(one.labels for one in summaries if one.n)
    squares = sum(one.totals for one in summaries if one.n)
    mean = np.asarray(sums / weight)
    variance = np.maximum(np.asarray(squares / weight) - mean**2, 0.0)
    spread = float(np.sqrt(variance).max())
    if not math.isfinite(spread):
        raise ValueError("The targets are so large that their squares overflow: divide y by a constant.")
    return mean, spread


class ValuesOnCluster(OnCluster):
    """What the regressions share."""

    def _fit_regression(self, X: Any, y: Any, sample_weight: Any) -> None:
        machine: Any = self
        self._check(X)
        control = Control.of(machine)
        with (
            control.catching_interrupts(),
            training(self, X, y, sample_weight, control, numeric=True) as data,
        ):
            mean, spread = target_moments(data.summaries)
            scale = spread if spread > 0 else max(1.0, float(np.abs(mean).max()))
            first_b = mean if machine.fit_intercept else np.zeros(len(mean))
            fitted = self._fit_shards(data, ValueTargets(machine._price()), machine._loss(), scale, first_b, control)
            machine.coefficients_, machine.intercept_ = fitted.trained.coefficients, fitted.trained.solution.b
            machine._expansion = KernelExpansion(
                machine.kernel_, machine.landmarks_, machine.coefficients_, machine.intercept_
            )
            machine._single = (y.ndim if hasattr(y, "ndim") else np.asarray(y).ndim) == 1
            many = f", {len(mean)} targets" if len(mean) > 1 else ""
            machine._account(
                self._like(data),
                fitted,
                f"{type(self).__name__}, approximate{many}",
                machine._parameters(),
                "root mean squared training error",
            )


@with_client
class NystroemSVR(ValuesOnCluster, approximation.NystroemSVR):
    """Support vector regression with a kernel, of rows that lie on many computers.

    The machine is that of :class:`maxmargin.large_scale.NystroemSVR`, with the same parameters and attributes, over
    the same landmarks. ``n_components="auto"`` tries sizes on rows that the client can hold, up to 100,000. With
    ``kernel="precomputed"`` X is the square kernel matrix, in chunks of rows.

    Parameters
    ----------
    C, epsilon, kernel, gamma, degree, coef0, n_components, landmarks, loss, fit_intercept, tol, cache_size, max_iter, \
max_seconds, random_state, n_jobs, verbose
        As for :class:`maxmargin.large_scale.NystroemSVR`; ``cache_size`` and ``n_jobs`` are those of a worker.
    client : distributed.Client or None, default=None
        The cluster; None means the current client, or a small cluster in this process if there is none.

    Attributes
    ----------
    traffic_ : Traffic
        Rounds, and bytes between client and workers; the others are those of the one-machine estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from maxmargin.large_scale.dask import NystroemSVR
    >>> X = da.linspace(0.0, 6.0, 1000, chunks=250)[:, None]
    >>> machine = NystroemSVR(C=10.0, epsilon=0.01, n_components=20).fit(X, da.sin(X[:, 0]))
    >>> machine.predict(X)
    dask.array<...shape=(1000,), dtype=float64, chunksize=(250,)...>
    """

    _local = approximation.NystroemSVR

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to training data on the cluster.

        Parameters
        ----------
        X : dask array or dataframe, list of delayed blocks, or array-like, of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the square kernel matrix.
        y : dask array or series, or array-like, of shape (n_samples,)
            Target values.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), default=None

        Returns
        -------
        self : object
            The fitted estimator.
        """
        y = one_column(y)
        if getattr(y, "ndim", 1) != 1:
            raise ValueError(f"y must have one dimension, one number a row; got {y.ndim}.")
        self._fit_regression(X, y, sample_weight)
        return self


@with_client
class NystroemRidge(ValuesOnCluster, approximation.NystroemRidge):
    """Kernel ridge regression on landmarks, of rows that lie on many computers.

    The machine is that of :class:`maxmargin.large_scale.NystroemRidge`, with the same parameters and attributes, over
    the same landmarks. ``n_components="auto"`` tries sizes on rows that the client can hold, up to 100,000. With
    ``kernel="precomputed"`` X is the square kernel matrix, in chunks of rows.

    Parameters
    ----------
    alpha, kernel, gamma, degree, coef0, n_components, landmarks, fit_intercept, tol, cache_size, max_iter, \
max_seconds, random_state, n_jobs, verbose
        As for :class:`maxmargin.large_scale.NystroemRidge`; ``cache_size`` and ``n_jobs`` are those of a worker.
    client : distributed.Client or None, default=None
        The cluster; None means the current client, or a small cluster in this process if there is none.

    Attributes
    ----------
    traffic_ : Traffic
        Rounds, and bytes between client and workers; the others are those of the one-machine estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from maxmargin.large_scale.dask import NystroemRidge
    >>> X = da.linspace(0.0, 6.0, 1000, chunks=250)[:, None]
    >>> machine = NystroemRidge(alpha=1e-3, n_components=20).fit(X, da.sin(X[:, 0]))
    >>> machine.predict(X).compute().shape
    (1000,)
    """

    _local = approximation.NystroemRidge

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the function to training data on the cluster.

        Parameters
        ----------
        X : dask array or dataframe, list of delayed blocks, or array-like, of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the square kernel matrix.
        y : dask array, series or dataframe, or array-like, of shape (n_samples,) or (n_samples, n_targets)
            Target values.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), default=None

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit_regression(X, y, sample_weight)
        return self
