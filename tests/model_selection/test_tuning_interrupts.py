"""Ctrl-C at any moment of a search: what was scored is kept and labelled, or nothing had been scored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from maxmargin import FitInterrupted
from maxmargin.model_selection import SVCCV, NuSVCCV, OneClassSVMCV

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGINT to one process")

MODELS = {
    "SVCCV": "SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1, 1.0], cv=3)",
    "SVCCV, values not held": "SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0], cv=3, cache_size=0.01)",
    "SVCCV, two threads": "SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1, 1.0], cv=3, n_jobs=2)",
    "SVRCV": "SVRCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1, 1.0], cv=3)",
    "OneClassSVMCV": "OneClassSVMCV(nus=[0.1, 0.3], gammas=[0.01, 0.1, 1.0], cv=3)",
}
MOMENTS = 8

SCRIPT = """
import json, os, signal, sys, threading, time, warnings
import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from maxmargin import FitInterrupted
from maxmargin.model_selection import SVCCV, SVRCV, OneClassSVMCV

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
X, y = make_classification(300, 8, n_informative=5, flip_y=0.1, random_state=0)
rng = np.random.default_rng(0)
printed = {}


def scores(search):
    return {
        str(params): [float(search.cv_results_[f"split{k}_test_score"][cell]) for k in range(3)]
        for cell, params in enumerate(search.cv_results_["params"])
    }


