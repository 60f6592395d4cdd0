"""The one warning of a fit that was stopped before its tolerance, and the column to scale that it names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Points, warn

# scikit-learn's words at the limit of iterations, by which programs filter (the two blanks are its own).
KERNEL_WORDS = (
    "Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data with StandardScaler or "
    "MinMaxScaler. "
)
LINEAR_WORDS = "{name} failed to converge, increase the number of iterations. "
HINT_MAX_ENTRIES = 1_000_000  # of X, about, from which the scales of columns are estimated: a few milliseconds
HINT_MIN_ROWS = 100


def warn_unless_converged(
    estimator: Any, status: Status, distance: str, *, advice: str = "", hint: str = "", words: str = ""
) -> None:
    """Why the fit ended, how far the model can be from the optimum, and what to do; ``words`` are scikit-learn's, for
    fits that were stopped at ``max_iter``."""
    if status.converged:
        return
    name = type(estimator).__name__
    first = words.format(name=name, max_iter=estimator.max_iter) if status is Status.MAX_ITER else ""
    warn(
        f"{first}{name} did not converge ({advice or status.value}). The model is the best one so far: its "
        f"{distance}.{hint}",
        ConvergenceWarning,
    )


def scaling_hint(X: Points, names: Any) -> str:
    """A sentence that names the column to scale, when one is much larger than the others."""
    if X.ndim < 2 or X.shape[1] < 2 or X.shape[0] < 2:
        return ""
    entries = X.nnz if sp.issparse(X) else X.size
    X = X[:: min(1 + entries // HINT_MAX_ENTRIES, max(1, X.shape[0] // HINT_MIN_ROWS))]
    if sp.issparse(X):
        size = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).ravel().astype(np.float64))
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            size = X.std(axis=0, dtype=np.float64)
    size = np.where(np.isfinite(size), size, 1e308)
    positive = size[size > 0]
    if len(positive) == 0:
        return ""
    largest, typical = int(np.argmax(size)), float(np.median(positive))
    name = f"'{names[largest]}'" if names is not None else str(largest)
    if size[largest] > 100 * typical:
        return (
            f" Column {name} varies {size[largest] / typical:.0e} times as much as a typical one: "
            "scale the columns, for instance with sklearn.preprocessing.StandardScaler."
        )
    if largest is not None and size[largest] > 1e3:
        return f" The columns vary by up to {size[largest]:.0e} (column {name}): scale them to about 1."
    return ""
