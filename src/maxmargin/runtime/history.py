"""The history of a run: one record per iteration or epoch, as columns ready to plot.

A solver appends a record whenever it has evaluated its progress. What a solver does not know is NaN. Long histories are
thinned (:class:`ThinnedList`): of a million records some 430 are kept, the first and the last among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from maxmargin.runtime.text_report import pandas
from maxmargin.runtime.validation import Array

PRINTED_RECORDS = 3  # at either end of a printed history: what a terminal shows without scrolling

FULL_RECORDS = 256  # every epoch of an ordinary run; a record takes some 200 bytes
RECORD_SPACING = 1.05  # neighbouring records of a curve are then less than a pixel apart on a logarithmic axis

T = TypeVar("T")


class ThinnedList(list[T]):
    """A list that stays short however long the run is: ``append`` keeps ever fewer entries, and always the first and
    the last.

    The first ``FULL_RECORDS`` are all kept. After that a record is kept each time their number has grown by the factor
    ``RECORD_SPACING``, so that t records leave FULL_RECORDS + log(t / FULL_RECORDS) / log(RECORD_SPACING): 520 of 10^8.

    records: the initial records, all of which are kept
    """

    def __init__(self, records: Iterable[T] = ()) -> None:
        super().__init__(records)
        self.appended = len(self)  # records so far, those that were dropped included
        self.due = len(self)  # the number of the next record to keep
        self.provisional = False  # whether the last entry gives way to the next one

    def append(self, record: T) -> None:
        if self.provisional:
            self[-1] = record
        else:
            super().append(record)
        t = self.appended
        self.provisional = t < self.due
        if not self.provisional:
            self.due = t + 1 if t < FULL_RECORDS else int(t * RECORD_SPACING)
        self.appended = t + 1

    def __reduce__(self) -> Any:  # a copy must not be made by append
        return ThinnedList, (list(self),), dict(vars(self))


class Record(NamedTuple):
    """The state of a run; see :class:`History` for the meaning of the fields."""

    problem: int
    iteration: int
    objective: float
    dual: float
    gap: float
    margin: float
    n_support: float
    seconds: float


class History:
    """The convergence history of a fit.

    ``history["gap"]`` and ``history.gap`` are columns, ``history[-1]`` is a record, ``history[10:]`` a shorter history;
    iterating gives the records.

    Attributes
    ----------
    problem : array of int
        Number of the binary problem (one-vs-rest has one per class); 0 if there is only one.
    iteration : array of int
        Iterations so far; for methods that process one row at a time, epochs.
    objective : array
        Primal objective of the current iterate, to be minimised.
    dual : array
        Dual objective of the current multipliers, to be maximised; never above the optimum.
    gap : array
        objective - dual, an upper bound on the distance from the optimum.
    relative_gap : array
        The gap divided by the larger objective.
    margin : array
        2 / |w|.
    n_support : array
        Support vectors.
    seconds : array
        Since the start of the fit.

    Examples
    --------
    >>> from maxmargin import History
    >>> history = History()
    >>> history.append(iteration=1, objective=5.0, dual=1.0)
    >>> history.append(iteration=2, objective=4.0, dual=3.0, n_support=7)
    >>> history.gap
    array([4., 1.])
    >>> history[-1].objective
    4.0
    >>> history
    History of 2 records
    iteration  objective   dual    gap  margin  n_support  seconds
            1          5      1      4     nan        nan      nan
            2          4      3      1     nan          7      nan
    """

    names: tuple[str, ...] = Record._fields

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = ThinnedList(records)
        self._columns: dict[str, Array] = {}

    @classmethod
    def deferred(cls, make: Callable[[], History]) -> History:
        """Create a history that ``make`` computes on first access."""
        history = object.__new__(cls)
        history.__dict__.update(_make=make, _columns={})
        return history

    def append(
        self,
        *,
        iteration: int,
        objective: float = math.nan,
        dual: float = math.nan,
        margin: float = math.nan,
        n_support: float = math.nan,
        seconds: float = math.nan,
        problem: int = 0,
    ) -> None:
        """Add a record; the gap follows from the objectives. Very long histories are thinned out."""
        gap = objective - dual
        self._records.append(Record(problem, iteration, objective, dual, gap, margin, n_support, seconds))
        self._columns.clear()

    @classmethod
    def joined(cls, histories: Iterable[History]) -> History:
        """Join the histories of several binary problems, numbered in the given order."""
        return cls(record._replace(problem=k) for k, history in enumerate(histories) for record in history)

    def continued(self, other: History, after: int) -> History:
        """Append another history, whose iterations continue those of this one."""
        return History([*self, *(record._replace(iteration=record.iteration + after) for record in other)])

    def of_problem(self, problem: int) -> History:
        """The records of one binary problem.

        Parameters
        ----------
        problem : int
            Number of the binary problem.

        Returns
        -------
        History
        """
        return History(record for record in self._records if record.problem == problem)

    @property
    def relative_gap(self) -> Array:
        size = np.maximum(np.abs(self.objective), np.abs(self.dual))
        return self.gap / np.where(np.isfinite(size) & (size > 0), size, 1.0)

    def _column(self, name: str) -> Array:
        if name not in self._columns:
            at = self.names.index(name)
            kind = np.int64 if name in ("problem", "iteration") else np.float64
            self._columns[name] = np.array([record[at] for record in self._records], dtype=kind)
        return self._columns[name]

    def __getattr__(self, name: str) -> Any:
        if name == "_records" and "_make" in self.__dict__:
            self._records = self._make()._records
            del self._make
            return self._records
        if name in Record._fields:
            return self._column(name)
        raise AttributeError(f"History has no column {name!r}; its columns are {', '.join(self.names)}.")

    @overload
    def __getitem__(self, which: str) -> Array: ...
    @overload
    def __getitem__(self, which: int) -> Record: ...
    @overload
    def __getitem__(self, which: slice) -> History: ...

    def __getitem__(self, which: str | int | slice) -> Array | Record | History:
        if isinstance(which, str):
            if which == "relative_gap":
                return self.relative_gap
            if which not in self.names:
                raise KeyError(f"no column {which!r}; there are {', '.join(self.names)}, relative_gap")
            return self._column(which)
        return History(self._records[which]) if isinstance(which, slice) else self._records[which]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        return all(np.array_equal(self[name], other[name], equal_nan=True) for name in self.names)

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __getstate__(self) -> dict[str, Any]:
        return {"_records": self._records, "_columns": {}}

    def to_frame(self) -> Any:
        """The columns as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
        """
        return pandas().DataFrame({name: self._column(name) for name in self.names})

    def __repr__(self) -> str:
        head = f"History of {len(self)} record{'' if len(self) == 1 else 's'}"
        names = [name for name in self.names if name != "problem" or len({r.problem for r in self._records}) > 1]
        shown: list[Record | None] = list(self._records)
        if len(shown) > 2 * PRINTED_RECORDS + 1:
            shown = [*shown[:PRINTED_RECORDS], None, *shown[-PRINTED_RECORDS:]]
        table = [names, *([_formatted(name, record) for name in names] for record in shown)]
        if len(table) == 1:
            return head
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join([head, *lines])


def _formatted(name: str, record: Record | None) -> str:
    if record is None:
        return "..."
    value = getattr(record, name)
    return f"{value:.3g}" if name in ("gap", "margin", "seconds") else f"{value:.8g}"
