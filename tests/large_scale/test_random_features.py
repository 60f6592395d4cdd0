"""RandomFeatures: unbiased, with the variance of the theory; better where orthogonal; and what may be handed in."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.stats
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.kernels import RBF, Columns, Laplacian, Linear, Normalized, Polynomial
from maxmargin.large_scale import RandomFeatures
from maxmargin.large_scale.features import random_features as module
from maxmargin.large_scale.features.random_features import draw_frequencies


@parametrize_with_checks(
    [
        RandomFeatures(),
        RandomFeatures(3, kernel="laplacian", gamma="scale"),
        RandomFeatures(6, method="orthogonal", dtype="float64"),
    ]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def cloud(n=12, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def estimates(X, runs, n_components, **parameters):
    """phi(x)'phi(z) of all pairs, a run each seed."""
    return np.array(
        [
            (Z := RandomFeatures(n_components, random_state=seed, **parameters).fit_transform(X)) @ Z.T
            for seed in range(runs)
        ]
    )


KERNELS = {
    "rbf": RBF(gamma=0.4),
    "laplacian": Laplacian(gamma=0.3),
    "scaled": 2.5 * RBF(gamma=0.4),
    "sum": RBF(gamma=0.1) + 3.0 * Laplacian(gamma=0.5),
    "product": RBF(gamma=0.2) * Laplacian(gamma=0.2),
    "power": (2.0 * Laplacian(gamma=0.2)) ** 2,
    "columns": Columns(RBF(gamma=0.5), [0, 2]) * Columns(Laplacian(gamma=0.5), [1]),
    "normalised": Normalized(3.0 * RBF(gamma=0.4) + RBF(gamma=0.1)),
    "constant": RBF(gamma=0.4) ** 0 + RBF(gamma=0.4),
}


# The law


@pytest.mark.parametrize("n_components", [2, 7])
@pytest.mark.parametrize("name", KERNELS)
def test_the_mean_over_seeds_is_the_kernel(name, n_components):
    X, runs = cloud(), 300
    found, K = estimates(X, runs, n_components, kernel=KERNELS[name]), KERNELS[name](X)
    # 4.5 standard errors, for 78 pairs of points; those of the diagonal have none if n_components is even
    error = found.std(axis=0) / np.sqrt(runs)
    assert (np.abs(found.mean(axis=0) - K) <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("name", KERNELS)
def test_features_have_the_length_of_the_kernel(name):
    X = cloud(50)
    Z = RandomFeatures(10, kernel=KERNELS[name], random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), KERNELS[name].diagonal(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.4), Laplacian(gamma=0.3)], ids=["rbf", "laplacian"])
def test_pairs_have_the_variance_of_the_theory_and_phases_a_larger_one(kernel):
    X, n_components, runs = cloud(6), 10, 1500
    x, z = np.triu_indices(6, 1)
    k, twice = kernel(X)[x, z], kernel(2.0 * X)[x, z]
    found = estimates(X, runs, n_components, kernel=kernel)[:, x, z].var(axis=0)
    np.testing.assert_allclose(found, (1 + twice - 2 * k**2) / n_components, rtol=0.15)
    if isinstance(kernel, RBF):
        phases = [
            (Z := RBFSampler(gamma=0.4, n_components=n_components, random_state=s).fit_transform(X)) @ Z.T
            for s in range(runs)
        ]
        phases = np.var(phases, axis=0)[x, z]
        np.testing.assert_allclose(phases, (1 + twice / 2 - k**2) / n_components, rtol=0.15)
        assert found.mean() < phases.mean()


