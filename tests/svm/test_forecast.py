"""The word before a long fit: it comes only when it is due, says what will happen, and changes nothing."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from maxmargin import SVC, SVR, LongFitWarning, NuSVC
from maxmargin.large_scale import forecast_approximation
from maxmargin.runtime.control import Status, watching
from maxmargin.svm.kernel import forecast


@pytest.fixture
def small(monkeypatch):
    """Sizes that a test can afford: 1,200 rows are many, and any fit is long."""
    monkeypatch.setattr(forecast, "FORECAST_MIN_ROWS", 1_200)
    monkeypatch.setattr(forecast, "FIRST_SAMPLE_ROWS", 100)
    monkeypatch.setattr(forecast, "TEST_ROWS", 200)
    monkeypatch.setattr(forecast, "SAMPLE_MIN_ROWS", (200, 400))
    monkeypatch.setattr(forecast, "LONG_FIT_SECONDS", 0.0)


def points(n, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.digitize(X[:, 0] + 0.5 * rng.standard_normal(n), np.linspace(-1, 1, classes + 1)[1:-1])


def test_short_fits_pass_without_a_word():
    X, y = points(forecast.FORECAST_MIN_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(C=0.01, tol=0.1).fit(X, y)


@pytest.mark.parametrize("model", [SVC(C=2.0), SVC(kernel="linear", class_weight="balanced")], ids=["rbf", "linear"])
def test_a_long_fit_is_announced_and_left_as_it_is(small, monkeypatch, model):
    X, y = points(1_500, classes=3)
    with pytest.warns(
        LongFitWarning, match=r"an exact fit to these 1,500 rows will take about .* seconds? and .*NystroemSVC"
    ):
        announced = model.fit(X, y)
    coefficients, support = announced.dual_coef_.copy(), announced.support_.copy()
    monkeypatch.setattr(forecast, "FORECAST_MIN_ROWS", 10**9)
    plain = model.fit(X, y)
    assert np.array_equal(plain.support_, support)
    assert np.array_equal(plain.dual_coef_, coefficients)


def test_regression_is_announced_too(small):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1_500, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(1_500)
    with pytest.warns(LongFitWarning, match=r"NystroemSVR approximates it"):
        SVR().fit(X, y)
    text = forecast_approximation(SVR(), X, y).text("SVR", 1_500, "R squared")
    assert re.search(r"NystroemSVR approximates it .* R squared was 0\.\d+", text)


def test_a_model_without_an_alternative_is_told_the_time_alone(small):
    X, y = points(1_500)
    with pytest.warns(LongFitWarning) as told:
        NuSVC(nu=0.3).fit(X, y)
    assert "approximates" not in str(told[0].message)


def test_a_limit_of_time_needs_no_warning(small, monkeypatch):
    monkeypatch.setattr(forecast, "LONG_FIT_SECONDS", 1e-9)
    X, y = points(1_500)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongFitWarning)
        warnings.simplefilter("ignore")
        SVC(max_seconds=1e-9).fit(X, y)


def test_the_figures_are_those_of_the_fit(small):
    """Support vectors and score of the forecast against the machine itself."""
    X, y = points(3_000)
    told = forecast_approximation(SVC(), X, y)
    model = SVC()
    with pytest.warns(LongFitWarning):
        model.fit(X, y)
    assert 0.8 < told.n_support / len(model.support_) < 1.25
    assert abs(told.score - model.score(*points(2_000, seed=5))) < 0.08
    assert abs(told.approximate_score - told.score) < 0.03
    assert told.sample == 400
    assert told.seconds > 0
    assert told.approximate_seconds > 0


def test_time_is_extrapolated_by_the_power_that_the_samples_show(small, monkeypatch):
    """A clock that runs with the square of the rows makes the forecast the square, too."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return Clock.now

    X, y = points(4_000)
    fit = SVC.fit

    def timed(self, X, y, sample_weight=None):
        Clock.now += 1e-6 * len(y) ** 2
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(forecast, "time", Clock())
    monkeypatch.setattr(SVC, "fit", timed)
    told = forecast.forecast(SVC(), X, y, np.ones(4_000))
    assert told.seconds == pytest.approx(1e-6 * 4_000**2, rel=1e-9)


def test_rows_without_weight_are_not_sampled(small):
    X, y = points(3_000)
    weights = (np.arange(3_000) % 2 == 0).astype(float)
    X[weights == 0] = 1e6
    told = forecast.forecast(SVC(), X, y, weights)
    assert told.score > 0.7
    assert forecast.forecast(SVC(), X, y, np.where(np.arange(3_000) < 300, 1.0, 0.0)) is None  # too few are left


def test_a_sample_that_cannot_be_fitted_does_not_stop_the_fit(small):
    """A class so rare that no sample holds it, and that class_weight names."""
    X, y = points(1_500)
    y = np.where(np.arange(1_500) == 7, 5, y)
    model = SVC(class_weight={0: 1.0, 1: 2.0, 5: 3.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).classes_.tolist() == [0, 1, 5]


def test_watchers_see_the_fit_alone(small):
    X, y = points(1_500)
    seen = []
    with watching(seen.append), pytest.warns(LongFitWarning):
        SVC(solver="smo").fit(X, y)
    seconds = [progress.seconds for progress in seen]
    assert seconds == sorted(seconds)  # one clock
    assert seen


def test_an_interrupt_of_the_sample_ends_the_fit(small, monkeypatch):
    X, y = points(1_500)
    fit = SVC.fit

    def interrupted(self, X, y, sample_weight=None):
        fit(self, X, y, sample_weight)
        if len(y) < 1_500:
            self.report_ = type("Report", (), {"status": Status.INTERRUPTED})()
        return self

    monkeypatch.setattr(SVC, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SVC().fit(X, y)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "a second"), (75, "75 seconds"), (600, "10 minutes"), (1e5, "28 hours"), (1e6, "12 days")],
)
def test_times_in_words(seconds, words):
    assert forecast.duration(seconds) == words


@pytest.mark.parametrize("estimator", [NuSVC(), SVC(C=float("inf"))], ids=["nu", "hard margin"])
def test_an_estimator_without_an_approximation_is_refused(estimator):
    with pytest.raises(ValueError, match="has no approximation: it takes SVC or SVR with a finite C"):
        forecast_approximation(estimator, *points(100))
