"""Results that print as aligned lines in a terminal, and as a table in a notebook."""

from __future__ import annotations

import abc
import html


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
