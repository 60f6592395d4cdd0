"""Run control: the deadline, Ctrl-C and progress."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC
from maxmargin.runtime.control import Control, Progress, Status, print_progress

main_thread_only = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread only"
)


@pytest.fixture
def python_s_handler():
    """Ctrl-C as a fresh Python handles it, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c():
    """SIGINT to this process, and time for its handler to run."""
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100):
        time.sleep(0.001)


def test_without_limits_nothing_stops():
    assert Control().stop() is None


def test_the_deadline_stops_when_its_time_is_over():
    control = Control(max_seconds=0.05)
    assert control.stop() is None
    time.sleep(0.06)
    assert control.stop() is Status.DEADLINE
    assert control.seconds > 0.05


def test_an_infinite_deadline_never_stops():
    assert Control(max_seconds=float("inf")).stop() is None


def test_the_user_comes_before_the_deadline():
    control = Control(max_seconds=0.0)
    time.sleep(0.001)
    control._interrupted.set()
    assert control.stop() is Status.INTERRUPTED


def test_progress_is_handed_to_the_callback():
    seen = []
    control = Control(callback=seen.append)
    control.report(7, 0.25, 3)
    assert len(seen) == 1
    assert isinstance(seen[0], Progress)
    assert (seen[0].iteration, seen[0].violation, seen[0].n_support) == (7, 0.25, 3)
    assert 0 <= seen[0].seconds <= control.seconds
    Control().report(1, 0.0, 0)  # nobody listens


def test_print_progress_logs_one_line(caplog):
    print_progress(Progress(12345, 0.5, 678, 1.5))
    assert len(caplog.messages) == 1
    for part in ("12,345", "5.000e-01", "678", "1.50"):
        assert part in caplog.messages[0]


def test_only_optimal_is_converged_and_every_other_status_says_what_to_do():
    assert [status for status in Status if status.converged] == [Status.OPTIMAL]
    for status in (Status.MAX_ITER, Status.DEADLINE, Status.STALLED, Status.INSEPARABLE):
        assert ":" in status.value  # what happened: what to do about it


@main_thread_only
def test_the_first_ctrl_c_asks_to_stop(python_s_handler):
    control = Control()
    with control.catching_interrupts():
        assert control.stop() is None
        press_ctrl_c()
        assert control.stop() is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@main_thread_only
def test_the_second_ctrl_c_raises(python_s_handler):
    control = Control()

    def insist():
        with control.catching_interrupts():
            press_ctrl_c()
            press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        insist()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@main_thread_only
def test_the_handler_is_restored_after_an_error(python_s_handler):
    with pytest.raises(ValueError, match="inside"), Control().catching_interrupts():
        raise ValueError("inside")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@main_thread_only
def test_after_the_block_ctrl_c_is_python_s_own_again(python_s_handler):
    control = Control()
    with control.catching_interrupts():
        pass
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c()
    assert control.stop() is None


@main_thread_only
def test_a_program_s_own_handler_is_left_alone(python_s_handler):
    caught = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    mine = signal.getsignal(signal.SIGINT)
    control = Control()
    with control.catching_interrupts():
        assert signal.getsignal(signal.SIGINT) is mine
        press_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is mine
    assert caught == [signal.SIGINT]
    assert control.stop() is None


@main_thread_only
def test_an_ignored_ctrl_c_stays_ignored(python_s_handler):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Control().catching_interrupts():
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@main_thread_only
def test_a_fit_inside_a_fit_leaves_the_outer_one_in_charge(python_s_handler):
    outer, inner = Control(), Control()
    with outer.catching_interrupts():
        with inner.catching_interrupts():
            press_ctrl_c()
        assert outer.stop() is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_outside_the_main_thread_no_handler_is_installed():
    seen = []

    def run():
        before = signal.getsignal(signal.SIGINT)
        with Control().catching_interrupts():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [True]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    ("solver", "C", "gamma", "checks"),
    [("active_set", 10.0, 0.5, k) for k in (1, 2, 3, 5)] + [("auto", 1e4, 0.02, k) for k in (1, 2)],
)
def test_a_fit_stopped_anywhere_has_a_model_and_an_honest_certificate(monkeypatch, classes, solver, C, gamma, checks):
    """The clock is checked ``checks`` times before the deadline has passed; what the report says of the model is then
    computed again from its decision values. A batch checks it every 50 ms, and so gets a harder problem."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 6))
    y = rng.integers(classes, size=1600)
    left = [checks]

    def stop(self):
        left[0] -= 1
        return Status.DEADLINE if left[0] < 0 else None

    monkeypatch.setattr(Control, "stop", stop)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = SVC(C=C, gamma=gamma, solver=solver, decision_function_shape="ovo", n_jobs=1).fit(X, y)
    report = model.report_
    assert report.status is Status.DEADLINE
    assert report.kkt_violation > model.tol
    decision = model.decision_function(X).reshape(1600, -1)
    losses = 0.0
    for value, (i, j) in zip(decision.T, itertools.combinations(range(classes), 2), strict=True):
        sign = np.where(y == i, 1.0, -1.0) if classes > 2 else np.where(y == j, 1.0, -1.0)
        losses += C * np.maximum(0.0, 1.0 - sign * value)[(y == i) | (y == j)].sum()
    norms = 2.0 * sum(1.0 / margin**2 for margin in report.margins)
    assert report.primal_objective == pytest.approx(norms + losses, rel=1e-3)
    assert report.dual_objective <= report.primal_objective
    assert set(model.predict(X)) <= set(range(classes))
