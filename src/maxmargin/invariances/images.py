"""Small changes of images that leave the class as it is.

Pixel p of the changed image is the original at A (p - c) + c - s, c the middle, between pixels by bilinear
interpolation: every such change is a sparse matrix with four entries per row, made once.

    shift      A = 1,                       s the shift
    rotation   A by minus the angle
    scaling    A = 1 / factor
    shear      A adds a part of the row to the column, and of the column to the row

Strokes get thicker where each pixel becomes the largest of itself and its neighbours, thinner with the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import ndimage

from maxmargin.runtime.parameter_docs import documented, entries
from maxmargin.runtime.validation import Array, check_number

IMAGE_ENTRIES = entries(
    """
image_shape : sequence of int
    Height and width, and channels if the images have some.
fill : float, default=0
    Value of pixels from outside the image: that of the background.
images as X : array or sparse matrix of shape (n, pixels)
    Images, one per row.
changed : array or sparse matrix of shape (n, pixels)
maps : list of ImageMap
"""
)


@documented(IMAGE_ENTRIES)
@dataclass(frozen=True)
class ImageMap:
    """A linear map of images: shift, rotation, scaling or shear.

    Parameters
    ----------
    name : str
        Name of the transformation.
    image_shape : tuple of int
        Height and width, and channels if the images have some.
    matrix : pair of pairs of float
        A: where pixel p comes from, A (p - middle) + middle - shift.
    shift : pair of float
        Rows down and columns to the right.
    fill : float
        Value of pixels from outside the image.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.invariances import shifts
    >>> down, up, right, left = shifts((2, 3))
    >>> right(np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))
    array([[0., 1., 2., 0., 4., 5.]])
    """

    name: str
    image_shape: tuple[int, ...]
    matrix: tuple[tuple[float, float], tuple[float, float]] = ((1.0, 0.0), (0.0, 1.0))
    shift: tuple[float, float] = (0.0, 0.0)
    fill: float = 0.0

    def __call__(self, X: Any) -> Any:
        """The changed images.

        {images -> changed}
        """
        _check_pixels(X, self.image_shape, self.name)
        M = self._weights()
        changed = X @ M.T
        if self.fill == 0.0:
            return changed
        return (changed.toarray() if sp.issparse(changed) else changed) + self.fill * (1.0 - M.sum(axis=1)).ravel()

    def _weights(self) -> sp.csr_array:
        """The bilinear weights of the original's pixels in each pixel of the changed image."""
        height, width, *channels = self.image_shape
        pixels = np.indices((height, width)).reshape(2, -1)
        middle = np.array([[(height - 1) / 2.0], [(width - 1) / 2.0]])
        source = np.array(self.matrix) @ (pixels - middle) + middle - np.array(self.shift)[:, None]
        source = np.round(source, 12)
        low = np.floor(source).astype(np.int64)
        part = source - low
        M = sp.csr_array((height * width, height * width))
        for down in (0, 1):
            for right in (0, 1):
                row, column = low[0] + down, low[1] + right
                weight = (part[0] if down else 1 - part[0]) * (part[1] if right else 1 - part[1])
                good = (row >= 0) & (row < height) & (column >= 0) & (column < width) & (weight > 0)
                at = (np.flatnonzero(good), row[good] * width + column[good])
                M = M + sp.csr_array((weight[good], at), shape=M.shape)
        return sp.csr_array(sp.kron(M, sp.eye_array(math.prod(channels)), format="csr") if channels else M)


@documented(IMAGE_ENTRIES)
@dataclass(frozen=True)
class Thickness:
    """Thicker or thinner strokes of bright images on a dark background.

    Parameters
    ----------
    image_shape : tuple of int
        Height and width of the images, and the number of channels if there are several.
    change : float
        From -1 (each pixel the smallest of itself and its four neighbours) to 1 (the largest); fractions interpolate.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.invariances import Thickness
    >>> Thickness((1, 5), 1.0)(np.array([[0.0, 0.0, 1.0, 0.0, 0.0]]))
    array([[0., 1., 1., 1., 0.]])
    """

    image_shape: tuple[int, ...]
    change: float

    @property
    def name(self) -> str:
        return f"thickness {self.change:+g}"

    def __call__(self, X: Any) -> Array:
        """The changed images.

        {images -> changed}
        """
        _check_pixels(X, self.image_shape, self.name)
        points = np.asarray(X.toarray() if sp.issparse(X) else X)
        images = points.reshape(len(points), *self.image_shape)
        cross = np.zeros((1, 3, 3) + (1,) * (len(self.image_shape) - 2), bool)
        cross[0, 1, :], cross[0, :, 1] = True, True
        operation = ndimage.grey_dilation if self.change > 0 else ndimage.grey_erosion
        changed = operation(images, footprint=cross, mode="nearest").reshape(points.shape)
        return points + abs(self.change) * (changed - points)