@pytest.mark.parametrize("d", [1, 2, 8])
def test_orthogonal_frequencies_are_normal_each_and_orthogonal_together(d):
    rng = np.random.default_rng(0)
    draws = [draw_frequencies(RBF(gamma=0.5), 2 * d + 1, d, rng, orthogonal=True) for _ in range(300)]
    for W in draws[:20]:
        for group in (W[:d], W[d : 2 * d]):
            G = group @ group.T
            np.testing.assert_allclose(G - np.diag(G.diagonal()), 0.0, atol=1e-12)
    for row in (0, 2 * d):
        assert scipy.stats.kstest(np.concatenate([W[row] for W in draws]), "norm").pvalue > 1e-4
        lengths = np.array([(W[row] ** 2).sum() for W in draws])
        assert scipy.stats.kstest(lengths, scipy.stats.chi2(d).cdf).pvalue > 1e-4


def test_orthogonal_frequencies_are_unbiased_and_better():
    X, runs, n_components = cloud(8, 10), 300, 20
    kernel = RBF(gamma=0.02)
    plain, orthogonal = (
        estimates(X, runs, n_components, kernel=kernel, method=method) for method in ("fourier", "orthogonal")
    )
    K = kernel(X)
    error = orthogonal.std(axis=0) / np.sqrt(runs)
    assert (np.abs(orthogonal.mean(axis=0) - K) <= 4.5 * error + 1e-12).all()
    assert ((orthogonal - K) ** 2).mean() < 0.5 * ((plain - K) ** 2).mean()


def test_the_error_falls_with_the_root_of_the_number_of_features():
    X = cloud(60)
    few, many = (
        np.mean([RandomFeatures(m, gamma=0.4, random_state=s).fit(X).kernel_error(X).entry for s in range(10)])
        for m in (50, 5000)
    )
    assert 7.0 < few / many < 14.0


# What may be handed in


def test_gamma_is_one_over_the_columns_unless_told():
    X = 3.0 * cloud()
    assert RandomFeatures().fit(X).kernel_.gamma == pytest.approx(1 / 3)
    assert RandomFeatures(gamma="auto").fit(X).kernel_.gamma == pytest.approx(1 / 3)
    assert RandomFeatures(gamma="scale").fit(X).kernel_.gamma == pytest.approx(1 / (3 * X.var()))
    assert RandomFeatures(kernel=RBF(sigma=2.0)).fit(X).kernel_.gamma == 0.125


@pytest.mark.parametrize("n_components", [1, 2, 9, 100])
def test_there_are_as_many_features_as_asked_for(n_components):
    X = cloud()
    model = RandomFeatures(n_components, random_state=0).fit(X)
    assert model.transform(X).shape == (12, n_components)
    assert len(model.get_feature_names_out()) == n_components
    assert model.frequencies_.shape == (-(-n_components // 2), 3)


def test_features_are_the_waves_of_the_formula():
    X = cloud()
    model = RandomFeatures(5, gamma=0.4, random_state=0).fit(X)
    W = model.frequencies_
    for i, x in enumerate(X):
        waves = [
            np.cos(W[0] @ x),
            np.cos(W[1] @ x),
            np.sin(W[0] @ x),
            np.sin(W[1] @ x),
            np.cos(W[2] @ x + model.phase_),
        ]
        np.testing.assert_allclose(model.transform(X)[i], np.sqrt(2 / 5) * np.array(waves), atol=1e-12)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix], ids=["matrix", "array", "csc"])
def test_sparse_points_have_the_features_of_dense_ones(form):
    X = cloud(100, 40) * (np.random.default_rng(1).random((100, 40)) < 0.2)
    dense, sparse = (RandomFeatures(20, random_state=0).fit(points).transform(points) for points in (X, form(X)))
    assert isinstance(sparse, np.ndarray)
    np.testing.assert_allclose(dense, sparse, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_single_precision_in_and_out(kernel):
    X = cloud(200).astype(np.float32) + np.float32(50.0)
    model = RandomFeatures(400, kernel=kernel, gamma=0.5, random_state=0).fit(X)
    single, double = model.transform(X), model.transform(X.astype(np.float64))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-6)
    assert RandomFeatures(10, dtype="float32").fit_transform(X.astype(np.float64)).dtype == np.float32
    assert RandomFeatures(10, dtype="float64").fit_transform(X).dtype == np.float64


