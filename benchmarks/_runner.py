"""Running a piece of work: every library in one process, in shuffled order; peak memory in processes of their own."""

from __future__ import annotations

import gc
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._data import Data
from ._evaluate import Evaluation, Kernel, evaluate
from ._floor import floor_seconds
from ._libraries import Options, Work, cannot, estimator, fell_back

ROOT = Path(__file__).resolve().parents[1]
WARM_UP = 200  # rows of the fit before timing
SHORT = 0.05  # a fit or a prediction that takes less is repeated for this many seconds, twice


@dataclass
class Outcome:
    """What one library did with one piece of work."""

    library: str
    fit: list[float] = field(default_factory=list)
    predict: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    evaluation: Evaluation | None = None
    agreement: float | None = None  # share of test rows with scikit-learn's label
    memory: float | None = None  # peak of extra megabytes
    skipped: str = ""
    error: str = ""

    def median(self, phase: str) -> float:
        seconds = self.fit if phase == "fit" else self.predict
        return statistics.median(seconds) if seconds else math.nan

    def failure(self, tol: float) -> str:
        """Why the fit does not count as a solution, or an empty string."""
        if self.error or self.warnings:
            return self.error or self.warnings[0]
        if self.evaluation is not None and not self.evaluation.violation <= tol * (1 + 1e-6):
            return f"violation {self.evaluation.violation:.2e} > tol"
        if self.evaluation is not None and not self.evaluation.infeasibility <= 1e-6:
            return f"constraints violated by {self.evaluation.infeasibility:.1e}"
        return ""

    def as_dict(self) -> dict[str, Any]:
        out = asdict(self)
        if self.evaluation is not None:
            out["evaluation"]["relative_gap"] = self.evaluation.relative_gap
        return out


@dataclass
class Result:
    """One piece of work, done by all libraries."""

    work: Work
    shape: str
    outcomes: dict[str, Outcome]
    test_rows: int = 0
    floor: float = math.nan  # seconds, see _floor.py

    def ratio(self, peer: str, phase: str = "fit", own: str = "maxmargin") -> float:
        """How many times as long the peer took; nan if either did not run."""
        if own not in self.outcomes or peer not in self.outcomes:
            return math.nan
        return self.outcomes[peer].median(phase) / self.outcomes[own].median(phase)

    def better(self, library: str) -> float:
        """The dual objective minus scikit-learn's, relative: positive is better (the dual is maximised)."""
        mine, theirs = (
            self.outcomes[name].evaluation if name in self.outcomes else None for name in (library, "sklearn")
        )
        if mine is None or theirs is None:
            return math.nan
        return (mine.dual - theirs.dual) / abs(theirs.dual)

    def as_dict(self) -> dict[str, Any]:
        outcomes = {name: outcome.as_dict() for name, outcome in self.outcomes.items()}
        return {
            "work": asdict(self.work),
            "shape": self.shape,
            "test_rows": self.test_rows,
            "floor": self.floor,
            "outcomes": outcomes,
        }


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call and its value; a short call is repeated, and the median taken."""
    gc.collect()
    start = time.perf_counter()
    value = call()
    taken = [time.perf_counter() - start]
    while taken[0] < SHORT and sum(taken) < 2 * SHORT and len(taken) < 500:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken), value


def warm_up(library: str, work: Work, data: Data, options: Options) -> str:
    """Fit and predict on a few rows, so that nothing is loaded later; say why the library has to pass."""
    reason = cannot(library, work)
    if reason is not None:
        return reason
    small = data.sample(WARM_UP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = estimator(library, work, options).fit(small.X, small.y)
        fitted.predict(small.X if small.X_test is None else small.X_test)
    return "falls back to scikit-learn" if fell_back(library, fitted) else ""


def run(work: Work, data: Data, repeats: dict[str, int], options: Options, *, seed: int = 0) -> Result:
    """Time a work with every library, ``repeats[library]`` times each, in one shuffled order; judge the last fits."""
    outcomes = {library: Outcome(library) for library in repeats}
    for library, outcome in outcomes.items():
        try:
            outcome.skipped = warm_up(library, work, data, options)
        except Exception as error:  # a library that breaks is a result, not the end of the run
            outcome.error = f"{type(error).__name__}: {error}"
    order = [
        name
        for name, outcome in outcomes.items()
        if not (outcome.skipped or outcome.error)
        for _ in range(repeats[name])
    ]
    random.Random(f"{seed} {work.name}").shuffle(order)
    fitted: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    for library in order:
        outcome = outcomes[library]
        if outcome.error:
            continue
        fitted.pop(library, None)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = estimator(library, work, options)
                seconds, fitted[library] = seconds_of(lambda model=model: model.fit(data.X, data.y))
                outcome.fit.append(seconds)
                if data.X_test is not None:
                    seconds, labels[library] = seconds_of(lambda model=model: model.predict(data.X_test))
                    outcome.predict.append(seconds)
        except Exception as error:
            outcome.error = f"{type(error).__name__}: {error}"
            fitted.pop(library, None)
            continue
        early = [str(w.message).split("\n")[0] for w in caught if issubclass(w.category, ConvergenceWarning)]
        outcome.warnings += [message for message in dict.fromkeys(early) if message not in outcome.warnings]
    kernel = Kernel("laplacian", work.params["gamma"]) if work.params.get("kernel") == "laplacian" else None
    for library, model in fitted.items():
        outcomes[library].evaluation = evaluate(model, data.X, data.y, kernel=kernel)
        if library in labels and "sklearn" in labels:
            outcomes[library].agreement = float(np.mean(labels[library] == labels["sklearn"]))
    floor = math.nan
    if "maxmargin" in fitted:
        floor = floor_seconds(fitted["maxmargin"], data.X, options.threads or os.cpu_count() or 1)
    return Result(work, data.shape, outcomes, 0 if data.X_test is None else data.X_test.shape[0], floor)


def in_own_process(
    library: str, work: Work, folder: Path, options: Options, *, repeats: int = 1, timeout: float | None = None
) -> dict[str, float]:
    """Seconds and peak extra megabytes of a fit in a process of its own; empty if it takes longer than ``timeout``."""
    task = {
        "library": library,
        "work": asdict(work),
        "folder": str(Path(folder).resolve()),
        "options": options.as_dict(),
        "repeats": repeats,
    }
    command = [sys.executable, "-m", "benchmarks._child", json.dumps(task)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode:
        raise RuntimeError(f"{work.name} with {library} failed in its own process:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
