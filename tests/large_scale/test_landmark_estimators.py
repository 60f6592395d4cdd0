"""The estimators on landmarks: with all rows they are the exact models; streams, weights, limits, reports."""

import os
import pickle
import signal
import tempfile
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as SklearnSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, FitInterrupted, KernelRidge
from maxmargin.kernels import RBF, Spectrum
from maxmargin.large_scale import NystroemRidge, NystroemSVC, NystroemSVR
from maxmargin.large_scale import training as training_module
from maxmargin.large_scale.auto import held_out, search
from maxmargin.large_scale.rows.disk_buffer import DiskBuffer
from maxmargin.large_scale.rows.tiles import DOUBLE_MAX_VALUES
from maxmargin.runtime.control import Status, watching

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = (X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=240) > 0).astype(int)
T = np.sin(X[:, 0]) + 0.2 * X[:, 1] ** 2 + 0.05 * RNG.normal(size=240)


@parametrize_with_checks(
    [
        NystroemSVC(),
        NystroemSVC(loss="hinge", n_components=20),
        NystroemSVR(),
        NystroemSVR(loss="squared_epsilon_insensitive"),
        NystroemRidge(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- all rows as landmarks


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_hinge_with_all_rows_is_svc(C):
    model = NystroemSVC(C=C, gamma=0.5, loss="hinge", tol=1e-7).fit(X, Y)
    exact, peer = SVC(C=C, gamma=0.5, tol=1e-7).fit(X, Y), SklearnSVC(C=C, gamma=0.5, tol=1e-7).fit(X, Y)
    assert model.report_.primal_objective == pytest.approx(exact.report_.primal_objective, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=3e-3)
    assert "nothing is approximated" in model.report_.landmarks


def test_tube_with_all_rows_is_svr():
    model = NystroemSVR(C=2.0, gamma=0.5, epsilon=0.05, tol=1e-7).fit(X, T)
    exact = SVR(C=2.0, gamma=0.5, epsilon=0.05, tol=1e-7).fit(X, T)
    assert model.report_.primal_objective == pytest.approx(exact.report_.primal_objective, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=3e-3)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_with_all_rows_is_kernel_ridge(fit_intercept):
    targets = np.column_stack((T, X[:, 2]))
    weights = RNG.uniform(0.5, 2, 240)
    model = NystroemRidge(alpha=0.1, gamma=0.5, fit_intercept=fit_intercept, tol=1e-11)
    model.fit(X, targets, weights)
    exact = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5, fit_intercept=fit_intercept).fit(X, targets, weights)
    np.testing.assert_allclose(model.predict(X[:50]), exact.predict(X[:50]), atol=1e-4)
    f = exact.predict(X)
    norm = np.einsum("ik,ij,jk->", exact.dual_coef_, RBF(gamma=0.5).matrix(X, X), exact.dual_coef_)
    objective = float(weights @ ((targets - f) ** 2).sum(axis=1)) + 0.1 * norm
    assert model.report_.primal_objective == pytest.approx(objective, rel=1e-8)
    assert model.exact_objective(X, targets, weights) == pytest.approx(objective, rel=1e-8)


def test_fewer_landmarks_can_only_raise_the_objective():
    objectives = [
        NystroemSVC(gamma=0.5, n_components=np.arange(240)[:m].size, landmarks=np.arange(m), tol=1e-6)
        .fit(X, Y)
        .report_.primal_objective
        for m in (10, 40, 240)
    ]
    assert objectives[0] > objectives[1] > objectives[2]


# ---- small and large paths


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_streamed_values_and_single_precision_change_little(monkeypatch, loss):
    options = {"gamma": 0.5, "n_components": 30, "loss": loss, "tol": 1e-5, "random_state": 1}
    held = NystroemSVC(**options).fit(X, Y)
    streamed = NystroemSVC(**options, cache_size=0).fit(X, Y)
    assert held.report_.stored
    assert not streamed.report_.stored
    np.testing.assert_array_equal(held.decision_function(X), streamed.decision_function(X))
    assert streamed.report_.kernel_evaluations > held.report_.kernel_evaluations
    monkeypatch.setattr(training_module, "DOUBLE_MAX_VALUES", 0)
    single = NystroemSVC(**options).fit(X, Y)
    np.testing.assert_allclose(held.decision_function(X), single.decision_function(X), atol=0.02)
    assert single.report_.primal_objective == pytest.approx(held.report_.primal_objective, rel=1e-4)


def test_threads_do_not_change_a_bit():
    big = RNG.normal(size=(3000, 4))
    labels = (big[:, 0] > big[:, 1] ** 2 - 1).astype(int)
    one, two = (NystroemSVC(n_components=200, n_jobs=n).fit(big, labels) for n in (1, 2))
    np.testing.assert_array_equal(one.coefficients_, two.coefficients_)


def test_forms_of_the_input_agree():
    options = {"n_components": 50, "gamma": 0.5}
    expected = NystroemSVC(**options).fit(X, Y).decision_function(X)
    for form in (sp.csr_matrix(X), pd.DataFrame(X, columns=["a", "b", "c"]), X.tolist()):
        np.testing.assert_allclose(NystroemSVC(**options).fit(form, Y).decision_function(form), expected, atol=1e-6)
    model = NystroemSVC(**options).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_memory_map_is_fitted(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = NystroemSVC(gamma=0.5, n_components=40).fit(mapped, Y)
    np.testing.assert_array_equal(
        model.predict(X), NystroemSVC(gamma=0.5, n_components=40).fit(X.astype(np.float32), Y).predict(X)
    )


def test_strings_and_precomputed_matrices():
    words = ["spam spam", "spam ham", "eggs and ham", "eggs", "spam spam spam", "ham eggs"]
    labels = np.array(["s", "s", "e", "e", "s", "e"])
    model = NystroemSVC(kernel=Spectrum(2), n_components=4, C=10.0).fit(words, labels)
    assert model.predict(["spam and spam"])[0] == "s"
    assert len(model.landmarks_) == 4
    gram = RBF(gamma=0.5).matrix(X, X)
    one = NystroemSVC(kernel="precomputed", landmarks=np.arange(30), tol=1e-6).fit(gram, Y)
    two = NystroemSVC(gamma=0.5, landmarks=np.arange(30), tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(one.decision_function(gram[:20]), two.decision_function(X[:20]), atol=1e-4)
    assert one.landmark_indices_.tolist() == list(range(30))


# ---- weights and classes


@pytest.mark.parametrize(
    "estimator",
    [NystroemSVC(gamma=0.5, tol=1e-6), NystroemSVR(gamma=0.5, tol=1e-6), NystroemRidge(gamma=0.5)],
    ids=["svc", "svr", "ridge"],
)
def test_weights_are_repetitions(estimator):
    weights = RNG.integers(0, 3, 240)
    target = Y if isinstance(estimator, NystroemSVC) else T
    weighted = clone(estimator).fit(X, target, weights)
    repeated = clone(estimator).fit(np.repeat(X, weights, axis=0), np.repeat(target, weights))
    predict = "decision_function" if isinstance(estimator, NystroemSVC) else "predict"
    np.testing.assert_allclose(getattr(weighted, predict)(X), getattr(repeated, predict)(X), atol=1e-9)


def test_a_class_without_weight_keeps_its_place():
    weights = np.where(Y_IRIS == 1, 0.0, 1.0)
    model = NystroemSVC(n_components=30, tol=1e-5).fit(X_IRIS, Y_IRIS, weights)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.coefficients_.shape[1] == 3
    assert set(model.predict(X_IRIS)) == {0, 2}
    two = NystroemSVC(n_components=30, tol=1e-5).fit(X_IRIS[Y_IRIS != 1], Y_IRIS[Y_IRIS != 1])
    assert (model.predict(X_IRIS[Y_IRIS != 1]) == two.predict(X_IRIS[Y_IRIS != 1])).all()
    assert model.exact_objective(X_IRIS, Y_IRIS, weights) == pytest.approx(model.report_.primal_objective)
    one = NystroemSVC().fit(X, Y, (Y == 1).astype(float))
    assert (one.predict(X) == 1).all()


def test_class_weights_count_in_their_own_model():
    weighted = NystroemSVC(gamma=0.5, class_weight={0: 1.0, 1: 5.0}, tol=1e-6).fit(X, Y)
    plain = NystroemSVC(gamma=0.5, tol=1e-6).fit(X, Y, np.where(Y == 1, 5.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(X), plain.decision_function(X), atol=1e-8)
    many = NystroemSVC(n_components=40, class_weight="balanced", tol=1e-5).fit(X_IRIS, Y_IRIS)
    assert many.exact_objective(X_IRIS, Y_IRIS) == pytest.approx(many.report_.primal_objective)


def test_objective_is_that_of_the_function():
    model = NystroemSVC(gamma=0.5, n_components=25, C=3.0).fit(X, Y)
    y = 2 * Y - 1
    f = model.decision_function(X)
    B = model.coefficients_[:, 0]
    norm = B @ RBF(gamma=0.5).matrix(model.landmarks_, model.landmarks_) @ B
    objective = 0.5 * norm + 3.0 * (np.maximum(0, 1 - y * f) ** 2).sum()
    assert model.report_.primal_objective == pytest.approx(objective, rel=1e-8)
    assert model.exact_objective(X, Y) == pytest.approx(objective, rel=1e-8)
    squares = SVC(gamma=0.5, C=3.0).fit(X, Y).report_
    assert squares.primal_objective > 0


# ---- how many landmarks


def test_auto_finds_a_size_and_says_why():
    big = RNG.uniform(-3, 3, size=(2500, 2))
    model = NystroemRidge(alpha=0.1, gamma=0.5, n_components="auto").fit(big, np.sin(big[:, 0]) * big[:, 1])
    report = model.report_
    assert report.trials[0].n_components == 100
    assert len(report.trials) >= 2
    assert report.trials_ended
    sizes = [trial.n_components for trial in report.trials]
    assert model.n_components_ in sizes or (sizes[-1], model.n_components_) == (2000, 2500)
    assert "components tried" in str(report)
    few = NystroemSVC(n_components="auto").fit(X[:15], Y[:15])
    assert few.n_components_ == 15
    rough = NystroemSVC(n_components="auto", gamma=50.0, loss="hinge").fit(X[:100], Y[:100])
    assert rough.n_components_ == 100
    assert rough.report_.trials_ended == "all 100 rows are landmarks"


def test_search_stops_at_rows_memory_and_noise():
    from maxmargin.runtime.control import Control

    better = lambda m: (np.full(50, 1.0 / m), 0.0)  # noqa: E731
    assert search(better, 300, control=Control(), most=1e9, weights=np.ones(50)).ended == "all 300 rows are landmarks"
    found = search(better, 10**6, control=Control(), most=500, weights=np.ones(50))
    assert found.n_components == 400
    assert "memory" in found.ended
    largest = search(better, 10**6, control=Control(), most=1e9, weights=np.ones(50))
    assert largest.n_components == 3200
    assert "n_components" in largest.ended
    flat = search(lambda m: (np.ones(50), 0.5), 10**6, control=Control(), most=1e9, weights=np.ones(50))
    assert flat.n_components == 100
    assert "noise" in flat.ended
    assert len(flat.trials) == 2
    late = search(better, 10**6, control=Control(max_seconds=1e-9), most=1e9, weights=np.ones(50))
    assert late.n_components == 100
    assert len(late.trials) == 1


def test_rows_held_out_are_not_learnt_from():
    learnt, apart = held_out(1000, np.random.default_rng(0))
    assert len(apart) == 200
    assert len(np.union1d(learnt, apart)) == 1000


# ---- streams


def batches(y, size=50):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


def test_a_stream_is_the_same_as_its_rows():
    whole = NystroemSVC(gamma=0.5, n_components=40).fit(X, Y)
    for source in (batches(Y), iter(batches(Y)), lambda: iter(batches(Y))):
        model = NystroemSVC(gamma=0.5, n_components=40).fit_stream(source)
        np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    assert "5 batches, held in memory" in model.report_.source
    values = NystroemSVR(gamma=0.5, n_components=40).fit_stream((x, t, np.ones(len(t))) for x, t in batches(T))
    np.testing.assert_array_equal(values.predict(X), NystroemSVR(gamma=0.5, n_components=40).fit(X, T).predict(X))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_stream_that_does_not_fit_goes_to_a_file_and_leaves_none(tmp_path, monkeypatch, sparse):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    form = sp.csr_matrix if sparse else np.asarray
    points = X.astype(np.float32)
    source = [(form(points[i : i + 50]), Y[i : i + 50]) for i in range(0, 240, 50)]
    model = NystroemSVC(gamma=0.5, n_components=40, cache_size=0.001).fit_stream(iter(source))
    assert "buffered in a temporary file" in model.report_.source
    assert not model.report_.stored
    whole = NystroemSVC(gamma=0.5, n_components=40).fit(form(points), Y)
    np.testing.assert_allclose(model.decision_function(points), whole.decision_function(points), atol=1e-8)
    assert os.listdir(tmp_path) == []
    broken = [*source[:3], (form(points[:5, :2]), Y[:5])]
    with pytest.raises(ValueError, match="batch 4"):
        NystroemSVC(cache_size=0.001).fit_stream(broken)
    assert os.listdir(tmp_path) == []


def test_a_file_is_a_source(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": Y}).to_csv(path, index=False)
    model = NystroemSVC(gamma=0.5, n_components=40).fit_stream(path, target="label")
    assert model.score(X, Y) > 0.8
    assert "rows.csv" in model.report_.source


def test_announced_classes():
    model = NystroemSVC(n_components=20).fit_stream(batches(Y), classes=[0, 1, 7])
    assert model.classes_.tolist() == [0, 1, 7]
    assert set(model.predict(X)) <= {0, 1}
    with pytest.raises(ValueError, match="not among the classes"):
        NystroemSVC().fit_stream(batches(Y), classes=[0, 5])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "no batches"),
        ([(X[:5], None)], "no targets"),
        ([(X[:5], Y[:4])], "samples"),
        ([X[:5]], "a batch must be"),
        (3, "iterable"),
    ],
    ids=["empty", "unlabelled", "lengths", "bare", "number"],
)
def test_bad_streams_are_named(source, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NystroemSVC().fit_stream(source)


def test_a_spool_gives_back_its_rows():
    with DiskBuffer(budget=1.0) as buffer:
        for part in (sp.csr_matrix(X[:100]), X[100:]):
            buffer.add(part)
        assert buffer.on_disk
        np.testing.assert_array_equal(buffer.points().toarray(), X)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("budget", [1.0, 1e9], ids=["on disk", "in memory"])
def test_a_spool_keeps_the_precision_of_its_rows(sparse, budget):
    parts = [X[:50].astype(np.float32), X[50:90].astype(np.float32), 1e300 * X[90:120], X[120:].astype(np.float32)]
    for given, dtype in ((parts[:2], np.float32), (parts, np.float64)):
        with DiskBuffer(budget=budget) as buffer:
            for part in given:
                buffer.add(sp.csr_matrix(part) if sparse else part)
            found = buffer.points()
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.toarray() if sparse else found, np.concatenate(given))


@pytest.mark.parametrize("cache_size", [1e-6, "auto"], ids=["on disk", "held"])
def test_a_stream_may_use_one_buffer_for_all_its_batches(cache_size):
    def batches():
        rows, labels = np.empty((40, X.shape[1])), np.empty(40, Y.dtype)
        for start in range(0, 240, 40):
            rows[:], labels[:] = X[start : start + 40], Y[start : start + 40]
            yield rows, labels

    streamed = NystroemSVC(n_components=30, cache_size=cache_size).fit_stream(batches())
    whole = NystroemSVC(n_components=30).fit(X, Y)
    np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), atol=1e-9)


def test_streamed_rows_of_a_precomputed_kernel_are_all_its_rows():
    K = RBF(gamma=0.5).resolve(X)(X, X)
    streamed = NystroemSVC(kernel="precomputed", n_components=30).fit_stream([(K[:100], Y[:100]), (K[100:], Y[100:])])
    whole = NystroemSVC(kernel="precomputed", n_components=30).fit(K, Y)
    np.testing.assert_allclose(streamed.decision_function(K), whole.decision_function(K), atol=1e-9)
    with pytest.raises(ValueError, match="square"):
        NystroemSVC(kernel="precomputed").fit_stream([(K[:100], Y[:100])])


@pytest.mark.parametrize("alpha", [1e-12, 1e-14])
def test_a_solution_that_is_not_found_is_not_called_optimal(alpha):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = NystroemRidge(alpha=alpha, gamma=0.05).fit(X, T)
    assert (model.report_.status is Status.OPTIMAL) == (model.report_.relative_gap <= model.tol)
    assert model.report_.status.converged == (not told)


@pytest.mark.parametrize("model", [NystroemSVC, NystroemSVR, NystroemRidge])
def test_a_generator_chooses_the_landmarks(model):
    y = Y if model is NystroemSVC else T
    first, second = (model(n_components=20, random_state=np.random.default_rng(3)).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.landmark_indices_, second.landmark_indices_)


def test_landmarks_in_a_table_have_the_columns_of_the_training_table():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    turned = frame[frame.columns[::-1]][:20]
    with pytest.raises(ValueError, match="columns of landmarks and X differ"):
        NystroemSVC(landmarks=turned).fit(frame, Y)


# ---- limits, reports, bad input


def test_limits_warn_with_the_gap_and_the_knob():
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*relative duality gap"):
        model = NystroemSVC(gamma=0.5, loss="hinge", max_iter=1).fit(X, Y)
    assert model.report_.status is Status.MAX_ITER
    assert model.report_.relative_gap > 1e-3
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = NystroemSVC(gamma=0.5, max_seconds=1e-9).fit(X, Y)
    assert model.predict(X).shape == (240,)
    assert model.report_.kernel_error is None


def test_an_interrupt_leaves_the_model_so_far():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals need the main thread")

    def interrupt(progress):
        if progress.iteration == 1:
            signal.raise_signal(signal.SIGINT)

    model = NystroemSVC(gamma=0.5, loss="hinge", tol=1e-8)
    with watching(interrupt), pytest.raises(FitInterrupted), pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, Y)
    assert model.score(X, Y) > 0.5


