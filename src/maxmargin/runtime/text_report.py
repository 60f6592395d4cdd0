"""Results that print as aligned lines in a terminal, and as a table in a notebook."""

from __future__ import annotations

import html
import importlib
import re
from collections.abc import Sequence
from typing import Any, ClassVar


def pandas() -> Any:
    """The module, for results that can be had as a DataFrame."""
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas") from error


def tolerance_text(tol: float) -> str:
    """A tolerance with as many digits as it needs: 1e-03, 1.38e-03."""
    short = f"{tol:.0e}"
    return short if float(short) == tol else f"{tol:.2e}"


def short_numbers(text: str, digits: int) -> str:
    """The text with its long numbers cut to so many digits: RBF(gamma=0.1507)."""
    return re.sub(rf"\d+\.\d{{{digits},}}(?:e[-+]?\d+)?", lambda number: f"{float(number[0]):.{digits}g}", text)


def aligned(table: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """The rows of a table as lines; the first columns begin at the left, the others end at the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    sides = ["<" if column < left else ">" for column in range(len(widths))]
    return ["  ".join(f"{c:{side}{w}}" for c, side, w in zip(row, sides, widths, strict=True)) for row in table]


def _html_table(rows: Sequence[Sequence[str]], heads: int, caption: str = "") -> str:
    """A table of HTML, the first of its rows heads, and the first cell of each."""
    made = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    for i, cells in enumerate(rows):
        tags = ["th" if i < heads or j == 0 else "td" for j in range(len(cells))]
        row = [f"<{t} style='text-align:left'>{html.escape(c)}</{t}>" for t, c in zip(tags, cells, strict=True)]
        made += f"<tr>{''.join(row)}</tr>"
    return f"<table>{made}</table>"


class TextReport:
    """A result that prints: lines of a name and a text, tables with a heading, and notes below them."""

    _left_columns: ClassVar[int] = 0  # of a table that begin at the left

    def _lines(self) -> list[tuple[str, str]]:
        return []

    def _tables(self) -> list[tuple[str, list[list[str]]]]:
        """Headings, and tables whose first row names the columns."""
        return []

    def _notes(self) -> list[str]:
        return []

    def __str__(self) -> str:
        lines = self._lines()
        width = max((len(name) for name, _ in lines), default=0)
        text = [f"{name:<{width}}  {value}" for name, value in lines]
        for heading, table in self._tables():
            text += [""] * bool(text) + [heading] * bool(heading) + aligned(table, self._left_columns)
        return "\n".join(text + self._notes())

    def _repr_html_(self) -> str:
        lines = self._lines()
        parts = [_html_table(lines, 0)] if lines else []
        parts += [_html_table(table, 1, heading) for heading, table in self._tables()]
        return "".join(parts + [f"<p>{html.escape(note)}</p>" for note in self._notes()])
