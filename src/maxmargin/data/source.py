"""A data file as bytes, whatever it is packed in, and its text in blocks of whole lines.

What a file is packed in shows in its first bytes, whatever it is called. Text is unpacked and cut a megabyte at a
time, so that a small file that unpacks to a large one (a "bomb") fills no memory; one that unpacks to hundreds of times
its size is refused, so that it takes no hours either. A file that is no text at all is refused at its first block, and
a pipe or a device before it is opened.

Text comes out as UTF-8. UTF-16 shows by its first two bytes. A block that is no UTF-8, and holds no letter that only
UTF-8 would write so, is Windows' cp1252, of which latin-1 is a part.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import csv
import gzip
import lzma
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, BinaryIO

from maxmargin.runtime.memory import available_memory

BLOCK_BYTES = 1 << 20  # of text read at once; as lines they take up to thirty times as much
LINE_MAX_BYTES = 64 << 20  # a million columns of numbers with all digits take a third of this
STDIN_MEMORY_BYTES = 64 << 20  # of standard input kept in memory; more goes to a temporary file
STDIN_DISK_SHARE = 0.5  # of the free disk that the temporary file may take
# Text tables pack to a tenth or a hundredth of their size. A file that unpacks to more than 256 MB and to more than 300
# times its size holds the same bytes again and again.
UNPACKED_FREE_BYTES = 256 << 20
UNPACKED_MAX_RATIO = 300

PACKERS: dict[str, Any] = {".gz": gzip, ".bz2": bz2, ".xz": lzma}
PACKED = [(b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz")]
UNPACKING_ERRORS = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)
FOREIGN = [  # first bytes of a file, what it is, what to do
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "unpack it first"),
    (b"\xd0\xcf\x11\xe0", "is an old Excel workbook", "save the sheet as CSV"),
    (b"\x80\x04\x95", "is a pickle, which would run code when read", "write the data as CSV or Parquet"),
    (b"\x80\x05\x95", "is a pickle, which would run code when read", "write the data as CSV or Parquet"),
    (b"\x89HDF", "is an HDF5 file", "write the data as CSV or Parquet"),
    (b"FEA1", "is a Feather file of the first version", "write it again with a newer library"),
    (b"%PDF", "is a PDF file", "give a table"),
    (b"{", "looks like JSON", "write the data as CSV or Parquet"),
    (b"<", "looks like HTML or XML", "write the data as CSV or Parquet"),
]
# Who wants to know how far reading has come is called with the name, the bytes read and the bytes of a file.
reading: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("reading", default=None)

EMPTY = "is empty: a data file needs at least one row"


def csv_reader(lines: Iterable[str], **options: Any) -> Any:
    """``csv.reader`` for fields as long as a line may be; by default it refuses more than 131,072 letters. The limit is
    the process's, and is only ever raised."""
    csv.field_size_limit(max(csv.field_size_limit(), LINE_MAX_BYTES))
    return csv.reader(lines, **options)


class DataFileError(ValueError):
    """Error in a data file; the message names the file, the position, the cause and the remedy.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "people.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("age,height,label\\n31,1.8,a\\n17,abc,b\\n45,1.7,a\\n")
    ...     read_data(path)
    Traceback (most recent call last):
        ...
    maxmargin.io.DataFileError: ...people.csv, column 'height', line 3: 'abc' is not a number: ...
    """

    __module__ = "maxmargin.io"