def test_reports_say_what_was_done():
    model = NystroemSVC(gamma=0.5, n_components=30, random_state=0).fit(X, Y)
    report = model.report_
    text = str(report)
    assert "approximate" in text
    assert "30 (uniform), rank 30" in text
    assert "of the approximated problem" in text
    assert 0 < report.kernel_error.trace < 1
    assert report.passes > 0
    assert report.relative_gap <= 1e-3
    assert report.converged
    assert "<table>" in report._repr_html_()
    assert model.landmark_indices_ is not None
    np.testing.assert_array_equal(X[model.landmark_indices_], model.landmarks_)


def test_pickled_models_predict_the_same():
    model = NystroemSVR(n_components=30).fit(X, T)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_landmarks_given_twice_are_cut():
    model = NystroemSVC(gamma=0.5, landmarks=np.concatenate((X[:20], X[:20]))).fit(X, Y)
    assert model.n_components_ == 40
    assert model.report_.rank == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C must be > 0"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": "many"}, "n_components"),
        ({"landmarks": "corners"}, "landmarks"),
        ({"loss": "log"}, "loss"),
        ({"cache_size": "big"}, "cache_size"),
        ({"cache_size": -1}, "cache_size"),
        ({"tol": 0}, "tol"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"kernel": "sigmoid", "gamma": 5.0, "coef0": -3.0}, "not positive semidefinite"),
        ({"fit_intercept": 1}, "fit_intercept"),
    ],
    ids=lambda value: str(value),
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NystroemSVC(**options).fit(X, Y)


