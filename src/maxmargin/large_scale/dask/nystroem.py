"""Estimators on landmarks for rows on many computers: ``NystroemSVC``, ``NystroemSVR`` and ``NystroemRidge``.

The client chooses kernel and landmarks (:mod:`maxmargin.large_scale.dask.landmarks`) and sends them to every worker
once. The workers compute k(x_i, z_j) for their rows, and keep the values if their memory allows. The rest is the local
fit: Newton's method over the row oracle, which the shards implement.
"""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np

from maxmargin import large_scale
from maxmargin.large_scale.auto import Search
from maxmargin.large_scale.dask.estimator import DASK_ENTRIES, ClusterClassifier, ClusterEstimator, with_client
from maxmargin.large_scale.dask.landmarks import choose, find_size
from maxmargin.large_scale.dask.oracle import DaskOracle
from maxmargin.large_scale.dask.partitions import is_collection, one_column
from maxmargin.large_scale.dask.problems import LandmarkSetup, classes_of
from maxmargin.large_scale.dask.shards import Traffic
from maxmargin.large_scale.dask.training import Summary, Training, counted_workers, training
from maxmargin.large_scale.estimator import Fitted
from maxmargin.large_scale.features.landmarks import check_landmark_columns, generator_of
from maxmargin.large_scale.rows.targets import Regression
from maxmargin.large_scale.training import Problem, budget_of, factor_of, solve
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array


