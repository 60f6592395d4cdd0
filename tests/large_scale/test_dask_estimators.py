"""Models on a Dask cluster: the same as on one computer, for any chunks, any workers and any sort of collection."""

from __future__ import annotations

import inspect
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier

import maxmargin
from maxmargin import large_scale as approximation
from maxmargin.io import load, save
from maxmargin.runtime.control import Control, Status, watching

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from maxmargin.large_scale.dask import LinearSVC, NystroemRidge, NystroemSVC, NystroemSVR  # noqa: E402
from maxmargin.large_scale.dask.partitions import Partition  # noqa: E402
from maxmargin.large_scale.dask.shard import MapReduceStep, Shard, pairwise_sum  # noqa: E402
from maxmargin.large_scale.dask.shards import Shards  # noqa: E402


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def clouds(n_classes=2, n=400, d=5, seed=0):
    """Overlapping classes, all present."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.standard_normal((n_classes, d))[y] + 1.5 * rng.standard_normal((n, d)), y


def waves(n=500, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)


def same(ours, local, atol=1e-6):
    np.testing.assert_allclose(ours.coef_, local.coef_, atol=atol)
    np.testing.assert_allclose(ours.intercept_, local.intercept_, atol=atol)


# The same model


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge"},
        {"fit_intercept": False, "C": 0.1},
        {"intercept_scaling": 3.0, "class_weight": {1: 5.0}},
        {"class_weight": "balanced"},
    ],
    ids=["default", "hinge", "no intercept", "penalised", "balanced"],
)
def test_linear_model_is_that_of_one_computer(client, n_classes, options):
    X, y = clouds(n_classes)
    tight = {"tol": 1e-10} if options.get("loss") == "hinge" else {}
    ours = LinearSVC(**options, **tight).fit(da.from_array(X, chunks=(90, 5)), da.from_array(y, chunks=90))
    local = maxmargin.LinearSVC(**options, tol=1e-13, max_iter=10_000).fit(X, y)
    same(ours, local)
    assert ours.report_.status is Status.OPTIMAL
    assert ours.report_.n_samples == 400
    assert ours.report_.training_error == pytest.approx(local.report_.training_error)
    assert ours.report_.n_support == local.report_.n_support
    assert ours.report_.primal_objective == pytest.approx(local.report_.primal_objective, rel=1e-8)


@pytest.mark.parametrize("chunks", [(400, 5), (37, 5), (90, 2), ((0, 399, 0, 1), (5,))], ids=str)
def test_chunks_do_not_matter(client, chunks):
    X, y = clouds(3)
    ours = LinearSVC().fit(da.from_array(X, chunks=chunks), y)
    same(ours, maxmargin.LinearSVC(tol=1e-13).fit(X, y))


def test_the_same_workers_give_the_same_bits(client):
    X, y = clouds(3, n=1000)
    X, y = da.from_array(X, chunks=(70, 5)), da.from_array(y, chunks=70)
    first, second = LinearSVC(loss="hinge").fit(X, y), LinearSVC(loss="hinge").fit(X, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_columns_far_from_zero(client):
    X, y = clouds(2)
    X = X + 1e6 * np.arange(5)
    ours = LinearSVC().fit(da.from_array(X, chunks=(90, 5)), y)
    same(ours, maxmargin.LinearSVC(tol=1e-13).fit(X, y), atol=1e-4 * abs(ours.intercept_).max())
    np.testing.assert_allclose(ours.coef_, maxmargin.LinearSVC(tol=1e-13).fit(X, y).coef_, rtol=1e-6)


def test_rows_that_are_begun_on_a_part(client, monkeypatch):
    """Long data is solved on a sixteenth and a quarter first; with labels in the order of the rows."""
    monkeypatch.setattr("maxmargin.large_scale.newton.PARTS_MIN_ROWS", 1000)
    X, y = clouds(3, n=2000)
    order = np.argsort(y, kind="stable")
    for loss, tol in (("squared_hinge", 1e-4), ("hinge", 1e-10)):
        ours = LinearSVC(loss=loss, tol=tol).fit(da.from_array(X[order], chunks=(500, 5)), y[order])
        same(ours, maxmargin.LinearSVC(loss=loss, tol=1e-13).fit(X, y))


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_many_columns_go_through_conjugate_gradients(client, loss):
    X, y = clouds(2, n=300, d=170)
    ours = LinearSVC(C=0.01, loss=loss, tol=1e-9).fit(da.from_array(X, chunks=(120, 170)), y)
    assert ours.report_.solver == "newton, cg"
    same(ours, maxmargin.LinearSVC(C=0.01, loss=loss, tol=1e-11).fit(X, y), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("NystroemSVC", {"n_components": 40, "tol": 1e-9}),
        ("NystroemSVC", {"n_components": 40, "tol": 1e-9, "loss": "hinge", "class_weight": "balanced"}),
        ("NystroemSVC", {"n_components": 30, "landmarks": "kmeans", "tol": 1e-9, "random_state": 3}),
        ("NystroemSVC", {"n_components": 40, "tol": 1e-9, "kernel": "poly", "degree": 2, "cache_size": 0}),
        ("NystroemSVR", {"n_components": 30, "tol": 1e-9, "C": 10.0}),
        ("NystroemSVR", {"n_components": 30, "tol": 1e-9, "loss": "squared_epsilon_insensitive"}),
        ("NystroemRidge", {"n_components": 30, "landmarks": "rpcholesky"}),
        ("NystroemRidge", {"n_components": 200, "tol": 1e-13, "fit_intercept": False}),
    ],
    ids=["SVC", "SVC hinge", "SVC kmeans", "SVC not held", "SVR", "SVR squared", "Ridge", "Ridge cg"],
)
def test_landmark_model_is_that_of_one_computer(client, name, options):
    X, y = clouds(3) if name == "NystroemSVC" else waves()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    kind = {"NystroemSVC": NystroemSVC, "NystroemSVR": NystroemSVR, "NystroemRidge": NystroemRidge}[name]
    ours = kind(**options).fit(da.from_array(X, chunks=(130, -1)), y, da.from_array(weights, chunks=200))
    local = getattr(approximation, name)(**options).fit(X, y, weights)
    np.testing.assert_array_equal(ours.landmarks_, local.landmarks_)
    np.testing.assert_array_equal(ours.landmark_indices_, local.landmark_indices_)
    assert ours.kernel_.get_params() == local.kernel_.get_params()
    value = "decision_function" if name == "NystroemSVC" else "predict"
    np.testing.assert_allclose(getattr(ours, value)(X), getattr(local, value)(X), atol=1e-6)
    assert ours.report_.training_error == pytest.approx(local.report_.training_error, rel=1e-4)
    assert ours.report_.stored == local.report_.stored
    assert type(ours.to_local()) is type(local)


@pytest.mark.parametrize("merged", [10**6, 500], ids=["by hashes", "by positions"])
@pytest.mark.parametrize("landmarks", ["uniform", "leverage"])
def test_landmarks_of_long_data_are_those_of_one_computer(client, monkeypatch, merged, landmarks):
    """Neither all rows nor all hashes come to the client, and yet the choice is the same."""
    monkeypatch.setattr("maxmargin.large_scale.features.choosing.SAMPLE_ROWS", 300)
    for module in ("maxmargin.large_scale.features.choosing", "maxmargin.large_scale.dask.landmarks"):
        monkeypatch.setattr(f"{module}.MERGE_MAX_ROWS", merged)
    for module in ("maxmargin.large_scale.training", "maxmargin.large_scale.dask.landmarks"):
        monkeypatch.setattr(f"{module}.MERGE_MAX_ENTRIES", 100)
    X, y = waves(1200)
    X[1000:] = X[:200]  # equal rows
    options = {"n_components": 25, "landmarks": landmarks}
    ours = NystroemRidge(**options).fit(da.from_array(X, chunks=(170, 3)), y)
    local = approximation.NystroemRidge(**options).fit(X, y)
    np.testing.assert_array_equal(ours.landmark_indices_, local.landmark_indices_)
    assert ours.kernel_.gamma == pytest.approx(local.kernel_.gamma, rel=1e-12)
    np.testing.assert_allclose(ours.predict(X), local.predict(X), atol=1e-8)


@pytest.mark.parametrize("given", ["points", "positions"])
def test_landmarks_may_be_given(client, given):
    X, y = waves()
    at = np.array([3, 400, 77, -1])
    ours = NystroemSVR(landmarks=X[at] if given == "points" else at).fit(da.from_array(X, chunks=(99, 3)), y)
    np.testing.assert_array_equal(ours.landmarks_, X[at])
    assert ours.n_components_ == 4


def test_several_targets(client):
    X, y = waves()
    Y = np.column_stack((y, X[:, 0]))
    ours = NystroemRidge(n_components=30).fit(da.from_array(X, chunks=(130, 3)), da.from_array(Y, chunks=(200, 1)))
    local = approximation.NystroemRidge(n_components=30).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), local.predict(X), atol=1e-8)
    assert ours.predict(da.from_array(X, chunks=(130, 3))).chunks == ((130, 130, 130, 110), (2,))


# How many landmarks


@pytest.mark.parametrize(("name", "chunks"), [("NystroemSVC", (37, 5)), ("NystroemRidge", (150, 2))], ids=str)
def test_the_number_of_landmarks_is_that_of_one_computer(client, name, chunks):
    """The search sees all rows here, and so do the landmarks that follow."""
    X, y = clouds(3)
    y = y if name == "NystroemSVC" else X[:, 0] * X[:, 1]
    weights = np.random.default_rng(1).integers(0, 3, 400)
    kind = {"NystroemSVC": NystroemSVC, "NystroemRidge": NystroemRidge}[name]
    options = {"n_components": "auto", "tol": 1e-9, "landmarks": "rpcholesky"}
    ours = kind(**options).fit(da.from_array(X, chunks=chunks), y, weights)
    local = getattr(approximation, name)(**options).fit(X, y, weights)
    assert ours.n_components_ == local.n_components_
    assert ours.report_.trials_ended == local.report_.trials_ended
    for mine, theirs in zip(ours.report_.trials, local.report_.trials, strict=True):
        assert mine.n_components == theirs.n_components
        assert mine.score == pytest.approx(theirs.score, rel=1e-6)
    value = "decision_function" if name == "NystroemSVC" else "predict"
    np.testing.assert_allclose(getattr(ours, value)(X), getattr(local, value)(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_the_search_looks_at_some_of_the_rows_and_says_so(client, monkeypatch, kernel):
    """Each of them stands for several, so that their weights sum to those of all rows that count."""
    monkeypatch.setattr("maxmargin.large_scale.dask.landmarks.SEARCH_MAX_ROWS", 150)
    searched, own_search = [], approximation.NystroemSVC._search

    def search(self, X, y, rows, *others):
        searched.append((X.shape, rows.weights.sum()))
        return own_search(self, X, y, rows, *others)

    monkeypatch.setattr(approximation.NystroemSVC, "_search", search)
    X, y = clouds(3)
    weights = np.random.default_rng(1).integers(0, 3, 400)
    rows = X if kernel == "rbf" else rbf_kernel(X, gamma=0.1)
    model = NystroemSVC(n_components="auto", kernel=kernel).fit(da.from_array(rows, chunks=(90, -1)), y, weights)
    assert searched[0][0] == (150, 5 if kernel == "rbf" else 150)
    assert searched[0][1] == pytest.approx(weights.sum())
    assert model.report_.trials_ended.endswith("; tried on 150 of 400 rows")
    assert 100 <= model.n_components_ <= 150
    assert model.to_local().report_.trials == model.report_.trials


def test_what_the_landmarks_miss_is_what_one_computer_says(client):
    """Rows that are landmarks are left out."""
    X, y = clouds(3)
    for rows, kernel in ((X, "rbf"), (rbf_kernel(X, gamma=0.1), "precomputed")):
        options = {"n_components": 40, "kernel": kernel}
        ours = NystroemSVC(**options).fit(da.from_array(rows, chunks=(90, -1)), y).report_.kernel_error
        theirs = approximation.NystroemSVC(**options).fit(rows, y).report_.kernel_error
        assert ours.n_rows == theirs.n_rows == 360
        assert ours.trace == pytest.approx(theirs.trace, rel=1e-9)
        assert ours.spectral == pytest.approx(theirs.spectral, rel=1e-9)


# A precomputed kernel


@pytest.mark.parametrize(
    ("landmarks", "chunks"), [("uniform", (37, 400)), ("rpcholesky", (400, 400)), ("given", (150, 90))], ids=str
)
def test_precomputed_model_is_that_of_one_computer(client, landmarks, chunks):
    X, y = clouds(3)
    K, weights = rbf_kernel(X, gamma=0.1), np.random.default_rng(1).integers(0, 3, 400)
    way = [3, 77, -1, 200, 391] if landmarks == "given" else landmarks
    options = {"kernel": "precomputed", "n_components": 40, "landmarks": way, "tol": 1e-9}
    ours = NystroemSVC(**options).fit(da.from_array(K, chunks=chunks), y, weights)
    local = approximation.NystroemSVC(**options).fit(K, y, weights)
    np.testing.assert_array_equal(ours.landmarks_, local.landmarks_)
    np.testing.assert_array_equal(ours.landmark_indices_, local.landmark_indices_)
    new = da.from_array(K[:100], chunks=(30, 400))
    np.testing.assert_allclose(ours.decision_function(new).compute(), local.decision_function(K[:100]), atol=1e-6)
    assert ours.report_.primal_objective == pytest.approx(local.report_.primal_objective, rel=1e-8)


def test_precomputed_matrices_of_regressions_and_sparse_ones(client):
    X, y = waves()
    K = rbf_kernel(X, gamma=2.0)
    K[K < 1e-3] = 0.0
    K += 5.0 * np.eye(500)
    options = {"kernel": "precomputed", "n_components": 50}
    local = approximation.NystroemRidge(**options).fit(K, y)
    for rows in (da.from_array(K, chunks=(130, 500)), sp.csr_matrix(K), K):
        ours = NystroemRidge(**options).fit(rows, y)
        np.testing.assert_allclose(ours.predict(K), local.predict(K), atol=1e-8)


def test_precomputed_matrices_that_are_refused(client, monkeypatch):
    X, y = clouds(2)
    K = rbf_kernel(X, gamma=0.1)
    rows = da.from_array(K, chunks=(90, 400))
    with pytest.raises(ValueError, match="landmarks are indices of rows"):
        NystroemSVC(kernel="precomputed", landmarks=X[:3]).fit(rows, y)
    with pytest.raises(ValueError, match="landmarks='kmeans' takes means"):
        NystroemSVC(kernel="precomputed", landmarks="kmeans").fit(rows, y)
    with pytest.raises(ValueError, match=r"not symmetric: entries differ by up to 0\.25"):
        NystroemSVC(kernel="precomputed").fit(rows + 0.25 * np.eye(400, k=1), y)
    monkeypatch.setattr("maxmargin.large_scale.dask.landmarks.FETCH_MAX_BYTES", 1e6)
    with pytest.raises(ValueError, match=r"landmarks='leverage' needs all of the precomputed matrix.*use 'uniform'"):
        NystroemSVC(kernel="precomputed", landmarks="leverage").fit(rows, y)


# Sorts of collections


FORMS = {
    "C order": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcde")),
    "csr": sp.csr_matrix,
    "coo": sp.coo_array,
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_memory_are_sent_to_the_workers(client, form):
    X, y = clouds(3)
    X[np.abs(X) < 0.5] = 0
    labels, weights = np.array(["x", "y", "z"])[y], np.random.default_rng(1).integers(0, 3, 400)
    rows = FORMS[form](X)
    local = maxmargin.LinearSVC(tol=1e-13).fit(rows, labels, weights)
    lazy = form in ("columns", "coo")
    ours = LinearSVC().fit(rows, da.from_array(labels, chunks=37) if lazy else labels, pd.Series(weights))
    same(ours, local)
    assert ours.traffic_.partitions == 2  # one for each thread
    assert getattr(ours, "feature_names_in_", None) is None or list(ours.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(ours.predict(rows), local.predict(rows))


def test_tables_of_polars_in_memory(client):
    pl = pytest.importorskip("polars")
    X, y = clouds(3)
    frame, labels = pl.DataFrame(X, schema=list("abcde")), pl.Series(np.array(["x", "y", "z"])[y])
    ours = LinearSVC().fit(frame, labels, pl.Series(np.ones(400)))
    same(ours, maxmargin.LinearSVC(tol=1e-13).fit(frame, labels))
    assert ours.classes_.tolist() == ["x", "y", "z"]
    assert ours.feature_names_in_.tolist() == list("abcde")
    values = NystroemSVR(n_components=30, tol=1e-8).fit(frame, pl.Series(X[:, 0]))
    local = approximation.NystroemSVR(n_components=30, tol=1e-8).fit(frame, X[:, 0])
    assert values.score(frame, pl.Series(X[:, 0])) == pytest.approx(local.score(frame, X[:, 0]))


def test_large_rows_in_memory_are_cut_into_more_blocks(client, monkeypatch):
    """And go to the workers without a warning of Dask's, although they travel with the tasks."""
    monkeypatch.setattr("maxmargin.large_scale.dask.partitions.BLOCK_MAX_BYTES", 2**22)
    X, y = clouds(2, n=40_000, d=50)
    ours = LinearSVC().fit(X, y)
    assert ours.traffic_.partitions == 4
    same(ours, maxmargin.LinearSVC(tol=1e-13).fit(X, y))


