"""The width of the Gaussian kernel: from a smooth boundary to the nearest neighbour.

The kernel exp(-|x - z|^2 / 2 sigma^2) says how far a point's influence reaches. With sigma = 1 each support vector
speaks for half the picture, and the boundary is smooth. As sigma shrinks to 0.25 and 0.1 more and more points have to
speak for themselves. The sum at a place is soon the value of the one point that is nearest, and between the points the
boundary approaches that of the nearest-neighbour classifier, the last panel. Far from all points nobody speaks: there
the sum is zero, and the intercept alone decides.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from maxmargin import SVC, KernelKNeighborsClassifier
from maxmargin.displays import MarginDisplay
from maxmargin.kernels import RBF


@rc_context({"font.size": 13})
def main(out: Path | None = None) -> Figure:
    """Draw, save to ``out`` if it is given, and return the figure."""
    X, y = make_moons(100, noise=0.22, random_state=3)
    figure = Figure(figsize=(13.5, 12), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    handles: dict[str, Any] = {}
    for ax, sigma in zip(axes, (1.0, 0.25, 0.1), strict=False):
        machine = SVC(kernel=RBF(sigma=sigma), C=10.0).fit(X, y)
        display = MarginDisplay.from_estimator(machine, X, y).plot(ax, legend=False, title=f"σ = {sigma:g}")
        handles |= {handle.get_label(): handle for handle in display.handles_}
    nearest = KernelKNeighborsClassifier(n_neighbors=1, kernel="linear").fit(X, y)
    display = MarginDisplay.from_estimator(nearest, X, y, grid_resolution=400)
    display.plot(axes[3], legend=False, title="the nearest neighbour")
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=5, frameon=False)
    if out is not None:
        figure.savefig(out, dpi=120)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png").name))
