"""The way of one or several solvers to the optimum: gap, objective, margin over iterations or over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.displays._figure import CLASSES, DISPLAY_ENTRIES, Display, axes_of, plain
from maxmargin.runtime.history import History
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_choice, check_number

STYLES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
AXES = {"iteration": "iterations (epochs)", "seconds": "seconds"}
COLUMNS = {
    "objective": "primal objective",
    "dual": "dual objective",
    "gap": "duality gap",
    "relative_gap": "relative duality gap",
    "excess": "objective above the optimum, at most",
    "margin": "margin 2 / |w|",
    "n_support": "support vectors",
}
LOG_SCALE_MIN_RATIO = 100  # of the ends of an x axis


@documented(DISPLAY_ENTRIES)
class HistoryDisplay(Display):
    """Plot the convergence history of one or several fits.

    Parameters
    ----------
    histories : History, or mapping of str to History
        The histories to plot, with their names for the legend.

    Attributes
    ----------
    lines_ : dict
        The lines of each history by its name, one per binary problem.
    {ax_, figure_}

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.displays import HistoryDisplay
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> histories = {name: SVC(solver=name).fit(X, y).history_ for name in ("smo", "active_set")}
    >>> display = HistoryDisplay.from_histories(histories).plot(x="seconds", y="relative_gap")
    >>> list(display.lines_)
    ['smo', 'active_set']
    >>> display.figure_.savefig("history.png")  # doctest: +SKIP
    """

    def __init__(self, histories: History | Mapping[str, History]) -> None:
        self.histories = histories

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None) -> HistoryDisplay:
        """Make the display of a fitted estimator's history.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a ``history_``.
        name : str, optional
            Its name in the legend; by default its class and its solver.
        {ax_now}

        {Returns, display}
        """
        check_is_fitted(estimator)
        kind = type(estimator).__name__
        if not isinstance(getattr(estimator, "history_", None), History):
            raise TypeError(
                f"{kind} keeps no History of its fit: give an estimator that does, such as SVC or LinearSVC."
            )
        solver = getattr(getattr(estimator, "report_", None), "solver", None)
        display = cls({name or (f"{kind}, {solver}" if solver else kind): estimator.history_})
        return display._drawn_on(ax)

    @classmethod
    def from_histories(cls, histories: Mapping[str, History]) -> HistoryDisplay:
        """Make the display of several histories.

        Parameters
        ----------
        histories : mapping of str to History
            Histories by name of the solver.

        {Returns, display}
        """
        return cls(histories)

    def plot(
        self,
        ax: Any = None,
        *,
        x: str = "iteration",
        y: str = "gap",
        xscale: str | None = None,
        yscale: str | None = None,
        max_problems: int = 10,
        legend: bool = True,
    ) -> HistoryDisplay:
        """Draw.

        Records without a finite value are skipped, and so are gaps that are not positive, which are rounding errors. A
        log scale cannot show iteration 0. A history with a single record is drawn as a marker. The binary problems of
        one history (one per class, or per pair) are faint lines of the same colour.

        {Parameters, ax}
        x : {"iteration", "seconds"}, default="iteration"
            Quantity on the horizontal axis.
        y : {"gap", "relative_gap", "excess", "objective", "dual", "margin", "n_support"}, default="gap"
            ``"excess"``, for histories of the same problem, is the objective minus the largest dual objective of all of
            them, the best known lower bound on the optimum.
        xscale, yscale : {"linear", "log"}, optional
            By default y is logarithmic if all values are positive, and x if its values also span several orders of
            magnitude.
        max_problems : int, default=10
            Maximum number of binary problems to draw per history; the legend mentions omitted ones.
        legend : bool, default=True
            Whether to draw a legend.

        {Returns, drawn}
        """
        check_choice("x", x, AXES)
        check_choice("y", y, COLUMNS)
        for name, scale in (("xscale", xscale), ("yscale", yscale)):
            if scale is not None:
                check_choice(name, scale, ["linear", "log"])
        check_number("max_problems", max_problems, least=1, integer=True)
        histories = self._named()
        bounds = _best_bounds(histories)
        curves = {
            name: [_curve(history.of_problem(k), x, y, bounds[k]) for k in np.unique(history.problem)]
            for name, history in histories.items()
        }
        drawn = [curve for some in curves.values() for curve in some[:max_problems] if len(curve)]
        if not drawn:
            raise ValueError(f"y={y!r}: no record has it together with {x!r}. Choose another y, or x='iteration'.")
        points = np.concatenate(drawn)

        self.figure_, self.ax_ = axes_of(ax, 8.0, 5.2)
        self.lines_: dict[str, list[Any]] = {}
        for number, (name, some) in enumerate(curves.items()):
            shown = [curve for curve in some[:max_problems] if len(curve)]
            style: dict[str, Any] = {"color": CLASSES[number % len(CLASSES)], "linestyle": STYLES[number % len(STYLES)]}
            if len(some) > 1:
                style |= {"linewidth": 1.3, "alpha": 0.6}
            else:
                style |= {"linewidth": 2.2}
            self.lines_[name] = [
                self.ax_.plot(*curve.T, marker="o" if len(curve) == 1 else None, markersize=8, **style)[0]
                for curve in shown
            ]
            label = plain(_label(name, len(some), len(shown), y))
            if shown:
                self.lines_[name][0].set_label(label)
            else:
                self.ax_.plot([], [], label=label, **style)
        self.ax_.set(xlabel=AXES[x], ylabel=COLUMNS[y])
        for axis, scale in (
            ("x", xscale or _scale(points[points[:, 0] > 0, 0], LOG_SCALE_MIN_RATIO)),
            ("y", yscale or _scale(points[:, 1], 1)),
        ):
            getattr(self.ax_, f"set_{axis}scale")(scale, **({"nonpositive": "mask"} if scale == "log" else {}))
        self.ax_.grid(color="0.92")
        self.ax_.spines[["top", "right"]].set_visible(False)
        if legend:
            self.ax_.legend(frameon=True, framealpha=0.9, edgecolor="0.85")
        return self

    def _named(self) -> dict[str, History]:
        histories = {"": self.histories} if isinstance(self.histories, History) else self.histories
        if not isinstance(histories, Mapping) or not all(isinstance(h, History) for h in histories.values()):
            raise TypeError(
                "histories must be a History, such as SVC().fit(X, y).history_, or a dict of name to History."
            )
        if not histories:
            raise ValueError("histories is empty: give at least one.")
        return {str(name) or "history": history for name, history in histories.items()}


def _best_bounds(histories: Mapping[str, History]) -> dict[int, float]:
    """The largest dual objective of each binary problem."""
    bounds: dict[int, float] = {}
    for record in (record for history in histories.values() for record in history):
        dual = record.dual if np.isfinite(record.dual) else -np.inf
        bounds[record.problem] = max(bounds.get(record.problem, -np.inf), dual)
    return bounds


def _curve(history: History, x: str, y: str, bound: float) -> Array:
    """The finite records as points (x, y)."""
    values = history.objective - bound if y == "excess" else history[y]
    points = np.column_stack((history[x], values)).astype(np.float64)
    keep = np.isfinite(points).all(axis=1)
    if y in ("gap", "relative_gap", "excess"):
        keep &= points[:, 1] > 0
    return points[keep]


def _scale(values: Array, far: float) -> str:
    smallest, largest = float(values.min(initial=np.inf)), float(values.max(initial=0.0))
    return "log" if smallest > 0 and largest >= far * smallest and largest > smallest else "linear"


def _label(name: str, problems: int, shown: int, y: str) -> str:
    if shown == 0:
        return f"{name} (no {COLUMNS[y]})"
    if problems == 1:
        return name
    return f"{name} ({'' if shown == problems else f'{shown} of '}{problems} binary problems)"
