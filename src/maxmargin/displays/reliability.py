"""Are probabilities what they say? Predicted probability against observed frequency, bin by bin.

Of all points that a classifier gives a class with probability about p, a part p should be of that class: the curve
should lie on the diagonal. What it is away from it on average over the points is the expected calibration error,

    ECE = sum_b (n_b / n) |mean predicted probability in bin b - observed frequency in bin b|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.displays._figure import CLASSES, DISPLAY_ENTRIES, Display, plain, space
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_choice, check_number, check_targets


@dataclass(frozen=True)
class ReliabilityCurve:
    """One class against the rest, in bins that have points.

    Attributes
    ----------
    label : object
        The class.
    predicted, observed : arrays
        Mean predicted probability and observed frequency of each bin.
    count : array of int
        Points in each bin.
    edges : array
        The bins' ends, those of empty bins included.
    """

    label: Any
    predicted: Array
    observed: Array
    count: Array
    edges: Array

    @property
    def error(self) -> float:
        """The expected calibration error."""
        return float(np.dot(self.count, np.abs(self.predicted - self.observed)) / max(1, self.count.sum()))


def reliability_curve(p: Array, positive: Array, label: Any, n_bins: int, strategy: str) -> ReliabilityCurve:
    """Predicted probabilities and what came of them, in bins of equal width or of equal numbers of points."""
    if strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    else:
        edges = np.unique(np.quantile(p, np.linspace(0.0, 1.0, n_bins + 1)))
        edges[0], edges[-1] = 0.0, 1.0
    of = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, max(0, len(edges) - 2))
    count = np.bincount(of, minlength=len(edges) - 1)
    used = np.flatnonzero(count)
    predicted = np.bincount(of, weights=p, minlength=len(count))[used] / count[used]
    observed = np.bincount(of, weights=positive, minlength=len(count))[used] / count[used]
    return ReliabilityCurve(label, predicted, observed, count[used], edges)


@documented(DISPLAY_ENTRIES)
class ReliabilityDisplay(Display):
    """Plot predicted probabilities against observed frequencies (reliability diagram).

    Parameters
    ----------
    curves : list of ReliabilityCurve
        One for two classes, one per class for more.

    Attributes
    ----------
    lines_ : list
        The curves' lines.
    ax_ : matplotlib Axes
        The curves.
    count_ax_ : matplotlib Axes
        The numbers of points.
    {figure_}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.displays import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2).plot()
    >>> display.curves[0].predicted, display.curves[0].observed
    (array([0.15, 0.85]), array([0., 1.]))
    >>> display.figure_.savefig("reliability.png")  # doctest: +SKIP
    """

    def __init__(self, curves: list[ReliabilityCurve]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, strategy: str = "uniform", ax: Any = None
    ) -> ReliabilityDisplay:
        """Create the display from a fitted classifier and held-out points.

        Parameters
        ----------
        estimator : classifier
            One that has ``predict_proba``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            The labels.
        n_bins : int, default=10
            Number of bins of predicted probabilities.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equal numbers of points.
        {ax_now}

        {Returns, display}
        """
        if not hasattr(estimator, "predict_proba"):
            raise AttributeError(
                f"{type(estimator).__name__} has no predict_proba: fit it with calibration='sigmoid' (or 'isotonic', "
                "'temperature')."
            )
        p = estimator.predict_proba(X)
        display = cls.from_predictions(p, y, classes=estimator.classes_, n_bins=n_bins, strategy=strategy)
        return display._drawn_on(ax)

    @classmethod
    def from_predictions(
        cls, p: Any, y: Any, *, classes: Any = None, n_bins: int = 10, strategy: str = "uniform"
    ) -> ReliabilityDisplay:
        """Make the display of probabilities.

        Parameters
        ----------
        p : array-like of shape (n_samples,) or (n_samples, n_classes)
            Probabilities: of the second class, or of every class.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like of shape (n_classes,), optional
            The labels in the order of the columns; the sorted labels of y by default.
        n_bins : int, default=10
            Number of bins of predicted probabilities.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equal numbers of points.

        {Returns, display}
        """
        check_number("n_bins", n_bins, least=1, integer=True)
        check_choice("strategy", strategy, ["uniform", "quantile"])
        p = np.asarray(p, np.float64)
        if p.ndim not in (1, 2) or len(p) == 0 or not (np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all()):
            raise ValueError("p must hold probabilities between 0 and 1, one per sample, or one per sample and class.")
        labels = check_targets(y, len(p))
        names = np.unique(labels) if classes is None else np.asarray(classes)
        if p.ndim == 1 and len(names) > 2:
            raise ValueError(
                f"p has one probability per sample, but there are {len(names)} classes: give one per class."
            )
        if p.ndim == 2 and p.shape[1] != len(names):
            raise ValueError(f"p has {p.shape[1]} columns and there are {len(names)} classes: name them by classes=.")
        if p.ndim == 1 or len(names) == 2:
            own = p if p.ndim == 1 else p[:, 1]
            return cls([reliability_curve(own, labels == names[-1], names[-1], int(n_bins), strategy)])
        columns = zip(p.T, names, strict=True)
        return cls([reliability_curve(own, labels == name, name, int(n_bins), strategy) for own, name in columns])

    def plot(self, ax: Any = None, *, legend: bool = True) -> ReliabilityDisplay:
        """Draw.

        {Parameters, ax_divided}
        legend : bool, default=True
            Whether to draw a legend.

        {Returns, drawn}
        """
        self.figure_, place = space(ax, 6.4, 6.4)
        grid = place.subgridspec(2, 1, height_ratios=(3.2, 1.0), hspace=0.05)
        self.ax_ = self.figure_.add_subplot(grid[0])
        self.count_ax_ = self.figure_.add_subplot(grid[1], sharex=self.ax_)
        self.ax_.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1.2, label="perfect", zorder=1)
        self.lines_ = []
        for i, curve in enumerate(self.curves):
            colour = CLASSES[i % len(CLASSES)]
            name = f"{plain(curve.label)} (ECE {curve.error:.3f})"
            style = ("-", "--", ":", "-.")[i // len(CLASSES) % 4]  # colours come again
            (line,) = self.ax_.plot(
                curve.predicted, curve.observed, style, color=colour, marker="o", markersize=5, linewidth=2, label=name
            )
            self.lines_.append(line)
            if len(self.curves) == 1:  # two standard errors of a share
                half = 2.0 * np.sqrt(np.maximum(curve.observed * (1 - curve.observed), 0.0) / curve.count)
                low, high = np.clip(curve.observed - half, 0, 1), np.clip(curve.observed + half, 0, 1)
                self.ax_.vlines(curve.predicted, low, high, color=colour, linewidth=1, alpha=0.6)
                widths = np.diff(curve.edges)
                at = np.clip(np.searchsorted(curve.edges, curve.predicted, side="right") - 1, 0, len(widths) - 1)
                self.count_ax_.bar(curve.edges[at], curve.count, widths[at], align="edge", color=colour, alpha=0.7)
            else:
                self.count_ax_.plot(curve.predicted, curve.count, style, color=colour, marker=".", linewidth=1)
        several = len(self.curves) > 1
        of = "each class" if several else plain(self.curves[0].label)
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="observed frequency")
        self.ax_.set_title(f"Reliability of the probabilities of {of}")
        self.ax_.tick_params(labelbottom=False)
        self.count_ax_.set(xlabel=f"predicted probability of {of}", ylabel="points")
        if several:
            self.count_ax_.set_yscale("log")
        for axes in (self.ax_, self.count_ax_):
            axes.spines[["top", "right"]].set_visible(False)
        if legend:
            self.ax_.legend(loc="upper left", framealpha=1.0, edgecolor="white", fontsize="small")
        return self
