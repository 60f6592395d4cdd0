"""The generator of a fit, ``random_state``, treated as scikit-learn's fits treat it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.runtime.validation import shown

LARGEST_SEED = np.iinfo(np.intc).max


def draw_seed(estimator: Any) -> int:
    """One number from the generator ``random_state``, by default that of ``np.random``: as many as a fit of
    scikit-learn takes. So programs that seed a generator once, and split or resample after a fit, get the same rows."""
    given = getattr(estimator, "random_state", None)
    try:
        return int(check_random_state(given).randint(LARGEST_SEED))
    except ValueError:
        raise ValueError(
            f"random_state must be an int from 0 to 2**32 - 1, a numpy.random.RandomState or None; got {shown(given)}."
        ) from None
