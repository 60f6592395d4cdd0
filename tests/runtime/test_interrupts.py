"""Ctrl-C during fits: the first one, the second one, those between two fits, in threads and in other processes."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import SVC, SVCCV, SVR, FitInterrupted, LinearSVC, LinearSVR, NystroemSVC, OneClassSVM, interrupts
from maxmargin.runtime.control import Control, Status, watching
from maxmargin.runtime.interrupts import catching, current_policy, current_scope, raising_at_once
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.svm.kernel import classifier

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGINT to one process"),
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread only"
    ),
]
X, Y = load_iris(return_X_y=True)
HARD = {"C": 1e6, "tol": 1e-12}
LONG = {
    "SVC": SVC(kernel="linear", solver="smo", **HARD),
    "SVC, joint": SVC(kernel="linear", multiclass="crammer_singer", **HARD),
    "SVC, calibrated": SVC(kernel="linear", solver="smo", calibration="sigmoid", **HARD),
    "SVR": SVR(kernel="linear", solver="smo", **HARD),
    "OneClassSVM": OneClassSVM(kernel="linear", solver="smo", tol=1e-14),
    "LinearSVC": LinearSVC(solver="coordinate_descent", loss="hinge", max_iter=-1, **HARD),
    "LinearSVR": LinearSVR(solver="coordinate_descent", max_iter=-1, **HARD),
    "NystroemSVC": NystroemSVC(loss="hinge", C=1e4, tol=1e-10),
}


@pytest.fixture(autouse=True)
def python_s_handler():
    """Ctrl-C as a fresh Python handles it, before and after."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert current_scope() is None
    assert Control().stop() is None
    signal.signal(signal.SIGINT, before)


def pressing(times=1):
    """A watcher that presses Ctrl-C at the first report."""
    pressed = []

    def press(progress):
        while len(pressed) < times:
            pressed.append(progress)
            signal.raise_signal(signal.SIGINT)

    return press


def unchanged(model, before):
    return vars(model).keys() == before.keys() and all(vars(model)[name] is value for name, value in before.items())


def test_a_fit_that_only_serves_another_one_ends_where_ctrl_c_arrives():
    """Nobody wants its best model so far: it is not completed first."""
    model = SVC(kernel="linear", solver="smo", **HARD)
    with raising_at_once(), watching(pressing()), pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, Y)
    assert not isinstance(caught.value, FitInterrupted)
    assert not hasattr(model, "support_")


@pytest.mark.parametrize("name", LONG)
def test_the_first_one_leaves_the_best_model_and_raises(name):
    model = LONG[name].__class__(**LONG[name].get_params())
    with (
        pytest.raises(FitInterrupted, match="best model so far") as caught,
        pytest.warns(ConvergenceWarning, match="interrupted by the user"),
        watching(pressing()),
    ):
        model.fit(X, Y)
    assert caught.value.estimator is model
    assert isinstance(caught.value, KeyboardInterrupt)
    assert model.report_.status is Status.INTERRUPTED
    assert "interrupted by the user" in str(model.report_)
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("name", LONG)
def test_the_first_one_returns_the_model_where_that_was_asked_for(name):
    model = LONG[name].__class__(**LONG[name].get_params())
    with interrupts("keep") as request, pytest.warns(ConvergenceWarning) as caught, watching(pressing()):
        assert model.fit(X, Y) is model
    assert "interrupted by the user" in str(caught[-1].message)
    assert request.requested
    assert model.report_.status is Status.INTERRUPTED


@pytest.mark.parametrize("policy", ["raise", "keep"])
@pytest.mark.parametrize("name", LONG)
def test_the_second_one_raises_at_once_and_leaves_the_old_model(name, policy):
    model = (
        LONG[name].__class__(**LONG[name].get_params()).set_params(tol=0.1, **({"C": 1.0} if "One" not in name else {}))
    )
    model.fit(X[:, :3], Y)
    model.set_params(**{key: value for key, value in LONG[name].get_params().items() if key in HARD})
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt) as caught, interrupts(policy), watching(pressing(2)):
        model.fit(X, Y)
    assert not isinstance(caught.value, FitInterrupted)
    assert unchanged(model, before)


