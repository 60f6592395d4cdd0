"""mmd_test: the statistic and its null distribution from the definition, the level on equal samples, and the power."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.kernel_methods import two_sample
from maxmargin.kernel_methods.two_sample import MMDResult, mmd_test
from maxmargin.kernels import RBF, Columns, Laplacian, Linear
from reference import kernels as reference


def samples(n_x=20, n_y=25, d=2, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_x, d)), rng.standard_normal((n_y, d)) + shift


def discrepancy(k, X, Y, unbiased):
    """MMD^2 from its definition, a pair of points at a time."""

    def mean(A, B, same):
        pairs = [k(a, b) for i, a in enumerate(A) for j, b in enumerate(B) if not (same and unbiased and i == j)]
        return math.fsum(pairs) / len(pairs)

    return mean(X, X, True) + mean(Y, Y, True) - 2 * mean(X, Y, False)


def relabellings(k, points, n_x, unbiased):
    """The statistic of every way to call n_x of the points the first sample."""
    every = range(len(points))
    for chosen in itertools.combinations(every, n_x):
        rest = [i for i in every if i not in chosen]
        yield discrepancy(k, [points[i] for i in chosen], [points[i] for i in rest], unbiased)


# The statistic


@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(2, 8), st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_statistic_is_that_of_the_definition(seed, n_x, n_y, unbiased):
    X, Y = samples(n_x, n_y, shift=0.5, seed=seed)
    for parameters, k in (
        ({"gamma": 0.7}, reference.rbf(0.7)),
        ({"kernel": "laplacian", "gamma": 0.7}, reference.laplacian(0.7)),
        ({"kernel": "linear"}, reference.linear),
        ({"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0}, reference.polynomial(0.5, 1.0, 2)),
    ):
        result = mmd_test(X, Y, unbiased=unbiased, n_permutations=5, random_state=0, **parameters)
        expected = discrepancy(k, X.tolist(), Y.tolist(), unbiased)
        scale = max(1.0, *(k(z, z) for z in np.vstack((X, Y)).tolist()))
        assert result.statistic == pytest.approx(expected, abs=1e-10 * scale)
        assert (result.n_x, result.n_y) == (n_x, n_y)


def test_for_the_linear_kernel_it_is_the_distance_of_the_means():
    X, Y = samples(shift=1.0)
    result = mmd_test(X, Y, kernel="linear", unbiased=False, random_state=0)
    assert result.statistic == pytest.approx(((X.mean(axis=0) - Y.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_null_distribution_is_that_of_all_relabellings(unbiased):
    X, Y = samples(3, 4, shift=1.5)
    points = np.vstack((X, Y)).tolist()
    exact = np.sort(list(relabellings(reference.rbf(0.5), points, 3, unbiased)))
    result = mmd_test(X, Y, gamma=0.5, unbiased=unbiased, n_permutations=4000, random_state=0)
    nearest = exact[np.abs(result.null[:, None] - exact).argmin(axis=1)]
    np.testing.assert_allclose(result.null, nearest, atol=1e-12)
    counts = np.bincount(np.searchsorted(exact, nearest), minlength=len(exact))
    assert len(exact) == 35
    expected = 4000 / 35
    assert ((counts - expected) ** 2 / expected).sum() < 75  # chi-squared with 34 degrees of freedom: p > 0.0001
    share = np.mean(exact >= result.statistic - 1e-12)
    assert result.pvalue == pytest.approx(share, abs=4 * math.sqrt(share / 4000))


def test_the_p_value_counts_ties_and_the_samples_themselves():
    # two by two points: the relabellings are the samples, the samples swapped, and four others
    result = mmd_test([[0.0], [0.1]], [[5.0], [5.1]], gamma=1.0, n_permutations=3000, random_state=0)
    assert result.pvalue == pytest.approx(1 / 3, abs=0.04)
    equal = mmd_test([[1.0]] * 5, [[1.0]] * 4, random_state=0)
    assert equal.pvalue == 1.0
    assert mmd_test(*samples(shift=9.0), n_permutations=99, random_state=0).pvalue == 0.01


# Level and power


@pytest.mark.parametrize("unbiased", [False, True])
def test_equal_distributions_are_rejected_as_often_as_the_level_says(unbiased):
    repeats = 300
    pvalues = np.array(
        [
            mmd_test(*samples(12, 18, seed=seed), unbiased=unbiased, n_permutations=99, random_state=seed).pvalue
            for seed in range(repeats)
        ]
    )
    for level in (0.05, 0.2, 0.5, 0.8):
        spread = math.sqrt(level * (1 - level) / repeats)
        assert abs(np.mean(pvalues <= level) - level) < 4 * spread


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_different_distributions_are_told_apart(kernel):
    shifted = [
        mmd_test(*samples(40, 40, shift=1.0, seed=s), kernel=kernel, n_permutations=99, random_state=0).pvalue
        for s in range(20)
    ]
    assert np.mean(np.array(shifted) <= 0.05) >= 0.9
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((200, 1)), rng.choice([-1.0, 1.0], (200, 1))  # equal means and variances
    assert mmd_test(X, Y, kernel=kernel, random_state=0).pvalue < 0.01
    assert mmd_test(X, Y, kernel="linear", random_state=0).pvalue > 0.05


# The width of the kernel


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_median_rule(form):
    X, Y = samples(9, 8, 3)
    Z = np.vstack((X, Y))
    pairs = list(itertools.combinations(range(17), 2))
    euclidean = np.median([np.linalg.norm(Z[i] - Z[j]) for i, j in pairs])
    manhattan = np.median([np.abs(Z[i] - Z[j]).sum() for i, j in pairs])
    assert mmd_test(form(X), form(Y)).kernel.gamma == pytest.approx(1 / (2 * euclidean**2))
    assert mmd_test(form(X), form(Y), gamma="median", kernel="laplacian").kernel.gamma == pytest.approx(1 / manhattan)
    assert mmd_test(X, Y, gamma="scale").kernel.gamma == pytest.approx(1 / (3 * Z.var()))
    assert mmd_test(X, Y, gamma="auto").kernel.gamma == pytest.approx(1 / 3)
    assert mmd_test(X, Y, kernel="poly").kernel.gamma == pytest.approx(1 / (3 * Z.var()))


def test_the_median_of_mostly_equal_points_is_that_of_different_ones(monkeypatch):
    X = [[0.0]] * 9 + [[3.0]]
    assert mmd_test(X, X).kernel.gamma == pytest.approx(1 / 18)
    assert mmd_test([[0.0]] * 3, [[0.0]] * 3).kernel.gamma == 1.0
    monkeypatch.setattr(two_sample, "MEDIAN_POINTS", 60)
    X, Y = samples(200, 300)
    rough = mmd_test(X, Y, random_state=0, n_permutations=1).kernel.gamma
    monkeypatch.undo()
    assert rough == pytest.approx(mmd_test(X, Y, n_permutations=1).kernel.gamma, rel=0.5)


# What may be handed in, and what comes out


def test_forms_of_the_samples_do_not_matter():
    X, Y = samples(shift=0.5)
    expected = mmd_test(X, Y, gamma=0.5, random_state=0)
    names = ["a", "b"]
    for first, second in (
        (sp.csr_matrix(X), sp.csr_array(Y)),
        (sp.csr_matrix(X), Y),
        (X.tolist(), Y.tolist()),
        (pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=names)),
        (X.astype(np.float32), Y.astype(np.float32)),
    ):
        result = mmd_test(first, second, gamma=0.5, random_state=0)
        np.testing.assert_allclose(result.null, expected.null, atol=1e-6)
        assert result.pvalue == expected.pvalue
    tables = [pd.DataFrame(Z, columns=names) for Z in (X, Y)]
    one = mmd_test(*tables, kernel=Columns(Linear(), "b"), random_state=0)
    assert one.statistic == pytest.approx(mmd_test(X[:, 1:], Y[:, 1:], kernel="linear", random_state=0).statistic)


def test_kernels_by_name_object_function_and_matrix_agree():
    X, Y = samples(shift=0.5)
    expected = mmd_test(X, Y, gamma=0.5, random_state=0)
    K = RBF(gamma=0.5)(np.vstack((X, Y)))

    def pair(x, z):
        return math.exp(-0.5 * ((x - z) ** 2).sum())

    for result in (
        mmd_test(X, Y, kernel=RBF(gamma=0.5), random_state=0),
        mmd_test(X, Y, kernel=pair, random_state=0),
        mmd_test(K[:20], K[20:], kernel="precomputed", random_state=0),
    ):
        np.testing.assert_allclose(result.null, expected.null, atol=1e-12)
        assert result.pvalue == expected.pvalue


def test_strings_are_points_for_a_kernel_that_compares_them():
    rng = np.random.default_rng(0)

    def words(letters, n):
        return ["".join(rng.choice(list(letters), 6)) for _ in range(n)]

    def common(s, t):
        return sum(s.count(c) * t.count(c) for c in "abc")

    first = words("aab", 15)
    assert mmd_test(first, words("abb", 15), kernel=common, random_state=0).pvalue < 0.01
    assert mmd_test(first, words("aab", 15), kernel=common, random_state=0).pvalue > 0.05
    with pytest.raises(ValueError, match=r"type str.*compares vectors"):
        mmd_test(first, first)


def test_blocks_of_relabellings_and_threads_do_not_matter(monkeypatch):
    X, Y = samples(1100, 1100, shift=0.1)
    expected = mmd_test(X, Y, n_permutations=40, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(mmd_test(X, Y, n_permutations=40, random_state=0, n_jobs=3).null, expected.null)
    monkeypatch.setattr(two_sample, "RELABELLINGS_MAX_BYTES", 1.0)
    small = mmd_test(X, Y, n_permutations=40, random_state=0)
    np.testing.assert_allclose(small.null, expected.null, atol=1e-12)
    assert small.statistic == pytest.approx(expected.statistic, rel=1e-9)


def test_a_seed_repeats_itself():
    X, Y = samples()
    first, second = (mmd_test(X, Y, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.null, second.null)
    assert not np.array_equal(first.null, mmd_test(X, Y, random_state=8).null)


def test_the_result_is_frozen_and_reads_like_one():
    result = mmd_test(*samples(shift=2.0), kernel=Laplacian(gamma=0.5), n_permutations=1999, random_state=0)
    assert isinstance(result, MMDResult)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0
    assert (np.diff(result.null) >= 0).all()
    assert result.null.shape == (1999,)
    assert np.mean(result.null <= result.quantile(0.9)) == pytest.approx(0.9, abs=0.001)
    np.testing.assert_array_equal(result.quantile([0.0, 1.0]), [result.null[0], result.null[-1]])
    text = str(result)
    assert len(text.splitlines()) == 2
    for part in ("MMD²", "unbiased", "p = 0.0005", "1,999 permutations", "20 and 25 points", "Laplacian(gamma=0.5)"):
        assert part in text
    assert "null" not in repr(result)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_permutations": 0}, ValueError, "n_permutations"),
        ({"unbiased": "yes"}, TypeError, "unbiased"),
        ({"kernel": "rfb"}, ValueError, "rbf"),
        ({"kernel": "poly", "gamma": "median"}, ValueError, "gamma='median' is for"),
        ({"gamma": "mean"}, ValueError, "gamma"),
        ({"gamma": -1.0}, ValueError, "gamma"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"kernel": "precomputed"}, ValueError, "square"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        mmd_test(*samples(), **parameters)


def test_bad_samples_are_named():
    X, Y = samples()
    with pytest.raises(ValueError, match="X has 2 columns and Y has 1"):
        mmd_test(X, Y[:, :1])
    with pytest.raises(ValueError, match="Y has 1 sample"):
        mmd_test(X, Y[:1])
    with pytest.raises(ValueError, match="Input Y contains NaN in row 0, column 0"):
        mmd_test(X, np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="overflow"):
        mmd_test(X, 1e200 * Y, kernel="poly", gamma=1.0)
