"""Names that scikit-learn's classes have besides their documented ones, with its meanings.

Programs read them: ``probability=True`` and ``probA_``, which scikit-learn has deprecated, and the model in LIBSVM's
own signs, ``_dual_coef_`` and ``_intercept_``. There the value of two classes is positive for the *first* of them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from maxmargin.runtime.validation import Array, callers_level, shown
from maxmargin.svm.calibration.sigmoid import SigmoidMap


def calibration_of(estimator: Any) -> Any:
    """``calibration``, or "sigmoid" where ``probability=True`` asks for Platt's method."""
    if estimator.calibration is None and _asks_for_probabilities(estimator):
        return "sigmoid"
    return estimator.calibration


def _asks_for_probabilities(estimator: Any) -> bool:
    return isinstance(given := getattr(estimator, "probability", None), (bool, np.bool_)) and bool(given)


def check_probability(estimator: Any) -> None:
    """Warn about ``probability`` as scikit-learn does, and refuse what is neither True nor False."""
    given, name = estimator.probability, type(estimator).__name__
    if isinstance(given, str) and given == "deprecated":
        return
    if not isinstance(given, (bool, np.bool_)):
        raise ValueError(
            f"probability must be True or False; got probability={shown(given)}. Better leave it out, and give "
            "calibration='sigmoid' for probabilities."
        )
    instead = (
        f"Use `{name}(calibration='sigmoid')` instead of `{name}(probability=True)`." if given else "Leave it out."
    )
    warnings.warn(
        "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11 of scikit-learn. "
        + instead,
        FutureWarning,
        stacklevel=callers_level(),
    )


class PlattAttributes:
    """``probA_`` and ``probB_`` of a classifier: P(first class of a pair) = 1 / (1 + exp(A f + B)), where f is LIBSVM's
    decision value of the pair. Empty without Platt's sigmoids, one per pair."""

    @property
    def _probA(self: Any) -> Array:
        return np.array([-each.slope for each in _sigmoids(self)])

    @property
    def _probB(self: Any) -> Array:
        sign = 1.0 if len(self.classes_) == 2 else -1.0  # f of two classes changes its sign, and so does P
        return np.array([sign * each.offset for each in _sigmoids(self)])

    @property
    def probA_(self: Any) -> Array:
        """Slopes of Platt's sigmoids; deprecated, as in scikit-learn."""
        return _deprecated(self, "probA_")

    @property
    def probB_(self: Any) -> Array:
        """Offsets of Platt's sigmoids; deprecated, as in scikit-learn."""
        return _deprecated(self, "probB_")


def _sigmoids(estimator: Any) -> list[SigmoidMap]:
    learnt = getattr(estimator, "calibration_", None)
    if learnt is None or learnt.kind not in ("binary", "pairs"):
        return []
    maps = [SigmoidMap(0.0, 0.0) if each is None else each for each in learnt.maps]
    return maps if all(isinstance(each, SigmoidMap) for each in maps) else []


def _deprecated(estimator: Any, name: str) -> Array:
    if not hasattr(estimator, "classes_"):
        raise NotFittedError(f"This {type(estimator).__name__} has no {name} yet: call fit first.")
    warnings.warn(
        f"Attribute `{name}` was deprecated in version 1.9 and will be removed in 1.11 of scikit-learn. "
        "calibration_.maps holds the sigmoids.",
        FutureWarning,
        stacklevel=callers_level(),
    )
    return getattr(estimator, name[:-1].replace("prob", "_prob"))


class LibsvmAttributes:
    """The coefficients and intercepts of a kernel model with LIBSVM's signs."""

    @property
    def _dual_coef_(self: Any) -> Any:
        return -self.dual_coef_ if _two_classes(self) else self.dual_coef_

    @property
    def _intercept_(self: Any) -> Array:
        return -self.intercept_ if _two_classes(self) else self.intercept_.copy()


def _two_classes(estimator: Any) -> bool:
    return len(getattr(estimator, "classes_", ())) == 2
