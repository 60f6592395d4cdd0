"""Blocks of a text table through pyarrow's CSV reader, where it is installed and the file is large.

It parses numbers about twice as fast as NumPy's reader, and rounds them in the same way. It is used for blocks on
which both readers agree by construction: every quote begins or ends a field, no field holds a doubled quote, no value
stands for a missing one. Whatever pyarrow refuses is read again by the readers of
:mod:`maxmargin.data.text.delimited`, which know how to name line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from maxmargin.data.source import Source
from maxmargin.runtime.validation import Array

ARROW_MIN_BYTES = 8 << 20  # of a file: reading less takes NumPy's reader less time than importing pyarrow
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ARROW_MAX_COLUMNS = 10_000  # pyarrow takes some microseconds for each column of a block


def arrow_reader(source: Source, delimiter: str, width: int) -> Any:
    """pyarrow's CSV module, or None where NumPy's reader is to be used."""
    if delimiter == " " or not 2 <= width <= ARROW_MAX_COLUMNS or source.size() < ARROW_MIN_BYTES:
        return None
    try:
        import pyarrow.csv
    except ImportError:
        return None
    return pyarrow.csv


def read_block(
    csv: Any,
    block: bytes,
    delimiter: str,
    width: int,
    numbers: set[int],
    wanted: Iterable[int],
    gaps: Iterable[str] = (),
) -> list[Array] | None:
    """The wanted columns of a block of whole lines, numbers as float64 and text as objects; None if pyarrow cannot read
    the block, or might read it in another way. ``gaps`` are words that stand for a missing number, which is NaN."""
    import pyarrow as pa

    quotes = block.count(b'"')
    if block.startswith(BYTE_ORDER_MARK):  # pyarrow leaves it out, and within a file it is a letter
        return None
    if quotes and not _quotes_whole_fields(block, delimiter, quotes):
        return None
    names = [str(i) for i in range(width)]
    chosen = [names[i] for i in wanted]
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(use_threads=False, column_names=names, block_size=len(block) + 1),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, quote_char='"' if quotes else False, newlines_in_values=bool(quotes)
            ),
            convert_options=csv.ConvertOptions(
                column_types={names[i]: pa.float64() if i in numbers else pa.string() for i in wanted},
                include_columns=chosen,
                null_values=list(gaps),
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, ValueError, UnicodeError):
        return None
    return [_values(table.column(name)) for name in chosen]


def _quotes_whole_fields(block: bytes, delimiter: str, quotes: int) -> bool:
    mark = re.escape(delimiter.encode())
    begin = len(re.findall(rb'(?:\A|(?<=[\n%s]))"(?!")' % mark, block))
    end = len(re.findall(rb'(?<!")"(?=[\n%s]|\Z)' % mark, block))
    return b'""' not in block and begin == end and begin + end == quotes


def _values(column: Any) -> Array:
    if str(column.type) == "double":
        return np.asarray(column.to_numpy(zero_copy_only=False))
    coded = column.combine_chunks().dictionary_encode()
    if hasattr(coded, "combine_chunks"):
        coded = coded.combine_chunks()
    words = np.empty(len(coded.dictionary), object)
    words[:] = coded.dictionary.to_pylist()
    return np.asarray(words[coded.indices.to_numpy(zero_copy_only=False)])
