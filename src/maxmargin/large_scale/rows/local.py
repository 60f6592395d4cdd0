"""The row oracle over rows of this process: sums over tiles, on several threads.

F is float64, whatever K is. Sums are formed in parts that depend on the shape of K only, so they have the same bits for
any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.large_scale.rows.oracle import Sums
from maxmargin.large_scale.rows.targets import Targets
from maxmargin.large_scale.rows.tiles import RowTiles, row_ordered
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import Hinge
from maxmargin.runtime.threads import Scratch, Stop, halt_on, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

SUM_CHUNKS, LARGE_SUM_CHUNKS = 16, 4  # parts in which sums over rows are formed
LARGE_SUM_ENTRIES = 2**21  # from which there are few parts: each has its own array
KEEP_MAX_SHARE = 0.7  # of rows with curvature, up to which the others are left out


class LocalOracle:
    """:class:`~maxmargin.large_scale.rows.oracle.RowOracle` over rows of this process; it can be pickled.

    targets: as many as there are rows
    stop: called before every tile; anything but None ends the pass with :class:`Halted`
    stride: only every stride-th tile takes part
    passes: passes over K so far, in parts of all rows
    """

    strides: tuple[int, ...] = (16, 4)

    def __init__(
        self, rows: RowTiles, targets: Targets, threads: int = 1, stop: Stop | None = None, *, stride: int = 1
    ) -> None:
        self.rows, self.targets, self.threads, self.stop, self.stride = rows, targets, threads, stop, stride
        h = rows.height
        self.tiles = [slice(s, min(s + h, rows.n)) for s in range(0, rows.n, h * stride)]
        self.places = np.concatenate(([0], np.cumsum([t.stop - t.start for t in self.tiles]))).astype(np.int64)
        self.n, self.columns, self.outputs = int(self.places[-1]), rows.columns, targets.outputs
        self.weight_factor = rows.n / max(1, self.n)
        self.loss = SmoothedLoss(Hinge())
        self.passes = 0.0
        self.F = np.zeros((self.n, self.outputs))
        self.G: Array | None = None
        self.centre: Array | None = None
        self.D: Array | None = None
        self.scratch = Scratch()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stop": None, "scratch": None, "D": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, scratch=Scratch())

    # ---- tiles

    def _place(self, t: int) -> slice:
        """Where the rows of tile t are in F."""
        return slice(int(self.places[t]), int(self.places[t + 1]))

    def _targets(self, t: int) -> tuple[Array, Array, Array | None]:
        """Targets, weights and centres of tile t."""
        y, c = self.targets.tile(self.tiles[t])
        centre = None if self.centre is None else self.centre[self._place(t)]
        return y, c if self.stride == 1 else c * self.weight_factor, centre

    def _summed(self, work: Callable[..., None], *shapes: tuple[int, ...], kernel: bool = True) -> list[Array]:
        """The sums, of these shapes, of what ``work(t, *sums)`` adds for every tile."""
        large = sum(int(np.prod(shape)) for shape in shapes) > LARGE_SUM_ENTRIES
        count = len(self.tiles)
        chunks = max(1, min(LARGE_SUM_CHUNKS if large else SUM_CHUNKS, count))
        parts = [np.zeros((chunks, *shape)) for shape in shapes]

        def one(chunk: int) -> None:
            for t in range(chunk * count // chunks, (chunk + 1) * count // chunks):
                halt_on(self.stop)
                work(t, *(part[chunk] for part in parts))

        with single_threaded_blas():
            run_tiles(one, chunks, self.threads)
        if kernel:
            self.passes += self.n / max(1, self.rows.n)
        return [part[0] if chunks == 1 else part.sum(axis=0) for part in parts]

    def _double(self, K: Points) -> Points:
        """A tile in double precision."""
        if sp.issparse(K) or K.dtype == np.float64:
            return K
        out = self.scratch.take("double", K.shape, np.float64)
        out[...] = K
        return out

    def _scaled(self, K: Points, factors: Array) -> Array:
        """The rows of a tile, dense, each times its factor."""
        if sp.issparse(K):
            return np.asarray(K.multiply(factors).toarray())
        out: Array = self.scratch.take("scaled", K.shape, K.dtype.type)
        return np.multiply(K, factors, out=out)

    # ---- first derivatives

    def evaluate(self, B: Array | None, b: Array | None, loss: SmoothedLoss, *, sides: bool = False) -> Sums:
        self.loss, self.D = loss, None
        k, parts = self.outputs, 2 if sides else 1

        def work(t: int, sums: Array, gradient: Array, support: Array) -> None:
            K, at = self.rows.tile(self.tiles[t], None, self.scratch), self._place(t)
            y, c, centre = self._targets(t)
            g = self.scratch.take("g", (parts, len(y), k), np.float64)
            if k == 1 and isinstance(K, np.ndarray):
                coefficients = None if B is None else np.require(B[:, 0], np.float64, ["C", "A"])
                intercept = 0.0 if b is None else float(b[0])
                flat = gradient.reshape(parts, -1)
                support[0] += _native.evaluate_rows(
                    row_ordered(K), coefficients, intercept, loss.native, self.F[at], y, c, centre, g[0], sums, flat
                )
                return
            K = self._double(K)
            if B is not None:
                self.F[at] = K @ B + b
            support[0] += _native.loss_first_order(loss.native, self.F[at], y, c, centre, g[0], sums)
            if sides:
                np.minimum(g[0], 0.0, out=g[1])
                np.maximum(g[0], 0.0, out=g[0])
            for side in range(parts):
                gradient[side] += K.T @ g[side]

        sums, gradient, support = self._summed(work, (_native.LOSS_SUMS, k), (parts, self.columns, k), (1,))
        return Sums.of(sums, gradient, int(support[0]))

    # ---- second derivatives

    def _second_derivatives(self) -> Array:
        """D of all rows, computed once for each F."""
        if self.D is None:
            D = np.empty((self.n, self.outputs))

            def work(t: int) -> None:
                (y, c, centre), at = self._targets(t), self._place(t)
                _native.loss_second_order(self.loss.native, self.F[at], y, c, centre, D[at])

            self._summed(work, kernel=False)
            self.D = D
        return self.D

    def _curvatures(self, t: int, D: Array, only: Array | None) -> tuple[Array, Array | None]:
        """D of a tile's rows that have any, and which those are (None for all)."""
        part = D[self._place(t)] if only is None else D[self._place(t)][:, only]
        used: Array = np.asarray(part.any(axis=1) if part.shape[1] > 1 else part[:, 0])
        if np.count_nonzero(used) > KEEP_MAX_SHARE * len(used):
            return part, None
        keep = np.flatnonzero(used)
        return part[keep], keep

    def curvature_times(self, P: Array, p: Array, only: Array | None = None) -> tuple[Array, Array]:
        P = np.asarray(P, dtype=self.rows.dtype)
        p = np.asarray(p, dtype=self.rows.dtype)
        every = self._second_derivatives()

        def work(t: int, product: Array, total: Array) -> None:
            D, keep = self._curvatures(t, every, only)
            if keep is not None and len(keep) == 0:
                return
            K = self.rows.tile(self.tiles[t], keep, self.scratch)
            V = K @ P
            V += p
            V *= D
            product += K.T @ V
            total += V.sum(axis=0, dtype=np.float64)

        product, total = self._summed(work, P.shape, p.shape)
        return product, total

    def curvature(self, outputs: Sequence[int], T: Array | None = None) -> Array:
        return np.stack([self._matrix(int(output), T) for output in outputs])

    def _matrix(self, output: int, T: Array | None = None) -> Array:
        """The second derivatives of one output."""
        r, only = self.columns if T is None else T.shape[1], np.array([output])
        right, every = None if T is None else T.astype(self.rows.dtype), self._second_derivatives()

        def work(t: int, square: Array, border: Array) -> None:
            D, keep = self._curvatures(t, every, only)
            K = self.rows.tile(self.tiles[t], keep, self.scratch)
            root = np.sqrt(D).astype(K.dtype)
            if right is not None:
                K = K @ right
            scaled = self._scaled(K, root)
            square += scaled.T @ scaled  # one array twice: BLAS's symmetric product
            border[:r] += scaled.T @ root[:, 0]
            border[r] += D.sum()

        return self._bordered(work, r)

    def _bordered(self, work: Callable[..., None], r: int) -> Array:
        """The symmetric matrix of what ``work(t, square, border)`` adds: r x r, with one more row and column."""
        square, border = self._summed(work, (r, r), (r + 1,))
        H = np.empty((r + 1, r + 1))
        H[:r, :r] = square
        H[r] = H[:, r] = border
        return H

    def curvature_diagonal(self) -> Array:
        every = self._second_derivatives()

        def work(t: int, squares: Array) -> None:
            D, keep = self._curvatures(t, every, None)
            K = self._double(self.rows.tile(self.tiles[t], keep, self.scratch))
            squares[:-1] += (K.multiply(K) if sp.issparse(K) else K * K).T @ D
            squares[-1] += D.sum(axis=0)

        (squares,) = self._summed(work, (self.columns + 1, self.outputs))
        return squares

    def _sampled(self, count: int) -> Array:
        """Places in F of the rows of a sample."""
        if count >= self.n:
            return np.arange(self.n)
        return np.sort(np.random.default_rng(0).choice(self.n, count, replace=False, shuffle=False))

    def _inputs(self, places: Array) -> Array:
        """The rows that these places in F belong to."""
        t = np.searchsorted(self.places, places, side="right") - 1
        return np.array([tile.start for tile in self.tiles])[t] + places - self.places[t]

    def sample(self, count: int) -> tuple[Array, Array, Array]:
        at = self._inputs(self._sampled(count))
        y, c = self.targets.tile(at)
        return self.rows.picked(at), y, c * (self.rows.n / len(at))

    # ---- along a direction

    def direction(self, P: Array, p: Array, only: Array | None = None) -> None:
        P, p = np.asarray(P, dtype=self.rows.dtype), np.asarray(p)
        self.G = np.zeros_like(self.F) if self.G is None else self.G
        G = self.G
        if only is not None:
            G[:] = 0.0

        def work(t: int) -> None:
            V = self.rows.tile(self.tiles[t], None, self.scratch) @ P + p
            G[self._place(t), slice(None) if only is None else only] = V

        self._summed(work)

    def along(self, steps: Array, loss: SmoothedLoss) -> tuple[Array, Array]:
        assert self.G is not None
        G, steps = self.G, np.require(steps, np.float64, ["C", "A"])

        def work(t: int, values: Array, slopes: Array) -> None:
            y, c, centre = self._targets(t)
            at = self._place(t)
            _native.loss_along_line(loss.native, self.F[at], G[at], y, c, centre, steps, values, slopes)

        values, slopes = self._summed(work, steps.shape, steps.shape, kernel=False)
        return values, slopes

    def recentre(self) -> None:
        if self.loss.squared:
            return
        centre = np.empty_like(self.F)

        def work(t: int) -> None:
            y, _, before = self._targets(t)
            _native.loss_multipliers(self.loss.native, self.F[self._place(t)], y, before, centre[self._place(t)])

        self._summed(work, kernel=False)
        self.centre, self.D = centre, None

    def training_error(self) -> tuple[float, int]:
        places = [self._place(t) for t in range(len(self.tiles))]
        missed = sum(self.targets.error(tile, self.F[at]) for tile, at in zip(self.tiles, places, strict=True))
        return missed, self.n

    def part(self, stride: int) -> LocalOracle:
        return LocalOracle(self.rows, self.targets, threads=self.threads, stop=self.stop, stride=self.stride * stride)
