"""Is a fitted model optimal? Judged from the definitions and public attributes alone: slow, obvious, independent.

What is used of a model: ``dual_coef_``, ``support_``, ``intercept_``, ``classes_``, ``class_weight_``, ``kernel_`` (its
class and parameters) and the estimator's own parameters. Kernel values are computed in 80-bit numbers from the
differences of coordinates, which are exact there for float64 points of like size, and fitted values

    f_i = sum_j c_j k(x_j, x_i)

are summed by ``math.fsum`` for few points. The violation of a problem with variables a, gradient g, bounds and groups
is the largest g_u - g_v over u that may fall and v that may rise in one group (LIBSVM's m(a) - M(a)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

EPS = float(np.finfo(np.float64).eps)
AT_BOUND = 1e-13  # relative distance from a bound that is the rounding of a product


@dataclass(frozen=True)
class Judgement:
    """What is true of one binary (or joint) problem of a model.

    ``f`` are the fitted values without intercept, ``size`` the sums of sizes that they were added up from, so that
    ``eps * size`` is the rounding error that float64 cannot avoid; ``residual`` is that of the equality constraints,
    relative to the sum of the variables' sizes; ``outside`` how far a variable is outside its bounds, relative to them;
    ``unit`` is the part of tol that the stopping rule may use.
    """

    violation: float
    f: np.ndarray
    size: np.ndarray
    residual: float
    outside: float
    unit: float = 1.0

    @property
    def rounding(self):
        return 100 * EPS * float(self.size.max(initial=0.0)) * self.unit_of_f

    unit_of_f: float = 1.0


# ---------------------------------------------------------------------------------------------------- kernel values


def dense(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def kernel_values(kernel, A, B):
    """k(a, b) for all pairs, and the size of what was added up for it, both in 80-bit numbers."""
    A, B = (dense(P).astype(np.longdouble) for P in (A, B))
    name = type(kernel).__name__
    if name == "Precomputed":
        raise ValueError("a precomputed kernel is its matrix")
    if name in ("Sum", "Product"):
        members = [kernel_values(member, A, B) for member in kernel.kernels]
        combine = np.sum if name == "Sum" else np.prod
        return combine([k for k, _ in members], axis=0), combine([s for _, s in members], axis=0)
    if name == "Scaled":
        return tuple(kernel.factor * part for part in kernel_values(kernel.kernel, A, B))
    if name == "Power":
        k, size = kernel_values(kernel.kernel, A, B)
        return k**kernel.exponent, (1 + abs(kernel.exponent)) * size**kernel.exponent
    if name == "Normalized":
        k, size = kernel_values(kernel.kernel, A, B)
        lengths = [
            np.array([np.sqrt(kernel_values(kernel.kernel, p[None], p[None])[0][0, 0]) for p in P]) for P in (A, B)
        ]
        scale = np.multiply.outer(*lengths)
        scale[scale == 0] = np.inf
        return k / scale, (size + abs(k)) / scale
    k, size = (np.empty((len(A), len(B)), np.longdouble) for _ in range(2))
    for i, a in enumerate(A):
        k[i], size[i] = _row(kernel, name, a, B)
    return k, size


def _row(kernel, name, a, B):
    if name in ("RBF", "Laplacian", "ChiSquared"):
        apart = a - B
        if name == "RBF":
            terms = apart**2
        elif name == "Laplacian":
            terms = abs(apart)
        else:
            both = a + B
            terms = np.divide(apart**2, both, out=np.zeros_like(apart), where=both != 0)
        t = np.longdouble(kernel.gamma) * terms.sum(axis=1)
        k = np.exp(-t)
        return k, k * (1 + np.minimum(t, 1e4))
    if name == "HistogramIntersection":
        k = np.minimum(a, B).sum(axis=1)
        return k, k
    s, size = (a * B).sum(axis=1), abs(a * B).sum(axis=1)
    if name == "Linear":
        return s, size
    s = np.longdouble(kernel.gamma) * s + np.longdouble(kernel.coef0)
    size = np.longdouble(kernel.gamma) * size + abs(np.longdouble(kernel.coef0))
    if name == "Polynomial":
        return s**kernel.degree, (1 + kernel.degree) * size**kernel.degree
    if name == "Sigmoid":
        return np.tanh(s), np.minimum(size, 1.0) + abs(np.tanh(s))
    raise NotImplementedError(name)


def fitted(model, X, coef, at=None):
    """f of all rows of X (of a precomputed matrix: its rows) for the coefficients of the support vectors."""
    support = model.support_ if at is None else at
    if type(model.kernel_).__name__ == "Precomputed":
        k = dense(X)[:, support].astype(np.longdouble)
        size = abs(k)
    else:
        k, size = kernel_values(model.kernel_, X, dense(X)[support])
    terms = k * coef
    f = [math.fsum(row) for row in terms] if terms.size <= 20_000 else terms.sum(axis=1)
    return np.array(f, dtype=np.float64), (size * abs(coef)).sum(axis=1).astype(np.float64)


# ---------------------------------------------------------------------------------------------------- conditions


def violation_of(groups, gradient, a, lower, upper):
    """The largest g_u - g_v, u may fall and v may rise, in one group; group None has a partner of gradient 0."""
    worst = 0.0
    box = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    may_rise, may_fall = a < upper - AT_BOUND * box, a > lower + AT_BOUND * box * (lower != 0)
    for members, free in groups:
        fall = gradient[members][may_fall[members]]
        rise = gradient[members][may_rise[members]]
        top = max([*fall.tolist(), *([0.0] if free else [])], default=-math.inf)
        bottom = min([*rise.tolist(), *([0.0] if free else [])], default=math.inf)
        worst = max(worst, top - bottom)
    return worst


def _outside(a, lower, upper):
    box = np.where(np.isfinite(upper - lower), upper - lower, np.abs(a))
    box[box == 0] = 1.0
    return float(np.max(np.maximum(lower - a, a - upper) / box, initial=0.0))


def binary(y, f, size, coef, bound, intercept):
    """Soft (or hard) margin classification: y is -1 or +1, ``coef`` one entry per row."""
    lower, upper = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
    every = np.arange(len(y))
    total = np.abs(coef).sum()
    return Judgement(
        violation_of([(every, not intercept)], f - y, coef, lower, upper),
        f,
        size,
        abs(math.fsum(coef)) / total if intercept and total else 0.0,
        _outside(coef, lower, upper),
    )


def nu_binary(y, f, size, coef, weight, nu, intercept):
    """nu classification. Coefficients are alpha / rho; sum alpha = nu sum weight gives rho."""
    total = nu * weight.sum()
    rho = total / np.abs(coef).sum()
    a, gradient = coef * rho, f * rho
    if intercept:
        lower, upper = np.where(y > 0, 0.0, -weight), np.where(y > 0, weight, 0.0)
        groups = [(np.flatnonzero(y > 0), False), (np.flatnonzero(y < 0), False)]
        halves = [a[members].sum() for members, _ in groups]
        residual = max(abs(halves[0] - total / 2), abs(halves[1] + total / 2)) / total
    else:
        a, gradient, lower, upper = a * y, gradient * y, np.zeros(len(y)), weight
        groups, residual = [(np.arange(len(y)), False)], 0.0
    found = violation_of(groups, gradient, a, lower, upper)
    return Judgement(found, f, size, residual, _outside(a, lower, upper), min(1.0, total), unit_of_f=rho)


def regression(y, f, size, coef, bound, epsilon, intercept):
    """The epsilon-insensitive tube: alpha = max(c, 0), alpha* = max(-c, 0)."""
    n = len(y)
    a = np.concatenate((np.maximum(coef, 0.0), np.minimum(coef, 0.0)))
    lower, upper = np.concatenate((np.zeros(n), -bound)), np.concatenate((bound, np.zeros(n)))
    gradient = np.concatenate((f - y + epsilon, f - y - epsilon))
    total = np.abs(coef).sum()
    return Judgement(
        violation_of([(np.arange(2 * n), not intercept)], gradient, a, lower, upper),
        f,
        size,
        abs(math.fsum(coef)) / total if intercept and total else 0.0,
        _outside(a, lower, upper),
    )


def nu_regression(y, f, size, coef, bound, nu, intercept):
    """nu regression: sum alpha + alpha* = nu sum c. If the coefficients' sizes add up to less, both alpha of some rows
    are positive; which ones is not known, and the violation is at least what is computed here."""
    n, total = len(y), nu * bound.sum()
    missing = total - np.abs(coef).sum()
    a = np.concatenate((np.maximum(coef, 0.0), np.minimum(coef, 0.0)))
    lower, upper = np.concatenate((np.zeros(n), -bound)), np.concatenate((bound, np.zeros(n)))
    if intercept:
        gradient = np.concatenate((f - y, f - y))
        groups = [(np.arange(n), False), (np.arange(n, 2 * n), False)]
        residual = abs(math.fsum(coef)) / total
    else:
        a, lower, upper = np.abs(a), np.zeros(2 * n), np.concatenate((bound, bound))
        gradient, groups = np.concatenate((f - y, y - f)), [(np.arange(2 * n), False)]
        residual = 0.0
    found = violation_of(groups, gradient, a, lower, upper)
    return Judgement(found, f, size, max(residual, -missing / total), _outside(a, lower, upper))


def one_class(f, size, coef, weight, nu):
    total = nu * weight.sum()
    return Judgement(
        violation_of([(np.arange(len(f)), False)], f, coef, np.zeros(len(f)), weight),
        f,
        size,
        abs(math.fsum(coef) - total) / total,
        _outside(coef, np.zeros(len(f)), weight),
        min(1.0, total),
    )


def joint(codes, F, size, A, bound):
    """Crammer and Singer: per row, the largest gradient minus the smallest among classes whose variable may rise."""
    E, U = np.ones_like(F), np.zeros_like(F)
    rows = np.arange(len(codes))
    E[rows, codes], U[rows, codes] = 0.0, bound
    gradient = F + E
    may_rise = AT_BOUND * np.where(np.isfinite(bound), bound, 0.0)[:, None] * (U > 0) < U - A
    worst = gradient.max(axis=1) - np.where(may_rise, gradient, np.inf).min(axis=1)
    total = np.abs(A).sum(axis=1)
    residual = float(np.max(np.abs(A.sum(axis=1)) / np.where(total > 0, total, 1.0)))
    outside = float(np.max((A - U) / np.where(np.isfinite(bound), bound, 1.0)[:, None]))
    return Judgement(max(0.0, float(worst.max())), F, size, residual, max(0.0, outside))


# ---------------------------------------------------------------------------------------------------- models


def judge(model, X, y=None, sample_weight=None):
    """One :class:`Judgement` per problem of a fitted ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR`` or ``OneClassSVM``, and the
    rows that each is about."""
    n = X.shape[0]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    dual, support = dense(model.dual_coef_), model.support_
    name, every = type(model).__name__, np.flatnonzero(weight > 0)
    if name in ("SVR", "NuSVR", "OneClassSVM"):
        f, size = fitted(model, X, dual[0])
        coef = np.zeros(n)
        coef[support] = dual[0]
        f, size, coef, weight = f[every], size[every], coef[every], weight[every]
        if name == "OneClassSVM":
            return [(every, one_class(f, size, coef, weight, model.nu))]
        bound, target = model.C * weight, np.asarray(y, dtype=np.float64)[every]
        rule, parameter = (regression, model.epsilon) if name == "SVR" else (nu_regression, model.nu)
        return [(every, rule(target, f, size, coef, bound, parameter, model.fit_intercept))]
    codes = np.searchsorted(model.classes_, y)
    weight = weight * model.class_weight_[codes]
    k = len(model.classes_)
    if getattr(model, "multiclass", "ovo") == "crammer_singer":
        F, sizes = zip(*(fitted(model, X, row) for row in dual), strict=True)
        A = np.zeros((n, k))
        A[support] = dual.T
        return [
            (
                every,
                joint(
                    codes[every],
                    np.column_stack(F)[every],
                    np.max(sizes, axis=0)[every],
                    A[every],
                    (model.C * weight)[every],
                ),
            )
        ]
    if k == 2:
        tasks = [(np.where(codes == 1, 1.0, -1.0), dual[0])]
    elif model.multiclass == "ovr":
        tasks = [(np.where(codes == c, 1.0, -1.0), dual[c]) for c in range(k)]
    else:
        tasks = []
        for i in range(k):
            for j in range(i + 1, k):
                target = np.where(codes == i, 1.0, np.where(codes == j, -1.0, 0.0))
                own = codes[support]
                tasks.append((target, np.where(own == i, dual[j - 1], np.where(own == j, dual[i], 0.0))))
    found = []
    for target, coefficients in tasks:
        rows = np.flatnonzero((target != 0) & (weight > 0))
        if len(np.unique(target[rows])) < 2:
            continue
        f, size = fitted(model, X, coefficients)
        coef = np.zeros(n)
        coef[support] = coefficients
        y_rows, w = target[rows], weight[rows]
        if name == "NuSVC":
            sides = [w[y_rows == side].sum() for side in (1, -1)]
            nu = min(model.nu, 2 * min(sides) / sum(sides)) if model.fit_intercept else model.nu
            verdict = nu_binary(y_rows, f[rows], size[rows], coef[rows], w, nu, model.fit_intercept)
        else:
            verdict = binary(y_rows, f[rows], size[rows], coef[rows], model.C * w, model.fit_intercept)
        found.append((rows, verdict))
    return found