def test_sparse_blocks(client):
    X, y = clouds(2)
    X[np.abs(X) < 1] = 0
    blocks = [dask.delayed(sp.csr_matrix)(X[i : i + 100]) for i in range(0, 400, 100)]
    local = maxmargin.LinearSVC(tol=1e-13).fit(X, y)
    same(LinearSVC().fit(blocks, y), local)
    complete = da.concatenate([da.from_delayed(block, (100, 5), dtype=float) for block in blocks])
    same(
        LinearSVC(intercept_scaling=1.0).fit(complete, y),
        maxmargin.LinearSVC(tol=1e-13, intercept_scaling=1.0).fit(X, y),
    )
    ours = LinearSVC().fit(da.from_array(sp.csr_array(X), chunks=(150, 5), asarray=False), y)
    same(ours, local)
    np.testing.assert_array_equal(ours.predict(complete).compute(), local.predict(X))
    np.testing.assert_array_equal(np.concatenate(dask.compute(*ours.predict(blocks))), local.predict(X))


def test_dataframes_keep_names_and_index(client):
    X, y = clouds(3)
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(400) * 2)
    frame["n"] = np.arange(400) % 7
    labels = pd.Series(np.array(["x", "y", "z"])[y], index=frame.index)
    table, target = dd.from_pandas(frame, npartitions=5), dd.from_pandas(labels, npartitions=5)
    ours = LinearSVC().fit(table, target)
    local = maxmargin.LinearSVC(tol=1e-13).fit(frame, labels)
    same(ours, local)
    assert ours.feature_names_in_.tolist() == ["a", "b", "c", "d", "e", "n"]
    predicted = ours.predict(table)
    assert isinstance(predicted, dd.Series)
    pd.testing.assert_index_equal(predicted.compute().index, frame.index)
    assert predicted.compute().tolist() == local.predict(frame).tolist()
    decision = ours.decision_function(table)
    assert decision.columns.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(decision.compute().to_numpy(), local.decision_function(frame), atol=1e-5)
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(table[["b", "a", "c", "d", "e", "n"]])


