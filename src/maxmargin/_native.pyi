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
