"""One trial: a drawn case, its fit, and the laws that it breaks."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field

import numpy as np

from attack.case import Case, NotApplicable, Trial, estimator_of
from attack.kinds import KINDS

REFUSALS = (ValueError, MemoryError)  # what an estimator raises for data or parameters it does not take


@dataclass(frozen=True)
class Failure:
    """A law that a case breaks."""

    check: str
    message: str


@dataclass(frozen=True)
class Result:
    """What came of a trial: failures, the laws that applied and held, how the fit ended, and how many things of which
    kind were tried."""

    failures: list[Failure]
    held: list[str]
    outcome: str
    counts: dict[str, int] = field(default_factory=dict)


def draw(kind: str, seed: int) -> Case:
    """The case of a kind and a seed."""
    return KINDS[kind].draw(np.random.default_rng([seed, sum(map(ord, kind))]), kind)


def run(case: Case, only: str | None = None, make=estimator_of) -> Result:
    """Fit the case and check every law of its kind, or ``only`` one."""
    trial = Trial(case, make)
    failures, held = [], []
    kind = KINDS[case.kind]
    if kind.fits:
        try:
            with np.errstate(all="ignore"):
                trial.model  # noqa: B018
        except REFUSALS as error:
            excused = not case.tame or kind.excuses(case, error)
            message = f"a tame problem is refused: {type(error).__name__}: {error}"
            return Result([] if excused else [Failure("fit", message)], [], "refused", {"fits": 1})
        except AssertionError as error:
            return Result([Failure("fit", str(error))], [], "failed", {"fits": 1})
        except Exception as error:
            where = traceback.format_exc().splitlines()[-3:]
            return Result([Failure("fit", f"{type(error).__name__}: {error} {where}")], [], "failed", {"fits": 1})
    for check in kind.checks:
        if only is not None and check.__name__ != only:
            continue
        try:
            with np.errstate(all="ignore"):
                check(trial)
            held.append(check.__name__)
        except NotApplicable:
            pass
        except AssertionError as error:
            failures.append(Failure(check.__name__, str(error) or "assertion"))
        except Exception as error:
            where = " | ".join(line.strip() for line in traceback.format_exc().splitlines()[-5:-1])
            failures.append(Failure(check.__name__, f"{type(error).__name__}: {error} [{where}]"))
    return Result(failures, held, "fitted", {"fits": trial.fits[0]})
