"""What every kind has: how its cases are drawn, its laws, and which refusals of tame cases are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from attack.case import Case


@dataclass(frozen=True)
class Kind:
    """One kind of trials.

    Attributes
    ----------
    draw : function of a generator and the kind's name
    checks : list of functions of a trial
    weight : float
        How often it is drawn.
    fits : bool
        Whether the case is fitted before the laws are checked.
    excuses : function of a case and an exception
        Whether the refusal of a tame case is right.
    """

    draw: Callable[..., Case]
    checks: list[Callable[..., None]]
    weight: float = 1.0
    fits: bool = True
    excuses: Callable[[Case, Exception], bool] = field(default=lambda case, error: False)
