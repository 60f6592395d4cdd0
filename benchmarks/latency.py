"""How long until a fit obeys Ctrl-C, and by how much it exceeds ``max_seconds``: ``python -m benchmarks.latency``.

Each work runs in a child process (``_latency_child.py``), which fits when it is asked to, after a small fit that loads
everything; with ``--cold`` every fit is the first of a new process. From outside, at random moments of the fit,

    Ctrl-C      SIGINT is sent; the time until the child writes that ``fit`` has returned or raised
    overrun     ``max_seconds`` is that moment; the time from ``fit`` to its end, less ``max_seconds``

While the parent waits it sends SIGUSR1 every ``SAMPLE_SECONDS``, on which the child's faulthandler writes the Python
stack, even where compiled code holds the interpreter's lock: the innermost lines of the package that were seen are the
place that blocks. The promise is 0.2 s.

On a machine with other work the wall clock shows the others' load. So the table has, beside it, the CPU time of the
child's busiest thread from the signal (or the limit) to the end: about what an idle machine would take.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import math
import os
import random
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ._table import markdown

SAMPLE_SECONDS = 0.05  # a quarter of the promise: what blocks longer is seen at least three times
LONGEST_SECONDS = 6.0  # of a fit that is tried: later moments block no longer, and a run should end
PATIENCE_SECONDS = 120.0  # after which a child that does not answer is killed
PROMISE_SECONDS = 0.2


@dataclass(frozen=True)
class Work:
    """An estimator and its data, as Python expressions over the names of ``_latency_child.py``."""

    name: str
    model: str
    data: str
    limit: bool = True  # whether it has max_seconds
    method: str = "fit"


WORKS = [
    Work("SVC, Gaussian kernel", "SVC(C=100, gamma=0.05, tol=1e-6)", "noise(20_000, 20)"),
    Work("SVC, Gaussian kernel, small cache", "SVC(C=100, gamma=0.05, tol=1e-6, cache_size=1)", "noise(20_000, 20)"),
    Work("SVC, linear kernel", "SVC(C=1e3, kernel='linear', tol=1e-9)", "noise(8_000, 20)"),
    Work("SVC, polynomial kernel", "SVC(C=1e3, kernel='poly', coef0=1, tol=1e-9)", "noise(8_000, 20)"),
    Work("SVC, smo", "SVC(C=100, gamma=0.05, tol=1e-6, solver='smo')", "noise(20_000, 20)"),
    Work("SVC, barrier", "SVC(C=100, gamma=0.05, tol=1e-9, solver='barrier')", "noise(4_000, 20)"),
    Work("SVC, ten classes", "SVC(C=10, gamma=0.01)", "noise(60_000, 784, classes=10)"),
    Work("SVC, hundred classes", "SVC(C=10, gamma=0.01)", "noise(20_000, 64, classes=100)"),
    Work("SVC, one-vs-rest", "SVC(C=10, gamma=0.01, multiclass='ovr')", "noise(20_000, 64, classes=10)"),
    Work("SVC, joint", "SVC(C=1e3, gamma=0.05, tol=1e-9, multiclass='crammer_singer')", "noise(5_000, 20, classes=4)"),
    Work("SVC, sparse", "SVC(C=100, gamma=0.1, tol=1e-6)", "sparse(20_000, 5_000)"),
    Work("SVC, calibrated", "SVC(C=100, gamma=0.05, calibration='sigmoid')", "noise(8_000, 20)"),
    Work("SVC, calibrated, ten classes", "SVC(C=10, calibration='sigmoid')", "noise(10_000, 64, classes=10)"),
    Work("SVC, hard margin", "SVC(C=np.inf, gamma=0.5)", "noise(6_000, 20)"),
    Work("SVC, strings", "SVC(kernel=Spectrum(3))", "strings(2_000)"),
    Work("SVC, a function as kernel", "SVC(kernel=slow_kernel)", "noise(6_000, 20)"),
    Work("SVC, precomputed", "SVC(kernel='precomputed', C=100, tol=1e-9)", "gram(8_000, 20)"),
    Work("NuSVC", "NuSVC(nu=0.5, gamma=0.05, tol=1e-9)", "noise(10_000, 20)"),
    Work("SVR", "SVR(C=100, gamma=0.05, tol=1e-9)", "values(15_000, 20)"),
    Work("NuSVR", "NuSVR(C=100, gamma=0.05, tol=1e-9)", "values(10_000, 20)"),
    Work("OneClassSVM", "OneClassSVM(nu=0.3, gamma=0.05, tol=1e-9)", "noise(30_000, 20)"),
    Work("SVC, many columns: checks and hashes", "SVC(C=1)", "noise(60_000, 2_000)"),
    Work("SVC, column order and integers", "SVC(C=1)", "integers(40_000, 2_000)"),
    Work("LinearSVC, hinge", "LinearSVC(loss='hinge', C=100, tol=1e-9, max_iter=-1)", "noise(300_000, 50)"),
    Work("LinearSVC, squared hinge", "LinearSVC(C=100, tol=1e-12, max_iter=-1)", "noise(300_000, 100)"),
    Work(
        "LinearSVC, coordinate descent",
        "LinearSVC(loss='hinge', solver='coordinate_descent', C=100, tol=1e-9, max_iter=-1)",
        "noise(300_000, 50)",
    ),
    Work("LinearSVC, wide", "LinearSVC(loss='hinge', tol=1e-9, max_iter=-1)", "sparse(20_000, 50_000, classes=20)"),
    Work("LinearSVC, L1", "LinearSVC(penalty='l1', C=10, tol=1e-9, max_iter=-1)", "noise(50_000, 200)"),
    Work("LinearSVC, joint", "LinearSVC(multi_class='crammer_singer', tol=1e-9)", "noise(20_000, 50, classes=5)"),
    Work("LinearSVC, calibrated", "LinearSVC(calibration='sigmoid', tol=1e-6)", "noise(300_000, 50)"),
    Work("LinearSVC, stream", "LinearSVC(loss='hinge')", "batches(40, 50_000, 100)", method="fit_stream"),
    Work("LinearSVC, one batch", "LinearSVC(loss='hinge')", "noise(400_000, 200)", limit=False, method="partial_fit"),
    Work("LinearSVR", "LinearSVR(C=100, tol=1e-9, max_iter=-1)", "values(200_000, 50)"),
    Work("LinearOneClassSVM", "LinearOneClassSVM(nu=0.3, tol=1e-9, max_iter=-1)", "noise(200_000, 50)"),
    Work("Perceptron", "Perceptron(max_iter=10**6)", "noise(300_000, 50)"),
    Work("NystroemSVC", "NystroemSVC(n_components=1_000, tol=1e-9)", "noise(100_000, 20)"),
    Work("NystroemSVC, automatic", "NystroemSVC(tol=1e-6)", "noise(50_000, 20)"),
    Work("NystroemSVC, k-means", "NystroemSVC(n_components=1_000, landmarks='kmeans')", "noise(100_000, 20)"),
    Work("NystroemSVC, leverage", "NystroemSVC(n_components=2_000, landmarks='leverage')", "noise(50_000, 20)"),
    Work("NystroemSVR", "NystroemSVR(n_components=1_000, tol=1e-9)", "values(100_000, 20)"),
    Work("NystroemRidge", "NystroemRidge(n_components=3_000, tol=1e-12)", "values(50_000, 20)"),
    Work("Nystroem", "Nystroem(n_components=4_000)", "noise(50_000, 20)", limit=False),
    Work(
        "RandomFeatures", "RandomFeatures(n_components=20_000, method='orthogonal')", "noise(1_000, 2_000)", limit=False
    ),
    Work("KernelRidge", "KernelRidge(alpha=0.1, kernel='rbf')", "values(10_000, 20)", limit=False),
    Work("KernelRidge, linear", "KernelRidge(alpha=0.1)", "values(100_000, 1_000)", limit=False),
    Work("KernelRidge, singular", "KernelRidge(alpha=0.0, kernel='poly')", "values(4_000, 3)", limit=False),
    Work("KernelRidgeCV", "KernelRidgeCV(kernel='rbf')", "values(4_000, 20)", limit=False),
    Work("KernelRidgeCV, linear", "KernelRidgeCV()", "values(50_000, 500)", limit=False),
    Work("BasisRegression", "BasisRegression('polynomial', alpha=1e-3)", "values(10_000, 20)", limit=False),
    Work("KernelPCA, dense", "KernelPCA(n_components=None, kernel='rbf')", "noise(4_000, 20)", limit=False),
    Work("KernelPCA, arpack", "KernelPCA(n_components=20, kernel='rbf')", "noise(12_000, 20)", limit=False),
    Work(
        "KernelPCA, randomized",
        "KernelPCA(100, kernel='rbf', eigen_solver='randomized')",
        "noise(20_000, 20)",
        limit=False,
    ),
    Work(
        "KernelPCA, pre-images",
        "KernelPCA(5, kernel='rbf', fit_inverse_transform=True)",
        "noise(8_000, 20)",
        limit=False,
    ),
    Work("KernelKMeans", "KernelKMeans(n_clusters=20)", "noise(20_000, 20)", limit=False),
    Work("KernelKMeans, held", "KernelKMeans(n_clusters=20)", "noise(6_000, 20)", limit=False),
    Work("KernelDiscriminantAnalysis", "KernelDiscriminantAnalysis()", "noise(6_000, 20, classes=5)", limit=False),
    Work("KernelKNeighborsClassifier", "KernelKNeighborsClassifier()", "noise(400_000, 100)", limit=False),
    Work("TableEncoder", "TableEncoder()", "table(1_000_000)", limit=False),
    Work("SVCCV", "SVCCV(cv=5)", "noise(4_000, 20)"),
    Work("SVCCV, ten classes", "SVCCV(cv=5)", "noise(4_000, 64, classes=10)"),
    Work("SVCCV, not held", "SVCCV(cv=5, cache_size=1)", "noise(6_000, 20)"),
    Work("NuSVCCV", "NuSVCCV(cv=5)", "noise(3_000, 20)"),
    Work("SVRCV", "SVRCV(cv=5)", "values(4_000, 20)"),
    Work("OneClassSVMCV", "OneClassSVMCV(cv=5)", "noise(4_000, 20)"),
    Work("LinearSVCCV", "LinearSVCCV(cv=5)", "noise(100_000, 50)"),
]


@dataclass
class Outcome:
    """What was measured of one work."""

    work: Work
    full: float = float("nan")
    waits: list[Wait] = field(default_factory=list)
    overruns: list[Wait] = field(default_factory=list)
    ends: collections.Counter[str] = field(default_factory=collections.Counter)
    places: collections.Counter[str] = field(default_factory=collections.Counter)
    trouble: str = ""


@dataclass(frozen=True)
class Wait:
    """From a signal, or a limit, to the end of the fit."""

    wall: float
    busy: float


def busy_seconds(pid: int) -> dict[str, float]:
    """CPU time of each thread of a process; nothing where the system does not tell."""
    found = {}
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            found[path.parent.name] = int(path.read_text().split()[0]) / 1e9
    return found


class Child:
    """The process that fits."""

    def __init__(self, work: Work, cold: bool = False) -> None:
        self.stacks = tempfile.NamedTemporaryFile("w+", suffix=".txt")  # noqa: SIM115
        command = [sys.executable, "-m", "benchmarks._latency_child", json.dumps(asdict(work)), self.stacks.name]
        command += ["cold"] if cold else []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.text = b""

    def ready(self) -> Child:
        """This child, once it has its data."""
        if self.answer(10 * PATIENCE_SECONDS) != "ready":
            raise RuntimeError("the child was not ready")
        return self

    def ask(self, **task: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(task).encode() + b"\n")

    def answer(self, seconds: float) -> str | None:
        """The next line; None if there is none yet."""
        assert self.process.stdout is not None
        end = time.perf_counter() + seconds
        while b"\n" not in self.text:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.perf_counter()))
            if not ready:
                return None
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                raise RuntimeError(f"the child ended with code {self.process.wait()}")
            self.text += part
        line, self.text = self.text.split(b"\n", 1)
        return line.decode()

    def wait(self, places: collections.Counter[str], *, interrupt: bool) -> tuple[str, Wait]:
        """The next line, and how long it took; while there is none, where the child is."""
        place, before = self.stacks.seek(0, os.SEEK_END), busy_seconds(self.process.pid)
        begin = time.perf_counter()
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        while (line := self.answer(SAMPLE_SECONDS)) is None:
            self.process.send_signal(signal.SIGUSR1)
            if time.perf_counter() - begin > PATIENCE_SECONDS:
                raise RuntimeError(f"no answer after {PATIENCE_SECONDS:.0f} s")
        wall, after = time.perf_counter() - begin, busy_seconds(self.process.pid)
        self.stacks.seek(place)
        places.update(places_of(self.stacks.read()))
        return line, Wait(wall, max((after[key] - before.get(key, 0.0) for key in after), default=wall))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.stacks.close()


def places_of(text: str) -> Iterator[str]:
    """The innermost line of the package in each stack."""
    for stack in text.split("(most recent call first):")[1:]:
        lines = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', stack)
        ours = [(path, line, name) for path, line, name in lines if "/maxmargin/" in path]
        if ours:
            path, line, name = ours[0]
            yield f"{path.split('/maxmargin/')[1]}:{line} {name}"


def measure(work: Work, moments: int, draw: random.Random, cold: bool = False) -> Outcome:
    """Ctrl-C and limits at so many random moments each; ``cold`` takes a new process for each."""
    outcome, child = Outcome(work), Child(work, cold)

    def next_child() -> Child:
        if not cold:
            return child
        child.close()
        return Child(work, cold).ready()

    try:
        child.ready().ask(limit=LONGEST_SECONDS if work.limit else None)
        child.answer(PATIENCE_SECONDS)
        begin = time.perf_counter()
        if child.answer(LONGEST_SECONDS) is None:
            child.wait(collections.Counter(), interrupt=True)
        outcome.full = time.perf_counter() - begin
        for _ in range(moments):
            moment = draw.uniform(0.0, min(outcome.full, LONGEST_SECONDS))
            child = next_child()
            child.ask(limit=None)
            child.answer(PATIENCE_SECONDS)
            line = child.answer(moment)
            if line is None:
                line, wait = child.wait(outcome.places, interrupt=True)
                outcome.waits.append(wait)
            outcome.ends[line] += 1
            if work.limit:
                child = next_child()
                child.ask(limit=moment)
                child.answer(PATIENCE_SECONDS)
                if child.answer(moment) is None:
                    outcome.overruns.append(child.wait(outcome.places, interrupt=False)[1])
    except RuntimeError as error:
        outcome.trouble = str(error)
    finally:
        child.close()
    return outcome


def row(outcome: Outcome) -> list[str]:
    def shown(waits: list[Wait]) -> list[str]:
        if not waits:
            return ["-"] * 3
        busy = [wait.busy for wait in waits]
        return [f"{statistics.median(busy):.2f}", f"{max(busy):.2f}", f"{max(wait.wall for wait in waits):.2f}"]

    late = max((wait.busy for wait in [*outcome.waits, *outcome.overruns]), default=0.0) > PROMISE_SECONDS
    places = ", ".join(f"{place} ({count})" for place, count in outcome.places.most_common(3)) if late else ""
    ends = ", ".join(f"{end} {count}" for end, count in outcome.ends.most_common())
    full = f"{outcome.full:.1f}{'+' if outcome.full >= LONGEST_SECONDS else ''}"
    return [outcome.work.name, full, *shown(outcome.waits), *shown(outcome.overruns), ends, outcome.trouble or places]


def _quantile(values: list[float], share: float) -> float:
    """The smallest of sorted values that this share of them does not exceed."""
    return values[max(0, math.ceil(share * len(values)) - 1)]


HEAD = [
    *("work", "fit s", "Ctrl-C: median CPU s", "largest", "wall"),
    *("limit: median CPU s", "largest", "wall", "ended with", "where it blocked (samples)"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="works whose name contains one of these (=NAME: is)")
    parser.add_argument("--moments", type=int, default=8, help="signals, and limits, for each work")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cold", action="store_true", help="every fit is the first of a process")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    options = parser.parse_args()
    draw, rows, outcomes = random.Random(options.seed), [], []
    for work in WORKS:
        words = options.only
        if words and not any(word[1:] == work.name if word[:1] == "=" else word in work.name for word in words):
            continue
        outcomes.append(measure(work, options.moments, draw, options.cold))
        rows.append(row(outcomes[-1]))
        print(" | ".join(rows[-1]), flush=True)
    table = markdown(HEAD, rows, words=(0, 8, 9))
    print(f"\n{table}")
    busy = sorted(wait.busy for outcome in outcomes for wait in [*outcome.waits, *outcome.overruns])
    if busy:
        late = sum(seconds > PROMISE_SECONDS for seconds in busy)
        print(f"{len(busy)} stops, CPU s: p50 {_quantile(busy, 0.5):.2f}, p99 {_quantile(busy, 0.99):.2f}, {late} late")
    if options.markdown is not None:
        options.markdown.write_text(table + "\n")


if __name__ == "__main__":
    main()