def test_unknown_lengths_and_other_chunks(client):
    X, y = clouds(3)
    local = maxmargin.LinearSVC(tol=1e-13).fit(X[y != 1], y[y != 1])
    dX, dy = da.from_array(X, chunks=(150, 2)), da.from_array(y, chunks=150)
    kept = dy != 1
    same(LinearSVC().fit(dX[kept], dy[kept]), local)
    same(LinearSVC().fit(dX[kept], y[y != 1]), local)
    same(LinearSVC().fit(dX[kept], da.from_array(y, chunks=90)[da.from_array(y, chunks=90) != 1]), local)
    same(LinearSVC().fit(da.from_array(X[y != 1], chunks=(70, 5)), da.from_array(y[y != 1], chunks=90)), local)


def test_weights_equal_repetition(client):
    X, y = clouds(3, n=120)
    weights = np.random.default_rng(0).integers(0, 4, 120)
    weighted = LinearSVC().fit(da.from_array(X, chunks=(50, 5)), y, da.from_array(weights, chunks=33))
    repeated = LinearSVC().fit(da.from_array(np.repeat(X, weights, axis=0), chunks=(50, 5)), np.repeat(y, weights))
    same(weighted, repeated, atol=1e-9)


def test_partitions_of_one_class_and_of_other_types(client):
    X, y = clouds(3, n=300)
    order = np.argsort(y, kind="stable")
    X, labels = X[order], np.array(["a", "b", "c"], dtype=object)[y[order]]
    parts = [X[:100].astype(np.float32), np.rint(X[100:200]).astype(np.int64), X[200:]]
    mixed = np.concatenate([part.astype(np.float64) for part in parts])
    blocks = [dask.delayed(part) for part in parts]
    ours = LinearSVC().fit(blocks, da.from_array(labels, chunks=100))
    same(ours, maxmargin.LinearSVC(tol=1e-13).fit(mixed, labels))
    assert ours.classes_.tolist() == ["a", "b", "c"]
    assert ours.report_.dtype == "float64"


