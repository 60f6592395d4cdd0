"""The four scalings of the soft margin: the table's formulas, and the same minimiser on both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import SVC
from maxmargin.problems.scalings import SCALINGS, convert_regularization
from reference import qp

PAIRS = [(source, target) for source in SCALINGS for target in SCALINGS]
# The value that stands for SVC's penalty C, among n samples.
OF_PRICE = {
    "norm2_sum": lambda C, n: 2 * C,
    "half_norm2_sum": lambda C, n: C,
    "half_norm2_mean": lambda C, n: n * C,
    "lambda_mean": lambda C, n: 1 / (n * C),
}
# The factors of |w|^2 and of sum xi in each objective.
OBJECTIVE = {
    "norm2_sum": lambda value, n: (1.0, value),
    "half_norm2_sum": lambda value, n: (0.5, value),
    "half_norm2_mean": lambda value, n: (0.5, value / n),
    "lambda_mean": lambda value, n: (value / 2, 1 / n),
}


def test_there_are_four():
    assert set(SCALINGS) == set(OF_PRICE)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(max_examples=40, deadline=None)
@given(penalty=st.floats(1e-100, 1e100), n=st.integers(1, 10**9))
def test_every_pair_follows_the_table(source, target, penalty, n):
    value = OF_PRICE[source](penalty, n)
    assert convert_regularization(value, source, target, n) == pytest.approx(OF_PRICE[target](penalty, n), rel=1e-14)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(max_examples=40, deadline=None)
@given(value=st.floats(1e-100, 1e100), n=st.integers(1, 10**9))
def test_there_and_back(source, target, value, n):
    there = convert_regularization(value, source, target, n)
    assert convert_regularization(there, target, source, n) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_converted_objectives_are_multiples_of_each_other(source, target):
    n, value = 37, 0.7
    a = OBJECTIVE[source](value, n)
    b = OBJECTIVE[target](convert_regularization(value, source, target, n), n)
    assert a[0] / b[0] == pytest.approx(a[1] / b[1], rel=1e-14)


def minimiser(scaling, value, X, y):
    """(w, b) of one scaling, from its own objective, by a quadratic program."""
    n, d = X.shape
    norm, slack = OBJECTIVE[scaling](value, n)
    program = qp.Program(w=d, b=1, xi=n)
    program.P[program.at["w"]] = 2 * norm  # the program's form is 1/2 x' diag(P) x
    program.q[program.at["xi"]] = slack
    for i in range(n):
        unit = np.eye(n)[i]
        program.at_least(1.0, w=y[i] * X[i], b=y[i], xi=unit)
        program.at_least(0.0, xi=unit)
    _, x, _ = program.solve()
    return np.append(x["w"], x["b"])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_every_scaling_has_the_minimiser_of_svc(scaling):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + 0.8 * rng.standard_normal(40) > 0, 1.0, -1.0)
    C = 0.8
    estimator = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    value = convert_regularization(C, "half_norm2_sum", scaling, len(y))
    found = minimiser(scaling, value, X, y)
    np.testing.assert_allclose(np.append(estimator.coef_, estimator.intercept_), found, atol=1e-5)
    elsewhere = minimiser(scaling, 3 * value, X, y)
    assert np.abs(elsewhere - found).max() > 1e-3  # the test would notice a wrong factor


def test_the_lecture_s_lambda():
    """lambda = 2 / (N C) of the first scaling."""
    assert convert_regularization(5.0, "norm2_sum", "lambda_mean", 20) == 2 / (20 * 5.0)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_hard_margin_stays_one(source, target):
    hard = {name: 0.0 if name == "lambda_mean" else math.inf for name in SCALINGS}
    assert convert_regularization(hard[source], source, target, 10) == hard[target]


def test_arrays_and_numbers():
    values = convert_regularization([[1.0, 2.0], [4.0, math.inf]], "half_norm2_sum", "lambda_mean", 10)
    np.testing.assert_allclose(values, [[0.1, 0.05], [0.025, 0.0]])
    given_array = np.array([1.0, 2.0])
    same = convert_regularization(given_array, "norm2_sum", "norm2_sum")
    same[0] = 7.0
    assert given_array[0] == 1.0
    assert isinstance(convert_regularization(np.float32(1), "norm2_sum", "half_norm2_sum"), float)
    assert isinstance(convert_regularization(3, "norm2_sum", "half_norm2_sum"), float)
    assert convert_regularization(np.arange(1, 4), "norm2_sum", "half_norm2_sum").tolist() == [0.5, 1.0, 1.5]


def test_n_is_needed_only_where_it_matters():
    assert convert_regularization(1.0, "norm2_sum", "half_norm2_sum") == 0.5
    assert convert_regularization(4.0, "half_norm2_mean", "lambda_mean") == 0.25
    with pytest.raises(ValueError, match="n_samples is needed between 'norm2_sum' and 'lambda_mean'"):
        convert_regularization(1.0, "norm2_sum", "lambda_mean")


def test_weights_may_stand_for_n():
    assert convert_regularization(1.0, "half_norm2_sum", "half_norm2_mean", 12.5) == 12.5


@pytest.mark.parametrize("source", SCALINGS)
@pytest.mark.parametrize("value", [-1.0, math.nan, -math.inf, [1.0, -2.0]], ids=str)
def test_values_that_are_no_penalty(source, value):
    with pytest.raises(ValueError, match=f"of '{source}': a penalty"):
        convert_regularization(value, source, "norm2_sum", 10)


@pytest.mark.parametrize(
    ("value", "source"),
    [(0.0, "norm2_sum"), (0, "half_norm2_sum"), ([2.0, 0.0], "half_norm2_mean"), (math.inf, "lambda_mean")],
)
def test_no_penalty_of_slack_is_refused_with_the_reason(value, source):
    with pytest.raises(ValueError, match=r"slack would cost nothing .* w = 0 would be optimal"):
        convert_regularization(value, source, "norm2_sum", 10)


@pytest.mark.parametrize("value", ["1", None, True, [1.0, "x"], 1j, [[1.0], [1.0, 2.0]]], ids=str)
def test_values_that_are_no_numbers(value):
    with pytest.raises(TypeError, match="number"):
        convert_regularization(value, "norm2_sum", "half_norm2_sum")


def test_names_and_n_are_checked():
    with pytest.raises(ValueError, match=r"source must be one of.*Did you mean 'norm2_sum'"):
        convert_regularization(1.0, "norm_sum", "half_norm2_sum")
    with pytest.raises(ValueError, match="target must be one of"):
        convert_regularization(1.0, "norm2_sum", "C")
    with pytest.raises(ValueError, match="n_samples must be > 0"):
        convert_regularization(1.0, "norm2_sum", "half_norm2_mean", 0)
    with pytest.raises(TypeError, match="n_samples must be a number"):
        convert_regularization(1.0, "norm2_sum", "half_norm2_mean", "10")


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (1e-310, "half_norm2_sum", "lambda_mean"),  # would be inf: no penalty at all
        (1e-320, "lambda_mean", "half_norm2_sum"),  # would be inf: a hard margin
        (1.7e308, "half_norm2_sum", "norm2_sum"),
        (5e-324, "norm2_sum", "half_norm2_sum"),
    ],
)
def test_what_would_change_its_meaning_is_refused(value, source, target):
    with pytest.raises(ValueError, match="does not fit"):
        convert_regularization(value, source, target, 10)
