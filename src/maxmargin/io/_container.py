"""The bytes of a model file: arrays and a text, in the safetensors format.

    8 bytes   length of the header, little-endian
    header    JSON: of each array its type, shape and place; under "__metadata__" the text of the model, itself JSON
    arrays    their bytes, one after the other

The text holds the SHA-256 of the whole file, computed with 64 zeros in its own place, so that no bit can change unseen.
Anyone can make a file whose digest is right: it tells damage, not malice. So nothing in a file is believed. Lengths are
compared with that of the file before anything is read or made, and each array is read into memory of its own: what is
held is never more than the file, and the header, which is capped.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import save as to_safetensors

from maxmargin.io._errors import ModelFileError
from maxmargin.runtime.validation import Array, available_memory

FORMAT = "maxmargin model"
VERSION = 1
MOST_HEADER = 1_000_000  # bytes; parsed JSON takes up to 25 times as much
DEPTH = 32  # of brackets within brackets
STRIP = 1 << 20
LARGEST = 2**48  # a length or count beyond this is forged
BLANK = "0" * 64

TYPES = {
    "BOOL": np.dtype("?"),
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
STORABLE = frozenset(TYPES.values())

_FOREIGN = [  # what a file begins with, what it is, what to do
    (b"svm_type", "a model of LIBSVM", "read it with read_libsvm_model"),
    (b"\x80", "a pickle, which would run code when read", "save the model with maxmargin.save"),
    (b"PK", "a zip archive, perhaps of skops or NumPy", "save the model with maxmargin.save"),
    (b"\x1f\x8b", "compressed with gzip", "unpack it first"),
    (b"BZh", "compressed with bzip2", "unpack it first"),
    (b"\xfd7zXZ", "compressed with xz", "unpack it first"),
]
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def pack(text: dict[str, Any], arrays: list[Array]) -> Iterator[Any]:
    """The pieces of a file; the arrays are C-contiguous and of a type in ``STORABLE``."""
    told = {"format": FORMAT, "version": VERSION, "sha256": BLANK, **text}
    written = json.dumps(told, allow_nan=False, separators=(",", ":"))
    data = memoryview(to_safetensors({str(k): array for k, array in enumerate(arrays)}, {"maxmargin": written}))
    length = int.from_bytes(data[:8], "little")
    if length > MOST_HEADER:
        raise ModelFileError(
            f"The model has too many parts for a model file: its description takes {length / 1e6:.1f} MB, and "
            f"{MOST_HEADER / 1e6:g} MB are the limit."
        )
    at = bytes(data[: 8 + length]).index(BLANK.encode())
    digest = hashlib.sha256(data).hexdigest().encode()
    yield from (data[:at], digest, data[at + len(digest) :])


def unpack(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Array]]:
    """The text and the arrays of a file, after the digest was found right; their content is not yet looked at."""
    name = os.fspath(path)
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for, a device has no end
        raise ModelFileError(f"{name} is not a plain file.")
    with open(path, "rb") as file:
        try:
            return _unpacked(file, os.fstat(file.fileno()).st_size)
        except ModelFileError as error:
            raise ModelFileError(f"{name} {error}") from error.__cause__


def _unpacked(file: BinaryIO, size: int) -> tuple[dict[str, Any], list[Array]]:
    start, brace = file.read(8), file.read(1)
    for beginning, what, remedy in _FOREIGN:
        if brace != b"{" and start.startswith(beginning):
            raise ModelFileError(f"is {what}: {remedy}.")
    if size < 10:
        raise ModelFileError(f"is no model file, or damaged: it has {size} bytes.")
    length = int.from_bytes(start, "little")
    if not 2 <= length <= size - 8:
        raise ModelFileError(f"is no model file, or damaged: its header would take {length:,} of {size:,} bytes.")
    if length > MOST_HEADER:
        raise ModelFileError(f"has a header of {length:,} bytes; model files have {MOST_HEADER:,} at most.")
    if size > 0.9 * available_memory():
        raise ModelFileError(f"is larger than the free memory: {size / 1e9:.1f} GB.")
    raw = brace + file.read(length - 1)
    text, entries = _header(raw, size - 8 - length)
    hashed = hashlib.sha256(start)
    digest = text["sha256"].encode()
    hashed.update(raw.replace(digest, BLANK.encode()))
    arrays: list[Any] = [None] * len(entries)
    for number, dtype, shape in entries:
        array = np.empty(shape, dtype)
        into: Any = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        if file.readinto(into) != len(into):  # type: ignore[attr-defined]
            raise ModelFileError("is damaged: it ended while it was read.")
        hashed.update(into)
        arrays[number] = array
    if hashed.hexdigest().encode() != digest:
        raise ModelFileError("is damaged: its SHA-256 is not the one written in it.")
    for array in arrays:
        if array.dtype == bool and not in_strips(lambda part: part.view(np.uint8) <= 1, array):
            raise ModelFileError("is damaged: a truth value is neither 0 nor 1.")
    return text, arrays


def in_strips(test: Callable[[Array], Array], array: Array) -> bool:
    """Whether all entries pass a test, looked at some at a time so that the answers take no memory to speak of."""
    flat = array.ravel(order="K")
    return all(bool(test(flat[start : start + STRIP]).all()) for start in range(0, len(flat), STRIP))


def _header(raw: bytes, room: int) -> tuple[dict[str, Any], list[tuple[int, Any, tuple[int, ...]]]]:
    """The model's text, and (number, type, shape) of each array in the order of the file, which they fill exactly."""
    outer = _json(raw, "header")
    held = outer.pop("__metadata__", None)
    if not isinstance(held, dict) or set(held) != {"maxmargin"} or not isinstance(held["maxmargin"], str):
        raise ModelFileError("is no model file: it may be a safetensors file of another program.")
    text = _json(held["maxmargin"].encode("utf-8", "surrogatepass"), "text")
    if text.get("format") != FORMAT:
        raise ModelFileError("is no model file of maxmargin.")
    version = text.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"is damaged: its format version is {version!r}.")
    if version > VERSION:
        raise ModelFileError(
            f"was written by a newer maxmargin ({str(text.get('maxmargin'))[:40]}, format {version}; this one reads "
            f"{VERSION}): upgrade maxmargin."
        )
    digest = text.get("sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest) or raw.count(digest.encode()) != 1:
        raise ModelFileError("is damaged: its SHA-256 cannot be found.")
    return text, _entries(outer, room)


def _entries(outer: dict[str, Any], room: int) -> list[tuple[int, Any, tuple[int, ...]]]:
    placed = []
    for key, entry in outer.items():
        if not (re.fullmatch("0|[1-9][0-9]{0,8}", key) and int(key) < len(outer)):
            raise ModelFileError(f"is damaged: its arrays are not numbered from 0 to {len(outer) - 1}.")
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ModelFileError(f"is damaged: array {key} lacks its type, shape or place.")
        dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in TYPES:
            raise ModelFileError(f"is damaged: array {key} has the unknown type {str(dtype)[:20]!r}.")
        if not _counts(shape, 8) or not _counts(place, 2) or len(place) != 2:
            raise ModelFileError(f"is damaged: array {key} has no proper shape or place.")
        begin, end = place
        items = math.prod(shape)  # Python's integers do not overflow
        if math.prod(max(extent, 1) for extent in shape) > LARGEST:
            raise ModelFileError(f"is damaged: array {key} has the impossible shape {tuple(shape)}.")
        if end - begin != items * TYPES[dtype].itemsize:
            raise ModelFileError(f"is damaged: array {key} of shape {tuple(shape)} does not take {end - begin} bytes.")
        placed.append((begin, end, int(key), TYPES[dtype], tuple(shape)))
    placed.sort(key=lambda entry: entry[:3])
    last = 0
    for begin, end, number, _, _ in placed:
        if begin != last:
            raise ModelFileError(f"is damaged: array {number} overlaps another, or bytes between them belong to none.")
        last = end
    if last != room:
        raise ModelFileError(f"is damaged or cut short: its arrays take {last:,} bytes, and there are {room:,}.")
    return [(number, dtype, shape) for _, _, number, dtype, shape in placed]


def _counts(value: Any, most: int) -> bool:
    """Whether this is a list of at most so many counts."""
    return isinstance(value, list) and len(value) <= most and all(type(n) is int and 0 <= n <= LARGEST for n in value)


def _json(raw: bytes, what: str) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
        depth = deepest = 0
        for match in _BRACKETS.finditer(text):
            sign = match.group()
            depth += (sign in ("[", "{")) - (sign in ("]", "}"))
            deepest = max(deepest, depth)
        if deepest > DEPTH:
            raise ModelFileError(f"is no model file: its {what} is nested {deepest} deep.")
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ModelFileError(f"is no model file, or damaged: its {what} is not JSON ({error}).") from error
    except ModelFileError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise ModelFileError(f"is damaged: its {what} holds an impossible number.") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"is no model file: its {what} is not a JSON object.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("is damaged: a name occurs twice.")
    return found


def _refuse(constant: str) -> Any:
    raise ModelFileError(f"is damaged: {constant} is not JSON.")
