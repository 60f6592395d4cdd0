"""Displays: pictures of fitted models and results. The only folder that imports matplotlib."""

from maxmargin.displays.digits import DigitsDisplay, PicturesDisplay

__all__ = ["DigitsDisplay", "PicturesDisplay"]
