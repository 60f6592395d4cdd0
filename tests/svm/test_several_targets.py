"""Several targets: functions over shared kernel values, with the bits of fits for each target alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from maxmargin import SVR, KernelRidge, LinearSVR, ModelFileError, NuSVR, load, save, shapley_values
from maxmargin.io import to_onnx, write_libsvm_model
from maxmargin.kernels import Spectrum


def problem(n=150, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.column_stack((np.sin(X[:, 0]), X[:, 1 % d] ** 2, X.sum(axis=1))) + 0.1 * rng.standard_normal((n, 3))
    return X, Y


def dense(model, n, k):
    coef = np.zeros(n)
    dual = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    coef[model.support_] = dual[k]
    return coef


@pytest.mark.parametrize(
    "make",
    [
        lambda: SVR(C=3.0),
        lambda: SVR(kernel="linear", epsilon=0.0),
        lambda: SVR(kernel="poly", C=0.1, fit_intercept=False),
        lambda: SVR(C=np.inf, epsilon=0.6),
        lambda: SVR(solver="smo"),
        lambda: SVR(solver="active_set"),
        lambda: NuSVR(nu=0.3),
        lambda: SVR(n_jobs=1),
    ],
)
@pytest.mark.parametrize("shape", [(150, 3), (120, 150)])
def test_each_target_has_the_bits_of_a_fit_alone(make, shape):
    X, Y = problem(*shape)
    together = make().fit(X, Y)
    assert together.predict(X).shape == Y.shape
    for k in range(Y.shape[1]):
        alone = make().fit(X, Y[:, k])
        np.testing.assert_array_equal(dense(together, len(X), k), dense(alone, len(X), 0))
        assert together.intercept_[k] == alone.intercept_[0]
        assert together.n_iter_[k] == alone.n_iter_
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-10)
        if isinstance(together, NuSVR):
            assert together.epsilon_[k] == alone.epsilon_


def test_many_rows_and_sparse_rows():
    X, Y = problem(3200)  # beyond what a batch takes
    together, alone = SVR().fit(X, Y[:, :2]), SVR().fit(X, Y[:, 1])
    np.testing.assert_array_equal(dense(together, len(X), 1), dense(alone, len(X), 0))
    X, Y = problem(200, 8)
    X = sp.csr_matrix(np.where(np.abs(X) > 0.8, X, 0.0))
    together, alone = SVR().fit(X, Y), SVR().fit(X, Y[:, 2])
    np.testing.assert_array_equal(dense(together, X.shape[0], 2), dense(alone, X.shape[0], 0))


def test_kernel_values_are_shared():
    X, Y = problem(120, 150)
    one, three = SVR().fit(X, Y[:, 0]).report_, SVR().fit(X, Y).report_
    assert three.kernel_evaluations <= 128 * 128
    assert three.kernel_evaluations < 2 * one.kernel_evaluations
    assert three.status.converged


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinearSVR(C=2.0, epsilon=0.1),
        lambda: LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
        lambda: LinearSVR(loss="pinball", quantile=0.8),
        lambda: LinearSVR(solver="coordinate_descent", max_iter=100_000, random_state=3),
        lambda: LinearSVR(fit_intercept=False, intercept_scaling=2.0),
    ],
)
@pytest.mark.parametrize("shape", [(150, 3), (60, 100), (2500, 50)])
def test_linear_targets_have_the_bits_of_a_fit_alone(make, shape):
    X, Y = problem(*shape)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(X))
    together = make().fit(X, Y, weights)
    assert together.coef_.shape == (3, shape[1])
    for k in range(3):
        alone = make().fit(X, Y[:, k], weights)
        np.testing.assert_array_equal(together.coef_[k], alone.coef_)
        assert together.intercept_[k] == alone.intercept_[0]
        np.testing.assert_array_equal(together.predict(X)[:, k], alone.predict(X))


@pytest.mark.parametrize("n", [150, 700])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ridge_regression_has_several_targets(n, fit_intercept):
    X, Y = problem(n)
    together = KernelRidge(kernel="rbf", alpha=0.1, fit_intercept=fit_intercept).fit(X, Y)
    for k in range(3):
        alone = KernelRidge(kernel="rbf", alpha=0.1, fit_intercept=fit_intercept).fit(X, Y[:, k])
        np.testing.assert_array_equal(together.dual_coef_[:, k], alone.dual_coef_)
        assert np.ravel(together.intercept_)[min(k, np.size(together.intercept_) - 1)] == alone.intercept_
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-10, atol=1e-12)


def test_equal_rows_of_different_targets():
    X, Y = problem(60)
    X, Y = np.vstack((X, X, X[:20])), np.vstack((Y, Y + np.array([0.0, 0.5, 0.0]), Y[:20]))
    together = SVR(tol=1e-8).fit(X, Y)
    for k in range(3):
        alone = SVR(tol=1e-8).fit(X, Y[:, k])
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-6)
    weights = np.ones(120)
    weights[:20] = 2.0
    by_weight = SVR().fit(X[:120], Y[:120], weights)
    np.testing.assert_allclose(by_weight.predict(X), SVR().fit(X, Y).predict(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("model", [SVR(), NuSVR(), LinearSVR(), SVR(kernel="linear")], ids=repr)
def test_files_warm_starts_and_compiled_predictors(model, tmp_path):
    X, Y = problem(60)
    model = model.set_params(warm_start=True).fit(X, Y)
    values = model.predict(X)
    save(model, tmp_path / "model.mm")
    np.testing.assert_array_equal(load(tmp_path / "model.mm").predict(X), values)
    np.testing.assert_allclose(model.compile_predictor()(X), values, atol=1e-10)
    np.testing.assert_allclose(model.fit(X, Y).predict(X), values, atol=0.05)
    assert 0.5 < model.score(X, Y) <= 1.0


def test_frames_objects_and_a_single_column():
    X, Y = problem(40)
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    np.testing.assert_array_equal(SVR().fit(X, frame).predict(X), SVR().fit(X, Y).predict(X))
    with pytest.warns(DataConversionWarning):
        assert SVR().fit(X, Y[:, :1]).predict(X).shape == (40,)
    words = ["".join(chr(97 + int(v)) for v in row) for row in np.random.default_rng(0).integers(0, 3, (20, 6))]
    assert SVR(kernel=Spectrum(2)).fit(words, Y[:20]).predict(words).shape == (20, 3)


@pytest.mark.parametrize("kind", [SVR, LinearSVR])
def test_refused_targets_change_nothing(kind):
    X, Y = problem(30)
    model = kind().fit(X, Y)
    before = model.predict(X)
    bad = Y.copy()
    bad[3, 1] = np.nan
    for targets in (bad, Y[:20], sp.csr_matrix(Y), np.zeros((30, 2, 2))):
        with pytest.raises((ValueError, TypeError), match=r"y|dim"):
            model.fit(X, targets)
        np.testing.assert_array_equal(model.predict(X), before)


def test_exports_and_explanations(tmp_path):
    X, Y = problem(40)
    model = SVR(C=3.0).fit(X, Y)
    with pytest.raises(ModelFileError, match="LIBSVM has no model of several targets; this one has 3"):
        write_libsvm_model(model, tmp_path / "a.model")
    shares = shapley_values(model, X[:5])
    np.testing.assert_allclose(shares.values.sum(axis=1) + shares.base_values, model.predict(X[:5]), atol=1e-9)


@pytest.mark.parametrize("model", [SVR(), LinearSVR()], ids=repr)
def test_onnx_has_a_column_per_target(model):
    runtime = pytest.importorskip("onnxruntime")
    X, Y = problem(40)
    session = runtime.InferenceSession(to_onnx(model.fit(X, Y)))
    values = session.run(None, {session.get_inputs()[0].name: X})[0]
    np.testing.assert_allclose(values, model.predict(X), atol=1e-9)
