"""The row oracle: what Newton's method computes over the rows, from small arrays to sums over all rows.

The model has k outputs f = K B + b, with K of shape (n, m), B (m, k) and b (k,). The oracle keeps all arrays with
one entry per row: the decision values F of the last :meth:`RowOracle.evaluate`, and their change G along a
direction. So one solver serves rows in memory, rows recomputed in each pass, and rows on many computers, where each
holds a part and the sums are added.

    evaluate          F = K B + b;  sum L, K'g, sum g, ...     g = first derivatives of the weighted losses at F
    curvature_times   K'D(K P + p)                             D = second derivatives
    curvature         [K T, 1]'D[K T, 1] of some outputs
    curvature_diagonal the diagonals of these matrices, for all outputs
    direction         G = K P + p
    along             sums at F + t G                          no pass over K
    recentre          multipliers at F become centres of the rounded hinges (see ``smoothed_loss``)

First derivatives and their sums are float64, whatever K is. Second derivatives only choose the direction: products with
them may be float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class Sums:
    """Sums over the rows at F; the first of two sides are the rows with g > 0, the second those with g < 0."""

    # loss, smooth: (k,); of the true losses, and of the rounded ones, with their weights
    loss: Array
    smooth: Array
    gradient: Array  # (sides, m, k); K'g of each side; one side, that of all rows, without ``sides``
    # slope, linear, quadratic: (2, k); sum g, and the two parts of the conjugates: with g scaled by t they are t *
    # linear + t^2 * quadratic
    slope: Array
    linear: Array
    quadratic: Array
    # weight, curvature: (k,); of the weights, and of the second derivatives
    weight: Array
    curvature: Array
    support: int  # rows with a first derivative in any output

    @classmethod
    def of(cls, lines: Array, gradient: Array, support: int) -> Sums:
        """From the lines that ``_native.loss_first_order`` adds up."""
        loss, smooth, *sides, weight, curvature = lines
        up, down = sides[:3], sides[3:]
        slope, linear, quadratic = (np.stack(pair) for pair in zip(up, down, strict=True))
        return cls(loss, smooth, gradient, slope, linear, quadratic, weight, curvature, support)

    @classmethod
    def added(cls, parts: Iterable[Sums]) -> Sums:
        """The sums over several sets of rows, added in their order."""
        listed = list(parts)
        return cls(**{name.name: sum(getattr(part, name.name) for part in listed) for name in fields(cls)})


class RowOracle(Protocol):
    """The rows of a problem with k outputs, as a solver sees them.

    ``only`` names the outputs that the columns of P belong to, where they are not all. D and g are those of the loss of
    the last :meth:`evaluate`."""

    n: int  # rows
    columns: int  # m
    outputs: int  # k
    passes: float  # over K so far, in parts of all rows
    threads: int  # or workers of a cluster
    strides: tuple[int, ...]  # of the parts on which a large problem is solved first, in this order (``part``)

    def evaluate(self, B: Array | None, b: Array | None, loss: SmoothedLoss, *, sides: bool = False) -> Sums:
        """F = K B + b, and the sums there; with None for both, F stays as it is."""
        ...

    def curvature_times(self, P: Array, p: Array, only: Array | None = None) -> tuple[Array, Array]:
        """K'D(K P + p) of shape (m, k), and the sums of D(K P + p), (k,)."""
        ...

    def curvature(self, outputs: Sequence[int], T: Array | None = None) -> Array:
        """The symmetric matrices sum_i D_i (T'k_i, 1)(T'k_i, 1)' of these outputs, float64 of shape
        (outputs, r + 1, r + 1); k_i itself without T. Applied afterwards, T would blow up the rounding of the sums."""
        ...

    def curvature_diagonal(self) -> Array:
        """The sums of D_i k_ij^2, and of D_i in the last row, of all outputs: (m + 1, k)."""
        ...

    def sample(self, count: int) -> tuple[Array, Array, Array]:
        """K (count, m), targets and weights (count, k) of a random sample of the rows, always the same one, or of all
        rows if there are fewer. Weights are raised so that sums over the sample estimate those over all rows."""
        ...

    def direction(self, P: Array, p: Array, only: Array | None = None) -> None:
        """G = K P + p; 0 for other outputs."""
        ...

    def along(self, steps: Array, loss: SmoothedLoss) -> tuple[Array, Array]:
        """The sums of the rounded losses at F + t G and their derivatives with respect to t, both (q, k), for t in
        ``steps`` (q, k)."""
        ...

    def recentre(self) -> None:
        """The multipliers at F become the centres of the rounded hinges; before that all centres are 1/2."""
        ...

    def training_error(self) -> tuple[float, int]:
        """The number of misclassified rows, or the sum of squared errors, and the number of rows."""
        ...

    def part(self, stride: int) -> RowOracle:
        """The problem of a part of the rows, about n / stride spread over all, their weights raised in proportion."""
        ...
