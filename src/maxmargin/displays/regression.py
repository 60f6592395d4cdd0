"""Regression on one column: the points, the fitted curve f, and what it is made of.

the tube            f(x) - epsilon <= y <= f(x) + epsilon, where support vector regression has no loss;
                    the support vectors are the points on its edge and outside
basis functions     f(x) = sum_j w_j Phi_j(x) + b, each w_j Phi_j(x) a curve of its own
blending weights    f(x0) = b(x0)'y, one number b_i(x0) for each training point
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.displays._figure import (
    BLUE,
    DISPLAY_ENTRIES,
    GREEN,
    RING,
    VERMILION,
    Display,
    axes_of,
    dense,
    last_step,
    plain,
    points_like,
    space,
    transformed,
)
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_flag, check_number, check_points, check_targets

CURSOR = "#005A8F"  # where the weights are shown, as in the lab
OVERHANG_SHARE = 0.05  # of the range of x, that the curve goes beyond the points on both sides
ESCAPE_SHARE = 0.5  # of the range of y, up to which it is shown above and below them


@documented(DISPLAY_ENTRIES)
@dataclass(eq=False, repr=False, kw_only=True)
class RegressionDisplay(Display):
    """Plot a regression on one column: points, curve, tube, basis functions or blend weights.

    Made by :meth:`from_estimator`.

    Parameters
    ----------
    x, y : array of shape (n_samples,)
        The points.
    grid, curve : array of shape (n_grid,)
        Where the fitted function was evaluated, and its values.
    epsilon : float, optional
        Half the width of the tube.
    support : array of int, optional
        Which of the points are support vectors.
    basis : array of shape (n_grid, n_basis), optional
        The weighted basis functions on the grid.
    truth : array of shape (n_grid,), optional
        The function that generated the points.
    blend : callable, optional
        x0 -> (positions of the training points, their weights).
    title, xlabel, ylabel : str
        Texts.

    Attributes
    ----------
    {ax_, figure_}
    points_, line_ : matplotlib PathCollection and Line2D
        The points and the curve.
    tube_, rings_, truth_ : matplotlib artists or None
        The tube, the rings around support vectors, the true function.
    basis_lines_ : list of Line2D
        The curves of the basis functions.
    blend_ax_ : matplotlib Axes or None
        The panel of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> from maxmargin.displays import RegressionDisplay
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(x).ravel()
    >>> model = SVR(C=10, epsilon=0.2).fit(x, y)
    >>> display = RegressionDisplay.from_estimator(model, x, y, truth=np.sin)
    >>> len(display.rings_.get_offsets()) == len(model.support_)
    True
    >>> display.figure_.savefig("tube.png")  # doctest: +SKIP
    """

    x: Array
    y: Array
    grid: Array
    curve: Array
    epsilon: float | None = None
    support: Array | None = None
    basis: Array | None = None
    truth: Array | None = None
    blend: Callable[[float], tuple[Array, Array]] | None = None
    title: str = ""
    xlabel: str = "x"
    ylabel: str = "y"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        basis: bool = False,
        truth: Callable[[Array], Any] | None = None,
        n_grid: int = 500,
        ax: Any = None,
    ) -> RegressionDisplay:
        """Evaluate a fitted regression on a grid.

        Parameters
        ----------
        estimator : fitted regressor, or a pipeline that ends in one
            :class:`~maxmargin.SVR` and :class:`~maxmargin.NuSVR` show their tube, and their support vectors if X are
            the points they were fitted on.
        X : array-like of shape (n_samples, 1) or (n_samples,)
            The points to show.
        y : array-like of shape (n_samples,)
            Their targets.
        basis : bool, default=False
            Whether to show the weighted basis functions of a :class:`~maxmargin.kernel_methods.ridge.BasisRegression`.
        truth : callable, optional
            The function that generated the points, of an array of shape (n,).
        n_grid : int, default=500
            Number of grid points of the curve.
        {ax_now}

        {Returns, display}
        """
        check_flag("basis", basis)
        n_grid = int(check_number("n_grid", n_grid, least=2, integer=True))
        x = _one_column(X)
        targets = check_targets(y, len(x), numeric=True)
        margin = OVERHANG_SHARE * (np.ptp(x) or 1.0)
        grid = np.linspace(x.min() - margin, x.max() + margin, n_grid)
        curve = np.asarray(estimator.predict(points_like(X, grid[:, None])))
        if curve.size != n_grid:
            raise ValueError(
                f"the estimator predicts {curve.shape[-1]} targets for each point, and this picture shows one: fit one "
                "target at a time."
            )
        model = last_step(estimator)
        settings = getattr(getattr(model, "report_", None), "parameters", "")
        display = cls(
            x=x,
            y=targets,
            grid=grid,
            curve=curve.ravel(),
            epsilon=_epsilon(model),
            support=_support(estimator, model, X),
            basis=_weighted_basis(model, transformed(estimator, points_like(X, grid[:, None]))) if basis else None,
            truth=None if truth is None else _values(truth, grid),
            blend=_blend(estimator, X) if hasattr(estimator, "blend_weights") else None,
            title=f"{type(model).__name__}: {settings}" if settings else type(model).__name__,
            xlabel=str(X.columns[0]) if hasattr(X, "columns") else "x",
            ylabel=str(getattr(y, "name", None) or "y"),
        )
        return display._drawn_on(ax)

    def plot(self, ax: Any = None, *, blend_at: float | None = None, legend: bool = True) -> RegressionDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure, which needs no window system. With ``blend_at`` the axes are
            divided.
        blend_at : float, optional
            A position x0: a second panel shows the weights of the training targets in f(x0).
        legend : bool, default=True
            Whether to draw a legend.

        {Returns, drawn}
        """
        self.blend_ax_: Any = None
        if blend_at is None:
            self.figure_, self.ax_ = axes_of(ax)
        else:
            blend_at = check_number("blend_at", blend_at)
            if self.blend is None:
                raise ValueError(
                    "blend_at needs an estimator whose predictions are a linear blend of the targets, with a method "
                    "blend_weights: BasisRegression or KernelRidge, not in a pipeline."
                )
            self.figure_, place = space(ax, 6.4, 6.0)
            upper, lower = place.subgridspec(2, 1, height_ratios=(2.4, 1.0))
            self.ax_ = self.figure_.add_subplot(upper)
            self.blend_ax_ = self.figure_.add_subplot(lower, sharex=self.ax_)
        self._draw(self.ax_)
        if blend_at is not None:
            self._draw_blend(blend_at)
        if legend:
            self.ax_.legend(loc="best", framealpha=0.9)
        return self

    def _draw(self, ax: Any) -> None:
        grid, curve = self.grid, self.curve
        self.tube_ = self.rings_ = self.truth_ = None
        self.basis_lines_: list[Any] = []
        if self.epsilon is not None:
            low, high = curve - self.epsilon, curve + self.epsilon
            label = f"tube, ±{self.epsilon:.3g}"
            self.tube_ = ax.fill_between(grid, low, high, color=BLUE, alpha=0.18, linewidth=0, label=label)
            ax.plot(grid, np.column_stack((low, high)), color=BLUE, linewidth=1)
        if self.basis is not None:
            self.basis_lines_ = ax.plot(grid, self.basis, color=GREEN, linewidth=1.2, alpha=0.75)
            self.basis_lines_[0].set_label("weighted basis functions")
        if self.truth is not None:
            (self.truth_,) = ax.plot(grid, self.truth, color="0.35", linewidth=1.8, linestyle=":", label="truth")
        (self.line_,) = ax.plot(grid, curve, color="0.1", linewidth=2.4, label="fitted curve")
        self.points_ = ax.scatter(self.x, self.y, s=34, color=BLUE, edgecolor="white", linewidth=0.6, zorder=3)
        self.points_.set_label("points")
        if self.support is not None:
            self.rings_ = ax.scatter(
                self.x[self.support],
                self.y[self.support],
                s=110,
                zorder=3,
                **RING,
                label=f"support vectors, {len(self.support)} of {len(self.x)}",
            )
        ax.set(xlim=(grid[0], grid[-1]), ylim=self._limits(), xlabel=plain(self.xlabel), ylabel=plain(self.ylabel))
        ax.set_title(plain(self.title))

    def _limits(self) -> tuple[float, float]:
        """The range of the points and of the curve with its tube, as long as it stays near them."""
        wide = self.epsilon or 0.0
        low, high = self.y.min(), self.y.max()
        reach = ESCAPE_SHARE * ((high - low) or 1.0)
        low = max(min(low, self.curve.min() - wide), low - reach)
        high = min(max(high, self.curve.max() + wide), high + reach)
        margin = 0.06 * ((high - low) or 1.0)
        return float(low - margin), float(high + margin)

    def _draw_blend(self, x0: float) -> None:
        assert self.blend is not None
        ax = self.blend_ax_
        places, weights = self.blend(x0)
        colours = np.where(np.asarray(weights) < 0, VERMILION, BLUE)
        ax.vlines(places, 0.0, weights, color=colours, linewidth=2)
        ax.scatter(places, weights, s=25, color=colours)
        ax.axhline(0.0, color="0.4", linewidth=0.8)
        ax.set(xlabel=plain(self.xlabel), ylabel=f"weight at {x0:g}")
        for panel in (ax, self.ax_):
            panel.axvline(x0, color=CURSOR, linewidth=1.5)
        self.ax_.set_xlabel("")
        self.ax_.tick_params(labelbottom=False)
        low, high = self.grid[0], self.grid[-1]
        ax.set_xlim(min(low, x0), max(high, x0))


