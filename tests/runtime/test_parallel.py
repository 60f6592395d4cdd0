"""Threads: every tile once, errors arrive, nothing waits for itself, BLAS is given back, a fork can go on."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from maxmargin.runtime import threads as _parallel
from maxmargin.runtime.threads import (
    SHORT_MAX_PRODUCTS,
    Halted,
    Scratch,
    abandonable,
    effective_threads,
    run_tiles,
    single_threaded_blas,
)


def blas_libraries():
    return ThreadpoolController().select(user_api="blas").lib_controllers


def blas_threads():
    return [library.num_threads for library in blas_libraries()]


def set_blas_threads(numbers):
    """Set each library's threads, and leave no thread of ours in charge: since threadpoolctl 3.8 only the thread that
    first sets a limit can change it again, until it gives that up."""
    for library, number in zip(blas_libraries(), numbers, strict=True):
        library.set_num_threads(number)
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


@pytest.fixture
def two_blas_threads():
    before = blas_threads()
    set_blas_threads([2] * len(before))
    if set(blas_threads()) != {2}:
        pytest.skip("this BLAS does not take a limit of two")
    yield
    for library in blas_libraries():
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
    set_blas_threads(before)


@pytest.mark.parametrize("threads", [0, 1, 2, 4, 33])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_every_tile_runs_exactly_once(count, threads):
    done = np.zeros(count, int)
    lock = threading.Lock()

    def work(tile):
        with lock:
            done[tile] += 1

    run_tiles(work, count, threads)
    assert (done == 1).all()


def test_tiles_run_on_several_threads_at_once():
    """Each of four tiles waits for the others: fewer threads than four would never end."""
    barrier = threading.Barrier(4, timeout=30)
    run_tiles(lambda tile: barrier.wait(), 4, 4)


def test_one_thread_runs_in_the_caller_in_order():
    seen = []
    run_tiles(lambda tile: seen.append((tile, threading.get_ident())), 5, 1)
    assert seen == [(tile, threading.get_ident()) for tile in range(5)]


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_a_tile_is_raised_and_the_pool_lives_on(threads, error):
    def work(tile):
        if tile == 3:
            raise error("tile 3")

    with pytest.raises(error, match="tile 3"):
        run_tiles(work, 8, threads)
    done = []
    run_tiles(done.append, 8, threads)
    assert sorted(done) == list(range(8))


def test_tiles_after_an_error_are_not_started():
    started = []

    def work(tile):
        started.append(tile)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run_tiles(work, 1000, 2)
    assert len(started) <= 2


@pytest.mark.timeout(60)
def test_nesting_does_not_wait_for_itself():
    done = []

    def inner(tile):
        done.append(tile)

    def middle(tile):
        run_tiles(inner, 3, 4)

    run_tiles(lambda tile: run_tiles(middle, 3, 4), 6, 4)
    assert len(done) == 6 * 3 * 3


def test_a_nested_call_stays_on_its_worker():
    homes = []

    def outer(tile):
        me = threading.get_ident()
        run_tiles(lambda inner: homes.append(threading.get_ident() == me), 5, 4)

    run_tiles(outer, 4, 2)
    assert homes == [True] * 20


def test_the_caller_is_no_worker_afterwards():
    run_tiles(lambda tile: None, 4, 2)
    barrier = threading.Barrier(2, timeout=30)
    run_tiles(lambda tile: barrier.wait(), 2, 2)  # would break if the caller still counted as inside


@pytest.mark.timeout(60)
def test_many_callers_at_once():
    """More callers than pool threads: each makes progress by itself."""

    def call(seed):
        total = np.zeros(40)

        def work(tile):
            total[tile] = seed + tile

        run_tiles(work, 40, 3)
        return total

    with ThreadPoolExecutor(12) as callers:
        for seed, total in enumerate(callers.map(call, range(50))):
            assert (total == seed + np.arange(40)).all()


# effective_threads


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 4), (-1, 4), (-2, 3), (-4, 1), (-9, 1), (1, 1), (3, 3), (7, 7)]
)
def test_effective_threads_counts_like_joblib(four_cores, n_jobs, expected):
    assert effective_threads(n_jobs) == expected


@pytest.mark.parametrize(
    ("variable", "expected"), [("2", 2), ("1", 1), ("64", 4), ("2,1", 2), ("0", 4), ("many", 4), ("", 4)]
)
def test_omp_num_threads_caps_the_default_only(four_cores, monkeypatch, variable, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert effective_threads(None) == expected
    assert effective_threads(3) == 3


def test_effective_threads_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert effective_threads(None) == 1


# BLAS


def test_blas_has_one_thread_inside_and_its_own_number_after(two_blas_threads):
    with single_threaded_blas():
        assert set(blas_threads()) == {1}
        with single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


def test_blas_is_given_back_after_an_error(two_blas_threads):
    with pytest.raises(ValueError, match="inside"), single_threaded_blas():
        raise ValueError("inside")
    assert set(blas_threads()) == {2}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("first_out", [0, 1])
def test_blas_is_given_back_when_the_last_of_several_users_leaves(two_blas_threads, first_out):
    """Whichever leaves first: the one who set the limit, or the one who found it set."""
    inside, leave = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]
    out, die = [threading.Event(), threading.Event()], threading.Event()

    def use(k):
        with single_threaded_blas():
            inside[k].set()
            leave[k].wait(30)
        out[k].set()
        die.wait(30)  # a thread of a pool lives on

    users = [threading.Thread(target=use, args=(k,)) for k in range(2)]
    for k, user in enumerate(users):
        user.start()
        inside[k].wait(30)
    try:
        assert set(blas_threads()) == {1}
        leave[first_out].set()
        out[first_out].wait(30)
        assert set(blas_threads()) == {1}  # the other one is still inside
        leave[1 - first_out].set()
        out[1 - first_out].wait(30)
        assert set(blas_threads()) == {2}
    finally:
        die.set()
        for event in leave:
            event.set()
        for user in users:
            user.join()


@pytest.mark.timeout(60)
def test_blas_is_given_back_after_many_overlapping_users_and_errors(two_blas_threads):
    def use(k):
        try:
            with single_threaded_blas():
                if k % 3 == 0:
                    raise ValueError
                time.sleep(1e-4)
        except ValueError:
            pass

    with ThreadPoolExecutor(8) as callers:
        list(callers.map(use, range(200)))
    assert set(blas_threads()) == {2}


# Fork


def in_child(action, seconds=30):
    """The exit code of a forked child that runs ``action``; killed, and so a failure, if it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            action()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def use_everything():
    done = []
    with single_threaded_blas():
        run_tiles(done.append, 10, 2)
    assert sorted(done) == list(range(10))
    assert np.allclose(np.ones((50, 50)) @ np.ones(50), 50)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@needs_fork
