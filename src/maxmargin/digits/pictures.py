"""A picture of a digit, of any size and kind, in the form of the training images.

Those come from NIST: the character fills a field of 32 x 32 pixels from top to bottom, at most about 20 pixels wide; it
is sheared until the left-most ink of its top and of its bottom stand on one vertical; its strokes are thinned or
thickened until they cover about 0.3 of the field; and the ink is counted in blocks of 4 x 4, which gives 8 x 8 values
from 0 to 16. :func:`load_picture` does the same to a picture of one's own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[np.float64]

LARGEST_SIDE = 2048  # larger pictures are reduced to this on opening
VIEW_SIDE = 128  # the picture is looked at in this size
FIELD_WIDTH = 19.5  # of NIST's 32: wider characters are narrowed to this
INK_SHARE = 0.305  # of NIST's field: what the strokes cover


@dataclass(frozen=True, eq=False)
class PictureResult:
    """A picture and its predicted digit.

    Attributes
    ----------
    path : str
        The file, or "picture 1", "picture 2", ... if there is none.
    image : ndarray of shape (8, 8)
        The input of the model, 0 (paper) to 16 (ink).
    label : int
        The predicted digit.
    scores : dict
        The decision value of every digit, highest first.
    original : ndarray of shape (height, width, 3)
        The original picture, reduced in size.

    Examples
    --------
    >>> from maxmargin import digits
    >>> result = digits.run()
    >>> (own,) = digits.classify_pictures(result.model, [255 - 15 * result.images_test[0]])
    >>> own.image.shape, len(own.scores)
    ((8, 8), 10)
    """

    path: str
    image: Array
    label: Any
    scores: dict[Any, float]
    original: NDArray[np.uint8]

    @property
    def runner_up(self) -> Any:
        """The digit with the second-highest score."""
        return next(digit for digit in self.scores if digit != self.label)

    def __str__(self) -> str:
        second = self.runner_up
        return (
            f"{self.path}: {self.label} (score {self.scores[self.label]:.2f}, "
            f"runner-up {second} with {self.scores[second]:.2f})"
        )


def classify_pictures(model: Any, pictures: Iterable[Any]) -> list[PictureResult]:
    """Classify pictures of digits.

    Parameters
    ----------
    model : classifier
        Fitted on images like scikit-learn's digits, such as ``run().model``; it must have one decision value per class.
    pictures : iterable
        Files, arrays or Pillow images, as for :func:`load_picture`.

    Returns
    -------
    list of PictureResult

    Examples
    --------
    >>> from maxmargin import digits
    >>> result = digits.run()
    >>> own = digits.classify_pictures(result.model, [255 - 15 * result.images_test[0]])
    >>> own[0].label, int(result.y_test[0])
    (2, 2)
    """
    if isinstance(pictures, str | os.PathLike):
        raise TypeError(f"pictures must be a list of files or arrays; got {os.fspath(pictures)!r}: put it in a list.")
    results = []
    for number, picture in enumerate(pictures, start=1):
        name = os.fspath(picture) if isinstance(picture, str | os.PathLike) else f"picture {number}"
        opened = _open(picture)
        image = _named(name, opened)
        row = image.reshape(1, -1)
        values = np.ravel(model.decision_function(row))
        if len(values) != len(model.classes_):
            raise ValueError(
                f"the model has {len(values)} decision values for {len(model.classes_)} classes: "
                'fit it with decision_function_shape="ovr"'
            )
        scores = {model.classes_[k].item(): float(values[k]) for k in np.argsort(-values, kind="stable")}
        opened.thumbnail((256, 256))
        results.append(PictureResult(str(name), image, model.predict(row)[0].item(), scores, np.asarray(opened)))
    return results


def load_picture(picture: Any) -> Array:
    """Convert a picture of a digit to the size and scale of scikit-learn's digits.

    Ink is whatever differs from the brightness or colour of the picture's border, so dark on light, light on dark and
    unevenly lit pages all work. Specks are removed; the digit is cropped, stretched, straightened, centred and adjusted
    to the usual stroke width, like the training images. The training images are handwritten: printed digits, above all
    1, 6 and 8, are misread more often.

    Parameters
    ----------
    picture : str, path, array or Pillow image
        A file in any format Pillow reads (PNG, JPG, ...), of any size and mode; or an array of shape
        (height, width), (height, width, 3) or (height, width, 4).

    Returns
    -------
    ndarray of shape (8, 8)
        From 0 (paper) to 16 (ink).

    Raises
    ------
    ValueError
        If the file is not a picture, the picture is too large to open safely, or it contains no ink.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.digits import load_picture
    >>> page = np.full((90, 70), 230, dtype=np.uint8)
    >>> page[20:70, 30:38] = 40
    >>> load_picture(page).round()[3]
    array([ 0.,  0.,  3., 16., 16.,  3.,  0.,  0.])
    """
    name = os.fspath(picture) if isinstance(picture, str | os.PathLike) else "picture"
    return _named(name, _open(picture))


def _named(name: Any, opened: Any) -> Array:
    try:
        return _normalised(*_find_ink(opened))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _open(picture: Any) -> Any:
    """The picture as a Pillow image in mode RGB: upright, opaque, of at most LARGEST_SIDE pixels a side."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise ImportError('pictures need Pillow: pip install "maxmargin[images]"') from error
    if isinstance(picture, str | os.PathLike):
        name = os.fspath(picture)
        with open(name, "rb") as file:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", Image.DecompressionBombWarning)
                    image = Image.open(file)
                image.draft(None, (LARGEST_SIDE, LARGEST_SIDE))
                image.load()
            except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
                limit = Image.MAX_IMAGE_PIXELS / 1e6
                raise ValueError(f"{name}: more than {limit:.0f} megapixels: reduce the picture first") from error
            except UnidentifiedImageError as error:
                raise ValueError(f"{name}: not a picture in a format Pillow reads: give a PNG or JPG file") from error
            except Exception as error:  # a damaged file makes its decoder raise errors of every kind
                raise ValueError(f"{name}: a damaged picture ({error}): save it again as PNG or JPG") from error
    elif isinstance(picture, Image.Image):
        image = picture
    else:
        image = Image.fromarray(_bytes(np.asarray(picture)))
    image = ImageOps.exif_transpose(image)
    if image.mode[0] in "IF":  # 16 and 32 bits a pixel: Pillow would clip, not scale
        image = Image.fromarray(_bytes(np.asarray(image)))
    image = image.convert("RGBA")
    image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return _opaque(image)


