"""Class weights, and their effect on sample weights."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from maxmargin.runtime.arrays import as_numpy
from maxmargin.runtime.validation import Array, shown


def check_weighted_classes(classes: Array, codes: Array, weights: Array, sample_weight: Any) -> None:
    """Refuse negative sample weights that leave rows of a single class: weights of a wrong sign are a mistake. Zero
    weights may do so; the model is then constant."""
    if sample_weight is None or not np.asarray(as_numpy(sample_weight)).min() < 0:
        return
    weighted = codes[weights > 0]
    if (weighted == weighted[0]).all():
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class, "
            f"{shown(classes[weighted[0]])}: there is nothing to separate, and a specified nu is infeasible. Check the "
            "signs of sample_weight."
        )


def check_class_weights(class_weight: Any, classes: Array, codes: Array, weights: Array) -> Array:
    """The weight of each class, in the order of ``classes``.

    ``"balanced"`` counts samples by their weights, so that a weight of two equals a repetition.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        order = np.lexsort((weights, codes))  # the same sums for any order of the rows
        totals = np.bincount(codes[order], weights=weights[order], minlength=len(classes))
        present = totals > 0
        balanced = np.zeros(len(classes))
        balanced[present] = totals.sum() / (np.count_nonzero(present) * totals[present])
        return balanced
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not (isinstance(weight, numbers.Real) and 0 <= float(weight) < math.inf):
                raise ValueError(
                    f"class_weight[{shown(label)}] is {shown(weight)}: a weight must be a finite number >= 0."
                )
    elif class_weight is None:
        return np.ones(len(classes))
    else:
        raise ValueError(f"class_weight must be None, 'balanced' or a dict; got {shown(class_weight)}.")
    without = [label for label in classes.tolist() if label not in class_weight]
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if without and unknown:
        raise ValueError(
            f"class_weight has a weight for {shown(unknown[0])}, which is not in y. The classes, "
            f"{', '.join(map(shown, without))}, are not in class_weight: name labels as y does."
        )
    return compute_class_weight(class_weight, classes=classes, y=classes[codes]).astype(np.float64)
