"""Threads: one pool for the whole process, single-threaded BLAS inside a tile, and a fixed tiling.

The same input must give the same bits for any number of threads. So work is cut into tiles whose sizes depend
on the data only, each tile is computed by one thread with single-threaded BLAS, and no sum crosses a tile's rows.
A call made from inside a worker runs in that worker: nesting never waits for a pool that waits for it. Workers see the
caller's context variables: NumPy's error state, who watches a fit, and the event that Ctrl-C sets.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

SHORT_MAX_PRODUCTS = 1e8  # multiplications that take some hundredths of a second: not worth a thread to abandon
REUSED_MIN_BYTES = 1 << 20  # of a buffer that a later fit may take over: smaller ones are as fast when new
REUSED_MAX_BYTES = 96 << 20  # of all that wait for one: half of the default cache
POLL_SECONDS = 0.05  # between two checks whether to stop: a quarter of the promised 0.2 s

Result = TypeVar("Result")


class Halted(Exception):
    """A computation was given up because the run is to stop."""


Stop = Callable[[], object]  # called between the pieces of a long computation: anything but None ends it


def halt_on(stop: Stop | None) -> None:
    """Raise :class:`Halted` if ``stop`` gives a reason to."""
    if stop is not None and stop() is not None:
        raise Halted


_lock = threading.Lock()
_local = threading.local()
_pools: dict[int, ThreadPoolExecutor] = {}
_unused: dict[int, _Buffer] = {}  # buffers of finished fits, by id, the oldest first
_blas: dict[str, Any] = {"users": 0, "before": [], "libraries": None}


def _after_fork() -> None:
    """A child process has none of its parent's threads: drop the pools and the locks they may hold."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()
    _blas.update(users=0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def effective_threads(n_jobs: int | None) -> int:
    """Threads to use: ``None`` and -1 mean all cores this process may use, -2 all but one, and so on.

    ``OMP_NUM_THREADS`` caps the default, so that joblib's worker processes do not crowd each other out.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    if n_jobs is None:
        asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def _set_blas(numbers: list[int]) -> None:
    """Set the threads of each BLAS library. In some, only the thread that set a limit may change it;
    that control is removed, because the last thread to leave need not be the first that entered."""
    for library, number in zip(_blas["libraries"], numbers, strict=True):
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)
        library.set_num_threads(number)
        if free is not None:
            free(force=True)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """BLAS with one thread while any caller is inside; the limit is the process's, so callers are counted."""
    with _lock:
        if _blas["users"] == 0:
            if _blas["libraries"] is None:
                found = ThreadpoolController().lib_controllers
                _blas["libraries"] = [library for library in found if library.user_api == "blas"]
            _blas["before"] = [library.get_num_threads() for library in _blas["libraries"]]
            _set_blas([1] * len(_blas["before"]))
        _blas["users"] += 1
    try:
        yield
    finally:
        with _lock:
            _blas["users"] -= 1
            if _blas["users"] == 0:
                _set_blas(_blas["before"])


class Scratch:
    """Buffers that one fit uses again and again, one set per thread: touching new memory costs more than computing.

    A buffer is valid until the same thread takes the same name again. What is released serves the next fit.
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[int, str, Any], _Buffer] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any, *, reserve: int = 0) -> Any:
        """An array of that shape with whatever was in it. A buffer that will grow up to ``reserve`` bytes gets so many
        addresses at once: those that are never used cost nothing, and the others are not touched anew."""
        key = (threading.get_ident(), name, dtype)
        size = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = self._buffers.get(key)
        if buffer is None or buffer.memory.nbytes < size:
            grown = 0 if buffer is None else size // 4  # one that grows once will grow again
            buffer = self._buffers[key] = _reused(max(size, reserve), max(size + grown, reserve))
        buffer.used = max(buffer.used, size)
        return buffer.memory[:size].view(dtype).reshape(shape)

    def release(self) -> None:
        """Leave the large buffers to the next fit of the process, except those that an array still refers to."""
        while self._buffers:
            _, buffer = self._buffers.popitem()
            # The attribute and the argument of getrefcount are the only references if no array is over it.
            if buffer.used >= REUSED_MIN_BYTES and sys.getrefcount(buffer.memory) == 2:
                _unused[id(buffer)] = buffer
        while sum(buffer.used for buffer in list(_unused.values())) > REUSED_MAX_BYTES:
            _unused.pop(next(iter(_unused)), None)


@dataclass(eq=False)
class _Buffer:
    """Memory, of which the first ``used`` bytes have been touched."""

    memory: Any
    used: int = 0


def _reused(size: int, otherwise: int) -> _Buffer:
    """The smallest unused buffer of at least ``size`` bytes, or a new one of ``otherwise``."""
    for buffer in sorted(_unused.values(), key=lambda buffer: buffer.memory.nbytes):
        if buffer.memory.nbytes >= size >= REUSED_MIN_BYTES and _unused.pop(id(buffer), None) is not None:
            return buffer
    return _Buffer(np.empty(otherwise, np.uint8))


def run_tiles(work: Callable[[int], None], count: int, threads: int = 1) -> None:
    """Call ``work(0), ..., work(count - 1)``, each once, on up to ``threads`` threads; the first error is raised."""
    threads = min(threads, count)
    if threads <= 1 or getattr(_local, "inside", False):
        for tile in range(count):
            work(tile)
        return
    tiles = iter(range(count))
    errors: list[BaseException] = []

    def worker() -> None:
        was_inside, _local.inside = getattr(_local, "inside", False), True
        try:
            while not errors:
                with _lock:
                    tile = next(tiles, None)
                if tile is None:
                    return
                work(tile)
        except BaseException as error:
            errors.append(error)
        finally:
            _local.inside = was_inside

    with _lock:
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="maxmargin")
        pool = _pools[threads]
    helpers = [pool.submit(copy_context().run, worker) for _ in range(threads - 1)]
    try:
        worker()
        for helper in helpers:
            helper.result()
    except BaseException as error:  # Ctrl-C while waiting: the helpers end after the tile they are at
        errors.append(error)
        raise
    if errors:
        raise errors[0]


def strips_of(count: int, size: int) -> list[slice]:
    """So many rows in strips of ``size``; the last may be shorter."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def run_strips(work: Callable[[slice], None], count: int, size: int, threads: int = 1) -> None:
    """Call ``work`` for each strip of ``size`` of so many rows, on up to ``threads`` threads."""
    strips = strips_of(count, size)
    run_tiles(lambda t: work(strips[t]), len(strips), threads)


def abandonable(work: Callable[[], Result], products: float, stop: Stop | None = None) -> Result:
    """``work()`` with single-threaded BLAS, on another thread if it takes many multiplications (``products``).

    For calls that cannot be interrupted. When Ctrl-C, or anything but None from ``stop``, which raises :class:`Halted`,
    ends the wait for it, the thread finishes in the background: ``work`` must not write to shared data."""
    if products <= SHORT_MAX_PRODUCTS:
        with single_threaded_blas():
            return work()
    found: list[Result] = []
    errors: list[BaseException] = []
    done, context = threading.Event(), copy_context()  # which holds NumPy's error state

    def run() -> None:
        try:
            with single_threaded_blas():
                found.append(context.run(work))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="maxmargin decomposition", daemon=True).start()
    while not done.wait(POLL_SECONDS):
        halt_on(stop)
    if errors:
        raise errors[0]
    return found[0]


def blas_libraries() -> list[str]:
    """The BLAS libraries that are loaded, with their versions."""
    parts = ThreadpoolController().info()
    found = [f"{part['internal_api']} {part.get('version')}" for part in parts if part["user_api"] == "blas"]
    return list(dict.fromkeys(found))
