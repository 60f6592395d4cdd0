"""What the displays share: matplotlib, a place to draw in, and colours that all eyes can tell apart.

colours     of classes and curves in this order: blue, vermilion, green, purple, ...
solid       the fitted function, the boundary, and thin margin and tube;  dotted: the truth
black rings support vectors, dashed inside the margin;  vermilion ring: what a search has chosen
"""

from __future__ import annotations

import io
import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from maxmargin.kernels import RBF, Kernel, Linear, Polynomial
from maxmargin.runtime.parameter_docs import entries
from maxmargin.runtime.text_report import short_numbers
from maxmargin.svm.report import FitReport

try:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
except ImportError as error:
    raise ImportError('displays need matplotlib: pip install "maxmargin[plot]"') from error

# Okabe and Ito's colours (2008): apart for every kind of colour vision. Purple, orange and sky are darker than theirs,
# to be seen on white; the lab has the same (css/base.css).
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#C98A00"
SKY, PURPLE, YELLOW, BLACK = "#4A9FD4", "#B6528B", "#F0E442", "#000000"
RIGHT, WRONG = BLUE, VERMILION
CLASSES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)  # in the order of the lab
MARKERS = ("o", "s", "^", "D", "v", "*", "P", "p")
DISPLAY_ENTRIES = entries(
    """
ax : matplotlib Axes, optional
    Where to draw; by default a new figure, which needs no window system.
ax_divided as ax : matplotlib Axes, optional
    Axes to divide; by default a new figure, which needs no window system.
ax_now as ax : matplotlib Axes, optional
    Where to draw at once; without it :meth:`plot` draws.
display : Display
    Of this class; :meth:`plot` draws it, unless that was done.
drawn as display : Display
    Itself.
ax_ : matplotlib Axes
    Axes of the last plot.
figure_ : matplotlib Figure
    The figure of the last plot.
"""
)
RING = {"facecolor": "none", "edgecolor": BLACK, "linewidth": 1.3}  # around support vectors
BETWEEN = " · "
CAPTION_DIGITS = 4  # of a number in a caption


def markers_of(colours: Any) -> tuple[str, ...]:
    """The shapes that belong to these colours in the lab; of colours that are no class's, all shapes in their order."""
    if all(colour in CLASSES for colour in colours):
        return tuple(MARKERS[CLASSES.index(colour)] for colour in colours)
    return MARKERS


def caption_items(
    estimator: Any, error: float, *, margin: float | None = None, n_support: int | None = None
) -> list[str]:
    """What a fit did: solver, kernel, C, kernel evaluations, support vectors, margin and training error.

    ``margin`` and ``n_support`` are those of one of several binary problems (0 where its own are not known); ``error``
    is the share of wrong points in the picture, for estimators without a report."""
    name = type(estimator).__name__
    report = getattr(estimator, "report_", None)
    if not isinstance(report, FitReport):
        return [name, f"{error:.1%} of these points wrong"]
    items = [f"{name}, {report.solver.replace('_', ' ')}", kernel_text(report.kernel), report.parameters]
    if report.kernel_evaluations:
        items.append(f"{report.kernel_evaluations:,} kernel evaluations")
    if n_support != 0:
        items.append(f"{report.n_support if n_support is None else n_support:,} support vectors")
    if hasattr(estimator, "classes_"):
        smallest = margin is None and len(report.margins) > 1
        margin = report.margin if margin is None else margin
        items.append(f"{'smallest ' if smallest else ''}margin {margin:.4g}")
    if not math.isnan(report.training_error):
        items.append(f"{report.error_name} {report.training_error:.1%}")
    if not report.converged:
        items.append(f"NOT CONVERGED: {report.status.value}")
    return items


def plain(label: Any) -> str:
    """A label that matplotlib shows as it is: matplotlib reads $ as mathematics, and hides what begins with _."""
    text = str(label).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def kernel_text(kernel: Kernel) -> str:
    """The kernel with its argument in few digits; the Gaussian by its width, exp(-|x - z|^2 / 2 sigma^2)."""
    if isinstance(kernel, Linear):
        return "linear kernel"
    if type(kernel) is RBF and isinstance(kernel.gamma, float) and kernel.gamma > 0:
        return f"Gaussian kernel, σ = {1 / math.sqrt(2 * kernel.gamma):.3g}"
    if type(kernel) is Polynomial:
        gamma = f"{kernel.gamma:.{CAPTION_DIGITS}g} " if isinstance(kernel.gamma, float) else "γ "
        product = f"{'' if kernel.gamma == 1 else gamma}x·z"
        inner = f"({product} + {kernel.coef0:.{CAPTION_DIGITS}g})" if kernel.coef0 else f"({product})"
        return f"polynomial kernel, {inner}{'' if kernel.degree == 1 else f'^{kernel.degree}'}"
    return short_numbers(" ".join(str(kernel).split()), CAPTION_DIGITS)


def filled_lines(items: list[str], width: int) -> str:
    """The items in as few lines of at most so many characters as will do, and those about equally long."""

    def broken(width: int) -> list[str]:
        lines = [items[0]]
        for item in items[1:]:
            if len(lines[-1]) + len(BETWEEN) + len(item) <= width:
                lines[-1] += BETWEEN + item
            else:
                lines.append(item)
        return lines

    fewest = len(broken(width))
    narrowest = next(narrow for narrow in range(1, width + 1) if len(broken(narrow)) == fewest)
    return "\n".join(broken(narrowest))


class Display(ABC):
    """The base of all displays: drawn by ``plot``, or when what was drawn is first asked for.

    A notebook shows the picture where a display is the value of a cell, and ``display.figure_`` and ``display.ax_``
    exist without a call of ``plot``.
    """

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw it, on these axes or on a figure of its own."""

    def _drawn_on(self, ax: Any) -> Any:
        """Itself; drawn there at once, if there is a place."""
        return self if ax is None else self.plot(ax)

    def __getattr__(self, name: str) -> Any:
        if not name.endswith("_") or name.startswith("_") or "figure_" in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.plot()
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}: .plot(ax) draws it, .figure_.savefig(path) saves it"

    def _repr_png_(self) -> bytes:
        """For notebooks."""
        file = io.BytesIO()
        self.figure_.savefig(file, format="png", dpi=100)
        return file.getvalue()


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


def dense(X: Any) -> NDArray[Any]:
    """Points or values as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def last_step(estimator: Any) -> Any:
    """The estimator itself, or that at the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def transformed(estimator: Any, X: Any) -> Any:
    """X as the last step of a pipeline gets it."""
    several = isinstance(estimator, Pipeline) and len(estimator.steps) > 1
    return estimator[:-1].transform(X) if several else X


def points_like(X: Any, values: NDArray[Any]) -> Any:
    """Points for an estimator that was fitted on something like X: a table with the same columns, if X is one."""
    if not hasattr(X, "columns"):
        return values
    return type(X)({name: values[:, i] for i, name in enumerate(X.columns)})


def show_image(ax: Any, image: NDArray[Any], **options: Any) -> None:
    ax.imshow(image, **options)
    ax.set(xticks=[], yticks=[])