def _bytes(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels of any range as 0 ... 255; those that are bytes already stay as they are."""
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)) or pixels.size == 0:
        raise ValueError(
            f"an array of shape {pixels.shape} is not a picture: "
            "give (height, width), (height, width, 3) or (height, width, 4)"
        )
    if pixels.dtype == np.uint8:
        return pixels
    try:
        values = pixels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"an array of {pixels.dtype} is not a picture: give numbers") from error
    if not np.isfinite(values).all():
        raise ValueError("the picture has NaN or infinite pixels: replace them")
    low, high = values.min(), values.max()
    return np.asarray(np.rint((values - low) * (255 / (high - low or 1.0))), dtype=np.uint8)


def _opaque(image: Any) -> Any:
    """Put a picture with transparency on paper: of its own colour if it shows paper, else in contrast to its ink."""
    from PIL import Image

    alpha = np.asarray(image.getchannel("A"))
    if alpha.min() == 255 or alpha.max() == 0:
        return image.convert("RGB")
    visible = np.asarray(image)[alpha > 127][:, :3]
    if len(visible) == 0:
        visible = np.asarray(image)[alpha > 0][:, :3]
    low, high = np.percentile(visible.mean(axis=1), (2, 98))
    if high - low > 80:
        paper = tuple(int(value) for value in np.median(visible, axis=0))
    else:
        paper = (255, 255, 255) if low + high < 255 else (0, 0, 0)
    canvas = Image.new("RGBA", image.size, (*paper, 255))
    canvas.alpha_composite(image)
    return canvas.convert("RGB")


def _find_ink(image: Any) -> tuple[Array, NDArray[np.bool_]]:
    """The ink of the largest view of the digit: values with 1/2 at the strokes' edge, and the strokes as a mask."""
    ink, mask = _ink_and_mask(_view(image))
    rows, columns = _box(mask)
    scale = max(image.size) / VIEW_SIDE
    height, width = (scale * (1 + side[-1] - side[0]) for side in (rows, columns))
    margin = 0.3 * max(height, width)
    if max(height, width) + 2 * margin < 0.7 * max(image.size):
        # A small digit on a large page: look again, closer.
        left, top = max(0, int(scale * columns[0] - margin)), max(0, int(scale * rows[0] - margin))
        right, bottom = int(left + width + 2 * margin) + 1, int(top + height + 2 * margin) + 1
        closer = image.crop((left, top, min(image.width, right), min(image.height, bottom)))
        ink, mask = _ink_and_mask(_view(closer))
    return ink, mask


def _view(image: Any) -> Array:
    """The picture as an array whose longer side is VIEW_SIDE."""
    from PIL.Image import Resampling

    scale = VIEW_SIDE / max(image.size)
    size = [max(1, round(scale * side)) for side in image.size]
    return np.asarray(image.resize(size, Resampling.BICUBIC if scale > 1 else Resampling.BOX), np.float64) / 255


def _box(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns with ink."""
    return np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))


def _ink_and_mask(colours: Array) -> tuple[Array, NDArray[np.bool_]]:
    height, width, _ = colours.shape
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    surface = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=-1)
    edge = np.maximum(abs(x), abs(y)) > 0.92

    # Paper, first estimate: a quadratic surface through most of the border. Pixels far from it belong to the digit.
    paper = np.broadcast_to(np.median(colours[edge], axis=0), colours.shape)
    for _ in range(4):
        distance = np.linalg.norm(colours - paper, axis=2)
        fitted = edge & (distance <= max(3 * float(np.median(distance[edge])), 0.02))
        paper = surface @ np.linalg.lstsq(surface[fitted], colours[fitted], rcond=None)[0]

    # One number a pixel: the difference from the paper along the colour in which it differs most; ink is positive.
    difference = (colours - paper).reshape(-1, 3)
    grey = (difference @ np.linalg.eigh(difference.T @ difference)[1][:, -1]).reshape(height, width)
    grey = ndimage.gaussian_filter(grey * np.sign(np.sum(grey**3) or 1.0), 0.7)

    # Paper, second estimate: the same surface through everything that is not ink.
    ink = grey
    for _ in range(3):
        blank = ndimage.binary_erosion(ink <= _otsu(ink), iterations=2, border_value=True)
        if np.count_nonzero(blank) < 50:
            break
        ink = grey - surface @ np.linalg.lstsq(surface[blank], grey[blank], rcond=None)[0]
    threshold = _otsu(ink)
    mask = ink > threshold
    contrast = ink[mask].mean() - ink[~mask].mean() if mask.any() and not mask.all() else 0.0
    noise = ink[blank].std() if blank.any() else 0.0
    # Splitting mere noise in two leaves its halves about 2.7 standard deviations apart.
    if contrast < max(0.05, 3.5 * noise):
        raise ValueError("no ink found: give a picture of one digit that stands out from its background")

    label, _ = ndimage.label(mask, structure=np.ones((3, 3)))
    area = np.bincount(label.ravel())
    area[0] = 0
    mask = (area >= 0.04 * area.max())[label]
    near = ndimage.binary_dilation(mask, iterations=2)
    return np.where(near, np.clip(ink / (2 * threshold), 0, 1), 0.0), mask


def _otsu(values: Array) -> float:
    """The threshold that parts values into two groups of least variance within."""
    counts, edges = np.histogram(values, bins=128)
    centres = (edges[:-1] + edges[1:]) / 2
    below = np.maximum(np.cumsum(counts)[:-1], 1)
    above = np.maximum(values.size - below, 1)
    sums = np.cumsum(counts * centres)[:-1]
    between = below * above * (sums / below - (np.sum(counts * centres) - sums) / above) ** 2
    return float(edges[1 + np.argmax(between)])


def _normalised(ink: Array, mask: NDArray[np.bool_]) -> Array:
    """NIST's field of 32 x 32, here drawn at twice the size, and its counts in blocks."""
    side, unit = 64, 2.0
    rows, columns = _box(mask)
    top, height, width = rows[0], rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1

    # Shear: column u = column - slope (row - middle), so that top and bottom begin on one vertical.
    band = max(1, round(0.06 * height))
    first = mask[top : top + band].any(axis=0).argmax()
    last = mask[rows[-1] + 1 - band : rows[-1] + 1].any(axis=0).argmax()
    slope, middle = (last - first) / max(height - 1, 1), top + (height - 1) / 2
    row, column = np.nonzero(mask)
    u = column - slope * (row - middle)

    # Stretch: to the full height, and a wide digit to NIST's width as far as its shape allows.
    down = side / height
    across = np.clip(FIELD_WIDTH * unit / width, down / 2.5, down)
    across = min(across, side / (np.ptp(u) + 1))
    # Centre: the ink's mean column in the middle, but nothing outside.
    reach = side / 2 / across
    centre = np.clip(np.average(u, weights=ink[mask]), u.max() + 0.5 - reach, u.min() - 0.5 + reach)

    # Field pixel (r, c) shows the picture at row = top + (r + 1/2)/down - 1/2, column = u + slope (row - middle).
    start = top + 0.5 / down - 0.5
    matrix = [[1 / down, 0], [slope / down, 1 / across]]
    offset = [start, centre + (0.5 - side / 2) / across + slope * (start - middle)]
    field = ndimage.affine_transform(ink, matrix, offset, (side, side), order=1)

    # Stroke width: move the edge along the signed distance from it until the strokes cover their share.
    inside = np.pad(field > 0.5, 1)
    distance = (ndimage.distance_transform_edt(inside) - ndimage.distance_transform_edt(~inside))[1:-1, 1:-1]
    move = np.clip(np.quantile(distance, 1 - INK_SHARE), -4 * unit, 2 * unit)
    strokes = np.clip((distance - move) / (2 * unit) + 0.5, 0, 1)
    # Strokes of about the right width keep their shades of grey, which tell more than the edge alone.
    change = min(abs(move) / (2 * unit), 1.0)
    strokes = change * strokes + (1 - change) * field
    block = side // 8
    return np.asarray(16 * strokes.reshape(8, block, 8, block).mean(axis=(1, 3)))