def test_float32_stays_float32(client):
    X, y = clouds(2)
    ours = LinearSVC().fit(da.from_array(X.astype(np.float32), chunks=(90, 5)), y)
    assert ours.report_.dtype == "float32"
    same(ours, maxmargin.LinearSVC(tol=1e-13).fit(X.astype(np.float32), y), atol=1e-5)


def test_classes_without_weight_keep_their_place(client):
    X, y = clouds(3)
    weights = np.where(y == 1, 0.0, 1.0)
    dX = da.from_array(X, chunks=(90, 5))
    for kind, local in ((LinearSVC, maxmargin.LinearSVC), (NystroemSVC, approximation.NystroemSVC)):
        ours, theirs = kind(tol=1e-9).fit(dX, y, weights), local(tol=1e-9).fit(X, y, weights)
        assert ours.classes_.tolist() == [0, 1, 2]
        decision = ours.decision_function(X)
        assert (decision[:, 1] == -np.inf).all()
        np.testing.assert_allclose(decision[:, [0, 2]], theirs.decision_function(X)[:, [0, 2]], atol=1e-4)
    alone = LinearSVC().fit(dX, y > 0, np.where(y > 0, 1.0, 0.0))
    assert alone.predict(X).all()


# Predictions


def test_predictions_are_lazy_and_have_the_chunks_of_x(client):
    X, y = clouds(3)
    model = LinearSVC().fit(da.from_array(X, chunks=(90, 5)), np.array(["a", "b", "c"])[y])
    new = da.from_array(X, chunks=(170, 2))
    labels, decision = model.predict(new), model.decision_function(new)
    assert isinstance(labels, da.Array)
    assert labels.chunks == ((170, 170, 60),)
    assert decision.chunks == ((170, 170, 60), (3,))
    assert decision.dtype == np.float64
    assert labels.dtype == model.classes_.dtype
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    np.testing.assert_allclose(decision.compute(), model.to_local().decision_function(X))
    assert isinstance(model.predict(X), np.ndarray)
    unknown = new[new[:, 0] > 0]
    np.testing.assert_array_equal(model.predict(unknown).compute(), model.predict(X[X[:, 0] > 0]))
    with pytest.raises(ValueError, match="features"):
        model.predict(da.zeros((10, 4), chunks=5))
    with pytest.raises(NotFittedError):
        LinearSVC().predict(new)


