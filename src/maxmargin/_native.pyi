"""The compiled core (sources in native/). Arrays are C-contiguous and of one floating type unless noted.

A wrong type, order or number of dimensions raises TypeError, a wrong length, range or a read-only output ValueError.
"""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

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

# rows
def transpose(A: Array, out: Array) -> None: ...
def gather(K: Array, rows: Array, columns: Array, out: Array) -> None: ...
def gather_product(K: Array, rows: Array, columns: Array, coef: Array, out: Array) -> None: ...
def add_rows(K: Array, rows: Array, coef: Array, out: Array) -> None: ...
def add_columns(K: Array, columns: Array, coef: Array, out: Array) -> None: ...

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
