"""Bad input to every search: an error that names the cause, or a cell that failed and says why."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GroupKFold, KFold

from maxmargin.model_selection import SVCCV, SVRCV, NuSVCCV, OneClassSVMCV, Range

X, Y = make_classification(60, 5, n_informative=3, n_redundant=0, flip_y=0.05, random_state=0)
OUTLIERS = np.where(np.arange(60) % 10 > 0, 1, -1)
SEARCHES = {
    "SVCCV": (SVCCV, "Cs", Y),
    "SVRCV": (SVRCV, "Cs", 2 * X[:, 0] + Y),
    "NuSVCCV": (NuSVCCV, "nus", Y),
    "OneClassSVMCV": (OneClassSVMCV, "nus", OUTLIERS),
}
EVERY = pytest.mark.parametrize("name", SEARCHES)


def search_of(name, **options):
    kind, axis, y = SEARCHES[name]
    return kind(**{axis: [0.1, 0.2], "gammas": [0.1], "cv": 3, **options}), y


def parts(*splits):
    return [(list(train), list(test)) for train, test in splits]


HALVES = (range(30), range(30, 60))


@EVERY
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "is empty"),
        (np.array([]), "is empty"),
        ([0.1, np.nan], r"\[1\] must be > 0"),
        ([0.0], r"\[0\] must be > 0"),
        (["0.1"], r"\[0\] must be a number; got '0.1'"),
        ("0.1", "must be a list of values or a Range"),
        ([None], r"\[0\] must be a number"),
        ([True], r"\[0\] must be a number"),
        ([[0.1]], r"\[0\] must be a number"),
        ([1j], r"\[0\] must be a number"),
        ({"a": 0.1}, "must be a list of values or a Range"),
        (0.1, r"write \w+=\[0.1\]"),
        (Range(0.1, 0.1), "s: high must be > 0.1"),
        (Range(0.2, 0.1), "A range needs high > low"),
        (Range(0, 0.1), "low must be > 0"),
        (Range(np.nan, 0.1), "low must be > 0"),
        (Range(0.1, np.inf), "high must be"),
        (Range("a", 0.1), "low must be a number"),
        (Range(0.1, 0.2, 1), "count must be >= 2"),
        (Range(0.1, 0.2, 2.5), "count must be an integer"),
    ],
    ids=str,
)
def test_grids(name, values, message):
    axis = SEARCHES[name][1]
    search, y = search_of(name, **{axis: values})
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        search.fit(X, y)
    assert axis in str(caught.value)


@pytest.mark.parametrize("name", ["NuSVCCV", "OneClassSVMCV"])
@pytest.mark.parametrize("values", [[0.1, 1.5], [np.inf], Range(0.5, 5.0, 2)], ids=["number", "inf", "range"])
def test_nu_is_a_share(name, values):
    search, y = search_of(name, nus=values)
    with pytest.raises(ValueError, match="<= 1"):
        search.fit(X, y)


@EVERY
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gammas": []}, "gammas is empty"),
        ({"gammas": [np.nan]}, r"gammas\[0\] must be > 0"),
        ({"gammas": [np.inf]}, r"gammas\[0\] must be > 0"),
        ({"gammas": ["wide"]}, r"gammas\[0\] must be one of 'auto', 'scale' or a number; got gammas\[0\]='wide'"),
        ({"gammas": "scale"}, r"write gammas=\['scale'\]"),
        ({"gammas": Range(1.0, 0.1)}, "gammas: high must be"),
        ({"cv": 1}, "at least 2 folds.*cv=1"),
        ({"cv": 0}, "at least 2 folds.*cv=0"),
        ({"cv": True}, "at least 2 folds.*cv=True"),
        ({"cv": 2.5}, "2.5"),
        ({"cv": "five"}, "five"),
        ({"cv": 80}, "n_splits=80"),
        ({"cv": []}, "empty list of splits"),
        ({"cv": [None]}, r"Split 0 of cv must be a pair \(train, test\)"),
        ({"cv": [([0], [1], [2])]}, "must be a pair"),
        ({"cv": [(np.arange(40.0), np.arange(40.0, 60.0))]}, "training samples of split 0.*float64"),
        ({"cv": [(np.arange(40), np.ones(7, bool))]}, r"test samples of split 0.*mask of 60.*shape \(7,\)"),
        ({"cv": [(np.arange(40), [70])]}, "test sample that X, with 60 samples, does not have"),
        ({"cv": parts((range(60), []))}, "No cell of the grid has a score.*nothing to score"),
        ({"cv": GroupKFold(3)}, "groups"),
        ({"scoring": "nope_nope"}, "scoring must be one of.*nope_nope"),
        ({"scoring": "acuracy"}, "Did you mean 'accuracy'"),
        ({"scoring": 3}, "name of a scorer or a function; got 3"),
        ({"scoring": ["accuracy"]}, "one score"),
        ({"kernel": "rbf", "kernel_params": {"degree": [2]}}, "kernel='rbf' has no parameter 'degree'"),
        ({"kernel": "poly", "kernel_params": {"degree": "23"}}, "must be a list of values"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"refine": "once"}, "refine"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[:40],
)
def test_options(name, options, message):
    search, y = search_of(name, **options)
    with pytest.raises((ValueError, TypeError), match=message):
        search.fit(X, y)


@EVERY
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample_weight": np.ones(10)}, r"\(10,\), expected \(60,\)"),
        ({"sample_weight": np.full(60, np.nan)}, r"sample_weight\[0\] is NaN"),
        ({"sample_weight": -np.ones(60)}, "negative"),
        ({"sample_weight": np.zeros(60)}, "zero"),
        ({"sample_weight": np.ones((60, 2))}, "1D"),
        ({"groups": [1, 2]}, "groups has 2 entries, and X has 60 samples"),
        ({"groups": 3}, "groups has 3"),
        ({"groups": np.ones((60, 2))}, r"shape \(60, 2\)"),
    ],
    ids=["short", "nan", "negative", "zero", "matrix", "few groups", "no list", "matrix of groups"],
)
def test_weights_and_groups(name, given, message):
    search, y = search_of(name, cv=GroupKFold(3) if "groups" in given else 3)
    with pytest.raises((ValueError, TypeError), match=message):
        search.fit(X, y, **given)


@EVERY
def test_targets_of_another_length(name):
    search, y = search_of(name)
    with pytest.raises(ValueError, match="50"):
        search.fit(X, y[:50])


@EVERY
@pytest.mark.parametrize(
    ("split", "reason"),
    [(([], range(30)), "training part"), ((range(60), []), "nothing to score")],
    ids=["no training part", "no test part"],
)
def test_a_split_with_an_empty_part_is_left_out(name, split, reason):
    search, y = search_of(name, cv=parts(split, HALVES))
    with pytest.warns(FitFailedWarning, match=reason):
        search.fit(X, y)
    assert np.isnan(search.cv_results_["split0_test_score"]).all()
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], search.cv_results_["split1_test_score"])
    assert all(reason in of[0] for of in search.error_reasons_.values())


@EVERY
def test_samples_in_both_parts_are_told(name):
    search, y = search_of(name, cv=parts((range(40), range(20, 60)), HALVES))
    with pytest.warns(UserWarning, match="20 of the test samples of split 0 are training samples"):
        search.fit(X, y)
    again, _ = search_of(name, cv=parts((range(-60, -30), range(-30, 0))))  # numbers from the end
    plain, _ = search_of(name, cv=parts(HALVES))
    np.testing.assert_array_equal(
        again.fit(X, y).cv_results_["mean_test_score"], plain.fit(X, y).cv_results_["mean_test_score"]
    )


@EVERY
@pytest.mark.parametrize("answer", [np.nan, np.inf, None, "good", ZeroDivisionError], ids=str)
def test_a_scorer_that_fails_on_some_cells(name, answer):
    calls = []

    def scorer(model, X, y):
        calls.append(1)
        if len(calls) <= 3:  # all splits of the first cell
            if answer is ZeroDivisionError:
                raise ZeroDivisionError("division by zero")
            return answer
        return np.array([0.25])  # an array of one number is a number

    search, y = search_of(name, scoring=scorer, n_jobs=1)
    with pytest.warns(FitFailedWarning, match="3 of 6 scores are missing"):
        search.fit(X, y)
    assert search.best_score_ == 0.25
    assert search.error_reasons_.keys() == {0}
    words = "ZeroDivisionError: division by zero" if answer is ZeroDivisionError else f"returned {answer!r}"
    assert words in search.error_reasons_[0][2]
    assert search.cv_results_["rank_test_score"].tolist() == [2, 1]


@EVERY
def test_a_scorer_that_always_fails(name):
    search, y = search_of(name, scoring=lambda model, X, y: 1 / 0)
    with pytest.raises(ValueError, match=r"No cell of the grid has a score.*ZeroDivisionError"):
        search.fit(X, y)


@EVERY
def test_gamma_zero_has_no_score(name):
    search, y = search_of(name, gammas=None, kernel_params={"gamma": [0.0, 0.1]})
    with pytest.warns(FitFailedWarning, match=r"6 of 12 scores are missing.*gamma must be > 0; got gamma=0"):
        search.fit(X, y)
    zero = np.array([cell["gamma"] == 0 for cell in search.cv_results_["params"]])
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_test_score"]), zero)
    assert set(search.error_reasons_) == set(np.flatnonzero(zero))
    assert search.best_params_["gamma"] == 0.1
    without, _ = search_of(name, gammas=None, kernel_params={"gamma": [0.1]})
    assert search.best_params_ == without.fit(X, y).best_params_
    assert search.best_score_ == without.best_score_
    alone, _ = search_of(name, gammas=None, kernel_params={"gamma": [0.0]})
    with pytest.raises(ValueError, match=r"^gamma must be > 0; got gamma=0\.0\.$"):
        alone.fit(X, y)


@EVERY
def test_a_tiny_gamma_is_a_constant_kernel(name):
    search, y = search_of(name, gammas=[1e-300, 0.1])
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    flat, _ = search_of(name, gammas=[1e-300])
    assert len(np.unique(flat.fit(X, y).predict(X))) == 1


def test_a_hard_margin_beside_finite_prices():
    search, y = search_of("SVCCV", Cs=[0.1, np.inf], kernel="linear", gammas=None)
    with pytest.warns(FitFailedWarning, match="InseparableError"):
        search.fit(X, y)
    assert search.C_ == 0.1
    assert set(search.error_reasons_) == {1}
    tube, y = search_of("SVRCV", Cs=[0.1, np.inf])
    assert np.isfinite(tube.fit(X, y).cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("name", ["SVCCV", "NuSVCCV"])
def test_classes_that_folds_lack(name):
    search, _ = search_of(name, cv=KFold(3))
    three = np.repeat(["a", "b", "c"], 20)
    assert search.fit(X, three).best_score_ == 0.0  # every fold tests a class that it was not taught
    search, _ = search_of(name, cv=KFold(2))
    with pytest.raises(ValueError, match=r"split 0: the training part of this split holds only class 'b'"):
        search.fit(X, np.repeat(["a", "b"], 30))
    search, _ = search_of(name, cv=7)
    with pytest.raises(ValueError, match="n_splits=7"):
        search.fit(X, np.arange(60) // 6)
    with pytest.raises(ValueError, match="greater than one"):
        search.fit(X, np.zeros(60, int))


def test_outliers_that_folds_lack():
    y = np.where(np.arange(60) < 55, 1, -1)
    search, _ = search_of("OneClassSVMCV", cv=KFold(3))
    with pytest.warns(FitFailedWarning, match="no outlier among the samples left out"):
        search.fit(X, y)
    assert np.isnan(search.cv_results_["split0_test_score"]).all()
    assert np.isfinite(search.best_score_)
