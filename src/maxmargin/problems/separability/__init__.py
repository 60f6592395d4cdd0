"""Can a hyperplane separate two classes? Its weights, or the proof that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.problems.separability.program import decide
from maxmargin.problems.separability.proof import InseparabilityProof, InseparableError, aligned, proof_of, vector_text
from maxmargin.runtime.validation import Array, check_flag, check_labels, check_points, check_targets

__all__ = ["InseparabilityProof", "InseparableError", "Separability", "decide", "proof_of", "separability"]


@dataclass(frozen=True)
class Separability:
    """The result of :func:`separability`; true if the classes are separable.

    Attributes
    ----------
    separable : bool
        Whether a hyperplane separates the classes.
    w : array of shape (n_features,) or None
    b : float or None
        If separable: y (w'x + b) >= 1 for every row, computed in float64 with an allowance for rounding; y is +1 for
        ``classes[1]``.
    proof : InseparabilityProof or None
        If not separable.
    classes : tuple
        The two labels.
    n_samples : int
        Number of points.

    Examples
    --------
    >>> from maxmargin import separability
    >>> print(separability([[0.0], [1.0], [3.0]], ["a", "a", "b"]))
    separable    yes, all 3 rows
    hyperplane   w'x + b >= 1 for class 'b', <= -1 for class 'a'
    w            [1.]
    b            -2
    its margin   2 (2 / |w|; SVC(kernel="linear", C=inf) finds the widest)
    """

    separable: bool
    w: Array | None
    b: float | None
    proof: InseparabilityProof | None
    classes: tuple[Any, Any]
    n_samples: int

    def __bool__(self) -> bool:
        return self.separable

    @property
    def margin(self) -> float:
        """2 / \\|w\\| of the hyperplane, which need not have the widest margin; 0 if there is none."""
        if self.w is None:
            return 0.0
        largest = float(np.abs(self.w).max())  # a square of w may overflow
        return 2.0 / largest / float(np.linalg.norm(self.w / largest))

    def __str__(self) -> str:
        if self.proof is not None:
            through = "" if self.proof.fit_intercept else " by a hyperplane through the origin"
            return aligned([("separable", f"no{through}: the classes meet"), *self.proof.lines()])
        assert self.w is not None
        lines = [
            ("separable", f"yes, all {self.n_samples:,} rows"),
            ("hyperplane", f"w'x + b >= 1 for class {self.classes[1]!r}, <= -1 for class {self.classes[0]!r}"),
            ("w", vector_text(self.w)),
            ("b", f"{self.b:.6g}"),
            ("its margin", f'{self.margin:.6g} (2 / |w|; SVC(kernel="linear", C=inf) finds the widest)'),
        ]
        return aligned(lines)


def separability(X: Any, y: Any, *, fit_intercept: bool = True) -> Separability:
    """Find a hyperplane that separates two classes, or prove that there is none.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Points.
    y : array-like of shape (n_samples,)
        Two different labels of any kind.
    fit_intercept : bool, default=True
        With False the hyperplane has to pass through the origin (b = 0).

    Returns
    -------
    Separability
        With ``w`` and ``b``, or with ``proof``.

    Raises
    ------
    ValueError
        If y does not have two classes, or X is not a table of finite numbers.
    ArithmeticError
        If the classes are so close that rounding in float64 invalidates both a hyperplane and a proof.

    Notes
    -----
    Classes whose convex hulls touch in a single point are not separable.

    Examples
    --------
    >>> from maxmargin import separability
    >>> found = separability([[0.0, 1.0], [1.0, 1.0], [5.0, 1.0]], [0, 0, 1])
    >>> found.separable, found.w.round(6), round(found.b, 6)
    (True, array([0.5, 0. ]), -1.5)
    >>> print(separability([[0.0], [2.0], [1.0]], ["end", "end", "middle"]))
    separable        no: the classes meet
    proof            two sums that are one point, up to ... of the data's size
    class 'middle'   1 x[2]
    class 'end'      0.5 x[0] + 0.5 x[1]
    point            [1.]
    """
    check_flag("fit_intercept", fit_intercept)
    X = check_points(X)
    classes, codes = check_labels(check_targets(y, X.shape[0]))
    names = classes.tolist()
    if len(names) > 2:
        raise ValueError(
            f"separability takes two classes, and y has {len(names)}: {', '.join(map(repr, names[:4]))}"
            f"{', ...' if len(names) > 4 else ''}. Give the rows of two of them, or one class against the rest: "
            f"separability(X, y == {names[0]!r})."
        )
    y = np.where(codes == 1, 1.0, -1.0)
    found = decide(X, y, fit_intercept)
    if found.w is not None:
        return Separability(True, found.w, found.b, None, (names[0], names[1]), len(y))
    proof = proof_of(X, found.rows, found.weights, y[found.rows], fit_intercept, labels=(names[1], names[0]))
    return Separability(False, None, None, proof, (names[0], names[1]), len(y))
