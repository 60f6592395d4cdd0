"""A list of records that stays short however long the run is.

The first ``FULL_RECORDS`` are all kept. After that a record is kept each time their number has grown by the factor
``GROWTH``, so that t records leave FULL_RECORDS + log(t / FULL_RECORDS) / log(GROWTH): 520 of 10^8. The newest record
always stands at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")

FULL_RECORDS = 256  # every epoch of an ordinary run; a record takes some 200 bytes
GROWTH = 1.05  # neighbouring records of a curve are then less than a pixel apart on a logarithmic axis


class ThinnedList(list[T]):
    """A list whose ``append`` keeps ever fewer entries, and always the first and the last.

    Parameters
    ----------
    records : iterable
        What it begins with, all of it.

    Examples
    --------
    >>> from maxmargin.runtime.thinning import ThinnedList
    >>> records = ThinnedList()
    >>> for t in range(10_000):
    ...     records.append(t)
    >>> len(records), records[0], records[255:260], records[-1]
    (333, 0, [255, 256, 268, 281, 295], 9999)
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
            self.due = t + 1 if t < FULL_RECORDS else int(t * GROWTH)
        self.appended = t + 1

    def __reduce__(self) -> Any:  # a copy must not be made by append
        return ThinnedList, (list(self),), dict(vars(self))