def test_scores_of_collections(client):
    X, y = clouds(3)
    dX, dy, weights = da.from_array(X, chunks=(90, 5)), da.from_array(y, chunks=70), np.arange(400.0)
    model = LinearSVC(client=client).fit(dX, dy)
    local = model.to_local()
    assert model.score(dX, dy) == model.score(X, y) == local.score(X, y)
    assert model.score(dX, y, da.from_array(weights, chunks=50)) == pytest.approx(local.score(X, y, weights))
    blocks = [dask.delayed(X[:200]), dask.delayed(X[200:])]
    assert model.score(blocks, y) == local.score(X, y)
    values = NystroemRidge(n_components=30).fit(dX, dy)
    assert values.score(dX, dy) == pytest.approx(values.to_local().score(X, y))


def test_the_local_model_is_an_ordinary_one(client, tmp_path):
    X, y = clouds(3)
    dX = da.from_array(X, chunks=(90, 5))
    for model in (LinearSVC(C=0.5, client=client).fit(dX, y), NystroemSVC(n_components=30, client=client).fit(dX, y)):
        local = model.to_local()
        assert type(local).__module__.split(".")[1] in ("svm", "large_scale")
        assert "client" not in local.get_params()
        again = pickle.loads(pickle.dumps(local))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        copied = pickle.loads(pickle.dumps(model))
        assert copied.client is None
        np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    local = LinearSVC().fit(dX, y).to_local()
    save(local, tmp_path / "model.mm")
    np.testing.assert_array_equal(load(tmp_path / "model.mm").predict(X), local.predict(X))


