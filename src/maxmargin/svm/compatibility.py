"""Names that scikit-learn's classes have besides their documented ones, with its meanings.

Programs read them: ``probability=True`` and ``probA_``, which scikit-learn has deprecated, and the model in LIBSVM's
own signs, ``_dual_coef_`` and ``_intercept_``. There the value of two classes is positive for the *first* of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from maxmargin.kernels import Precomputed
from maxmargin.runtime.validation import Array, shown, warn
from maxmargin.svm.calibration.maps import SigmoidMap
from maxmargin.svm.models.expansion import KernelExpansion


def calibration_of(estimator: Any) -> Any:
    """``calibration``, or "sigmoid" with ``probability=True``, which means Platt's method."""
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
    warn(
        "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11 of scikit-learn. "
        + instead,
        FutureWarning,
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
    warn(
        f"Attribute `{name}` was deprecated in version 1.9 and will be removed in 1.11 of scikit-learn. "
        "calibration_.maps holds the sigmoids.",
        FutureWarning,
    )
    return getattr(estimator, name[:-1].replace("prob", "_prob"))


class LibsvmAttributes:
    """The coefficients and intercepts of a kernel model with LIBSVM's signs."""

    @property
    def _dual_coef_(self: Any) -> Any:
        return -self.dual_coef_ if _two_classes(self) else self.dual_coef_

    @_dual_coef_.setter
    def _dual_coef_(self: Any, value: Any) -> None:
        """A changed model: ``predict`` follows, as scikit-learn's does."""
        dual = np.array(value.toarray() if sp.issparse(value) else value, dtype=np.float64, ndmin=2)
        dual = -dual if _two_classes(self) else dual
        anchors = self.support_ if isinstance(self.kernel_, Precomputed) else self.support_vectors_
        if len(dual) == 1 or len(self._n_support) == 1:
            self._expansion = KernelExpansion(self.kernel_, anchors, dual.T.copy(), self.intercept_)
        else:
            self._expansion = KernelExpansion.of_pairs(
                self.kernel_, anchors, dual, np.asarray(self._n_support), self.intercept_
            )
        self.dual_coef_ = sp.csr_matrix(dual) if self._sparse else dual

    @property
    def _intercept_(self: Any) -> Array:
        return -self.intercept_ if _two_classes(self) else self.intercept_.copy()


def check_unaltered(estimator: Any) -> None:
    """Refuse a model whose support vectors were changed by hand, as scikit-learn does. The stand-ins that a search
    scores have none."""
    counts = vars(estimator).get("_n_support")
    if counts is not None and int(counts.sum()) != len(estimator.support_):
        raise ValueError(
            f"The internal representation of {type(estimator).__name__} was altered: it counts "
            f"{sum(estimator._n_support):,} support vectors and lists {len(estimator.support_):,}. Fit it again."
        )


def _two_classes(estimator: Any) -> bool:
    return len(getattr(estimator, "classes_", ())) == 2
