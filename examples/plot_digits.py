"""The worked example: handwritten digits, read by a support vector machine.

1,797 images of 8 x 8 pixels are split at random, 60 % to learn from and 40 % to test on. A machine with the Gaussian
kernel, gamma = 0.001, is fitted and reads the 719 test images. The few it gets wrong come first, in orange, with the
true digit and the answer above each. The table counts who was taken for whom; beside the accuracy stands that of the
naive answer, always the most frequent digit.
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from maxmargin import digits
from maxmargin.displays import DigitsDisplay


@rc_context({"font.size": 12})
def main(out: Path | None = None) -> Figure:
    """Draw, save to ``out`` if it is given, and return the figure."""
    figure: Figure = DigitsDisplay.from_result(digits.run()).plot().figure_
    if out is not None:
        figure.savefig(out, dpi=120)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png").name))
