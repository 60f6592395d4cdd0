"""A classifier of points with two columns: its decision function, margin and support vectors.

    shading     f(x), white where it is zero
    lines       f(x) = 0, the boundary; f(x) = -1 and +1, the margin, thin: as in the lab
    points      by class, and by category as in :mod:`maxmargin.inspection.margins`
    rings       support vectors

More than two classes have no common f: the regions of the predicted classes are filled instead, as for classifiers
without a hyperplane (nearest neighbours, for instance). The perceptron's f has no scale, so its margin is not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, TwoSlopeNorm, to_rgb
from matplotlib.lines import Line2D
from sklearn.base import is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from maxmargin.displays._figure import (
    DISPLAY_ENTRIES,
    RING,
    Display,
    axes_of,
    dense,
    filled_lines,
    last_step,
    markers_of,
    plain,
    points_like,
)
from maxmargin.displays._plane import has_hyperplane, one_class, one_hyperplane, regions, side_of, two_columns
from maxmargin.inspection.margin_table import CATEGORIES
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_number

FULL_SHADING = 2.5  # |f| from which the shading is full, where f has the scale of the margin
DASHED = (0, (2.5, 1.8))  # the ring of a support vector inside the margin or beyond it, as in the lab
SAME_PLACE_MAX_SHARE = 1e-9  # of the axes, between a point and its support vector that was scaled there and back
EQUAL_AXES_MAX_RATIO = 3.0  # of the axes' lengths, up to which one unit is as long on both
LEGEND = {
    "outside": "outside the margin",
    "on": "on the margin",
    "inside": "inside the margin",
    "misclassified": "misclassified",
}


@documented(DISPLAY_ENTRIES)
@dataclass(eq=False, repr=False, kw_only=True)
class MarginDisplay(Display):
    """Plot the decision function of a classifier or one-class model in two dimensions.

    Usually made by :meth:`from_estimator`.

    Parameters
    ----------
    X : array of shape (n, 2)
        The points.
    codes : array of int, shape (n,)
        The class of each, as an index of ``names`` and ``colours``.
    names, colours : sequences of str
        Of the classes.
    horizontal, vertical : arrays of shape (n_x,) and (n_y,)
        The coordinates of the grid.
    values : array of shape (n_y, n_x)
        The decision function on the grid; for ``regions`` the code of the predicted class.
    regions : bool
        Whether to fill the regions of the predicted classes instead of shading f.
    levels : sequence of float
        The contours of f.
    category : array of str, shape (n,)
        Of :data:`maxmargin.inspection.margin_table.CATEGORIES`, or empty.
    support : array of shape (n_support, 2)
        The points to mark with rings.
    caption : list of str
        Lines of text below the axes.
    axis_names : pair of str
        Labels of the two axes.

    Attributes
    ----------
    surface_ : matplotlib QuadMesh
        The shading of the decision function.
    contours_ : matplotlib QuadContourSet or None
        The contours of f; None if no level is reached, and for regions.
    rings_ : matplotlib PathCollection
        One ring per support vector.
    handles_ : list of matplotlib artists
        The legend's entries, for a legend elsewhere: ``figure.legend(handles=display.handles_)``.
    caption_ : matplotlib Text or None
        The caption below the axes.
    {ax_, figure_}

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.displays import MarginDisplay
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = SVC(C=10.0).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y)
    >>> len(display.rings_.get_offsets()) == len(model.support_)
    True
    >>> display.figure_.savefig("margin.png")  # doctest: +SKIP
    """

    X: Array
    codes: Array
    names: Any
    colours: Any
    horizontal: Array
    vertical: Array
    values: Array
    regions: bool
    levels: Any
    category: Array
    support: Array
    caption: Any
    axis_names: Any = ("x₁", "x₂")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        classes: Any = None,
        grid_resolution: int = 200,
        pad: float = 0.1,
        ax: Any = None,
    ) -> MarginDisplay:
        """Make the display of a fitted estimator.

        Parameters
        ----------
        estimator : classifier, OneClassSVM, or Pipeline that ends in one
            Fitted on two columns.
        X : array-like of shape (n_samples, 2)
            The points to show: the training points or others.
        y : array-like of shape (n_samples,)
            Their labels. A one-class model has none: its points are coloured by the predicted side.
        classes : label or pair of labels, optional
            Show one binary problem of a classifier of more than two classes, as in :func:`maxmargin.margin_report`.
        grid_resolution : int, default=200
            Number of grid points along each axis.
        pad : float, default=0.1
            The border around the points, as a fraction of their range.
        {ax_now}

        {Returns, display}
        """
        check_is_fitted(estimator)
        check_number("grid_resolution", grid_resolution, least=2, integer=True)
        check_number("pad", pad, least=0)
        last = last_step(estimator)
        points = two_columns(X, last)
        support = (
            dense(last.support_vectors_) if last is estimator and hasattr(last, "support_vectors_") else points[:0]
        )
        sides = [side_of(np.concatenate((points[:, j], support[:, j])), pad, grid_resolution) for j in (0, 1)]
        grid = np.column_stack([side.ravel() for side in np.meshgrid(*sides)])
        columns, grid = getattr(X, "columns", None), points_like(X, grid)
        shown: dict[str, Any]
        if is_outlier_detector(last):
            shown = one_class(estimator, X, grid, support)
        elif not hasattr(last, "classes_"):
            raise TypeError(f"MarginDisplay takes a classifier or a one-class model; got {type(last).__name__}.")
        elif y is None:
            raise ValueError("y is None: give the labels of the points.")
        elif classes is None and (len(last.classes_) > 2 or not has_hyperplane(last)):
            shown = regions(estimator, X, y, grid, support)
        else:
            shown = one_hyperplane(estimator, X, y, grid, support, classes)
        values = np.asarray(shown.pop("values")).reshape(len(sides[1]), len(sides[0]))
        kept = shown.pop("rows", slice(None))
        named: dict[str, Any] = {} if columns is None else {"axis_names": tuple(map(str, columns))}
        display = cls(X=points[kept], horizontal=sides[0], vertical=sides[1], values=values, **shown, **named)
        return display._drawn_on(ax)

    def plot(
        self, ax: Any = None, *, legend: bool = True, caption: bool = True, title: str | None = None, size: float = 55.0
    ) -> MarginDisplay:
        """Draw.

        {Parameters, ax}
        legend : bool, default=True
            Whether to put a legend to the right of the axes.
        caption : bool, default=True
            Whether to write a summary of the fit below the axes.
        title : str, optional
            Title of the axes.
        size : float, default=55.0
            Size of the markers, in square typographic points.

        {Returns, drawn}
        """
        check_number("size", size, above=0)
        self.figure_, self.ax_ = axes_of(ax, 8.6 if legend else 6.4, 5.6)
        self.handles_: list[Any] = []
        self._plot_surface()
        self._plot_points(size)
        span = np.ptp(self.horizontal), np.ptp(self.vertical)
        self.ax_.set(
            xlim=self.horizontal[[0, -1]],
            ylim=self.vertical[[0, -1]],
            xlabel=plain(self.axis_names[0]),
            title=title or "",
        )
        self.ax_.set_ylabel(plain(self.axis_names[1]), rotation=0 if len(self.axis_names[1]) < 4 else 90)
        if max(span) <= EQUAL_AXES_MAX_RATIO * min(span):
            self.ax_.set_aspect("equal", anchor="S")  # to the caption, which the layout reckons from the bottom
        if legend:
            self.ax_.legend(handles=self.handles_, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
        self.caption_ = self._write_caption() if caption and self.caption else None
        return self

    def _plot_surface(self) -> None:
        values, where = self.values, (self.horizontal, self.vertical)
        self.contours_ = None
        if self.regions:
            light = [_mixed(colour, 0.72) for colour in self.colours]
            limits = {"vmin": -0.5, "vmax": len(light) - 0.5}
            self.surface_ = self.ax_.pcolormesh(*where, values, cmap=ListedColormap(light), rasterized=True, **limits)
            for code in np.unique(values)[:-1]:  # between k classes there are at most k - 1 outlines to draw
                self.ax_.contour(*where, values == code, levels=[0.5], colors="0.2", linewidths=1.0)
            return
        ends: list[Any] = [_mixed(self.colours[0], 0.45), _mixed(self.colours[0], 0.8), "white"]
        ends += [_mixed(self.colours[1], 0.8), _mixed(self.colours[1], 0.45)]
        cmap = LinearSegmentedColormap.from_list("margin", ends)
        self.surface_ = self.ax_.pcolormesh(*where, values, cmap=cmap, norm=self._norm(), rasterized=True)
        reached = [level for level in self.levels if values.min() < level < values.max()]
        if reached:
            widths = [2.4 if level == 0 else 1.2 for level in reached]
            drawn = {"levels": reached, "colors": "0.1", "linestyles": "solid", "linewidths": widths}
            self.contours_ = self.ax_.contour(*where, values, **drawn)
        self._handle("f = 0, the boundary", color="0.1", linewidth=2.4)
        if len(self.levels) > 1:
            self._handle("f = ±1, the margin", color="0.1", linewidth=1.2)

    def _norm(self) -> Any:
        """Full colour at the same |f| on both sides; where f has no scale, at the far end of each side."""
        if len(self.levels) > 1:
            return TwoSlopeNorm(0.0, -FULL_SHADING, FULL_SHADING)
        low, high = (float(end) for end in np.quantile(self.values, (0.02, 0.98)))
        return TwoSlopeNorm(0.0, low if low < 0 else -1.0, high if high > 0 else 1.0)

    def _plot_points(self, size: float) -> None:
        markers = markers_of(self.colours)
        for code, (name, colour) in enumerate(zip(self.names, self.colours, strict=True)):
            marker = markers[code % len(markers)]
            of_class = self.codes == code
            for category in ("", *CATEGORIES):
                here = self.X[of_class & (self.category == category)]
                if len(here):
                    self.ax_.scatter(*here.T, marker=marker, s=size, zorder=3, **_style(category, colour))
            self._handle(name, marker=marker, color=colour, markersize=8, linestyle="")
        wrong = self.X[self.category == "misclassified"]
        if len(wrong):
            self.ax_.scatter(*wrong.T, marker="x", s=1.5 * size, color="black", linewidth=2.0, zorder=4)
        for category in ("outside", "on"):
            if (self.category == category).any():
                own = _style(category, "0.55")
                style = {"markerfacecolor": own["facecolor"], "markeredgecolor": own["edgecolor"]}
                self._handle(LEGEND[category], marker="o", markersize=8, linestyle="", color="0.55", **style)
        if (self.category == "inside").any():
            label = plain(LEGEND["inside"])
            self.handles_.append(self.ax_.scatter([], [], s=3.4 * size, label=label, linestyle=DASHED, **RING))
        if len(wrong):
            self._handle(LEGEND["misclassified"], marker="x", color="black", markersize=8, linestyle="")
        beyond = self.X[np.isin(self.category, ("inside", "misclassified"))]
        near = SAME_PLACE_MAX_SHARE * np.maximum(np.ptp(self.horizontal), np.ptp(self.vertical))
        dashed = (np.abs(self.support[:, None] - beyond[None]) <= near).all(axis=2).any(axis=1)
        lines = [DASHED if one else "-" for one in dashed]
        self.rings_ = self.ax_.scatter(*self.support.T, s=3.4 * size, zorder=5, linestyle=lines or "-", **RING)
        if len(self.support):
            ring = {"markerfacecolor": "none", "markeredgecolor": "black", "markeredgewidth": 1.3}
            self._handle("support vectors", marker="o", markersize=13, linestyle="", color="black", **ring)

    def _handle(self, label: str, **style: Any) -> None:
        self.handles_.append(Line2D([], [], label=plain(label), **style))

    def _write_caption(self) -> Any:
        """Below the label of the x axis, in lines as long as the axes are wide."""
        label = self.ax_.xaxis.label.get_fontsize()
        tick = self.ax_.xaxis.get_ticklabels()[0].get_fontsize()
        inches = self.ax_.get_position().width * self.figure_.get_figwidth()
        letters = max(30, int(1.1 * 72 * inches / (0.5 * label)))  # a letter is about half as wide as high
        return self.ax_.annotate(
            filled_lines(list(self.caption), letters),
            (0.5, 0.0),
            xycoords="axes fraction",
            xytext=(0, -(14 + 1.2 * tick + 1.4 * label)),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=label,
            linespacing=1.35,
            parse_math=False,
        )


def _style(category: str, colour: str) -> dict[str, Any]:
    """On the margin with a black edge."""
    return {"facecolor": colour, "edgecolor": "black" if category == "on" else "white", "linewidth": 0.8}


def _mixed(colour: str, white: float) -> tuple[float, ...]:
    return tuple(white + (1 - white) * part for part in to_rgb(colour))
