"""Lists of records that stay short."""

from __future__ import annotations

import ast
import copy
import pickle
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin import History, LinearSVC, Perceptron
from maxmargin.runtime.control import Control
from maxmargin.runtime.history import FULL_RECORDS, RECORD_SPACING, ThinnedList


def filled(count):
    records = ThinnedList()
    for t in range(count):
        records.append(t)
    return records


@pytest.mark.parametrize("count", [0, 1, 2, FULL_RECORDS, FULL_RECORDS + 1])
def test_short_runs_are_whole(count):
    assert filled(count) == list(range(count))


@pytest.mark.parametrize("count", [300, 1000, 12_345, 300_000])
def test_long_runs_keep_the_first_the_last_and_geometrically_fewer(count):
    records = filled(count)
    assert records[:FULL_RECORDS] == list(range(FULL_RECORDS))
    assert records[-1] == count - 1
    assert len(records) <= FULL_RECORDS + 2 + np.log(count / FULL_RECORDS) / np.log(RECORD_SPACING) * 1.02
    steps = np.diff(records[FULL_RECORDS:-1])
    assert (steps > 0).all()
    assert (steps <= 1 + (RECORD_SPACING - 1) * np.array(records[FULL_RECORDS:-2])).all()


def test_at_every_moment_the_last_is_there():
    records = ThinnedList()
    for t in range(2000):
        records.append(t)
        assert records[-1] == t
        assert records == sorted(set(records))


def test_copies_go_on_where_they_were():
    records = filled(1000)
    for other in (pickle.loads(pickle.dumps(records)), copy.deepcopy(records), copy.copy(records)):
        assert other == records
        for t in range(1000, 3000):
            other.append(t)
        assert other == filled(3000)


def test_what_it_begins_with_is_kept():
    records = ThinnedList(range(1000))
    records.append(1000)
    assert records == list(range(1001))


@pytest.mark.parametrize("kind", [Control, History])
def test_ten_million_reports_take_no_memory(kind):
    """A tenth of them, and what they leave."""
    run = kind()
    tracemalloc.start()
    try:
        for t in range(100_000):
            run.report(t, 0.5, 3) if kind is Control else run.append(iteration=t, objective=1.0, dual=0.0)
        before = tracemalloc.get_traced_memory()[0]
        for t in range(100_000, 1_000_000):
            run.report(t, 0.5, 3) if kind is Control else run.append(iteration=t, objective=1.0, dual=0.0)
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()
    assert len(run.reports if kind is Control else run) < 500


def test_a_control_thins_whatever_list_it_is_given():
    control = Control(reports=[])
    for t in range(10_000):
        control.report(t, 0.5, 3)
    assert len(control.reports) < 400
    assert control.of_one().reports == []


def test_long_histories_of_fits_are_short():
    """Classes that cannot be separated, a million epochs of three points."""
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron(max_iter=20_000, shuffle=False).fit(X, y)
        linear = LinearSVC(loss="hinge", solver="pegasos", tol=1e-300, max_iter=5000).fit(X, y)
    assert model.n_iter_ == 20_000
    assert model.mistakes_.sum() > 20_000  # all of them
    assert len(model.history_["epoch"]) < 400
    assert model.history_["epoch"][-1] == 20_000
    assert linear.n_iter_ == 5000
    assert len(linear.history_) < 400
    assert linear.history_.iteration[-1] == 5000


def test_run_control_is_made_of_parameters_in_one_place():
    """``Control.of(estimator)``; elsewhere a Control is made only without parameters."""
    root = Path(maxmargin.__file__).parent
    for path in root.rglob("*.py"):
        if path.relative_to(root).parts[:2] == ("runtime", "control.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Control":
                assert not node.args, f"{path}:{node.lineno}"
                assert not node.keywords, f"{path}:{node.lineno}"
