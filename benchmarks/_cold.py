"""The cold start: what the first import and the first fit of a new process cost, each measured in new processes."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from ._libraries import TITLES

# The import of an estimator, not of a package that loads nothing until it is used.
SCRIPT = """
import json, time
start = time.perf_counter()
from {module} import SVC
imported = time.perf_counter() - start
import numpy as np
X = np.random.RandomState(0).randn(2000, 10)
y = X[:, 0] + 0.5 * np.random.RandomState(1).randn(2000) > 0
def fit():
    start = time.perf_counter()
    SVC(C=1.0, gamma=0.1).fit(X, y)
    return time.perf_counter() - start
print(json.dumps([imported, fit(), min(fit() for _ in range(3))]))
"""


@dataclass(frozen=True)
class Start:
    """Seconds of the import, of the first fit, and of a later one."""

    label: str
    imported: float
    first: float
    later: float

    @property
    def added(self) -> float:
        return self.first - self.later


def _once(module: str) -> list[float]:
    command = [sys.executable, "-c", SCRIPT.format(module=module)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def cold_starts(libraries: list[str], repeats: int = 3) -> list[Start]:
    """Starts of every library, medians of ``repeats`` after one that fills the system's caches."""
    starts = []
    for library in libraries:
        module = "maxmargin" if library == "maxmargin" else f"{library}.svm"
        _once(module)
        runs = [_once(module) for _ in range(repeats)]
        starts.append(Start(TITLES[library], *(statistics.median(column) for column in zip(*runs, strict=True))))
    return starts
