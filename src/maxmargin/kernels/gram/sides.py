"""Points as the rows and the columns of tiles, and the form of a kernel in tiles.

Form      k = function(u + v + a'b), or of a'b, |a - b| or (a - b)^2, of the points times a factor (``native/tiles``)
Side      points as rows, in float32 or float64, with u of each; rows too far away for tiles separately
Panels    points packed as columns, with v of each
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import (
    RBF,
    ArcCosine,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Tanimoto,
)
from maxmargin.kernels._arrays import row_sums
from maxmargin.kernels.distance import circles
from maxmargin.kernels.gram.far_rows import LENGTH_LIMIT, OUT_OF_REACH, TILES_END_FACTOR, FarRows
from maxmargin.runtime.arrays import CsrArrays, csr_arrays
from maxmargin.runtime.threads import Scratch, Stop, halt_on
from maxmargin.runtime.validation import Array, Points

LOG2E = math.log2(math.e)
CSR_MAX_COLUMNS = 4096  # with more columns, packed panels of sparse rows would be mostly zeros
CONSTANT_MIN_SHARE = 0.04  # of the columns: if fewer are constant, omitting them costs more than it saves
COMPARED_ROWS = 256  # at a time, in the search for constant columns: most are ruled out by the first
SINGLE_MAX_DIGITS = 20  # decimal, of a power in float32, whose numbers have up to 38

RATIONAL_MAX_ALPHA = 1e6  # and the inverse of the smallest: beyond, gamma / alpha leaves the range of float32


@dataclass(frozen=True)
class Form:
    """The form of a kernel in tiles: k = function(u + v + a'b) of the points times ``root``; see ``native/tiles``.

    Points are scaled before they become float32, so that the size of the data and of gamma cancel."""

    kind: int
    root: float
    degree: float = 1  # the exponent, 2 nu of a Matern kernel, or the order of an arc-cosine kernel
    bias: float = 0.0  # u, where it is the same for all rows
    norms: bool = False  # u = v = -|a|^2 / 2
    period: float = 0.0  # of periodic points, which are mapped to (cos, sin) first

    @property
    def decays(self) -> bool:
        """Whether values fall to zero with the distance of two points, so that those of far points are zero."""
        return self.kind in (_native.EXP2, _native.DECAY)

    @property
    def of_distance(self) -> bool:
        """Whether values depend on the distance of two points alone."""
        return self.decays or self.kind in (_native.MATERN, _native.RATIONAL)

    @property
    def dense_only(self) -> bool:
        """Whether tiles need dense rows: they sum differences, or points are transformed."""
        return self.period > 0 or self.kind in (_native.DECAY, _native.MATERN, _native.RATIONAL)

    @property
    def in_batches(self) -> bool:
        """Whether the compiled solver of many small problems has this form, too."""
        return self.period == 0 and self.kind in (_native.EXP2, _native.POWER, _native.TANH, _native.DECAY)

    def single_suffices(self, typical: float, longest: float) -> bool:
        """Whether float32 has the range and the digits for rows of these squared lengths (scaled). A few rows that are
        much longer than the others may lose digits, which double precision restores where needed; most must not."""
        if self.kind in (_native.POWER, _native.ANGLE, _native.TANIMOTO):
            size, degree = max(longest, abs(self.bias)), max(self.degree, 1)
            return size == 0 or abs(degree * math.log10(size)) < SINGLE_MAX_DIGITS
        return typical < 2048 and longest < 1e6

    def points(self, X: Array) -> Array:
        """Dense points, transformed for the tiles."""
        return circles(X, self.period) if self.period > 0 else X

    def terms(self, lengths: Array) -> Array | None:
        """u = v of rows of these squared lengths; None without such a term."""
        if self.norms:
            return -0.5 * lengths
        if self.kind == _native.ANGLE:
            return np.sqrt(lengths)
        return lengths if self.kind == _native.TANIMOTO else None


def form_of(kernel: Kernel) -> Form | None:
    """The tile form of a resolved kernel, if it has one."""
    made = FORMS.get(type(kernel))
    return None if made is None else made(kernel)


def _polynomial(kernel: Any) -> Form | None:
    if not (float(kernel.degree).is_integer() and 1 <= kernel.degree <= 64):
        return None
    return Form(_native.POWER, math.sqrt(float(kernel.gamma)), degree=int(kernel.degree), bias=float(kernel.coef0))


def _gaussian(kernel: Any, period: float = 0.0) -> Form:
    return Form(_native.EXP2, math.sqrt(2 * LOG2E * float(kernel.gamma)), norms=True, period=period)


def _rational(kernel: Any) -> Form | None:
    alpha = float(kernel.alpha)
    if not 1 / RATIONAL_MAX_ALPHA <= alpha <= RATIONAL_MAX_ALPHA:
        return None
    return Form(_native.RATIONAL, math.sqrt(float(kernel.gamma) / alpha), degree=alpha)


FORMS: dict[type, Callable[[Any], Form | None]] = {
    RBF: _gaussian,
    Periodic: lambda k: _gaussian(k, float(k.period)),
    Laplacian: lambda k: Form(_native.DECAY, LOG2E * float(k.gamma)),
    Matern: lambda k: Form(_native.MATERN, LOG2E * math.sqrt(4 * k.nu * float(k.gamma)), degree=2 * k.nu),
    RationalQuadratic: _rational,
    Linear: lambda k: Form(_native.POWER, 1.0),
    Polynomial: _polynomial,
    Sigmoid: lambda k: Form(_native.TANH, math.sqrt(2 * LOG2E * float(k.gamma)), bias=2 * LOG2E * float(k.coef0)),
    # Order 0 is the angle itself: from its cosine, tiles would have half of the digits where points are parallel.
    ArcCosine: lambda k: Form(_native.ANGLE, 1.0, degree=int(k.order)) if k.order else None,
    Tanimoto: lambda k: Form(_native.TANIMOTO, 1.0),
}


def tileable(kernel: Kernel, X: Points) -> bool:
    """Whether tiles can compute this kernel on these points."""
    form = form_of(kernel) if X.dtype != object else None
    return form is not None and (not sp.issparse(X) or (X.shape[1] <= CSR_MAX_COLUMNS and not form.dense_only))


@dataclass(frozen=True)
class Panels:
    """Points packed as the columns of tiles."""

    P: Array
    v: Array
    n: int
    far: FarRows | None = None


@dataclass(frozen=True)
class Side:
    """Points as rows of tiles, in one precision: dense, or CSR."""

    n: int
    d: int
    u: Array
    typical: float  # squared length that nine of ten rows do not exceed
    longest: float
    A: Array | None = None
    csr: CsrArrays | None = None
    order: Array | None = None  # the CSR rows in use; None means all in order
    far: FarRows | None = None  # rows whose distances from each other are not computed by tiles

    @classmethod
    def of(
        cls,
        X: Points,
        form: Form,
        shift: Array | None,
        dtype: type,
        at: Array | None = None,
        scratch: Scratch | None = None,
        columns: Array | None = None,
        stop: Stop | None = None,
    ) -> Side:
        """The rows ``at`` and the columns ``columns`` of X (all by default; sparse points keep theirs), in new memory
        or in scratch memory. ``stop`` is called every few rows."""
        if sp.issparse(X) and at is not None:
            X, at = X[at], None
        n, d = X.shape[0] if at is None else len(at), X.shape[1] if columns is None else len(columns)
        d = 2 * d if form.period > 0 else d
        shift = shift if shift is None or columns is None else shift[columns]
        u = np.full(n, form.bias, dtype)
        A = csr = None
        with np.errstate(over="ignore", invalid="ignore"):  # overflow of float32 is detected by ``longest``
            if sp.issparse(X):
                indptr, indices, data = csr_arrays(X)
                data = (data.astype(np.float64) * form.root).astype(dtype, copy=False)
                csr = indptr, indices, data
                lengths = row_sums(data.astype(np.float64) ** 2, indptr)  # of the values that tiles compute with
            else:
                A = _memory(scratch, "rows", (n, d), dtype)
                lengths = np.empty(n)
                step = max(1, 200_000 // max(1, d))
                for start in range(0, n, step):  # in float64 before the rounding to dtype, a few rows at a time
                    halt_on(stop)
                    rows = slice(start, min(start + step, n))
                    part = X[rows] if at is None else X[at[rows]]
                    part = (part if columns is None else part[:, columns]).astype(np.float64, copy=False)
                    part = form.points(part if shift is None else part - shift) * form.root
                    A[rows] = part
                    if form.kind == _native.DECAY:
                        lengths[rows] = np.abs(part).sum(axis=1)
                    else:
                        rounded = A[rows].astype(np.float64, copy=False)
                        lengths[rows] = np.einsum("ij,ij->i", rounded, rounded)
            terms = form.terms(lengths)
            if terms is not None:
                u[:] = terms
        far = None
        limit = LENGTH_LIMIT[np.dtype(dtype).type]
        if form.decays and not lengths.max(initial=0.0) <= limit:
            index = np.flatnonzero(~(lengths <= limit))
            far = FarRows(index, form.points(X[index if at is None else at[index]]))
            beyond = ~(lengths <= TILES_END_FACTOR * limit)  # not in tiles: their values with other rows are zero
            lengths[beyond] = TILES_END_FACTOR * limit
            u[beyond] = OUT_OF_REACH if form.kind == _native.DECAY else -OUT_OF_REACH
            if A is not None:
                A[beyond] = 0
            elif csr is not None:
                csr[2][np.repeat(beyond, np.diff(csr[0]))] = 0
        ninth = (9 * n) // 10
        typical = float(np.partition(lengths, ninth)[ninth]) if n else 0.0
        return cls(n, d, u, typical, float(lengths.max(initial=0.0)), A, csr, far=far)

    def part(self, rows: Array, scratch: Scratch | None = None) -> Side:
        """Some of the rows; dense ones are copied to contiguous memory."""
        far = None if self.far is None else self.far.part(rows)
        if self.csr is not None:
            return replace(self, n=len(rows), order=rows if self.order is None else self.order[rows], far=far)
        assert self.A is not None
        A = _memory(scratch, "rows", (len(rows), self.d), self.A.dtype)
        np.take(self.A, rows, axis=0, out=A, mode="clip")  # other modes make NumPy fill a copy first
        return replace(self, n=len(rows), A=A, u=self.u[rows], far=far)

    def strip(self, start: int, stop: int) -> Side:
        """A range of the rows, without a copy."""
        far = None if self.far is None else self.far.part(np.arange(start, stop))
        if self.csr is not None:
            order = np.arange(start, stop) if self.order is None else self.order[start:stop]
            return replace(self, n=stop - start, order=order, far=far)
        assert self.A is not None
        return replace(self, n=stop - start, A=self.A[start:stop], u=self.u[start:stop], far=far)

    def narrowed(self, columns: Array, form: Form) -> Side:
        """The same rows without columns in which they are equal, which does not change their distances."""
        assert self.A is not None
        A = np.ascontiguousarray(self.A[:, columns])
        terms = form.terms(np.einsum("ij,ij->i", A, A, dtype=np.float64))
        u = self.u if terms is None else terms.astype(A.dtype)
        return replace(self, d=len(columns), A=A, u=u)

    def panels(self, at: Array, form: Form, scratch: Scratch | None = None) -> Panels:
        """The rows ``at`` as packed columns."""
        dtype = self.u.dtype.type
        width = _native.panel_width(dtype)
        count = -(-len(at) // width)
        P = _memory(scratch, "columns", (count, self.d, width), dtype)
        v: Array = np.empty(count * width, dtype)
        own = None if form.kind in (_native.POWER, _native.TANH) and not form.norms else self.u
        if self.csr is not None:
            _native.pack_csr(self.csr, own, at, P, v)
        else:
            assert self.A is not None
            _native.pack_dense(self.A, own, at, P, v)
        return Panels(P, v, len(at), None if self.far is None else self.far.part(at))


def _memory(scratch: Scratch | None, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array to be filled: new, or of scratch memory."""
    array: Array = np.empty(shape, dtype) if scratch is None else scratch.take(name, shape, dtype)
    return array


def varying_columns(X: Points) -> Array | None:
    """The columns in which dense points differ; None if these are nearly all columns, or none."""
    if sp.issparse(X) or X.shape[0] == 0:
        return None
    constant = np.arange(X.shape[1])
    for start in range(0, X.shape[0], COMPARED_ROWS):
        constant = constant[(X[start : start + COMPARED_ROWS, constant] == X[0, constant]).all(axis=0)]
        if len(constant) < CONSTANT_MIN_SHARE * X.shape[1]:
            return None
    return np.setdiff1d(np.arange(X.shape[1]), constant) if len(constant) < X.shape[1] else None
