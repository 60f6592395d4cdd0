"""Three ways to more than two classes: one-vs-one, one-vs-rest and the joint machine.

Three classes surround a fourth. One-vs-one trains a machine for each pair and lets them vote: every pair is easy.
One-vs-rest asks each class to stand apart from all others. No line parts the middle class from the rest: its machine is
nearly constant, most points become support vectors, and the class is left with what the others do not claim. The joint
machine of Crammer and Singer only asks that a point's own class scores higher than each other class, in one problem for
all of them, and needs the fewest support vectors. All three have the kernel 1 + x'z: straight lines with an intercept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs

from maxmargin import SVC
from maxmargin.displays import MarginDisplay

SCHEMES = {"ovo": "one-vs-one", "ovr": "one-vs-rest", "crammer_singer": "joint"}
CENTRES = ((0.0, 0.0), (-2.4, -1.2), (2.4, -1.2), (0.0, 2.6))
NAMES = np.array(["middle", "west", "east", "north"])


@rc_context({"font.size": 13})
def main(out: Path | None = None) -> Figure:
    """Draw, save to ``out`` if it is given, and return the figure."""
    X, codes = make_blobs(140, centers=CENTRES, cluster_std=0.6, random_state=1)
    y = NAMES[codes]
    figure = Figure(figsize=(16, 7.4), layout="constrained")
    for ax, (scheme, name) in zip(figure.subplots(1, 3, sharey=True), SCHEMES.items(), strict=True):
        machine = SVC(kernel="poly", degree=1, gamma=1.0, coef0=1.0, C=10.0, multiclass=scheme).fit(X, y)
        display = MarginDisplay.from_estimator(machine, X, y, grid_resolution=400)
        display.plot(ax, legend=False, title=name, size=40)
        ax.label_outer()
    figure.legend(handles=display.handles_, loc="outside lower center", ncols=6, frameon=False)
    if out is not None:
        figure.savefig(out, dpi=120)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png").name))
