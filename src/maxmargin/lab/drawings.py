"""A drawing, or a picture of a digit, as the 8 x 8 numbers that a model of scikit-learn's digits gets.

A drawing is strokes, lists of points in the unit square with y downwards. Their size and place do not matter, so they
are first scaled to fill the field. A pixel's ink is how much of it a line of radius r covers, by its distance from the
segments of the stroke:

    ink(p) = clip(r + 1/2 - distance(p, segments), 0, 1)       distances in pixels

From there on a drawing is treated as any picture (:mod:`maxmargin.digits.pictures`): sheared, stretched, brought to the
usual stroke width, and its ink counted in 8 x 8 blocks, 0 to 16.
"""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin.digits.pictures import LARGEST_SIDE, _normalised, load_picture
from maxmargin.lab import requests
from maxmargin.lab.requests import RequestError
from maxmargin.runtime.validation import Array

FIELD_PIXELS = 128  # pixels of the field that strokes are drawn in
LINE_RADIUS = 5.0  # of the line, in pixels
MAX_STROKES, MAX_PLACES = 100, 10_000
MIN_INK_SHARE = 0.02  # of the canvas: less than this is no digit
MAX_BYTES = 24_000_000
MAX_PIXELS = 50_000_000
FORMATS = ("PNG", "JPEG", "WEBP")
EMPTY = "Draw a digit first."


def pixels(request: Mapping[str, Any]) -> Array:
    """The 8 x 8 whole numbers, 0 to 16, of a request's ``strokes`` or ``image``."""
    if request.get("image") is not None:
        return np.rint(_of_picture(request["image"])).astype(int)
    strokes = _strokes(request.get("strokes"))
    every = np.concatenate(strokes) if strokes else np.zeros((0, 2))
    if len(every) == 0 or float(np.ptp(every, axis=0).max()) < MIN_INK_SHARE:
        raise RequestError(EMPTY if len(every) == 0 else f"{EMPTY} A dot is not enough.", "strokes")
    return of_strokes(strokes)


def of_strokes(strokes: list[Array]) -> Array:
    """The 8 x 8 whole numbers of strokes."""
    ink = rendered(strokes)
    return np.rint(_normalised(ink, ink > 0.5)).astype(int)


def rendered(strokes: list[Array]) -> Array:
    """Strokes as ink between 0 and 1 in a field of FIELD_PIXELS x FIELD_PIXELS pixels, which they fill."""
    every = np.concatenate(strokes)
    low, high = every.min(axis=0), every.max(axis=0)
    room = LINE_RADIUS + 2.0
    scale = (FIELD_PIXELS - 2 * room) / max(float((high - low).max()), 1e-9)
    middle = (low + high) / 2
    ink = np.zeros((FIELD_PIXELS, FIELD_PIXELS))
    for stroke in strokes:
        places = (stroke - middle) * scale + FIELD_PIXELS / 2
        for p, q in pairwise(places) if len(places) > 1 else [(places[0], places[0])]:
            _draw(ink, p, q)
    return ink


def _draw(ink: Array, p: Array, q: Array) -> None:
    """A segment from p to q; pixel (row, column) has its centre at x = column + 1/2, y = row + 1/2."""
    reach = LINE_RADIUS + 1.0
    x0, y0 = np.maximum(0, np.floor(np.minimum(p, q) - reach)).astype(int)
    x1, y1 = np.minimum(FIELD_PIXELS, np.ceil(np.maximum(p, q) + reach)).astype(int)
    x, y = np.arange(x0, x1) + 0.5 - p[0], (np.arange(y0, y1) + 0.5 - p[1])[:, None]
    along = q - p
    length2 = float(along @ along)
    t = np.clip((x * along[0] + y * along[1]) / length2, 0.0, 1.0) if length2 > 0 else 0.0
    distance = np.hypot(x - t * along[0], y - t * along[1])
    part = ink[y0:y1, x0:x1]
    np.maximum(part, np.clip(LINE_RADIUS + 0.5 - distance, 0.0, 1.0), out=part)


def _strokes(given: Any) -> list[Array]:
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > MAX_STROKES or not all(isinstance(one, list) for one in given):
        raise RequestError(f"strokes must be a list of at most {MAX_STROKES} lists of places.", "strokes")
    if sum(map(len, given)) > MAX_PLACES:
        raise RequestError(f"The drawing has more than {MAX_PLACES:,} places: draw it with fewer.", "strokes")
    return [requests.rows({"strokes": one}, "strokes", 2, "x and y").clip(-1.0, 2.0) for one in given if one]


def _of_picture(given: Any) -> Array:
    """What the model sees of a data URL."""
    head, comma, body = given.partition(",") if isinstance(given, str) else ("", "", "")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise RequestError("image must be a PNG or JPEG picture as a data URL, data:image/png;base64,...", "image")
    if len(body) > MAX_BYTES * 4 / 3:
        raise RequestError(f"The picture has more than {MAX_BYTES / 1e6:.0f} MB: reduce it first.", "image")
    try:
        data = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError("The picture is incomplete: choose the file again.", "image") from error
    image = _opened(data)
    try:
        return load_picture(image)
    except ValueError as error:
        reason = str(error).removeprefix("picture: ")
        raise RequestError(f"{reason[:1].upper()}{reason[1:]}.", "image") from error


def _opened(data: bytes) -> Any:
    """The picture, decoded only after its header has told its size."""
    try:
        from PIL import Image
    except ImportError as error:
        raise RequestError(
            'Pictures need Pillow, which is not installed: pip install "maxmargin[images]". Drawing works without it.',
            "image",
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=FORMATS)
        width, height = image.size
    except Image.DecompressionBombError as error:
        raise RequestError(_too_large(), "image") from error
    except Exception as error:  # a decoder meets a strange file with errors of every kind
        raise RequestError("This file cannot be read as a picture: choose a PNG or JPEG file.", "image") from error
    if width * height > MAX_PIXELS:
        raise RequestError(_too_large(), "image")
    try:
        image.draft(None, (LARGEST_SIDE, LARGEST_SIDE))
        image.load()
    except Exception as error:
        raise RequestError("The picture is damaged: save it again as PNG or JPEG.", "image") from error
    return image


def _too_large() -> str:
    return f"The picture has more than {MAX_PIXELS / 1e6:.0f} megapixels: reduce it first."
