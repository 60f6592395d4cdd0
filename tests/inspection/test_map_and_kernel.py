"""The same classifier through a kernel and through its map."""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_circles

from maxmargin.inspection.map_and_kernel import MapAndKernel, compare_map_and_kernel
from maxmargin.runtime import validation as _validation


def blobs(classes=2, d=3, seed=0):
    X, y = make_blobs(60, d, centers=classes, cluster_std=4.0, random_state=seed)
    return X / 4, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("degree", "coef0"), [(1, 1.0), (2, 0.0), (2, 1.0), (3, 0.5), (5, 1.0)])
def test_both_ways_are_one_classifier(degree, coef0, classes):
    X, y = blobs(classes)
    result = compare_map_and_kernel(X, y, degree, 0.2, coef0, C=0.5)
    assert result.gram_difference < 1e-13
    assert result.decision_difference < 1e-4
    assert result.agreement == 1.0
    assert result.kernel_objective == pytest.approx(result.map_objective, rel=1e-5)
    new = blobs(classes, seed=1)[0]
    mapped = result.feature_map.transform(new)
    values = result.kernel_model.decision_function(new), result.map_model.decision_function(mapped)
    np.testing.assert_allclose(*values, atol=1e-3 * np.abs(values[0]).max())


def power_by_squaring(degree):
    """Multiplications that x^degree takes, counted while doing it."""
    multiplications, exponent, result_is_one = 0, degree, True
    while exponent:
        if exponent % 2:
            multiplications += not result_is_one
            result_is_one = False
        exponent //= 2
        multiplications += exponent > 0
    return multiplications


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.sampled_from([0.0, 1.0]))
def test_costs_are_counted(d, degree, coef0):
    X, y = blobs(d=d)
    X, y = X[:10] / 3, np.arange(10) % 2
    result = compare_map_and_kernel(X, y, degree, 1.0, coef0, C=1e-3, tol=1e-3)
    features = math.comb(d + degree, degree) if coef0 else math.comb(d + degree - 1, degree)
    assert (result.n_samples, result.n_columns, result.n_map_features) == (10, d, features)
    assert result.kernel_cost == d + 1 + power_by_squaring(degree)
    assert result.map_cost == features
    assert result.point_cost == (math.comb(d + degree, degree) - 1) + features
    assert result.kernel_gram_cost == 55 * result.kernel_cost
    assert result.map_gram_cost == 55 * features + 10 * result.point_cost
    assert min(result.kernel_gram_seconds, result.map_gram_seconds) > 0
    assert min(result.kernel_fit_seconds, result.map_fit_seconds) > 0


def test_it_prints_as_a_table_and_cannot_be_changed():
    X, y = make_circles(50, factor=0.4, random_state=0)
    result = compare_map_and_kernel(X, y)
    lines = str(result).splitlines()
    assert lines[0].split()[-2:] == ["kernel", "map"]
    assert "(x'z + 1)^2" in lines[1]
    assert lines[2].split()[-2:] == ["2", "6"]
    assert len({len(line) for line in lines[:-1]}) == 1
    assert lines[-1].startswith("same label for 100.00%")
    page = result._repr_html_()
    assert page.count("<tr>") == len(lines) - 1
    assert "x&#x27;z" in page
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.degree = 3
    assert "SVC" not in repr(result)
    again = pickle.loads(pickle.dumps(result))
    assert isinstance(again, MapAndKernel)
    assert str(again) == str(result)


def test_sparse_points_string_labels_and_rules_for_gamma():
    X, y = blobs()
    X[np.abs(X) < 0.5] = 0.0
    labels = np.array(["left", "right"])[y]
    dense = compare_map_and_kernel(X, labels, gamma="auto")
    sparse = compare_map_and_kernel(sp.csr_matrix(X), labels, gamma="auto")
    assert dense.gamma == sparse.gamma == pytest.approx(1 / 3)
    assert sparse.agreement == 1.0
    assert sparse.kernel_objective == pytest.approx(dense.kernel_objective, rel=1e-5)


def test_what_cannot_be_compared_is_refused(monkeypatch):
    X, y = blobs()
    with pytest.raises(ValueError, match="coef0 must be >= 0"):
        compare_map_and_kernel(X, y, coef0=-1.0)
    with pytest.raises(TypeError, match="degree must be an integer"):
        compare_map_and_kernel(X, y, degree=1.5)
    with pytest.raises(ValueError, match="C must be > 0"):
        compare_map_and_kernel(X, y, C=0)
    monkeypatch.setattr(_validation, "available_memory", lambda: 1e4)
    with pytest.raises(MemoryError, match="Two Gram matrices of 60 points"):
        compare_map_and_kernel(X, y)
