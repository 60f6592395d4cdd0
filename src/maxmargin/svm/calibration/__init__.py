"""Probabilities from decision values: sigmoid, isotonic and temperature maps, and the coupling of pairs.

``SVC``, ``NuSVC`` and ``LinearSVC`` take ``calibration="sigmoid"``, ``"isotonic"`` or ``"temperature"``, and then have
``predict_proba``. What it is made of is here.
"""

from maxmargin.svm.calibration.calibrated import METHODS, Calibration, agreeing, couple
from maxmargin.svm.calibration.maps import (
    IsotonicMap,
    SigmoidMap,
    TemperatureMap,
    fit_isotonic,
    fit_sigmoid,
    fit_temperature,
)

__all__ = [
    "METHODS",
    "Calibration",
    "IsotonicMap",
    "SigmoidMap",
    "TemperatureMap",
    "agreeing",
    "couple",
    "fit_isotonic",
    "fit_sigmoid",
    "fit_temperature",
]
