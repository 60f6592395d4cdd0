"""A kernel matrix as a picture: K_ij = k(x_i, x_j), the points sorted by class.

A kernel that suits the classes has bright blocks on the diagonal: points of one class are more alike than points of
two. The caption tells whether the matrix is one of inner products at all, that is, has no negative eigenvalue.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.displays._figure import (
    BLACK,
    CAPTION_DIGITS,
    DISPLAY_ENTRIES,
    GREEN,
    VERMILION,
    Display,
    axes_of,
    dense,
    plain,
)
from maxmargin.kernels import Precomputed, validate_gram
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.text_report import short_numbers
from maxmargin.runtime.validation import Array, check_labels, check_memory, check_points, check_targets
from maxmargin.svm.kernel_input import gram_of, kernel_of, resolved


@documented(DISPLAY_ENTRIES)
class GramDisplay(Display):
    """Plot a kernel matrix, sorted by class, and whether it is valid.

    Made by :meth:`from_kernel` or :meth:`from_matrix`.

    Parameters
    ----------
    K : array of shape (n, n)
        The matrix, in the order in which it was given.
    y : array of shape (n,), optional
        The class of each point.
    title : str
        What it is.

    Attributes
    ----------
    order_ : array of int
        The points in the order of the picture's rows.
    classes_ : array or None
        The classes, in the order of the picture.
    boundaries_ : array of int
        Rows at which a new class begins.
    validity_ : GramValidity
        What :func:`maxmargin.validate_gram` found.
    ax_, figure_, image_, colorbar_, caption_ : matplotlib artists
        What was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.displays import GramDisplay
    >>> from maxmargin.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> display = GramDisplay.from_kernel(RBF(gamma=0.5), X, y).plot()
    >>> display.boundaries_.tolist(), bool(display.validity_)
    ([50, 100], True)
    >>> GramDisplay.from_matrix([[1.0, 2.0], [2.0, 1.0]]).plot().caption_.get_text()
    'not a kernel: smallest eigenvalue -1,\\n1 of 2 eigenvalues negative'
    """

    def __init__(self, K: Array, *, y: Array | None = None, title: str = "") -> None:
        self.K, self.y, self.title = K, y, title
        self.validity_ = validate_gram(K, tol=1e-5 if K.dtype == np.float32 else 1e-8)
        self.classes_: Array | None = None
        self.order_, self.boundaries_ = np.arange(len(K)), np.zeros(0, dtype=np.int64)
        if y is not None:
            several = bool((y != y[0]).any())
            self.classes_, codes = check_labels(y) if several else (y[:1], np.zeros(len(y), dtype=np.int64))
            self.order_ = np.argsort(codes, kind="stable")
            self.boundaries_ = np.cumsum(np.bincount(codes))[:-1]

    @classmethod
    def from_kernel(cls, kernel: Any, X: Any, y: Any = None) -> GramDisplay:
        """Compute the kernel matrix of some points.

        Parameters
        ----------
        kernel : Kernel, str or callable
            A kernel of :mod:`maxmargin.kernels`, the name of one, or a function.
        X : array-like, table or sparse matrix of shape (n, d), or list of objects
            The points; what the kernel compares.
        y : array-like of shape (n,), optional
            Their classes.

        {Returns, display}
        """
        given = kernel_of(kernel)
        if isinstance(given, Precomputed):
            return cls.from_matrix(X, y)
        points = given.objects(X)
        points = check_points(X) if points is None else points
        n = points.shape[0]
        check_memory(32.0 * n * n, f"The kernel matrix of {n:,} points and its eigenvalues", "show fewer of them.")
        names = list(X.columns) if hasattr(X, "columns") else None
        ready = resolved(given, kernel, points, names=names)
        every = np.arange(n)
        return cls._with_classes(
            gram_of(ready, points).block(every, every), y, short_numbers(repr(ready), CAPTION_DIGITS)
        )

    @classmethod
    def from_matrix(cls, K: Any, y: Any = None, *, title: str = "kernel matrix") -> GramDisplay:
        """Accept any matrix, without validation.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (n, n)
            The matrix; it need not be valid.
        y : array-like of shape (n,), optional
            The class of each row.
        title : str, default="kernel matrix"
            What it is.

        {Returns, display}
        """
        K = dense(K)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K must be a square matrix, one row and one column for each point; got shape {K.shape}.")
        return cls._with_classes(K, y, title)

    @classmethod
    def _with_classes(cls, K: Array, y: Any, title: str) -> GramDisplay:
        return cls(K, y=None if y is None else check_targets(y, len(K)), title=title)

    def plot(self, ax: Any = None, *, cmap: Any = None, colorbar: bool = True) -> GramDisplay:
        """Draw.

        {Parameters, ax}
        cmap : str or Colormap, optional
            Colour map. By default sequential, or diverging at zero if there are negative values.
        colorbar : bool, default=True
            Whether to draw a colour bar.

        {Returns, drawn}
        """
        self.figure_, self.ax_ = axes_of(ax, 5.6, 5.2)
        ax = self.ax_
        K = self.K[np.ix_(self.order_, self.order_)]
        signed = bool(K.min() < 0)
        size = float(np.abs(K).max()) or 1.0
        self.image_ = ax.imshow(
            K,
            cmap=cmap or ("RdBu_r" if signed else "viridis"),
            vmin=-size if signed else min(0.0, float(K.min())),
            vmax=size,
            interpolation="nearest" if len(K) <= 400 else "antialiased",
        )
        line = BLACK if signed else "white"
        for boundary in self.boundaries_:
            ax.axhline(boundary - 0.5, color=line, linewidth=1.4)
            ax.axvline(boundary - 0.5, color=line, linewidth=1.4)
        if self.classes_ is None:
            ax.locator_params(nbins=5, integer=True)
        else:
            edges = np.concatenate(([0], self.boundaries_, [len(K)]))
            middles, names = (edges[1:] + edges[:-1] - 1) / 2, [str(label) for label in self.classes_]
            ax.set_xticks(middles, names, parse_math=False)
            upright = all(len(name) <= 3 for name in names)
            ax.set_yticks(middles, names, parse_math=False, rotation=0 if upright else 90, va="center")
            ax.tick_params(length=0)
        ax.set_title(plain(self.title))
        self.caption_ = ax.set_xlabel(
            self._caption(), color=GREEN if self.validity_ else VERMILION, fontweight="bold", labelpad=8
        )
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, shrink=0.85) if colorbar else None
        return self

    def _caption(self) -> str:
        found = self.validity_
        rounding = found.size * float(np.finfo(np.float64).eps) * abs(found.largest_eigenvalue)
        zero = abs(found.smallest_eigenvalue) <= rounding
        smallest = f"smallest eigenvalue {'about 0' if zero else f'{found.smallest_eigenvalue:.2g}'}"
        if found.valid:
            return f"valid kernel matrix:\n{smallest}"
        if found.psd:
            return f"not a kernel: not symmetric,\nby {found.asymmetry:.2g} of the largest entry"
        also = "" if found.symmetric else "not symmetric, "
        count = f"{found.negative_eigenvalues} of {found.size} eigenvalues negative"
        return f"not a kernel: {also}{smallest},\n{count}"