# Parameters, progress, limits


def test_parameters_are_those_of_one_computer():
    """One import line is all that changes: names, order, kinds and defaults, and ``client`` after them."""
    pairs = [(LinearSVC, maxmargin.LinearSVC)]
    pairs += [(kind, getattr(approximation, kind.__name__)) for kind in (NystroemSVC, NystroemSVR, NystroemRidge)]
    for ours, local in pairs:
        mine, theirs = (list(inspect.signature(kind).parameters.values()) for kind in (ours, local))
        assert [(p.name, p.kind, p.default) for p in mine[:-1]] == [(p.name, p.kind, p.default) for p in theirs]
        assert mine[-1].name == "client"
        assert mine[-1].default is None
        assert list(inspect.signature(ours.fit).parameters) == list(inspect.signature(local.fit).parameters)


def test_parameters_without_a_meaning_on_a_cluster_change_nothing(client):
    X, y = clouds(3)
    rows = da.from_array(X, chunks=(90, 5))
    plain = LinearSVC().fit(rows, y)
    given = LinearSVC(dual=False, solver="newton", random_state=7, n_jobs=2).fit(rows, y)
    np.testing.assert_array_equal(given.coef_, plain.coef_)
    assert given.to_local().get_params() == {**maxmargin.LinearSVC().get_params(), **given_parameters(given)}


def given_parameters(model):
    return {name: getattr(model, name) for name in ("dual", "solver", "random_state", "n_jobs")}


@pytest.mark.parametrize(
    ("options", "far"),
    [({}, 0.0), ({}, 1e4), ({"intercept_scaling": 3.0}, 0.0), ({"fit_intercept": False}, 0.0)],
    ids=["free", "far", "penalised", "none"],
)
def test_a_warm_start_begins_where_the_last_fit_ended(client, options, far):
    """Also in columns that are shifted because they lie far from zero."""
    X, y = clouds(3)
    rows = da.from_array(X + far, chunks=(90, 5))
    model = LinearSVC(warm_start=True, **options).fit(rows, y)
    coef, cold = model.coef_, model.n_iter_
    model.fit(rows, y)
    assert model.n_iter_ <= 1 < cold
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-6)
    local = maxmargin.LinearSVC(C=1.1, tol=1e-13, **options).fit(X + far, y)
    np.testing.assert_allclose(model.set_params(C=1.1).fit(rows, y).coef_, local.coef_, rtol=1e-6, atol=1e-8)


def test_a_path_of_prices(client):
    X, y = clouds(3)
    rows, Cs = da.from_array(X, chunks=(90, 5)), [3.0, 0.1, 1.0]
    model = LinearSVC()
    for C, found in zip(Cs, model.path(rows, y, Cs), strict=True):
        assert found.get_params() == {**model.get_params(), "C": C}
        same(found, maxmargin.LinearSVC(C=C, tol=1e-13).fit(X, y))
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="Cs is empty"):
        model.path(rows, y, [])


def test_a_warm_start_of_another_problem_is_a_cold_one(client):
    X, y = clouds(3)
    model = LinearSVC(warm_start=True).fit(X, y)
    for rows, labels in ((X[:, :3], y), (X, np.array(["a", "b", "c"])[y]), (X, y > 0)):
        same(model.fit(rows, labels), maxmargin.LinearSVC(tol=1e-13).fit(rows, labels))


