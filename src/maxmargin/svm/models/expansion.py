"""The fitted function, f(x) = sum_i c_i k(x_i, x) + b, over the support vectors only.

One pass of kernel values serves all models of a fit: with T models the coefficients are (n_support, T). Some
kernels need no support vectors. With x_i scaled so that gamma is one, and r = coef0,

    linear        f(x) = w'x + b,                                        w = sum_i c_i x_i
    degree 2      f(x) = x'Mx + 2 r m'x + r^2 s + b,                     M = sum_i c_i x_i x_i',  m = w,  s = sum_i c_i
    degree 3      f(x) = T(x, x, x) + 3 r x'Mx + 3 r^2 m'x + r^3 s + b,  T = sum_i c_i x_i (x) x_i (x) x_i

which is cheaper when there are many more support vectors than columns. Rows pass in strips, so memory is bounded
whatever their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import Kernel, Linear, Polynomial, Precomputed
from maxmargin.kernels.gram.operator import TILE_ROWS, kernel_product
from maxmargin.kernels.gram.sides import Form, Panels, Side, form_of, tileable
from maxmargin.kernels.gram.tiled import CHUNK_ROWS, store_tiles, tiled_product
from maxmargin.runtime.arrays import csr_arrays
from maxmargin.runtime.threads import effective_threads, run_strips, single_threaded_blas
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.models.multiclass import PairTable
from maxmargin.svm.models.terms import compiled_expansion, sparse_kernel_values

SIDE_MAX_ROWS = 4096  # rows that are brought into tile form at a time: 64 MB of float64 at 2,000 columns
COMPILED_MAX_PRODUCTS = 1e6  # multiplications up to which preparing tiles and threads costs more than the values
COMPILED_SPARSE_MAX_ROWS = 16  # CSR rows up to which a product by columns of the anchors costs less than tiles
LARGEST_ENTRY = 1e140  # of a row whose sums of squares cannot overflow
ROUGH_MIN_PRODUCTS = 2e8  # multiplications from which float32 with a check of doubtful rows is faster
KEEP_BYTES = 32e6  # packed support vectors up to this size are kept from one call to the next


def _dense(K: Points) -> Array:
    return K.toarray() if sp.issparse(K) else K


@dataclass(frozen=True)
class KernelExpansion:
    """A fitted function with T outputs."""

    kernel: Kernel  # the resolved kernel
    # shape (n_support, d), the support vectors; for a precomputed kernel, their indices in the
    # training set
    anchors: Points
    coefficients: Array  # shape (n_support, T)
    intercept: Array  # shape (T,)

    @classmethod
    def of_pairs(cls, kernel: Kernel, anchors: Points, dual: Array, counts: Array, intercept: Array) -> KernelExpansion:
        """One-vs-one over support vectors, class by class, with ``dual`` in LIBSVM's layout, as ``dual_coef_``, and
        ``counts`` anchors of each class.

        An anchor of class i has a coefficient against every other class only, k - 1 of the k (k - 1) / 2 columns. So
        values are products with ``dual``, class by class, and ``coefficients`` is filled when it is read."""
        expansion = object.__new__(cls)
        expansion.__dict__.update(
            kernel=kernel,
            anchors=anchors,
            intercept=intercept,
            _pairs=PairTable(dual, np.ascontiguousarray(counts, np.int64)),
        )
        return expansion

    def __getattr__(self, name: str) -> Any:
        if name == "coefficients" and self.__dict__.get("_pairs") is not None:
            self.__dict__["coefficients"] = self.__dict__["_pairs"].coefficients()
            return self.__dict__["coefficients"]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling: the function, without derived values."""
        if self.__dict__.get("_pairs") is not None:
            return {name: self.__dict__[name] for name in ("kernel", "anchors", "_pairs", "intercept")}
        return {name: self.__dict__[name] for name in ("kernel", "anchors", "coefficients", "intercept")}

    @property
    def weights(self) -> Array:
        """w of each binary model, for the linear kernel only; shape (T, d)."""
        return np.asarray(self.anchors.T.astype(np.float64) @ self.coefficients).T

    @property
    def absolute_sums(self) -> Array:
        """Sum of the absolute coefficients of each output: bounds the error that errors of kernel values make."""
        table = self.pair_table
        if table is None:
            return np.abs(self.coefficients).sum(axis=0)
        return PairTable(np.abs(table.dual), table.counts).product(np.ones((1, table.dual.shape[1])))[0]

    @property
    def pair_table(self) -> PairTable | None:
        """The coefficients as a table of pairs of classes, for one-vs-one; computed once, so that a loaded function
        has the same bits as the saved one."""
        if "_pairs" not in self.__dict__:
            self.__dict__["_pairs"] = PairTable.of_coefficients(self.coefficients)
        table: PairTable | None = self.__dict__["_pairs"]
        return table

    def _product(self, K: Array) -> Array:
        """K @ coefficients, for rows of kernel values with the anchors."""
        table = self.pair_table
        return K @ self.coefficients if table is None else table.product(K)

    @cached_property
    def _compiled(self) -> Any:
        """A compiled function for few rows; None if the kernel has none, or if it would be large."""
        anchors, outputs = self.anchors, len(self.intercept)
        if anchors.ndim != 2 or anchors.dtype == object or 0 in (*anchors.shape, outputs):
            return None
        kept = max(math.prod(anchors.shape), outputs * anchors.shape[1] if type(self.kernel) is Linear else 0)
        return compiled_expansion(self) if 8 * kept <= KEEP_BYTES else None

    @cached_property
    def _sparse_values(self) -> Any:
        """Compiled kernel values of sparse rows; None if the kernel has none, or if they would be large."""
        anchors = self.anchors
        if not sp.issparse(anchors) or anchors.nnz == 0 or 12 * anchors.nnz > KEEP_BYTES:
            return None
        return sparse_kernel_values(self.kernel, anchors)

    def decision_of_few(self, X: Points) -> Array | None:
        """f(x) of each of a few rows, by the compiled function; None for more rows, and for other kernels. CSR rows of
        few columns are converted to dense, so that their values have the same bits."""
        if X.shape[0] * float(math.prod(self.anchors.shape)) <= COMPILED_MAX_PRODUCTS and self._compiled is not None:
            values: Array = self._compiled.decision(np.ascontiguousarray(_dense(X), np.float64))
            return values
        if not sp.issparse(X) or X.shape[0] > COMPILED_SPARSE_MAX_ROWS or self._sparse_values is None:
            return None
        starts, columns, entries = csr_arrays(X)
        entries = entries.astype(np.float64, copy=False)
        if max(entries.max(initial=0.0), -entries.min(initial=0.0)) > LARGEST_ENTRY:
            return None
        K = np.empty((X.shape[0], self.anchors.shape[0]))
        self._sparse_values.store((starts, columns, entries), K)
        return self._product(K) + self.intercept

    def decision(self, X: Points, threads: int = 1) -> Array:
        """f(x) of each row, shape (n, T)."""
        few = self.decision_of_few(X)
        if few is not None:
            return few
        by_pairs = self.pair_table is not None
        if self.anchors.shape[0] == 0 or len(self.intercept) == 0:
            return np.tile(self.intercept, (X.shape[0], 1))
        if isinstance(self.kernel, Precomputed):
            return self._strips(X, lambda part: self._product(_dense(part[:, self.anchors])), TILE_ROWS)
        if isinstance(self.kernel, Linear) and not (by_pairs and self.anchors.shape[1] > self.anchors.shape[0]):
            right = self.weights.T
            return self._strips(X, lambda part: part @ right, TILE_ROWS)
        if self._explicit is not None:
            return self._strips(X, self._explicit, TILE_ROWS)
        if tileable(self.kernel, self.anchors):
            return self._tiled(X, np.float64, threads)
        if by_pairs:
            return self._row_tiles(X, lambda part: self._product(self.kernel.matrix(part, self.anchors)), threads)
        return kernel_product(self.kernel, X, self.anchors, self.coefficients, threads) + self.intercept

    def rough_decision(self, X: Points, n_jobs: int | None = None) -> tuple[Array, Array] | None:
        """f(x) from float32 kernel values, and a bound of each output's error; None if that would not be faster,
        or if float32 does not suffice."""
        work = X.shape[0] * float(self.anchors.shape[0]) * (X.shape[1] if X.ndim > 1 else 1)
        if work < ROUGH_MIN_PRODUCTS:
            return None
        form = form_of(self.kernel)
        if form is None or form.kind != _native.EXP2 or not tileable(self.kernel, self.anchors):
            return None
        longest = [0.0]
        values = self._tiled(X, np.float32, effective_threads(n_jobs), longest)
        if not (np.isfinite(values).all() and longest[0] < 1e6):
            return None
        # An exponent has an error of a few units in the last place of its largest part, a sum a few of its own.
        unit = 2.0**-24 * (32 + 4 * longest[0])
        return values, unit * self.absolute_sums

    def _row_tiles(self, X: Points, function: Any, threads: int) -> Array:
        """``function`` of tiles of rows, on several threads."""
        out = np.empty((X.shape[0], len(self.intercept)))

        def work(rows: slice) -> None:
            out[rows] = function(X[rows])

        with single_threaded_blas():
            run_strips(work, X.shape[0], TILE_ROWS, threads)
        return out + self.intercept

    def _strips(self, X: Points, function: Any, size: int) -> Array:
        out = np.empty((X.shape[0], len(self.intercept)))
        with single_threaded_blas():
            for start in range(0, X.shape[0], size):
                part = X[start : start + size]
                if not sp.issparse(part):
                    part = part.astype(np.float64, copy=False)
                out[start : start + size] = function(part)
        return out + self.intercept

    def _side(self, X: Points, dtype: type) -> Side:
        """Points as rows of tiles; a kernel that shifts its points, or adds up their differences, takes them dense."""
        form, shift = form_of(self.kernel), getattr(self.kernel, "shift_", None)
        assert form is not None
        dense = sp.issparse(X) and (shift is not None or form.dense_only)
        return Side.of(X.toarray() if dense else X, form, shift, dtype)

    def _panels(self, dtype: type) -> Panels:
        """The support vectors as columns of tiles, kept if they are small."""
        kept = self.__dict__.setdefault("_kept", {})
        if dtype in kept:
            return kept[dtype]
        form = form_of(self.kernel)
        assert form is not None
        panels = self._side(self.anchors, dtype).panels(np.arange(self.anchors.shape[0]), form)
        if panels.P.nbytes <= KEEP_BYTES:
            kept[dtype] = panels
        return panels

    def _tiled(self, X: Points, dtype: type, threads: int, longest: list[float] | None = None) -> Array:
        form = form_of(self.kernel)
        assert form is not None
        panels = self._panels(dtype)
        if longest is not None:
            longest[0] = float(-2.0 * panels.v[: panels.n].min(initial=0.0))
        table = self.pair_table
        out = np.empty((X.shape[0], len(self.intercept)))
        for start in range(0, X.shape[0], SIDE_MAX_ROWS):
            side = self._side(X[start : start + SIDE_MAX_ROWS], dtype)
            if longest is not None:
                longest[0] = max(longest[0], side.longest)
            part = out[start : start + SIDE_MAX_ROWS]
            if table is not None:
                self._pairs_of_side(side, panels, form, table, part, threads)
                continue
            coefficients = self.coefficients if self.coefficients.shape[1] > 1 else self.coefficients[:, 0]
            values = tiled_product(side, panels, coefficients, form, threads)
            part[:] = values if values.ndim > 1 else values[:, None]
        return out + self.intercept

    def _pairs_of_side(
        self, side: Side, panels: Panels, form: Form, table: PairTable, out: Array, threads: int
    ) -> None:
        """Kernel values of a chunk of rows, then a product per class, chunk by chunk."""

        def work(rows: slice) -> None:
            values = np.empty((rows.stop - rows.start, panels.n), panels.v.dtype)
            store_tiles(side.strip(rows.start, rows.stop), panels, form, values, 1)
            out[rows] = table.product(values)

        with single_threaded_blas():
            run_strips(work, side.n, CHUNK_ROWS, threads)

    @cached_property
    def _explicit(self) -> Any:
        """The polynomial in monomials, as a function of dense rows, if that is cheaper."""
        kernel = self.kernel
        if type(kernel) is not Polynomial or kernel.degree not in (2, 3) or sp.issparse(self.anchors):
            return None
        (n, d), outputs, degree = self.anchors.shape, len(self.intercept), int(kernel.degree)
        if outputs * d ** (degree - 1) > n / 2 or outputs * d**degree > 1e6:
            return None
        root, r = math.sqrt(float(kernel.gamma)), float(kernel.coef0)
        Z = root * self.anchors.astype(np.float64)
        s, m = self.coefficients.sum(axis=0), Z.T @ self.coefficients
        M = np.stack([(Z * c[:, None]).T @ Z for c in self.coefficients.T])
        if degree == 3:
            T = np.stack(
                [(Z * c[:, None]).T @ (Z[:, :, None] * Z[:, None, :]).reshape(n, -1) for c in self.coefficients.T]
            )

        def evaluate(X: Points) -> Array:
            X = root * (X.toarray().astype(np.float64, copy=False) if sp.issparse(X) else X)
            quadratic = np.stack([np.einsum("ij,ij->i", X @ Q, X) for Q in M], axis=1)
            if degree == 2:
                return quadratic + 2 * r * (X @ m) + r * r * s
            pairs = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
            cubic = np.stack([np.einsum("ij,ij->i", X @ C, pairs) for C in T], axis=1)
            return cubic + 3 * r * quadratic + 3 * r * r * (X @ m) + r**3 * s

        return evaluate
