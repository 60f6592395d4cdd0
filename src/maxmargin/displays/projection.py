"""What principal components in feature space look like.

    scatter     the points by their projections z_a(x), z_b(x)
    contours    a component as a function z(x) on the plane that the points come from; for kernels other than the
                linear one the lines along which it is constant are curves

The share of a component is its eigenvalue over the sum of all, which is the trace of the centred kernel matrix P K P,

    sum_i k(x_i, x_i) - sum_ij k(x_i, x_j) / n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays._figure import (
    BLUE,
    CLASSES,
    DISPLAY_ENTRIES,
    MARKERS,
    Display,
    axes_of,
    dense,
    plain,
    points_like,
    space,
)
from maxmargin.kernels import Precomputed
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_choice, check_number, check_points, check_targets
from maxmargin.svm.kernel_input import gram_of

CONTOUR_LEVELS = 15


@documented(DISPLAY_ENTRIES)
@dataclass(eq=False, repr=False, kw_only=True)
class ProjectionDisplay(Display):
    """Plot projections on kernel principal components, or the components as functions.

    Made by :meth:`from_estimator`.

    Parameters
    ----------
    Z : array of shape (n_samples, n_shown)
        Projections on the components that are shown.
    components : sequence of int
        Their numbers, from 0.
    shares : array of shape (n_shown,), optional
        The fraction of the variance explained by each.
    y : array of shape (n_samples,), optional
        Classes.
    plane : tuple (X, first, second, values), optional
        For contours: the points in the plane, the axes of a grid, and the components' values on it, of shape
        (n_shown, len(second), len(first)).
    names : sequence of two str
        Labels of the axes of the plane.

    Attributes
    ----------
    {ax_, figure_}
    axes_ : ndarray of matplotlib Axes
        One for each component with contours, otherwise one.
    scatters_ : list of matplotlib PathCollection
        The points of each class in the first axes.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from maxmargin import KernelPCA
    >>> from maxmargin.displays import ProjectionDisplay
    >>> X, y = make_circles(120, factor=0.3, noise=0.05, random_state=0)
    >>> pca = KernelPCA(n_components=2, kernel="rbf", gamma=3.0).fit(X)
    >>> display = ProjectionDisplay.from_estimator(pca, X, y).plot()
    >>> display.ax_.get_xlabel()
    'component 1 (21% of the variance)'
    >>> len(ProjectionDisplay.from_estimator(pca, X, y).plot(kind="contours").axes_)
    2
    """

    Z: Array
    components: Sequence[int]
    shares: Array | None = None
    y: Array | None = None
    plane: tuple[Array, Array, Array, Array] | None = None
    names: Sequence[str] = ("x₁", "x₂")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        components: Sequence[int] = (0, 1),
        *,
        n_grid: int = 80,
        ax: Any = None,
    ) -> ProjectionDisplay:
        """Project points with a fitted kernel PCA.

        Parameters
        ----------
        estimator : KernelPCA
            A fitted kernel PCA or another transformer; the explained variance is shown if it has
            ``explained_variance_ratio_``.
        X : array-like, table or sparse matrix of shape (n_samples, n_features)
            The points; contours need two columns.
        y : array-like of shape (n_samples,), optional
            Their classes.
        components : sequence of int, default=(0, 1)
            Which components to show, from 0: two for the scatter plot, one or more for contours.
        n_grid : int, default=80
            Number of grid points per axis for contours.
        {ax_now}

        {Returns, display}
        """
        n_grid = int(check_number("n_grid", n_grid, least=2, integer=True))
        projections = dense(estimator.transform(X))
        n, count = projections.shape
        chosen = _checked_components(components, count)
        shares = _shares(estimator)
        plane = None
        names: Sequence[str] = ("x₁", "x₂")
        if getattr(X, "shape", np.shape(X))[1:] == (2,) and not isinstance(
            getattr(estimator, "kernel_", None), Precomputed
        ):
            points = dense(check_points(X))
            first, second = (_axis(points[:, column], n_grid) for column in range(2))
            grid = np.column_stack([side.ravel() for side in np.meshgrid(first, second)])
            values = np.asarray(estimator.transform(points_like(X, grid)))[:, chosen]
            plane = (points, first, second, values.T.reshape(len(chosen), n_grid, n_grid))
            names = tuple(str(name) for name in X.columns) if hasattr(X, "columns") else names
        display = cls(
            Z=projections[:, chosen],
            components=chosen,
            shares=None if shares is None else shares[chosen],
            y=None if y is None else check_targets(y, n),
            plane=plane,
            names=names,
        )
        return display._drawn_on(ax)

    def plot(self, ax: Any = None, *, kind: str = "scatter", legend: bool = True) -> ProjectionDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure, which needs no window system. With contours of several components
            the axes are divided.
        kind : {"scatter", "contours"}, default="scatter"
            The points by their projections, or the components as functions on the plane of the points.
        legend : bool, default=True
            Whether to draw a legend of the classes.

        {Returns, drawn}
        """
        if check_choice("kind", kind, ["scatter", "contours"]) == "scatter":
            if len(self.components) != 2:
                raise ValueError(
                    f"a scatter plot has two axes; got components={tuple(self.components)}: name two, or use "
                    "kind='contours'."
                )
            self.figure_, self.ax_ = axes_of(ax)
            self.scatters_ = self._points(self.ax_, self.Z)
            self.ax_.set(xlabel=self._name(0), ylabel=self._name(1))
            self.axes_: NDArray[Any] = np.array([self.ax_], dtype=object)
        else:
            self._plot_contours(ax)
        if legend and self.y is not None:
            self.ax_.legend(framealpha=0.9)
        return self

    def _plot_contours(self, ax: Any) -> None:
        if self.plane is None:
            raise ValueError(
                "kind='contours' draws components over the plane of the points, so that X must have two columns, and "
                "the kernel must not be precomputed: use kind='scatter'."
            )
        points, first, second, values = self.plane
        k = len(self.components)
        if k == 1:
            self.figure_, only = axes_of(ax)
            axes = [only]
        else:
            self.figure_, place = space(ax, 4.4 * k, 4.4)
            grid = place.subgridspec(1, k)
            axes = [self.figure_.add_subplot(grid[0, i]) for i in range(k)]
        for i, (panel, value) in enumerate(zip(axes, values, strict=True)):
            size = float(np.abs(value).max()) or 1.0
            levels = np.linspace(-size, size, CONTOUR_LEVELS)
            panel.contourf(first, second, value, levels=levels, cmap="gray", vmin=-3.5 * size, vmax=size)
            panel.contour(first, second, value, levels=levels, colors="0.2", linewidths=0.8, linestyles="solid")
            scatters = self._points(panel, points)
            if i == 0:
                self.scatters_ = scatters
            panel.set_title(self._name(i).replace(" (", "\n("))
            panel.set_xlabel(self.names[0], parse_math=False)
            if i == 0:
                panel.set_ylabel(self.names[1], parse_math=False)
            else:
                panel.tick_params(labelleft=False)
        self.axes_ = np.array(axes, dtype=object)
        self.ax_ = axes[0]

    def _points(self, ax: Any, points: Array) -> list[Any]:
        style = {"s": 30, "edgecolor": "white", "linewidth": 0.6}
        if self.y is None:
            return [ax.scatter(points[:, 0], points[:, 1], color=BLUE, **style)]
        return [
            ax.scatter(
                *points[self.y == label].T,
                color=CLASSES[i % len(CLASSES)],
                marker=MARKERS[i % len(MARKERS)],
                label=plain(label),
                **style,
            )
            for i, label in enumerate(np.unique(self.y))
        ]

    def _name(self, i: int) -> str:
        share = "" if self.shares is None else f" ({self.shares[i]:.0%} of the variance)"
        return f"component {self.components[i] + 1}{share}"


