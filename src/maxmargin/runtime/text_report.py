"""Results that print as aligned lines in a terminal, and as a table in a notebook."""

from __future__ import annotations

import abc
import html
import importlib
import re
from typing import Any


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


class TextReport(abc.ABC):
    """A result that says its lines: a name and a text each."""

    @abc.abstractmethod
    def _lines(self) -> list[tuple[str, str]]:
        """The names and texts, in their order."""

    def __str__(self) -> str:
        lines = self._lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self._lines()
        )
        return f"<table>{rows}</table>"
