"""The proof that no hyperplane separates two classes (Farkas' lemma).

    sum_{y_i > 0} alpha_i x_i  =  sum_{y_i < 0} alpha_i x_i,      alpha >= 0,  the alphas of each class sum to one:

one point in the convex hulls of both classes. If y_i (w'x_i + b) >= 1 held for all i, then w'p + b would be at least 1
for that point p, and at most -1. A hyperplane through the origin, b = 0, leaves only one condition on the weights, that
they sum to one together: a convex combination of the points y_i x_i is the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.runtime.validation import Array, Points, as_objects, check_points, check_targets

COMMON_POINT_TOL = 1e-13  # two points that differ by this part of each column's range are one point, up to rounding
MEET_IN_FEATURES = 1e-5  # the same where distances come from kernel values, which are squares
SHOWN_MAX_ENTRIES = 6  # rows of a combination, and entries of a vector, that the texts show


@dataclass(frozen=True)
class InseparabilityProof:
    """Proof that no hyperplane separates two classes: equal convex combinations of their points.

    Attributes
    ----------
    rows_positive, rows_negative : arrays of int
        The rows of X that are combined.
    weights_positive, weights_negative : arrays
        Their weights, none negative. Those of each class sum to one; without an intercept, those of both together.
    positive, negative : object
        The labels of the two classes; None if one side consists of several classes, or if the labels are unknown.
    point : array of shape (n_features,) or None
        The common point; None in the feature space of a kernel.
    residual : float
        The distance between the two combinations, relative to the scale of the data: the largest difference in any
        column, divided by the column's range (without an intercept, by its largest absolute value). With a kernel, the
        distance in feature space divided by the largest norm; since kernel values are squares, 1e-8 is rounding.
    fit_intercept : bool
        Whether the hyperplane may have an intercept.
    kernel : Kernel or None
        The kernel of the feature space; None for the input space.

    Examples
    --------
    >>> from maxmargin import separability
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["same", "same", "other", "other"]
    >>> proof = separability(X, y).proof
    >>> proof.rows_positive, proof.weights_positive, proof.point
    (array([0, 1]), array([0.5, 0.5]), array([0.5, 0.5]))
    >>> proof.verify(X, y) < 1e-15
    True
    """

    rows_positive: Array
    weights_positive: Array
    rows_negative: Array
    weights_negative: Array
    positive: Any
    negative: Any
    point: Array | None
    residual: float
    fit_intercept: bool = True
    kernel: Kernel | None = None

    separable: ClassVar[bool] = False

    @property
    def rows(self) -> Array:
        """All rows that are combined, the positive class first."""
        return np.concatenate((self.rows_positive, self.rows_negative))

    @property
    def weights(self) -> Array:
        """The weights of ``rows``."""
        return np.concatenate((self.weights_positive, self.weights_negative))

    def verify(self, X: Any, y: Any) -> float:
        """Check the proof against the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The points; for a precomputed kernel the kernel matrix.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        residual : float
            The attribute of the same name, recomputed.

        Raises
        ------
        ValueError
            If it is not a proof for these points and labels; the message says why.
        """
        objects = as_objects(X) if self.kernel is not None and self.kernel.takes_objects else None
        X = check_points(X) if objects is None else objects
        y = check_targets(y, X.shape[0])
        rows, weights = self.rows, self.weights
        if len(rows) == 0 or rows.min() < 0 or rows.max() >= X.shape[0]:
            raise ValueError(f"No proof for these data: X, with {X.shape[0]} rows, does not have the rows it combines.")
        if not (weights >= 0).all():
            raise ValueError("No proof: a weight is negative or not a number.")
        each = [float(self.weights_positive.sum()), float(self.weights_negative.sum())]
        if not np.allclose(each if self.fit_intercept else sum(each), 1.0, rtol=0, atol=1e-12):
            raise ValueError(f"No proof: the weights of the two classes sum to {each[0]:.15g} and {each[1]:.15g}.")
        if set(y[self.rows_positive].tolist()) & set(y[self.rows_negative].tolist()):
            raise ValueError("No proof for these labels: a class has rows on both sides.")
        signed = np.concatenate((self.weights_positive, -self.weights_negative))
        residual = relative_length(X, rows, signed, self.fit_intercept, self.kernel)
        if not residual <= (COMMON_POINT_TOL if self.kernel is None else MEET_IN_FEATURES):
            raise ValueError(f"No proof for these points: the two sums are {residual:.2g} of the data's size apart.")
        return residual

    def lines(self) -> list[tuple[str, str]]:
        """The proof as names and texts."""
        where = "point" if self.kernel is None else "point in feature space"
        lines = [("proof", f"two sums that are one {where}, up to {self.residual:.1e} of the data's size")]
        one = (self.positive, "one side", self.rows_positive, self.weights_positive)
        other = (self.negative, "other side", self.rows_negative, self.weights_negative)
        for label, unknown, rows, weights in (one, other):
            order = np.argsort(-weights.round(12), kind="stable")[:SHOWN_MAX_ENTRIES]
            terms = " + ".join(f"{weights[i]:.4g} x[{rows[i]}]" for i in order) or "0"
            more = f" + {len(rows) - SHOWN_MAX_ENTRIES} more" if len(rows) > SHOWN_MAX_ENTRIES else ""
            lines.append((unknown if label is None else f"class {label!r}", terms + more))
        return lines if self.point is None else [*lines, ("point", vector_text(self.point))]

    def __str__(self) -> str:
        return aligned(self.lines())


def proof_of(
    X: Points,
    rows: Array,
    weights: Array,
    y: Array,
    fit_intercept: bool = True,
    *,
    labels: tuple[Any, Any] = (None, None),
    kernel: Kernel | None = None,
    names: Array | None = None,
) -> InseparabilityProof:
    """The proof that the weights of these rows of X make; y is +1 or -1 for each of them, ``labels`` are those of the
    two sides, and ``names`` the numbers that the rows have for the user, if not the same."""
    order = np.argsort(-y, kind="stable")  # as in the proof, the positive class first
    rows, weights, y, names = rows[order], weights[order], y[order], (rows if names is None else names)[order]
    up, down = y > 0, y < 0
    point = None
    if kernel is None:
        sums = [X[rows[side]].T.astype(np.float64) @ weights[side] for side in (up, down)]
        point = 0.5 * sums[0] + 0.5 * sums[1]
    return InseparabilityProof(
        rows_positive=names[up],
        weights_positive=weights[up],
        rows_negative=names[down],
        weights_negative=weights[down],
        positive=labels[0],
        negative=labels[1],
        point=point,
        residual=relative_length(X, rows, y * weights, fit_intercept, kernel),
        fit_intercept=fit_intercept,
        kernel=kernel,
    )


def relative_length(
    X: Points, rows: Array, signed: Array, fit_intercept: bool = True, kernel: Kernel | None = None
) -> float:
    """The length of sum_i signed_i x_i, relative to the size of the data: see ``InseparabilityProof.residual``."""
    if kernel is not None:
        K = X[rows][:, rows] if isinstance(kernel, Precomputed) else kernel.matrix(X[rows], X[rows])
        longest = max(float(K.diagonal().max()), np.finfo(float).tiny)
        return float(np.sqrt(max(0.0, float(signed @ (K @ signed))) / longest))
    low, high = ends(X)
    # Halves, since a range may be larger than the largest number.
    size = 0.5 * high - 0.5 * low if fit_intercept else 0.5 * np.maximum(-low, high)
    if sp.issparse(X):
        half = 0.5 * (X[rows].T @ signed)
    else:
        half = signed @ (0.5 * X[rows].astype(np.float64) - 0.5 * (low if fit_intercept else np.zeros(len(low))))
    return float(np.max(np.abs(half[size > 0]) / size[size > 0], initial=0.0))


def ends(X: Points) -> tuple[Array, Array]:
    """The smallest and the largest value of each column."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low.astype(np.float64), high.astype(np.float64)


