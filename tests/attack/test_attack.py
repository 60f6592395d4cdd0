"""A short attack with fixed seeds, and tests of the attack itself: laws that are broken on purpose are found out."""

from __future__ import annotations

import numpy as np
import pytest

import attack  # noqa: F401 - puts the tests' folder on the path
from attack.campaigns import CAMPAIGNS, damaged_files, kills, shrunk_bytes, signals
from attack.case import Case, estimator_of
from attack.kinds import KINDS
from attack.report import HEADER
from attack.report import test_of as source_of
from attack.shrink import shrunk
from attack.trial import draw, run

SEEDS = range(6)  # of each kind


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_random_fits_obey_the_laws(kind, seed):
    case = draw(kind, seed)
    result = run(case)
    assert not result.failures, "\n" + HEADER + source_of(case, result.failures[0].check, str(result.failures), seed)


@pytest.mark.parametrize("kind", ["model_files", "libsvm_files", "data_files"])
def test_damaged_files_are_read_or_refused(kind):
    result = damaged_files(kind, 1, count=200)
    assert not result.failures
    assert result.counts == {kind: 200}


def test_every_signal_raises_once():
    assert not signals(3, count=4).failures


def test_a_killed_save_leaves_a_whole_file():
    assert not kills(1, count=10).failures


def test_every_campaign_has_a_name_of_its_own():
    assert not set(CAMPAIGNS) & set(KINDS)


def test_a_wrong_estimator_is_found_out_and_shrunk():
    """An estimator whose coefficients are off by a thousandth breaks a law, and the case is made smaller."""

    def wrong(case):
        model = estimator_of(case)
        fit = model.fit

        def fitted(*args, **kwargs):
            fit(*args, **kwargs)
            model.__dict__["intercept_"] = model.intercept_ + 1e-3
            return model

        object.__setattr__(model, "fit", fitted)
        return model

    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((30, 2)), 2)
    case = Case("linearsvc", "LinearSVC", {"C": 1.0}, X, (X[:, 0] > 0).astype(int), None, X[:5])
    assert not run(case, only="objective").failures

    def fails(smaller):
        return bool(run(smaller, only="objective", make=wrong).failures)

    assert fails(case)
    small = shrunk(case, fails, trials=60)
    assert len(small.X) < len(case.X)
    text = source_of(small, "objective", "off", 1)
    compile(text, "test", "exec")


def test_bytes_shrink_to_what_fails():
    data = bytes(range(100))
    assert shrunk_bytes(data, lambda part: b"\x07" in part and b"\x50" in part) == b"\x07\x50"
