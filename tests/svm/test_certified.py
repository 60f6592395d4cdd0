"""What a fit reports is true: certificates, coefficients and decision values against the definitions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.kernels import RBF, Linear, Sum
from maxmargin.kernels.gram.operator import StoredGram
from maxmargin.problems import verification
from reference.certificate import dense, fitted, judge

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:nu=:UserWarning")


def check(model, X, y=None, sample_weight=None):
    """The reported status and violation are those of the definitions, and all attributes are one function."""
    judgements = judge(model, X, y, sample_weight)
    report = model.report_
    allowed = max((j.rounding for _, j in judgements), default=0.0)
    worst = max((j.violation for _, j in judgements), default=0.0)
    for _, judgement in judgements:
        assert judgement.outside <= 1e-12
        if report.status.converged:
            assert judgement.violation <= model.tol * judgement.unit * (1 + 1e-9) + judgement.rounding
            assert judgement.residual <= 1e-8
    if type(model) is NuSVR:  # where a row has both multipliers, coefficients show less than there is
        assert worst <= report.kkt_violation * (1 + 1e-6) + 4 * allowed
    else:
        assert report.kkt_violation == pytest.approx(worst, rel=1e-6, abs=1e-6 * model.tol + 4 * allowed)
    check_function(model, X)


def check_function(model, X):
    """``decision_function`` (or ``predict``) is the sum over ``support_`` and ``dual_coef_``."""
    if len(getattr(model, "classes_", [0, 1])) > 2 or getattr(model, "multiclass", "") == "crammer_singer":
        return
    f, size = fitted(model, X, dense(model.dual_coef_)[0])
    values = model.predict(X) if isinstance(model, (SVR, NuSVR)) else model.decision_function(X)
    allowed = 1e-10 * size.max(initial=0.0) + 1e-13 * abs(model.intercept_[0])
    np.testing.assert_allclose(values.ravel(), f + model.intercept_[0], rtol=0, atol=allowed)


def labels(X, rng):
    X = dense(X)
    score = np.tanh(X @ rng.normal(size=X.shape[1]) / max(1e-300, np.abs(X).mean())) + 0.3 * rng.normal(size=len(X))
    return (score > np.median(score)).astype(int)


@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
def test_one_large_entry_of_a_sparse_matrix(far):
    rng = np.random.default_rng(0)
    X = sp.random(1100, 300, 0.03, random_state=rng, format="lil")
    X[3, 5] = far
    X = X.tocsr()
    y = labels(X[:, :20], rng)
    model = SVC(C=100, gamma=0.1).fit(X, y)
    assert model.report_.converged
    check(model, X, y)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("far", [1e6, 1e9, 1e13, 1e150])
def test_values_of_a_row_do_not_depend_on_the_rows_beside_it(make, kernel, far):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 30)) * (rng.random((80, 30)) < 0.4)
    model = SVC(C=10, gamma=0.1, kernel=kernel).fit(make(X), labels(X, rng))
    new = rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.4)
    alone = model.decision_function(make(new))
    beside = new.copy()
    beside[::7, 3] = far
    together = model.decision_function(make(beside))
    others = np.arange(40) % 7 != 0
    np.testing.assert_array_equal(together[others], alone[others])
    check_function(model, make(np.vstack((X[model.support_][:0], X))))


@pytest.mark.parametrize(("n", "far"), [(200, 1e9), (2000, 1e11), (300, 1e14)])
@pytest.mark.parametrize("gamma", ["scale", 0.1, 1.0])
def test_outliers_of_dense_data(n, far, gamma):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)
    X[rng.integers(0, n, 2), rng.integers(0, 5, 2)] = far
    check(SVC(C=100, gamma=gamma).fit(X, y), X, y)


def spread(style, far, n, rng):
    """Points that no common centre is near to."""
    X = rng.normal(size=(n, 4))
    if style == "clusters":
        X[::3] += far
        X[1::3] -= far
    elif style == "graded":
        X *= 10.0 ** rng.uniform(0, np.log10(far), n)[:, None]
    elif style == "away from the origin":
        X += far
        X[0] = 0
    else:
        X[rng.permutation(n)[:10]] *= far
    return X


@pytest.mark.parametrize("form", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("style", ["clusters", "graded", "away from the origin", "ten outliers"])
@pytest.mark.parametrize(("far", "n"), [(1e6, 60), (1e8, 60), (1e9, 300)])
def test_points_far_from_each_other(style, far, n, form):
    """Distances that lose their digits as |a|^2 + |b|^2 - 2 a'b, in problems small enough for one compiled call."""
    rng = np.random.default_rng(n)
    X = spread(style, far, n, rng)
    if form == "sparse":
        X = X * (rng.random(X.shape) < 0.5)
    elif form == "float32":
        X = X.astype(np.float32)
    handed, y = sp.csr_matrix(X) if form == "sparse" else X, labels(rng.normal(size=(n, 2)), rng)
    for model in (SVC(C=10, gamma=0.5), SVR(C=10, gamma=0.5), NuSVC(nu=0.1, gamma=0.5), OneClassSVM(nu=0.2, gamma=0.5)):
        targets = () if isinstance(model, OneClassSVM) else (rng.normal(size=n) if isinstance(model, SVR) else y,)
        model.fit(handed, *targets)
        assert model.report_.converged
        check(model, handed, *targets)


