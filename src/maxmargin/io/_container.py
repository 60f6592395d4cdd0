"""The bytes of a model file: arrays and a text, in the safetensors format.

    8 bytes   length of the header, little-endian
    header    JSON: of each array its type, shape and place; under "__metadata__" the text of the model, itself JSON
    arrays    their bytes, one after the other

The text holds the SHA-256 of the whole file, computed with 64 zeros in its own place, so that no changed bit goes
unnoticed. Anyone can make a file whose digest is right: it detects damage, not malice. So nothing in a file is trusted.
Lengths are compared with that of the file before anything is read or allocated, and each array is read into memory of
its own: arrays never take more than the file. The header is limited in bytes and in JSON containers, because parsed
JSON takes many times the memory of its text.

The letters of texts are the one exception: they become Python strings, so that they are read as a queue of blocks which
are released one after the other while the strings are made (:class:`Letters`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import save as to_safetensors

from maxmargin.runtime.memory import available_memory
from maxmargin.runtime.validation import Array

FORMAT = "maxmargin model"
VERSION = 1
HEADER_MAX_BYTES = 1_000_000  # some thousand objects; a model with more of them belongs in arrays
HEADER_MAX_CONTAINERS = 100_000  # JSON lists and objects: parsed, each takes up to 230 bytes, together 23 MB
HEADER_MAX_DEPTH = 32  # of containers within containers; those of our estimators stay below 10
BLOCK_ENTRIES = 1 << 20  # entries checked at a time: the temporary arrays of a check take a few megabytes
COUNT_MAX = 2**48  # lengths beyond the address space of today's processors are forged
BLANK_DIGEST = "0" * 64

TYPES = {
    "BOOL": np.dtype("?"),
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
STORABLE = frozenset(TYPES.values())

_FOREIGN = [  # first bytes of a file, what it is, what to do
    (b"svm_type", "a model of LIBSVM", "read it with read_libsvm_model"),
    (b"\x80", "a pickle, which would run code when read", "save the model with maxmargin.io.save"),
    (b"PK", "a zip archive, perhaps of skops or NumPy", "save the model with maxmargin.io.save"),
    (b"\x1f\x8b", "compressed with gzip", "unpack it first"),
    (b"BZh", "compressed with bzip2", "unpack it first"),
    (b"\xfd7zXZ", "compressed with xz", "unpack it first"),
]
_BRACKETS = re.compile(rb'"[^"]*"|[\[\]{}]')  # in JSON without escapes: a string, or the start or end of a container


class ModelFileError(ValueError):
    """Error in a model file, or a model that the file format cannot represent.

    The file may be damaged, forged, in another format, or from a newer version.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.mm")
    ...     with open(path, "wb") as file:
    ...         _ = file.write(b"svm_type c_svc")
    ...     load(path)
    Traceback (most recent call last):
        ...
    maxmargin.io.ModelFileError: ...model.mm is not a maxmargin model file but a model of LIBSVM: read it with
    read_libsvm_model.
    """

    __module__ = "maxmargin.io"


class Letters:
    """The bytes of texts, in blocks that are released while they are taken."""

    def __init__(self, blocks: deque[Any], size: int) -> None:
        self.blocks, self.size = blocks, size
        self._at = 0  # in the first block

    def take(self, count: int) -> bytes:
        """The next bytes; what was taken is no longer held."""
        parts = []
        while count:
            block = self.blocks[0]
            part = block[self._at : self._at + count]
            parts.append(part)
            count -= len(part)
            self._at += len(part)
            if self._at == len(block):
                self.blocks.popleft()
                self._at = 0
        return b"".join(parts)


def pack(text: dict[str, Any], arrays: list[Array]) -> Iterator[Any]:
    """The pieces of a file; the arrays are C-contiguous and of a type in ``STORABLE``."""
    described = {"format": FORMAT, "version": VERSION, "sha256": BLANK_DIGEST, **text}
    written = json.dumps(described, allow_nan=False, separators=(",", ":"))
    data = memoryview(to_safetensors({str(k): array for k, array in enumerate(arrays)}, {"maxmargin": written}))
    length = int.from_bytes(data[:8], "little")
    if length > HEADER_MAX_BYTES:
        raise ModelFileError(
            f"The model has too many parts for a model file: its description takes {length / 1e6:.1f} MB, and "
            f"{HEADER_MAX_BYTES / 1e6:g} MB are the limit."
        )
    at = bytes(data[: 8 + length]).index(BLANK_DIGEST.encode())
    digest = hashlib.sha256(data).hexdigest().encode()
    yield from (data[:at], digest, data[at + len(digest) :])


def unpack(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Array]]:
    """The text and the arrays of a file with the right digest; their content is not checked yet. An array that the text
    uses as letters of texts is a :class:`Letters`."""
    name = os.fspath(path)
    check_regular(name)
    with open(path, "rb") as file:
        try:
            return _unpacked(file, os.fstat(file.fileno()).st_size)
        except ModelFileError as error:
            raise ModelFileError(f"{name} {error}") from error.__cause__


def check_regular(name: Any) -> None:
    """Refuse what is not a regular file: opening a pipe would wait for its writer, a device has no end."""
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, "No such file: check the name and the folder", name) from None
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    raise ModelFileError(f"{os.fsdecode(name)} is {kind}, not a file: give the name of a model file.")


def _unpacked(file: BinaryIO, size: int) -> tuple[dict[str, Any], list[Array]]:
    start, brace = file.read(8), file.read(1)
    for beginning, what, remedy in _FOREIGN:
        if brace != b"{" and start.startswith(beginning):
            raise ModelFileError(f"is not a maxmargin model file but {what}: {remedy}.")
    if size < 10:
        raise ModelFileError(f"is not a maxmargin model file, or it is cut short: it has {size} bytes.")
    length = int.from_bytes(start, "little")
    if not 2 <= length <= size - 8:
        raise ModelFileError(
            "is not a maxmargin model file, or it is damaged: it does not begin with the length of its header."
        )
    if length > HEADER_MAX_BYTES:
        raise ModelFileError(
            f"is not a maxmargin model file, or it is damaged: it has a header of {length:,} bytes, and model files "
            f"have {HEADER_MAX_BYTES:,} at most."
        )
    if size > 0.9 * available_memory():
        raise ModelFileError(f"is larger than the free memory: {size / 1e9:.1f} GB.")
    raw = brace + file.read(length - 1)
    text, entries = _header(raw, size - 8 - length)
    hashed = hashlib.sha256(start)
    digest = text["sha256"].encode()
    hashed.update(raw.replace(digest, BLANK_DIGEST.encode()))
    of_texts = _letters_of_texts([text.get("objects"), text.get("root")])
    arrays: list[Any] = [None] * len(entries)
    for number, dtype, shape in entries:
        if number in of_texts and dtype == np.uint8 and len(shape) == 1:
            arrays[number] = _letters(file, shape[0], hashed)
            continue
        array = np.empty(shape, dtype)
        _fill(file, memoryview(array.reshape(-1).view(np.uint8)), hashed)  # type: ignore[arg-type]
        arrays[number] = array
    if hashed.hexdigest().encode() != digest:
        raise ModelFileError("is damaged: its SHA-256 is not the one written in it.")
    for array in arrays:
        boolean = isinstance(array, np.ndarray) and array.dtype == bool
        if boolean and not all_in_blocks(lambda part: part.view(np.uint8) <= 1, array):
            raise ModelFileError("is damaged: a truth value is neither 0 nor 1.")
    return text, arrays


def _fill(file: Any, into: Any, hashed: Any) -> None:
    if file.readinto(into) != len(into):
        raise ModelFileError("is damaged: it ended while it was read.")
    hashed.update(into)


def _letters(file: Any, size: int, hashed: Any) -> Letters:
    blocks: deque[Any] = deque()
    for begin in range(0, size, BLOCK_ENTRIES):
        block = bytearray(min(BLOCK_ENTRIES, size - begin))
        _fill(file, block, hashed)
        blocks.append(block)
    return Letters(blocks, size)


def _letters_of_texts(tree: Any) -> set[Any]:
    """The numbers of the arrays that contain text, according to the header; the decoder checks it."""
    found, waiting = set(), [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            content = node.get("texts") if len(node) == 1 else None
            if isinstance(content, list) and content and type(content[0]) is int:
                found.add(content[0])
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return found


def all_in_blocks(test: Callable[[Array], Array], array: Array) -> bool:
    """Whether all entries pass a test; evaluated in blocks to save memory."""
    flat = array.ravel(order="K")
    return all(bool(test(flat[at : at + BLOCK_ENTRIES]).all()) for at in range(0, len(flat), BLOCK_ENTRIES))


def _header(raw: bytes, room: int) -> tuple[dict[str, Any], list[tuple[int, Any, tuple[int, ...]]]]:
    """The model's text, and (number, type, shape) of each array in the order of the file, which they fill exactly."""
    outer = _json(raw, "header")
    held = outer.pop("__metadata__", None)
    if not isinstance(held, dict) or set(held) != {"maxmargin"} or not isinstance(held["maxmargin"], str):
        raise ModelFileError("is not a maxmargin model file: it may be a safetensors file of another program.")
    text = _json(held["maxmargin"].encode("utf-8", "surrogatepass"), "text")
    if text.get("format") != FORMAT:
        raise ModelFileError("is not a maxmargin model file: its header names another format.")
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
        raise ModelFileError("is damaged: its header does not hold its SHA-256 once.")
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
        if math.prod(max(extent, 1) for extent in shape) > COUNT_MAX:
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
    return isinstance(value, list) and len(value) <= most and all(type(n) is int and 0 <= n <= COUNT_MAX for n in value)


def _json(raw: bytes, what: str) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
        depth = deepest = containers = 0
        for match in _BRACKETS.finditer(raw.replace(b"\\\\", b"").replace(b'\\"', b"")):
            sign = match.group()
            opens = sign in (b"[", b"{")
            containers += opens
            depth += opens - (sign in (b"]", b"}"))
            deepest = max(deepest, depth)
        if deepest > HEADER_MAX_DEPTH:
            raise ModelFileError(f"is not a maxmargin model file: its {what} is nested {deepest} deep.")
        if containers > HEADER_MAX_CONTAINERS:
            raise ModelFileError(
                f"is damaged: its {what} has {containers:,} lists and objects; {HEADER_MAX_CONTAINERS:,} are the limit."
            )
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ModelFileError(
            f"is not a maxmargin model file, or it is damaged: its {what} is not JSON ({error})."
        ) from error
    except ModelFileError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise ModelFileError(f"is damaged: its {what} holds an impossible number.") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"is not a maxmargin model file: its {what} is not a JSON object.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("is damaged: a name occurs twice.")
    return found


def _refuse(constant: str) -> Any:
    raise ModelFileError(f"is damaged: {constant} is not JSON.")
