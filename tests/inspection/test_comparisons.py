"""Solvers side by side."""

from __future__ import annotations

import dataclasses
import math
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from maxmargin.inspection.comparisons import SolverComparison, compare_solvers
from maxmargin.runtime.history import History
from maxmargin.solvers import Pegasos, Subgradient, solvers_for
from maxmargin.svm.linear.classification import LinearSVC

X, Y = make_blobs(80, centers=2, cluster_std=3.0, random_state=0)
_, THREE = make_blobs(80, centers=3, random_state=1)


HINGE = solvers_for("linear", ["hinge"])


@pytest.fixture(scope="module")
def all_solvers():
    return compare_solvers(X, Y, C=0.1, max_iter=200)


def test_every_solver_has_its_line(all_solvers):
    assert isinstance(all_solvers, SolverComparison)
    assert [result.name for result in all_solvers] == HINGE
    assert len(all_solvers) == len(HINGE)
    assert list(all_solvers.refused) == ["newton"]


def test_the_figures_are_those_of_the_fits(all_solvers):
    for result in all_solvers:
        model = LinearSVC(loss="hinge", C=0.1, max_iter=200, solver=result.name)
        with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
            patch.setattr("maxmargin.runtime.control.warn", lambda *a, **k: None)
            model.fit(X, Y)
        np.testing.assert_array_equal(result.coef, model.coef_)
        assert result.objective == model.report_.primal_objective
        assert result.dual == model.report_.dual_objective
        assert result.relative_gap == model.report_.relative_gap
        assert result.kkt_violation == model.report_.kkt_violation
        assert result.n_iter == model.report_.n_iter
        assert result.status == model.report_.status.name.lower()
        assert result.seconds > 0
        assert isinstance(result.history, History)


def test_objectives_agree_and_none_is_below_the_dual_of_another(all_solvers):
    best = min(result.objective for result in all_solvers)
    bound = max(result.dual for result in all_solvers)
    assert bound <= best * (1 + 1e-9)
    for result in all_solvers:
        if result.status == "optimal":
            assert result.objective <= best * (1 + 1.1e-4)


def test_distances_are_from_the_solver_with_the_smallest_gap(all_solvers):
    reference = all_solvers[all_solvers.reference]
    assert reference.relative_gap == min(result.relative_gap for result in all_solvers)
    assert reference.distance == 0.0
    for result in all_solvers:
        apart = np.linalg.norm(result.coef - reference.coef) / np.linalg.norm(reference.coef)
        assert result.distance == pytest.approx(apart)


def test_text_is_an_aligned_table(all_solvers):
    lines = str(all_solvers).splitlines()
    assert lines[0] == "80 rows, 2 columns, 2 classes: C = 0.1, hinge loss, free intercept"
    assert lines[1].split("  ")[0] == "solver"
    table = lines[1 : 2 + len(HINGE)]
    assert len({len(line) for line in table}) == 1
    assert [line.split()[0] for line in table[1:]] == HINGE
    assert f"measured against that of {all_solvers.reference}" in lines[-2]
    assert lines[-1].startswith("newton was not run: newton needs a loss with a derivative")


class Cells(HTMLParser):
    def __init__(self, source):
        super().__init__()
        self.rows, self.text = [], None
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


def test_html_has_the_same_cells(all_solvers):
    rows = Cells(all_solvers._repr_html_()).rows
    assert rows[1][0] == "barrier"
    assert len(rows) == 1 + len(HINGE)
    assert len(rows[0]) == 8
    for cell in rows[1]:
        assert cell in str(all_solvers)


def test_frame(all_solvers, monkeypatch):
    frame = all_solvers.to_frame()
    assert list(frame.index) == HINGE
    assert {"seconds", "objective", "relative_gap", "kkt_violation", "distance", "status", "n_iter"} <= set(
        frame.columns
    )
    assert frame.loc["barrier", "objective"] == all_solvers["barrier"].objective
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        all_solvers.to_frame()


def test_it_cannot_be_changed_and_knows_its_solvers(all_solvers):
    with pytest.raises(dataclasses.FrozenInstanceError):
        all_solvers.reference = "smo"
    with pytest.raises(KeyError, match="'simplex' is not among barrier"):
        all_solvers["simplex"]
    assert set(all_solvers.histories) == set(HINGE)


def test_solvers_that_do_not_take_the_problem_are_named_with_the_reason():
    found = compare_solvers(X, Y, loss="squared_hinge", max_iter=50)
    assert set(found.refused) == {"smo", "pegasos"}
    assert "smo was not run: smo is for the hinge loss" in str(found)
    with pytest.raises(ValueError, match="None of the solvers takes this problem"):
        compare_solvers(X, Y, loss="squared_hinge", solvers=["smo"])


def test_a_missing_library_is_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    found = compare_solvers(X, Y, solvers=["barrier", "qp_primal"])
    assert "pip install" in found.refused["qp_primal"]


def test_options_go_to_solvers_and_to_the_estimator():
    given = {"small": Pegasos(), "large": Pegasos(batch_size=20), "best": "barrier"}
    found = compare_solvers(X, Y, solvers=given, max_iter=20, fit_intercept=False, intercept_scaling=None)
    assert [result.name for result in found] == list(given)
    assert "no intercept" in str(found)
    assert found["small"].n_iter == 20
    objects = compare_solvers(X, Y, solvers=[Subgradient(step=0.5), "barrier"], max_iter=5)
    assert [result.name for result in objects] == [repr(Subgradient(step=0.5)), "barrier"]
    assert len(compare_solvers(X, Y, solvers="barrier")) == 1


def test_more_classes_weights_sparse_data_and_a_hard_margin():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    found = compare_solvers(
        sp.csr_matrix(X), THREE, solvers=["barrier", "coordinate_descent"], C=0.01, sample_weight=weight
    )
    assert found["barrier"].coef.shape == (3, 2)
    assert set(found["barrier"].history.problem) == {0, 1, 2}
    assert found["barrier"].objective == pytest.approx(found["coordinate_descent"].objective, rel=1e-3)
    apart, labels = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [5.0, 1.0]]), [0, 0, 1, 1]
    hard = compare_solvers(apart, labels, C=math.inf, solvers=["barrier", "smo", "pegasos"])
    assert hard["smo"].objective == pytest.approx(hard["barrier"].objective, rel=1e-3)
    assert list(hard.refused) == ["pegasos"]


def test_mistakes_are_not_taken_for_refusals():
    with pytest.raises(ValueError, match="Did you mean 'barrier'"):
        compare_solvers(X, Y, solvers=["barier"])
    with pytest.raises(ValueError, match="C must be > 0"):
        compare_solvers(X, Y, C=-1.0)
    with pytest.raises(ValueError, match="80 samples"):
        compare_solvers(X, Y[:-1])


def test_picture(all_solvers):
    pytest.importorskip("matplotlib").use("Agg")
    from maxmargin.displays import HistoryDisplay

    display = HistoryDisplay.from_histories(all_solvers.histories).plot(y="objective", x="iteration")
    assert set(display.lines_) == set(HINGE)
