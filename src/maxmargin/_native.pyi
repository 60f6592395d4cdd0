"""The compiled core (sources in native/). Arrays are C-contiguous and of one floating type unless noted.

A wrong type, order or number of dimensions raises TypeError, a wrong length, range or a read-only output ValueError.
"""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
_Csr = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # indptr, indices, data

def cpu_level() -> str: ...
def available_levels() -> list[str]: ...
def _use_level(name: str) -> None: ...

# active_set
def solve_active_set(
    K: Array,
    row: Array,
    linear: Array,
    lower: Array,
    upper: Array,
    d: Array,
    f: Array,
    R: Array,
    free: Array,
    n_free: int,
    goal: float,
    ridge: float,
    max_steps: int,
    blocks: int,
    stop: Callable[[], bool] | None,
) -> tuple[int, int, float]: ...

# batch: dense points (X, shift or None), CSR (int64 indptr, int32 indices, float64 data, columns), or a matrix (K,)
def solve_batch(
    points: tuple[Any, ...],
    form: tuple[int, int, float, float, bool],
    segments: tuple[NDArray[Any], NDArray[Any]],
    problems: tuple[NDArray[Any] | None, ...],
    results: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    rule: tuple[int, bool, float, float, int, tuple[int, int, bool]],
    options: tuple[int, float, bool, bool, int],
    stop: Callable[[], bool] | None,
) -> None: ...

# block_steps
def solve_block_coordinates(
    Q: Array, g: Array, a: Array, lower: Array, upper: Array, goal: float, max_steps: int
) -> int: ...

# coefficients
def distribute_coefficients(
    of: Array, share: Array, coefficients: Array, filled: Array, bounds: Array, out: Array
) -> None: ...

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

# conditions
def scan_conditions(gradient: Array, a: Array, lower: Array, upper: Array, group: Array, out: Array) -> None: ...
def slackness(
    gradient: Array, a: Array, lower: Array, upper: Array, group: Array, offset: Array
) -> tuple[float, float]: ...

# coordinate_sums (float64)
def coordinate_sums(A: NDArray[Any], B: NDArray[Any], term: int, out: NDArray[Any]) -> None: ...
def coordinate_sums_csr(A: _Csr, B: _Csr, columns: int, term: int, out: NDArray[Any]) -> None: ...

# coupling (float64, columns int64)
def couple_pairs(r: NDArray[Any], columns: NDArray[Any], least: float, out: NDArray[Any]) -> None: ...

# crammer_singer (float64, label int64)
def solve_joint_rows(
    K: NDArray[Any],
    G: NDArray[Any],
    A: NDArray[Any],
    label: NDArray[Any],
    bound: NDArray[Any],
    goal: float,
    max_steps: int,
) -> int: ...

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
    @property
    def visits(self) -> int: ...
    def sweep(self, epochs: int, steps: int, gap: float, pull: float, shrinking: bool) -> int: ...
    def free_step(self, free: NDArray[Any], most: int) -> float: ...

def rows_combine(X: LinearRows, rows: NDArray[Any], factors: NDArray[Any], out: NDArray[Any]) -> None: ...

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

# folds (float64; K, g, rise and fall of one fold float32 or float64; folds, starts, stops, at and group int64)
FOLD_OF_PADDING: int

def start_fold(
    problem: tuple[NDArray[Any], ...], state: tuple[NDArray[Any], ...], fold: int, totals: NDArray[Any]
) -> None: ...
def fold_offsets(
    problem: tuple[NDArray[Any], ...], state: tuple[NDArray[Any], ...], fold: int, out: NDArray[Any]
) -> None: ...
def solve_small_folds(
    K: NDArray[Any],
    at: NDArray[Any],
    problem: tuple[NDArray[Any], ...],
    in_place: bool,
    a: NDArray[Any],
    f: NDArray[Any],
    folds: NDArray[Any],
    totals: NDArray[Any],
    goal: float,
    max_steps: int,
    first: int,
    max_operations: int,
    values: NDArray[Any],
    offsets: NDArray[Any],
) -> int: ...

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
    def rooms(self, out: NDArray[Any]) -> None: ...

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

class LanesDouble(LanesSingle): ...

