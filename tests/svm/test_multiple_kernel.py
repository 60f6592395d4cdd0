"""Learnt kernel weights, against cone programs written down from the definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, MultipleKernelSVC, MultipleKernelSVR, load, save
from maxmargin.kernels import RBF, Columns, Linear, Normalized, Polynomial, Spectrum

KERNELS = [RBF(gamma=0.1), RBF(gamma=2.0), Normalized(Linear()), Normalized(Polynomial(degree=2)), RBF(gamma=20.0)]


@parametrize_with_checks([MultipleKernelSVC(), MultipleKernelSVC(norm=2), MultipleKernelSVR()])
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def cone_program(matrices, problems, norm):
    """The largest c - |S|_q* / 2 over multipliers of all problems, S_m = sum_p beta_p'K_m beta_p, by Clarabel.

    A problem is (rows, y, bound, epsilon): 0 <= y beta <= bound with c = sum y beta, or, with an epsilon,
    |beta| <= bound and c = y'beta - epsilon |beta|_1; beta sums to zero in both."""
    clarabel = pytest.importorskip("clarabel")
    sizes = [len(rows) for rows, *_ in problems]
    n, m = sum(sizes), len(matrices)
    at = np.cumsum([0, *sizes])
    roots = []
    for K in matrices:
        values, vectors = np.linalg.eigh(K)
        roots.append(vectors * np.sqrt(np.maximum(values, 0.0)))
    # Variables: beta (n), size (n) >= |beta|, s (m), t.
    total = 2 * n + m + 1
    q = np.zeros(total)
    q[-1] = 0.5
    A, b, cones = [], [], []

    def row(entries, right):
        line = np.zeros(total)
        for k, value in entries:
            line[k] += value
        A.append(line)
        b.append(right)

    for p in range(len(problems)):
        row([(k, 1.0) for k in range(at[p], at[p + 1])], 0.0)
    cones.append(clarabel.ZeroConeT(len(problems)))
    start = len(A)
    for p, (_, y, bound, epsilon) in enumerate(problems):
        for i, k in enumerate(range(at[p], at[p + 1])):
            q[k] = -y[i]
            if epsilon is None:
                row([(k, -y[i])], 0.0)
                row([(k, y[i])], bound)
            else:
                q[n + k] = epsilon
                row([(k, 1.0), (n + k, -1.0)], 0.0)
                row([(k, -1.0), (n + k, -1.0)], 0.0)
                row([(n + k, 1.0)], bound)
    if norm == 1:
        for j in range(m):
            row([(2 * n + j, 1.0), (total - 1, -1.0)], 0.0)  # s_j <= t
    cones.append(clarabel.NonnegativeConeT(len(A) - start))
    if norm == 2:
        row([(total - 1, -1.0)], 0.0)
        for j in range(m):
            row([(2 * n + j, -1.0)], 0.0)
        cones.append(clarabel.SecondOrderConeT(m + 1))
    for j, root in enumerate(roots):  # |u|^2 <= s as |(2 u, s - 1)| <= s + 1
        begin = len(A)
        row([(2 * n + j, -1.0)], 1.0)
        row([(2 * n + j, -1.0)], -1.0)
        for p, (rows, *_) in enumerate(problems):
            for column in root[rows].T:
                row(list(zip(range(at[p], at[p + 1]), -2.0 * column, strict=True)), 0.0)
        cones.append(clarabel.SecondOrderConeT(len(A) - begin))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    found = clarabel.DefaultSolver(
        sp.csc_matrix((total, total)), q, sp.csc_matrix(np.array(A)), np.array(b), cones, settings
    ).solve()
    assert str(found.status) == "Solved"
    return -found.obj_val


def drawn(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)


def matrices_of(X, kernels=KERNELS):
    return [kernel(X) for kernel in kernels]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_two_classes_reach_the_cone_program(norm, C):
    X, value = drawn(0)
    y = np.where(value > 0, 1.0, -1.0)
    best = cone_program(matrices_of(X), [(np.arange(40), y, C, None)], norm)
    model = MultipleKernelSVC(kernels=KERNELS, norm=norm, C=C, tol=1e-6).fit(X, y)
    report = model.report_
    assert report.converged
    assert report.relative_gap <= 1e-6
    assert report.dual_objective <= best * (1 + 1e-6)
    assert report.primal_objective >= best * (1 - 1e-6)
    assert np.linalg.norm(model.kernel_weights_, norm) == pytest.approx(1)
    assert model.kernel_weights_.min() >= 0
    # The model of these weights has that objective.
    assert model.estimator_.report_.primal_objective == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("norm", [1, 2])
