"""Learning from a stream: every row is used once, in order, and not stored.

Rows (x_t, y_t) of weight omega_t, t = 1, 2, ..., arrive one by one. With n the rows that C counts (the sum of
their weights), the problem of :mod:`maxmargin.problems.primal` divided by C n is a mean over rows,

    lambda/2 |w|^2 + mean_t of r_t loss(y_t (w'x_t + b)),     lambda = 1 / (C n),     r_t = c_t omega_t / mean omega,

c_t being the weight of the row's class, and a row is a sample of it: the setting of Pegasos (Shalev-Shwartz, Singer,
Srebro & Cotter 2011). n is given, or grows with the stream; then the goal after t rows is the model of these t rows.

A step. Both terms are stepped implicitly (Kulis & Bartlett 2010), w <- argmin_v term(v) + |v - w|^2 / 2 eta: first
w <- w / (1 + eta lambda), then w <- w + alpha eta y x and b <- b + alpha eta_b kappa^2 y, with xi = 1 - y (w'x + b) > 0
and

    hinge            alpha = min(r, xi / (eta |x|^2 + eta_b kappa^2)),
    squared hinge    alpha = xi / (eta |x|^2 + eta_b kappa^2 + 1 / 2r).

However badly the rows are scaled, no step overshoots the margin of its row; the projection of Pegasos, which serves
this purpose, is not needed. A free intercept is a column of size kappa that does not shrink, kappa^2 being a typical
square of the non-zero entries so far, so that its steps are like those of the others; a penalised one is a
column of size kappa = s that does.

The length of a step is that of Pegasos, 1 / (lambda t), once this is the shorter one; before, it is limited by the
typical |x|^2 so far and by the 1/sqrt(t) of functions that are hardly curved:

    eta_t = 1 / (lambda t + g_t),     g_t = h c (|x|^2 + kappa^2) sqrt(1 + t / 100),

c being the mean of c_t so far, and h = 1, or 2 for the squared hinge, which is curved that much. A free intercept has
no lambda, which would stop it too early: eta_b = 1 / g_t. A penalised one has eta_b = eta.

Typical is the geometric mean over rows (of |x|^2, and of |x|^2 over the number of entries), since a few long rows, such
as a book among letters, would make every step of an arithmetic one too short.

The result is the average of the iterates with weights t^3: polynomial-decay averaging (Shamir & Zhang 2013), which
forgets the start and needs no length of the stream beforehand. It is formed lazily. With w = s u, the shrinking costs
one product; with T = sum_t t^3 s_t, a change of u at some T counts for what T gains afterwards, so
sum_t t^3 w_t = T u - z where z += T du.

Several classes are one model each against the rest, columns of one U and one Z, and one visit of a row serves all. A
new class starts, up to rounding, with the model that it would have if it had been announced: one for which all earlier
rows were negative. With a free intercept that is w = 0, b = -1, which has no loss: the first row of a stream sets b
to +1 for its own class and to -1 for the others. With another intercept one more column learns it from the rows. The
models of two classes are opposite, and only the second is kept.

The state advances row by row. How rows are cut into batches changes nothing, not even the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.problems.design import linear_rows
from maxmargin.runtime.control import Control, print_note
from maxmargin.runtime.history import History
from maxmargin.runtime.threads import Stop
from maxmargin.runtime.validation import Array, Points, check_number
from maxmargin.svm.streaming.batches import opened
from maxmargin.svm.streaming.report import Estimate

CALL_MAX_ENTRIES = 2_000_000  # of X times models that one call reads: some hundredths of a second
# the sums over the rows so far, in the order of native/stream
SUMS = np.dtype(
    [
        ("rows", "f8"),
        ("size", "f8"),  # n
        ("grows", "f8"),  # whether it does
        ("weight", "f8"),  # of the rows
        ("class_weight", "f8"),  # the same times that of their classes
        ("scale", "f8"),  # s
        ("scaled_cubes", "f8"),  # T = sum_t t^3 s_t
        ("cubes", "f8"),  # sum_t t^3
        ("log_squares", "f8"),  # of |x|^2
        ("log_entries", "f8"),  # of the number of entries
        ("measured", "f8"),  # rows that have any
    ]
)
HELD_OUT_MAX_BYTES = 256_000_000  # bytes of held-out batches after which no more are held out
REPORT_SECONDS = 5.0  # seconds between two lines of verbose=True inside an epoch


@dataclass(frozen=True)
class Stream:
    """The state of a stream; the arrays change with each row.

    U, Z: (n_features + 1, n_models); u and z of every model; the last row is that of the intercept. Two classes have
        one model, more one each; if new classes may occur and the intercept is not free, there is one more for them.
    totals: (n_classes,); weight of each class so far
    numbers: (11,); the entries of ``SUMS``; :attr:`sums` has them by name
    is_open: whether new classes may occur
    intercept: {"free", "penalised", "none"}
    scaling: s of a penalised intercept
    """

    U: Array
    Z: Array
    totals: Array
    numbers: Array
    is_open: bool = False
    intercept: str = "free"
    scaling: float = 1.0

    @classmethod
    def empty(
        cls,
        n_features: int,
        n_classes: int,
        *,
        is_open: bool = False,
        intercept: str = "free",
        scaling: float = 1.0,
        size: float | None = None,
    ) -> Stream:
        """Nothing learnt yet; ``size`` is n, None where it grows."""
        columns = cls.n_problems(n_classes, is_open, intercept)
        U = np.zeros((n_features + 1, columns))
        numbers = np.zeros(SUMS.itemsize // 8)
        stream = cls(U, np.zeros_like(U), np.zeros(n_classes), numbers, is_open, intercept, scaling)
        stream.sums["scale"] = 1.0
        stream.set_size(size)
        return stream

    @classmethod
    def after(
        cls,
        coef: Array,
        intercept: Array,
        totals: Array,
        class_weight: Array,
        *,
        kind: str = "free",
        scaling: float = 1.0,
    ) -> Stream:
        """As if so many rows of the classes had been learnt, and the iterates had been this model all along."""
        stream = cls.empty(coef.shape[1], len(totals), intercept=kind, scaling=scaling)
        stream.U[:-1], stream.U[-1] = coef.T, intercept
        stream.totals[:] = totals
        rows, sums = totals.sum(), stream.sums
        sums["rows"] = sums["size"] = sums["weight"] = rows
        sums["class_weight"] = totals @ class_weight
        sums["scaled_cubes"] = sums["cubes"] = (rows * (rows + 1) / 2) ** 2
        return stream

    @staticmethod
    def n_problems(n_classes: int, is_open: bool, intercept: str) -> int:
        """Columns of U and Z; a single class has only that of new classes."""
        unmet = is_open and intercept != "free" and n_classes > 1
        return (1 if n_classes <= 2 else n_classes) + unmet

    @property
    def sums(self) -> Any:
        """``numbers`` by name; what is assigned to them is kept there."""
        return self.numbers.view(SUMS)[0]

    @property
    def n_features(self) -> int:
        return len(self.U) - 1

    @property
    def t(self) -> int:
        """Rows learnt, those without weight apart."""
        return int(self.sums["rows"])

    @property
    def size(self) -> float:
        """n."""
        return float(self.sums["size"])

    @property
    def weight(self) -> float:
        """Weight of the rows learnt."""
        return float(self.sums["weight"])

    def set_size(self, size: float | None) -> None:
        """Fix n; None: it grows with the rows from here on."""
        self.sums["grows"] = float(size is None)
        if size is not None:
            self.sums["size"] = size

    def _per_class(self, array: Array) -> Array:
        """The columns of U or Z, one per class; two classes have opposite models."""
        k = len(self.totals)
        return np.column_stack((-array[:, 0], array[:, 0]))[:, -k:] if k == 2 else array[:, :k] * (-1 if k == 1 else 1)

    def with_class(self, at: int) -> Stream:
        """With one more class, at this place among the others; only if new classes may occur."""
        k, arrays = len(self.totals), []
        for array, b in ((self.U, -1.0), (self.Z, 0.0)):
            unmet = array[:, -1:]
            if self.intercept == "free":  # no row has moved it since the first one
                unmet = np.zeros((len(array), 1))
                unmet[-1] = b * (self.t > 0)
            models = np.insert(self._per_class(array), [at], unmet, axis=1)
            models = models[:, 1:] if k == 1 else models
            arrays.append(models if self.intercept == "free" else np.column_stack((models, unmet)))
        U, Z = map(np.ascontiguousarray, arrays)
        return replace(self, U=U, Z=Z, totals=np.insert(self.totals, at, 0.0))

    def closed(self) -> Stream:
        """With the classes known now, and no others to come."""
        k = len(self.totals)
        U, Z = (np.ascontiguousarray(array[:, : 1 if k == 2 else k]) for array in (self.U, self.Z))
        return replace(self, U=U, Z=Z, is_open=False)

    def learn(
        self,
        X: Points,
        codes: Array,
        weights: Array,
        *,
        C: float,
        squared: bool = True,
        class_weight: Array | None = None,
        balanced: bool = False,
        stop: Stop | None = None,
    ) -> None:
        """Learn from rows, in their order. X is used as it is, float32 or float64; ``balanced`` weighs the classes by
        their frequencies so far; ``stop`` is called between strips of rows, and anything but None ends the learning
        there."""
        sparse, models = sp.issparse(X), self.U.shape[1]
        rows, codes = linear_rows(X), np.ascontiguousarray(codes, np.int64)
        factor = np.ones(len(self.totals)) if class_weight is None else class_weight.astype(np.float64)
        kept = self._native(factor)
        kept.C, kept.squared, kept.balanced = float(C), bool(squared), bool(balanced)
        entries = max(1.0, (X.nnz if sparse else X.size) / X.shape[0]) * (1 + models)
        strip = max(1, int(CALL_MAX_ENTRIES / entries))
        for start in range(0, X.shape[0], strip):
            if start and stop is not None and stop() is not None:
                return
            kept.learn(rows, codes, weights, start, min(start + strip, X.shape[0]))

    def _native(self, factor: Array) -> Any:
        kept = _native.StreamModels(self.U, self.Z, self.totals, factor, self.numbers)
        kept.free, kept.scaling2 = self.intercept == "free", self.scaling**2 if self.intercept == "penalised" else 0.0
        return kept

    def mean(self) -> tuple[Array, Array]:
        """``coef_`` and ``intercept_``: the averages over all rows so far, for the classes so far."""
        k = len(self.totals)
        if k == 1:  # a single class is always predicted
            return np.zeros((1, self.n_features)), -np.ones(1)
        models, cubes, scaled = 1 if k == 2 else k, float(self.sums["cubes"]), float(self.sums["scaled_cubes"])
        total = cubes or 1.0
        coef = np.empty((models, self.n_features))
        self._native(np.ones(k)).averages(scaled, total, coef)
        of_intercept = cubes if self.intercept == "free" else scaled
        return coef, (of_intercept * self.U[-1, :models] - self.Z[-1, :models]) * (1.0 / total)


def kept_apart(held_out: Any) -> tuple[float, Any]:
    """The share of the batches to hold out, and rows that are given for it."""
    if isinstance(held_out, (tuple, list)):
        return 0.0, opened(held_out)
    return 0.0 if held_out is None else check_number("held_out", held_out, least=0, most=0.5), None


@dataclass
class StreamRun:
    """The state of :meth:`StreamingMixin.fit_stream`."""

    control: Control
    share: float
    held: list[tuple[Points, Array, Array]] = field(default_factory=list)
    apart: set[int] = field(default_factory=set)  # of the batches held out
    estimates: list[Estimate] = field(default_factory=list)
    history: History = field(default_factory=History)
    rows: int = 0
    epoch: int = 0
    reported: float = 0.0

    def holds(self, i: int) -> bool:
        """Whether batch i is held out: the first of the stream, and then so many that their share is right."""
        due = self.epoch == 1 and math.ceil(i * self.share) < math.ceil((i + 1) * self.share)
        if due and sum(_bytes(X) for X, _, _ in self.held) < HELD_OUT_MAX_BYTES:
            self.apart.add(i)
        return i in self.apart

    def keep(self, X: Points, y: Array, weights: Array) -> None:
        """A copy, for the user's loader may use its memory again."""
        self.held.append((X.copy(), y.copy(), weights))

    def report(self, i: int) -> None:
        """A line now and then in a long epoch."""
        if self.control.seconds - self.reported > REPORT_SECONDS:
            self.reported = self.control.seconds
            print_note(f"{self.reported:8.2f} s  epoch {self.epoch}, batch {i + 1:,}, rows learnt {self.rows:,}")


def _bytes(X: Points) -> int:
    return int(X.data.nbytes + X.indices.nbytes) if sp.issparse(X) else int(X.nbytes)


def nothing_learnt(batches: int, epoch: int) -> str:
    """Why there was nothing to learn."""
    if batches == 0:
        remedy = " The function must return a new iterator each time." if epoch > 1 else ""
        return f"There are no batches in epoch {epoch}.{remedy}"
    return (
        f"All {batches} batch{'es' if batches > 1 else ''} of epoch {epoch} were held out, or had no weight: give more "
        "batches, smaller ones, or held_out=None."
    )


def streams(estimator: Any) -> bool:
    """Whether the estimator's model can be learnt from a stream."""
    if estimator.multi_class == "crammer_singer":
        raise AttributeError("A stream is learnt one-vs-rest: use multi_class='ovr', not 'crammer_singer'.")
    if estimator.penalty == "l1":
        raise AttributeError(
            "A stream is learnt with the squared length of w as its penalty: use penalty='l2', or fit."
        )
    return True
