"""The compiled core (sources in native/). Arrays are C-contiguous and of one floating type unless noted.

A wrong type, order or number of dimensions raises TypeError, a wrong length, range or a read-only output ValueError.
"""

from typing import Any

from numpy.typing import NDArray

def cpu_level() -> str: ...
def available_levels() -> list[str]: ...
def _use_level(name: str) -> None: ...

# rows
def transpose(A: NDArray[Any], out: NDArray[Any]) -> None: ...

# design: the rows of X, float32 or float64, dense or CSR; all else is float64
class LinearRows:
    """Checked once; the arrays must not change while it lives."""

    def __init__(
        self,
        data: NDArray[Any],
        indptr: NDArray[Any] | None = None,
        indices: NDArray[Any] | None = None,
        columns: int = -1,
        shift: NDArray[Any] | None = None,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def sparse(self) -> bool: ...

def rows_times(X: LinearRows, w: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> None: ...
def rows_times_some(X: LinearRows, w: NDArray[Any], which: NDArray[Any], out: NDArray[Any]) -> None: ...
def rows_sums(X: LinearRows, V: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> None: ...
def rows_gram(X: LinearRows, v: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> None: ...
def rows_scaled(X: LinearRows, v: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> int: ...
def rows_squares(X: LinearRows, start: int, stop: int, out: NDArray[Any], v: NDArray[Any] | None = None) -> None: ...
def csc_cuts(indptr: NDArray[Any], rows: NDArray[Any], n: int, tile: int, cuts: NDArray[Any]) -> None: ...
def csc_tile(
    rows: NDArray[Any],
    data: NDArray[Any],
    begin: NDArray[Any],
    end: NDArray[Any],
    first: int,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
) -> None: ...

# losses
class RowLosses:
    def __init__(
        self, y: NDArray[Any], above: NDArray[Any], below: NDArray[Any], epsilon: float, squared: bool
    ) -> None: ...
    def survey(
        self, f: NDArray[Any], b: float, beta: NDArray[Any] | None, centre: float, hard: float
    ) -> tuple[float, float, float, float, float, float, float, float]: ...
    def derivative(self, f: NDArray[Any], b: float, beta: NDArray[Any], theta: NDArray[Any] | None) -> None: ...
    def slope(self, r: NDArray[Any], u: NDArray[Any] | None, t: float) -> tuple[float, float]: ...
    def after_step(self, r: NDArray[Any], beta: NDArray[Any], hard: float, out: NDArray[Any]) -> int: ...

# descent
class Descent:
    eps: float
    rho: float
    t: float
    free: bool
    b0: float
    missing: float
    limit: float
    pull: float
    gap: float
    dual: float
    met: float
    active: int
    seed: int
    def __init__(
        self,
        X: LinearRows,
        y: NDArray[Any],
        q: NDArray[Any],
        ridge: NDArray[Any],
        lower: NDArray[Any],
        upper: NDArray[Any],
        beta: NDArray[Any],
        w: NDArray[Any],
        order: NDArray[Any],
    ) -> None: ...
    @property
    def place(self) -> int: ...
    def sweep(self, epochs: int, steps: int, gap: float, pull: float, shrinking: bool) -> int: ...
    def free_step(self, free: NDArray[Any], most: int) -> float: ...

def rows_combine(X: LinearRows, rows: NDArray[Any], factors: NDArray[Any], out: NDArray[Any]) -> None: ...

# interior
class InteriorRows:
    def __init__(
        self,
        p: NDArray[Any],
        lower: NDArray[Any],
        upper: NDArray[Any],
        ridge: NDArray[Any],
        a: NDArray[Any],
        f: NDArray[Any],
    ) -> None: ...
    def beta(self, out: NDArray[Any]) -> None: ...
    def begin(self, offset: float, size: float, by_room: bool) -> None: ...
    def even_out(self, least: float, together: bool) -> None: ...
    def centre(self, offset: float, mu: float) -> None: ...
    def weigh(self, start: int, stop: int, offset: float, q: NDArray[Any], T: NDArray[Any]) -> None: ...
    def predict(
        self, start: int, stop: int, df: NDArray[Any], dlambda: float, q0: NDArray[Any], q1: NDArray[Any]
    ) -> tuple[float, float, float, float]: ...
    def direct(
        self,
        start: int,
        stop: int,
        predicted: NDArray[Any],
        dpredicted: float,
        df: NDArray[Any],
        dlambda: float,
        mu: float,
        corrected: bool,
    ) -> float: ...
    def products(self, step: float) -> tuple[float, float, float]: ...
    def advance(self, df: NDArray[Any] | None, step: float) -> bool: ...
    def changes(self, out: NDArray[Any]) -> None: ...

# lanes
class LanesSingle:
    rho: float
    squared: bool
    quiet_limit: int
    def __init__(
        self,
        X: LinearRows,
        lane: NDArray[Any],
        squares: NDArray[Any],
        bound: NDArray[Any],
        own: NDArray[Any],
        awake: NDArray[Any],
        A: NDArray[Any],
        weights: NDArray[Any],
        b: NDArray[Any],
        total: NDArray[Any],
    ) -> None: ...
    def sweep(self, order: NDArray[Any], every: bool) -> int: ...
    def values(self, start: int, stop: int, out: NDArray[Any]) -> None: ...
    def norms(self, out: NDArray[Any]) -> None: ...

class LanesDouble(LanesSingle): ...

# stochastic
class StochasticSteps:
    eps: float
    squared: bool
    rho: float
    free: bool
    radius: float
    b: float
    def __init__(
        self,
        X: LinearRows,
        y: NDArray[Any],
        above: NDArray[Any],
        below: NDArray[Any],
        weight: NDArray[Any],
        u: NDArray[Any],
        v: NDArray[Any],
    ) -> None: ...
    @property
    def t(self) -> int: ...
    def go(self, drawn: NDArray[Any], eta: NDArray[Any]) -> bool: ...
    def last(self, w: NDArray[Any], beta: NDArray[Any]) -> None: ...
    def mean(self, weights: float, w: NDArray[Any], beta: NDArray[Any]) -> None: ...

# stream
class StreamModels:
    C: float
    scaling2: float
    squared: bool
    free: bool
    balanced: bool
    def __init__(
        self,
        U: NDArray[Any],
        Z: NDArray[Any],
        totals: NDArray[Any],
        factor: NDArray[Any],
        numbers: NDArray[Any],
    ) -> None: ...
    def learn(self, X: LinearRows, codes: NDArray[Any], weights: NDArray[Any], start: int, stop: int) -> None: ...
    def averages(self, late: float, total: float, coef: NDArray[Any]) -> None: ...

# columns
def l1_descend(
    X: LinearRows,
    order: NDArray[Any],
    y: NDArray[Any],
    c: NDArray[Any],
    w: NDArray[Any],
    slack: NDArray[Any],
) -> float: ...
def l1_model(H: NDArray[Any], v: NDArray[Any], q: NDArray[Any], goal: float, passes: int, rested: int) -> None: ...
