"""Points from text that was copied out of a spreadsheet or a file: x, y and, if there is one, the class.

Columns are separated by tabs, semicolons, commas or spaces, decided once for the whole text. A first line without a
number is a header. Classes may be numbers or words; they are numbered 0, 1, ... in their order. Rows that cannot be
read are left out, and named.
"""

from __future__ import annotations

import math
import re
from typing import Any

from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import MAX_CLASSES, MAX_COORDINATE, MAX_POINTS, RequestError

COLUMNS = 3
NAMED_MAX_ROWS = 3  # rows that are named one by one


def paste(request: dict[str, Any], control: Run) -> dict[str, Any]:
    """The answer to ``POST /api/paste``.

    request: ``text``
    Returns ``points``, the names of the ``classes``, and a ``sentence`` on what was read and left out.
    """
    text = request.get("text")
    if not isinstance(text, str):
        raise RequestError("text must be the pasted text.", "text")
    lines = [(i + 1, line) for i, line in enumerate(text.lstrip("\ufeff").splitlines()) if line.strip()]
    lines = [(i, line) for i, line in lines if not line.lstrip().startswith("#")]
    if not lines:
        raise RequestError("There is nothing in the pasted text: copy rows with x, y and a class.", "text")
    separator, comma = _separator(lines[-1][1])
    table = [(i, _cells(line, separator)) for i, line in lines]
    if all(_number(cell, comma) is None for cell in table[0][1][:2]):
        table = table[1:]
    if len(table) > MAX_POINTS:
        raise RequestError(
            f"{len(table):,} rows are more than the page can take: paste at most {MAX_POINTS:,}.", "text"
        )
    columns = max((len(cells) for _, cells in table), default=0)
    if columns > COLUMNS:
        raise RequestError(
            f"The table has {columns} columns: keep x, y and the class, in this order, and leave out the others.",
            "text",
        )
    control.check()
    read, wrong = [], []
    for i, cells in table:
        x, y = (_number(cell, comma) for cell in (*cells, "", "")[:2])
        label = cells[2] if len(cells) > 2 else "0"
        if x is None or y is None:
            wrong.append(f"row {i} has no number in column {1 if x is None else 2}")
        elif max(abs(x), abs(y)) > MAX_COORDINATE:
            wrong.append(f"row {i} is further away than {MAX_COORDINATE:,.0f}")
        elif not label:
            wrong.append(f"row {i} has no class in column 3")
        else:
            read.append((x, y, label))
    if not read:
        cause = f" ({wrong[0]})" if wrong else ""
        raise RequestError(f"No row could be read{cause}: give x, y and a class, separated by commas or tabs.", "text")
    names = sorted({label for _, _, label in read}, key=_order)
    if len(names) > MAX_CLASSES:
        raise RequestError(
            f"Column 3 has {len(names)} different classes: the page shows at most {MAX_CLASSES}.", "text"
        )
    codes = {name: k for k, name in enumerate(names)}
    points = [[x, y, codes[label]] for x, y, label in read]
    return {"points": points, "classes": names, "sentence": _sentence(len(read), wrong)}


def _separator(line: str) -> tuple[str, bool]:
    """What separates the cells of a line, and whether a comma is a decimal point there."""
    for separator in ("\t", ";"):
        if separator in line:
            return separator, "." not in line
    return (",", False) if "," in line else (" ", False)


def _cells(line: str, separator: str) -> list[str]:
    cells = line.split() if separator == " " else line.split(separator)
    return [cell.strip().strip("\"'").strip() for cell in cells]


def _number(cell: str, comma: bool) -> float | None:
    cell = cell.replace(",", ".") if comma else cell
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", cell, re.ASCII):
        return None
    value = float(cell)
    return value if math.isfinite(value) else None


def _order(label: str) -> tuple[int, float, str]:
    """Numbers by size, then words by letters."""
    value = _number(label, False)
    return (1, 0.0, label) if value is None else (0, value, label)


def _sentence(n: int, wrong: list[str]) -> str:
    summary = f"{n:,} point{'s' if n != 1 else ''} read"
    if not wrong:
        return f"{summary}."
    named = ", ".join(wrong[:NAMED_MAX_ROWS]) + (", ..." if len(wrong) > NAMED_MAX_ROWS else "")
    return f"{summary}; {named}; {len(wrong):,} row{'s' if len(wrong) != 1 else ''} left out."