def test_before_there_is_a_solver_it_raises_and_leaves_the_old_model(monkeypatch):
    model = SVC().fit(X[:, :3], Y)
    before = dict(vars(model))

    def press(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("maxmargin.svm.kernel.classifier.check_weights", press)
    with pytest.raises(KeyboardInterrupt) as caught, interrupts("keep"):
        model.fit(X, Y)
    assert not isinstance(caught.value, FitInterrupted)
    assert unchanged(model, before)


def test_after_the_last_check_of_the_solver_it_is_not_lost(monkeypatch):
    """The model has converged, and the user is obeyed all the same."""
    pressed = []
    report_fit = classifier.report_fit

    def press(*args, **kwargs):
        pressed.append(signal.raise_signal(signal.SIGINT))
        return report_fit(*args, **kwargs)

    monkeypatch.setattr(classifier, "report_fit", press)
    model = SVC()
    with pytest.raises(FitInterrupted):
        model.fit(X, Y)
    assert model.report_.status is Status.OPTIMAL
    assert len(pressed) == 1


def test_a_loop_of_fits_ends():
    done = []

    def loop():
        for C in (1.0, 2.0, 3.0):
            done.append(SVC(C=C, kernel="linear", solver="smo").fit(X, Y))

    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning), watching(pressing()):
        loop()
    assert done == []


def test_fit_predict_ends_after_the_fit(monkeypatch):
    monkeypatch.setattr(OneClassSVM, "predict", lambda self, X: pytest.fail("no time for that"))
    model = LONG["OneClassSVM"]
    with pytest.raises(FitInterrupted), pytest.warns(ConvergenceWarning), watching(pressing()):
        model.fit_predict(X)
    assert model.report_.status is Status.INTERRUPTED


def test_a_warm_start_goes_on_from_an_interrupted_fit():
    model = SVC(kernel="linear", C=100.0, solver="smo", warm_start=True)
    with pytest.raises(FitInterrupted), pytest.warns(ConvergenceWarning), watching(pressing()):
        model.fit(X, Y)
    assert model.fit(X, Y).report_.status is Status.OPTIMAL


def test_an_error_after_ctrl_c_does_not_hide_it():
    class Failing:
        @all_or_nothing
        def fit(self):
            self.fitted_ = True
            with Control().catching_interrupts():
                signal.raise_signal(signal.SIGINT)
            raise ValueError("no solution")

    model = Failing()
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit()
    assert isinstance(caught.value.__cause__, ValueError)
    assert vars(model) == {}
    with pytest.raises(ValueError, match="no solution"), interrupts("keep"):
        model.fit()


def test_a_fit_that_only_serves_another_one():
    """It was interrupted after its last check: the fit that it serves does not begin its own solver."""

    class Inner:
        @all_or_nothing
        def fit(self):
            with Control().catching_interrupts():
                signal.raise_signal(signal.SIGINT)
            return self

    class Outer:
        @all_or_nothing
        def fit(self):
            self.inner_ = Inner().fit()
            with Control().catching_interrupts():
                self.solved_ = True
            return self

    model = Outer()
    with pytest.raises(KeyboardInterrupt):
        model.fit()
    assert vars(model) == {}
    with interrupts("keep"):
        assert model.fit().solved_


def test_fits_inside_share_the_event_on_every_thread():
    from maxmargin.runtime.threads import run_tiles

    outer, heard = Control(), []
    barrier = threading.Barrier(2, timeout=30)

    def work(tile):
        inner = Control()
        barrier.wait()
        heard.append(inner._interrupted is outer._interrupted)

    with outer.catching_interrupts():
        run_tiles(work, 2, 2)
    assert heard == [True, True]
    assert Control()._interrupted is not outer._interrupted


def test_a_search_is_refit_only_where_the_model_is_to_be_kept():
    def pressing_scorer(model, X, y):
        calls.append(1)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return float(np.mean(model.predict(X) == y))

    options = {"Cs": [1.0], "gammas": [0.01, 0.1, 1.0, 10.0], "cv": 3, "n_jobs": 1}
    for policy in ("raise", "keep"):
        calls = []
        search = SVCCV(scoring=pressing_scorer, **options)
        raised = pytest.raises(FitInterrupted, match="no model") if policy == "raise" else contextlib.nullcontext()
        with raised, pytest.warns(ConvergenceWarning, match="interrupted by the user"), interrupts(policy):
            search.fit(X, Y)
        assert search.status_ == "interrupted by the user"
        assert hasattr(search, "best_estimator_") == (policy == "keep")
        assert "gamma" in search.best_params_


