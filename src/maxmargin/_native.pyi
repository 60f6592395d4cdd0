"""The compiled core (sources in native/). Arrays are C-contiguous and of one floating type unless noted.

A wrong type, order or number of dimensions raises TypeError, a wrong length, range or a read-only output ValueError.
"""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

def cpu_level() -> str: ...
def available_levels() -> list[str]: ...
def _use_level(name: str) -> None: ...

# rows
def transpose(A: NDArray[Any], out: NDArray[Any]) -> None: ...

# tiles
EXP2: int
POWER: int
TANH: int
DECAY: int

def panel_width(dtype: Any) -> int: ...
def pack_dense(
    A: NDArray[Any], own_v: NDArray[Any] | None, at: NDArray[Any], P: NDArray[Any], v: NDArray[Any]
) -> None: ...
def pack_csr(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    own_v: NDArray[Any] | None,
    at: NDArray[Any],
    P: NDArray[Any],
    v: NDArray[Any],
) -> None: ...
def kernel_matvec_dense(
    A: NDArray[Any],
    u: NDArray[Any],
    P: NDArray[Any],
    v: NDArray[Any],
    coef: NDArray[Any],
    kind: int,
    degree: int,
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None: ...
def kernel_block_dense(
    A: NDArray[Any],
    u: NDArray[Any],
    P: NDArray[Any],
    v: NDArray[Any],
    kind: int,
    degree: int,
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None: ...
def kernel_matvec_csr(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    rows: NDArray[Any],
    u: NDArray[Any],
    P: NDArray[Any],
    v: NDArray[Any],
    coef: NDArray[Any],
    kind: int,
    degree: int,
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None: ...
def kernel_block_csr(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    rows: NDArray[Any],
    u: NDArray[Any],
    P: NDArray[Any],
    v: NDArray[Any],
    kind: int,
    degree: int,
    out: NDArray[Any],
    start: int,
    stop: int,
) -> None: ...

# batch: dense points (X, shift or None), CSR (int64 indptr, int32 indices, float64 data, columns), or a matrix (K,)
def solve_batch(
    points: tuple[Any, ...],
    form: tuple[int, int, float, float, bool],
    segments: tuple[NDArray[Any], NDArray[Any]],
    problems: tuple[NDArray[Any], ...],
    results: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    rule: tuple[int, bool, float, float, int],
    options: tuple[int, float, bool, bool, int],
    stop: Callable[[], bool] | None,
) -> None: ...

# batch_rows: dense points (X,) or CSR (indptr, indices, data, columns); returns the number of groups
def merge_rows(
    points: tuple[Any, ...],
    target: NDArray[Any],
    weight: NDArray[Any],
    member_of: NDArray[Any],
    representative: NDArray[Any],
    group_weight: NDArray[Any],
    group_key: NDArray[Any],
) -> int: ...