@documented(DASK_ENTRIES)
class LandmarksOnCluster(ClusterEstimator, abc.ABC):
    """The fit of landmark estimators for rows on a cluster."""

    _numeric = True  # whether y holds target values, not labels

    @abc.abstractmethod
    def _pose_summaries(self, summaries: list[Summary]) -> Problem:
        """The problem of all rows, from the summaries of the partitions."""

    def _check_targets(self, y: Any) -> Any:
        """Refuse targets of the wrong shape; most are checked by the workers."""
        return y

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to training data on the cluster.

        {X, y, sample_weight -> self}
        """
        self._check_parameters()
        if not is_collection(X) and self._kernel().objects(X) is not None:
            raise ValueError(
                "X holds objects that are not vectors, and rows on dask are vectors: use maxmargin.large_scale."
                f"{type(self).__name__}."
            )
        y, control = self._check_targets(y), Control.of(self)
        reading = training(self, X, y, sample_weight, control, numeric=self._numeric)
        with control.catching_interrupts(), reading as data:
            self._publish(self._fit_shards(data, self._pose_summaries(data.summaries), control), control)
        return self

    def _fit_shards(self, data: Training, problem: Problem, control: Control) -> Fitted:
        """Train on all rows."""
        check_landmark_columns(self)
        rng = generator_of(0 if self.random_state is None else self.random_state)
        n = sum(one.used for one in data.summaries)
        with single_threaded_blas():
            found: Search | None = None
            m = 1
            if self.n_components == "auto" and isinstance(self.landmarks, str):
                found = find_size(self, data, problem, rng, control)
                m = found.n_components
            elif isinstance(self.landmarks, str):
                m = min(int(self.n_components), n)
            chosen = choose(self, data, m, rng)
            self.kernel_ = chosen.kernel
            K_mm = chosen.landmarks.matrix(chosen.kernel, chosen.sample)
            budget = len(data.assigned) * budget_of(self.cache_size)
            # The weight matters for the squared loss alone, which is that of regressions.
            loss_weight = problem.task.loss_weight if isinstance(problem.task, Regression) else 0.0
            factor, dtype = factor_of(K_mm, chosen.kernel, n, problem.loss, loss_weight, budget)
        m = len(chosen.landmarks)
        self.traffic_ = Traffic()
        setup = LandmarkSetup(
            chosen.kernel, chosen.landmarks.points, factor.T, dtype, problem.task, self.cache_size, self.n_jobs
        )
        shards = data.shards(setup, self.traffic_)
        oracle = DaskOracle(shards, m, len(problem.first_b))
        held = all(shards.call_all(lambda _, actor: actor.held()))
        with data.solving(control):
            trained = solve(self, chosen.landmarks, factor, problem, oracle, held, control)
        stopped = trained.solution.status in (Status.DEADLINE, Status.INTERRUPTED)
        error = chosen.error(factor, rng) if not stopped and m < n else None
        source = f"{data.n:,} {counted_workers(self.traffic_)}"
        return Fitted(trained, error, found, n, (data.n, data.width), data.dtype, source)

    @all_or_nothing
    def fit_stream(self, *arguments: Any, **options: Any) -> Any:
        """Not supported: use the local estimator for streams."""
        raise AttributeError(
            f"{type(self).__name__} of maxmargin.large_scale.dask takes no streams: use that of maxmargin."
        )


@documented(DASK_ENTRIES)
@with_client(large_scale.NystroemSVC, "maxmargin.large_scale.NystroemSVC")
class NystroemSVC(ClusterClassifier, LandmarksOnCluster, large_scale.NystroemSVC):
    """Support vector classification with a kernel, for rows on a Dask cluster.

    {landmark_model}

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from maxmargin.large_scale.dask import NystroemSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystroemSVC(C=10.0, gamma=0.001, n_components=150, tol=1e-2)
    >>> model = model.fit(da.from_array(X, chunks=(600, 64)), da.from_array(y, chunks=600))
    >>> model.to_local().score(X, y) > 0.95
    True
    """

    _numeric = False

    def _pose_summaries(self, summaries: list[Summary]) -> Problem:
        self.classes_, totals = classes_of(summaries)
        return self._pose(totals, self.classes_)


class RegressionSummaries:
    """The regression problem of the summaries; a mixin."""

    _pose: Any  # that of the local estimator

    def _pose_summaries(self, summaries: list[Summary]) -> Problem:
        weight = sum(one.weight for one in summaries)
        mean: Array = np.asarray(sum(one.labels for one in summaries if one.n) / weight)
        squares: Array = np.asarray(sum(one.totals for one in summaries if one.n) / weight)
        return self._pose(mean, float(np.sqrt(np.maximum(squares - mean**2, 0.0)).max()))


@documented(DASK_ENTRIES)
@with_client(large_scale.NystroemSVR, "maxmargin.large_scale.NystroemSVR")
class NystroemSVR(RegressionSummaries, LandmarksOnCluster, large_scale.NystroemSVR):
    """Support vector regression with a kernel, for rows on a Dask cluster.

    {landmark_model}

    Examples
    --------
    >>> import dask.array as da
    >>> from maxmargin.large_scale.dask import NystroemSVR
    >>> X = da.linspace(0.0, 6.0, 1000, chunks=250)[:, None]
    >>> model = NystroemSVR(C=10.0, epsilon=0.01, n_components=20).fit(X, da.sin(X[:, 0]))
    >>> model.predict(X)
    dask.array<...shape=(1000,), dtype=float64, chunksize=(250,)...>
    """

    def _check_targets(self, y: Any) -> Any:
        y = one_column(y)
        if getattr(y, "ndim", 1) != 1:
            raise ValueError(f"y must have one dimension, one number per row; got {y.ndim}.")
        return y


@documented(DASK_ENTRIES)
@with_client(large_scale.NystroemRidge, "maxmargin.large_scale.NystroemRidge")
class NystroemRidge(RegressionSummaries, LandmarksOnCluster, large_scale.NystroemRidge):
    """Kernel ridge regression with landmarks, for rows on a Dask cluster.

    {landmark_model}

    Examples
    --------
    >>> import dask.array as da
    >>> from maxmargin.large_scale.dask import NystroemRidge
    >>> X = da.linspace(0.0, 6.0, 1000, chunks=250)[:, None]
    >>> model = NystroemRidge(alpha=1e-3, n_components=20).fit(X, da.sin(X[:, 0]))
    >>> model.predict(X).compute().shape
    (1000,)
    """

    def _check_targets(self, y: Any) -> Any:
        self._single = (y.ndim if hasattr(y, "ndim") else np.asarray(y).ndim) == 1
        return y
