"""A model as a tree of plain values, and back.

None, booleans, integers, finite floats and strings are themselves in JSON; everything else is an object with one name,

    {"float": "nan"}   {"list": [...]}   {"tuple": [...]}   {"dict": [[key, value], ...]}   {"slice": [a, b, c]}
    {"dtype": "float64"}   {"status": "OPTIMAL"}   {"scalar": k}   {"array": [k, "C"]}   {"texts": [k, l]}
    {"sparse": [kind, shape, k, l, m]}   {"sets": [elements, l]}   {"things": [...]}   {"object": j}

where k, l, m are the numbers of stored arrays and j that of an entry in a list of objects. An object may refer to those
before it only, so that there are no circles; what is shared in memory is stored once, and shared again after reading.
What cannot be written so (functions above all) is refused by the name of the attribute that holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.io._container import STORABLE, STRIP, in_strips
from maxmargin.io._errors import ModelFileError
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array

SPARSE = {kind.__name__: kind for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array)}
NUMBERS = {np.dtype(name).name: np.dtype(name).type for name in ("?", *"bhilBHIL", "e", "f", "d")}
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
KEYS = (type(None), bool, int, float, str, np.generic)
ALLOWANCE = 32e6  # bytes of memory for Python objects, which take more than the bytes that describe them

STRING, SET, ELEMENT = 80, 230, 110  # bytes of a short string, of a set, of an element in one


class Allowance:
    """How much memory the many small objects of a model may take."""

    def __init__(self) -> None:
        self.left = ALLOWANCE

    def take(self, count: float, each: float) -> None:
        self.left -= count * each
        if self.left < 0:
            raise ModelFileError("has too many strings, sets or records for a model file.")


class Encoder:
    """Collects arrays and objects; ``describe`` gives the class, parameters and state of an object, or refuses it."""

    def __init__(self, describe: Callable[[Any, str], tuple[str, dict[str, Any], dict[str, Any]]]) -> None:
        self.describe = describe
        self.arrays: list[Array] = []
        self.objects: list[dict[str, Any]] = []
        self.allowance = Allowance()
        self._numbers: dict[int, int] = {}
        self._seen: dict[int, Any] = {}
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
        if isinstance(value, (np.ndarray, np.generic)) or sp.issparse(value):
            return self._once(value, lambda: self._array(value, where))
        return self._once(value, lambda: self._object(value, where))

    def _once(self, value: Any, make: Callable[[], Any]) -> Any:
        if id(value) not in self._seen:
            self._alive.append(value)
            self._seen[id(value)] = make()
        return self._seen[id(value)]

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
            self.allowance.take(len(encoded), STRING)
            ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
            return {"texts": [self._number(np.frombuffer(b"".join(encoded), np.uint8)), self._number(ends)]}
        if kinds == {frozenset}:
            ends = np.cumsum([len(thing) for thing in value], dtype=np.int64)
            self.allowance.take(len(value), SET)
            self.allowance.take(int(ends[-1]), ELEMENT)
            elements = np.empty(int(ends[-1]), object)
            elements[:] = [item for thing in value for item in sorted(thing, key=lambda x: (type(x).__name__, repr(x)))]
            kinds = {type(item) for item in elements}
            if kinds == {int} and all(-(2**63) <= item < 2**63 for item in elements):
                return {"sets": [{"array": [self._number(elements.astype(np.int64)), "C"]}, self._number(ends)]}
            return {"sets": [self._things(elements, f"{where}: an element"), self._number(ends)]}
        self.allowance.take(len(value), STRING)
        for thing in value:
            if not isinstance(thing, KEYS):
                raise ModelFileError(f"{where} holds a {type(thing).__name__}, which a model file cannot hold.")
        return {"things": [self.encode(thing, where) for thing in value]}


class Decoder:
    """The values of nodes; ``build`` makes an object from its class, parameters and state, after checking them."""

    def __init__(
        self, arrays: list[Array], build: Callable[[str, dict[str, Any], dict[str, Any], Allowance], Any]
    ) -> None:
        self.arrays, self.build = arrays, build
        self.objects: list[Any] = []
        self.allowance = Allowance()
        self._made: dict[tuple[Any, ...], Any] = {}

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

    def _stored(self, number: Any) -> Array:
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise ModelFileError(f"is damaged: there is no array {str(number)[:20]}.")
        return self.arrays[number]

    def _chosen(self, content: Any, choices: dict[str, Any]) -> Any:
        if not isinstance(content, str) or content not in choices:
            raise ModelFileError(f"is damaged: {str(content)[:20]!r} is not one of {', '.join(choices)}.")
        return choices[content]

    def _ends(self, number: Any, total: int) -> Array:
        """Where each of several things ends in an array of ``total`` entries that holds them all."""
        ends = self._stored(number)
        if ends.dtype != np.int64 or ends.ndim != 1:
            raise ModelFileError("is damaged: lengths are not integers.")
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
            self._made[key] = array if form == "C" else array.T if form == "F" else _letters(array, form)
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
        letters = self._stored(numbers[0])
        if letters.dtype != np.uint8 or letters.ndim != 1:
            raise ModelFileError("is damaged: a text is not bytes.")
        ends = self._ends(numbers[1], len(letters))
        key = ("texts", *numbers)
        if key not in self._made:
            self.allowance.take(len(ends), STRING)
            texts = np.empty(len(ends), object)
            begin = 0
            try:
                for i, end in enumerate(ends.tolist()):
                    texts[i] = letters[begin:end].tobytes().decode("utf-8", "surrogatepass")
                    begin = end
            except UnicodeDecodeError as error:
                raise ModelFileError("is damaged: a text is not UTF-8.") from error
            self._made[key] = texts
        return self._made[key]

    def _read_sets(self, content: Any) -> Array:
        node, number = self._parts(content, 2)
        key = ("sets", repr(content))
        if key in self._made:
            return self._made[key]
        elements = self.decode(node)
        if not isinstance(elements, np.ndarray) or elements.ndim != 1:
            raise ModelFileError("is damaged: the elements of sets are no list.")
        ends = self._ends(number, len(elements))
        self.allowance.take(len(ends), SET)
        self.allowance.take(len(elements), ELEMENT)
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
        if not all(isinstance(value, KEYS) for value in values):
            raise ModelFileError("is damaged: an array holds something that is no plain value.")
        things = np.empty(len(values), object)
        things[:] = values
        return things

    def _read_object(self, content: Any) -> Any:
        if type(content) is not int or not 0 <= content < len(self.objects):
            raise ModelFileError(f"is damaged: object {str(content)[:20]} does not come before its use.")
        return self.objects[content]


TAGS = frozenset(name.removeprefix("_read_") for name in vars(Decoder) if name.startswith("_read_"))


def _letters(array: Array, form: str) -> Array:
    """An array of fixed-width strings from their letters, which are along the last axis."""
    unit = np.uint32 if form == "U" else np.uint8
    if array.dtype != unit or array.ndim == 0 or not 1 <= array.shape[-1] < 2**27:
        raise ModelFileError("is damaged: an array of strings has no proper letters.")
    if form == "U" and not in_strips(lambda part: part <= 0x10FFFF, array):
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
    if indptr[0] != 0 or indptr[-1] != len(data) or not _rises(indptr, np.empty(0, int), least=0):
        raise ModelFileError("is damaged: the rows of a sparse matrix do not follow each other.")
    if len(indices):
        if indices.min() < 0 or indices.max() >= across:
            raise ModelFileError("is damaged: a sparse matrix has an entry outside its shape.")
        if not _rises(indices, indptr, least=1):
            raise ModelFileError("is damaged: a row of a sparse matrix is not in order.")


def _rises(values: Array, starts: Array, least: int) -> bool:
    """Whether each value is larger than the last by ``least``, except where one of ``starts`` begins anew."""
    for begin in range(0, len(values) - 1, STRIP):
        part = values[begin : begin + STRIP + 1]
        rising = part[1:] > part[:-1] if least else part[1:] >= part[:-1]
        first, last = np.searchsorted(starts, [begin + 1, begin + len(part)])
        rising[starts[first:last] - begin - 1] = True
        if not rising.all():
            return False
    return True
