"""The row oracle of a cluster has the results of one computer, in few map-reduce steps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.targets import Labels
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import make_loss

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

from maxmargin.large_scale.dask.cluster import WorkerMonitor, connected  # noqa: E402
from maxmargin.large_scale.dask.oracle import DaskOracle  # noqa: E402
from maxmargin.large_scale.dask.partitions import Partition  # noqa: E402
from maxmargin.large_scale.dask.problems import HingeOracle  # noqa: E402
from maxmargin.large_scale.dask.shards import Shards  # noqa: E402
from maxmargin.large_scale.rows.tiles import LinearRows  # noqa: E402

N, D = 90, 4
RNG = np.random.default_rng(0)
X, CODES = RNG.normal(size=(N, D)), RNG.integers(0, 3, N)
LOSSES = {"hinge": SmoothedLoss(make_loss("hinge"), 0.7), "squared_hinge": SmoothedLoss(make_loss("squared_hinge"))}


def labels(codes, classes):
    return Labels.one_vs_rest(codes, np.ones(len(codes)), 1.5, np.ones(classes))


class Linear:
    """Partitions as they are."""

    T = None

    def __init__(self, classes):
        self.classes = classes

    def problems(self, parts, threads):
        return [
            LocalOracle(LinearRows(part.X), labels(part.y.ravel().astype(np.int64), self.classes)) for part in parts
        ]


@pytest.fixture(scope="module")
def client():
    with connected() as client:
        yield client


def both(client, classes):
    """Rows of one computer and of a cluster, in three partitions of two shards."""
    codes = CODES % classes
    monitor = WorkerMonitor(client)
    cuts = [slice(0, 20), slice(20, 21), slice(21, N)]
    parts = [
        dask.delayed(Partition(i, X[at], codes[at, None].astype(float), np.ones(len(codes[at]))))
        for i, at in enumerate(cuts)
    ]
    homes = list(monitor.alive()) * 2
    shards = Shards(monitor, [parts[:2], parts[2:]], Linear(classes), homes[:2])
    outputs = 1 if classes == 2 else classes
    return LocalOracle(LinearRows(X), labels(codes, classes)), DaskOracle(shards, D, outputs)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", list(LOSSES))
def test_random_operations_have_the_results_of_one_computer(client, classes, name):
    """Steps, line searches and new centres in a random order, with second derivatives asked for now and then: whatever
    was sent ahead must be that of the present point."""
    loss, rng = LOSSES[name], np.random.default_rng(classes)
    local, cluster = both(client, classes)
    outputs = local.outputs
    for step in range(12):
        B, b = rng.normal(size=(D, outputs)), rng.normal(size=outputs)
        sums = [one.evaluate(B, b, loss, sides=True) for one in (local, cluster)]
        np.testing.assert_allclose(sums[1].gradient, sums[0].gradient, rtol=1e-10, atol=1e-10)
        if step in (4, 7):
            for one in (local, cluster):
                one.recentre()
        if step % 3 != 2:
            for wanted in ([0], list(range(outputs)), [outputs - 1])[: 1 + step % 3]:
                found = [one.curvature(wanted) for one in (local, cluster)]
                np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-10)
        diagonals = [one.curvature_diagonal() for one in (local, cluster)]
        np.testing.assert_allclose(diagonals[1], diagonals[0], rtol=1e-10, atol=1e-10)
        P, p = rng.normal(size=(D, outputs)), rng.normal(size=outputs)
        t = rng.uniform(0, 2, (5, outputs))
        for one in (local, cluster):
            one.direction(P, p)
        along = [one.along(t, loss) for one in (local, cluster)]
        np.testing.assert_allclose(along[1][1], along[0][1], rtol=1e-10, atol=1e-10)
        for one in (local, cluster):
            one.evaluate(B + t[0] * P, b + t[0] * p, loss)
        found = [one.curvature([0]) for one in (local, cluster)]
        np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", list(LOSSES))
def test_a_rebuilt_shard_gets_the_state_of_its_rows(client, name):
    """The state before a loss is restored: F, the direction, and centres that depend on all earlier steps."""
    loss, rng = LOSSES[name], np.random.default_rng(5)
    local, cluster = both(client, 2)
    for _ in range(3):
        B, b = rng.normal(size=(D, 1)), rng.normal(size=1)
        for one in (local, cluster):
            one.evaluate(B, b, loss)
            one.recentre()
            one.direction(B, b)
        t = rng.uniform(0, 2, (3, 1))
        np.testing.assert_allclose(cluster.along(t, loss)[1], local.along(t, loss)[1], rtol=1e-10, atol=1e-10)
        cluster.shards._move(1)
        np.testing.assert_allclose(cluster.along(t, loss)[1], local.along(t, loss)[1], rtol=1e-10, atol=1e-10)
        cluster.shards._move(0)
        np.testing.assert_allclose(cluster.curvature([0]), local.curvature([0]), rtol=1e-10, atol=1e-10)


def test_a_newton_step_is_two_map_reduce_steps(client):
    _, cluster = both(client, 2)
    loss, traffic = LOSSES["squared_hinge"], cluster.shards.traffic
    for step in range(4):
        before = traffic.steps
        cluster.evaluate(np.full((D, 1), 0.1 * step), np.zeros(1), loss)
        cluster.curvature([0])
        cluster.direction(np.ones((D, 1)), np.zeros(1))
        cluster.along(np.ones((3, 1)), loss)
        assert traffic.steps - before == (3 if step == 0 else 2)


def test_a_small_part_of_the_rows_is_fetched_and_stands_for_all(client):
    """As many rows as asked for, of all partitions, with weights that make up for the others."""
    _, cluster = both(client, 2)
    before = cluster.shards.traffic.steps
    part = cluster.part(3)
    assert part.n == N // 3
    sums = part.evaluate(np.zeros((D, 1)), np.zeros(1), LOSSES["squared_hinge"])
    assert sums.weight == pytest.approx(1.5 * N, rel=0.1)
    assert cluster.shards.traffic.steps == before


def test_a_large_part_stays_where_it_is(client, monkeypatch):
    monkeypatch.setattr("maxmargin.large_scale.dask.oracle.FETCH_MAX_BYTES", 0)
    _, cluster = both(client, 2)
    part = cluster.part(2)
    assert isinstance(part, DaskOracle)
    part.evaluate(np.zeros((D, 1)), np.zeros(1), LOSSES["squared_hinge"])
    assert part.shards.traffic.steps == 1


@pytest.mark.parametrize("form", ["dense", "shifted", "constant", "csr", "single"])
@pytest.mark.parametrize("classes", [2, 3])
def test_second_derivatives_that_are_kept_up_to_date(form, classes):
    """The matrix after many steps is the one that is formed anew."""
    codes, rng = CODES % classes, np.random.default_rng(1)
    points = {"csr": sp.csr_matrix(X), "single": X.astype(np.float32)}.get(form, X)
    rows = LinearRows(points, X.mean(axis=0) if form == "shifted" else None, 2.0 if form == "constant" else None)
    kept, loss = HingeOracle(rows, labels(codes, classes)), LOSSES["squared_hinge"]
    B, b = rng.normal(size=(rows.columns, kept.outputs)), rng.normal(size=kept.outputs)
    for _ in range(8):
        B, b = B + 0.1 * rng.normal(size=B.shape), b + 0.1 * rng.normal(size=b.shape)
        fresh = LocalOracle(rows, labels(codes, classes))
        for one in (kept, fresh):
            one.evaluate(B, b, loss)
        wanted = list(range(kept.outputs))
        tolerance = 1e-4 if form == "single" else 1e-9
        np.testing.assert_allclose(kept.curvature(wanted), fresh.curvature(wanted), rtol=tolerance, atol=tolerance * N)


def test_sparse_rows_of_many_columns(client):
    """As many as texts have: no matrix of columns times columns is formed, and the model is that of one computer."""

    import maxmargin
    from maxmargin.large_scale.dask import LinearSVC

    rng = np.random.default_rng(0)
    n, d = 400, 50_000
    indices = np.sort(rng.integers(0, d, (n, 20)), axis=1)
    X = sp.csr_matrix((rng.uniform(0.5, 1.0, n * 20), indices.ravel(), np.arange(0, 20 * n + 1, 20)), shape=(n, d))
    X.sum_duplicates()
    y = np.where(indices[:, 0] < d // 40, "a", "b")
    blocks = [dask.delayed(X[start : start + 130]) for start in range(0, n, 130)]
    for loss, tol, bound in (("squared_hinge", 1e-4, 1e-6), ("hinge", 1e-8, 1e-3)):
        model = LinearSVC(loss=loss, tol=tol, client=client).fit(blocks, y)
        local = maxmargin.LinearSVC(loss=loss, tol=1e-10, max_iter=100_000).fit(X, y)
        assert model.report_.status.converged
        np.testing.assert_allclose(model.coef_, local.coef_, atol=bound)
        assert model.report_.primal_objective == pytest.approx(local.report_.primal_objective, rel=1e-6)