def test_regression_reaches_the_cone_program(norm):
    X, y = drawn(1)
    best = cone_program(matrices_of(X), [(np.arange(40), y, 3.0, 0.1)], norm)
    report = MultipleKernelSVR(kernels=KERNELS, norm=norm, C=3.0, epsilon=0.1, tol=1e-6).fit(X, y).report_
    assert report.dual_objective <= best * (1 + 1e-6)
    assert report.primal_objective == pytest.approx(best, rel=3e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_one_vector_of_weights_serves_all_pairs(norm):
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    pairs = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        rows = np.flatnonzero((y == i) | (y == j))
        pairs.append((rows, np.where(y[rows] == i, 1.0, -1.0), 2.0, None))
    best = cone_program(matrices_of(X), pairs, norm)
    model = MultipleKernelSVC(kernels=KERNELS, norm=norm, C=2.0, tol=1e-6).fit(X, y)
    assert model.report_.dual_objective <= best * (1 + 1e-6)
    assert model.report_.primal_objective == pytest.approx(best, rel=3e-6)


def test_no_other_weights_are_better():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernels = [Columns(RBF(gamma=0.3), group) for group in ([0, 1, 2], [3, 4, 5, 6], [7, 8, 9], [10, 11, 12])]
    for norm in (1, 2):
        model = MultipleKernelSVC(kernels=kernels, norm=norm, tol=1e-4).fit(X, y)
        rng = np.random.default_rng(0)
        for _ in range(10):
            d = rng.dirichlet(np.ones(4)) if norm == 1 else np.abs(rng.normal(size=4))
            d = d / np.linalg.norm(d, norm)
            other = SVC(
                kernel=sum((float(w) * k for w, k in zip(d[1:], kernels[1:], strict=True)), float(d[0]) * kernels[0])
            )
            assert other.fit(X, y).report_.primal_objective >= model.report_.dual_objective


def test_norm_one_leaves_noise_without_weight():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 8))
    y = X[:, 0] ** 2 + X[:, 1] > 0.5
    kernels = [Columns(RBF(gamma=0.5), [0, 1]), *(Columns(RBF(gamma=0.5), [j]) for j in range(2, 8))]
    sparse, full = (MultipleKernelSVC(kernels=kernels, norm=norm, C=1.0).fit(X, y) for norm in (1, 2))
    assert np.count_nonzero(sparse.kernel_weights_) <= 3
    assert sparse.kernel_weights_[0] > 0.9
    assert np.count_nonzero(full.kernel_weights_) == 7
    assert len(sparse.kernel_.kernels) == np.count_nonzero(sparse.kernel_weights_)
    assert f"{sparse.report_.n_used} of 7 have weight" in str(sparse.report_)


def test_the_model_is_that_of_the_weighted_sum():
    X, y = load_iris(return_X_y=True)
    model = MultipleKernelSVC(kernels=KERNELS, C=5.0).fit(X, y)
    K = sum(w * K for w, K in zip(model.kernel_weights_, matrices_of(X), strict=True))
    np.testing.assert_allclose(model.kernel_(X), K, atol=1e-12)
    alone = SVC(kernel=model.kernel_, C=5.0).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), model.predict(X))
    np.testing.assert_array_equal(alone.decision_function(X), model.decision_function(X))


def test_weights_and_repetitions_and_orders_make_the_same_model():
    X, value = drawn(5)
    y = value > 0
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = MultipleKernelSVC(kernels=KERNELS).fit(X, y, sample_weight=times)
    repeated = MultipleKernelSVC(kernels=KERNELS).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.kernel_weights_, repeated.kernel_weights_, atol=1e-9)
    order = np.random.default_rng(1).permutation(len(y))
    turned = MultipleKernelSVC(kernels=KERNELS).fit(X[order], y[order], sample_weight=times[order])
    np.testing.assert_array_equal(weighted.kernel_weights_, turned.kernel_weights_)


def test_strings_and_class_weights():
    words = ["gattaca", "gattata", "cattaca", "tttttt", "ttttat", "ttcttt"]
    y = [0, 0, 0, 1, 1, 1]
    model = MultipleKernelSVC(kernels=[Normalized(Spectrum(k)) for k in (1, 2, 3)], class_weight={0: 1, 1: 3})
    assert list(model.fit(words, y).predict(words)) == y


def test_one_class_with_weight_has_nothing_to_learn():
    X, value = drawn(0)
    model = MultipleKernelSVC(kernels=KERNELS).fit(X, value > 0, sample_weight=(value > 0).astype(float))
    np.testing.assert_allclose(model.kernel_weights_, 0.2)
    assert model.predict(X).all()


def test_model_files(tmp_path):
    X, value = drawn(2)
    for model in (MultipleKernelSVC(kernels=KERNELS).fit(X, value > 0), MultipleKernelSVR(norm=2).fit(X, value)):
        save(model, tmp_path / "model")
        restored = load(tmp_path / "model")
        np.testing.assert_array_equal(restored.predict(X), model.predict(X))
        np.testing.assert_array_equal(restored.kernel_weights_, model.kernel_weights_)
        assert restored.report_ == model.report_


def test_a_limit_is_reported_with_the_gap():
    X, value = drawn(2)
    with pytest.warns(ConvergenceWarning, match=r"certified relative duality gap is .* \(tol=1e-09\)"):
        model = MultipleKernelSVC(kernels=KERNELS, max_iter=2, tol=1e-9).fit(X, value > 0)
    assert model.n_iter_ == 2
    assert not model.report_.converged
    assert model.report_.relative_gap > 1e-9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernels": []}, "kernels must be a list of kernels"),
        ({"kernels": RBF()}, "kernels must be a list of kernels"),
        ({"kernels": "rbf"}, "kernels must be a list of kernels"),
        ({"kernels": ["precomputed"]}, "kernels holds 'precomputed'"),
        ({"kernels": ["rbff"]}, "rbff"),
        ({"norm": 3}, r"norm must be 1 .* got norm=3"),
        ({"norm": True}, "norm must be 1"),
        ({"C": np.inf}, "C must be > 0 and finite"),
        ({"C": 0.0}, "C must be > 0"),
        ({"tol": 0.0}, "tol must be > 0"),
        (
            {"cache_size": 0.01},
            r"cache_size=0.01 MB cannot hold the matrices of 3 kernels of 40 rows: give cache_size=1",
        ),
    ],
)
@pytest.mark.parametrize("kind", [MultipleKernelSVC, MultipleKernelSVR])
def test_errors_by_name(kind, parameters, message):
    X, value = drawn(0)
    model = kind(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, value > 0 if kind is MultipleKernelSVC else value)
    assert not hasattr(model, "kernel_weights_")