@documented(IMAGE_ENTRIES)
def shifts(
    image_shape: Sequence[int], pixels: float = 1, *, diagonal: bool = False, fill: float = 0.0
) -> list[ImageMap]:
    """Shifts of images down, up, right and left.

    {Parameters, image_shape}
    pixels : float, default=1
        Distance in pixels.
    diagonal : bool, default=False
        Whether to add the four diagonal shifts.
    {fill}

    {Returns, maps}

    Examples
    --------
    >>> from maxmargin.invariances import shifts
    >>> len(shifts((28, 28))), len(shifts((28, 28), diagonal=True))
    (4, 8)
    """
    p = check_number("pixels", pixels, above=0)
    moves = [(p, 0.0), (-p, 0.0), (0.0, p), (0.0, -p)]
    if diagonal:
        moves += [(p, p), (p, -p), (-p, p), (-p, -p)]
    return [ImageMap(f"shift {m}", _shape(image_shape), shift=m, fill=fill) for m in moves]


@documented(IMAGE_ENTRIES)
def rotations(image_shape: Sequence[int], degrees: Sequence[float] = (-10, 10), *, fill: float = 0.0) -> list[ImageMap]:
    """Rotations about the centre of images.

    {Parameters, image_shape}
    degrees : sequence of float, default=(-10, 10)
        Angles in degrees, counter-clockwise.
    {fill}

    {Returns, maps}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.invariances import rotations
    >>> (quarter,) = rotations((2, 2), [90])
    >>> quarter(np.array([[1.0, 2.0, 3.0, 4.0]]))
    array([[2., 4., 1., 3.]])
    """
    made = []
    for angle in degrees:
        check_number("degrees", angle)
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        made.append(ImageMap(f"rotation {angle:g}", _shape(image_shape), ((c, s), (-s, c)), fill=fill))
    return made


@documented(IMAGE_ENTRIES)
def scalings(image_shape: Sequence[int], factors: Sequence[float] = (0.9, 1.1), *, fill: float = 0.0) -> list[ImageMap]:
    """Smaller and larger images, scaled about their centre.

    {Parameters, image_shape}
    factors : sequence of float, default=(0.9, 1.1)
        Above zero; more than 1 enlarges.
    {fill}

    {Returns, maps}

    Examples
    --------
    >>> from maxmargin.invariances import scalings
    >>> [one.name for one in scalings((28, 28))]
    ['scaling 0.9', 'scaling 1.1']
    """
    sizes = [check_number("factors", factor, above=0) for factor in factors]
    return [ImageMap(f"scaling {f:g}", _shape(image_shape), ((1 / f, 0.0), (0.0, 1 / f)), fill=fill) for f in sizes]


@documented(IMAGE_ENTRIES)
def shears(image_shape: Sequence[int], amounts: Sequence[float] = (-0.2, 0.2), *, fill: float = 0.0) -> list[ImageMap]:
    """Sheared images: rows are moved sideways in proportion to their distance from the centre.

    {Parameters, image_shape}
    amounts : sequence of float, default=(-0.2, 0.2)
        Columns per row.
    {fill}

    {Returns, maps}

    Examples
    --------
    >>> from maxmargin.invariances import shears
    >>> len(shears((28, 28)))
    2
    """
    return [ImageMap(f"shear {a:g}", _shape(image_shape), ((1.0, 0.0), (float(a), 1.0)), fill=fill) for a in amounts]


@documented(IMAGE_ENTRIES)
def thickness(image_shape: Sequence[int], changes: Sequence[float] = (-0.5, 0.5)) -> list[Thickness]:
    """Thinner and thicker strokes of images.

    {Parameters, image_shape}
    changes : sequence of float, default=(-0.5, 0.5)
        From -1 (thinner by a pixel on each side) to 1 (thicker).

    Returns
    -------
    list of Thickness

    Examples
    --------
    >>> from maxmargin.invariances import thickness
    >>> [one.name for one in thickness((28, 28))]
    ['thickness -0.5', 'thickness +0.5']
    """
    sizes = [check_number("changes", change, least=-1) for change in changes]
    return [Thickness(_shape(image_shape), min(size, 1.0)) for size in sizes]


def _shape(image_shape: Sequence[int]) -> tuple[int, ...]:
    sides = tuple(image_shape) if np.iterable(image_shape) else ()
    if len(sides) not in (2, 3):
        raise ValueError(
            f"image_shape must be (height, width), or (height, width, channels) of colour images; got {image_shape!r}."
        )
    return tuple(int(check_number("image_shape", side, least=1, integer=True)) for side in sides)


def _check_pixels(X: Any, image_shape: tuple[int, ...], name: str) -> None:
    if X.shape[1] != math.prod(image_shape):
        raise ValueError(
            f"{name}: image_shape={image_shape} has {math.prod(image_shape)} pixels, but the points have "
            f"{X.shape[1]} features."
        )