class Source:
    """Bytes that can be read again from their beginning: a file, or standard input, which is copied on first use."""

    def __init__(self, source: Any) -> None:
        if isinstance(source, str) and source == "-":
            self.name, self.path = "standard input", None
        elif isinstance(source, (str, os.PathLike)):
            self.path = os.fsdecode(source)
            self.name = self.path
        else:
            raise TypeError(f"source must be a path, or '-' for standard input; got {source!r:.80}.")
        self._copy: Any = None
        with self.raw() as file:
            head = file.read(64)
        if not head:
            raise self.error(EMPTY)
        self.packed = next((name for magic, name in PACKED if head.startswith(magic)), None)
        if self.packed is None and os.path.splitext(self.name)[1].lower() in PACKERS:
            raise self.error("cannot be unpacked: it is not what its extension says; is it cut short, or misnamed?")
        self.head = head if self.packed is None else self._unpacked_head()

    def error(self, what: str, line: int | None = None, column: str | None = None, kind: str = "line") -> DataFileError:
        """An error about this file, on one line: ``name, column 'age', line 17: what``. Files that have no lines have
        rows, which count from 1."""
        place = f", {column}" if column else ""
        place += f", {kind} {line}" if line is not None else ""
        end = "" if what.endswith("?") else "."
        return DataFileError(" ".join(f"{self.name}{place}{':' if place else ''} {what}{end}".splitlines()))

    def missing(self, line: int, column: str, value: str = "", kind: str = "line") -> DataFileError:
        """The error for a value that is not there."""
        shown = f"{value!r} stands for a missing value" if value else "the value is missing"
        return self.error(f"{shown}: fill it in, or leave out the row or the column", line, column, kind)

    def extension(self) -> str:
        """The end of the name, in small letters, without that of a packer."""
        if self.path is None:
            return ""
        stem, last = os.path.splitext(os.path.basename(self.path).lower())
        return os.path.splitext(stem)[1] if last in PACKERS else last

    @contextlib.contextmanager
    def raw(self) -> Iterator[BinaryIO]:
        """The bytes as they are stored."""
        if self.path is None:
            yield self._standard_input()
            return
        try:
            status = os.stat(self.path)
            if stat.S_ISDIR(status.st_mode):
                raise self.error("is a folder: give the name of a file")
            if not stat.S_ISREG(status.st_mode):
                kind = "a named pipe" if stat.S_ISFIFO(status.st_mode) else "a device or a socket"
                raise self.error(f"is {kind}, not a file: connect it to standard input, and give '-'")
            file = open(self.path, "rb")  # noqa: SIM115  # closed below
        except OSError as error:
            raise self._refused(error) from error
        except ValueError as error:
            if isinstance(error, DataFileError):
                raise
            raise DataFileError(f"{self.name!r} is no name of a file: {error}.") from error
        with file:
            yield file

    def size(self) -> int:
        """The bytes as they are stored; of standard input, those that were copied."""
        if self.path is not None:
            return os.path.getsize(self.path)
        with self.raw() as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(0)
            return end

    @contextlib.contextmanager
    def unpacked(self) -> Iterator[BinaryIO]:
        """The bytes after unpacking."""
        with self.raw() as file, self._unpacked_from(file) as inner:
            yield inner

    @contextlib.contextmanager
    def _unpacked_from(self, file: BinaryIO) -> Iterator[BinaryIO]:
        if self.packed is None:
            yield self._as_bytes_of_utf8(file)
            return
        with PACKERS[self.packed].open(file, "rb") as inner:
            yield self._as_bytes_of_utf8(inner)

    def _as_bytes_of_utf8(self, file: Any) -> Any:
        if not getattr(self, "head", b"").startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return file
        return codecs.EncodedFile(file, "utf-8", "utf-16")

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines, about a megabyte at a time, with the number of the first; line ends are ``\\n``."""
        line, rest, unpacked, size, notify = 1, b"", 0, self.size(), reading.get()
        with self.raw() as raw, self._unpacked_from(raw) as file:
            first = True
            while piece := self._piece(file):
                unpacked += len(piece)
                if self.packed and unpacked > UNPACKED_FREE_BYTES and unpacked > UNPACKED_MAX_RATIO * size:
                    raise self.error(
                        f"unpacks to more than {UNPACKED_MAX_RATIO} times its {size:,} bytes: it is damaged or forged; "
                        "if not, unpack it first"
                    )
                if notify is not None:
                    notify(self.name, raw.tell(), size)
                if first:
                    self._refuse_foreign(piece)
                    piece, first = piece.removeprefix(b"\xef\xbb\xbf"), False
                if b"\0" in piece:
                    number = line + rest.count(b"\n") + piece[: piece.index(b"\0")].count(b"\n")
                    raise self.error("is not a text file, or is damaged: it contains a zero byte", number)
                if b"\r" in piece:
                    if piece.endswith(b"\r"):
                        piece += self._piece(file, 1)
                    piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                end = piece.rfind(b"\n") + 1
                if end == 0:
                    rest += piece  # at most 64 times, so that copying stays linear in the bytes
                    if len(rest) > LINE_MAX_BYTES:
                        raise self.error(f"is longer than {LINE_MAX_BYTES >> 20} MB: is this a text file?", line)
                    continue
                block = rest + piece[:end]
                rest = piece[end:]
                yield line, self._in_utf8(block, line)
                line += block.count(b"\n")
            if rest:
                yield line, self._in_utf8(rest + b"\n", line)

    def _in_utf8(self, block: bytes, line: int) -> bytes:
        """Lines that are UTF-8 as they are, and others from cp1252; the first byte that is neither is named."""
        try:
            block.isascii() or block.decode("utf-8")
        except UnicodeDecodeError as error:
            others = block.decode("utf-8", "surrogateescape")
            if all(letter.isascii() or "\udc80" <= letter <= "\udcff" for letter in others):
                return block.decode("cp1252", "replace").replace("\ufffd", "?").encode()
            number = line + block[: error.start].count(b"\n")
            raise self.error(
                f"the byte {block[error.start]:#04x} is no UTF-8: save the file as UTF-8", number
            ) from error
        return block

    def check_room(self, held: float) -> None:
        """Refuse to hold more than memory takes, twice for a moment."""
        if held > 1e8 and held > 0.8 * available_memory():
            raise self.error(
                f"does not fit into memory: {held / 1e9:.1f} GB are read already; read it with read_batches, or use "
                "fewer rows"
            )

    def _piece(self, file: Any, size: int | None = None) -> bytes:
        try:
            return file.read(BLOCK_BYTES if size is None else size)
        except UNPACKING_ERRORS as error:
            raise self.error(f"cannot be unpacked, it is cut short or damaged: {error}") from error
        except UnicodeDecodeError as error:
            raise self.error("is no UTF-16, though it begins so: save it as UTF-8") from error
        except OSError as error:
            if self.packed is not None and error.errno is None:  # bz2 says so
                raise self.error(f"cannot be unpacked, it is cut short or damaged: {error}") from error
            raise self._refused(error) from error

    def _unpacked_head(self) -> bytes:
        with self.unpacked() as file:
            head = self._piece(file, 64)
        if not head:
            raise self.error(EMPTY)
        return head

    def _refused(self, error: OSError) -> DataFileError:
        if isinstance(error, FileNotFoundError):
            if "://" in self.name:
                return self.error("is an address, not a file: download it first")
            return self.error("does not exist: check the name and the folder")
        if isinstance(error, PermissionError):
            return self.error("must not be read: change its permissions")
        return self.error(f"cannot be read: {error.strerror or error}")

    def _refuse_foreign(self, head: bytes) -> None:
        for magic, what, remedy in FOREIGN:
            if head.startswith(magic):
                raise self.error(f"{what}: {remedy}")

    def _standard_input(self) -> BinaryIO:
        if self._copy is None:
            stream = getattr(sys.stdin, "buffer", None)
            if stream is None:
                raise self.error("is closed: give the name of a file")
            self._copy = tempfile.SpooledTemporaryFile(max_size=STDIN_MEMORY_BYTES)  # noqa: SIM115  # read again and again
            weakref.finalize(self, self._copy.close)
            room = STDIN_DISK_SHARE * shutil.disk_usage(tempfile.gettempdir()).free
            copied = 0
            while piece := stream.read(BLOCK_BYTES):
                if not copied and not piece.strip(b"\0"):
                    raise self.error("is no data: it begins with zero bytes")
                copied += len(piece)
                if copied > room:
                    raise self.error(
                        f"has no end, or is too long for the temporary folder: {copied / 1e9:.1f} GB are read already; "
                        "write it to a file and give its name"
                    )
                self._copy.write(piece)
        self._copy.seek(0)
        return self._copy
