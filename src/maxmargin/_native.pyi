"""The compiled core (sources in native/). Arrays are C-contiguous and of one floating type unless noted.

A wrong type, order or number of dimensions raises TypeError, a wrong length, range or a read-only output ValueError.
"""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
_Csr = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # indptr, indices, data

def cpu_level() -> str: ...
def available_levels() -> list[str]: ...
def _use_level(name: str) -> None: ...

# block_steps
def solve_block_pairs(
    Q: Array,
    g: Array,
    a: Array,
    lower: Array,
    upper: Array,
    group: Array,
    groups: int,
    goal: float,
    max_steps: int,
) -> int: ...
def solve_block_coordinates(
    Q: Array, g: Array, a: Array, lower: Array, upper: Array, goal: float, max_steps: int
) -> int: ...

# coefficients
def distribute_coefficients(
    of: Array, share: Array, coefficients: Array, filled: Array, bounds: Array, out: Array
) -> None: ...

# conditions
def scan_conditions(gradient: Array, a: Array, lower: Array, upper: Array, group: Array, out: Array) -> None: ...
def slackness(
    gradient: Array, a: Array, lower: Array, upper: Array, group: Array, offset: Array
) -> tuple[float, float]: ...

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
        intercept: NDArray[Any],
        rule: int,
        present: NDArray[Any],
    ) -> None: ...
    def decision(self, X: NDArray[Any]) -> NDArray[Any]: ...
    def codes(self, X: NDArray[Any]) -> Any: ...
    @property
    def n_features(self) -> int: ...

# row_hashes
def hash_rows(X: NDArray[Any], out: NDArray[Any]) -> None: ...
def hash_rows_csr(X: _Csr, columns: int, out: NDArray[Any]) -> None: ...

# rows
def transpose(A: Array, out: Array) -> None: ...
def gather(K: Array, rows: Array, columns: Array, out: Array) -> None: ...
def gather_product(K: Array, rows: Array, columns: Array, coef: Array, out: Array) -> None: ...
def add_rows(K: Array, rows: Array, coef: Array, out: Array) -> None: ...
def add_columns(K: Array, columns: Array, coef: Array, out: Array) -> None: ...

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

# smoothed_losses (float64); loss = (tube, squared, epsilon, width)
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

# stored_rows: K and X float32 or float64, with the entries of a row side by side; the rest float64
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

# temperature (float64)
def temperature_derivatives(
    scores: NDArray[Any], own: NDArray[Any], weight: NDArray[Any], slope: float
) -> tuple[float, float]: ...

# tiles
EXP2: int
POWER: int
TANH: int
DECAY: int

def panel_width(dtype: Any) -> int: ...
def pack_dense(A: Array, own_v: Array | None, at: Array, P: Array, v: Array) -> None: ...
def pack_csr(
    indptr: Array,
    indices: Array,
    data: Array,
    own_v: Array | None,
    at: Array,
    P: Array,
    v: Array,
) -> None: ...
def kernel_matvec_dense(
    A: Array,
    u: Array,
    P: Array,
    v: Array,
    coef: Array,
    kind: int,
    degree: int,
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
    degree: int,
    out: Array,
    start: int,
    stop: int,
) -> None: ...
def kernel_matvec_csr(
    indptr: Array,
    indices: Array,
    data: Array,
    rows: Array,
    u: Array,
    P: Array,
    v: Array,
    coef: Array,
    kind: int,
    degree: int,
    out: Array,
    start: int,
    stop: int,
) -> None: ...
def kernel_block_csr(
    indptr: Array,
    indices: Array,
    data: Array,
    rows: Array,
    u: Array,
    P: Array,
    v: Array,
    kind: int,
    degree: int,
    out: Array,
    start: int,
    stop: int,
) -> None: ...

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

# word_products (float64, int64)
def add_word_products(
    F: _Csr, E: _Csr, h: NDArray[Any], Phi: _Csr, K: NDArray[Any], first: int, max_operations: int
) -> int: ...