def vector_text(v: Array) -> str:
    with np.printoptions(precision=6, threshold=SHOWN_MAX_ENTRIES, edgeitems=SHOWN_MAX_ENTRIES // 2):
        return str(v)


def aligned(lines: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in lines) + 3
    return "\n".join(f"{name:<{width}}{value}" for name, value in lines)


class InseparableError(ValueError):
    """Raised when a hard margin is impossible because no hyperplane separates the classes.

    Attributes
    ----------
    proof : InseparabilityProof or None
        Two convex combinations of training rows, one of each class, that are the same point; ``proof.verify(X, y)``
        checks it. None for the joint multiclass problem.
    rows : array or None
        ``proof.rows``: the training rows that are combined.

    Examples
    --------
    >>> from maxmargin import SVC, InseparableError
    >>> X, y = [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]], ["end", "end", "middle"]
    >>> try:
    ...     SVC(kernel="linear", C=float("inf")).fit(X, y)
    ... except InseparableError as error:
    ...     print(error.proof.rows_negative, error.proof.weights_negative, error.proof.point)
    [0 1] [0.5 0.5] [1. 1.]
    """

    proof: InseparabilityProof | None

    def __init__(self, message: str, proof: InseparabilityProof | None = None) -> None:
        super().__init__(message)
        self.proof = proof
        self.rows = None if proof is None else proof.rows
