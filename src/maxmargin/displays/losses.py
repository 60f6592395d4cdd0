"""Losses of a classifier against the functional margin m = y f(x) of a point.

zero-one         1 if m < 0, else 0         counts errors
hinge            max(0, 1 - m)              the slack of the soft margin; convex, and never below zero-one
squared hinge    max(0, 1 - m)^2            smooth; large errors cost more
logistic         log2(1 + exp(-m))          smooth and never zero; the base makes it 1 at m = 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.displays._figure import BLACK, BLUE, DISPLAY_ENTRIES, GREEN, VERMILION, Display, axes_of
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_choice, check_number


@dataclass(frozen=True)
class _Loss:
    label: str
    value: Callable[[Array], Array]
    colour: str
    style: Any


LOSSES = {
    "zero_one": _Loss("zero-one: 1 if m < 0", lambda m: np.where(m < 0, 1.0, 0.0), BLACK, "-"),
    "hinge": _Loss("hinge: max(0, 1 − m)", lambda m: np.maximum(0.0, 1.0 - m), BLUE, "-"),
    "squared_hinge": _Loss("squared hinge: max(0, 1 − m)²", lambda m: np.maximum(0.0, 1.0 - m) ** 2, VERMILION, "--"),
    "logistic": _Loss("logistic: log₂(1 + exp(−m))", lambda m: np.logaddexp(0.0, -m) / np.log(2.0), GREEN, "-."),
}


@documented(DISPLAY_ENTRIES)
class LossDisplay(Display):
    """Plot loss functions against the functional margin.

    Parameters
    ----------
    losses : iterable of {"zero_one", "hinge", "squared_hinge", "logistic"}
        Which to draw, in this order.

    Attributes
    ----------
    lines_ : dict
        The line of each loss, by name.
    {ax_, figure_}

    Examples
    --------
    >>> from maxmargin.displays import LossDisplay
    >>> display = LossDisplay(("zero_one", "hinge")).plot()
    >>> list(display.lines_)
    ['zero_one', 'hinge']
    >>> display.figure_.savefig("losses.png")  # doctest: +SKIP
    """

    def __init__(self, losses: Iterable[str] = ("zero_one", "hinge", "squared_hinge", "logistic")) -> None:
        self.losses = losses

    def plot(self, ax: Any = None, *, low: float = -2.0, high: float = 3.0, legend: bool = True) -> LossDisplay:
        """Draw.

        {Parameters, ax}
        low, high : float, default=-2.0, 3.0
            The range of functional margins.
        legend : bool, default=True
            Whether to draw a legend.

        {Returns, drawn}
        """
        check_number("low", low)
        check_number("high", high, above=low)
        given = [self.losses] if isinstance(self.losses, str) else list(self.losses)
        names = [check_choice("losses", name, LOSSES) for name in given]
        if not names:
            raise ValueError(f"losses is empty: name at least one of {', '.join(LOSSES)}.")
        self.figure_, self.ax_ = axes_of(ax, 8.0, 5.2)
        self.ax_.axvline(0, color="0.75", linewidth=1, zorder=0)
        self.ax_.axvline(1, color="0.75", linewidth=1, linestyle="--", zorder=0)
        # -0.0 < 0 is false, so the value just left of the jump has to be named.
        margins = np.union1d(np.linspace(low, high, 501), [m for m in (-1e-9, 0.0, 1.0) if low <= m <= high])
        self.lines_: dict[str, Any] = {}
        for name in names:
            loss = LOSSES[name]
            (self.lines_[name],) = self.ax_.plot(
                margins, loss.value(margins), color=loss.colour, linestyle=loss.style, linewidth=2.5, label=loss.label
            )
        top = max(1.0, *(LOSSES[name].value(np.array([low]))[0] for name in names))
        self.ax_.set(
            xlim=(low, high), ylim=(-0.1, 1.03 * min(top, 5.0)), xlabel="functional margin m = y f(x)", ylabel="loss"
        )
        self.ax_.spines[["top", "right"]].set_visible(False)
        zones = (("wrong side", low, 0.0), ("inside", 0.0, 1.0), ("outside the margin", 1.0, high))
        for zone, start, end in zones:
            start, end = max(start, low), min(end, high)
            if end > start:
                at = self.ax_.get_xaxis_transform()
                self.ax_.text((start + end) / 2, 1.01, zone, transform=at, ha="center", va="bottom", color="0.35")
        if legend:
            self.ax_.legend(loc="upper right", framealpha=1.0, edgecolor="white")
        return self
