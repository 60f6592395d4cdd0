"""Machines on a Dask cluster: the same as on one computer, for any chunks, any workers and any sort of collection."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier

import maxmargin
from maxmargin import approximation
from maxmargin._control import Control, Status, watching
from maxmargin.io import load, save

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from maxmargin.dask import LinearSVC, NystroemRidge, NystroemSVC, NystroemSVR  # noqa: E402
from maxmargin.dask.partitions import Partition  # noqa: E402
from maxmargin.dask.shard import Question, Shard, added  # noqa: E402


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


# The same machine


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
def test_linear_machine_is_that_of_one_computer(client, n_classes, options):
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
    monkeypatch.setattr("maxmargin.approximation.newton.LONG", 1000)
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
def test_landmark_machine_is_that_of_one_computer(client, name, options):
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
    for module in ("maxmargin.approximation.landmarks", "maxmargin.dask.landmarks"):
        monkeypatch.setattr(f"{module}.MERGED", merged)
        monkeypatch.setattr(f"{module}.ROWS", 300)
    for module in ("maxmargin.approximation.training", "maxmargin.dask.landmarks"):
        monkeypatch.setattr(f"{module}.SMALL", 100)
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


# Sorts of collections


def test_sparse_blocks(client):
    X, y = clouds(2)
    X[np.abs(X) < 1] = 0
    blocks = [dask.delayed(sp.csr_matrix)(X[i : i + 100]) for i in range(0, 400, 100)]
    local = maxmargin.LinearSVC(tol=1e-13).fit(X, y)
    same(LinearSVC().fit(blocks, y), local)
    whole = da.concatenate([da.from_delayed(block, (100, 5), dtype=float) for block in blocks])
    same(
        LinearSVC(intercept_scaling=1.0).fit(whole, y), maxmargin.LinearSVC(tol=1e-13, intercept_scaling=1.0).fit(X, y)
    )
    ours = LinearSVC().fit(da.from_array(sp.csr_array(X), chunks=(150, 5), asarray=False), y)
    same(ours, local)
    np.testing.assert_array_equal(ours.predict(whole).compute(), local.predict(X))
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
    machine = LinearSVC().fit(da.from_array(X, chunks=(90, 5)), np.array(["a", "b", "c"])[y])
    new = da.from_array(X, chunks=(170, 2))
    labels, decision = machine.predict(new), machine.decision_function(new)
    assert isinstance(labels, da.Array)
    assert labels.chunks == ((170, 170, 60),)
    assert decision.chunks == ((170, 170, 60), (3,))
    assert decision.dtype == np.float64
    assert labels.dtype == machine.classes_.dtype
    np.testing.assert_array_equal(labels.compute(), machine.predict(X))
    np.testing.assert_allclose(decision.compute(), machine.to_local().decision_function(X))
    assert isinstance(machine.predict(X), np.ndarray)
    unknown = new[new[:, 0] > 0]
    np.testing.assert_array_equal(machine.predict(unknown).compute(), machine.predict(X[X[:, 0] > 0]))
    with pytest.raises(ValueError, match="features"):
        machine.predict(da.zeros((10, 4), chunks=5))
    with pytest.raises(NotFittedError):
        LinearSVC().predict(new)


def test_scores_of_collections(client):
    X, y = clouds(3)
    dX, dy, weights = da.from_array(X, chunks=(90, 5)), da.from_array(y, chunks=70), np.arange(400.0)
    machine = LinearSVC(client=client).fit(dX, dy)
    local = machine.to_local()
    assert machine.score(dX, dy) == machine.score(X, y) == local.score(X, y)
    assert machine.score(dX, y, da.from_array(weights, chunks=50)) == pytest.approx(local.score(X, y, weights))
    blocks = [dask.delayed(X[:200]), dask.delayed(X[200:])]
    assert machine.score(blocks, y) == local.score(X, y)
    values = NystroemRidge(n_components=30).fit(dX, dy)
    assert values.score(dX, dy) == pytest.approx(values.to_local().score(X, y))


def test_the_local_machine_is_an_ordinary_one(client, tmp_path):
    X, y = clouds(3)
    dX = da.from_array(X, chunks=(90, 5))
    for machine in (LinearSVC(C=0.5, client=client).fit(dX, y), NystroemSVC(n_components=30, client=client).fit(dX, y)):
        local = machine.to_local()
        assert type(local).__module__.split(".")[1] in ("svm", "approximation")
        assert "client" not in local.get_params()
        again = pickle.loads(pickle.dumps(local))
        np.testing.assert_array_equal(again.predict(X), machine.predict(X))
        copied = pickle.loads(pickle.dumps(machine))
        assert copied.client is None
        np.testing.assert_array_equal(copied.predict(X), machine.predict(X))
    local = LinearSVC().fit(dX, y).to_local()
    save(local, tmp_path / "machine.mm")
    np.testing.assert_array_equal(load(tmp_path / "machine.mm").predict(X), local.predict(X))


# Parameters, progress, limits


def test_a_clone_shares_the_client(client):
    machine = LinearSVC(C=3.0, client=client)
    copy = clone(machine)
    assert copy.client is client
    assert copy.get_params() == machine.get_params()
    assert clone(NystroemSVR(C=2.0, client=client)).get_params()["C"] == 2.0
    local = approximation.NystroemSVC().get_params()
    assert NystroemSVC().get_params() == {**local, "client": None}


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (LinearSVC(penalty="l1"), "penalty='l1'.*maxmargin.LinearSVC"),
        (LinearSVC(multi_class="crammer_singer"), "crammer_singer.*'ovr'"),
        (LinearSVC(C=np.inf), "C must be > 0 and finite.*hard margin"),
        (LinearSVC(loss="huber"), "loss must be one of 'hinge'"),
        (LinearSVC(tol=0), "tol must be > 0"),
        (NystroemSVC(n_components="auto"), "n_components='auto' is not supported"),
        (NystroemSVC(kernel="precomputed"), "kernel='precomputed' is not supported"),
        (NystroemRidge(alpha=0), "alpha must be > 0"),
    ],
    ids=lambda value: value.replace("'", "")[:20] if isinstance(value, str) else type(value).__name__,
)
def test_what_is_not_supported_is_refused_with_the_remedy(client, machine, message):
    X, y = clouds(2)
    with pytest.raises(ValueError, match=message):
        machine.fit(da.from_array(X, chunks=(90, 5)), y)


def test_an_early_end_is_said(client):
    X, y = clouds(2)
    X = da.from_array(X, chunks=(90, 5))
    with pytest.warns(ConvergenceWarning, match="did not converge.*raise max_iter"):
        machine = LinearSVC(loss="hinge", tol=1e-12, max_iter=2).fit(X, y)
    assert machine.report_.status is Status.MAX_ITER
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        NystroemSVC(loss="hinge", tol=1e-14, n_components=30, max_seconds=0.05).fit(X, y)


def test_progress_is_reported(client):
    X, y = clouds(2)
    seen = []
    with watching(seen.append):
        machine = LinearSVC().fit(da.from_array(X, chunks=(90, 5)), y)
    assert len(seen) > 1
    assert seen[-1].primal == pytest.approx(machine.report_.primal_objective)
    assert machine.history_["objective"][-1] == pytest.approx(machine.report_.primal_objective)


def test_what_moves_is_small_and_does_not_grow_with_the_rows(client):
    few, many = (
        LinearSVC().fit(da.from_array(X, chunks=(len(y) // 4, 5)), y).traffic_
        for X, y in (clouds(2, 400), clouds(2, 4000))
    )
    for traffic in (few, many):
        assert traffic.workers == 2
        assert traffic.partitions == 4
        assert traffic.lost == 0
        assert (traffic.sent + traffic.received) / traffic.rounds < 4000
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
    def restore(self, rounds):
        rounds.move(100.0)


def shard(*values):
    parts = [Partition(i, np.zeros((len(y), 1)), np.array(y, float), np.ones(len(y))) for i, y in enumerate(values)]
    return Shard(Numbers(), parts)


def test_a_question_asked_twice_is_obeyed_once():
    one = shard([1, 2], [4, 8])
    ask = Question((), 1, (("move", (1.0,), {}), ("total", (), {})))
    assert one.ask(ask) == 19.0
    assert one.ask(ask) == 19.0
    assert one.ask(Question((), 2, ask.operations)) == 23.0
    assert one.ask(Question((), 2, ask.operations, Moved())) == 427.0  # one that was lost knows what the state says
    assert shard([1, 2], [4, 8]).ask(Question((2,), 1, (("total", (), {}),))) == 5.0  # every second row


def test_answers_are_added_pairwise():
    assert added([1e16, 1.0, -1e16, 1.0]) == (1e16 + 1.0) + (-1e16 + 1.0)
    assert added([(1, np.ones(2)), (2, np.ones(2)), (3, np.ones(2))])[0] == 6


def test_nothing_of_dask_is_loaded_before_it_is_used():
    code = (
        "import sys, maxmargin, maxmargin.dask; dir(maxmargin.dask); "
        "assert not {'dask', 'distributed'} & set(sys.modules), 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_dask_is_named():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "try:\n    from maxmargin.dask import LinearSVC\n"
        "except ImportError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "pip install 'maxmargin[dask]'" in told


def test_ctrl_c_gives_the_best_model_so_far(client, monkeypatch):
    """The first one ends the solver; before there is a solver, there is no model to give."""
    X, y = clouds(2)
    X = da.from_array(X, chunks=(90, 5))
    whole = Control.report

    def report(self, iteration, *arguments, **options):
        if iteration == 2:
            self._interrupted.set()
        whole(self, iteration, *arguments, **options)

    monkeypatch.setattr(Control, "report", report)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        machine = LinearSVC(loss="hinge", tol=1e-12).fit(X, y)
    assert machine.report_.status is Status.INTERRUPTED
    assert np.isnan(machine.report_.training_error)
    assert machine.score(X, y) > 0.5
    monkeypatch.setattr(Control, "stop", lambda self: Status.INTERRUPTED)
    slow = X.map_blocks(lambda block: (time.sleep(0.5), block)[1], dtype=float)
    with pytest.raises(KeyboardInterrupt, match="no model yet"):
        LinearSVC().fit(slow, y)


def test_the_benchmark_runs(client, tmp_path, capsys, monkeypatch):
    """On a few rows, without Spark; and the simulation of larger clusters, with costs that are given."""
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)
    benchmark = pytest.importorskip("benchmarks.dask")
    X, y = clouds(2, n=300)
    np.savez(tmp_path / "covtype.npz", X=np.rint(100 * X).astype(np.int16), y=y.astype(np.int8))
    monkeypatch.setattr(
        benchmark, "on_dask", lambda data, args, losses: {k: (1.0, 1.0, fitted(data, k)) for k in losses}
    )
    assert benchmark.main(["--data", str(tmp_path), "--no-spark", "--repeats", "1"]) == 0
    told = capsys.readouterr().out
    assert "dask, squared_hinge" in told
    assert "one computer, hinge" in told
    monkeypatch.setattr(benchmark, "row_costs", lambda d, second: {"sums": 1e-7, "line": 1e-7, second: 1e-6})
    assert benchmark.main(["--simulate"]) == 0
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines()[2:]]
    seconds = [float(line[5].replace(",", "")) for line in lines]
    assert len(seconds) == 8
    assert seconds[0] > seconds[1] > seconds[2]
    assert benchmark.main(["--data", str(tmp_path / "nowhere")]) == 1


def fitted(data, loss):
    return LinearSVC(loss=loss).fit(da.from_array(data.X, chunks=(100, 5)), data.y)
