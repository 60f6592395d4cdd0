"""The floor of an exact fit: every row meets every support vector once, at the speed of the fused tiles.

    floor = rows x support vectors x seconds per kernel value

No solver of the dual can certify its result with fewer values: f = K a takes them all. The rest of a fit's time is what
the solver, the choice of working sets and Python add.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

SAMPLE_ROWS = 2_000  # of either side: 4 million values take a few milliseconds
REPEATS = 3


def seconds_per_value(kernel: Any, X: Any, threads: int) -> float:
    """Least seconds per kernel value of a product with tiles; nan for a kernel without a tile form."""
    from maxmargin.kernels.gram.sides import tileable
    from maxmargin.kernels.gram.tiled import TiledGram

    if not tileable(kernel, X):
        return math.nan
    gram = TiledGram(kernel, X[: min(SAMPLE_ROWS, X.shape[0])], threads)
    columns, best = np.arange(gram.n), math.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        gram.product(columns, np.ones(gram.n), single=True)
        best = min(best, time.perf_counter() - start)
    return best / gram.n**2


def floor_seconds(model: Any, X: Any, threads: int) -> float:
    """The floor of a fit by maxmargin."""
    return X.shape[0] * len(model.support_) * seconds_per_value(model.kernel_, X, threads)