def _one_column(X: Any) -> Array:
    """The only column of X."""
    if not sp.issparse(X) and np.ndim(X) == 1:
        X = np.reshape(X, (-1, 1))
    points = check_points(X)
    if points.shape[1] != 1:
        raise ValueError(
            f"X has {points.shape[1]} columns, and this picture has one axis for them: fit the estimator on one "
            "column, or plot predictions against targets (sklearn.metrics.PredictionErrorDisplay)."
        )
    return dense(points)[:, 0].astype(np.float64)


def _values(function: Callable[[Array], Any], grid: Array) -> Array:
    values = np.asarray(function(grid), dtype=np.float64)
    if values.shape not in ((), grid.shape):
        raise ValueError(f"truth must give one number for each place, shape {grid.shape}; got shape {values.shape}.")
    return np.broadcast_to(values, grid.shape)


def _epsilon(model: Any) -> float | None:
    """Half the width of the tube: found by the fit, or given to it. Other regressors mean other things by the name."""
    if not any(kind.__name__.endswith("SVR") for kind in type(model).__mro__):
        return None
    given = model.get_params(deep=False).get("epsilon")  # scikit-learn's NuSVR has an attribute that means nothing
    epsilon = getattr(model, "epsilon_", given)
    return None if epsilon is None else float(epsilon)


