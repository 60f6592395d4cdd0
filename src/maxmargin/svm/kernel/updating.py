"""``learn`` and ``forget``: rows that come to a fitted model and rows that leave it, without starting from nothing.

A model is updated by the same fit, over the rows as they are now, from where the solution was: rows that stay keep
their variables, new rows begin at zero, and what removed rows leave of the equality constraint goes to free variables
(:mod:`maxmargin.svm.kernel.warm_start`). The result is certified like any fit, so that it is the model
of a fit to the same rows, to ``tol``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin.kernels import Precomputed
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_targets, check_weights
from maxmargin.svm.kernel.context import InputRows
from maxmargin.svm.kernel.warm_start import WarmStart

TWO_SIDED = ("eps_svr", "nu_svr")


class UpdateMixin:
    """An estimator whose fit with ``warm_start`` keeps a reference to its rows, and can start from its own
    coefficients."""

    _kind: ClassVar[str]  # of its problems, as in :class:`~maxmargin.problems.dual.DualProblem`
    _updated: Callable[[InputRows, WarmStart | None], Any]  # the fit over validated rows, from a start

    @all_or_nothing
    def learn(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the training set of the fitted model, and update it from where it is.

        The model is that of ``fit`` on all rows, to ``tol``, and certified in the same way. Parameters that ``fit``
        takes from the data (``gamma="scale"``, ``class_weight="balanced"``) follow all rows too.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points.
        y : array-like of shape (n_new,)
            Their targets; :class:`~maxmargin.OneClassSVM` has none.
        sample_weight : array-like of shape (n_new,), default=None
            Their weights.

        Returns
        -------
        self : object
            The updated estimator. New rows come after the old ones, in ``support_`` for instance.
        """
        rows = self._checked_rows("learn")
        X = self._new_points(X)  # type: ignore[attr-defined]
        weights = check_weights(sample_weight, X.shape[0])
        target = np.zeros(X.shape[0])
        if self._kind != "one_class":
            if y is None:
                raise ValueError(f"learn needs y, the targets of the new rows; {type(self).__name__} has targets.")
            target = check_targets(y, X.shape[0], numeric=self._kind in TWO_SIDED)
            target = _labels_like(target, rows.target)
        sparse = sp.issparse(rows.X) or sp.issparse(X)
        points = sp.vstack([rows.X, X], format="csr") if sparse else np.concatenate([rows.X, X])
        everything = InputRows(points, np.concatenate([rows.target, target]), np.concatenate([rows.weight, weights]))
        origin = np.concatenate([np.arange(rows.X.shape[0]), np.full(X.shape[0], -1)])
        return self._updated(everything, self._start(rows, origin))

    @all_or_nothing
    def forget(self, rows: Any) -> Self:
        """Remove rows from the training set of the fitted model, and update it from where it is.

        The model is that of ``fit`` on the remaining rows, to ``tol``, and certified in the same way.

        Parameters
        ----------
        rows : int or array-like of int, or boolean mask of shape (n_samples,)
            Rows of the training set, counted as they were given to ``fit`` and ``learn``.

        Returns
        -------
        self : object
            The updated estimator; the remaining rows keep their order.
        """
        given = self._checked_rows("forget")
        keep = np.ones(given.X.shape[0], bool)
        keep[_checked_places(rows, len(keep))] = False
        if not keep.any():
            raise ValueError(f"rows names all {len(keep):,} training rows: at least one must remain.")
        kept = InputRows(given.X[keep], given.target[keep], given.weight[keep])
        return self._updated(kept, self._start(given, np.flatnonzero(keep)))

    def _start(self, rows: InputRows, origin: Array) -> WarmStart | None:
        """The solution of the last fit, which was over these rows; ``origin`` says which of them today's rows are."""
        last: WarmStart | None = self._last_fit  # type: ignore[attr-defined]
        return None if last is None else last.over(rows, origin)

    def _checked_rows(self, method: str) -> InputRows:
        """The rows of the last fit, or why they are not there."""
        check_is_fitted(self)
        self._check_parameters()  # type: ignore[attr-defined]
        name = type(self).__name__
        if isinstance(self.kernel_, Precomputed):  # type: ignore[attr-defined]
            raise ValueError(f"{method} needs points; this {name} was fitted to a kernel matrix. Use fit.")
        rows: InputRows | None = vars(self).get("_training_rows")
        if rows is None:
            raise ValueError(
                f"{method} needs the training rows, which this {name} does not have: only a fit with warm_start=True "
                "keeps them; copies, pickles and model files hold the support vectors only. Fit with warm_start=True."
            )
        if rows.target.ndim > 1:
            raise ValueError(f"{method} takes models of one target; this {name} has several. Use fit.")
        vectors, now = self.support_vectors_, rows.X[self.support_]  # type: ignore[attr-defined]
        same = (vectors != now).nnz == 0 if sp.issparse(now) else bool(np.all(vectors == now))
        if not same:
            raise ValueError(f"X has been changed in place since fit, so that {method} would mix two sets. Use fit.")
        return rows


def _labels_like(labels: Array, known: Array) -> Array:
    """New labels as those that are known: text or numbers, and in the type of these where it holds them."""
    text = [isinstance(some[0], (str, bytes)) for some in (labels, known)]
    if text[0] != text[1]:
        kind = "text" if text[1] else "numbers"
        raise ValueError(
            f"y has the label {labels[0]!r}, but the labels of the model are {kind}, like {known[0]!r}: give {kind}."
        )
    if text[0] or labels.dtype == known.dtype:
        return labels
    same = labels.astype(known.dtype)
    return same if np.array_equal(same, labels) else labels


def _checked_places(rows: Any, n: int) -> Array:
    """Distinct places of rows, from integers or a mask."""
    places = np.atleast_1d(np.asarray(rows))
    if places.dtype == bool:
        if places.shape != (n,):
            raise ValueError(f"rows is a mask of shape {places.shape}; it needs one entry for each of {n:,} rows.")
        return np.flatnonzero(places)
    if places.ndim != 1 or (places.size and not np.issubdtype(places.dtype, np.integer)):
        raise TypeError(f"rows must be integers, the positions of training rows, or a boolean mask; got {rows!r:.60}.")
    outside = places[(places < -n) | (places >= n)]
    if len(outside):
        raise ValueError(f"rows has {outside[0]}, but the model was fitted to {n:,} rows, 0 to {n - 1:,}.")
    return np.unique(places.astype(np.int64) % n)
