"""Trials that are no fits of one case: many damaged files, Ctrl-C at random moments, processes killed while they save.

A campaign is a function of a seed. It says how many files it read (signals it sent, processes it killed) and what went
wrong. Damaged files are read in a forked process under a memory limit, so that a crash costs a campaign and not the
attack.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import maxmargin
from attack.case import answers_of, quiet
from attack.state import differences, state_of
from attack.trial import Failure, Result
from fuzz import data_files, libsvm_models, model_files

FILES_PER_CAMPAIGN = 5000
FAILURES_PER_CAMPAIGN = 5  # past these a campaign of files ends: they are most often one fault
MEMORY_FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where files cost no disk
KILLS_PER_CAMPAIGN = 20
SIGNALS_PER_CAMPAIGN = 5
KILL_WITHIN_SECONDS = 0.05  # a save takes a few milliseconds
SIGNAL_WITHIN_SECONDS = 0.3  # early moments are the more frequent ones: input is checked, handlers are exchanged
SHRINK_MAX_READS = 400


@dataclass(frozen=True)
class Campaign:
    """A kind of trials.

    Attributes
    ----------
    run : function of a seed
        Its result, with what it counted.
    weight : float
        How often it is drawn.
    """

    run: Callable[[int], Result]
    weight: float = 1.0


def _result(name: str, count: int, failures: list[str]) -> Result:
    return Result([Failure(name, text) for text in failures], [], "failed" if failures else "fitted", {name: count})


# ---------------------------------------------------------------------------------------------------- damaged files


def _in_a_fork(work: Callable[[Callable[[str], None]], None]) -> tuple[list[str], str]:
    """The lines that the work hands to its argument in a process of its own, and how that ended ("" for well)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with open(writer, "w", buffering=1) as file:
            try:
                model_files.limit_memory(model_files.MEMORY)
                work(lambda line: print(json.dumps(line), file=file))
            except BaseException as error:
                print(json.dumps(f"{type(error).__name__}: {error}"), file=file)
        os._exit(0)
    os.close(writer)
    with open(reader) as file:
        lines = [json.loads(line) for line in file]
    _, status = os.waitpid(child, 0)
    return lines, f"the process ended with signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else ""


@lru_cache
def _targets() -> dict[str, list[tuple[str, Callable, Callable]]]:
    """For each format the files to damage: a name, how to damage it and how to read it. All is read once, so that the
    code is loaded before memory is limited."""
    models = [
        ("model.mm", lambda rng, data=data: model_files.mutated(data, rng),
         lambda path, _, points=points: model_files.survives(path, points))
        for data, points in quiet(model_files.originals).values()
    ]  # fmt: skip
    texts = [
        ("libsvm.model", lambda rng, text=text: libsvm_models.mutated(text, rng),
         lambda path, _: libsvm_models.survives(path))
        for text in libsvm_models.ORIGINALS
    ]  # fmt: skip
    tables = [
        (name, lambda rng, name=name, data=data: data_files.mutated(name, data, rng), data_files.survives)
        for name, data in data_files.originals().items()
    ]
    found = {"model_files": models, "libsvm_files": texts, "data_files": tables}
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as folder, contextlib.redirect_stdout(io.StringIO()):
        for targets in found.values():
            for name, change, read in targets * 3:
                path = Path(folder) / name
                path.write_bytes(change(rng))
                quiet(lambda read=read, path=path: read(path, rng))
    return found


