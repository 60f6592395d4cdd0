"""What C does: the same points with a hard margin, C = 100 and C = 10.

One point of the orange class lies close to the blue ones. A hard margin, C = inf, has to respect it, and pays with a
narrow band that leans towards it. A finite C is the price of one unit of slack: at C = 100 the machine already gives
the point up to gain a wider band, at C = 10 wider still, with more points inside it. Small C ignores more points, large
C fewer; as C grows the machine becomes the hard one. The captions are the fits' own reports.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from maxmargin import SVC
from maxmargin.displays import MarginDisplay


def with_an_outlier() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = np.concatenate((rng.normal((0.28, 0.34), 0.1, (25, 2)), rng.normal((0.72, 0.66), 0.1, (24, 2)), [[0.41, 0.5]]))
    return X, np.repeat([-1, 1], 25)


@rc_context({"font.size": 13})
def main(out: Path | None = None) -> Figure:
    """Draw, save to ``out`` if it is given, and return the figure."""
    X, y = with_an_outlier()
    figure = Figure(figsize=(16, 6.8), layout="constrained")
    handles: dict[str, Any] = {}
    for ax, C in zip(figure.subplots(1, 3, sharey=True), (np.inf, 100.0, 10.0), strict=True):
        machine = SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
        title = "hard margin, C = ∞" if np.isinf(C) else f"soft margin, C = {C:g}"
        display = MarginDisplay.from_estimator(machine, X, y).plot(ax, legend=False, title=title)
        handles |= {handle.get_label(): handle for handle in display.handles_}
        ax.label_outer()
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=5, frameon=False)
    if out is not None:
        figure.savefig(out, dpi=120)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png").name))