for name, text in json.loads(sys.argv[1]).items():
    search = eval(text)
    clone(search).fit(X, y)
    began = time.perf_counter()
    full = clone(search).fit(X, y)
    seconds = time.perf_counter() - began
    moments = np.sort(rng.uniform(0, 1.05 * seconds, int(sys.argv[2])))
    runs = []
    for moment in moments:
        run = clone(search)
        observed = {"end": "", "scored": 0}
        inner = type(run)._scorer

        def _scorer(self, *args, inner=inner, observed=observed):
            scorer = inner(self, *args)

            class Counted:
                reference = getattr(scorer, "reference", None)

                def __call__(self, *args):
                    value = scorer(*args)
                    observed["scored"] += 1
                    return value

            return Counted()

        type(run)._scorer = _scorer
        timer = threading.Timer(moment, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            try:
                run.fit(X, y)
                observed["end"] = "returned"
            except FitInterrupted:
                observed["end"] = "FitInterrupted"
            except KeyboardInterrupt:
                observed["end"] = "KeyboardInterrupt"
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:  # it came before or after the fit
            observed["end"] = observed["end"] or ("returned" if hasattr(run, "status_") else "KeyboardInterrupt")
        type(run)._scorer = inner
        if hasattr(run, "cv_results_"):
            observed["scores"], observed["best"] = scores(run), str(run.best_params_)
            observed["reasons"] = {str(c): list(of.values()) for c, of in run.error_reasons_.items()}
            observed["status"] = run.status_
            observed["predicts"] = hasattr(run, "best_estimator_") and len(run.predict(X)) == len(y)
        observed["handler"] = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        runs.append(observed)
    after = clone(search).fit(X, y)
    printed[name] = {"full": scores(full), "after": scores(after), "runs": runs}
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def printed():
    """Searches that were interrupted at random moments, all in one process."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), json.dumps(MODELS), str(MOMENTS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", MODELS)
def test_at_random_moments(printed, name):
    full, runs = printed[name]["full"], printed[name]["runs"]
    assert printed[name]["after"] == full  # a later fit is not affected
    assert len(runs) == MOMENTS
    for run in runs:
        assert run["handler"]
        assert run["end"] in ("returned", "FitInterrupted", "KeyboardInterrupt")
        if "scores" not in run:
            assert run["end"] == "KeyboardInterrupt"
            assert run["scored"] == 0  # nothing was found that could be lost
            continue
        assert run["end"] != "KeyboardInterrupt"
        assert run["status"] in ("complete", "interrupted by the user")
        assert run["scores"].keys() == full.keys()
        found = {(cell, k): s for cell, mine in run["scores"].items() for k, s in enumerate(mine) if not np.isnan(s)}
        assert len(found) == run["scored"]  # every score that was computed is in the account
        for (cell, k), score in found.items():
            assert score == full[cell][k]
        missing = 3 * len(full) - len(found)
        reasons = [reason for of in run["reasons"].values() for reason in of]
        assert reasons == ["interrupted by the user"] * missing
        if run["status"] == "complete":
            assert missing == 0
        if run["end"] == "returned":
            assert run["status"] == "complete"
            assert run["predicts"]
        means = {cell: np.mean(mine) for cell, mine in run["scores"].items() if not np.isnan(mine).any()}
        if means:
            assert means[run["best"]] == max(means.values())


def data():
    return make_classification(150, 6, n_informative=4, random_state=0)


def test_before_any_score_it_is_an_interrupt():
    X, y = data()

    class Pressing(SVCCV):
        def _job(self, *args):
            signal.raise_signal(signal.SIGINT)
            return super()._job(*args)

    search = Pressing(Cs=[1.0], gammas=[0.1], cv=[(np.arange(100), np.arange(100, 150))])
    with pytest.raises(KeyboardInterrupt, match="before any cell had a score"):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("kind", [NuSVCCV, OneClassSVMCV])
def test_a_model_that_solves_its_own_problem_is_stopped(kind, monkeypatch):
    """The model inside does not hear Ctrl-C itself, for the search listens."""
    X, y = data()
    model = type(kind()._estimator())
    fitted = []
    original = model.fit

    def fit(self, *args, **kwargs):
        fitted.append("begun")
        if len(fitted) == 5:
            signal.raise_signal(signal.SIGINT)
        done = original(self, *args, **kwargs)
        fitted.append("ended")
        return done

    monkeypatch.setattr(model, "fit", fit)
    search = kind(nus=[0.2, 0.4], gammas=[0.1, 1.0], cv=2, solver="smo", refit=False, n_jobs=1)
    with pytest.raises(FitInterrupted), pytest.warns(ConvergenceWarning, match="interrupted by the user"):
        search.fit(X, y)
    assert fitted == ["begun", "ended", "begun", "ended", "begun"]
    assert search.status_ == "interrupted by the user"
    first, second = (search.cv_results_[f"split{k}_test_score"] for k in range(2))
    assert np.isnan(first).sum() == 2
    assert np.isnan(second).all()
    assert np.isnan(search.cv_results_["mean_test_score"]).all()  # no cell has both its scores
    assert search.best_score_ == np.nanmax(first)


def test_the_second_interrupt_ends_the_fit_and_leaves_the_search_as_it_was():
    X, y = data()
    calls = []
    before = SVCCV(Cs=[1.0], gammas=[0.1], cv=3, n_jobs=1).fit(X, y)

    def twice(model, X, y):
        calls.append(1)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return float(np.mean(model.predict(X) == y))

    search = before.set_params(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0], scoring=twice)
    fitted = dict(vars(search))
    with pytest.raises(KeyboardInterrupt) as caught:
        search.fit(X, y)
    assert not isinstance(caught.value, FitInterrupted)
    assert len(calls) == 5
    assert vars(search).keys() == fitted.keys()
    assert all(vars(search)[name] is value for name, value in fitted.items())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_slow_scores_do_not_hold_up_the_user():
    """After Ctrl-C, models that are fitted but not scored are scored for a moment, and no longer."""
    X, y = data()
    calls = []

    def slow(model, X, y):
        calls.append(1)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)
        return float(np.mean(model.predict(X) == y))

    search = SVCCV(Cs=np.geomspace(0.01, 100, 30), gammas=[0.1], cv=3, scoring=slow, n_jobs=1)
    with pytest.raises(FitInterrupted), pytest.warns(ConvergenceWarning, match="interrupted by the user"):
        search.fit(X, y)
    assert not hasattr(search, "best_estimator_")  # no time for another fit
    assert 4 <= len(calls) < 40
    means = search.cv_results_["mean_test_score"]
    assert np.count_nonzero(~np.isnan(means)) == len(calls) // 3  # cell by cell
    assert search.best_index_ == int(np.nanargmax(means))


def test_the_end_of_the_time_after_the_last_cell_is_no_failure():
    X, y = data()

    def tired(model, X, y):
        if len(calls) == 1:
            time.sleep(0.6)
        calls.append(1)
        return 1.0

    calls = []
    search = SVCCV(Cs=[1.0], gammas=[0.1], cv=2, scoring=tired, max_seconds=0.5, n_jobs=1)
    search.fit(X, y)
    assert search.status_ == "complete"
