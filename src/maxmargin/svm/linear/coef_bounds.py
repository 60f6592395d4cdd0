"""Bounds of the coefficients of a linear model, as the user states them: ``monotonic_cst`` and ``coef_bounds``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.runtime.validation import Array, shown

FORMS = "a tuple (lower, upper) of numbers or of one number per feature, or a list of one pair (low, high) per feature"


def has_bounds(estimator: Any) -> bool:
    """Whether a linear estimator has bounds of its coefficients."""
    return estimator.monotonic_cst is not None or estimator.coef_bounds is not None


def check_what_bounds_need(estimator: Any) -> None:
    """Refuse the parameters that bounds do not go with, with the remedy."""
    if not has_bounds(estimator):
        return
    name = "coef_bounds" if estimator.monotonic_cst is None else "monotonic_cst"
    remedies = {
        "penalty='l2'": getattr(estimator, "penalty", "l2") == "l2",
        "multi_class='ovr'": getattr(estimator, "multi_class", "ovr") == "ovr",
        "a finite C (a large one is close to a hard margin)": not math.isinf(estimator.C),
    }
    for remedy, fine in remedies.items():
        if not fine:
            raise ValueError(f"{name} needs {remedy}.")


def check_monotonic_classes(monotonic_cst: Any, classes: Array) -> None:
    """Refuse more than two classes: a function of each would rise, and none could."""
    if monotonic_cst is not None and len(classes) > 2:
        raise ValueError(
            f"monotonic_cst is not supported for multiclass classification; y has {len(classes)} classes. Use "
            "coef_bounds, which hold for every class, or two classes."
        )


def coefficient_bounds(estimator: Any, n_features: int) -> tuple[Array, Array] | None:
    """The lower and upper bounds of all coefficients; None where there are none. The estimator has checked X, and knows
    the names of its columns if they have any.
    """
    if not has_bounds(estimator):
        return None
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    if estimator.coef_bounds is not None:
        low, high = _stated(estimator.coef_bounds, n_features)
    if estimator.monotonic_cst is not None:
        signs = _signs(estimator, n_features)
        low, high = np.where(signs > 0, np.maximum(low, 0.0), low), np.where(signs < 0, np.minimum(high, 0.0), high)
    names = getattr(estimator, "feature_names_in_", None)
    for j in np.flatnonzero(low > high):
        feature = f"feature {j}" if names is None else f"feature {shown(names[j])}"
        if estimator.monotonic_cst is not None and signs[j]:
            raise ValueError(
                f"monotonic_cst={signs[j]:+d} of {feature} contradicts its coef_bounds: no coefficient is between "
                f"{low[j]:g} and {high[j]:g}. Change one of the two."
            )
        raise ValueError(
            f"coef_bounds of {feature} are {low[j]:g} and {high[j]:g}: the lower is above the upper. Swap them. "
            f"coef_bounds is {FORMS}."
        )
    return low, high


def _signs(estimator: Any, n_features: int) -> Array:
    """-1, 0 or 1 of every feature, as scikit-learn reads ``monotonic_cst``."""
    given = estimator.monotonic_cst
    if isinstance(given, Mapping):
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                "monotonic_cst is a dict by feature name, but X has no column names. Give one of -1, 0, 1 per feature."
            )
        missing = [name for name in given if name not in set(names)]
        if missing:
            raise ValueError(
                f"monotonic_cst names {shown(missing[0])}, which is not a column of X; the columns are {list(names)}."
            )
        given = [given.get(name, 0) for name in names]
    try:
        signs = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"monotonic_cst must hold -1, 0 or 1 for each feature; got {shown(given)}.") from None
    if signs.shape != (n_features,):
        raise ValueError(
            f"monotonic_cst has shape {signs.shape}, but X has {n_features} features: give one of -1, 0, 1 for each."
        )
    wrong = np.flatnonzero(~np.isin(signs, (-1, 0, 1)))
    if len(wrong):
        raise ValueError(
            f"monotonic_cst of feature {wrong[0]} is {shown(signs[wrong[0]])}: it must be -1 (the function decreases "
            "with the feature), 0 (no constraint) or 1 (it increases)."
        )
    return signs.astype(np.int64)


def _stated(given: Any, n_features: int) -> tuple[Array, Array]:
    """The two sides of ``coef_bounds``, None being no bound."""
    by_side = isinstance(given, tuple)
    try:
        if by_side:
            sides = [np.broadcast_to(_numbers(side, default), n_features) for side, default in _two(given)]
        else:
            table = np.asarray([[_number(a, -np.inf), _number(b, np.inf)] for a, b in given], np.float64)
            sides = [*table.reshape(len(table), 2).T]
    except (TypeError, ValueError):
        raise ValueError(f"coef_bounds must be {FORMS}; got {shown(given)} for {n_features} features.") from None
    if len(sides[0]) != n_features:
        raise ValueError(f"coef_bounds has {len(sides[0])} pairs, but X has {n_features} features: give one for each.")
    low, high = (np.array(side) for side in sides)
    for bounds, impossible in ((low, np.inf), (high, -np.inf)):
        wrong = np.flatnonzero(np.isnan(bounds) | (bounds == impossible))
        if len(wrong):
            raise ValueError(
                f"coef_bounds of feature {wrong[0]} has {bounds[wrong[0]]}: give a number, or None for none."
            )
    return low, high


def _two(given: tuple[Any, ...]) -> list[tuple[Any, float]]:
    lower, upper = given
    return [(lower, -np.inf), (upper, np.inf)]


def _number(value: Any, default: float) -> float:
    return default if value is None else float(value)


def _numbers(side: Any, default: float) -> Array:
    if side is None or np.ndim(side) == 0:
        return np.array(_number(side, default))
    return np.array([_number(value, default) for value in side])
