"""What a mistake costs: the losses of classification against the functional margin m = y f(x).

The zero-one loss counts errors, and no efficient method minimises it. The hinge loss of the soft margin lies above it
everywhere, so the sum of the slacks bounds the number of errors; it is convex, and exactly zero for points outside the
margin, which is why these are no support vectors. The squared hinge is smooth where the hinge has its corner and
punishes gross errors harder. The logistic loss never becomes zero: there every point is a support vector.
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from maxmargin.displays import LossDisplay


@rc_context({"font.size": 13})
def main(out: Path | None = None) -> Figure:
    """Draw, save to ``out`` if it is given, and return the figure."""
    figure: Figure = LossDisplay().plot().figure_
    if out is not None:
        figure.savefig(out, dpi=120)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png").name))