@pytest.mark.parametrize("kernel", [Sum([RBF(0.5), Linear()]), "chi2", "rbf"])
def test_a_wrong_kernel_matrix_is_found_out(kernel, monkeypatch):
    """Small problems whose kernel values are stored are certified by definition, too."""
    rng = np.random.default_rng(5)
    X = np.abs(rng.normal(size=(60, 3)))
    X[7] = 1e9 if kernel == "rbf" else X[7]  # far rows: the matrix is stored
    y = labels(X[:, :2], rng)
    true = StoredGram.stored

    def wrong(self):
        K, index = true(self)
        K = K.copy()
        K[3] *= 1.5
        K[:, 3] *= 1.5
        return K, index

    monkeypatch.setattr(StoredGram, "stored", wrong)
    model = SVC(C=10, gamma=0.5, kernel=kernel).fit(X, y)
    if model.report_.converged:
        check(model, X, y)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid"])
@pytest.mark.parametrize("rows", [1, 5, 60])
def test_values_of_a_few_float32_rows(kernel, rows):
    """Points of float32 are computed with in float64, however few they are."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    model = SVC(C=10, kernel=kernel).fit(X, labels(X, rng))
    values = model.decision_function(X[:rows])
    exact = model.decision_function(X[:rows].astype(np.float64))
    np.testing.assert_allclose(values, exact, rtol=0, atol=1e-13 * np.abs(model.dual_coef_).sum())


@pytest.mark.parametrize("solver", ["active_set", "smo", "coordinate_descent", "barrier", "qp_dual"])
def test_no_solver_is_believed(solver):
    rng = np.random.default_rng(3)
    for _ in range(5):
        X = rng.normal(size=(50, 3))
        y, weight = labels(X, rng), 10.0 ** rng.uniform(-6, 6, 50)
        intercept = solver != "coordinate_descent"
        check(SVC(C=10, solver=solver, fit_intercept=intercept).fit(X, y, weight), X, y, weight)


def test_a_solver_that_is_wrong_is_found_out(monkeypatch):
    """Kernel values of the solver that are off make no certificate: it is computed from others."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    y = labels(X, rng)
    exact = StoredGram.product

    def wrong(self, *args, **options):
        return 1.02 * exact(self, *args, **options)

    monkeypatch.setattr(StoredGram, "product", wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for limit in (verification.ALL_ROWS_MAX_TERMS, 0):
            monkeypatch.setattr(verification, "ALL_ROWS_MAX_TERMS", limit)
            with pytest.raises(Warning, match="did not converge"):
                SVC(C=10, solver="smo").fit(X, y)


@pytest.mark.parametrize("C", [1.0, 1e6])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e7])
def test_equal_rows_divide_every_coefficient(C, scale):
    rng = np.random.default_rng(5)
    X = scale * rng.normal(size=(40, 3))
    y = labels(X, rng)
    again = rng.integers(0, 40, 60)
    X, y = np.vstack((X, X[again])), np.concatenate((y, y[again]))
    for weight in (None, 10.0 ** rng.uniform(-6, 6, len(X))):
        for kernel in ("rbf", "linear"):
            check(SVC(C=C, kernel=kernel, max_iter=20_000).fit(X, y, weight), X, y, weight)


