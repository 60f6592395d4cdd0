"""Landmarks, streams and clusters at their edges: independent oracles, odd forms of data, sources that misbehave."""

from __future__ import annotations

import gzip
import os
import pickle
import tempfile
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as SklearnSVC
from sklearn.svm import SVR as SklearnSVR
from sklearn.svm import LinearSVC as SklearnLinearSVC

from maxmargin import SVC
from maxmargin.io import DataFileError, load, save
from maxmargin.kernels import Spectrum
from maxmargin.large_scale import Nystroem, NystroemRidge, NystroemSVC, NystroemSVR, RandomFeatures
from maxmargin.runtime.control import Status
from maxmargin.svm.kernel import forecast

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] * X[:, 1] + 0.4 * RNG.normal(size=300) > 0).astype(int)
THREE = np.digitize(X[:, 0] * X[:, 1] + 0.2 * RNG.normal(size=300), [-0.4, 0.4])
T = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=300)
GAMMA = 0.4


def rbf(A, B, gamma=GAMMA):
    """exp(-gamma |a - b|^2), one difference at a time."""
    return np.exp(-gamma * np.array([((a - B) ** 2).sum(axis=1) for a in A]))


def features(points, landmarks, kernel=rbf):
    """Phi with Phi Phi' = K_nm K_mm^+ K_mn."""
    values, U = np.linalg.eigh(kernel(landmarks, landmarks))
    kept = values > 1e-13 * values[-1]
    return kernel(points, landmarks) @ (U[:, kept] / np.sqrt(values[kept]))


# ---- certificates from the definitions


@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("m", [1, 30, 300])
def test_primal_and_dual_of_squared_hinges(labels, m):
    """P(B, b) from coefficients_ and landmarks_; a dual point from a_i = 2 C c_i max(0, 1 - y_i f_i), balanced."""
    C, weights = 5.0, RNG.uniform(0.2, 3.0, 300)
    model = NystroemSVC(C=C, gamma=GAMMA, n_components=m, tol=1e-5).fit(X, labels, weights)
    Z, B = model.landmarks_, model.coefficients_
    F = rbf(X, Z) @ B + model.intercept_
    Phi, primal, dual = features(X, Z), 0.0, 0.0
    for k in range(B.shape[1]):
        y = np.where(labels == model.classes_[k if B.shape[1] > 1 else 1], 1.0, -1.0)
        h = np.maximum(0.0, 1.0 - y * F[:, k])
        primal += 0.5 * B[:, k] @ rbf(Z, Z) @ B[:, k] + C * weights @ h**2
        a = 2.0 * C * weights * h
        up, down = a[y > 0].sum(), a[y < 0].sum()
        a *= np.where(y > 0, min(1.0, down / up), min(1.0, up / down))
        dual += a.sum() - 0.5 * ((a * y) @ Phi) @ ((a * y) @ Phi) - (a**2 / (4.0 * C * weights)).sum()
    report = model.report_
    assert report.status is Status.OPTIMAL
    assert report.primal_objective == pytest.approx(primal, rel=1e-8)
    assert dual <= report.dual_objective + 1e-8 * primal  # theirs is the best multiple of this point
    assert primal - dual <= 3e-5 * primal


@pytest.mark.parametrize("m", [3, 40])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
def test_optimum_of_libsvm_lies_between_dual_and_primal(C, m):
    """LIBSVM solves the approximated problem, given its kernel matrix Phi Phi'."""
    model = NystroemSVC(C=C, gamma=GAMMA, n_components=m, loss="hinge", tol=1e-6).fit(X, Y)
    Phi = features(X, model.landmarks_)
    peer = SklearnSVC(C=C, kernel="precomputed", tol=1e-9).fit(Phi @ Phi.T, Y)
    w = Phi[peer.support_].T @ peer.dual_coef_[0]
    alpha = np.abs(peer.dual_coef_[0])
    optimum = alpha.sum() - 0.5 * w @ w
    report = model.report_
    assert report.dual_objective <= optimum * (1 + 1e-6)
    assert report.primal_objective >= optimum * (1 - 1e-6)
    assert report.relative_gap <= 1e-6


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_optimum_of_a_tube_lies_between_dual_and_primal(epsilon):
    model = NystroemSVR(C=3.0, gamma=GAMMA, epsilon=epsilon, n_components=25, tol=1e-6).fit(X, T)
    Phi = features(X, model.landmarks_)
    peer = SklearnSVR(C=3.0, kernel="precomputed", epsilon=epsilon, tol=1e-9).fit(Phi @ Phi.T, T)
    a = peer.dual_coef_[0]
    w = Phi[peer.support_].T @ a
    optimum = a @ T[peer.support_] - epsilon * np.abs(a).sum() - 0.5 * w @ w
    assert model.report_.dual_objective <= optimum * (1 + 1e-6)
    assert model.report_.primal_objective >= optimum * (1 - 1e-6)


