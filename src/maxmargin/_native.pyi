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
