"""Which columns of a table are features, and which is the target.

    target given                    that column, by name or by position
    target not given                a column that is called target, label, class or y, else the last
    columns given (a model's)       these are the features, in this order; what else is there may hold the target
    labelled=False                  there is no target, unless the table has one column more than the features

A table without a header has positions only, which count from 0; errors count columns from 1, as a reader does.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.data.source import Source

TARGETS = ("target", "label", "class", "y")


@dataclass(frozen=True)
class Layout:
    """Positions of the features in their order and of the target, and their names, if the table has some."""

    features: list[int]
    target: int | None
    names: list[str] | None
    target_name: str | None

    @property
    def wanted(self) -> list[int]:
        return self.features if self.target is None else [*self.features, self.target]


def column_name(names: Sequence[str] | None, position: int) -> str:
    """How an error calls a column."""
    return f"column {position + 1}" if names is None else f"column {names[position]!r}"


def lay_out(
    source: Source,
    names: list[str] | None,
    width: int,
    *,
    target: Any = None,
    columns: Sequence[Any] | None = None,
    labelled: bool = True,
    n_features: int | None = None,
) -> Layout:
    """The layout of a table of ``width`` columns, or an error that says what does not fit."""
    if names is not None:
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise source.error(f"has {count} columns called {name!r}: give each its own name")
    if columns is not None and len(columns):
        features, place = _of_columns(source, names, width, list(columns), target, labelled)
    else:
        place = None
        extra = n_features is not None and width == n_features + 1
        named = isinstance(target, str) and names is not None and target in names
        if labelled or extra or named:
            place = place_of(source, names, width, target) if target is not None else _usual(names, range(width))
        features = [position for position in range(width) if position != place]
    if not features:
        raise source.error(
            "has a single column: there must be features beside the target"
            if width == 1
            else "has no feature columns besides the target"
        )
    if n_features is not None and len(features) != n_features:
        raise source.error(
            f"has {len(features)} feature columns, and {n_features} are needed: give a table with the columns of the "
            "training data"
        )
    chosen = None if names is None else [names[position] for position in features]
    return Layout(features, place, chosen, None if names is None or place is None else names[place])


def _usual(names: list[str] | None, positions: Sequence[int]) -> int:
    """Where a target is by custom."""
    for wanted in TARGETS if names is not None else ():
        for position in positions:
            if names is not None and names[position].lower() == wanted:
                return position
    return positions[-1]


def place_of(source: Source, names: list[str] | None, width: int, column: Any, what: str = "target") -> int:
    """The position of a column that is given by name or position."""
    if isinstance(column, str) and names is not None and column in names:
        return names.index(column)
    if isinstance(column, str):
        try:
            position = int(column)  # a command line knows text only
        except ValueError:
            if names is None:
                raise source.error(
                    f"has no header, so the {what} column cannot be called {column!r}: give its position, "
                    "which counts from 0"
                ) from None
            raise source.error(f"has no column {column!r}{near(column, names)}") from None
    elif isinstance(column, bool) or not hasattr(column, "__index__"):
        raise TypeError(f"{what} must be the name or the position of a column; got {column!r}.")
    else:
        position = column.__index__()
    if not -width <= position < width:
        raise source.error(
            f"has {width} columns, and the {what} column {position} is not among them: positions count from 0, and "
            "from the end if negative"
        )
    return position % width


def _of_columns(
    source: Source, names: list[str] | None, width: int, columns: list[Any], target: Any, labelled: bool
) -> tuple[list[int], int | None]:
    """The features a model asks for, by name where there are names, and the target among the others."""
    if names is None and any(isinstance(column, str) for column in columns):
        extra = width - len(columns)
        if extra == 0 and not labelled:
            return list(range(width)), None
        if extra != 1:
            more = " and a target" if labelled else ""
            raise source.error(
                f"has {width} columns and no header, and {len(columns)} features{more} are needed: give a table "
                "with the columns of the training data"
            )
        place = width - 1 if target is None or isinstance(target, str) else place_of(source, names, width, target)
        return [position for position in range(width) if position != place], place
    known = {name: position for position, name in enumerate(names or [])}
    absent = [column for column in columns if isinstance(column, str) and column not in known]
    if absent:
        listed = ", ".join(repr(column) for column in absent[:5]) + (", ..." if len(absent) > 5 else "")
        what = "column" if len(absent) == 1 else "columns"
        raise source.error(f"lacks the {what} {listed}{near(absent[0], list(known))}")
    features = [
        known[column] if isinstance(column, str) else place_of(source, names, width, column, "feature")
        for column in columns
    ]
    taken = set(features)
    if len(taken) < len(features):
        raise ValueError(f"columns lists a column twice: {columns!r:.200}.")
    rest = [position for position in range(width) if position not in taken]
    if target is not None and (labelled or not isinstance(target, str) or (names is not None and target in names)):
        place = place_of(source, names, width, target)
        if place in rest:
            return features, place
        if labelled:
            raise source.error(f"has the {column_name(names, place)} as target and among the features: leave it out")
        return features, None
    if labelled:
        if not rest:
            raise source.error("has no column besides the features, so there is no target")
        return features, _usual(names, rest)
    usual = [position for position in rest if names is not None and names[position].lower() in TARGETS]
    return features, usual[0] if usual else None


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of which the second of equals is "name (2)"."""
    counts: Counter[str] = Counter()
    found = []
    for name in names:
        counts[name] += 1
        found.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return found


def near(wanted: str, names: Sequence[str]) -> str:
    """The end of a sentence about a name that is not there: the one that may be meant, or those there are."""
    near = difflib.get_close_matches(wanted, names, n=1)
    listed = ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    return f": did you mean {near[0]!r}?" if near else f": it has {listed}" if names else ": it has no header"
