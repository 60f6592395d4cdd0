"""Gaussian basis: a bump on every training point, and predictions as blends of the targets.

The fitted curve is a sum of bumps exp(-(x - x_i)^2 / sigma^2), one centred on each point; ridge regression chooses
their heights (green). Narrow bumps reach the points but leave the gaps between them to zero; wide ones overlap, share
the work, and give a smooth curve. Below: the same prediction at one place x (dashed) seen from the other side, as a
blend b(x)'y of the targets. With narrow bumps only the nearest points have a say; with wide ones more do, some of them
with a negative weight.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from maxmargin.displays import RegressionDisplay
from maxmargin.kernel_methods.feature_maps import GaussianBasis
from maxmargin.kernel_methods.ridge import BasisRegression


def truth(x: np.ndarray) -> np.ndarray:
    """The function that the points are drawn from."""
    return 1.0 + np.sin(x) + 0.3 * x


@rc_context({"font.size": 13})
def main(out: Path | None = None) -> Figure:
    """Draw, save to ``out`` if it is given, and return the figure."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 8, 18))[:, None]
    y = truth(X[:, 0]) + 0.15 * rng.standard_normal(18)

    figure = Figure(figsize=(12, 7), layout="constrained")
    for ax, sigma in zip(figure.subplots(1, 2), (0.3, 1.5), strict=True):
        model = BasisRegression(GaussianBasis(sigma), alpha=0.1).fit(X, y)
        display = RegressionDisplay.from_estimator(model, X, y, basis=True, truth=truth)
        display.plot(ax, blend_at=5.0)
        display.ax_.set(title=f"$\\sigma$ = {sigma:g}, $\\lambda$ = 0.1", ylim=(-1.5, 4.4))
        display.ax_.legend(loc="lower center", ncols=2, fontsize="small", framealpha=1)
        display.blend_ax_.set(ylabel="weight b(5)", ylim=(-0.25, 0.75))

    if out is not None:
        figure.savefig(out, dpi=120)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png").name))