def damaged_files(kind: str, seed: int, count: int = FILES_PER_CAMPAIGN) -> Result:
    """Files changed at random are read, or refused with the error that says so."""
    targets, rng = _targets()[kind], np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as folder:

        def read_all(say: Callable[[str], None]) -> None:
            found = 0
            for i in range(count):
                name, change, read = targets[i % len(targets)]
                path, data = Path(folder) / name, change(rng)
                path.write_bytes(data)
                state = rng.bit_generator.state
                if text := _reading(read, path, state):
                    found += 1
                    kind_of_error = text.split(":")[0]

                    def fails(smaller: bytes, read=read, path=path, state=state, kind=kind_of_error) -> bool:
                        path.write_bytes(smaller)
                        return _reading(read, path, state).split(":")[0] == kind

                    say(f"file {i}, {name}: {text}; bytes {shrunk_bytes(data, fails)!r}")
                if found == FAILURES_PER_CAMPAIGN:
                    break

        failures, ending = _in_a_fork(read_all)
        if ending:
            last = max(Path(folder).iterdir(), key=lambda path: path.stat().st_mtime_ns)
            failures.append(f"{ending}: {last.name}, bytes {last.read_bytes()!r}")
    return _result(kind, count, failures)


def _reading(read: Callable, path: Path, state: dict) -> str:
    """What goes wrong when the file is read, "" if nothing does; the reader draws from a generator in this state."""
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    try:
        quiet(lambda: read(path, rng))
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


