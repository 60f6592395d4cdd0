"""The scores of a grid search: a map over two parameters, or a curve over one.

C and gamma act by their ratios, so axes are logarithmic. Every place has the colour of the nearest cell: of a
regular grid these are its rectangles, and a finer grid inside it shows as smaller ones. Other parameters are at the
best of their values: a cell shows the highest mean score there is with its two.
"""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from maxmargin.displays._figure import BLACK, BLUE, DISPLAY_ENTRIES, VERMILION, Display, axes_of
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array

MAP_PIXELS = 480  # of each side
SCORES_MAX_CELLS = 64  # up to which scores are written into them


@documented(DISPLAY_ENTRIES)
@dataclass(eq=False, repr=False)
class SearchDisplay(Display):
    """Plot the mean scores of a grid search over two hyperparameters.

    Parameters
    ----------
    results : dict
        ``cv_results_`` of a search, ours or scikit-learn's.
    best_index : int
        The cell that was chosen.
    x, y : str, optional
        The parameters of the axes. By default C and gamma, or the first two that have several numbers as values; with
        one such parameter a curve is drawn.
    score_name : str, default="mean score"
        Label of the colour scale.

    Attributes
    ----------
    {ax_, figure_}
    image_ : AxesImage or None
        The map.
    marker_ : matplotlib Line2D
        The chosen cell.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.model_selection import SVCCV
    >>> from maxmargin.displays import SearchDisplay
    >>> X, labels = load_iris(return_X_y=True)
    >>> search = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1, 1.0]).fit(X, labels)
    >>> display = SearchDisplay.from_estimator(search)
    >>> display.ax_.get_xlabel()
    'C'
    >>> display.figure_.savefig("search.png")  # doctest: +SKIP
    """

    results: dict[str, Any]
    best_index: int
    _: KW_ONLY
    x: str | None = None
    y: str | None = None
    score_name: str = "mean score"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str | None = None, y: str | None = None, ax: Any = None, **options: Any
    ) -> SearchDisplay:
        """Draw the scores of a fitted search.

        Parameters
        ----------
        estimator : fitted SVCCV, SVRCV, NuSVCCV or GridSearchCV
            The fitted search.
        x, y : str, optional
            The parameters of the axes.
        {ax}
        **options
            Of :meth:`plot`.

        {Returns, display}
        """
        if not hasattr(estimator, "cv_results_"):
            raise TypeError(f"{type(estimator).__name__} has no cv_results_: give a search, and fit it first.")
        scoring = getattr(estimator, "scoring", None)
        classifies = hasattr(estimator, "classes_")
        name = scoring if isinstance(scoring, str) else "accuracy" if classifies else "R²"
        if scoring is None and hasattr(estimator, "offset_"):
            name = repr(estimator.scorer_)
        if scoring is not None and not isinstance(scoring, str):
            name = getattr(scoring, "__name__", "score")
        display = cls(estimator.cv_results_, estimator.best_index_, x=x, y=y, score_name=f"mean {name}")
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, cmap: Any = "cividis", colorbar: bool = True, text: bool = True) -> SearchDisplay:
        """Draw.

        {Parameters, ax}
        cmap : str or Colormap, default="cividis"
            Colours of the map, dark for low scores.
        colorbar : bool, default=True
            Whether to draw the colour scale.
        text : bool, default=True
            Write the scores into their cells, if there are not too many.

        {Returns, drawn}
        """
        names = self._names()
        self.figure_, self.ax_ = axes_of(ax, 6.8, 5.0)
        self.image_: Any = None
        if len(names) == 1:
            self._curve(names[0])
        else:
            self._map(*names, cmap=cmap, colorbar=colorbar, text=text)
        return self

    def _names(self) -> list[str]:
        """The parameters of the axes."""
        known = [key.removeprefix("param_") for key in self.results if key.startswith("param_")]
        for name in (self.x, self.y):
            if name is not None and name not in known:
                raise ValueError(f"{name!r} is no parameter of this search: it has {', '.join(known)}.")
        asked = [name for name in (self.x, self.y) if name is not None]
        several = [name for name in known if len({*self._values(name)[~np.isnan(self._values(name))]}) > 1]
        several.sort(key=lambda name: (name not in ("C", "gamma"), name))
        names = asked + [name for name in several if name not in asked]
        if not names:
            raise ValueError("no parameter of this search has two or more numbers as values: there is nothing to draw.")
        return names[:2]

    def _values(self, name: str) -> Array:
        """A parameter's values as numbers, nan where it has none."""
        column = np.ma.filled(np.ma.asarray(self.results[f"param_{name}"]).astype(object), None)
        return np.array([float(v) if isinstance(v, numbers.Real) else np.nan for v in column])

    def _map(self, x: str, y: str, *, cmap: Any, colorbar: bool, text: bool) -> None:
        ax, scores = self.ax_, self.results["mean_test_score"]
        at = np.column_stack([self._values(x), self._values(y)])
        best: dict[tuple[float, float], float] = {}
        for place, score in zip(map(tuple, at), scores, strict=True):
            if not np.isnan(place).any():
                known = best.get(place, np.nan)
                best[place] = float(np.fmax(known, score))
        places, values = np.array(list(best)), np.array(list(best.values()))
        logarithmic = [bool((places[:, k] > 0).all()) for k in range(2)]
        flat = np.column_stack([np.log10(places[:, k]) if logarithmic[k] else places[:, k] for k in range(2)])
        ends = [_ends(flat[:, k]) for k in range(2)]
        unit = np.array([_step(flat[:, k]) for k in range(2)])
        fine = [np.linspace(*end, MAP_PIXELS) for end in ends]
        nearest = np.empty((MAP_PIXELS, MAP_PIXELS), int)
        for row, height in enumerate(fine[1]):
            apart = ((fine[0][:, None] - flat[:, 0]) / unit[0]) ** 2 + ((height - flat[:, 1]) / unit[1]) ** 2
            nearest[row] = apart.argmin(axis=1)
        painted = np.ma.masked_invalid(values[nearest])
        ax.set_facecolor("0.85")  # cells without a score
        self.image_ = ax.imshow(painted, origin="lower", extent=(*ends[0], *ends[1]), aspect="auto", cmap=cmap)
        ax.set_xticks(*_ticks(flat[:, 0], places[:, 0], logarithmic[0]))
        ax.set_yticks(*_ticks(flat[:, 1], places[:, 1], logarithmic[1]))
        ax.set(xlabel=x, ylabel=y)
        roomy = _roomy(flat / unit)
        written = roomy if text and np.count_nonzero(roomy) <= SCORES_MAX_CELLS else np.zeros(len(values), bool)
        middle = np.nanmin(values) + 0.55 * np.ptp(values[~np.isnan(values)])
        for (left, up), value in zip(flat[written], values[written], strict=True):
            label = "–" if np.isnan(value) else f"{value:.3f}"
            ax.text(left, up, label, ha="center", va="center", fontsize=8, color="white" if value < middle else BLACK)
        ax.plot(*flat[~written].T, ".", color="0.4", markersize=3)
        ring = 32 if written.all() else 14
        self._mark(at[self.best_index], logarithmic, ring)
        if colorbar:
            self.figure_.colorbar(self.image_, ax=ax, label=self.score_name)

    def _mark(self, place: Array, logarithmic: list[bool], size: float) -> None:
        spot = [np.log10(v) if log else v for v, log in zip(place, logarithmic, strict=True)]
        score = self.results["mean_test_score"][self.best_index]
        (self.marker_,) = self.ax_.plot(
            *([v] for v in spot),
            marker="o",
            markersize=size,
            markerfacecolor="none",
            markeredgecolor=VERMILION,
            markeredgewidth=2.5,
            linestyle="none",
            clip_on=False,
        )
        names = self._names()
        chosen = ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, place, strict=True))
        self.ax_.set_title(f"chosen: {chosen} ({self.score_name} {score:.4f})", fontsize=11, loc="left")

    def _curve(self, x: str) -> None:
        """One parameter: the mean score and the spread of the folds."""
        values, scores = self._values(x), self.results["mean_test_score"]
        spread = self.results["std_test_score"]
        usable = np.flatnonzero(~np.isnan(values))
        usable = usable[np.argsort(values[usable], kind="stable")]
        self.ax_.errorbar(values[usable], scores[usable], spread[usable], color=BLUE, marker="o", capsize=3)
        if (values[usable] > 0).all():
            self.ax_.set_xscale("log")
        self.ax_.set(xlabel=x, ylabel=self.score_name)
        self.ax_.spines[["top", "right"]].set_visible(False)
        best, score = values[self.best_index], scores[self.best_index]
        (self.marker_,) = self.ax_.plot(
            [best], [score], "o", markersize=14, markerfacecolor="none", markeredgecolor=VERMILION, markeredgewidth=2.5
        )
        self.ax_.set_title(f"chosen: {x} = {best:.4g} ({self.score_name} {score:.4f})", fontsize=11, loc="left")


