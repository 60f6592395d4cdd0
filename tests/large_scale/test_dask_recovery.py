"""Workers that die or hang in the middle of a fit: it goes on without them, or says what is wrong; it never hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest

import maxmargin
from maxmargin import large_scale as approximation

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from maxmargin.large_scale.dask import LinearSVC, NystroemSVC, cluster  # noqa: E402
from maxmargin.large_scale.dask.cluster import ClusterError, WorkerMonitor, connected  # noqa: E402
from maxmargin.large_scale.dask.shards import Shards  # noqa: E402

X = np.random.default_rng(0).standard_normal((900, 4))
Y = np.arange(900) % 3
X += np.eye(3, 4)[Y]


@pytest.fixture(scope="module")
def workers():
    """A cluster whose nannies start a new worker for each that dies, and are not given up if that takes a while."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as made,
    ):
        yield made


@pytest.fixture
def client(workers):
    with distributed.Client(workers, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def collections():
    return da.from_array(X, chunks=(100, 4)), da.from_array(Y, chunks=100)


@pytest.fixture
def killing(client, monkeypatch):
    """``killing(n, sign)`` sends the signal to a worker just before the n-th map-reduce step of the next fit."""

    def prepare(n, sign=signal.SIGKILL):
        steps, complete = [0], Shards.map_reduce

        def map_reduce(self, step_of, **options):
            steps[0] += 1
            if steps[0] == n:
                address = self.locations[-1].worker
                pid = client.run(os.getpid, workers=[address])[address]
                sent.append(pid)
                os.kill(pid, sign)
                if sign == signal.SIGSTOP:
                    monkeypatch.setattr(cluster, "SILENCE_SECONDS", 6.0)
            return complete(self, step_of, **options)

        monkeypatch.setattr(Shards, "map_reduce", map_reduce)

    sent = []
    yield prepare
    for pid in sent:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_worker_killed_at_any_step(client, killing, n):
    killing(n)
    model = LinearSVC(client=client).fit(*collections())
    assert model.traffic_.lost >= 1
    local = maxmargin.LinearSVC(tol=1e-13).fit(X, Y)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-8)
    assert model.report_.training_error == local.report_.training_error


def test_what_the_rows_were_told_is_told_again(client, killing):
    """The centres of the hinges depend on all that went before."""
    killing(30)
    model = LinearSVC(loss="hinge", tol=1e-10, client=client).fit(*collections())
    assert model.traffic_.lost >= 1
    np.testing.assert_allclose(model.coef_, maxmargin.LinearSVC(loss="hinge", tol=1e-12).fit(X, Y).coef_, atol=1e-6)


def test_a_worker_killed_under_a_kernel_model(client, killing):
    killing(4)
    options = {"n_components": 30, "tol": 1e-9}
    model = NystroemSVC(**options, client=client).fit(*collections())
    assert model.traffic_.lost >= 1
    local = approximation.NystroemSVC(**options).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), local.decision_function(X), atol=1e-7)


def test_sums_formed_on_the_workers(client, killing, monkeypatch):
    """Large results of many shards are added there; here every result is large, and two shards are many."""
    monkeypatch.setattr("maxmargin.large_scale.dask.shards.ADD_ON_WORKERS_MIN_SHARDS", 1)
    monkeypatch.setattr("maxmargin.large_scale.dask.oracle.LARGE_RESULT_BYTES", 1)
    local = maxmargin.LinearSVC(tol=1e-13).fit(X, Y)
    np.testing.assert_allclose(LinearSVC(client=client).fit(*collections()).coef_, local.coef_, atol=1e-8)
    killing(4)
    model = LinearSVC(client=client).fit(*collections())
    assert model.traffic_.lost >= 1
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-8)


def test_a_worker_killed_at_a_random_moment(client):
    """While data is loaded, summed up, or asked."""
    rng = np.random.default_rng()
    local = maxmargin.LinearSVC(tol=1e-13).fit(X, Y)
    for _ in range(2):
        client.wait_for_workers(2, timeout=60)
        pids = list(client.run(os.getpid).values())
        timer = threading.Timer(rng.uniform(0.0, 0.5), os.kill, (pids[0], signal.SIGKILL))
        timer.start()
        model = LinearSVC(client=client).fit(*collections())
        timer.join()
        np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-8)


def test_a_worker_that_hangs_counts_as_lost(client, killing):
    killing(3, signal.SIGSTOP)
    model = LinearSVC(client=client).fit(*collections())
    assert model.traffic_.lost >= 1
    np.testing.assert_allclose(model.coef_, maxmargin.LinearSVC(tol=1e-13).fit(X, Y).coef_, atol=1e-8)


def test_workers_that_die_again_and_again(client, monkeypatch):
    def lost(self, i, future):
        return False, None

    monkeypatch.setattr(Shards, "_result", lost)
    with pytest.raises(ClusterError, match=r"Shard 0 .*was lost 5 times in a row.*memory"):
        LinearSVC(client=client).fit(*collections())


def test_data_that_cannot_be_computed_again_is_said(client, killing):
    homes = list(client.scheduler_info()["workers"])
    blocks = [client.scatter(X[i : i + 300], hash=False, workers=[homes[i > 0]]) for i in range(0, 900, 300)]
    rows = da.concatenate([da.from_delayed(block, (300, 4), float) for block in blocks])
    killing(2)
    with pytest.raises(ClusterError, match="data that Dask cannot compute again"):
        LinearSVC(client=client).fit(rows, Y)


# Clients and clusters that are not there


def test_a_closed_client_is_named():
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as made:
        client = distributed.Client(made, set_as_default=False)
        monitor = WorkerMonitor(client)
        assert len(monitor.alive()) == 1
        client.close()
        with pytest.raises(ClusterError, match=r"The client <Client.* is closed: open a new one"):
            LinearSVC(client=client).fit(*collections())
        with pytest.raises(ClusterError, match="was closed during the fit"):
            monitor.alive()


def test_a_client_closed_in_the_middle_of_a_fit(monkeypatch):
    complete = Shards.map_reduce

    def map_reduce(self, step_of, **options):
        self.monitor.client.close()
        return complete(self, step_of, **options)

    monkeypatch.setattr(Shards, "map_reduce", map_reduce)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as made:
        client = distributed.Client(made, set_as_default=False)
        with pytest.raises(ClusterError, match="was closed during the fit"):
            LinearSVC(client=client).fit(*collections())


def test_a_cluster_without_workers_is_named(monkeypatch):
    monkeypatch.setattr(cluster, "SILENCE_SECONDS", 0.5)
    started = time.monotonic()
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as made,
        distributed.Client(made, set_as_default=False) as client,
        pytest.raises(ClusterError, match=r"no worker that answers for 0\.5 s"),
    ):
        LinearSVC(client=client).fit(*collections())
    assert time.monotonic() - started < 20


def test_what_is_no_client_is_refused():
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client or None; got 'tcp"):
        LinearSVC(client="tcp://somewhere").fit(*collections())


def test_without_a_client_there_is_a_cluster_in_this_process():
    with connected() as client:
        assert len(client.scheduler_info()["workers"]) == 1
    assert client.status == "closed"
    model = LinearSVC().fit(*collections())
    np.testing.assert_allclose(model.coef_, maxmargin.LinearSVC(tol=1e-13).fit(X, Y).coef_, atol=1e-8)
