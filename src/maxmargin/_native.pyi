"""The compiled core (sources in native/). Arrays are C-contiguous and of one floating type unless noted.

A wrong type, order or number of dimensions raises TypeError, a wrong length, range or a read-only output ValueError.
"""

from typing import Any

from numpy.typing import NDArray

def cpu_level() -> str: ...
def available_levels() -> list[str]: ...
def _use_level(name: str) -> None: ...

# pair_sums; out is float64, rows and cols are int64 or None, kind is of maxmargin.kernels.pair_sums
def pair_sums_dense(
    A: NDArray[Any],
    rows: NDArray[Any] | None,
    B: NDArray[Any],
    cols: NDArray[Any] | None,
    kind: int,
    out: NDArray[Any],
) -> None: ...
def pair_sums_csr(
    a_indptr: NDArray[Any],
    a_indices: NDArray[Any],
    a_data: NDArray[Any],
    b_indptr: NDArray[Any],
    b_indices: NDArray[Any],
    b_data: NDArray[Any],
    columns: int,
    kind: int,
    out: NDArray[Any],
) -> None: ...

# rows
def transpose(A: NDArray[Any], out: NDArray[Any]) -> None: ...