def test_model_is_scikit_learns_pair_on_the_same_landmarks():
    """Features and model of scikit-learn; without an intercept, which its LinearSVC would penalise."""
    model = NystroemSVC(C=2.0, gamma=GAMMA, n_components=40, fit_intercept=False, tol=1e-9).fit(X, THREE)
    pair = make_pipeline(
        SklearnNystroem(gamma=GAMMA, n_components=40).fit(model.landmarks_),
        SklearnLinearSVC(C=2.0, fit_intercept=False, dual=False, tol=1e-10, max_iter=10_000),
    )
    decision = pair[1].fit(pair[0].transform(X), THREE).decision_function(pair[0].transform(X))
    np.testing.assert_allclose(model.decision_function(X), decision, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 7), st.booleans())
def test_ridge_is_a_linear_system_however_few_the_rows(seed, n, m, intercept):
    rng = np.random.default_rng(seed)
    points, targets = rng.normal(size=(n, 2)), rng.normal(size=n)
    weights = rng.integers(0, 3, n).astype(float)
    weights[rng.integers(n)] = 1.0
    landmarks = rng.normal(size=(m, 2))
    model = NystroemRidge(alpha=0.3, gamma=GAMMA, landmarks=landmarks, fit_intercept=intercept, tol=1e-10)
    model.fit(points, targets, weights)
    linear = Ridge(alpha=0.3, fit_intercept=intercept, solver="cholesky")
    linear.fit(features(points, landmarks), targets, weights)
    new = rng.normal(size=(5, 2))
    np.testing.assert_allclose(model.predict(new), linear.predict(features(new, landmarks)), atol=1e-6)


