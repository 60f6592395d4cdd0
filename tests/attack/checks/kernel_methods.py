"""Laws of kernel methods: each solution satisfies the equations that define it, to the precision of a stable solver."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attack.apart import dense, sample_weights
from attack.case import handed, need, precomputed, within
from reference import kernel_methods
from reference.grams import SAFETY, UNIT, gram

ZERO_EIGENVALUE_SHARE = 1e-12  # of the largest: smaller eigenvalues count as zero, as in scikit-learn


def _stable(n, gram_error=0.0):
    """The relative residual that a backward stable solver of size n leaves."""
    return SAFETY * UNIT * (n + 10) + gram_error


def _relative_error(K):
    """What rounding of the kernel values adds, relative to the matrix's norm."""
    largest = float(np.abs(K.values).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return float(np.linalg.norm(K.error / largest)) / float(np.linalg.norm(np.asarray(K.values / largest, np.float64)))


def ridge_equations(trial):
    """Kernel ridge regression: alpha c_i = w_i (y_i - f(x_i)), and sum c_i = 0 with an intercept."""
    case, model = trial.case, trial.model
    alpha = float(getattr(model, "alpha_", model.get_params().get("alpha", 1.0)))
    need(alpha > 0 and not any("singular to working precision" in message for message in trial.messages))
    w = sample_weights(case)
    used = np.flatnonzero(w > 0)
    K = trial.kernel(case.X[used], case.X if case.precomputed else case.X[used])
    K = type(K)(K.values[:, used], K.error[:, used]) if case.precomputed else K
    C = np.asarray(model.dual_coef_).reshape(len(case.X), -1)
    assert not C[w == 0].any(), "a row of weight zero has a coefficient"
    Y = np.asarray(case.y, np.float64).reshape(len(case.X), -1)[used]
    for c, b, y in zip(C[used].T, np.ravel(model.intercept_), Y.T, strict=True):
        residual, size, target = kernel_methods.ridge_residual(K.values, c, b, y, w[used], alpha)
        bound = _stable(len(used), _relative_error(K)) * (size + target + np.linalg.norm(np.sqrt(w[used]) * b))
        if type(model.kernel_).__name__ == "Linear" and 4 * case.X.shape[1] <= len(used):
            # Solved by columns: c is w (y - f) / alpha, and its rounding is that of f, over alpha.
            bound *= 1 + float(np.linalg.norm(np.asarray(K.values, np.float64))) * w.max() / alpha
        got = float(np.linalg.norm(residual))
        need(math.isfinite(bound))
        assert got <= bound, f"the equations are off by {got:.3g}, where a stable solver leaves {bound:.3g}"
        if model.fit_intercept:
            allowed = bound * math.sqrt(w.max()) / alpha * math.sqrt(len(used)) + UNIT * len(used) * np.abs(c).sum() * 8
            assert abs(c.sum()) <= allowed, f"the coefficients sum to {c.sum():.3g}, not to zero within {allowed:.3g}"


def ridge_values(trial):
    """predict is sum_i c_i k(x_i, x) + b; the linear kernel with few columns keeps w instead, which has more digits."""
    from attack.functions import values

    case, model = trial.case, trial.model
    w = sample_weights(case)
    need(type(model.kernel_).__name__ != "Linear" or 4 * case.X.shape[1] > (w > 0).sum())
    want, bound = values(trial)
    got = model.predict(handed(case, case.new)).reshape(want.shape)
    within(got, np.asarray(want, np.float64), bound + 1e-300, "predict")


def blended(trial):
    """blend_weights(X) @ y is predict(X): the function is linear in the targets."""
    case, model = trial.case, trial.model
    need(case.tame and np.ndim(case.y) == 1 and hasattr(model, "blend_weights"))
    X = handed(case, case.new)
    B = model.blend_weights(X)
    got, want = B @ case.y, model.predict(X)
    need(np.ndim(got) == 1)
    size = np.abs(B) @ np.abs(case.y) + np.abs(want)
    alpha = float(getattr(model, "alpha_", model.get_params().get("alpha", 1.0)))
    need(alpha > 1e-3)
    K = trial.kernel(case.X, case.X)
    norm = np.abs(np.asarray(K.values, np.float64)).sum(axis=1).max() or 1.0  # points of length zero: K is zero
    condition = 1 + norm * sample_weights(case).max() / alpha
    error = _stable(len(case.X), _relative_error(K)) + float(trial.kernel(case.new, case.X).error.max()) / norm
    within(got, want, error * condition * size.max() + 1e-300, "blend_weights @ y")


def left_out(trial):
    """KernelRidgeCV: squared leave-one-out errors are those of brute force, and alpha_ is the best of them."""
    case, model = trial.case, trial.model
    need(case.tame and len(case.X) <= 40 and hasattr(model, "cv_results_"))
    w = sample_weights(case)
    used = np.flatnonzero(w > 0)
    K = trial.kernel(case.X, case.X)
    K = np.asarray(K.values, np.float64)[np.ix_(used, used)]
    content = np.arange(len(used)) if case.precomputed else None
    if content is None:
        key = np.column_stack((case.X[used].astype(np.float64) + 0.0, case.y[used]))
        content = np.unique(key, axis=0, return_inverse=True)[1].ravel()
    largest = np.abs(K).sum(axis=1).max() * w.max()
    for place, alpha in enumerate(model.alphas_):
        if largest / alpha > 1e8:
            continue
        want = kernel_methods.leave_one_out(K, case.y[used], w[used], alpha, content, model.fit_intercept) ** 2
        got = model.cv_results_[used, place]
        bound = 1e-14 * len(used) * (1 + largest / alpha) * (want.max() + np.square(case.y).max()) + 1e-300
        within(got, want, bound * 100, f"squared leave-one-out errors of alpha = {alpha:g}")
    best = int(np.argmax(model.scores_))
    assert model.alpha_ == model.alphas_[best], "alpha_ is not the best of the scores"
    assert np.isnan(model.cv_results_[w == 0]).all(), "rows of weight zero have a leave-one-out error"


def components(trial):
    """KernelPCA: P K P u = lambda u, the u are orthonormal, lambda falls, and no larger one is left out."""
    case, model = trial.case, trial.model
    need(model.eigen_solver_ != "randomized" and len(case.X) <= 300)
    K = trial.kernel(case.X, case.X)
    M = kernel_methods.centred(K.values)
    norm = float(np.linalg.norm(np.asarray(K.values, np.float64)))
    bound = _stable(10 * len(M), 4 * _relative_error(K)) * norm + 1e-300
    values, U = model.eigenvalues_, model.eigenvectors_
    assert (np.diff(values) <= 0).all(), "eigenvalues rise"
    positive = values > 0
    residual = np.asarray(M @ U - U * values, np.float64)[:, positive]
    worst = float(np.linalg.norm(residual, axis=0).max(initial=0.0))
    noise = len(M) * UNIT * 2 * float(np.abs(K.values.diagonal()).max(initial=0.0))  # eigenvalues below are zero
    assert worst <= bound + noise, f"an eigenvector leaves a residual of {worst:.3g}, more than {bound:.3g}"
    # With equal or near eigenvalues vectors are only as orthogonal as their distance allows.
    G = U[:, positive].T @ U[:, positive]
    within(G, np.eye(len(G)), 1e-6, "products of eigenvectors")
    true = np.linalg.eigvalsh(np.asarray(M, np.float64))[::-1][: len(values)]
    dropped = (values == 0) & (true <= ZERO_EIGENVALUE_SHARE * true.max(initial=0.0) + noise)
    within(values, np.where((true > 0) & ~dropped, true, 0.0), bound * math.sqrt(len(M)) + 2 * noise, "eigenvalues")


def projections(trial):
    """KernelPCA: transform is (k(x) - mean of K) u / sqrt(lambda) for every component."""
    case, model = trial.case, trial.model
    K, k = trial.kernel(case.X, case.X), trial.kernel(case.new, case.X)
    values, U = model.eigenvalues_, model.eigenvectors_
    positive = values > 0
    need(positive.any())
    A = U[:, positive] / np.sqrt(values[positive])
    A = A - A.mean(axis=0)
    means = K.values.mean(axis=1)
    want, error = type(k)(k.values, k.error).expand(A, -(means @ A))
    error = error + (K.error.mean(axis=1) + SAFETY * UNIT * len(case.X) * np.abs(means).astype(np.float64)) @ np.abs(A)
    got = model.transform(handed(case, case.new))
    assert not got[:, ~positive].any(), "a component without variance has projections"
    got = got[:, positive].astype(np.float64)
    single = (
        np.finfo(np.float32).eps * np.abs(got) if model.transform(handed(case, case.new)).dtype == np.float32 else 0.0
    )
    within(got, np.asarray(want, np.float64), 4 * error + single + 1e-300, "transform")


def nearest(trial):
    """The neighbours found are the nearest: their distances are right and in order, and no other point is nearer."""
    case, model = trial.case, trial.model
    need(not case.precomputed)
    count = model.n_neighbors
    if count > len(case.X):
        return _too_many_neighbours(model, handed(case, case.new))
    distances, indices = model.kneighbors(handed(case, case.new))
    name = type(model.kernel_).__name__
    kernel = gram(model.kernel_, case.new, case.X)
    own = [np.array([gram(model.kernel_, x[None], x[None]).values[0, 0] for x in P]) for P in (case.new, case.X)]
    D = np.asarray(kernel_methods.squared_distances(own[0], kernel.values, own[1]), np.float64)
    size = np.abs(own[0])[:, None] + np.abs(own[1])[None, :]
    error = np.asarray(2 * kernel.error + 64 * UNIT * (case.X.shape[1] + 8) * size, np.float64)
    if name == "RBF":  # found by Euclidean distances, whose rounding grows with the points' distance from their mean
        centre = case.X.astype(np.float64).mean(axis=0)
        far = [np.square(P.astype(np.float64) - centre).sum(axis=1) for P in (case.new, case.X)]
        spread = np.add.outer(*far)
        error = error + float(model.kernel_.gamma) * 64 * UNIT * (case.X.shape[1] + 8) * spread
    rows = np.arange(len(case.new))[:, None]
    assert all(len(set(row)) == count for row in indices.tolist()), "a neighbour is listed twice"
    within(distances**2, np.maximum(0.0, D[rows, indices]), 2 * error[rows, indices] + 1e-300, "squared distances")
    slack = 2 * error.max(axis=1)
    assert (np.diff(distances**2, axis=1) >= -slack[:, None]).all(), "distances are not in order"
    D = np.maximum(0.0, D)  # that of an indefinite kernel may be negative, which is as near as can be
    D[rows, indices] = np.inf
    nearer = D.min(axis=1) < (distances[:, -1] ** 2) - slack
    assert not nearer.any(), f"a point that is nearer was left out for row {int(np.flatnonzero(nearer)[0])}"
    return None


def _too_many_neighbours(model, X):
    """More neighbours than there are points: every question is refused, and the error names the parameter."""
    for name in ("kneighbors", "predict", "predict_proba"):
        if hasattr(model, name):
            with pytest.raises(ValueError, match="n_neighbors"):
                getattr(model, name)(X)


def voted_neighbours(trial):
    """The label is the one with most votes, the value the mean, of the neighbours that kneighbors lists."""
    case, model = trial.case, trial.model
    need(model.weights == "uniform" and model.n_neighbors <= len(case.X))
    X = handed(case, case.new)
    indices = model.kneighbors(X, return_distance=False)
    got = model.predict(X)
    if hasattr(model, "classes_"):
        codes = np.searchsorted(model.classes_, case.y)[indices]
        votes = np.stack([(codes == c).sum(axis=1) for c in range(len(model.classes_))], axis=1)
        assert np.array_equal(got, model.classes_[votes.argmax(axis=1)]), "predict is not the vote of the neighbours"
        within(model.predict_proba(X), votes / votes.sum(axis=1, keepdims=True), 1e-12, "predict_proba")
    else:
        y = np.asarray(case.y, np.float64)[indices]
        within(got, y.mean(axis=1), 1e-14 * np.abs(y).max(axis=1) * y.shape[1] + 1e-300, "predict")


def clusters(trial):
    """KernelKMeans: inertia_ is the weighted sum of squared distances from the cluster means, it never rose on the way,
    and a settled division has every point with its nearest mean."""
    case, model = trial.case, trial.model
    w = sample_weights(case)
    used = w > 0
    K = precomputed(case, case.X) if case.precomputed else gram(model.kernel_, case.X, case.X)
    count = int(max(model.labels_.max() + 1, 1))
    values = K.values[np.ix_(used, used)]
    D = np.asarray(kernel_methods.cluster_distances(values, model.labels_[used], w[used], count), np.float64)
    own = D[np.arange(used.sum()), model.labels_[used]]
    size = float(np.abs(values.diagonal()).max()) * SAFETY * UNIT * (used.sum() + 8) + 4 * float(K.error.max())
    # an indefinite kernel has squared distances below zero, which count as zero
    got, want = model.inertia_, float(w[used] @ np.maximum(own, 0.0))
    within(got, want, size * w.sum() * 4 + 1e-9 * abs(want), "inertia_")
    assert (np.diff(model.history_) <= 4 * size * w.sum()).all(), "the inertia rises"
    settled = not any("still moved" in message for message in trial.messages)
    occupied = np.bincount(model.labels_[used], minlength=count) > 0
    if settled and model.tol == 0:
        better = (own - np.where(occupied, D, np.inf).min(axis=1)) > 8 * size
        assert not better.any(), f"{int(better.sum())} points are nearer to another mean"


def discriminant(trial):
    """KernelDiscriminantAnalysis: eigenvalues_ are those of Fisher's problem by explicit features; the class means
    among the projections have them as their scatter; predict is the nearest mean, corrected by the priors."""
    case, model = trial.case, trial.model
    w = sample_weights(case)
    used = np.flatnonzero(w > 0)
    codes = np.searchsorted(model.classes_, case.y)[used]
    K = precomputed(case, case.X) if case.precomputed else gram(model.kernel_, case.X, case.X)
    values = np.asarray(K.values, np.float64)[np.ix_(used, used)]
    need(np.isfinite(values).all() and model.eigenvalues_.any() and len(used) <= 300)
    rho, lam = kernel_methods.fisher_values(values, codes, w[used], float(model.alpha))
    norm = float(np.linalg.norm(values, 2))
    # The inverse of the scatter within classes is taken twice, once by Woodbury's formula: the square of its condition.
    condition = 1 + norm / lam
    relative = (_stable(len(used)) + float(K.error.max()) * len(used) / norm) * condition**2
    need(relative < 1e-3)
    rho = np.append(rho, np.zeros(max(0, len(model.eigenvalues_) - len(rho))))
    within(model.eigenvalues_, rho, 100 * relative * (1 + rho.max()) + 2e-10 * rho.max(), "eigenvalues_")
    shares = np.bincount(codes, weights=w[used], minlength=len(model.classes_)) / w.sum()
    scatter = model.means_.T @ (shares[:, None] * model.means_)
    limit = 100 * relative * (1 + rho.max()) + 1e-9 * rho.max()
    within(scatter, np.diag(model.eigenvalues_), limit, "scatter of means_")
    need(model.n_components is None)
    X = handed(case, case.new)
    Z = model.transform(X)
    with np.errstate(divide="ignore"):
        scores = Z @ model.means_.T - 0.5 * (model.means_**2).sum(axis=1) + np.log(model.priors_)
    top = np.sort(scores, axis=1)
    sure = top[:, -1] - top[:, -2] > 1e-9 * (1 + np.abs(top[:, -1]))
    got = model.predict(X)
    assert np.array_equal(got[sure], model.classes_[scores.argmax(axis=1)][sure]), "predict is not the nearest mean"
    proba = model.predict_proba(X)
    within(proba.sum(axis=1), np.ones(len(proba)), 1e-12, "sums of predict_proba")


def values_of_projections(trial):
    """Support vectors, landmarks and training points are kept as they were given."""
    case, model = trial.case, trial.model
    need(hasattr(model, "X_fit_") and not case.precomputed)
    assert np.array_equal(dense(model.X_fit_), case.X), "X_fit_ is not X"


def clusters_permuted(trial):
    """The order of the points does not change which of them are together."""
    case = trial.case
    need(not case.precomputed)
    order = np.random.default_rng(len(case.X)).permutation(len(case.X))
    model = trial.fit(case.but(X=case.X[order], weight=None if case.weight is None else case.weight[order]))
    assert np.array_equal(model.labels_, trial.model.labels_[order]), "the order of the points changes the clusters"