def test_tables_keep_their_columns():
    X = pd.DataFrame(cloud(), columns=list("abc"))
    model = RandomFeatures(4, kernel=Columns(RBF(gamma=1.0), ["c"]), random_state=0).fit(X)
    assert list(model.feature_names_in_) == list("abc")
    assert (model.frequencies_[:, :2] == 0).all()
    assert list(model.set_output(transform="pandas").transform(X).columns) == [f"randomfeatures{i}" for i in range(4)]


def test_threads_and_tiles_do_not_change_the_bits(monkeypatch):
    X = cloud(3000)
    model = RandomFeatures(50, random_state=0, n_jobs=1).fit(X)
    expected = model.transform(X)
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(X).transform(X), expected)
    monkeypatch.setattr(module, "TILE_VALUES", 2000)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)


def test_the_seed_decides_and_a_pickle_keeps_it():
    X = cloud()
    model = RandomFeatures(6, random_state=3).fit(X)
    expected = model.transform(X)
    np.testing.assert_array_equal(clone(model).fit(X).transform(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), expected)
    assert (RandomFeatures(6, random_state=4).fit_transform(X) != expected).any()
    generators = (np.random.default_rng(3) for _ in range(2))
    first, second = (RandomFeatures(6, random_state=generator).fit_transform(X) for generator in generators)
    np.testing.assert_array_equal(first, second)


def test_the_error_of_the_kernel_is_that_of_its_matrix():
    X = cloud(80)
    model = RandomFeatures(30, gamma=0.3, random_state=0).fit(X)
    error = model.kernel_error(X)
    K, Z = RBF(gamma=0.3)(X), model.transform(X)
    E = K - Z @ Z.T
    assert error.trace == 0.0
    assert error.frobenius == pytest.approx(np.linalg.norm(E) / np.linalg.norm(K), rel=1e-9)
    assert error.spectral == pytest.approx(np.linalg.norm(E, 2) / np.linalg.norm(K, 2), rel=1e-9)
    assert error.entry == pytest.approx(np.sqrt((E[~np.eye(80, dtype=bool)] ** 2).mean()), rel=1e-9)
    assert "exact length" in str(error)
    assert model.kernel_error(X, rows=20).n_rows == 20
    assert model.kernel_error(sp.csr_matrix(X)).entry == pytest.approx(error.entry, rel=1e-9)


def test_a_kernel_of_endless_width_is_constant():
    Z = RandomFeatures(6, gamma=1e-300).fit_transform(cloud())
    np.testing.assert_allclose(Z @ Z.T, 1.0)


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be >= 1"),
        ({"kernel": "poly"}, "kernel must be one of 'laplacian', 'rbf' or such a kernel object .Nystroem takes any"),
        ({"kernel": Polynomial()}, "no kernel of x - z.*Nystroem takes any kernel"),
        ({"kernel": RBF() + Linear()}, "no kernel of x - z"),
        ({"kernel": RBF() ** 0.5}, "no kernel of x - z"),
        ({"kernel": RBF(), "gamma": 1.0}, "Don't pass gamma"),
        ({"gamma": -1.0}, "gamma must be > 0; got gamma=-1.0"),
        ({"gamma": 0.0}, "gamma must be > 0; got gamma=0.0"),
        ({"method": "orthogonl"}, "Did you mean 'orthogonal'"),
        ({"method": "orthogonal", "kernel": "laplacian"}, "same in all directions"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"random_state": "x"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        RandomFeatures(**parameters).fit(cloud())


def test_points_that_overflow_are_named():
    model = RandomFeatures().fit(cloud())
    with pytest.raises(ValueError, match="overflow in row 1"):
        model.transform([[1.0] * 3, [1e308] * 3])
