"""The same model with fewer support vectors.

A model's functions f_t = sum_i c_it k(x_i, .), t = 1..T, lie in the span of its N support vectors; mostly they are
close to the span of far fewer. For a subset S the nearest functions in feature space are the projections

    f_t^S = sum_{i in S} beta_it k(x_i, .),             beta = K_SS^-1 K_SN c,

one linear system for all of them. S grows greedily, like orthogonal matching pursuit (Pati, Rezaiifar & Krishnaprasad
1993): with the residuals r_t = f_t - f_t^S and d_i = |phi(x_i)|^2 after its projection on S is taken away, one more
vector i lowers sum_t |r_t|^2 / |f_t|^2 by

    score_i = sum_t r_t(x_i)^2 / (d_i |f_t|^2),

and the best are taken, a block at a time. A pivoted Cholesky factor of K, K ~ L L' with the columns of S, carries it:
r_t(x_i) and d_i follow from L alone, and beta is a triangular system. (Burges 1996 moves the vectors too; here they
stay training points, and can be named.)

How many are enough is measured: on points X the compressed model may change at most a share ``tolerance`` of the
labels, or for a regression the values by that part of their standard deviation. The smallest such subset among those of
the greedy order is found by bisection.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin.inspection._functions import check_is_expansion
from maxmargin.kernels import Precomputed
from maxmargin.runtime.text_report import TextReport
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, Points, check_memory, check_number, shown
from maxmargin.svm.kernel_input import gram_of
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import pairs
from maxmargin.svm.models.terms import support_codes, support_coefficients

JOIN_MIN_VECTORS, JOIN_MAX_VECTORS = 16, 128  # vectors that join at a time
CANDIDATES_PER_VECTOR = 4  # times as many are evaluated
SPANNED_SHARE = 1e-10  # a vector whose d_i / k_ii is below this lies in the span already
SIZE_GROWTH = 1.3  # sizes at which the change is measured grow by this factor
MEASURED_ROWS = 4000  # rows of X on which it is measured on the way; all of them at the end


@dataclass(frozen=True)
class CompressionReport(TextReport):
    """The result of :func:`compress`: numbers of support vectors and changed predictions.

    Attributes
    ----------
    n_before, n_after : int
        Number of support vectors.
    tolerance, change : float
        The bound that was passed to :func:`compress`, and the quantity that it bounds: the fraction of changed labels
        or, for regression, the root mean squared change of the predictions divided by their standard deviation.
    labels : bool
        Whether ``change`` is a fraction of labels.
    rms_change, largest_change : float
        Root mean square and maximum of the changes of the decision values.
    distance : float
        \\|f - f^S\\| / \\|f\\| in feature space, for the binary model where it is largest.
    n_points : int
        Points on which the change was measured.
    own_points : bool
        Whether these were the support vectors, because no others were given.
    seconds : float
        Duration in seconds.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import SVC, compress
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> report = compress(SVC().fit(X, y), X).compression_report_
    >>> report.n_after < report.n_before, report.change <= report.tolerance
    (True, True)
    """

    n_before: int
    n_after: int
    tolerance: float
    change: float
    labels: bool
    rms_change: float
    largest_change: float
    distance: float
    n_points: int
    own_points: bool
    seconds: float

    def _lines(self) -> list[tuple[str, str]]:
        share = self.n_after / self.n_before if self.n_before else 1.0
        where = f"{self.n_points:,} {'support vectors' if self.own_points else 'points'}"
        bound = f"at most {self.tolerance:.3g} was asked for"
        what = f"{self.change:.3%} of labels" if self.labels else f"{self.change:.3g} of their standard deviation"
        return [
            ("support vectors", f"{self.n_after:,} of {self.n_before:,} ({share:.1%})"),
            ("labels changed" if self.labels else "values changed", f"{what} on {where} ({bound})"),
            ("decision values", f"changed by {self.rms_change:.3g} on average, {self.largest_change:.3g} at most"),
            ("in feature space", f"by {self.distance:.3g} of their length"),
            ("time", f"{self.seconds:.3g} s"),
        ]


def compress(estimator: Any, X: Any = None, *, tolerance: float = 0.01) -> Any:
    """Approximate a fitted model by one with fewer support vectors.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with a kernel: ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR`` or ``OneClassSVM``. It is not changed.
    X : array-like, sparse matrix or list of objects, optional
        Points on which the change is measured: the training points, or points like those to be predicted. The default
        is the support vectors, which are the hardest to classify.
    tolerance : float, default=0.01
        The fraction of labels of X that may change, in [0, 1); for regression the root mean squared change of the
        predictions, divided by their standard deviation.

    Returns
    -------
    estimator
        A copy with fewer support vectors and new coefficients, and with ``compression_report_``. Its ``report_`` is
        that of the original fit. If no smaller subset is accurate enough, all support vectors are kept.

    Raises
    ------
    ValueError
        If the kernel is precomputed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin import compress
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> small = compress(model, X)
    >>> len(small.support_) < len(model.support_) / 2
    True
    >>> bool((small.predict(X) != model.predict(X)).mean() <= 0.01)
    True
    """
    began = time.perf_counter()
    check_number("tolerance", tolerance, least=0)
    if tolerance >= 1:
        raise ValueError(f"tolerance must be below 1, a fraction of the predictions; got tolerance={shown(tolerance)}.")
    check_is_fitted(estimator)
    check_is_expansion(estimator, "compress")
    if not (hasattr(estimator, "_expansion") and hasattr(estimator, "support_")):
        raise TypeError(
            f"compress takes a model with support vectors (SVC, NuSVC, SVR, NuSVR, OneClassSVM); got "
            f"{type(estimator).__name__}. A linear model is one weight per feature already."
        )
    if isinstance(estimator.kernel_, Precomputed):
        raise ValueError(
            "compress cannot take kernel='precomputed': the support vectors are not known, only their kernel values "
            "were. Give the kernel as an object or a function."
        )
    own = X is None
    points = _anchors(estimator) if own else estimator._new_points(X)
    with single_threaded_blas():
        task = _Task(estimator, points, float(tolerance))
        kept, beta = task.run()
    new = _with_support(estimator, kept, beta)
    labels = not _is_regressor(estimator)
    before, after = estimator._decision(points), new._decision(points)
    moved = after - before
    new.compression_report_ = CompressionReport(
        n_before=len(estimator.support_),
        n_after=len(kept),
        tolerance=float(tolerance),
        change=_change(estimator, before, after),
        labels=labels,
        rms_change=float(np.sqrt(np.mean(moved**2))),
        largest_change=float(np.abs(moved).max(initial=0.0)),
        distance=task.distance(kept, beta),
        n_points=points.shape[0],
        own_points=own,
        seconds=time.perf_counter() - began,
    )
    return new


class _Task:
    """The greedy order, grown as far as needed, and what a prefix of it is worth."""

    def __init__(self, estimator: Any, X: Points, tolerance: float) -> None:
        self.estimator, self.X, self.tolerance = estimator, X, tolerance
        self.anchors, self.C = _anchors(estimator), support_coefficients(estimator)
        self.N, self.T = self.C.shape
        check_memory(4.0 * self.N**2, f"Compressing {self.N:,} support vectors", "train with a smaller C.")
        kernel, every = estimator.kernel_, np.arange(self.N)
        self.gram = gram_of(kernel, self.anchors)
        self.F = self.gram.product(every, self.C) if self.N else np.zeros((0, self.T))
        self.square = np.maximum(np.einsum("it,it->t", self.C, self.F), 0.0)
        self.R = self.F.copy()
        self.diagonal = self.gram.diagonal() if self.N else np.zeros(0)
        self.d = self.diagonal.copy()
        self.L = np.empty((self.N, min(self.N, 2 * JOIN_MAX_VECTORS)))
        self.z = np.empty((self.N, self.T))
        self.order = np.empty(self.N, np.int64)
        self.m = 0
        step = max(1, X.shape[0] // MEASURED_ROWS)
        self.watched = X[::step] if step > 1 else X
        self.before = estimator._decision(self.watched)
        self.all_before = self.before if step == 1 else estimator._decision(X)
        present = getattr(estimator, "_present", None)
        self.by_pairs = getattr(estimator, "_scheme", "") == "ovo" and present is not None and len(present) > 2

    # ------------------------------------------------------------ the greedy order

    def grow(self) -> bool:
        """One more block of vectors; False if nothing is left to gain."""
        weight = np.where(self.square > 0, 1.0 / np.where(self.square > 0, self.square, 1.0), 0.0)
        open_ = self.d > SPANNED_SHARE * self.diagonal
        open_[self.order[: self.m]] = False
        score = np.where(open_, (self.R**2 @ weight) / np.where(open_, self.d, 1.0), -1.0)
        size = int(np.clip(self.m // 4, JOIN_MIN_VECTORS, JOIN_MAX_VECTORS))
        candidates = np.flatnonzero(score > 0)
        if len(candidates) == 0:
            return False
        if len(candidates) > CANDIDATES_PER_VECTOR * size:
            top = np.argpartition(-score[candidates], CANDIDATES_PER_VECTOR * size)[: CANDIDATES_PER_VECTOR * size]
            candidates = candidates[top]
        chosen = self._choose(np.sort(candidates), weight, size)
        m, b = self.m, len(chosen)
        if m + b > self.L.shape[1]:
            wider = np.empty((self.N, min(self.N, 2 * (m + b))))
            wider[:, :m] = self.L[:, :m]
            self.L = wider
        # L_new = (K_new - L L_new') L_bb^-T, with the Cholesky factor L_bb of the new rows
        block = self.gram.block(np.arange(self.N), chosen) - self.L[:, :m] @ self.L[chosen, :m].T
        corner = block[chosen]
        corner = 0.5 * (corner + corner.T)
        factor = scipy.linalg.cholesky(corner + SPANNED_SHARE * np.diag(self.diagonal[chosen]), lower=True)
        new = scipy.linalg.solve_triangular(factor, block.T, lower=True).T
        coefficients = scipy.linalg.solve_triangular(factor, self.R[chosen], lower=True)
        self.L[:, m : m + b], self.z[m : m + b] = new, coefficients
        self.R -= new @ coefficients
        self.d -= np.einsum("ij,ij->i", new, new)
        self.order[m : m + b] = chosen
        self.m += b
        return True

    def _choose(self, candidates: Array, weight: Array, size: int) -> Array:
        """The best vectors among some, one after the other, with the residuals kept up to date among them."""
        own = self.L[candidates, : self.m]
        K = self.gram.block(candidates, candidates) - own @ own.T
        R, d = self.R[candidates].copy(), self.d[candidates].copy()
        least = SPANNED_SHARE * self.diagonal[candidates]
        columns = np.zeros((len(candidates), size))
        chosen: list[int] = []
        for step in range(min(size, len(candidates))):
            open_ = d > 10 * least
            open_[chosen] = False
            if not open_.any():
                break
            score = np.where(open_, (R**2 @ weight) / np.where(open_, d, 1.0), -1.0)
            i = int(score.argmax())
            column = (K[:, i] - columns[:, :step] @ columns[i, :step]) / np.sqrt(d[i])
            columns[:, step] = column
            R -= np.outer(column, R[i] / column[i])
            d = d - column**2
            chosen.append(i)
        return candidates[chosen] if chosen else candidates[:1]

    # ------------------------------------------------------------ what a prefix is worth

    def refit(self, m: int) -> tuple[Array, Array]:
        """The first m vectors of the order, sorted, and the coefficients of the projections on them."""
        first = self.order[:m]
        kept = np.sort(first)
        if not self.by_pairs:
            beta = scipy.linalg.solve_triangular(self.L[first, :m], self.z[:m], lower=True, trans="T")
            return kept, beta[np.argsort(first, kind="stable")]
        # A binary model of one-vs-one only has vectors of its two classes: each is projected on its own.
        codes = support_codes(self.estimator)[kept]
        beta = np.zeros((m, self.T))
        K = self.gram.block(kept, kept)
        for t, (i, j) in enumerate(pairs(len(self.estimator.classes_))):
            own = np.flatnonzero((codes == i) | (codes == j))
            if len(own) and self.C[:, t].any():
                beta[own, t] = _solve(K[np.ix_(own, own)], self.F[kept[own], t])
        return kept, beta

    def serves(self, m: int, every: bool = False) -> bool:
        """Whether the first m vectors change little enough, on the watched points or on all."""
        kept, beta = self.refit(m)
        if not np.isfinite(beta).all():
            return False
        small = KernelExpansion(self.estimator.kernel_, self.anchors[kept], beta, self.estimator._expansion.intercept)
        X, before = (self.X, self.all_before) if every else (self.watched, self.before)
        return _change(self.estimator, before, small.decision(X)) <= self.tolerance

    def run(self) -> tuple[Array, Array]:
        """The smallest prefix that serves, and its coefficients; all vectors as they are if none does."""
        everything = (np.arange(self.N), self.C)
        low, high, due, every = 0, 0, JOIN_MIN_VECTORS, False
        while True:
            while high == 0:
                more = self.m < self.N and self.grow()
                if self.m >= due or not more:
                    if self.m and self.serves(self.m, every):
                        high = self.m
                    else:
                        low, due = self.m, max(self.m + 1, int(SIZE_GROWTH * self.m))
                if not more and high == 0:
                    return everything
            while high - low > max(1, high // 100):
                middle = (low + high) // 2
                if self.serves(middle, every):
                    high = middle
                else:
                    low = middle
            if every or self.serves(high, every=True):
                return self.refit(high) if high < self.N else everything
            # Fewer points were watched on the way than there are: check all of them from here on.
            every, low, high = True, high, self.m if self.serves(self.m, every=True) else 0

    def distance(self, kept: Array, beta: Array) -> float:
        """The largest |f_t - f_t^S| / |f_t|."""
        if self.N == 0 or not self.square.any():
            return 0.0
        change = self.C.copy()
        change[kept] -= beta
        used = np.flatnonzero(change.any(axis=1))
        if len(used) == 0:
            return 0.0
        square = np.einsum("it,it->t", change[used], self.gram.product(used, change[used], used))
        there = self.square > 0
        return float(np.sqrt(np.maximum(square[there], 0.0) / self.square[there]).max())


def _solve(K: Array, f: Array) -> Array:
    """K^-1 f with as little added to the diagonal as a Cholesky factor needs."""
    size = float(K.diagonal().max())
    for ridge in (1e-12, 1e-10, 1e-8, 1e-6):
        try:
            factor = scipy.linalg.cho_factor(K + ridge * size * np.eye(len(K)), lower=True)
        except scipy.linalg.LinAlgError:
            continue
        return scipy.linalg.cho_solve(factor, f)
    return np.full(len(f), np.nan)


def _is_regressor(estimator: Any) -> bool:
    return not is_classifier(estimator) and not hasattr(estimator, "offset_")


def _change(estimator: Any, before: Array, after: Array) -> float:
    """The share of labels, or the part of the standard deviation, that changed."""
    if len(before) == 0:
        return 0.0
    if is_classifier(estimator):
        return float(np.mean(estimator._label(before) != estimator._label(after)))
    if hasattr(estimator, "offset_"):
        return float(np.mean((before >= 0) != (after >= 0)))
    rms, spread = float(np.sqrt(np.mean((after - before) ** 2))), float(before.std())
    return rms / spread if spread > 0 else (0.0 if rms == 0 else np.inf)


def _anchors(estimator: Any) -> Points:
    """The support vectors as listed, dense where the fitted function has them dense."""
    listed = estimator.support_vectors_
    dense = sp.issparse(listed) and not sp.issparse(estimator._expansion.anchors)
    return listed.toarray() if dense else listed


def _with_support(estimator: Any, kept: Array, beta: Array) -> Any:
    """A copy of the estimator with these of its support vectors, and these coefficients."""
    new = copy.copy(estimator)
    new.support_ = estimator.support_[kept]
    new.support_vectors_ = estimator.support_vectors_[kept]
    new._expansion = KernelExpansion(
        estimator.kernel_, _anchors(estimator)[kept], beta, estimator._expansion.intercept.copy()
    )
    dual = beta.T.copy()
    if is_classifier(estimator):
        n_classes = len(estimator.classes_)
        of_class = support_codes(estimator)[kept]
        new._n_support = np.bincount(of_class, minlength=n_classes)
        if estimator._scheme == "ovo" and n_classes > 2:  # LIBSVM's layout
            dual = np.zeros((n_classes - 1, len(kept)))
            for column, (i, j) in enumerate(pairs(n_classes)):
                dual[j - 1, of_class == i] = beta[of_class == i, column]
                dual[i, of_class == j] = beta[of_class == j, column]
    else:
        new._n_support = [len(kept)]
    new.dual_coef_ = sp.csr_matrix(dual) if estimator._sparse else dual
    new.__dict__.pop("_training_rows", None)
    new.__dict__.pop("_last_fit", None)  # a warm start would begin at the model of all support vectors
    return new
