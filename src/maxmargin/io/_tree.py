"""A model as a tree of plain values, and back.

None, booleans, integers, finite floats and strings are themselves in JSON; everything else is an object with one name,

    {"float": "nan"}   {"list": [...]}   {"tuple": [...]}   {"dict": [[key, value], ...]}   {"slice": [a, b, c]}
    {"dtype": "float64"}   {"status": "OPTIMAL"}   {"scalar": k}   {"array": [k, "C"]}   {"texts": [k, l]}
    {"sparse": [kind, shape, k, l, m]}   {"sets": [elements, l]}   {"things": [...]}   {"masked": [array, k]}
    {"object": j}

where k, l, m are the numbers of stored arrays and j that of an entry in a list of objects. An object may refer to those
before it only, so that there are no cycles; what is shared in memory is stored once, and shared again after reading.
What cannot be written so (functions above all) is refused by the name of the attribute that holds it.

This file writes trees; :mod:`maxmargin.io._decoder` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from maxmargin.io._container import BLOCK_ENTRIES, STORABLE, ModelFileError
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array

SPARSE = {kind.__name__: kind for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array)}
NUMBERS = {np.dtype(name).name: np.dtype(name).type for name in ("?", *"bhilBHIL", "e", "f", "d")}
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
KEYS = (type(None), bool, int, float, str, np.generic)
SMALL_OBJECTS_MAX_BYTES = 32e6  # half of the 64 MB that loading may take beyond the file; the rest is for the header

# Bytes that a Python object takes beyond its content, with its place in an array, as measured by sys.getsizeof and
# rounded up. A set takes more for each element than a list because its hash table is at most 60 % full.
STRING_BYTES, SET_BYTES, SET_ELEMENT_BYTES = 80, 230, 110


class Allowance:
    """The memory that the small Python objects of a model may take, charged before they are made."""

    def __init__(self) -> None:
        self.left = SMALL_OBJECTS_MAX_BYTES

    def take(self, count: float, each: float) -> None:
        self.left -= count * each
        if self.left < 0:
            raise ModelFileError(
                "has too many strings, sets or records for a model file: those beyond the arrays may take "
                f"{SMALL_OBJECTS_MAX_BYTES / 1e6:g} MB."
            )


def decoded_bytes(data: Any) -> int:
    """An upper bound of the bytes of the string that UTF-8 decodes to: one, two or four for each letter, as the widest
    letter needs."""
    if data.isascii():
        return len(data)
    values = np.frombuffer(data, np.uint8)
    blocks = [values[at : at + BLOCK_ENTRIES] for at in range(0, len(values), BLOCK_ENTRIES)]
    letters = sum(int(np.count_nonzero((block & 0xC0) != 0x80)) for block in blocks)
    widest = int(values.max())
    return letters * (4 if widest >= 0xF0 else 2 if widest >= 0xC4 else 1)


def take_text(allowance: Allowance, data: Any) -> None:
    """Charge a string for what it takes beyond its bytes in the file."""
    allowance.take(1, STRING_BYTES + max(0, decoded_bytes(data) - len(data)))


class Encoder:
    """Collects arrays and objects; ``describe`` gives the class, parameters and state of an object, or refuses it."""

    def __init__(self, describe: Callable[[Any, str], tuple[str, dict[str, Any], dict[str, Any]]]) -> None:
        self.describe = describe
        self.arrays: list[Array] = []
        self.objects: list[dict[str, Any]] = []
        self.allowance = Allowance()
        self._numbers: dict[int, int] = {}
        self._nodes: dict[int, Any] = {}
        self._alive: list[Any] = []  # so that no id is used twice

    def encode(self, value: Any, where: str) -> Any:
        """The node of a value; ``where`` names it in errors."""
        if value is None or type(value) in (bool, int, str) or isinstance(value, str):
            return str(value) if isinstance(value, str) else value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) in (list, tuple):
            nodes = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {type(value).__name__: nodes}
        if type(value) is dict:
            return {"dict": [[self._key(key, where), self.encode(v, f"{where}[{key!r}]")] for key, v in value.items()]}
        if type(value) is slice:
            return {"slice": [self.encode(part, where) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, Status):
            return {"status": value.name}
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, (np.generic, float, int))):
            return self._dtype(value, where)
        if isinstance(value, np.ma.MaskedArray):
            return self._node_of(value, lambda: self._masked(value, where))
        if isinstance(value, (np.ndarray, np.generic)) or sp.issparse(value):
            return self._node_of(value, lambda: self._array(value, where))
        return self._node_of(value, lambda: self._object(value, where))

    def _node_of(self, value: Any, make: Callable[[], Any]) -> Any:
        if id(value) not in self._nodes:
            self._alive.append(value)
            self._nodes[id(value)] = make()
        return self._nodes[id(value)]

    def _key(self, key: Any, where: str) -> Any:
        if not isinstance(key, KEYS):
            raise ModelFileError(f"{where} has a key of type {type(key).__name__}, which a model file cannot hold.")
        return self.encode(key, where)

    def _dtype(self, value: Any, where: str) -> Any:
        name = np.dtype(value).name
        if name not in NUMBERS:
            raise ModelFileError(f"{where} is the type {value!r}, which a model file cannot hold.")
        return {"dtype": name}

    def _object(self, value: Any, where: str) -> Any:
        name, parameters, state = self.describe(value, where)
        entry = {
            "class": name,
            "parameters": {key: self.encode(item, f"{where}.{key}") for key, item in parameters.items()},
            "state": {key: self.encode(item, f"{where}.{key}") for key, item in state.items()},
        }
        self.objects.append(entry)
        return {"object": len(self.objects) - 1}

    def _number(self, array: Array) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _array(self, value: Any, where: str) -> Any:
        if sp.issparse(value):
            kind = type(value).__name__
            if kind not in SPARSE:
                raise ModelFileError(f"{where} is a {kind}, which a model file cannot hold: convert it to CSR.")
            if not value.has_canonical_format:
                value = value.copy()
                value.sum_duplicates()
            parts = [self._plain(part, where) for part in (value.data, value.indices, value.indptr)]
            return {"sparse": [kind, list(value.shape), *parts]}
        if value.dtype == object:
            return self._things(value, where)
        if value.dtype.kind in "US":
            width = max(1, value.dtype.itemsize // (4 if value.dtype.kind == "U" else 1))
            unit = np.uint32 if value.dtype.kind == "U" else np.uint8
            wide = np.ascontiguousarray(value, f"<{value.dtype.kind}{width}")
            return {"array": [self._number(wide.view(unit).reshape(*value.shape, width)), value.dtype.kind]}
        if isinstance(value, np.generic):
            return {"scalar": self._plain(value, where)}
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            return {"array": [self._plain(value.T, where), "F"]}
        return {"array": [self._plain(value, where), "C"]}

    def _masked(self, value: Any, where: str) -> Any:
        """A masked array: its values, with None or 0 in the place of those that are masked, and its mask."""
        mask = np.ma.getmaskarray(value)
        filler = None if value.dtype == object else np.zeros((), value.dtype)[()]
        values = np.array(value.data)
        values[mask] = filler
        return {"masked": [self._array(values, where), self._plain(mask, where)]}

    def _plain(self, value: Any, where: str) -> int:
        """The number of an array of numbers. The stored bytes are those of its C-ordered form: safetensors takes an
        array's memory as it lies."""
        array = np.asarray(value)
        little = array.dtype.newbyteorder("<")
        if little not in STORABLE:
            raise ModelFileError(f"{where} is an array of type {array.dtype}, which a model file cannot hold.")
        return self._number(np.array(array, little, order="C", copy=None).reshape(array.shape))

    def _things(self, value: Array, where: str) -> Any:
        """An array of Python objects: strings, sets of strings or numbers, or a few plain values."""
        if value.ndim != 1:
            raise ModelFileError(
                f"{where} is an array of objects of shape {value.shape}: only one dimension can be saved."
            )
        kinds = {type(thing) for thing in value}
        if kinds <= {str, np.str_} and len(value):
            encoded = [thing.encode("utf-8", "surrogatepass") for thing in value]
            for data in encoded:
                take_text(self.allowance, data)
            ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
            return {"texts": [self._number(np.frombuffer(b"".join(encoded), np.uint8)), self._number(ends)]}
        if kinds == {frozenset}:
            ends = np.cumsum([len(thing) for thing in value], dtype=np.int64)
            self.allowance.take(len(value), SET_BYTES)
            self.allowance.take(int(ends[-1]), SET_ELEMENT_BYTES)
            elements = np.empty(int(ends[-1]), object)
            elements[:] = [item for thing in value for item in sorted(thing, key=lambda x: (type(x).__name__, repr(x)))]
            kinds = {type(item) for item in elements}
            if kinds == {int} and all(-(2**63) <= item < 2**63 for item in elements):
                return {"sets": [{"array": [self._number(elements.astype(np.int64)), "C"]}, self._number(ends)]}
            return {"sets": [self._things(elements, f"{where}: an element"), self._number(ends)]}
        self.allowance.take(len(value), STRING_BYTES)
        for thing in value:
            if not isinstance(thing, (*KEYS, BaseEstimator)):
                raise ModelFileError(f"{where} holds a {type(thing).__name__}, which a model file cannot hold.")
        return {"things": [self.encode(thing, where) for thing in value]}
