from .example import DigitsResult, clearly_better, naive_baseline, run, wilson_interval
from .pictures import PictureResult, classify_pictures, load_picture

__all__ = [
    "DigitsResult",
    "PictureResult",
    "classify_pictures",
    "clearly_better",
    "load_picture",
    "naive_baseline",
    "run",
    "wilson_interval",
]
