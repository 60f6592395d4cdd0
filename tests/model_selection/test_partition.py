"""Searches in cells: every row in one cell, every point with the model of its cell, and honest names and refusals."""

import signal
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import SVCCV, FitInterrupted
from maxmargin.model_selection.partition import Partition
from maxmargin.runtime import control


def waves(n, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, (np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + noise * rng.standard_normal(n) > 0).astype(int)


def searching(**options):
    return SVCCV(**{"Cs": [1.0, 100.0], "gammas": np.array([0.1, 1.0]), "cv": 3, "cells": 300, **options})


@pytest.mark.parametrize("max_rows", [1, 7, 100, 1000])
@pytest.mark.parametrize("kind", ["random", "few values", "one value in half", "equal"])
def test_a_partition_puts_every_row_into_one_cell_and_finds_it_again(max_rows, kind):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 3))
    if kind == "few values":
        X = np.round(X)
    elif kind == "one value in half":
        X[:400] = X[:400].max(axis=0) + 1
    elif kind == "equal":
        X[:] = 1.0
    partition, cells = Partition.of(X, max_rows)
    np.testing.assert_array_equal(np.sort(np.concatenate(cells)), np.arange(500))
    assigned = partition.assign(X)
    for k, rows in enumerate(cells):
        assert (assigned[rows] == k).all()
        assert len(rows) <= max_rows or (X[rows] == X[rows[0]]).all()
    assert partition.assign(rng.standard_normal((20, 3))).max() < len(cells)


def test_each_point_has_the_model_of_a_search_in_its_cell():
    X, y = waves(1200)
    search = searching().fit(X, y)
    partition, cells = Partition.of(X, 300)
    points, _ = waves(500, seed=1)
    where = partition.assign(points)
    for k, rows in enumerate(cells):
        alone = searching(cells=None).fit(X[rows], y[rows])
        inside = points[where == k]
        np.testing.assert_array_equal(search.predict(inside), alone.predict(inside))
        np.testing.assert_array_equal(search.decision_function(inside), alone.decision_function(inside))


def test_scores_are_means_over_the_rows_of_the_cells():
    X, y = waves(1000)
    search = searching(cells=400).fit(X, y)
    _, cells = Partition.of(X, 400)
    alone = [searching(cells=None).fit(X[rows], y[rows]) for rows in cells]
    share = np.array([len(rows) for rows in cells]) / 1000
    means = share @ [own.cv_results_["mean_test_score"] for own in alone]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means)
    assert search.best_params_ == search.cv_results_["params"][np.argmax(means)]
    assert search.best_score_ == pytest.approx(share @ [own.best_score_ for own in alone])
    assert (search.C_, search.gamma_) == (search.best_params_["C"], search.best_params_["gamma"])


def test_gammas_that_are_not_given_are_the_same_in_all_cells():
    X, y = waves(700)
    search = searching(gammas=None).fit(X, y)
    tried = SVCCV(Cs=[1.0], cv=3).fit(X, y).cv_results_["param_gamma"]
    np.testing.assert_array_equal(np.unique(search.cv_results_["param_gamma"]), np.unique(tried))


def test_cells_come_near_the_search_over_all_rows():
    (X, y), (points, labels) = waves(3000), waves(2000, seed=1, noise=0)
    everything, cells = searching(cells=None).fit(X, y), searching(cells=800).fit(X, y)
    assert cells.score(points, labels) > everything.score(points, labels) - 0.03
    assert "approximate" in str(cells.best_estimator_)


def test_cells_of_one_class_several_classes_weights_and_threads():
    X, _ = waves(1500)
    y = np.array(["a", "b", "c"])[(X[:, 0] > -2).astype(int) + (X[:, 0] > 2)]
    weight = np.where(np.arange(1500) % 3 == 0, 0.0, 1.0)
    one, two = (searching(n_jobs=n).fit(X, y, sample_weight=weight) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert one.score(X, y) > 0.97
    with pytest.raises(ValueError, match="3 classes"):
        one.decision_function(X)
    kept = weight > 0
    _, cells = Partition.of(X, 300)
    lost = searching().fit(
        np.concatenate([X[rows[kept[rows]]] for rows in cells]), np.concatenate([y[rows[kept[rows]]] for rows in cells])
    )
    assert np.mean(lost.predict(X) == one.predict(X)) > 0.97


def test_columns_are_checked_by_number_and_name():
    X, y = waves(600)
    frame = pd.DataFrame(X, columns=["u", "v"])
    search = searching().fit(frame, y)
    with pytest.raises(ValueError, match="2 features"):
        searching().fit(X, y).predict(X[:, :1])
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame[["v", "u"]])
    np.testing.assert_array_equal(search.predict(frame), searching().fit(X, y).predict(X))
    with pytest.raises(TypeError, match="SVCCV"):
        search.best_estimator_.fit(X, y)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"cells": 10}, {}, "cells"),
        ({"cells": 300.5}, {}, "cells"),
        ({}, {"groups": np.zeros(600)}, "groups"),
        ({"kernel": "precomputed", "gammas": None}, {}, "precomputed"),
    ],
)
def test_what_cells_cannot_do_is_refused_by_name_and_changes_nothing(options, arguments, message):
    X, y = waves(600)
    search = searching().fit(X, y)
    before = search.predict(X)
    search.set_params(**options)
    with pytest.raises((ValueError, TypeError), match=message):
        search.fit(X, y, **arguments)
    np.testing.assert_array_equal(search.predict(X), before)


