"""Shapley values as pictures: how much each feature matters and which way, or one row's way to its decision value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.displays._figure import BLUE, DISPLAY_ENTRIES, RIGHT, WRONG, Display, axes_of, plain
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import check_choice, check_number

if TYPE_CHECKING:
    from maxmargin.inspection.shapley import ShapleyValues

KINDS = ("bar", "beeswarm", "force")
SWARM_BINS = 60  # along the axis; points of one bin are spread around the feature's line


@documented(DISPLAY_ENTRIES)
class ShapleyDisplay(Display):
    """Plot Shapley values as bars, a beeswarm or a force plot.

    Parameters
    ----------
    values : ShapleyValues
        What :func:`maxmargin.shapley_values` returned, of one output; choose one with ``values.output(name)``.
    kind : {"bar", "beeswarm", "force"}, default="beeswarm"
        ``"bar"``: the mean absolute value of each feature. ``"beeswarm"``: a dot for each row, coloured by the
        feature's value. ``"force"``: the first row, feature by feature from the base value to its decision value.
    top : int, default=10
        The features to show, largest first; the others are summed up in the last line of ``"force"``.

    Attributes
    ----------
    {ax_, figure_}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, shapley_values
    >>> from maxmargin.displays import ShapleyDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> found = shapley_values(SVC().fit(X, y == 1), X, X[::15])
    >>> display = ShapleyDisplay(found, kind="bar").plot()
    >>> len(display.ax_.patches)
    4
    """

    def __init__(self, values: ShapleyValues, kind: str = "beeswarm", top: int = 10) -> None:
        self.values = values
        self.kind = kind
        self.top = top

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, background: Any = None, *, kind: str = "beeswarm", top: int = 10, ax: Any = None
    ) -> ShapleyDisplay:
        """Make the display of a fitted estimator with one output.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of this library.
        X : array-like of shape (n, d)
            The rows to explain.
        background : array-like of shape (m, d), optional
            As for :func:`maxmargin.shapley_values`.
        kind : {"bar", "beeswarm", "force"}, default="beeswarm"
            Kind of plot.
        top : int, default=10
            The features to show.
        {ax_now}

        {Returns, display}
        """
        from maxmargin.inspection.shapley import shapley_values

        return cls(shapley_values(estimator, X, background), kind, top)._drawn_on(ax)

    def plot(self, ax: Any = None) -> ShapleyDisplay:
        """Draw.

        {ax -> drawn}
        """
        check_choice("kind", self.kind, KINDS)
        top = check_number("top", self.top, least=1, integer=True)
        if self.values.values.ndim == 3:
            names = ", ".join(self.values.output_names)
            raise ValueError(f"the values have several outputs ({names}): choose one, values.output(name).")
        if len(self.values) == 0:
            raise ValueError("there is nothing to draw: the values have no rows.")
        sizes = self.values.importance if self.kind != "force" else np.abs(self.values.values[0])
        order = np.argsort(-sizes, kind="stable")[: int(top)]
        self.figure_, self.ax_ = axes_of(ax, 7.0, 1.3 + 0.36 * (len(order) + 1))
        {"bar": self._bars, "beeswarm": self._swarm, "force": self._force}[self.kind](order)
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self

    def _name(self, j: int) -> str:
        return plain(self.values.feature_names[j])

    def _bars(self, order: Any) -> None:
        at = np.arange(len(order))[::-1]
        self.ax_.barh(at, self.values.importance[order], color=BLUE)
        self.ax_.set_yticks(at, [self._name(j) for j in order])
        self.ax_.set_xlabel(f"mean size of the Shapley value, output {plain(self.values.output_names[0])}")

    def _swarm(self, order: Any) -> None:
        dots = None
        for at, j in zip(np.arange(len(order))[::-1], order, strict=True):
            x, data = self.values.values[:, j], self.values.data[:, j]
            spread = np.ptp(data)
            shade = (data - data.min()) / spread if spread > 0 else np.full(len(data), 0.5)
            dots = self.ax_.scatter(x, at + _offsets(x), c=shade, cmap="cividis", vmin=0, vmax=1, s=9, linewidths=0)
        self.ax_.axvline(0, color="0.3", linewidth=0.8)
        self.ax_.set_yticks(np.arange(len(order))[::-1], [self._name(j) for j in order])
        self.ax_.set_xlabel(f"Shapley value, output {plain(self.values.output_names[0])}")
        bar = self.figure_.colorbar(dots, ax=self.ax_, ticks=[0, 1], aspect=30)
        bar.ax.set_yticklabels(["low", "high"])
        bar.set_label("value of the feature")

    def _force(self, order: Any) -> None:
        values, data = self.values.values[0], self.values.data[0]
        names = [f"{self._name(j)} = {data[j]:.4g}" for j in order]
        steps = list(values[order])
        if len(order) < len(values):
            names.append(f"{len(values) - len(order):,} others")
            steps.append(float(values.sum() - values[order].sum()))
        base = float(self.values.base_values[0])
        ends = base + np.cumsum(steps)
        at = np.arange(len(steps))[::-1]
        self.ax_.barh(at, steps, left=ends - steps, color=[RIGHT if step >= 0 else WRONG for step in steps])
        for line, step, end in zip(at, steps, ends, strict=True):
            self.ax_.annotate(
                f"{step:+.3g}", (max(end, end - step), line), (3, 0), textcoords="offset points", va="center"
            )
        self.ax_.axvline(base, color="0.5", linewidth=0.8, linestyle=":")
        self.ax_.axvline(ends[-1], color="0.3", linewidth=0.8)
        self.ax_.margins(x=0.12)
        self.ax_.set_yticks(at, names)
        self.ax_.set_xlabel(f"output {plain(self.values.output_names[0])}: from {base:.3g} to {ends[-1]:.3g}")


def _offsets(x: Any) -> Any:
    """Places around a line so that dots of about equal value lie side by side."""
    low, spread = x.min(), np.ptp(x)
    bins = np.zeros(len(x), int) if spread == 0 else ((x - low) / spread * (SWARM_BINS - 1)).astype(int)
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins, minlength=SWARM_BINS)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(x), int)
    rank[order] = np.arange(len(x)) - starts[bins[order]]
    side = np.where(rank % 2 == 0, 1.0, -1.0) * ((rank + 1) // 2)
    return 0.4 * side / max(1.0, counts.max() / 2.0)
