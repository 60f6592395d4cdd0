"""Which operator computes the kernel values of some points."""

from __future__ import annotations

import numpy as np

from maxmargin.kernels import Kernel, Linear
from maxmargin.kernels.gram.kept_rows import KeptRows, keeps_rows
from maxmargin.kernels.gram.local import without_zeros
from maxmargin.kernels.gram.matrices import composed, kernel_matrix
from maxmargin.kernels.gram.operator import Gram, KernelGram, StoredGram
from maxmargin.kernels.gram.sides import Side, form_of, tileable
from maxmargin.kernels.gram.tiled import TiledGram, padded_slots, store_tiles
from maxmargin.runtime.threads import Stop
from maxmargin.runtime.validation import Points

STORED_MAX_ROWS = 1024  # up to so many rows all of K is stored
STORED_PAIRS_MAX_ROWS = 512  # the same where pairs of classes could share blocks of values instead


def make_gram(
    kernel: Kernel, X: Points, *, threads: int = 1, budget: float = 0.0, pairs: bool = False, stop: Stop | None = None
) -> Gram:
    """The operator for these points. A few points, or points whose kernel has no tile form, have all of K stored if it
    fits into ``budget`` bytes; otherwise values are computed on demand, in tiles if there is a form, and else by rows
    that are kept as far as they fit. ``pairs`` says that pairs of classes will be solved, which share blocks of values
    instead; ``stop`` is called while many rows are copied, and may end it."""
    small = X.shape[0] <= (STORED_PAIRS_MAX_ROWS if pairs else STORED_MAX_ROWS)
    fits = 8.0 * X.shape[0] ** 2 <= budget
    linear = X if type(kernel) is Linear else None
    form = form_of(kernel) if tileable(kernel, X) else None
    if form is not None and small and fits:
        side = Side.of(X, form, getattr(kernel, "shift_", None), np.float64)
        n, panels = side.n, side.panels(np.arange(side.n), form)
        out = np.empty((n, padded_slots(n) + 16))  # a stride that is no power of two
        out[:, n:] = 0.0
        store_tiles(side, panels, form, out, threads)
        return StoredGram(out[:n, :n], evaluations=n * n, around=out, linear=linear)
    if form is not None:
        tiled = TiledGram(kernel, X, threads, stop)
        return tiled if pairs else without_zeros(tiled)
    if not fits:
        gram = KernelGram(kernel, X, threads)
        return KeptRows(gram) if linear is None and keeps_rows(gram, budget) else gram
    if composed(kernel) and 2 * 8.0 * X.shape[0] ** 2 > budget:  # no room for the parts of a sum
        every = np.arange(X.shape[0])
        K = KernelGram(kernel, X, threads).block(every, every)
    else:
        K = kernel_matrix(kernel, X, threads)
    return StoredGram(K, evaluations=K.size, linear=linear)
