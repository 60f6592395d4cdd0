"""Kernel PCA: principal components that bend.

Linear principal components of two rings are only a rotation: the rings stay one inside the other, and the contours of a
component are parallel lines. With a Gaussian kernel the components are functions on the plane with curved contours. The
first tells the inner ring from the outer one, so that in the right scatter plot a vertical line separates them; the
second one cuts the inner ring in two.
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure
from sklearn.datasets import make_circles

from maxmargin.displays import ProjectionDisplay
from maxmargin.kernel_methods.pca import KernelPCA


@rc_context({"font.size": 13})
def main(out: Path | None = None) -> Figure:
    """Draw, save to ``out`` if it is given, and return the figure."""
    X, y = make_circles(200, factor=0.35, noise=0.06, random_state=0)
    names = y.astype(str)
    names[y == 1], names[y == 0] = "inner", "outer"

    figure = Figure(figsize=(13, 8.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 2))
    rows = (("linear PCA", KernelPCA(kernel="linear")), ("Gaussian kernel PCA", KernelPCA(kernel="rbf", gamma=3.0)))
    for i, (title, pca) in enumerate(rows):
        pca.fit(X)
        display = ProjectionDisplay.from_estimator(pca, X, names)
        display.plot(figure.add_subplot(grid[i, 1]), kind="contours", legend=False)
        display.plot(figure.add_subplot(grid[i, 0]), legend=i == 1)
        display.ax_.set_title(title, fontweight="bold")

    if out is not None:
        figure.savefig(out, dpi=120)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png").name))
