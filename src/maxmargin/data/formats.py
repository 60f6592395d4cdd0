"""Which format a data file has, what may be asked of it, and the table in it.

    svmlight, LIBSVM     .svm .libsvm .svmlight .t .txt .dat, or no extension; plain, .gz, .bz2 or .xz
    CSV, TSV             .csv .tsv; the same packings
    ARFF                 .arff; the same packings
    Excel                .xlsx; needs openpyxl
    Parquet, Arrow       .parquet .arrow .feather; needs pyarrow
    NumPy                .npz .npy

A name's extension says the format, and where it does not, the content does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from maxmargin.data.layout import place_of
from maxmargin.data.source import EMPTY, Source
from maxmargin.data.text.delimited import DelimitedTable
from maxmargin.runtime.validation import check_choice, check_flag, check_number

FORMATS = ("svmlight", "libsvm", "csv", "tsv", "arff", "xlsx", "parquet", "arrow", "feather", "npz", "npy")
BY_EXTENSION = {
    **dict.fromkeys((".svm", ".libsvm", ".svmlight", ".t"), "svmlight"),
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".arff": "arff",
    **dict.fromkeys((".xlsx", ".xlsm"), "xlsx"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    ".npz": "npz",
    ".npy": "npy",
}
BY_CONTENT = [(b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\x93NUMPY", "npy"), (b"PK\x03\x04", "npz")]
XLSX_PARTS = (b"[Content_Types].xml", b"docProps/", b"_rels/", b"xl/")  # with one of which an Excel file begins
PAIRS = re.compile(rb"[^\s:,;|]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?|(\d+:\S+\s*)+(#.*)?")


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
    if target is not None and kind in ("svmlight", "arrays"):
        where = "at the beginning of each line" if kind == "svmlight" else "beside the points"
        raise source.error(f"has its targets {where}, not in a column: leave target out")
    if header is not None and kind not in ("csv", "tsv", "xlsx"):
        raise source.error("is no CSV file, so there is no header: leave header out")
    if zero_based != "auto" and kind != "svmlight":
        raise source.error("is no svmlight file, so there are no indices: leave zero_based out")


def format_of(source: Source, wanted: str | None) -> str:
    """The format of a file: as given, or by its first bytes, its name, or its first line."""
    extension = source.extension()
    if wanted is not None:
        wanted = check_choice("format", wanted, FORMATS)
        return {"libsvm": "svmlight", "feather": "arrow"}.get(wanted, wanted)
    for magic, name in BY_CONTENT:
        if source.head.startswith(magic):
            if name == "npz" and (extension in (".xlsx", ".xlsm") or any(part in source.head for part in XLSX_PARTS)):
                return "xlsx"
            if name == "npz" and extension != ".npz" and source.path is not None:
                raise source.error("is a zip archive: unpack it first, or call it .npz if NumPy wrote it")
            return name
    if extension in BY_EXTENSION:
        return BY_EXTENSION[extension]
    _, block = next(iter(source.blocks()), (1, b""))
    lines = [line for line in block.split(b"\n", 1000) if line.strip() and not line.lstrip().startswith(b"#")]
    if not lines:
        raise source.error(EMPTY)
    if any(PAIRS.fullmatch(line.strip()) for line in lines[:2]):
        return "svmlight"
    if lines[0].strip().lower().startswith(b"@relation"):
        return "arff"
    if any(mark in lines[0] for mark in (b",", b";", b"\t", b"|")):
        return "csv"
    widths = {len(line.split()) for line in lines[1:20]} or {len(lines[0].split())}
    if len(widths) == 1 and max(widths) > 1 and len(lines[0].split()) in (max(widths), max(widths) - 1):
        return "csv"
    if re.fullmatch(rb"[-+.\deE]+", lines[0].strip()):
        return "svmlight"  # a point at the origin
    raise source.error(
        f"is of no known format{f' ({extension})' if extension else ''}: give svmlight, CSV, Parquet, Arrow or NumPy "
        "data, or say which with format"
    )


def table_of(source: Source, kind: str, header: bool | None) -> Any:
    """The table in a file."""
    if kind in ("csv", "tsv"):
        return DelimitedTable(source, "\t" if kind == "tsv" else None, header)
    if kind == "arff":
        from maxmargin.data.rows import read_arff

        return read_arff(source)
    if source.packed is not None:
        raise source.error("is packed: unpack it first, its format is compressed in itself")
    if kind == "npy":
        from maxmargin.data.arrays import ArrayTable, map_npy

        return ArrayTable(source, map_npy(source))
    if kind == "xlsx":
        from maxmargin.data.rows import read_workbook

        return read_workbook(source, header)
    from maxmargin.data.columnar import ColumnarTable

    return ColumnarTable(source, kind)


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
