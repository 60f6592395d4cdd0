"""Options that several commands have, and how commands speak."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from maxmargin.cli import UserError, in_options

TEXT_COLUMNS = 80  # of a terminal
NAME_LETTERS = 24  # of a column's name
LABEL_LETTERS = 40  # of a label within a sentence
MARKED_NUMBERS = 1e4, 1e12  # between which thousands are marked

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
target_option = click.option(
    "--target",
    metavar="COLUMN",
    help="The column with the labels or numbers: its name, or its position from 0 (-1 is the last).  "
    "[default: target, label, class, y, or the last]",
)


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that reads data; they arrive as ``format``, ``header`` and ``zero_based``."""
    for option in (
        click.option(
            "--zero-based/--one-based",
            "zero_based",
            default=None,
            help="Whether svmlight columns count from 0 or from 1; found out by default.",
        ),
        click.option(
            "--header/--no-header",
            "header",
            default=None,
            help="Whether the first line names the columns; found out by default.",
        ),
        click.option(
            "--format",
            "format",
            metavar="NAME",
            help="Format of the data (csv, tsv, svmlight, npy, npz ...); by default from the file's name and content.",
        ),
    ):
        command = option(command)
    return command


def learning_options(does: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options of commands that learn, about the data and the test; ``does`` is what they do, such as "trains"."""
    options = (
        target_option,
        click.option(
            "--task",
            type=click.Choice(["auto", "classify", "regress", "outliers"]),
            default="auto",
            show_default=True,
            help="What to learn; auto decides by the target.",
        ),
        click.option(
            "--drop", metavar="COLUMN", multiple=True, help="Leave this column out; may be given several times."
        ),
        click.option("--keep", metavar="COLUMN", multiple=True, help="Use this column though it looks like an ID."),
        click.option("--id", metavar="COLUMN", multiple=True, help="A column that names the rows, to be left out."),
        click.option(
            "--text",
            metavar="COLUMN",
            multiple=True,
            help="Take this column as text: long texts by their words (TF-IDF), numbers as codes.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["median", "mode", "indicate", "drop", "refuse"]),
            help="Missing values: numbers get the median and categories one of their own; the most frequent value; "
            "median, and a column that says where; rows left out; an error.  [default: median]",
        ),
        click.option(
            "--decimal",
            type=click.Choice(["point", "comma"]),
            help="Whether 1,234 is a thousand (point) or 1.234 (comma), where the data leave it open.",
        ),
        click.option(
            "--dates",
            type=click.Choice(["day-first", "month-first"]),
            help="Whether 01/02/2024 is in February or in January, where the data leave it open.",
        ),
        click.option(
            "--unknown",
            type=click.Choice(["error", "ignore"]),
            help="What predict does with a category that training did not have.  [default: ignore, and count]",
        ),
        click.option("--test", metavar="DATA", type=click.Path(), help="Test on this file instead of a part of DATA."),
        click.option(
            "--test-size",
            metavar="SHARE",
            type=click.FloatRange(0, 1, max_open=True),
            help=f"Share of the rows to hold out for the test; 0 {does} on all.  [default: 0.25]",
        ),
        click.option(
            "--test-last",
            is_flag=True,
            help="Hold out the last rows instead of rows at random: for rows in the order of time.",
        ),
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def check_test_options(options: dict[str, Any]) -> None:
    """Refuse a test that is both a file and a part of the rows."""
    if options["test"] is not None:
        for name, given in (("--test-size", options["test_size"] is not None), ("--test-last", options["test_last"])):
            if given:
                raise UserError(f"--test and {name} say different things about the test: give one of them.")


def number_or(
    *names: str, integer: bool = False
) -> Callable[[click.Context, click.Parameter, str | None], float | str | None]:
    """A callback for options that take a number (a whole one) or one of a few names."""

    def parse(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
        if value is None or value in names:
            return value
        try:
            return int(value) if integer else float(value)
        except ValueError:
            choices = " nor ".join(repr(name) for name in names)
            raise click.BadParameter(f"{value!r} is neither a {'whole ' * integer}number nor {choices}.") from None

    return parse


class Voice:
    """What a command says: notes and warnings as lines of text, or kept for the one JSON object."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.notes: list[str] = []

    def say(self, text: str = "") -> None:
        """A part of the result: on standard output, unless that is JSON."""
        if not self.as_json:
            click.echo(wrapped(text))

    def note(self, text: str) -> None:
        """Something beside the result: on standard error, each once."""
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.as_json:
            print(wrapped(text), file=sys.stderr, flush=True)  # click.echo would write into a bar that is shown

    @contextmanager
    def repeating_warnings(self) -> Iterator[None]:
        """Warnings of the library become notes at once, so that one about a long fit comes before it."""

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, UserWarning | RuntimeWarning):
                self.note(f"Warning: {in_options(' '.join(str(message).split()))}")

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield

    def finish(self, findings: dict[str, Any]) -> None:
        """The one JSON object, where that was asked for."""
        if self.as_json:
            click.echo(json.dumps(as_json_value({**findings, "notes": self.notes}), indent=2, allow_nan=False))


