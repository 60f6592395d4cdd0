"""What the displays share: matplotlib, a place to draw in, and colours that all eyes can tell apart."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

try:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
except ImportError as error:
    raise ImportError('displays need matplotlib: pip install "maxmargin[plot]"') from error

# Okabe and Ito's colours (2008): apart for every kind of colour vision.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, YELLOW, BLACK = "#56B4E9", "#CC79A7", "#F0E442", "#000000"
RIGHT, WRONG = BLUE, VERMILION
CLASSES = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, YELLOW, BLACK)


def new_figure(width: float, height: float) -> Any:
    """A figure that needs no window system."""
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))


def axes_of(ax: Any, width: float = 6.4, height: float = 4.8) -> tuple[Any, Any]:
    """(figure, axes): those given, or new ones."""
    if ax is not None:
        return ax.figure, ax
    figure = new_figure(width, height)
    return figure, figure.add_subplot()


def space(ax: Any, width: float, height: float) -> tuple[Any, Any]:
    """A figure and the part of it to divide and draw in: a new one, or the place of the given axes."""
    if ax is None:
        figure = new_figure(width, height)
        return figure, figure.add_gridspec(1, 1)[0]
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError("ax has no place in a grid to divide: make it with figure.subplots()")
    ax.set_axis_off()
    return ax.figure, place


def show_image(ax: Any, image: NDArray[Any], **options: Any) -> None:
    ax.imshow(image, **options)
    ax.set(xticks=[], yticks=[])