# ---------------------------------------------------------------------------------------------- random problems

KERNELS = ["rbf", "rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "intersection"]
SOLVERS = ["auto", "auto", "active_set", "smo", "coordinate_descent", "barrier", "qp_dual"]


def draw(rng):
    """Points of one of the kinds that rounding errors are found with, and weights."""
    n, d = int(rng.integers(4, 50)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.choice([0, 0, 0, -8, -4, 4, 8, 12])
    size = float(np.abs(X).max())
    kind = rng.choice(["plain", "outlier", "outliers", "scales", "clusters", "offset", "integers"])
    if kind == "outlier":
        X[rng.integers(n), rng.integers(d)] = size * 10.0 ** rng.integers(1, 13)
    elif kind == "outliers":
        X[rng.integers(0, n, 3)] += size * 10.0 ** rng.integers(1, 13)
    elif kind == "scales":
        X *= 10.0 ** rng.uniform(-6, 6, d)
    elif kind == "clusters":
        X[: n // 2] += size * 10.0 ** rng.integers(1, 10)
    elif kind == "offset":
        X += size * 10.0 ** rng.integers(1, 9)
    elif kind == "integers":
        X = np.round(3 * X / size)
    if rng.random() < 0.4:
        X = np.vstack((X, X[rng.integers(0, n, n // 2 + 1)]))
    weight = None
    if rng.random() < 0.4:
        weight = 10.0 ** rng.uniform(-6, 6, len(X)) if rng.random() < 0.5 else rng.integers(1, 4, len(X)).astype(float)
    return X, weight


@pytest.mark.parametrize("estimator", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
@pytest.mark.parametrize("seed", range(12))
def test_random_problems(estimator, seed):
    rng = np.random.default_rng([seed, len(estimator.__name__)])
    X, weight = draw(rng)
    kernel = rng.choice(KERNELS)
    if kernel in ("chi2", "intersection"):
        X = np.abs(X)
    spread = float(np.median(np.abs(X - np.median(X, axis=0)))) or 1.0
    options = {
        "kernel": kernel,
        "gamma": "scale" if rng.random() < 0.5 else float(10.0 ** rng.uniform(-3, 2) / spread**2),
        "coef0": float(rng.choice([0, 1])),
        "degree": int(rng.integers(1, 4)),
        "tol": float(rng.choice([1e-3, 1e-5])),
        "max_seconds": 5,
    }
    y = labels(X, rng)
    if estimator is not OneClassSVM:
        options["fit_intercept"] = bool(rng.random() < 0.8)
    solvers = [s for s in SOLVERS if s != "coordinate_descent" or not options.get("fit_intercept", True)]
    options["solver"] = rng.choice(solvers)
    if "nu" in estimator._get_param_names():
        options["nu"] = 0.1
    if "C" in estimator._get_param_names():
        options["C"] = float(10.0 ** rng.choice([-2, 0, 1, 3]))
    if estimator in (SVR, NuSVR):
        y = y + 0.2 * rng.normal(size=len(y))
    X = sp.csr_matrix(X) if rng.random() < 0.3 else X
    try:
        model = estimator(**options).fit(X, *(() if estimator is OneClassSVM else (y,)), sample_weight=weight)
    except ValueError as error:
        if not any(reason in str(error) for reason in ("overflow", "cannot solve", "needs the variance")):
            raise
        return
    check(model, X, None if estimator is OneClassSVM else y, weight)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "rbf"])
def test_wide_sparse_rows(kernel):
    """Many columns of which few are nearly dense: the others are no part of the panels."""
    rng = np.random.default_rng(6)
    X = sp.random(60, 20_000, 0.002, random_state=rng, format="lil")
    X[:, 7] = rng.normal(size=(60, 1))
    X = X.tocsr()
    y = labels(X[:, :200], rng)
    model = SVC(C=10, kernel=kernel, gamma=0.1).fit(X, y)
    check(model, X, y)
