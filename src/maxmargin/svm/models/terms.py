"""A fitted model as a sum of terms: the coefficients of its support vectors, and which of its values says most."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from maxmargin.runtime.validation import Array
from maxmargin.svm.models.multiclass import pairs, votes_with_confidence


def support_codes(estimator: Any) -> Array:
    """The class of each listed support vector, as its place in ``classes_``."""
    return np.repeat(np.arange(len(estimator.classes_)), estimator.n_support_)


def support_coefficients(estimator: Any) -> Array:
    """The coefficients of the listed support vectors in every model, shape (n_support, models); ``dual_coef_`` of
    one-vs-one, in LIBSVM's layout, is taken apart."""
    dual = estimator.dual_coef_.toarray() if sp.issparse(estimator.dual_coef_) else estimator.dual_coef_
    if getattr(estimator, "_scheme", "") != "ovo" or len(estimator.classes_) == 2:
        return dual.T
    n_classes = len(estimator.classes_)
    of_class = support_codes(estimator)
    table = pairs(n_classes)
    C = np.zeros((dual.shape[1], len(table)))
    for column, (i, j) in enumerate(table):
        C[of_class == i, column] = dual[j - 1, of_class == i]
        C[of_class == j, column] = dual[i, of_class == j]
    return C


def explained(estimator: Any, decision: Array, prediction: Any) -> tuple[Array, str]:
    """The combination of the models' values that is explained, and what it is of."""
    if not is_classifier(estimator):
        words = "f, positive inside" if hasattr(estimator, "offset_") else "f"
        return np.ones(1), words
    names = estimator.classes_.tolist()
    mixture = np.zeros(len(decision))
    if len(decision) == 1:
        mixture[0] = 1.0
        return mixture, f"f of {names[1]!r} against {names[0]!r}"
    own = names.index(plain(prediction))
    present = getattr(estimator, "_present", np.ones(len(names), bool))
    if getattr(estimator, "_scheme", "ovr") == "ovo":
        strength = votes_with_confidence(decision[None, :], present)[0]
        rival = _rival(strength, own, present)
        mixture[pairs(len(names)).index((min(own, rival), max(own, rival)))] = 1.0 if own < rival else -1.0
    else:
        rival = _rival(decision, own, present)
        mixture[own], mixture[rival] = 1.0, -1.0
    return mixture, f"f of {names[own]!r} against {names[rival]!r}"


def _rival(strength: Array, own: int, present: Array) -> int:
    """The strongest other class."""
    strength = np.where(present, strength, -np.inf)
    strength[own] = -np.inf
    best = int(strength.argmax())
    return best if best != own else (own + 1) % len(strength)


def plain(value: Any) -> Any:
    """A number or string of Python's own."""
    return value.item() if isinstance(value, np.generic) else value
