"""The values of a tree of plain values: the reverse of :mod:`maxmargin.io._tree`.

A small file must not make a large model: two nodes that name the same array share what is made of it, Python objects
are charged to an :class:`~maxmargin.io._tree.Allowance` before they are made, and letters of texts are read once. What
is made of arrays is checked whenever an object refers to it. The bytes that are checked for objects that share an array
are limited, too, so that time stays in proportion to the file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.io import _container
from maxmargin.io._container import Letters, ModelFileError, all_in_blocks
from maxmargin.io._tree import (
    FLOATS,
    KEYS,
    NUMBERS,
    SET_BYTES,
    SET_ELEMENT_BYTES,
    SPARSE,
    STRING_BYTES,
    Allowance,
    decoded_bytes,
)
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array

# Times that the arrays of a file may be referred to, on average by bytes. Our estimators refer to an array two or three
# times (support vectors: as an attribute, and in the decision function); a file of a few bytes may do so more often.
REFERENCES_MAX = 64
REFERENCES_FREE_BYTES = 1 << 28


class Decoder:
    """The values of nodes; ``build`` makes an object from its class, parameters and state, after checking them."""

    def __init__(
        self, arrays: list[Array], build: Callable[[str, dict[str, Any], dict[str, Any], Allowance], Any]
    ) -> None:
        self.arrays, self.build = arrays, build
        self.objects: list[Any] = []
        self.allowance = Allowance()
        self._made: dict[tuple[Any, ...], Any] = {}
        self._letters_of: dict[int, Any] = {}  # the array of lengths that goes with an array of letters
        stored = sum(array.size if isinstance(array, Letters) else array.nbytes for array in arrays)
        self._referable = REFERENCES_MAX * stored + REFERENCES_FREE_BYTES

    def add_object(self, entry: Any) -> None:
        """The next entry of the list of objects."""
        if not isinstance(entry, dict) or set(entry) != {"class", "parameters", "state"}:
            raise ModelFileError("is damaged: an object lacks its class, parameters or state.")
        name, parts = entry["class"], [entry["parameters"], entry["state"]]
        if not isinstance(name, str) or not all(isinstance(part, dict) for part in parts):
            raise ModelFileError("is damaged: an object has no proper class, parameters or state.")
        parameters, state = ({key: self.decode(node) for key, node in part.items()} for part in parts)
        self.objects.append(self.build(name, parameters, state, self.allowance))

    def decode(self, node: Any) -> Any:
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if not isinstance(node, dict) or len(node) != 1:
            raise ModelFileError("is damaged: a value has no type.")
        ((tag, content),) = node.items()
        reader = getattr(self, f"_read_{tag}", None) if tag in TAGS else None
        if reader is None:
            raise ModelFileError(f"is damaged, or written by a newer maxmargin: unknown type {tag[:20]!r}.")
        return reader(content)

    def _parts(self, content: Any, count: int | None = None) -> list[Any]:
        if not isinstance(content, list) or (count is not None and len(content) != count):
            raise ModelFileError("is damaged: a value has the wrong number of parts.")
        return content

    def _numbered(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise ModelFileError(f"is damaged: there is no array {str(number)[:20]}.")
        return self.arrays[number]

    def _stored(self, number: Any) -> Array:
        array = self._numbered(number)
        if isinstance(array, Letters):
            raise ModelFileError(f"is damaged: array {number} is used as letters of texts, and as numbers.")
        self._referable -= array.nbytes
        if self._referable < 0:
            raise ModelFileError(f"is damaged: it refers to array {number} too often.")
        return array

    def _chosen(self, content: Any, choices: dict[str, Any]) -> Any:
        if not isinstance(content, str) or content not in choices:
            raise ModelFileError(f"is damaged: {str(content)[:20]!r} is not one of {', '.join(choices)}.")
        return choices[content]

    def _ends(self, number: Any, total: int, each: float) -> Array:
        """Where each of several things ends in an array of ``total`` entries that holds them all; a thing is charged
        with ``each`` bytes."""
        ends = self._stored(number)
        if ends.dtype != np.int64 or ends.ndim != 1:
            raise ModelFileError("is damaged: lengths are not integers.")
        self.allowance.take(len(ends), each)
        if (np.diff(ends, prepend=0) < 0).any() or (int(ends[-1]) if len(ends) else 0) != total:
            raise ModelFileError("is damaged: lengths do not add up.")
        return ends

    def _read_float(self, content: Any) -> float:
        return self._chosen(content, FLOATS)

    def _read_list(self, content: Any) -> list[Any]:
        return [self.decode(node) for node in self._parts(content)]

    def _read_tuple(self, content: Any) -> tuple[Any, ...]:
        return tuple(self.decode(node) for node in self._parts(content))

    def _read_dict(self, content: Any) -> dict[Any, Any]:
        pairs = [[self.decode(node) for node in self._parts(pair, 2)] for pair in self._parts(content)]
        if not all(isinstance(key, KEYS) for key, _ in pairs):
            raise ModelFileError("is damaged: the key of a dict is no plain value.")
        return dict(pairs)

    def _read_slice(self, content: Any) -> slice:
        parts = [self.decode(node) for node in self._parts(content, 3)]
        if not all(part is None or type(part) in (int, str) for part in parts):
            raise ModelFileError("is damaged: a slice has ends that are neither numbers nor names.")
        return slice(*parts)

    def _read_dtype(self, content: Any) -> Any:
        return self._chosen(content, NUMBERS)

    def _read_status(self, content: Any) -> Status:
        return self._chosen(content, dict(Status.__members__))

    def _read_scalar(self, content: Any) -> Any:
        array = self._stored(content)
        if array.ndim != 0:
            raise ModelFileError("is damaged: a number is an array.")
        return array[()]

    def _read_array(self, content: Any) -> Array:
        number, form = self._parts(content, 2)
        array = self._stored(number)
        if form not in ("C", "F", "U", "S"):
            raise ModelFileError(f"is damaged: an array has the unknown form {str(form)[:20]!r}.")
        key = ("array", number, form)
        if key not in self._made:
            self._made[key] = array if form == "C" else array.T if form == "F" else _fixed_width(array, form)
        return self._made[key]

    def _read_sparse(self, content: Any) -> Any:
        kind, shape, *numbers = self._parts(content, 5)
        data, indices, indptr = (self._stored(number) for number in numbers)
        made = self._chosen(kind, SPARSE)
        if not isinstance(shape, list) or len(shape) != 2 or not all(type(n) is int and n >= 0 for n in shape):
            raise ModelFileError("is damaged: a sparse matrix has no proper shape.")
        key = ("sparse", kind, *shape, *numbers)
        if key not in self._made:
            lines, across = shape if kind.startswith("csr") else shape[::-1]
            _check_sparse(data, indices, indptr, lines, across)
            matrix = made((1, 1), dtype=data.dtype)
            matrix._shape = tuple(shape)
            matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
            self._made[key] = matrix
        return self._made[key]

    def _read_texts(self, content: Any) -> Array:
        numbers = self._parts(content, 2)
        key = ("texts", *map(str, numbers))
        if key in self._made:
            return self._made[key]
        letters = self._numbered(numbers[0])
        if not isinstance(letters, Letters):
            if letters.dtype != np.uint8 or letters.ndim != 1:
                raise ModelFileError("is damaged: a text is not bytes.")
            letters = Letters(deque([letters.tobytes()] if letters.size else []), letters.size)
        if self._letters_of.setdefault(numbers[0], key) != key:
            raise ModelFileError(f"is damaged: two arrays of texts share the letters of array {numbers[0]}.")
        ends = self._ends(numbers[1], letters.size, STRING_BYTES)
        texts = np.empty(len(ends), object)
        begin = 0
        try:
            for i, end in enumerate(ends.tolist()):
                data = letters.take(end - begin)
                self.allowance.take(1, max(0, decoded_bytes(data) - len(data)))
                texts[i] = data.decode("utf-8", "surrogatepass")
                begin = end
        except UnicodeDecodeError as error:
            raise ModelFileError("is damaged: a text is not UTF-8.") from error
        self._made[key] = texts
        return texts

    def _read_sets(self, content: Any) -> Array:
        node, number = self._parts(content, 2)
        key = ("sets", repr(content))
        if key in self._made:
            return self._made[key]
        elements = self.decode(node)
        if not isinstance(elements, np.ndarray) or elements.ndim != 1:
            raise ModelFileError("is damaged: the elements of sets are no list.")
        self.allowance.take(len(elements), SET_ELEMENT_BYTES)
        ends = self._ends(number, len(elements), SET_BYTES)
        listed = elements.tolist()
        sets = np.empty(len(ends), object)
        begin = 0
        for i, end in enumerate(ends.tolist()):
            sets[i] = frozenset(listed[begin:end])
            begin = end
        self._made[key] = sets
        return sets

    def _read_things(self, content: Any) -> Array:
        values = [self.decode(node) for node in self._parts(content)]
        if not all(isinstance(value, (*KEYS, BaseEstimator)) for value in values):
            raise ModelFileError("is damaged: an array holds something that is no plain value.")
        things = np.empty(len(values), object)
        things[:] = values
        return things

    def _read_masked(self, content: Any) -> Any:
        node, number = self._parts(content, 2)
        key = ("masked", repr(content))
        if key not in self._made:
            values, mask = self.decode(node), self._stored(number)
            if not isinstance(values, np.ndarray) or mask.dtype != bool or mask.shape != values.shape:
                raise ModelFileError("is damaged: a masked array and its mask differ in shape.")
            self._made[key] = np.ma.MaskedArray(values, mask=mask)
        return self._made[key]

    def _read_object(self, content: Any) -> Any:
        if type(content) is not int or not 0 <= content < len(self.objects):
            raise ModelFileError(f"is damaged: object {str(content)[:20]} does not come before its use.")
        return self.objects[content]


TAGS = frozenset(name.removeprefix("_read_") for name in vars(Decoder) if name.startswith("_read_"))


def _fixed_width(array: Array, form: str) -> Array:
    """An array of fixed-width strings from their letters, which are along the last axis."""
    unit = np.uint32 if form == "U" else np.uint8
    if array.dtype != unit or array.ndim == 0 or not 1 <= array.shape[-1] < 2**27:
        raise ModelFileError("is damaged: an array of strings has no proper letters.")
    if form == "U" and not all_in_blocks(lambda part: part <= 0x10FFFF, array):
        raise ModelFileError("is damaged: an array of strings has letters that do not exist.")
    return array.reshape(-1).view(f"<{form}{array.shape[-1]}").reshape(array.shape[:-1])


def _check_sparse(data: Array, indices: Array, indptr: Array, lines: int, across: int) -> None:
    """Compiled code goes where the indices lead, so they must lead to places that exist."""
    if not all(part.ndim == 1 for part in (data, indices, indptr)) or data.dtype.kind not in "fiub":
        raise ModelFileError("is damaged: a sparse matrix has parts of the wrong shape or type.")
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        raise ModelFileError("is damaged: a sparse matrix has indices of the wrong type.")
    if len(indptr) != lines + 1 or len(indices) != len(data):
        raise ModelFileError("is damaged: a sparse matrix has parts of the wrong length.")
    if indptr[0] != 0 or indptr[-1] != len(data) or not rises(indptr, np.empty(0, int), least=0):
        raise ModelFileError("is damaged: the rows of a sparse matrix do not follow each other.")
    if len(indices):
        if indices.min() < 0 or indices.max() >= across:
            raise ModelFileError("is damaged: a sparse matrix has an entry outside its shape.")
        if not rises(indices, indptr, least=1):
            raise ModelFileError("is damaged: a row of a sparse matrix is not in order.")


def rises(values: Array, starts: Array, least: int) -> bool:
    """Whether each value is larger than the one before by ``least``, except at the positions ``starts``."""
    for begin in range(0, len(values) - 1, _container.BLOCK_ENTRIES):
        part = values[begin : begin + _container.BLOCK_ENTRIES + 1]
        rising = part[1:] > part[:-1] if least else part[1:] >= part[:-1]
        first, last = np.searchsorted(starts, [begin + 1, begin + len(part)])
        rising[starts[first:last] - begin - 1] = True
        if not rising.all():
            return False
    return True