def wrapped(text: str) -> str:
    """Lines of at most 80 letters; the rest of a longer one stands below its second column, if it has one."""
    lines = []
    for line in text.split("\n"):
        if len(line) <= TEXT_COLUMNS:
            lines.append(line)
            continue
        head = re.match(r"\s*\S+(?: \S+)*\s{2,}", line)
        indent = len(head[0]) if head and len(head[0]) <= TEXT_COLUMNS // 2 else len(line) - len(line.lstrip()) + 2
        # blanks between columns stay, since only the rest of the line is filled
        fill = textwrap.TextWrapper(
            TEXT_COLUMNS,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
            drop_whitespace=True,
        )
        lines += fill.wrap(line)
    return "\n".join(lines)


def as_json_value(value: Any) -> Any:
    """Plain values that JSON has; numbers it has not (nan, inf) become null."""
    if isinstance(value, dict):
        return {str(key): as_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_value(item) for item in value]
    if hasattr(value, "tolist"):
        return as_json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def check_folder(path: str | Path) -> None:
    """Refuse a file that could not be written, before time is spent on what to write."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise UserError(f"{path}: there is no folder {folder}: create it first.")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{path}: the folder {folder} must not be written: choose another.")


def in_bytes(size: int) -> str:
    """A file's size for reading."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"


def counted(n: int, word: str) -> str:
    """``1 row``, ``2 rows``, ``2 classes``."""
    plural = word + ("es" if word.endswith("s") else "s")
    return f"{n:,} {word if n == 1 else plural}"


def figure(value: float, digits: int = 5) -> str:
    """A number for reading: significant digits, thousands marked, an exponent only where it is very large or small."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if MARKED_NUMBERS[0] <= abs(rounded) < MARKED_NUMBERS[1] else f"{value:.{digits}g}"


def cut(text: Any, letters: int) -> str:
    """A name or label of at most so many letters."""
    whole = str(text)
    return whole if len(whole) <= letters else whole[: letters - 3] + "..."


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with at most NAME_LETTERS letters: its beginning, or both ends where several begin alike."""
    short = {name: cut(name, NAME_LETTERS) for name in names}
    counts = Counter(short.values())
    head = NAME_LETTERS // 3
    return {
        name: text if counts[text] == 1 else f"{name[:head]}...{name[head + 3 - NAME_LETTERS :]}"
        for name, text in short.items()
    }


def plain(value: Any) -> Any:
    """A label or number of an array as Python's own type, for text and JSON."""
    return value.item() if hasattr(value, "item") else value


def address(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A callback for an option whose value may have been forgotten, so that the next option took its place."""
    if value is not None and value.startswith("-"):
        raise click.BadParameter(f"{value!r} is an option: {param.opts[0]} needs a value, {param.metavar}.")
    return value
