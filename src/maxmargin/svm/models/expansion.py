"""The fitted function, f(x) = sum_i c_i k(x_i, x) + b, over the support vectors only.

One pass of kernel values serves all machines of a fit: with T machines the coefficients are (n_support, T). Some
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
from maxmargin.kernels.gram.tiled import Panels, Side, form_of, tileable, tiled_product
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, Points

STRIP = 4096  # rows that are brought into tile form at a time
KEEP_BYTES = 32e6  # packed support vectors up to this size are kept from one call to the next


@dataclass(frozen=True)
class KernelExpansion:
    """A fitted function with T outputs.

    Attributes
    ----------
    kernel : Kernel
        The resolved kernel.
    anchors : array or CSR matrix of shape (n_support, d)
        The support vectors; for a precomputed kernel, their indices in the training set.
    coefficients : array of shape (n_support, T)
    intercept : array of shape (T,)
    """

    kernel: Kernel
    anchors: Points
    coefficients: Array
    intercept: Array

    def __getstate__(self) -> dict[str, Any]:
        """What is kept in a pickle: the function, without what can be computed from it."""
        return {name: self.__dict__[name] for name in ("kernel", "anchors", "coefficients", "intercept")}

    @property
    def weights(self) -> Array:
        """w of each machine, for the linear kernel only; shape (T, d)."""
        return np.asarray(self.anchors.T.astype(np.float64) @ self.coefficients).T

    def decision(self, X: Points, threads: int = 1) -> Array:
        """f(x) of each row, shape (n, T)."""
        if len(self.coefficients) == 0:
            return np.tile(self.intercept, (X.shape[0], 1))
        if isinstance(self.kernel, Precomputed):
            return self._strips(X, lambda part: part[:, self.anchors] @ self.coefficients, TILE_ROWS)
        if isinstance(self.kernel, Linear):
            right = self.weights.T
            return self._strips(X, lambda part: part @ right, TILE_ROWS)
        if self._explicit is not None:
            return self._strips(X, self._explicit, TILE_ROWS)
        if not tileable(self.kernel, self.anchors):
            return kernel_product(self.kernel, X, self.anchors, self.coefficients, threads) + self.intercept
        return self._tiled(X, np.float64, threads)

    def rough_decision(self, X: Points, threads: int = 1) -> tuple[Array, Array] | None:
        """f(x) from float32 kernel values, and a bound of each output's error; None where that would not be faster,
        or where float32 does not suffice."""
        form = form_of(self.kernel)
        if form is None or form.kind != _native.EXP2 or not tileable(self.kernel, self.anchors):
            return None
        work = X.shape[0] * float(self.anchors.shape[0]) * X.shape[1]
        if work < 2e8:
            return None
        longest = [0.0]
        values = self._tiled(X, np.float32, threads, longest)
        if not (np.isfinite(values).all() and longest[0] < 1e6):
            return None
        # A value's exponent errs by a few units in the last place of its largest part, a sum by a few of its own.
        unit = 2.0**-24 * (32 + 4 * longest[0])
        return values, unit * np.abs(self.coefficients).sum(axis=0)

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
        dense = sp.issparse(X) and (shift is not None or form.kind == _native.DECAY)
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
        coefficients = self.coefficients if self.coefficients.shape[1] > 1 else self.coefficients[:, 0]
        out = np.empty((X.shape[0], len(self.intercept)))
        for start in range(0, X.shape[0], STRIP):
            side = self._side(X[start : start + STRIP], dtype)
            if longest is not None:
                longest[0] = max(longest[0], side.longest)
            values = tiled_product(side, panels, coefficients, form, threads)
            out[start : start + STRIP] = values if values.ndim > 1 else values[:, None]
        return out + self.intercept

    @cached_property
    def _explicit(self) -> Any:
        """The polynomial with its coefficients written out, as a function of dense rows, where that is cheaper."""
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
            X = root * (X.toarray() if sp.issparse(X) else X)
            quadratic = np.stack([np.einsum("ij,ij->i", X @ Q, X) for Q in M], axis=1)
            if degree == 2:
                return quadratic + 2 * r * (X @ m) + r * r * s
            pairs = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
            cubic = np.stack([np.einsum("ij,ij->i", X @ C, pairs) for C in T], axis=1)
            return cubic + 3 * r * quadratic + 3 * r * r * (X @ m) + r**3 * s

        return evaluate