def test_during_the_refit_of_a_search(monkeypatch):
    original = SVCCV._refit

    def refit(self, *args):
        with watching(pressing()):
            return original(self, *args)

    monkeypatch.setattr(SVCCV, "_refit", refit)
    search = SVCCV(Cs=[1e6], gammas=[0.1], cv=3, solver="smo", tol=1e-12, max_iter=2000)
    with pytest.raises(FitInterrupted), pytest.warns(ConvergenceWarning):
        search.fit(X, Y)
    assert search.best_estimator_.report_.status is Status.INTERRUPTED
    assert search.status_ == "complete"


def test_policies():
    assert current_policy() == "raise"
    with interrupts("keep"):
        assert current_policy() == "keep"
        with interrupts("raise"):
            assert current_policy() == "raise"
        assert current_policy() == "keep"
    maxmargin.set_interrupts("keep")
    try:
        assert current_policy() == "keep"
        with interrupts("raise"):
            assert current_policy() == "raise"
        seen = []
        thread = threading.Thread(target=lambda: seen.append(current_policy()))
        thread.start()
        thread.join()
        assert seen == ["keep"]
    finally:
        maxmargin.set_interrupts("raise")
    for call in (maxmargin.set_interrupts, lambda policy: interrupts(policy).__enter__()):
        with pytest.raises(ValueError, match="policy must be 'raise' or 'keep'; got policy='ignore'"):
            call("ignore")
    assert current_policy() == "raise"


def test_a_fit_in_another_thread_is_not_touched():
    begun, done = threading.Event(), []

    def run():
        with watching(lambda progress: begun.set()):
            done.append(SVC(kernel="linear", solver="smo", C=100.0).fit(X, Y))

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait(30)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    thread.join()
    assert done[0].report_.status is Status.OPTIMAL


def test_a_handler_that_a_callback_installs_is_left_alone():
    def install(progress):
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    try:
        with watching(install):
            SVC(solver="smo").fit(X, Y)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_the_second_one_gives_ctrl_c_back_whatever_it_skips():
    """It may arrive where no finally clause runs: in the frame that enters or leaves the block."""
    block = catching(threading.Event())
    block.__enter__()
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    block.__exit__(None, None, None)


def test_the_exception_travels_between_processes_without_its_model():
    error = FitInterrupted("text")
    error.estimator = SVC()
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, FitInterrupted)
    assert again.args == ("text",)
    assert again.estimator is None


LOOP = """
import signal, sys, warnings
import numpy as np
from sklearn.datasets import load_iris
from maxmargin import *
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
X, y = load_iris(return_X_y=True)
model = {model}
model.fit(X, y)
print("ready", flush=True)
came = False
while True:
    try:
        while True:
            model.fit(X, y)
            if came:  # reported here, where the next signal may come at once
                came = False
                print(restored, flush=True)
    except KeyboardInterrupt:
        came = True
        model.predict(X)
        restored = signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("model", ["SVC()", "LinearSVC()", "Perceptron(max_iter=3)", "KernelRidge()"])
def test_no_signal_is_lost_in_a_loop_of_short_fits(model):
    """Each of many signals, at random moments of a loop that does nothing but fit, comes out of it once."""
    child = subprocess.Popen(
        [sys.executable, "-c", LOOP.format(model=model)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "ready\n"
        draw = random.Random(0)
        for _ in range(100):
            time.sleep(draw.uniform(0.001, 0.01))
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "True\n", child.poll()
        assert child.poll() is None
    finally:
        child.kill()
        child.communicate()


def test_grid_search_of_scikit_learn_with_worker_processes_ends():
    """Ctrl-C in a terminal reaches the workers, too."""
    code = """
        import signal, warnings
        import numpy as np
        from sklearn.model_selection import GridSearchCV
        from maxmargin import SVC
        signal.signal(signal.SIGINT, signal.default_int_handler)
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((2000, 20)), rng.integers(0, 2, 2000)
        grid = {"C": [1e5 * i for i in range(1, 200)], "tol": [1e-12]}
        print("ready", flush=True)
        try:
            GridSearchCV(SVC(kernel="linear"), grid, n_jobs=2).fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(3.0)
        os.killpg(child.pid, signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        child.wait(60)
    finally:
        child.kill()
        child.communicate()
