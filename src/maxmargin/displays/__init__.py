"""Displays: pictures of fitted models and results. The only folder that imports matplotlib."""

from maxmargin.displays.digits import DigitsDisplay, PicturesDisplay
from maxmargin.displays.explanation import ExplanationDisplay
from maxmargin.displays.gram import GramDisplay
from maxmargin.displays.history import HistoryDisplay
from maxmargin.displays.losses import LossDisplay
from maxmargin.displays.margin import MarginDisplay
from maxmargin.displays.projection import ProjectionDisplay
from maxmargin.displays.regression import RegressionDisplay
from maxmargin.displays.reliability import ReliabilityDisplay
from maxmargin.displays.search import SearchDisplay
from maxmargin.displays.shapley import ShapleyDisplay

__all__ = [
    "DigitsDisplay",
    "ExplanationDisplay",
    "GramDisplay",
    "HistoryDisplay",
    "LossDisplay",
    "MarginDisplay",
    "PicturesDisplay",
    "ProjectionDisplay",
    "RegressionDisplay",
    "ReliabilityDisplay",
    "SearchDisplay",
    "ShapleyDisplay",
]
