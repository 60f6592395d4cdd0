"""The child of ``latency.py``: fits when a line on standard input asks for it, and says when it begins and ends."""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import json
import signal
import sys
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import *  # noqa: F403  (the estimators, for the expressions)
from maxmargin import FitInterrupted
from maxmargin.kernels import Spectrum  # noqa: F401

RNG = np.random.default_rng(0)
WARM_ROWS = 400


def noise(n: int, d: int, classes: int = 2) -> tuple[Any, ...]:
    """Labels that hardly depend on the points: hard problems."""
    X = RNG.standard_normal((n, d))
    return X, (RNG.integers(0, classes, n) + (X[:, 0] > 0)) % classes


def integers(n: int, d: int) -> tuple[Any, ...]:
    """What validation has to convert: integers in column order."""
    X = np.asfortranarray(RNG.integers(0, 255, (n, d)))
    return X, RNG.integers(0, 2, n)


def values(n: int, d: int) -> tuple[Any, ...]:
    X = RNG.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + RNG.standard_normal(n)


def sparse(n: int, d: int, classes: int = 2) -> tuple[Any, ...]:
    X = sp.random(n, d, density=min(1.0, 60 / d), format="csr", random_state=0)
    return X, RNG.integers(0, classes, n)


def strings(n: int) -> tuple[Any, ...]:
    return ["".join(RNG.choice(list("ACGT"), 200)) for _ in range(n)], RNG.integers(0, 2, n)


def gram(n: int, d: int) -> tuple[Any, ...]:
    X, y = noise(n, d)
    return X @ X.T, y


def batches(count: int, n: int, d: int) -> tuple[Any, ...]:
    X, y = noise(n, d)
    return ([(X, y)] * count,)


def table(n: int) -> tuple[Any, ...]:
    columns = [RNG.standard_normal(n).astype(object), RNG.choice(["red", "green", "blue"], n).astype(object)]
    return (np.stack(columns, axis=1),)


def slow_kernel(A: Any, B: Any) -> Any:
    return np.tanh(A @ B.T)


def warm_up(model: Any, data: tuple[Any, ...], method: str) -> None:
    """A small fit that loads and compiles everything."""
    if method == "fit_stream":
        some: tuple[Any, ...] = ([(X[:WARM_ROWS], y[:WARM_ROWS]) for X, y in data[0][:2]],)
    elif getattr(model, "kernel", "") == "precomputed":
        some = data[0][:WARM_ROWS, :WARM_ROWS], data[1][:WARM_ROWS]
    else:
        some = tuple(part[:WARM_ROWS] for part in data)
    quick = {"max_iter": 20, "n_components": 20} if method == "fit" else {}
    known = model.get_params()
    model.set_params(**{name: value for name, value in quick.items() if name in known})
    for n_jobs in {None, 2} if "n_jobs" in known else {None}:
        if n_jobs is not None:
            model.set_params(n_jobs=n_jobs)
        getattr(model, method)(*some)


def main() -> None:
    work, stacks = json.loads(sys.argv[1]), open(sys.argv[2], "a")  # noqa: SIM115
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False)
    warnings.simplefilter("ignore")
    names = {**globals()}
    data = eval(work["data"], names)
    method = work["method"]
    if not inspect.signature(getattr(eval(work["model"], names), method)).parameters.keys() & {
        "y",
        "batches",
        "source",
    }:
        data = data[:1]
    with contextlib.suppress(ValueError, TimeoutError):  # of too few rows
        if "cold" not in sys.argv[3:]:
            warm_up(eval(work["model"], names), data, method)
    print("ready", flush=True)
    for line in sys.stdin:
        model = eval(work["model"], names)
        if (limit := json.loads(line)["limit"]) is not None:
            model.set_params(max_seconds=limit)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("begin", flush=True)
        end = "returned"
        try:
            try:
                getattr(model, method)(*data)
            except FitInterrupted:
                end = "best so far"
            except KeyboardInterrupt:
                end = "as before"
            except Exception as error:
                end = type(error).__name__
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # the one signal came after the end
            pass
        print(end, flush=True)


if __name__ == "__main__":
    main()
