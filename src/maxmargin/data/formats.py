"""Which format a data file has, what may be asked of it, and the table in it.

    svmlight, LIBSVM     .svm .libsvm .svmlight .t .txt .dat, or no extension; plain, .gz, .bz2 or .xz
    CSV, TSV             .csv .tsv; the same packings
    ARFF                 .arff; the same packings
    Excel                .xlsx; needs openpyxl
    Parquet, Arrow       .parquet .arrow .feather; needs pyarrow
    NumPy                .npz .npy

A name's extension says the format, and where it does not, the content does. A new format is one file with a reader, and
one entry of ``FORMATS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from maxmargin.data.layout import place_of
from maxmargin.data.source import EMPTY, Source
from maxmargin.runtime.validation import check_choice, check_flag, check_number

WORKBOOK_PARTS = (b"[Content_Types].xml", b"docProps/", b"_rels/", b"xl/")  # with one of which an Excel file begins
PAIRS = re.compile(rb"[^\s:,;|]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?|(\d+:\S+\s*)+(#.*)?")
NUMBER = re.compile(rb"[-+.\deE]+")
SNIFFED_LINES = 20  # of a file without a known extension


@dataclass(frozen=True)
class Format:
    """A format of data files.

    reader: ``"module:function"``; the function takes the source and ``header`` and returns a table: ``names``,
        ``width``, ``kinds``, ``chunks`` and ``raw_columns``, as :class:`~maxmargin.data.arrays.ArrayTable` has them
    extensions: those of its file names, in small letters
    begins: whether a file is of this format, from its first bytes; this counts more than the extension
    lines: of a text format: how sure its first lines make it, from 0 to 3. Empty lines and comments are left out.
    names: further names that users may give
    header, tabular: whether the option ``header`` means something, and whether it holds a table rather than points and
        targets
    text: whether it is text, which may be packed
    """

    reader: str
    extensions: tuple[str, ...]
    begins: Callable[[Source], bool] | None = None
    lines: Callable[[list[bytes]], int] | None = None
    names: tuple[str, ...] = ()
    header: bool = False
    tabular: bool = True
    text: bool = False


def _magic(first: bytes) -> Callable[[Source], bool]:
    return lambda source: source.head.startswith(first)


def _is_zip(source: Source) -> bool:
    return source.head.startswith(b"PK\x03\x04")


def _is_workbook(source: Source) -> bool:
    named = source.extension() in FORMATS["xlsx"].extensions
    return _is_zip(source) and (named or any(part in source.head for part in WORKBOOK_PARTS))


def _is_npz(source: Source) -> bool:
    if _is_zip(source) and source.extension() != ".npz" and source.path is not None:
        raise source.error("is a zip archive: unpack it first, or call it .npz if NumPy wrote it")
    return _is_zip(source)


def _pairs(lines: list[bytes]) -> int:
    if any(PAIRS.fullmatch(line.strip()) for line in lines[:2]):
        return 3
    return 1 if NUMBER.fullmatch(lines[0].strip()) else 0  # a point at the origin


def _fields(lines: list[bytes]) -> int:
    if any(mark in lines[0] for mark in (b",", b";", b"\t", b"|")):
        return 2
    first = len(lines[0].split())
    widths = {len(line.split()) for line in lines[1:SNIFFED_LINES]} or {first}
    return 2 if len(widths) == 1 and max(widths) > 1 and first in (max(widths), max(widths) - 1) else 0


def _relation(lines: list[bytes]) -> int:
    return 3 if lines[0].strip().lower().startswith(b"@relation") else 0


FORMATS: dict[str, Format] = {
    "svmlight": Format(
        "maxmargin.data.text.sparse_text:SparseText",
        (".svm", ".libsvm", ".svmlight", ".t"),
        lines=_pairs,
        names=("libsvm",),
        tabular=False,
        text=True,
    ),
    "csv": Format("maxmargin.data.text.delimited:read_csv", (".csv",), lines=_fields, header=True, text=True),
    "tsv": Format("maxmargin.data.text.delimited:read_tsv", (".tsv", ".tab"), header=True, text=True),
    "arff": Format("maxmargin.data.rows:read_arff", (".arff",), lines=_relation, text=True),
    "xlsx": Format("maxmargin.data.rows:read_workbook", (".xlsx", ".xlsm"), _is_workbook, header=True),
    "parquet": Format("maxmargin.data.columnar:read_parquet", (".parquet", ".pq"), _magic(b"PAR1")),
    "arrow": Format(
        "maxmargin.data.columnar:read_arrow", (".arrow", ".feather", ".ipc"), _magic(b"ARROW1"), names=("feather",)
    ),
    "npz": Format("maxmargin.data.arrays:read_npz", (".npz",), _is_npz, tabular=False),
    "npy": Format("maxmargin.data.arrays:read_npy", (".npy",), _magic(b"\x93NUMPY")),
}


def check_options(
    *, header: Any = None, zero_based: Any = "auto", n_features: Any = None, labelled: Any = True
) -> None:
    """The options that readers have in common."""
    if header is not None:
        check_flag("header", header)
    if zero_based != "auto" or not isinstance(zero_based, str):
        check_flag("zero_based", zero_based)
    if n_features is not None:
        check_number("n_features", n_features, least=1, integer=True)
    check_flag("labelled", labelled)


def refuse_unused(source: Source, kind: str, target: Any, header: Any, zero_based: Any) -> None:
    """An option that means nothing for a format is a mistake, and not passed over."""
    if target is not None and kind == "svmlight":
        raise source.error("has its targets at the beginning of each line, not in a column: leave target out")
    if header is not None and not FORMATS[kind].header:
        raise source.error("is no CSV file, so there is no header: leave header out")
    if zero_based != "auto" and kind != "svmlight":
        raise source.error("is no svmlight file, so there are no indices: leave zero_based out")


def format_of(source: Source, wanted: str | None) -> str:
    """The format of a file: as given, or by its first bytes, its name, or its first lines."""
    if wanted is not None:
        known = {name: kind for kind, form in FORMATS.items() for name in (kind, *form.names)}
        return known[check_choice("format", wanted, known)]
    extension = source.extension()
    for kind, form in FORMATS.items():
        if form.begins is not None and form.begins(source):
            return kind
    for kind, form in FORMATS.items():
        if extension in form.extensions:
            return kind
    _, block = next(iter(source.blocks()), (1, b""))
    lines = [line for line in block.split(b"\n", 1000) if line.strip() and not line.lstrip().startswith(b"#")]
    if not lines:
        raise source.error(EMPTY)
    sure = {kind: form.lines(lines) for kind, form in FORMATS.items() if form.lines is not None}
    best = max(sure, key=sure.__getitem__)
    if not sure[best]:
        raise source.error(
            f"is of no known format{f' ({extension})' if extension else ''}: give svmlight, CSV, Parquet, Arrow or "
            "NumPy data, or say which with format"
        )
    return best


def table_of(source: Source, kind: str, header: bool | None) -> Any:
    """The table in a file; of an ``.npz`` archive the table of its only array, or its points and targets."""
    form = FORMATS[kind]
    if source.packed is not None and not form.text:
        raise source.error("is packed: unpack it first, its format is compressed in itself")
    module, name = form.reader.split(":")
    return getattr(import_module(module), name)(source, header)


def text_positions(source: Source, table: Any, text: Iterable[str | int]) -> list[int]:
    """Positions of the columns to take as text; a table that lacks one of them does not mind."""
    if isinstance(text, str):
        raise TypeError(f"text must be a list of columns; got {text!r}.")
    names = table.names
    return [
        names.index(column)
        if isinstance(column, str) and names is not None
        else place_of(source, names, table.width, column)
        for column in text
        if not isinstance(column, str) or (names is not None and column in names)
    ]
