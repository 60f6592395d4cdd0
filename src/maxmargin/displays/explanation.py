"""A prediction's explanation as a picture: of images the support vectors themselves, of tables bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.displays._figure import DISPLAY_ENTRIES, RIGHT, WRONG, Display, plain, space
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import check_number

if TYPE_CHECKING:
    from maxmargin.inspection.explanations import Explanation

VECTORS_PER_ROW = 6


@documented(DISPLAY_ENTRIES)
class ExplanationDisplay(Display):
    """Plot the largest contributions to one prediction.

    Blue terms increase the value, vermilion ones decrease it.

    Parameters
    ----------
    explanation : Explanation
        One of those that :func:`maxmargin.inspection.explanations.explain` returned.
    image_shape : pair of int, optional
        Height and width, if points are images; these are then shown, with a map of the sensitivities.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        For images: the point, its sensitivities (if there are any) and the support vectors. For tables: the terms and,
        if there are any, the sensitivities.
    {figure_}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from maxmargin import SVC
    >>> from maxmargin.displays import ExplanationDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SVC(gamma=0.001).fit(X[:500], y[:500])
    >>> display = ExplanationDisplay.from_estimator(model, X[500:501], image_shape=(8, 8), top=6).plot()
    >>> len(display.axes_)
    8
    """

    def __init__(self, explanation: Explanation, image_shape: tuple[int, int] | None = None) -> None:
        self.explanation = explanation
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, top: int = 10, image_shape: tuple[int, int] | None = None, ax: Any = None
    ) -> ExplanationDisplay:
        """Make the display of the prediction of a fitted model for one point.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of this library.
        X : array-like of shape (1, n_features)
            The point.
        top : int, default=10
            The number of support vectors.
        image_shape : pair of int, optional
            Height and width, if points are images.
        {ax_now}

        {Returns, display}
        """
        from maxmargin.inspection.explanations import explain

        found = explain(estimator, X, top=top)
        if len(found) != 1:
            raise ValueError(f"a display explains one point, and X has {len(found)}: choose one, like X[:1].")
        return cls(found[0], image_shape)._drawn_on(ax)

    def plot(self, ax: Any = None) -> ExplanationDisplay:
        """Draw.

        {Parameters, ax_divided}

        {Returns, drawn}
        """
        self.axes_: list[Any] = []
        if self.image_shape is not None:
            self._plot_images(ax)
        else:
            self._plot_bars(ax)
        return self

    def _title(self) -> str:
        one = self.explanation
        shown = f"{one.prediction:.4g}" if isinstance(one.prediction, float) else plain(one.prediction)
        return f"prediction {shown}: {one.value:.3g}, {plain(one.about)}"

    def _image_shape(self) -> tuple[int, int]:
        assert self.image_shape is not None
        height, width = self.image_shape
        check_number("image_shape[0]", height, least=1, integer=True)
        check_number("image_shape[1]", width, least=1, integer=True)
        point = self.explanation.point
        if point is None or height * width != len(point):
            size = "none" if point is None else str(len(point))
            raise ValueError(f"image_shape={self.image_shape} needs {height * width} features; the point has {size}.")
        return int(height), int(width)

    def _plot_images(self, ax: Any) -> None:
        one, shape = self.explanation, self._image_shape()
        assert one.point is not None
        vectors = [] if one.vectors is None else list(one.vectors)
        scale = {"cmap": "gray_r", "vmin": float(one.point.min()), "vmax": float(one.point.max())}
        rows = max(1, -(-len(vectors) // VECTORS_PER_ROW))
        self.figure_, place = space(ax, 11.0, 0.6 + 1.75 * max(2, rows))
        left, right = place.subgridspec(1, 2, width_ratios=(1.15, 5.0), wspace=0.05)
        own = left.subgridspec(2 if one.sensitivity is not None else 1, 1, hspace=0.12)
        top = self.figure_.add_subplot(own[0])
        top.imshow(one.point.reshape(shape), **scale)
        top.set_title(f"predicted {plain(one.prediction)}", fontsize="medium", fontweight="bold")
        self.axes_.append(top)
        if one.sensitivity is not None:
            below = self.figure_.add_subplot(own[1])
            largest = float(np.abs(one.sensitivity).max()) or 1.0
            below.imshow(one.sensitivity.reshape(shape), cmap="PuOr", vmin=-largest, vmax=largest)
            below.set_title("df/dx: purple raises f", fontsize="small")
            self.axes_.append(below)
        grid = right.subgridspec(
            rows + 1, VECTORS_PER_ROW, height_ratios=[0.16] + [1.0] * rows, wspace=0.06, hspace=0.3
        )
        title = self.figure_.add_subplot(grid[0, :])
        title.set_axis_off()
        title.text(0.5, 0.4, self._title(), ha="center", va="center", fontsize="large", transform=title.transAxes)
        for i, vector in enumerate(vectors):
            axes = self.figure_.add_subplot(grid[1 + i // VECTORS_PER_ROW, i % VECTORS_PER_ROW])
            axes.imshow(np.asarray(vector).reshape(shape), **scale)
            label = f"row {one.index[i]}" if one.label is None else plain(one.label[i])
            colour = RIGHT if one.contribution[i] >= 0 else WRONG
            axes.set_title(f"{label}: {one.contribution[i]:+.2g}", color=colour, fontsize="medium")
            for spine in axes.spines.values():
                spine.set(color=colour, linewidth=2)
            self.axes_.append(axes)
        for axes in self.axes_:
            axes.set(xticks=[], yticks=[])

    def _plot_bars(self, ax: Any) -> None:
        one = self.explanation
        panels = []
        if len(one.index):
            names = [
                f"row {row}" if one.label is None else f"row {row} ({plain(one.label[i])})"
                for i, row in enumerate(one.index)
            ]
            values = list(one.contribution)
            if one.n_rest:
                names, values = [*names, f"{one.n_rest:,} others"], [*values, one.rest]
            panels.append(("contribution", [*names, "intercept"], [*values, one.intercept]))
        of_feature = one.features if one.features is not None else one.sensitivity
        if of_feature is not None:
            order = np.argsort(-np.abs(of_feature), kind="stable")[:12]
            names = [str(j) if one.names is None else plain(one.names[j]) for j in order]
            values = list(of_feature[order])
            if one.features is not None and not len(one.index):
                names, values = [*names, "intercept"], [*values, one.intercept]
            panels.append(("w_j x_j" if one.features is not None else "df/dx_j", names, values))
        if not panels:
            raise ValueError("there is nothing to show: the model has no support vectors and its kernel no gradient.")
        rows = max(len(names) for _, names, _ in panels)
        self.figure_, place = space(ax, 5.6 * len(panels), 1.3 + 0.34 * rows)
        grid = place.subgridspec(1, len(panels))
        for i, (what, names, values) in enumerate(panels):
            axes = self.figure_.add_subplot(grid[i])
            at = np.arange(len(values))[::-1]
            axes.barh(at, values, color=[RIGHT if value >= 0 else WRONG for value in values])
            axes.set_yticks(at, names)
            axes.axvline(0, color="0.3", linewidth=0.8)
            axes.set_xlabel(what)
            axes.spines[["top", "right"]].set_visible(False)
            self.axes_.append(axes)
        self.axes_[0].set_title(self._title(), fontsize="medium", loc="left")