def _support(estimator: Any, model: Any, X: Any) -> Array | None:
    """The rows of X that are support vectors, if X are the points of the fit."""
    support, vectors = getattr(model, "support_", None), getattr(model, "support_vectors_", None)
    if support is None or vectors is None:
        return None
    points = transformed(estimator, X)
    points, vectors = dense(points), dense(vectors)
    if len(support) and support.max() >= len(points):
        return None
    same = np.array_equal(points.reshape(len(points), -1)[support], vectors)
    return np.asarray(support) if same else None


def _weighted_basis(model: Any, points: Any) -> Array:
    """w_j Phi_j on the grid, one per column."""
    if not (hasattr(model, "basis_") and hasattr(model, "coef_")):
        raise ValueError(
            f"basis=True shows the basis functions of a BasisRegression; {type(model).__name__} has none: leave it out."
        )
    features = model.basis_.transform(check_points(points))
    return dense(features) * np.ravel(model.coef_)


def _blend(model: Any, X: Any) -> Callable[[float], tuple[Array, Array]] | None:
    """x0 -> (x_i, b_i(x0)) over the training points."""
    if getattr(model, "n_features_in_", None) != 1:
        return None
    places = dense(model.X_fit_)

    def weights(x0: float) -> tuple[Array, Array]:
        return places[:, 0], model.blend_weights(points_like(X, np.array([[x0]])))[0]

    return weights