def test_a_clone_shares_the_client(client):
    model = LinearSVC(C=3.0, client=client)
    copy = clone(model)
    assert copy.client is client
    assert copy.get_params() == model.get_params()
    assert clone(NystroemSVR(C=2.0, client=client)).get_params()["C"] == 2.0
    local = approximation.NystroemSVC().get_params()
    assert NystroemSVC().get_params() == {**local, "client": None}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(penalty="l1"), "penalty='l1'.*maxmargin.LinearSVC"),
        (LinearSVC(multi_class="crammer_singer"), "crammer_singer.*'ovr'"),
        (LinearSVC(C=np.inf), "C must be > 0 and finite.*hard margin"),
        (LinearSVC(loss="huber"), "loss must be one of 'hinge'"),
        (LinearSVC(tol=0), "tol must be > 0"),
        (LinearSVC(dual=True), "dual=True.*use 'auto' or False, whose solution is the same"),
        (LinearSVC(dual="no"), "dual must be True, False or 'auto'"),
        (LinearSVC(solver="smo"), "solver='smo'.*use 'auto' or 'newton'"),
        (LinearSVC(calibration="sigmoid"), "calibration='sigmoid'.*CalibratedClassifierCV"),
        (LinearSVC(n_jobs=0), "n_jobs must not be 0"),
        (NystroemSVC(kernel="precomputed"), "must be a square matrix. Input is a 400x5 matrix"),
        (NystroemSVC(n_components="many"), "n_components must be an integer >= 1 or 'auto'"),
        (NystroemRidge(alpha=0), "alpha must be > 0"),
    ],
    ids=lambda value: value.replace("'", "")[:20] if isinstance(value, str) else type(value).__name__,
)
def test_what_is_not_supported_is_refused_with_the_remedy(client, model, message):
    X, y = clouds(2)
    with pytest.raises(ValueError, match=message):
        model.fit(da.from_array(X, chunks=(90, 5)), y)


def test_an_early_end_is_said(client):
    X, y = clouds(2)
    X = da.from_array(X, chunks=(90, 5))
    with pytest.warns(ConvergenceWarning, match="did not converge.*raise max_iter"):
        model = LinearSVC(loss="hinge", tol=1e-12, max_iter=2).fit(X, y)
    assert model.report_.status is Status.MAX_ITER
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        NystroemSVC(loss="hinge", tol=1e-14, n_components=30, max_seconds=0.05).fit(X, y)


def test_progress_is_reported(client):
    X, y = clouds(2)
    observed = []
    with watching(observed.append):
        model = LinearSVC().fit(da.from_array(X, chunks=(90, 5)), y)
    assert len(observed) > 1
    assert observed[-1].primal == pytest.approx(model.report_.primal_objective)
    assert model.history_["objective"][-1] == pytest.approx(model.report_.primal_objective)


