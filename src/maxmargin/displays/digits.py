"""Pictures of the worked example: test images with their predictions, and a user's own pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays._figure import DISPLAY_ENTRIES, RIGHT, WRONG, Display, show_image, space
from maxmargin.runtime.parameter_docs import documented

if TYPE_CHECKING:
    from maxmargin.digits.example import DigitsResult
    from maxmargin.digits.pictures import PictureResult


@documented(DISPLAY_ENTRIES)
class DigitsDisplay(Display):
    """Plot test images with their predictions, and the confusion matrix.

    Parameters
    ----------
    result : DigitsResult
        What :func:`maxmargin.digits.run` returned.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each image shown.
    ax_ : matplotlib Axes
        The confusion matrix.
    {figure_}

    Examples
    --------
    >>> from maxmargin import digits
    >>> from maxmargin.displays import DigitsDisplay
    >>> display = DigitsDisplay.from_result(digits.run()).plot(n_images=12)
    >>> len(display.axes_)
    12
    >>> display.figure_.savefig("digits.png")  # doctest: +SKIP
    """

    def __init__(self, result: DigitsResult) -> None:
        self.result = result

    @classmethod
    def from_result(cls, result: DigitsResult) -> DigitsDisplay:
        """Make the display of a result.

        Parameters
        ----------
        result : DigitsResult
            Result of :func:`maxmargin.digits.run`.

        {Returns, display}
        """
        return cls(result)

    def plot(self, ax: Any = None, *, n_images: int = 28) -> DigitsDisplay:
        """Draw.

        {Parameters, ax_divided}
        n_images : int, default=28
            Number of test images shown: the misclassified first, then the first of the others.

        {Returns, drawn}
        """
        if n_images < 1:
            raise ValueError(f"n_images={n_images}: show at least one image")
        result = self.result
        self.figure_, place = space(ax, 13, 6)
        left, right = place.subgridspec(1, 2, width_ratios=(1.12, 1.0), wspace=0.06)

        wrong = result.predictions != result.y_test
        shown = np.argsort(~wrong, kind="stable")[:n_images]
        n_columns = min(7, len(shown))
        n_rows = -(-len(shown) // n_columns)
        # A narrow first row carries the title, so that it takes part in the layout wherever the display is drawn.
        grid = left.subgridspec(n_rows + 1, n_columns, height_ratios=[0.18] + [1] * n_rows, wspace=0.05, hspace=0.05)
        title = self.figure_.add_subplot(grid[0, :])
        title.set_axis_off()
        count = int(wrong.sum())
        heading = f"Test images: {count} of {len(wrong)} wrong (true → predicted)"
        title.text(0.5, 0.5, heading, ha="center", va="center", fontsize="large", transform=title.transAxes)
        axes = []
        for number, index in enumerate(shown):
            image_ax = self.figure_.add_subplot(grid[1 + number // n_columns, number % n_columns])
            show_image(image_ax, result.images_test[index], cmap="gray_r", vmin=0, vmax=16)
            true, predicted = result.y_test[index], result.predictions[index]
            colour = WRONG if wrong[index] else RIGHT
            image_ax.set_title(
                f"{true} → {predicted}" if wrong[index] else str(predicted),
                color=colour,
                fontweight="bold" if wrong[index] else "normal",
                fontsize="medium",
                pad=3,
            )
            for spine in image_ax.spines.values():
                spine.set(color=colour if wrong[index] else "0.8", linewidth=2 if wrong[index] else 0.8)
            axes.append(image_ax)
        self.axes_: NDArray[Any] = np.array(axes, dtype=object)

        self.ax_ = self.figure_.add_subplot(right)
        self._plot_confusion(self.ax_)
        return self

    def _plot_confusion(self, ax: Any) -> None:
        counts = self.result.confusion
        diagonal = np.eye(len(counts), dtype=bool)
        # Errors have a scale of their own: beside the diagonal's counts they would vanish.
        for part, cmap in ((diagonal, "Blues"), (~diagonal & (counts > 0), "Oranges")):
            largest = max(1, int(counts[part].max(initial=0)))
            ax.imshow(np.ma.masked_array(counts, ~part), cmap=cmap, vmin=0, vmax=1.8 * largest)
        for (true, predicted), count in np.ndenumerate(counts):
            if count:
                weight = "normal" if true == predicted else "bold"
                ax.text(predicted, true, str(count), ha="center", va="center", weight=weight)
        ticks = np.arange(len(counts))
        ax.set(xticks=ticks, yticks=ticks, xlabel="predicted digit", ylabel="true digit")
        ax.set_xticks(ticks[:-1] + 0.5, minor=True)
        ax.set_yticks(ticks[:-1] + 0.5, minor=True)
        ax.grid(which="minor", color="0.9", linewidth=0.8)
        ax.tick_params(which="both", length=0)
        result = self.result
        ax.set_title(
            f"Confusion matrix\naccuracy {result.accuracy:.3f}, naive baseline {result.baseline:.3f}", fontsize="large"
        )


@documented(DISPLAY_ENTRIES)
class PicturesDisplay(Display):
    """Plot classified pictures: the original, the 8 x 8 input of the model, and the scores.

    Parameters
    ----------
    results : sequence of PictureResult
        What :func:`maxmargin.digits.classify_pictures` returned.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (n_pictures, 3)
        Original, 8 x 8 image and scores of each picture.
    {figure_}

    Examples
    --------
    >>> from maxmargin import digits
    >>> from maxmargin.displays import PicturesDisplay
    >>> result = digits.run()
    >>> own = digits.classify_pictures(result.model, result.images_test[:2])
    >>> PicturesDisplay.from_results(own).plot().axes_.shape
    (2, 3)
    """

    def __init__(self, results: Sequence[PictureResult]) -> None:
        self.results = list(results)

    @classmethod
    def from_results(cls, results: Sequence[PictureResult]) -> PicturesDisplay:
        """Make the display of some results.

        Parameters
        ----------
        results : sequence of PictureResult
            Results of :func:`maxmargin.digits.classify_pictures`.

        {Returns, display}
        """
        return cls(results)

    def plot(self, ax: Any = None, *, n_pictures: int = 40) -> PicturesDisplay:
        """Draw.

        {Parameters, ax_divided}
        n_pictures : int, default=40
            Maximum number of pictures to draw.

        {Returns, drawn}
        """
        results = self.results[:n_pictures]
        if not results:
            raise ValueError("there is no picture to show: classify at least one")
        n_across = 1 if len(results) <= 4 else 2
        n_down = -(-len(results) // n_across)
        self.figure_, place = space(ax, 7.0 * n_across, 2.3 * n_down)
        grid = place.subgridspec(n_down, 3 * n_across, width_ratios=(1, 1, 1.4) * n_across)
        self.axes_: NDArray[Any] = np.empty((len(results), 3), dtype=object)
        for number, result in enumerate(results):
            down, across = divmod(number, n_across)
            axes = [self.figure_.add_subplot(grid[down, 3 * across + part]) for part in range(3)]
            self.axes_[number] = axes
            show_image(axes[0], result.original)
            name = result.path if len(result.path) <= 28 else "…" + result.path[-27:]
            axes[0].set_title(name, fontsize="small", parse_math=False)
            show_image(axes[1], result.image, cmap="gray_r", vmin=0, vmax=16)
            axes[1].set_title(f"predicted {result.label}", color=RIGHT, fontweight="bold")
            labels = sorted(result.scores)
            colours = [RIGHT if label == result.label else "0.75" for label in labels]
            axes[2].bar(range(len(labels)), [result.scores[label] for label in labels], color=colours)
            axes[2].set_xticks(range(len(labels)), [str(label) for label in labels])
            axes[2].set_title("score of each digit", fontsize="small")
            axes[2].axhline(0, color="0.3", linewidth=0.8)
            axes[2].spines[["top", "right"]].set_visible(False)
            axes[2].tick_params(labelsize="small", length=2)
        return self