def test_bad_parameters_of_regressions():
    with pytest.raises(ValueError, match="epsilon"):
        NystroemSVR(epsilon=-1).fit(X, T)
    with pytest.raises(ValueError, match="alpha must be > 0"):
        NystroemRidge(alpha=0).fit(X, T)
    with pytest.raises(ValueError, match="divide y"):
        NystroemSVR().fit(X, T * 1e200)


def test_shifted_and_scaled_targets():
    """A mean far from zero and a large scale change nothing but the units."""
    plain = NystroemSVR(C=1.0, epsilon=0.05, gamma=0.5, tol=1e-6).fit(X, T).predict(X)
    moved = NystroemSVR(C=1.0, epsilon=0.05, gamma=0.5, tol=1e-6).fit(X, T + 1e4).predict(X)
    np.testing.assert_allclose(moved - 1e4, plain, atol=2e-3)
    large = NystroemSVR(C=1000.0, epsilon=50.0, gamma=0.5, tol=1e-6).fit(X, 1e3 * T).predict(X)
    np.testing.assert_allclose(large / 1e3, plain, atol=2e-3)


def test_ridge_with_a_small_penalty_is_the_solution_of_its_normal_equations():
    """(K'K + alpha K_mm) B = K'y: the eigenvalues of the system lie too far apart for single precision."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-2, 2, (9000, 3))
    y = np.sin(2 * points[:, 0]) * points[:, 1] + 0.01 * rng.standard_normal(9000)
    model = NystroemRidge(alpha=1e-6, gamma=1.0, n_components=500, fit_intercept=False, tol=1e-9)
    model.fit(points, y)
    assert model.report_.status is Status.OPTIMAL
    assert DOUBLE_MAX_VALUES < 9000 * 500
    Z = model.landmarks_
    K, K_mm = model.kernel_(points, Z), model.kernel_(Z, Z)
    values, U = np.linalg.eigh(K_mm)
    Phi = K @ (U / np.sqrt(values))[:, values > 1e-13 * values[-1]]
    w = np.linalg.solve(Phi.T @ Phi + 1e-6 * np.eye(Phi.shape[1]), Phi.T @ y)
    smallest = ((Phi @ w - y) ** 2).sum() + 1e-6 * w @ w
    assert model.report_.primal_objective == pytest.approx(smallest, rel=1e-6)
    np.testing.assert_allclose(model.predict(points), Phi @ w, atol=1e-4)


def test_the_report_of_a_ridge_regression_speaks_of_no_margin():
    x = np.linspace(0.0, 6.0, 50)[:, None]
    report = NystroemRidge(n_components=5).fit(x, np.sin(x).ravel()).report_
    assert "margin" not in str(report)
    assert "support vectors" not in str(report)
    assert "objective" in str(report)
    assert len(report.margins) == 0