def test_what_moves_is_small_and_does_not_grow_with_the_rows(client):
    few, many = (
        LinearSVC().fit(da.from_array(X, chunks=(len(y) // 4, 5)), y).traffic_
        for X, y in (clouds(2, 400), clouds(2, 4000))
    )
    for traffic in (few, many):
        assert traffic.workers == 2
        assert traffic.partitions == 4
        assert traffic.lost == 0
        assert (traffic.sent + traffic.received) / traffic.steps < 4000
    assert "2 workers, 4 partitions" in str(many)


# Other ways to use a cluster


def test_scikit_learn_searches_on_the_cluster(client):
    joblib = pytest.importorskip("joblib")
    X, y = load_iris(return_X_y=True)
    here = cross_val_score(maxmargin.SVC(), X, y, cv=3)
    with joblib.parallel_config("dask"):
        np.testing.assert_allclose(cross_val_score(maxmargin.SVC(), X, y, cv=3, n_jobs=-1), here)
        search = GridSearchCV(maxmargin.SVC(), {"C": [0.1, 10.0]}, cv=3, n_jobs=-1).fit(X, y)
        pairs = OneVsOneClassifier(maxmargin.SVC(), n_jobs=-1).fit(X, y)
    assert search.best_score_ > 0.9
    assert pairs.score(X, y) > 0.9


def test_a_worker_of_many_threads(client):
    """Threads of a worker are threads of the fit; with none to ask, a cluster in this process is made and closed."""
    X, y = clouds(3, n=2000)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=3, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as threads,
    ):
        ours = LinearSVC(client=threads).fit(da.from_array(X, chunks=(300, 5)), y)
    same(ours, maxmargin.LinearSVC(tol=1e-13).fit(X, y))
    assert ours.traffic_.workers == 1


# Shards without a cluster


class Numbers:
    """A stand-in for the problem of a partition."""

    T = None

    def problems(self, parts, threads):
        return [Counter(part.y) for part in parts]


class Counter:
    def __init__(self, y):
        self.y, self.n = y, len(y)

    def part(self, stride):
        return Counter(self.y[::stride])

    def total(self):
        return float(self.y.sum())

    def move(self, by):
        self.y = self.y + by


class Moved:
    def restore(self, oracle):
        oracle.move(100.0)


def shard(*values):
    parts = [Partition(i, np.zeros((len(y), 1)), np.array(y, float), np.ones(len(y))) for i, y in enumerate(values)]
    return Shard(Numbers(), parts)


def test_a_step_that_arrives_twice_is_executed_once():
    one = shard([1, 2], [4, 8])
    step = MapReduceStep((), 1, (("move", (1.0,), {}), ("total", (), {})))
    assert one.run(step) == 19.0
    assert one.run(step) == 19.0
    assert one.run(MapReduceStep((), 2, step.operations)) == 23.0
    assert one.run(MapReduceStep((), 2, step.operations, Moved())) == 427.0  # a rebuilt shard restores the state
    assert shard([1, 2], [4, 8]).run(MapReduceStep((2,), 1, (("total", (), {}),))) == 5.0  # every second row


def test_results_are_added_pairwise():
    assert pairwise_sum([1e16, 1.0, -1e16, 1.0]) == (1e16 + 1.0) + (-1e16 + 1.0)
    assert pairwise_sum([(1, np.ones(2)), (2, np.ones(2)), (3, np.ones(2))])[0] == 6


def test_nothing_of_dask_is_loaded_before_it_is_used():
    code = (
        "import sys, maxmargin, maxmargin.large_scale.dask; dir(maxmargin.large_scale.dask); "
        "assert not {'dask', 'distributed'} & set(sys.modules), 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_dask_is_named():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "try:\n    from maxmargin.large_scale.dask import LinearSVC\n"
        "except ImportError as error:\n    print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "pip install 'maxmargin[dask]'" in printed


def test_ctrl_c_gives_the_best_model_so_far(client, monkeypatch):
    """The first one ends the solver; before there is a solver, there is no model to give."""
    X, y = clouds(2)
    X = da.from_array(X, chunks=(90, 5))
    complete = Control.report

    def report(self, iteration, *arguments, **options):
        if iteration == 2:
            self._interrupted.set()
        complete(self, iteration, *arguments, **options)

    monkeypatch.setattr(Control, "report", report)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = LinearSVC(loss="hinge", tol=1e-12).fit(X, y)
    assert model.report_.status is Status.INTERRUPTED
    assert np.isnan(model.report_.training_error)
    assert model.score(X, y) > 0.5
    monkeypatch.setattr(Control, "stop", lambda self: Status.INTERRUPTED)
    slow = X.map_blocks(lambda block: (time.sleep(0.5), block)[1], dtype=float)
    with pytest.raises(KeyboardInterrupt, match="no model yet"):
        LinearSVC().fit(slow, y)


def test_the_benchmark_runs(client, tmp_path, capsys, monkeypatch):
    """On a few rows, without Spark; and the simulation of larger clusters, with costs that are given."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2])
    benchmark = pytest.importorskip("benchmarks.dask")
    X, y = clouds(2, n=300)
    np.savez(tmp_path / "covtype.npz", X=np.rint(100 * X).astype(np.int16), y=y.astype(np.int8))
    monkeypatch.setattr(
        benchmark, "on_dask", lambda data, args, losses: {k: (1.0, 1.0, fitted(data, k)) for k in losses}
    )
    assert benchmark.main(["--data", str(tmp_path), "--no-spark", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "dask, squared_hinge" in printed
    assert "one computer, hinge" in printed
    monkeypatch.setattr(benchmark, "row_costs", lambda d, second: {"sums": 1e-7, "line": 1e-7, second: 1e-6})
    assert benchmark.main(["--simulate"]) == 0
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines()[2:]]
    seconds = [float(line[5].replace(",", "")) for line in lines]
    assert len(seconds) == 8
    assert seconds[0] > seconds[1] > seconds[2]
    assert benchmark.main(["--data", str(tmp_path / "nowhere")]) == 1


def fitted(data, loss):
    return LinearSVC(loss=loss).fit(da.from_array(data.X, chunks=(100, 5)), data.y)


def test_rows_that_were_sent_are_made_again_when_their_worker_dies(client, monkeypatch):
    """Scattered rows would be lost; these the scheduler knows how to make."""
    steps, complete = [0], Shards.map_reduce

    def map_reduce(self, step_of, **options):
        steps[0] += 1
        if steps[0] == 3:
            address = self.locations[-1].worker
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        return complete(self, step_of, **options)

    monkeypatch.setattr(Shards, "map_reduce", map_reduce)
    X, y = clouds(3)
    model = LinearSVC().fit(X, y)
    assert model.traffic_.lost >= 1
    same(model, maxmargin.LinearSVC(tol=1e-13).fit(X, y))
    client.wait_for_workers(2, timeout=60)


def test_estimators_are_what_the_local_ones_are():
    for kind in (LinearSVC, NystroemSVC, NystroemSVR, NystroemRidge):
        ours, local = kind(), kind._local()
        assert (is_classifier(ours), is_regressor(ours)) == (is_classifier(local), is_regressor(local))
        assert [*inspect.signature(kind).parameters] == [*inspect.signature(kind._local).parameters, "client"]
        assert "client : distributed.Client" in kind.__doc__