@pytest.mark.parametrize("C", [1e-10, 1e-3, 1e3, 1e7])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_run_without_limit_ends_with_what_it_says(C, loss):
    """Optimal means within tol; anything else is warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = NystroemSVC(C=C, gamma=GAMMA, loss=loss, n_components=60, max_iter=-1).fit(X, Y)
    optimal = model.report_.status is Status.OPTIMAL
    assert optimal == (model.report_.relative_gap <= 1e-3)
    assert optimal != any(issubclass(w.category, ConvergenceWarning) for w in told)
    F = rbf(X, model.landmarks_) @ model.coefficients_[:, 0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-8 * np.abs(model.coefficients_).sum())


# ---- what must not matter


def test_motions_and_units_of_the_points_do_not_matter():
    """k(x, z) of a rotated, shifted and scaled x is the same, with gamma in the other unit."""
    Q = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    plain = NystroemSVC(gamma=GAMMA, landmarks=np.arange(40), tol=1e-9).fit(X, Y).decision_function(X)
    for scale, shift in ((1.0, 1000.0), (1e-12, 0.0), (1e12, 1e12)):
        moved = scale * (X @ Q) + shift
        model = NystroemSVC(gamma=GAMMA / scale**2, landmarks=np.arange(40), tol=1e-9).fit(moved, Y)
        np.testing.assert_allclose(model.decision_function(moved), plain, atol=1e-5)


def test_exchanged_labels_change_the_sign_alone():
    options = {"gamma": GAMMA, "n_components": 50, "tol": 1e-9}
    decision = NystroemSVC(**options).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(NystroemSVC(**options).fit(X, 1 - Y).decision_function(X), -decision, atol=1e-6)


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans", "leverage", "rpcholesky"])
def test_order_copies_and_weightless_rows_do_not_matter(landmarks):
    options = {"gamma": GAMMA, "n_components": 30, "landmarks": landmarks, "tol": 1e-8}
    expected = NystroemSVC(**options).fit(X, Y).decision_function(X)
    order = RNG.permutation(600) % 300
    halves = NystroemSVC(**options).fit(X[order], Y[order], np.full(600, 0.5)).decision_function(X)
    np.testing.assert_allclose(halves, expected, atol=1e-6)
    absent = NystroemSVC(**options).fit(
        np.concatenate((X, 50 + X)), np.concatenate((Y, 1 - Y)), np.repeat([1.0, 0.0], 300)
    )
    np.testing.assert_allclose(absent.decision_function(X), expected, atol=1e-6)


def test_a_function_of_the_users_is_the_kernel_by_name():
    named = NystroemSVC(gamma=GAMMA, n_components=30, tol=1e-8).fit(X, Y)
    own = NystroemSVC(kernel=rbf, n_components=30, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(own.decision_function(X), named.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("model", [NystroemSVC, NystroemSVR, NystroemRidge])
def test_any_memory_layout(tmp_path, model):
    """Memory maps that are read-only, by columns, or of every other row and column; strides below zero."""
    small = X.astype(np.float32)
    target = Y if model is NystroemSVC else T
    by_columns = np.memmap(tmp_path / "f", np.float32, "w+", shape=small.shape, order="F")
    by_columns[:] = small
    by_columns.flush()
    spread = np.zeros((600, 8), np.float32)
    spread[::2, ::2] = small
    np.save(tmp_path / "spread.npy", spread)
    forms = [
        np.memmap(tmp_path / "f", np.float32, "r", shape=small.shape, order="F"),
        np.load(tmp_path / "spread.npy", mmap_mode="r")[::2, ::2],
        small[::-1].copy()[::-1],
    ]
    expected = model(n_components=40).fit(small, target).predict(small)
    for form in forms:
        for cache_size in ("auto", 0):
            fitted = model(n_components=40, cache_size=cache_size).fit(form, target)
            np.testing.assert_array_equal(fitted.predict(form), expected)
        assert Nystroem(n_components=5).fit_transform(form).dtype == np.float32
        assert RandomFeatures(6).fit_transform(form).dtype == np.float32


def test_sparse_points_of_many_columns():
    wide = sp.random(80, 100_000, density=1e-4, format="csr", random_state=0)
    labels = (np.asarray(wide[:, :50_000].sum(axis=1)).ravel() > 2.5).astype(int)
    used = np.unique(wide.indices)
    narrow = wide[:, used].toarray()
    options = {"gamma": 0.1, "landmarks": np.arange(40), "tol": 1e-8}
    decision = NystroemSVC(**options).fit(wide, labels).decision_function(wide)
    np.testing.assert_allclose(
        decision, NystroemSVC(**options).fit(narrow, labels).decision_function(narrow), atol=1e-6
    )


# ---- sources of batches


def test_a_source_may_use_the_memory_of_its_points_again():
    buffer, matrix = np.empty((50, 4)), sp.csr_matrix(np.ones((50, 4)))

    def dense():
        for i in range(0, 300, 50):
            buffer[:] = X[i : i + 50]
            yield buffer, Y[i : i + 50]

    def sparse():
        for i in range(0, 300, 50):
            matrix.data[:] = X[i : i + 50].ravel()
            yield matrix, Y[i : i + 50]

    expected = NystroemSVC(gamma=GAMMA, n_components=30).fit(X, Y).decision_function(X)
    for source in (dense, sparse):
        model = NystroemSVC(gamma=GAMMA, n_components=30).fit_stream(source)
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)


def test_batches_are_asked_for_once():
    """So that a source whose batches differ each time cannot mix two of them."""

    class Drifting:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter([(X[:150] * self.passes, Y[:150]), (X[150:] * self.passes, Y[150:])])

    source = Drifting()
    model = NystroemSVC(gamma=GAMMA, n_components=30).fit_stream(source)
    assert source.passes == 1
    np.testing.assert_array_equal(model.predict(X), NystroemSVC(gamma=GAMMA, n_components=30).fit(X, Y).predict(X))


def test_a_source_that_fails_is_heard_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def failing():
        yield X[:150], Y[:150]
        assert os.listdir(tmp_path)  # the rows before it are on disk
        raise OSError("the tape is torn")

    with pytest.raises(OSError, match="torn"):
        NystroemSVC(cache_size=0).fit_stream(failing())
    assert os.listdir(tmp_path) == []


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("second", "message"),
    [
        ((np.where(np.arange(4) == 2, np.nan, X[150:]), Y[150:]), "batch 2: .*NaN"),
        ((np.where(np.arange(4) == 2, np.inf, X[150:]), Y[150:]), "batch 2: .*infinity"),
        ((X[150:, :3], Y[150:]), "batch 2: .*3 features.*4"),
        ((pd.DataFrame(X[150:], columns=list("bacd")), Y[150:]), "batch 2: .*same order"),
        ((X[150:], Y[150:], np.ones(3)), "batch 2: sample_weight"),
    ],
    ids=["nan", "inf", "narrow", "exchanged", "weights"],
)
def test_a_bad_batch_is_named(second, message):
    with pytest.raises(ValueError, match=r"(?s)" + message):
        NystroemSVC(n_components=20).fit_stream([(pd.DataFrame(X[:150], columns=list("abcd")), Y[:150]), second])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.npy", "rows.parquet"])
def test_whole_files_are_read_and_files_cut_short_refused(tmp_path, name):
    path = tmp_path / name
    table = pd.DataFrame(X, columns=list("abcd")).assign(label=Y)
    target = -1 if name.endswith("npy") else "label"
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        table.to_parquet(path)
    elif name.endswith("npy"):
        np.save(path, table.to_numpy())
    else:
        text = table.to_csv(index=False).encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    model = NystroemSVC(gamma=GAMMA, n_components=30).fit_stream(path, target=target)
    expected = NystroemSVC(gamma=GAMMA, n_components=30).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-8)
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b",")] if name == "rows.csv" else content[:-100])
    with pytest.raises(DataFileError, match=name):
        NystroemSVC().fit_stream(path, target=target)


# ---- what a fitted model is good for


@pytest.mark.parametrize(
    ("model", "points", "target"),
    [
        (NystroemSVC(n_components=9), sp.csr_matrix(X), THREE),
        (NystroemSVC(n_components=9), X.astype(np.float32), np.array(["a", "bb", "c"])[THREE]),
        (NystroemSVC(kernel="precomputed", n_components=9), X @ X.T, Y),
        (NystroemSVC(kernel=Spectrum(2), n_components=2), ["abab", "baba", "xyxy", "yyxx"], [0, 0, 1, 1]),
        (NystroemSVC(landmarks=X[:7]), pd.DataFrame(X, columns=list("abcd")), Y),
        (NystroemSVR(n_components="auto"), X, T),
        (NystroemRidge(landmarks=[3, 1, 4]), X, np.column_stack((T, T**2))),
    ],
    ids=["sparse", "single", "precomputed", "strings", "table", "auto", "targets"],
)
def test_files_and_pickles_hold_all_of_a_model(tmp_path, model, points, target):
    fitted = clone(model).fit(points, target)
    save(fitted, tmp_path / "model.mm")
    for copy in (load(tmp_path / "model.mm"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(copy.predict(points), fitted.predict(points))
        assert str(copy.report_) == str(fitted.report_)
        assert copy.exact_objective(points, target) == fitted.exact_objective(points, target)
        np.testing.assert_array_equal(clone(copy).fit(points, target).predict(points), fitted.predict(points))


# ---- a forecast is for long fits of vectors only


def test_no_forecast_of_few_rows_matrices_and_strings(monkeypatch):
    def never(*_):
        raise AssertionError("a forecast was made")

    monkeypatch.setattr(forecast, "forecast", never)
    monkeypatch.setattr(forecast, "FORECAST_MIN_ROWS", 300)
    with pytest.raises(AssertionError, match="forecast"):
        SVC().fit(X, Y)
    SVC(kernel="precomputed").fit(X @ X.T, Y)
    SVC(kernel=Spectrum(2)).fit(["ab", "ba", "xy", "yx"] * 100, [0, 0, 1, 1] * 100)
    monkeypatch.setattr(forecast, "FORECAST_MIN_ROWS", 301)
    SVC().fit(X, Y)


# ---- on a cluster


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as client:
        yield client


@pytest.mark.parametrize(
    ("rows", "chunks"), [(300, (97, 3)), (300, (60, 1)), (25, (1, 4)), (25, (300, 4))], ids=["3", "1", "rows", "whole"]
)
def test_any_chunks_of_a_kernel_model(client, rows, chunks):
    da = pytest.importorskip("dask.array")
    from maxmargin.large_scale.dask import NystroemSVC as Clustered

    local = NystroemSVC(gamma=GAMMA, n_components=20, tol=1e-8).fit(X[:rows], Y[:rows])
    model = Clustered(gamma=GAMMA, n_components=20, tol=1e-8, client=client)
    model.fit(da.from_array(X[:rows], chunks=chunks), da.from_array(Y[:rows], chunks=min(50, rows)))
    np.testing.assert_allclose(model.to_local().decision_function(X), local.decision_function(X), atol=1e-6)
    assert model.report_.primal_objective == pytest.approx(local.report_.primal_objective, rel=1e-8)


def test_partitions_that_are_empty_weightless_sparse_or_of_one_class(client):
    dask = pytest.importorskip("dask")
    from maxmargin.large_scale.dask import LinearSVC, NystroemRidge, NystroemSVC

    order = np.argsort(Y, kind="stable")
    forms = [np.asarray, sp.csr_matrix, sp.coo_matrix, np.asarray]
    pieces = [order[start:stop] for start, stop in pairwise([0, 70, 150, 220, 300])]
    weights = np.ones(300)
    weights[pieces[2]] = 0.0
    delayed = [dask.delayed(form(X[piece])) for form, piece in zip(forms, pieces, strict=True)]
    empty = dask.delayed(X[:0])
    for model, target in ((LinearSVC(), Y), (NystroemSVC(n_components=30), Y), (NystroemRidge(n_components=30), T)):
        blocks = delayed if target is T else [empty, *delayed, empty]
        model.set_params(client=client, tol=1e-8)
        model.fit(blocks, target[order], weights[order])
        local = clone(model.to_local()).fit(X, target, weights)
        judge = "predict" if target is T else "decision_function"
        np.testing.assert_allclose(getattr(model.to_local(), judge)(X), getattr(local, judge)(X), atol=1e-6)