@pytest.mark.parametrize("labels", ["two classes", "names, some cells of one class"])
def test_a_search_in_cells_can_be_saved(labels, tmp_path):
    X, y = waves(900)
    if labels != "two classes":
        y = np.array(["a", "b", "c"])[(X[:, 0] > -2).astype(int) + (X[:, 0] > 2)]
    search = searching().fit(X, y)
    maxmargin.save(search, tmp_path / "cells.mm")
    again = maxmargin.load(tmp_path / "cells.mm")
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert str(again.best_estimator_) == str(search.best_estimator_)
    if labels == "two classes":
        np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("after", [[1, 1], [-1, -2]], "node of the partition is missing"),
        ("after", [[-1, 1], [-1, -2]], "cell is missing"),
        ("after", [[-1, -2], [1, -3]], "no tree"),
        ("column", [0, 2], "beyond those of the points"),
    ],
)
def test_a_forged_partition_is_refused(attribute, value, message, tmp_path):
    X, y = waves(600)
    search = searching(cells=200).fit(X, y)
    tree = search.best_estimator_._partition
    forged = {"column": tree.column[:2], "cut": tree.cut[:2], "after": np.array([[1, -1], [-2, -3]])}
    forged[attribute] = np.array(value)
    best = search.best_estimator_
    best._partition = Partition(**forged)
    best.models_, best.cell_sizes_, best._constant = best.models_[:3], best.cell_sizes_[:3], best._constant[:3]
    with pytest.raises(maxmargin.ModelFileError, match=message):  # what is written is read again before it is kept
        maxmargin.save(search, tmp_path / "cells.mm")


def test_sparse_points_have_the_cells_of_dense_ones():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((900, 12)) < 0.3, rng.standard_normal((900, 12)), 0.0)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(900) > 0).astype(int)
    sparse = sp.csr_matrix(X)
    for form in (sparse, sp.csr_array(X)):
        tree, cells = Partition.of(form, 300)
        dense_tree, dense_cells = Partition.of(X, 300)
        np.testing.assert_array_equal(tree.assign(form), dense_tree.assign(X))
        assert [rows.tolist() for rows in cells] == [rows.tolist() for rows in dense_cells]
    search, dense = searching().fit(sparse, y), searching().fit(X, y)
    np.testing.assert_array_equal(search.predict(sparse), dense.predict(X))
    np.testing.assert_allclose(search.decision_function(sparse), dense.decision_function(X), atol=1e-6)


def test_objects_have_no_cells():
    with pytest.raises(ValueError, match="columns"):
        SVCCV(kernel="spectrum", Cs=[1.0], cells=100).fit(["abc", "abd"] * 150, [0, 1] * 150)


def test_a_search_that_is_stopped_keeps_the_cells_it_has(monkeypatch):
    """Its time is over in the second cell, by a clock that jumps."""
    X, y = waves(900)
    scores, jump = [], [0.0]

    def score(model, points, labels):
        scores.append(len(points))
        jump[0] = 1000.0 * (len(scores) >= 20)
        return float(np.mean(model.predict(points) == labels))

    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + jump[0])
    monkeypatch.setattr(control, "time", clock)
    with pytest.warns(ConvergenceWarning, match="of 4 cells"):
        search = clone(searching(scoring=score, max_seconds=500.0, n_jobs=1)).fit(X, y)
    assert search.status_ != "complete"
    assert search.predict(X).shape == y.shape


def test_an_interrupted_search_keeps_the_cells_that_are_done():
    X, y = waves(900)
    calls = []

    def score(model, points, labels):
        calls.append(len(points))
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return float(np.mean(model.predict(points) == labels))

    at = 2  # in the first cell: there is no model yet
    with pytest.raises(KeyboardInterrupt):
        searching(scoring=score, n_jobs=1).fit(X, y)
    at, calls[:] = 20, []  # two values of C, two of gamma and three folds: in the second cell
    search = searching(scoring=score, n_jobs=1)
    with pytest.raises(FitInterrupted), pytest.warns(ConvergenceWarning, match="searched 1 of 4 cells"):
        search.fit(X, y)
    assert search.status_ == "interrupted by the user"
    assert [model is not None for model in search.best_estimator_.models_].count(True) == 1
    assert np.mean(search.predict(X) == y) > 0.5