def _step(values: Array) -> float:
    """The largest step between neighbouring values: what counts as one cell."""
    steps = np.diff(np.unique(values))
    return float(steps.max()) if len(steps) else 1.0


def _ends(values: Array) -> tuple[float, float]:
    """Half a step beyond the outermost values."""
    half = _step(values) / 2
    return float(values.min() - half), float(values.max() + half)


def _roomy(flat: Array) -> Array:
    """Whether each cell is about a step away from all others, so that there is room to write into it."""
    apart = np.abs(flat[:, None] - flat[None]).max(axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=1) > 0.7)


def _ticks(flat: Array, values: Array, logarithmic: bool) -> tuple[list[float], list[str]]:
    """A tick at every value, or, where they are many or uneven, at powers of ten or at evenly chosen ones."""
    places, first = np.unique(flat, return_index=True)
    labels = [f"{value:.4g}" if value < 1e4 else f"{value:g}" for value in values[first]]
    steps = np.diff(places)
    even = len(steps) == 0 or steps.max() < 1.5 * steps.min()
    if even and len(places) <= 12:
        return [float(place) for place in places], labels
    powers = np.arange(np.ceil(places[0]), np.floor(places[-1]) + 1)
    if logarithmic and len(powers) > 1:
        powers = powers[:: -(-len(powers) // 12)]
        return [float(power) for power in powers], [f"{10.0**power:g}" for power in powers]
    some = np.unique(np.linspace(0, len(places) - 1, 6).round().astype(int))
    return [float(places[i]) for i in some], [labels[i] for i in some]