def _checked_components(components: Any, count: int) -> list[int]:
    chosen = [components] if np.ndim(components) == 0 else list(components)
    if not chosen:
        raise ValueError("components is empty: name at least one, from 0.")
    for component in chosen:
        check_number("components", component, least=0, integer=True)
        if component >= count:
            raise ValueError(
                f"components={components!r}, and there are {count}, 0 to {count - 1}: fit with a larger n_components."
            )
    return [int(component) for component in chosen]


def _axis(column: Array, count: int) -> Array:
    margin = 0.1 * (np.ptp(column) or 1.0)
    return np.linspace(column.min() - margin, column.max() + margin, count)


def _shares(estimator: Any) -> Array | None:
    """The share of each component in the variance, if it can be known."""
    if hasattr(estimator, "explained_variance_ratio_"):
        return np.asarray(estimator.explained_variance_ratio_)
    if not (hasattr(estimator, "eigenvalues_") and type(estimator).__module__.startswith("maxmargin.")):
        return None
    gram = gram_of(estimator.kernel_, estimator.X_fit_)
    total = float(gram.diagonal().sum() - gram.product(np.arange(gram.n), np.full(gram.n, 1.0 / gram.n)).sum())
    return np.asarray(estimator.eigenvalues_) / total if total > 0 else None