def shrunk_bytes(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """The bytes without the pieces that are not needed for the failure."""
    size, reads = len(data) // 2, 0
    while size >= 1:
        start = 0
        while start < len(data):
            smaller = data[:start] + data[start + size :]
            reads += 1
            if reads > SHRINK_MAX_READS:
                return data
            if fails(smaller):
                data = smaller
            else:
                start += size
        size //= 2
    return data


# ---------------------------------------------------------------------------------------------------- Ctrl-C

LONG_FITS = [
    ("SVC", {"C": 100.0, "gamma": 0.05, "tol": 1e-6}, 2000),
    ("SVC", {"C": 10.0, "gamma": 0.05, "calibration": "sigmoid"}, 800),
    ("SVC", {"C": 100.0, "gamma": 0.05, "tol": 1e-6, "solver": "smo"}, 1000),
    ("NuSVC", {"nu": 0.4, "gamma": 0.05, "tol": 1e-6}, 1500),
    ("SVR", {"C": 10.0, "gamma": 0.05, "tol": 1e-6}, 1500),
    ("OneClassSVM", {"nu": 0.3, "gamma": 0.05, "tol": 1e-8}, 2000),
    ("LinearSVC", {"C": 100.0, "loss": "hinge", "tol": 1e-9, "max_iter": -1}, 20_000),
    ("LinearSVR", {"C": 100.0, "tol": 1e-9, "max_iter": -1}, 10_000),
    ("Perceptron", {"max_iter": 100_000}, 2000),
    ("NystroemSVC", {"n_components": 200, "tol": 1e-9}, 5000),
    ("KernelRidge", {"kernel": "rbf", "alpha": 0.1}, 1500),
    ("KernelPCA", {"n_components": 5, "kernel": "rbf"}, 1000),
    ("KernelKMeans", {"n_clusters": 5, "kernel": "rbf"}, 1500),
    ("SVCCV", {"Cs": [0.1, 1.0, 10.0], "gammas": [0.1, 1.0], "cv": 3}, 300),
    ("LinearSVCCV", {"Cs": [0.1, 1.0], "cv": 3}, 3000),
]


def signals(seed: int, count: int = SIGNALS_PER_CAMPAIGN) -> Result:
    """Every Ctrl-C raises exactly one KeyboardInterrupt, and the estimator then is as it was before the fit, or holds
    the best model so far and the exception says so."""
    rng = np.random.default_rng(seed)
    failures: list[str] = []
    for _ in range(count):
        name, params, n = LONG_FITS[int(rng.integers(len(LONG_FITS)))]
        X = rng.standard_normal((n, 10))
        score = X[:, 0] * X[:, 1] + rng.standard_normal(n)
        y = score if name in ("SVR", "LinearSVR", "KernelRidge") else (score > 0).astype(int)
        model = getattr(maxmargin, name)(**params)
        some = slice(0, 60)
        quiet(lambda model=model, X=X, y=y, some=some: model.fit(X[some], y[some]))
        before = state_of(model)
        moment = SIGNAL_WITHIN_SECONDS * float(rng.random()) ** 2
        failure = _one_signal(model, X, y, moment, before)
        if failure:
            failures.append(f"{name}({params}), seed {seed}, Ctrl-C after {moment:.4f} s: {failure}")
    return _result("signals", count, failures)


def _one_signal(model, X, y, moment: float, before) -> str:
    def send() -> None:
        time.sleep(moment)
        os.kill(os.getpid(), signal.SIGINT)

    sender, caught, finished = threading.Thread(target=send), [], False
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            sender.start()
            quiet(lambda: model.fit(X, y))
            finished = True
            sender.join()
            time.sleep(0.05)  # the signal is handled here if it comes after the fit
        except KeyboardInterrupt as error:
            caught.append(error)
        sender.join()
        time.sleep(0.01)  # a second exception for one signal would be raised here
    except KeyboardInterrupt as error:
        caught.append(error)
    finally:
        signal.signal(signal.SIGINT, previous)
    if len(caught) != 1:
        return f"{len(caught)} exceptions for one signal"
    if isinstance(caught[0], maxmargin.FitInterrupted):
        if caught[0].estimator is not model:
            return "FitInterrupted names another estimator"
        if "best model so far" not in str(caught[0]):  # a search that was stopped before its best model was fitted
            held = hasattr(model, "cv_results_") and not hasattr(model, "best_estimator_")
            return "" if held else f"FitInterrupted says {caught[0]}, and the estimator has a model"
        answers = quiet(lambda: answers_of(model, X[:5]))
        finite = all(np.isfinite(np.asarray(a, float)).all() for a in answers.values())
        return "" if finite else "the best model so far answers with numbers that are not finite"
    if not finished:
        found = differences(before, state_of(model))
        return f"KeyboardInterrupt, but the fit changed {found}" if found else ""
    return ""


# ---------------------------------------------------------------------------------------------------- kills


def kills(seed: int, count: int = KILLS_PER_CAMPAIGN) -> Result:
    """A process that is killed while it saves leaves the old model file or the new one, whole."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] > 0).astype(int)
    models = [maxmargin.SVC(C=C).fit(X, y) for C in (0.1, 10.0)]
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path, contents = Path(folder) / "model.mm", []
        for model in models:
            maxmargin.save(model, path)
            contents.append(path.read_bytes())
        for _ in range(count):
            child = os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    while True:
                        for model in models:
                            maxmargin.save(model, path)
                os._exit(1)
            time.sleep(float(rng.uniform(0, KILL_WITHIN_SECONDS)))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if not path.exists() or path.read_bytes() not in contents:
                failures.append(f"seed {seed}: a killed save leaves a damaged file")
                maxmargin.save(models[0], path)
            maxmargin.load(path)
        maxmargin.save(models[1], path)
        if path.read_bytes() != contents[1]:
            failures.append(f"seed {seed}: saving after a kill gives another file")
    return _result("kills", count, failures)


CAMPAIGNS: dict[str, Campaign] = {
    "model_files": Campaign(lambda seed: damaged_files("model_files", seed), 0.24),
    "libsvm_files": Campaign(lambda seed: damaged_files("libsvm_files", seed), 0.18),
    "data_files": Campaign(lambda seed: damaged_files("data_files", seed), 0.24),
    "signals": Campaign(signals, 0.7),
    "kills": Campaign(kills, 0.2),
}


def answer(kind: str, seed: int) -> dict:
    """The result of a campaign as the workers send it."""
    result = CAMPAIGNS[kind].run(seed)
    failures = [vars(failure) for failure in result.failures]
    return json.loads(
        json.dumps({"failures": failures, "held": [], "outcome": result.outcome, "counts": result.counts})
    )