def test_a_forked_child_starts_its_own_pool():
    use_everything()  # the parent's pool exists
    assert in_child(use_everything) == 0
    use_everything()  # and still works


@needs_fork
def test_a_fork_while_the_lock_is_held_does_not_lock_the_child():
    with _parallel._lock:
        assert in_child(use_everything) == 0


@needs_fork
def test_a_fork_inside_a_blas_limit_lets_the_child_use_its_own():
    with single_threaded_blas():
        assert in_child(use_everything) == 0


@needs_fork
def test_a_fork_from_inside_a_tile_can_use_threads_in_turn():
    codes = []
    run_tiles(lambda tile: codes.append(in_child(use_everything)), 1, 2)
    assert codes == [0]


LONG = 2 * SHORT_MAX_PRODUCTS  # multiplications of work that gets a thread of its own


@pytest.mark.parametrize("products", [0.0, LONG])
def test_abandonable_work_gives_its_result_or_its_error(products: float) -> None:
    def failing() -> None:
        raise np.linalg.LinAlgError("singular")

    assert abandonable(lambda: 3, products) == 3
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        abandonable(failing, products)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):  # the caller's error state counts
        abandonable(lambda: np.ones(1) / np.zeros(1), products)


def test_a_request_to_stop_abandons_the_work() -> None:
    released, finished = threading.Event(), threading.Event()

    def work() -> None:
        released.wait()
        finished.set()

    with pytest.raises(Halted):
        abandonable(work, LONG, lambda: "stop")
    assert not finished.is_set()  # nobody waited for it
    released.set()
    assert finished.wait(60)


def test_ctrl_c_abandons_the_work() -> None:
    released = threading.Event()

    def work() -> None:
        signal.raise_signal(signal.SIGINT)  # whose handler runs in the main thread
        released.wait()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            abandonable(work, LONG)
    finally:
        signal.signal(signal.SIGINT, before)
        released.set()


def test_scratch_buffers_of_a_finished_fit_serve_the_next_one():
    _parallel._unused.clear()
    first = Scratch()
    where = first.take("K", (1024, 1024), np.float32).ctypes.data
    first.release()
    second = Scratch()
    assert second.take("K of another dtype", (500, 1000), np.float64).ctypes.data == where


def test_a_buffer_that_is_still_referred_to_is_not_given_away():
    _parallel._unused.clear()
    first = Scratch()
    kept = first.take("K", (1024, 1024), np.float32)
    kept[:] = 7.0
    first.release()
    Scratch().take("K", (1024, 1024), np.float32)[:] = 0.0
    assert (kept == 7.0).all()


def test_unused_buffers_are_bounded():
    _parallel._unused.clear()
    scratches = [Scratch() for _ in range(5)]
    for scratch in scratches:
        scratch.take("K", (_parallel.REUSED_MAX_BYTES // 3,), np.uint8)
    for scratch in scratches:
        scratch.release()
    assert 0 < sum(buffer.used for buffer in _parallel._unused.values()) <= _parallel.REUSED_MAX_BYTES


def test_a_reserved_buffer_grows_in_place():
    scratch = Scratch()
    small = scratch.take("K", (10,), np.float64, reserve=8_000_000)
    small[:] = 3.0
    large = scratch.take("K", (1_000_000,), np.float64)
    assert np.shares_memory(small, large)
    assert (large[:10] == 3.0).all()