def line_values(X: LinearRows, weights: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> None: ...
def line_sums(X: LinearRows, factors: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> None: ...
def line_squares(weights: NDArray[Any], out: NDArray[Any]) -> None: ...

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

# moments: X float32 or float64 (robust_centre: float64), all else float64; power is 1 or 2
def power_sum(X: NDArray[Any], weights: NDArray[Any], centre: float, power: int) -> float: ...
def column_sums(X: NDArray[Any], weights: NDArray[Any], out: NDArray[Any]) -> None: ...
def row_distances(X: NDArray[Any], centre: NDArray[Any], out: NDArray[Any]) -> None: ...
def robust_centre(X: NDArray[Any], weights: NDArray[Any], factor: float, centre: NDArray[Any]) -> None: ...

# nearest (float64)
def keep_nearest(
    K: NDArray[Any],
    k_xx: NDArray[Any],
    k_zz: NDArray[Any],
    first: int,
    excluded: int,
    rounding: float,
    clip: bool,
    squares: NDArray[Any],
    indices: NDArray[Any],
) -> None: ...

# one_vs_one; K is float32 or float64, counts int64, all else float64
PAIR_COEFFICIENTS_UNIT: int

def pair_values(K: NDArray[Any], coefficients: Array, counts: NDArray[Any], out: Array) -> None: ...
def pair_votes(f: Array, zero_for_first: bool, votes: Array) -> None: ...
def pair_vote_range(f: Array, bound: Array, fewest: Array, most: Array) -> None: ...
def pair_confidence(f: Array, sums: Array) -> None: ...

# pair_steps
SLOT_UNIT: int
PAIR_BARRIER: float

def solve_pairs(
    K: Array,
    g: Array,
    a: Array,
    lower: Array,
    upper: Array,
    rise: Array,
    fall: Array,
    diagonal: Array,
    starts: Array,
    stops: Array,
    goal: float,
    max_steps: int,
) -> int: ...

# pair_sums; out is float64, rows, cols and starts are int64, kind is of maxmargin.kernels.pair_sums
def pair_sums_dense(
    A: NDArray[Any],
    rows: NDArray[Any] | None,
    row_start: NDArray[Any] | None,
    B: NDArray[Any],
    cols: NDArray[Any] | None,
    col_start: NDArray[Any] | None,
    kind: int,
    out: NDArray[Any],
) -> None: ...
def pair_sums_csr(
    A: _Csr,
    row_start: NDArray[Any] | None,
    B: _Csr,
    col_start: NDArray[Any] | None,
    columns: int,
    kind: int,
    out: NDArray[Any],
) -> None: ...

# path
def advance_path(
    K: Array,
    y: Array,
    bound: Array,
    a: Array,
    f: Array,
    W: Array,
    held: Array,
    M: Array,
    goal: float,
    max_steps: int,
) -> tuple[int, float, float]: ...

# perceptron: X float32 or float64
def perceptron_pass(
    X: NDArray[Any],
    y: NDArray[Any],
    order: NDArray[Any],
    v: NDArray[Any],
    s: NDArray[Any],
    t: int,
    eta: float,
    intercept: float,
) -> tuple[int, float]: ...
def perceptron_pass_csr(
    X: _Csr,
    columns: int,
    y: NDArray[Any],
    order: NDArray[Any],
    v: NDArray[Any],
    s: NDArray[Any],
    t: int,
    eta: float,
    intercept: float,
) -> tuple[int, float]: ...

# predictor
class Predictor:
    def __init__(
        self,
        kind: int,
        g: float,
        coef0: float,
        degree: int,
        Z: NDArray[Any],
        coefficients: NDArray[Any] | None,
        counts: NDArray[Any] | None,
        intercept: NDArray[Any],
        rule: int,
        present: NDArray[Any],
    ) -> None: ...
    def decision(self, X: NDArray[Any]) -> NDArray[Any]: ...
    def codes(self, X: NDArray[Any]) -> Any: ...
    @property
    def n_features(self) -> int: ...

class SparseKernelValues:
    def __init__(self, kind: int, g: float, coef0: float, degree: int, by_column: _Csr, support: int) -> None: ...
    def store(self, X: _Csr, out: NDArray[Any]) -> None: ...

# row_hashes; merge_rows: dense points (X,) or CSR (indptr, indices, data, columns); returns the number of groups
def hash_rows(X: NDArray[Any], out: NDArray[Any]) -> None: ...
def hash_rows_csr(X: _Csr, columns: int, out: NDArray[Any]) -> None: ...
def merge_rows(
    points: tuple[Any, ...],
    target: NDArray[Any],
    weight: NDArray[Any],
    member_of: NDArray[Any],
    representative: NDArray[Any],
    group_weight: NDArray[Any],
    group_key: NDArray[Any],
) -> int: ...

# rows
def transpose(A: Array, out: Array) -> None: ...
def gather(K: Array, rows: Array, columns: Array, out: Array) -> None: ...
def gather_product(K: Array, rows: Array, columns: Array, coef: Array, out: Array) -> None: ...
def add_rows(K: Array, rows: Array, coef: Array, out: Array) -> None: ...
def add_columns(K: Array, columns: Array, coef: Array, out: Array) -> None: ...

# shapley (float64)
SHAPLEY_LANES: int
SHAPLEY_NODES: int
SHAPLEY_MAX_DEGREE: int

def shapley_product(
    rows: NDArray[Any],
    panels: NDArray[Any],
    coefficients: NDArray[Any],
    background: NDArray[Any] | None,
    square: NDArray[Any] | None,
    absolute: NDArray[Any] | None,
    chi_squared: NDArray[Any] | None,
    rules: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
    weight: float,
    out: NDArray[Any],
) -> None: ...
def shapley_power(
    rows: NDArray[Any],
    panels: NDArray[Any],
    coefficients: NDArray[Any],
    background: NDArray[Any] | None,
    scale: NDArray[Any],
    constant: float,
    degree: int,
    rules: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
    weight: float,
    out: NDArray[Any],
) -> None: ...

# sigmoid_fits (float64, positive bool, starts and steps int64)
def fit_sigmoids(
    values: NDArray[Any],
    positive: NDArray[Any],
    weight: NDArray[Any],
    starts: NDArray[Any],
    slope: NDArray[Any],
    offset: NDArray[Any],
    steps: NDArray[Any],
    first: int,
    max_rows: int,
) -> int: ...

# small_dense
def solve_small_dense(
    K: Array,
    at: Array,
    row: Array,
    sign: Array,
    linear: Array,
    lower: Array,
    upper: Array,
    group: Array,
    groups: int,
    in_place: bool,
    a: Array,
    f: Array,
    goal: float,
    max_steps: int,
) -> tuple[int, float]: ...

# small_linear
def solve_small_linear(
    X: NDArray[Any],
    y: NDArray[Any],
    above: NDArray[Any],
    below: NDArray[Any],
    epsilon: float,
    squared: bool,
    free: bool,
    scaling: float,
    start: float,
    centre: float,
    tol: float,
    max_iter: int,
    w: NDArray[Any],
    f: NDArray[Any],
    beta: NDArray[Any],
    records: NDArray[Any],
) -> tuple[float, float, float, int, int]: ...
def certify_linear(
    X: LinearRows,
    y: NDArray[Any],
    above: NDArray[Any],
    below: NDArray[Any],
    epsilon: float,
    squared: bool,
    free: bool,
    scaling: float,
    centre: float,
    w: NDArray[Any],
    b: float,
    beta: NDArray[Any],
    f: NDArray[Any],
    support: NDArray[Any],
) -> tuple[float, float, float, float, float, float, float, float]: ...

# smoothed_losses: F, y, c and centre (None: all 1/2) are float64 of shape (rows, outputs), and loss is
# (tube, squared, epsilon, width).
#     first_order    g = the derivatives of c L_d at F; returns the rows that have one. sums grows by LOSS_SUMS lines:
#                    the true loss, the smooth one; of the rows with g > 0, then of those with g < 0, sum g and the two
#                    parts of the conjugate; the weights and the second derivatives
#     second_order   D = the second derivatives;    multipliers    a at F
#     along_line     values[q, k] += sum c L_d(F + t G), slopes += its derivative by t, for t = steps[q, k]
LOSS_SUMS: int
_Loss = tuple[bool, bool, float, float]

def loss_first_order(
    loss: _Loss,
    F: NDArray[Any],
    y: NDArray[Any],
    c: NDArray[Any],
    centre: NDArray[Any] | None,
    g: NDArray[Any],
    sums: NDArray[Any],
) -> int: ...
def loss_second_order(
    loss: _Loss,
    F: NDArray[Any],
    y: NDArray[Any],
    c: NDArray[Any],
    centre: NDArray[Any] | None,
    D: NDArray[Any],
) -> None: ...
def loss_multipliers(
    loss: _Loss, F: NDArray[Any], y: NDArray[Any], centre: NDArray[Any] | None, a: NDArray[Any]
) -> None: ...
def loss_along_line(
    loss: _Loss,
    F: NDArray[Any],
    G: NDArray[Any],
    y: NDArray[Any],
    c: NDArray[Any],
    centre: NDArray[Any] | None,
    steps: NDArray[Any],
    values: NDArray[Any],
    slopes: NDArray[Any],
) -> None: ...
def hinge_changes(
    F: NDArray[Any], y: NDArray[Any], c: NDArray[Any], output: int, inside: NDArray[Any], change: NDArray[Any]
) -> tuple[int, int]: ...

# sparse_products; A and B are float32 or float64, out is float64
def sparse_products(A: _Csr, B: _Csr, columns: int, out: NDArray[Any]) -> None: ...

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

# stored_rows: K and X float32 or float64, with the entries of a row side by side; the rest float64
#     evaluate_rows  one output in one pass: F = K B + b (where B is given), first_order; gradient[0] grows by K'g of
#                    the rows with g > 0, and the last one by that of the others
def evaluate_rows(
    K: NDArray[Any],
    B: NDArray[Any] | None,
    b: float,
    loss: _Loss,
    F: NDArray[Any],
    y: NDArray[Any],
    c: NDArray[Any],
    centre: NDArray[Any] | None,
    g: NDArray[Any],
    sums: NDArray[Any],
    gradient: NDArray[Any],
) -> int: ...
def take_rows(K: NDArray[Any], keep: NDArray[Any], out: NDArray[Any]) -> None: ...
def add_weighted_rows(
    X: NDArray[Any], w: NDArray[Any], mean: NDArray[Any], squared: bool, sums: NDArray[Any]
) -> None: ...

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

# subsequences (float64)
SUBSEQUENCE_LANES: int

def read_subsequences(
    letters: NDArray[Any],
    starts: NDArray[Any],
    lanes: NDArray[Any],
    decay: float,
    P: NDArray[Any],
    total: NDArray[Any],
    place: NDArray[Any],
    out: NDArray[Any],
    max_operations: int,
) -> bool: ...

# symmetric_entries: block and data float32, indices uint16, place int32, x and sums float64
def select_entries(
    block: NDArray[Any],
    diagonal: int,
    threshold: float,
    counts: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
) -> int: ...
def symmetric_product(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    first: int,
    x: NDArray[Any],
    out: NDArray[Any],
) -> None: ...
def symmetric_fill(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    first: int,
    rows: NDArray[Any],
    place: NDArray[Any],
    out: NDArray[Any],
) -> None: ...

# temperature (float64)
def temperature_derivatives(
    scores: NDArray[Any], own: NDArray[Any], weight: NDArray[Any], slope: float
) -> tuple[float, float]: ...

# tiles
EXP2: int
POWER: int
TANH: int
DECAY: int
MATERN: int
RATIONAL: int
ANGLE: int
TANIMOTO: int

def panel_width(dtype: Any) -> int: ...
def decays(s: Array, rate: float, out: Array) -> None: ...
def pack_dense(A: Array, own_v: Array | None, at: Array, P: Array, v: Array) -> None: ...
def pack_csr(A: _Csr, own_v: Array | None, at: Array, P: Array, v: Array) -> None: ...
def kernel_matvec_dense(
    A: Array,
    u: Array,
    P: Array,
    v: Array,
    coef: Array,
    kind: int,
    degree: float,
    out: Array,
    start: int,
    stop: int,
) -> None: ...
def kernel_block_dense(
    A: Array,
    u: Array,
    P: Array,
    v: Array,
    kind: int,
    degree: float,
    out: Array,
    start: int,
    stop: int,
) -> None: ...
def kernel_matvec_csr(
    A: _Csr,
    rows: Array,
    u: Array,
    P: Array,
    v: Array,
    coef: Array,
    kind: int,
    degree: float,
    out: Array,
    start: int,
    stop: int,
) -> None: ...
def kernel_block_csr(
    A: _Csr,
    rows: Array,
    u: Array,
    P: Array,
    v: Array,
    kind: int,
    degree: float,
    out: Array,
    start: int,
    stop: int,
) -> None: ...

# word_products (float64, int64)
def add_word_products(
    F: _Csr, E: _Csr, h: NDArray[Any], Phi: _Csr, K: NDArray[Any], first: int, max_operations: int
) -> int: ...

# working_set
def group_sides(
    g: Array, a: Array, lower: Array, upper: Array, group: Array, ids: Array, zero_offset: bool, middle: Array
) -> float: ...
def side_excess(
    g: Array, a: Array, lower: Array, upper: Array, group: Array, ids: Array, middle: Array, out: Array
) -> None: ...
def choose_working_set(
    g: Array,
    a: Array,
    lower: Array,
    upper: Array,
    group: Array,
    ids: Array,
    previous: Array,
    size: int,
    middle: Array,
    start: int,
    W: Array,
) -> int: ...
