"""Handwritten digits with known invariances: ``python -m benchmarks.invariances --data FOLDER``.

mnist, 60,000 training images. They are deskewed, ``VirtualSVC`` shifts its support vectors by one pixel, and its test
error is printed beside that of the same classifier without virtual support vectors. Hyperparameters come from the
training set alone: ``--choose`` fits every candidate to the first ``--choice-rows`` images and counts its errors on the
last 10,000. The candidate with the fewest is ``CHOSEN``, which is then fitted to all images and evaluated on the test
set once.

The polynomial kernel of degree 9 on images of unit length is that of DeCoste, D. and Schölkopf, B. (2002), Training
invariant support vector machines, *Machine Learning* 46, 161-190: 0.68 % with eight shifts and their own deskewing.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from maxmargin import SVC, VirtualSVC
from maxmargin.invariances import rotations, shifts, thickness
from maxmargin.kernels import RBF, Kernel, Polynomial

from ._data import read_npz
from ._table import markdown

Array = np.ndarray[Any, Any]
IMAGE_SHAPE = (28, 28)
VALIDATION_ROWS = 10_000  # the last of the training set


def deskewed(images: Array) -> Array:
    """Images between 0 and 1 with slanted strokes made upright.

    Each row of pixels is moved by the slant times its distance from the centre of gravity, which goes to the middle of
    the image. The slant is cov(column, row) / var(row), with the brightness as weight.
    """
    height, width = IMAGE_SHAPE
    pictures = images.reshape(-1, height, width).astype(np.float64) / 255.0
    rows, columns = np.arange(height), np.arange(width)
    mass = np.maximum(pictures.sum(axis=(1, 2)), 1e-12)
    by_row, by_column = pictures.sum(axis=2), pictures.sum(axis=1)
    row_mean, column_mean = by_row @ rows / mass, by_column @ columns / mass
    row_offset = rows - row_mean[:, None]
    covariance = np.einsum("ir,ic,irc->i", row_offset, columns - column_mean[:, None], pictures, optimize=True)
    variance = np.einsum("ir,ir->i", row_offset**2, by_row)
    slant = covariance / np.maximum(variance, 1e-12)
    # Pixel (r, c) of the new image is the old one at row r + row_shift and column c + column_shift of r.
    row_shift = (row_mean - (height - 1) / 2)[:, None]
    column_shift = (column_mean - (width - 1) / 2)[:, None] + slant[:, None] * (rows - (height - 1) / 2)
    moved = _interpolated(pictures, rows + row_shift, axis=1)
    moved = _interpolated(moved, columns + column_shift[:, :, None], axis=2)
    return moved.reshape(len(images), -1)


def _interpolated(pictures: Array, source: Array, axis: int) -> Array:
    """Values between pixels along one axis, linear between neighbours and zero outside."""
    size = pictures.shape[axis]
    source = source[:, :, None] if source.ndim == 2 else source
    low = np.floor(source).astype(np.int64)
    made = np.zeros_like(pictures)
    for place, weight in ((low, 1.0 - (source - low)), (low + 1, source - low)):
        inside = (place >= 0) & (place < size)
        at = np.broadcast_to(np.clip(place, 0, size - 1), pictures.shape)
        made += np.where(inside, weight, 0.0) * np.take_along_axis(pictures, at, axis=axis)
    return made


@dataclass(frozen=True)
class Candidate:
    """A classifier of images of unit length, and what its support vectors are transformed by."""

    name: str
    kernel: Kernel
    C: float
    transforms: list[Any]

    def plain(self) -> Any:
        return make_pipeline(Normalizer(), SVC(kernel=self.kernel, C=self.C, cache_size=1000, break_ties=True))

    def virtual(self) -> VirtualSVC:
        return VirtualSVC(self.plain(), self.transforms)


def power(degree: int) -> Polynomial:
    """((1 + cosine) / 2)^degree, which is at most one."""
    return Polynomial(degree=degree, gamma=0.5, coef0=0.5)


FOUR_SHIFTS, EIGHT_SHIFTS = shifts(IMAGE_SHAPE), shifts(IMAGE_SHAPE, diagonal=True)
CANDIDATES = [
    Candidate("polynomial, degree 9, C = 2, 8 shifts", power(9), 2.0, EIGHT_SHIFTS),
    Candidate("RBF, gamma = 2, C = 10, 8 shifts", RBF(gamma=2.0), 10.0, EIGHT_SHIFTS),
    Candidate("RBF, gamma = 3, C = 10, 8 shifts", RBF(gamma=3.0), 10.0, EIGHT_SHIFTS),
    Candidate("RBF, gamma = 2, C = 10, 4 shifts", RBF(gamma=2.0), 10.0, FOUR_SHIFTS),
    Candidate(
        "RBF, gamma = 2, C = 10, 8 shifts, 2 rotations", RBF(gamma=2.0), 10.0, EIGHT_SHIFTS + rotations(IMAGE_SHAPE)
    ),
    Candidate(
        "RBF, gamma = 2, C = 10, 8 shifts, thickness", RBF(gamma=2.0), 10.0, EIGHT_SHIFTS + thickness(IMAGE_SHAPE)
    ),
]
CHOSEN = CANDIDATES[4]


def _line(title: str, model: Any, X: Array, y: Array, X_test: Array, y_test: Array) -> list[str]:
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    wrong = int(np.count_nonzero(model.predict(X_test) != y_test))
    fitted = model.estimator_ if isinstance(model, VirtualSVC) else model
    cells = [title, f"{wrong}", f"{100 * wrong / len(y_test):.2f} %", f"{len(fitted[-1].support_):,}"]
    print(*cells, f"{wall:.0f} s, {cpu:.0f} CPU s", sep="  ", flush=True)
    return [*cells, f"{wall:.0f}", f"{cpu:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with mnist.npz")
    parser.add_argument("--choose", action="store_true", help="compare the candidates on training images")
    parser.add_argument("--choice-rows", type=int, default=8_000, help="training images of each candidate")
    parser.add_argument("--only", default="", help="candidates whose names contain this")
    options = parser.parse_args()
    arrays = read_npz(options.data, "mnist")
    X, y = deskewed(arrays["X_train"]), arrays["y_train"]
    if options.choose:
        fit, held = slice(0, options.choice_rows), slice(len(X) - VALIDATION_ROWS, None)
        chosen = [candidate for candidate in CANDIDATES if options.only in candidate.name]
        lines = [_line(c.name, c.virtual(), X[fit], y[fit], X[held], y[held]) for c in chosen]
    else:
        test = deskewed(arrays["X_test"]), arrays["y_test"]
        lines = [
            _line(f"{CHOSEN.name}: SVC alone", CHOSEN.plain(), X, y, *test),
            _line(f"{CHOSEN.name}: VirtualSVC", CHOSEN.virtual(), X, y, *test),
        ]
    print(markdown(["classifier", "errors", "error", "support vectors", "seconds", "CPU seconds"], lines))


if __name__ == "__main__":
    main()
