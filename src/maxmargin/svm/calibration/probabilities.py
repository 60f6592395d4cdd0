"""``predict_proba`` of the classifiers: decision values -> maps -> coupled or normalised -> the nearest probabilities
that agree with ``predict``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_choice
from maxmargin.svm.calibration.calibrated import METHODS, Calibration, agreeing
from maxmargin.svm.compatibility import calibration_of


def check_calibration(calibration: Any) -> None:
    """The parameter is None or the name of a method."""
    if calibration is not None:
        check_choice("calibration", calibration, METHODS, " or None")


def _has_calibration(estimator: Any) -> bool:
    if calibration_of(estimator) is None:
        raise AttributeError(
            f"{type(estimator).__name__} has predict_proba if it is calibrated when fitted: give it "
            "calibration='sigmoid', 'isotonic' or 'temperature'. decision_function needs no calibration."
        )
    return True


@documented()
class ProbabilityMixin:
    """For a classifier with the parameter ``calibration``, whose ``fit`` sets ``calibration_``, and whose
    ``_decision_and_codes`` gives the decision values of new points, one column per binary model, and the codes of the
    classes that ``predict`` gives them."""

    calibration: str | None
    _present: Array
    _decision_and_codes: Any

    @available_if(_has_calibration)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for new points; the largest is that of the class ``predict`` gives.

        {Parameters, X}

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to one. Where the calibrated probabilities would prefer another class
            than ``predict``, the nearest ones that do not are given.

        Notes
        -----
        There only is this method if ``calibration`` is not None.
        """
        decision, codes = self._decision_and_codes(X)
        calibration: Calibration | None = getattr(self, "calibration_", None)
        if calibration is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False or calibration=None: this "
                f"{type(self).__name__} was; call fit again."
            )
        return agreeing(calibration.probabilities(decision, self._present), codes)

    @available_if(_has_calibration)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of ``predict_proba``.

        {Parameters, X}

        Returns
        -------
        log_probabilities : array of shape (n_samples, n_classes)
            -inf for a class that had no weight in the training data.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
