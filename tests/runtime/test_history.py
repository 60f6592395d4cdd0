"""Histories: records in, columns out."""

from __future__ import annotations

import copy
import math
import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from maxmargin.runtime.history import History, Record


def filled(n, problem=0):
    history = History()
    for t in range(n):
        history.append(
            iteration=t,
            objective=10.0 / (t + 1),
            dual=-1.0 / (t + 1),
            margin=0.5 * t,
            n_support=n - t,
            seconds=0.1 * t,
            problem=problem,
        )
    return history


def test_columns_are_what_was_appended():
    history = filled(4)
    assert len(history) == 4
    np.testing.assert_array_equal(history.iteration, [0, 1, 2, 3])
    np.testing.assert_allclose(history.objective, [10, 5, 10 / 3, 2.5])
    np.testing.assert_allclose(history["dual"], [-1, -0.5, -1 / 3, -0.25])
    np.testing.assert_allclose(history.margin, [0, 0.5, 1, 1.5])
    np.testing.assert_array_equal(history.n_support, [4, 3, 2, 1])
    np.testing.assert_allclose(history.seconds, [0, 0.1, 0.2, 0.3])
    assert history.iteration.dtype == np.int64
    for name in history.names:
        np.testing.assert_array_equal(getattr(history, name), history[name])


def test_the_required_columns_are_there():
    assert {"objective", "gap", "margin", "n_support", "seconds", "iteration", "problem"} <= set(History().names)


def test_gap_is_the_difference_of_the_objectives_and_relative_to_the_larger():
    history = filled(3)
    np.testing.assert_allclose(history.gap, history.objective - history.dual)
    np.testing.assert_allclose(history.relative_gap, history.gap / history.objective)
    np.testing.assert_array_equal(history["relative_gap"], history.relative_gap)


@pytest.mark.parametrize(
    ("objective", "dual", "expected"), [(0.0, 0.0, 0.0), (math.inf, 1.0, math.inf), (2.0, 1.0, 0.5)]
)
def test_relative_gaps_of_extreme_objectives(objective, dual, expected):
    history = History()
    history.append(iteration=0, objective=objective, dual=dual)
    assert history.relative_gap[0] == expected


def test_what_a_solver_does_not_know_is_nan():
    history = History()
    history.append(iteration=3, objective=1.0)
    record = history[0]
    assert record.objective == 1.0
    assert all(
        math.isnan(value) for value in (record.dual, record.gap, record.margin, record.n_support, record.seconds)
    )


def test_a_column_is_up_to_date_after_each_append():
    history = filled(2)
    assert len(history.gap) == 2
    history.append(iteration=2, objective=1.0, dual=0.5)
    np.testing.assert_allclose(history.gap, [11.0, 5.5, 0.5])


def test_records_slices_and_iteration():
    history = filled(6)
    assert isinstance(history[2], Record)
    assert history[-1].iteration == 5
    assert [record.iteration for record in history] == list(range(6))
    part = history[1:4]
    assert isinstance(part, History)
    np.testing.assert_array_equal(part.iteration, [1, 2, 3])
    assert len(history) == 6
    with pytest.raises(IndexError):
        history[6]


def test_unknown_columns_are_named():
    history = filled(1)
    with pytest.raises(KeyError, match="no column 'loss'; there are problem, iteration"):
        history["loss"]
    with pytest.raises(AttributeError, match="its columns are"):
        _ = history.loss


def test_estimators_are_joined_in_order():
    joined = History.joined([filled(2), History(), filled(3)])
    np.testing.assert_array_equal(joined.problem, [0, 0, 2, 2, 2])
    assert joined.of_problem(2) == filled(3, problem=2)
    assert len(joined.of_problem(1)) == 0


def test_equality_compares_the_records():
    assert filled(3) == filled(3)
    assert filled(3) != filled(4)
    unknown = History([Record(0, 1, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)])
    assert unknown == copy.deepcopy(unknown)
    assert filled(1) != "history"
    with pytest.raises(TypeError):
        hash(filled(1))


@pytest.mark.parametrize("copied", [lambda h: pickle.loads(pickle.dumps(h)), copy.copy, copy.deepcopy])
def test_copies_are_equal_and_grow_on_their_own(copied):
    history = filled(3)
    _ = history.gap
    again = copied(history)
    assert again == history
    again = copy.deepcopy(again)
    again.append(iteration=9)
    assert len(history) == 3


def test_frame():
    frame = filled(3).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(History.names)
    np.testing.assert_allclose(frame["gap"], filled(3).gap)


def test_frame_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        filled(1).to_frame()


def test_text_shows_both_ends():
    lines = repr(filled(100)).splitlines()
    assert lines[0] == "History of 100 records"
    assert lines[1].split() == ["iteration", "objective", "dual", "gap", "margin", "n_support", "seconds"]
    assert [line.split()[0] for line in lines[2:]] == ["0", "1", "2", "...", "97", "98", "99"]
    assert len({len(line) for line in lines[1:]}) == 1


def test_text_of_few_records_shows_all_and_estimators_where_there_are_several():
    assert repr(History()) == "History of 0 records"
    assert repr(filled(1)).startswith("History of 1 record\n")
    assert "..." not in repr(filled(7))
    assert repr(History.joined([filled(1), filled(1)])).splitlines()[1].split()[0] == "problem"
