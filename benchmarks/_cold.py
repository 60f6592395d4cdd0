"""The cold start: what the first import and the first fit of a new process cost, each measured in new processes.

Every library has its bytecode, as pip compiles it when it installs a wheel: an editable installation, in which it may
be missing or old, gets it first.
"""

from __future__ import annotations

import compileall
import importlib.util
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

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


# What a short program does: what it imports, and its one fit of 150 rows in three classes. In scikit-learn's spelling a
# calibrated classifier and a search are estimators around another.
FIRST_FITS = {
    "SVC": ("from {module} import SVC", "SVC().fit(X, y)"),
    "LinearSVC": ("from {module} import LinearSVC", "LinearSVC().fit(X, y)"),
    "SVR": ("from {module} import SVR", "SVR().fit(X, y.astype(float))"),
    "calibrated SVC": (
        "from {module} import SVC; from sklearn.calibration import CalibratedClassifierCV",
        "CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)",
    ),
    "search of C and gamma": (
        "from {module} import SVC; from sklearn.model_selection import GridSearchCV",
        "GridSearchCV(SVC(), dict(C=[0.1, 1, 10], gamma=[0.01, 0.1, 1.0])).fit(X, y)",
    ),
}
OWN_FIRST_FITS = {
    "calibrated SVC": ("from maxmargin import SVC", "SVC(calibration='sigmoid').fit(X, y)"),
    "search of C and gamma": (
        "from maxmargin import SVCCV",
        "SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.1, 1.0]).fit(X, y)",
    ),
}
PROGRAM = """
import time, warnings
start = time.perf_counter()
warnings.simplefilter("ignore")
{imports}
import numpy as np
y = np.arange(150) // 50
X = np.random.RandomState(0).randn(150, 4) + y[:, None]
{fit}
print(time.perf_counter() - start)
"""


def compile_bytecode(module: str = "maxmargin") -> None:
    """Compile what has changed since the package was last imported."""
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.origin is not None:
        compileall.compile_dir(Path(spec.origin).parent, quiet=1)


def first_fits(libraries: list[str], repeats: int = 5) -> dict[str, dict[str, dict[str, float]]]:
    """Least seconds from the first import of a new process to the end of its first fit: by work, library, "cold". The
    libraries take turns, after one round that fills the system's caches."""
    compile_bytecode()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in FIRST_FITS:
        runs: dict[str, list[float]] = {
            library: [] for library in libraries if (library, name) != ("sklearnex", "LinearSVC")
        }
        for _ in range(repeats + 1):
            for library, taken in runs.items():
                imports, fit = FIRST_FITS[name]
                if library == "maxmargin":
                    imports, fit = OWN_FIRST_FITS.get(name, (imports, fit))
                module = "maxmargin" if library == "maxmargin" else f"{library}.svm"
                program = PROGRAM.format(imports=imports.format(module=module), fit=fit)
                done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
                taken.append(float(done.stdout.splitlines()[-1]))
        found[name] = {library: {"cold": min(taken[1:])} for library, taken in runs.items()}
    return found


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
    compile_bytecode()
    starts = []
    for library in libraries:
        module = "maxmargin" if library == "maxmargin" else f"{library}.svm"
        _once(module)
        runs = [_once(module) for _ in range(repeats)]
        starts.append(Start(TITLES[library], *(statistics.median(column) for column in zip(*runs, strict=True))))
    return starts
