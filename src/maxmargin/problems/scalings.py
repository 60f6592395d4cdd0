"""The four scalings in which the soft margin is written, and the exact way from one to another.

    "norm2_sum"          |w|^2 + C sum_i xi_i
    "half_norm2_sum"     1/2 |w|^2 + C sum_i xi_i                 SVC's C
    "half_norm2_mean"    1/2 |w|^2 + (C / N) sum_i xi_i
    "lambda_mean"        (lambda / 2) |w|^2 + (1 / N) sum_i xi_i     Pegasos; xi_i is the hinge loss

Each is half_norm2_sum with its C, multiplied by a constant, so they have the same minimiser when

    C of norm2_sum = 2 C,      C of half_norm2_mean = N C,      lambda = 1 / (N C).

A hard margin is C = inf, and lambda = 0. C = 0 (lambda = inf) is refused: if slack cost nothing, w = 0 would be
optimal, whatever the data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.runtime.validation import Array, check_choice, check_number

# The value in each scaling is the factor times C, and times N where the slacks are averaged; lambda is its inverse.
_FACTOR = {"norm2_sum": 2.0, "half_norm2_sum": 1.0, "half_norm2_mean": 1.0, "lambda_mean": 1.0}
_PER_SAMPLE = {"norm2_sum": False, "half_norm2_sum": False, "half_norm2_mean": True, "lambda_mean": True}
SCALINGS = tuple(_FACTOR)


def convert_regularization(value: Any, source: str, target: str, n_samples: float | None = None) -> Any:
    """Convert C or lambda between the conventions of textbooks and libraries.

    Parameters
    ----------
    value : float or array-like
        C, or lambda, of the source: > 0. C = inf and lambda = 0 mean a hard margin.
    source, target : {"norm2_sum", "half_norm2_sum", "half_norm2_mean", "lambda_mean"}
        The scalings; see the table.
    n_samples : int, optional
        N, the number of training samples (with sample weights, their sum). Needed when just one of the two scalings
        takes the mean of the slacks.

    Returns
    -------
    float or ndarray
        C, or lambda, of the target.

    Raises
    ------
    ValueError
        If a value is not positive, a name is unknown, N is needed and missing, or the result does not fit a float64.

    Notes
    -----
    ==================  ==========================================  ===============
    scaling             objective                                   value for SVC's C
    ==================  ==========================================  ===============
    norm2_sum           \\|w\\|^2 + C sum xi                          2 C
    half_norm2_sum      1/2 \\|w\\|^2 + C sum xi                      C
    half_norm2_mean     1/2 \\|w\\|^2 + (C/N) sum xi                  N C
    lambda_mean         (lambda/2) \\|w\\|^2 + (1/N) sum hinge        1 / (N C)
    ==================  ==========================================  ===============

    Examples
    --------
    >>> from maxmargin import convert_regularization
    >>> convert_regularization(1.0, "lambda_mean", "half_norm2_sum", n_samples=100)
    0.01
    >>> convert_regularization([0.5, 10.0], "half_norm2_sum", "norm2_sum")
    array([ 1., 20.])
    >>> convert_regularization(float("inf"), "half_norm2_sum", "lambda_mean", n_samples=100)
    0.0
    """
    source = check_choice("source", source, SCALINGS)
    target = check_choice("target", target, SCALINGS)
    values = _checked(value, source)
    if n_samples is not None:
        check_number("n_samples", n_samples, above=0)
    elif _PER_SAMPLE[source] != _PER_SAMPLE[target]:
        raise ValueError(
            f"n_samples is needed between {source!r} and {target!r}: one sums the slacks, the other takes their mean."
        )
    # value = down C and result = up C, or its inverse; between two means N cancels.
    n = 1.0 if n_samples is None or _PER_SAMPLE[source] == _PER_SAMPLE[target] else float(n_samples)
    up, down = (_FACTOR[name] * (n if _PER_SAMPLE[name] else 1.0) for name in (target, source))
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        if source == target:
            result = values
        elif source == "lambda_mean":  # value = 1 / (down C)
            result = up / (down * values)
        elif target == "lambda_mean":
            result = down / (up * values)
        else:
            result = values * up / down
    lost = (np.isfinite(values) & (values > 0)) & ~(np.isfinite(result) & (result > 0))
    if lost.any():
        raise ValueError(
            f"value={values[lost].flat[0]:g} of {source!r} does not fit a float64 as {target!r}: it would be "
            f"{result[lost].flat[0]:g}, which means something else."
        )
    return float(result) if values.ndim == 0 else result


def _checked(value: Any, source: str) -> Array:
    """The values as float64; an error gives the reason why C must be positive."""
    try:
        if np.asarray(value).dtype.kind not in "iuf":
            raise TypeError
        values = np.array(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"value must be a number or an array of numbers; got {value!r}.") from None
    name = "lambda" if source == "lambda_mean" else "C"
    wrong = ~((values >= 0) & np.isfinite(values)) if name == "lambda" else ~(values > 0)
    if wrong.any():
        first = float(values[wrong].flat[0])
        if math.isnan(first) or first < 0:
            reason = "a penalty of slack, or a weight of |w|^2, is a positive number"
        else:
            reason = "slack would cost nothing next to |w|^2, and w = 0 would be optimal whatever the data"
        limit = "lambda = 0" if name == "lambda" else "C = inf"
        raise ValueError(f"value={first:g} is no {name} of {source!r}: {reason}. A hard margin is {limit}.")
    return values
