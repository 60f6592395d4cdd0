"""More than two classes: the tasks that are posed, and the labels that their decisions become."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.multiclass import _ovr_decision_function

from maxmargin.svm.models.multiclass import one_vs_one, one_vs_rest, pairs, predict_codes, votes, votes_with_confidence

CODES = np.array([2, 0, 1, 0, 2, 2, 1])


def decisions(seed, n_classes, n=200):
    """Random values for all pairs, none of them zero."""
    return np.random.default_rng(seed).standard_normal((n, n_classes * (n_classes - 1) // 2))


def everyone(n_classes):
    return np.ones(n_classes, bool)


@pytest.mark.parametrize("n_classes", range(2, 7))
def test_pairs_are_all_combinations_in_order(n_classes):
    assert pairs(n_classes) == list(itertools.combinations(range(n_classes), 2))


def test_one_vs_one_has_a_task_a_pair_with_the_first_class_positive():
    tasks = one_vs_one(CODES, 3)
    assert len(tasks) == 3
    for task, (i, j) in zip(tasks, pairs(3), strict=True):
        assert task.rows.tolist() == [r for r, code in enumerate(CODES) if code in (i, j)]
        assert task.y.tolist() == [1.0 if CODES[r] == i else -1.0 for r in task.rows]
        assert task.constant is None


def test_one_vs_rest_has_a_task_a_class_over_all_rows():
    tasks = one_vs_rest(CODES, 3)
    assert len(tasks) == 3
    for k, task in enumerate(tasks):
        assert task.rows.tolist() == list(range(len(CODES)))
        assert task.y.tolist() == [1.0 if code == k else -1.0 for code in CODES]
        assert task.constant is None


@pytest.mark.parametrize("scheme", [one_vs_one, one_vs_rest])
def test_two_classes_are_one_task_with_the_second_class_positive(scheme):
    (task,) = scheme(np.array([0, 1, 1]), 2)
    assert task.rows.tolist() == [0, 1, 2]
    assert task.y.tolist() == [-1.0, 1.0, 1.0]


@pytest.mark.parametrize("scheme", [one_vs_one, one_vs_rest])
@pytest.mark.parametrize(("present", "sign"), [(0, -1.0), (1, 1.0)])
def test_two_classes_of_which_one_is_absent_are_decided_in_advance(scheme, present, sign):
    (task,) = scheme(np.full(3, present), 2)
    assert task.constant == sign


def test_tasks_of_absent_classes_are_decided_in_advance():
    codes = np.array([0, 2, 0])  # classes 1 and 3 have no rows
    constants = {pair: task.constant for pair, task in zip(pairs(4), one_vs_one(codes, 4), strict=True)}
    assert constants == {(0, 1): 1.0, (0, 2): None, (0, 3): 1.0, (1, 2): -1.0, (1, 3): 0.0, (2, 3): 1.0}
    assert [task.constant for task in one_vs_rest(codes, 4)] == [None, -1.0, None, -1.0]


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_votes_are_counted_pair_by_pair(n_classes):
    decision = decisions(0, n_classes)
    expected = np.zeros((len(decision), n_classes))
    for row, values in enumerate(decision):
        for value, (i, j) in zip(values, pairs(n_classes), strict=True):
            expected[row, i if value > 0 else j] += 1
    assert (votes(decision, everyone(n_classes)) == expected).all()
    assert (votes(decision, everyone(n_classes)).sum(axis=1) == decision.shape[1]).all()


def test_a_value_of_zero_is_a_vote_for_the_second_class_as_in_libsvm():
    assert votes(np.zeros((1, 3)), everyone(3)).tolist() == [[0.0, 1.0, 2.0]]


@pytest.mark.parametrize("n_classes", [3, 4, 7])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_votes_with_confidence_are_scikit_learn_s(n_classes, scale):
    decision = scale * decisions(1, n_classes)
    expected = _ovr_decision_function(decision < 0, -decision, n_classes)
    np.testing.assert_allclose(votes_with_confidence(decision, everyone(n_classes)), expected, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 1000), st.integers(3, 6), st.floats(1e-3, 1e9))
@settings(max_examples=50, deadline=None)
def test_confidence_only_breaks_ties(seed, n_classes, scale):
    decision = scale * decisions(seed, n_classes, n=20)
    plain = votes(decision, everyone(n_classes))
    assert np.abs(votes_with_confidence(decision, everyone(n_classes)) - plain).max() < 0.5
    best = votes_with_confidence(decision, everyone(n_classes)).argmax(axis=1)
    assert (plain[np.arange(len(plain)), best] == plain.max(axis=1)).all()


def test_of_equal_votes_the_first_class_wins():
    circle = np.array([[1.0, -1.0, 1.0]])  # 0 beats 1, 2 beats 0, 1 beats 2
    assert votes(circle, everyone(3)).tolist() == [[1.0, 1.0, 1.0]]
    assert predict_codes(circle, "ovo", everyone(3)).tolist() == [0]
    stronger = np.array([[0.1, -5.0, 1.0]])  # the same circle, but 2 beats 0 by far
    assert votes_with_confidence(stronger, everyone(3)).argmax() == 2


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("absent", [0, 1, -1])
def test_absent_classes_are_never_predicted(n_classes, absent):
    present = everyone(n_classes)
    present[absent] = False
    decision = decisions(2, n_classes)
    for column, (i, j) in enumerate(pairs(n_classes)):  # decided in advance against the absent one
        if not present[i]:
            decision[:, column] = -1.0
        elif not present[j]:
            decision[:, column] = 1.0
    gone = np.flatnonzero(~present)[0]
    assert (votes(decision, present)[:, gone] == 0).all()
    assert gone not in predict_codes(decision, "ovo", present)
    assert gone not in votes_with_confidence(decision, present).argmax(axis=1)
    values = decisions(3, n_classes)[:, :n_classes]
    values[:, gone] = 1e9
    assert gone not in predict_codes(values, "ovr", present)


def test_with_two_classes_absent_the_others_decide_among_themselves():
    codes = np.array([1, 3, 3, 1])
    present = np.array([False, True, False, True])
    tasks = one_vs_one(codes, 4)
    decision = np.array([[0.0 if t.constant is None else t.constant for t in tasks]] * 2)
    between = pairs(4).index((1, 3))
    decision[:, between] = 2.0, -2.0
    assert predict_codes(decision, "ovo", present).tolist() == [1, 3]
    assert votes_with_confidence(decision, present).argmax(axis=1).tolist() == [1, 3]


@pytest.mark.parametrize("scheme", ["ovr", "crammer_singer"])
def test_the_highest_value_wins_and_the_first_of_equal_ones(scheme):
    decision = np.array([[0.1, 0.3, 0.2], [-1.0, -3.0, -2.0], [0.5, 0.5, 0.5]])
    assert predict_codes(decision, scheme, everyone(3)).tolist() == [1, 0, 0]


def test_two_classes_are_decided_by_the_sign():
    assert predict_codes(np.array([-0.1, 0.0, 0.1]), "ovo", everyone(2)).tolist() == [0, 0, 1]
