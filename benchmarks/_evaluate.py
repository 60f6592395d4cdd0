"""One judge for all: is a fitted model optimal? Recomputed in float64 from the definitions, apart from every solver.

All it takes from an estimator is what scikit-learn's interface publishes: its parameters, ``support_``,
``support_vectors_``, ``dual_coef_`` and ``intercept_``. With b_i the signed coefficient of training row i and
f = K b (without the intercept), each binary model is

    minimise  1/2 b'Kb + sum h_i(b_i)   with  lower_i <= b_i <= upper_i,  sum b_i = total

    C-SVC       b_i = y_i alpha_i in [0, y_i C]   h = -y_i b_i                      total 0
    eps-SVR     b_i in [-C, C]                    h = -y_i b_i + epsilon |b_i|      total 0
    one-class   b_i in [0, 1]                     h = 0                             total nu n

The problems with nu are these too, but a coefficient may only be exchanged for one of its class (nu-SVC, whose f is
normalised by r = nu n / sum |b_i|, and C = 1/r) or of its side of the tube (nu-SVR, whose epsilon follows from f).

The violation m - M is the largest slope of a coefficient that may fall minus the smallest of one that may rise
(slopes of 1/2 b'Kb + h; LIBSVM stops at m - M <= tol). The dual objective is the negative of the above, the primal
one is 1/2 |w|^2 plus the losses of f + intercept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

KINDS = ("OneClassSVM", "SVR", "SVC", "NuSVR", "NuSVC")
IMPLIED_RESOLUTION = 1e-8  # relative, of a bound that is computed from a sum of coefficients
TILE_ROWS, TILE_ANCHORS = 1024, 512  # of kernel values computed at a time, in each thread: 4 MB


@dataclass(frozen=True)
class Evaluation:
    """The figures of a fit. Of several binary models (one-vs-one): sums of the objectives, the worst of the rest."""

    primal: float
    dual: float
    violation: float
    worst_gap: float  # relative, of the worst binary model
    infeasibility: float  # how far outside the constraints, relative to their size
    n_support: int
    models: int

    @property
    def relative_gap(self) -> float:
        return _relative_gap(self.primal, self.dual)


def _relative_gap(primal: float, dual: float) -> float:
    return (primal - dual) / max(abs(primal), abs(dual), np.finfo(float).tiny)


@dataclass(frozen=True)
class Kernel:
    """A kernel by its scikit-learn name, with float64 values."""

    name: str
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 0.0

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        if self.name == "laplacian":
            return np.exp(-self.gamma * cdist(A, B, "cityblock"))
        products = A @ B.T
        K = products.toarray() if sp.issparse(products) else products
        if self.name == "linear":
            return K
        if self.name == "rbf":
            K *= -2.0
            K += _squared_norms(A)[:, None]
            K += _squared_norms(B)
            np.maximum(K, 0.0, out=K)
            K *= -self.gamma
            return np.exp(K, out=K)
        K *= self.gamma
        K += self.coef0
        if self.name == "poly":
            return K**self.degree
        if self.name == "sigmoid":
            return np.tanh(K, out=K)
        raise ValueError(f"The evaluator knows no kernel {self.name!r}.")


def _squared_norms(A: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def resolve_gamma(gamma: Any, X: Any) -> float:
    """scikit-learn's meaning of "scale" and "auto"."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    if sp.issparse(X):
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        variance = X.var()
    return 1.0 / (X.shape[1] * float(variance)) if variance > 0 else 1.0


def kernel_of(params: dict[str, Any], X: Any) -> Kernel:
    """The kernel that an estimator's parameters name."""
    return Kernel(
        params["kernel"],
        resolve_gamma(params.get("gamma", "scale"), X),
        params.get("degree", 3),
        params.get("coef0", 0.0),
    )


@dataclass(frozen=True)
class BinaryModel:
    """One problem as in the head of this file: the training rows it is about, and a column of f."""

    rows: np.ndarray
    coef: np.ndarray
    y: np.ndarray
    f: np.ndarray
    intercept: float


def evaluate(estimator: Any, X: Any, y: Any, *, kernel: Kernel | None = None) -> Evaluation:
    """Judge a fitted estimator of any library, one of ``KINDS``, on its training data.

    Parameters
    ----------
    estimator : object
        With scikit-learn's attributes; multiclass as one-vs-one in LIBSVM's layout. Weights are not supported.
    X, y : array or CSR matrix, array
        What it was fitted to.
    kernel : Kernel, optional
        In place of the one that the estimator's parameters name, for instance if that is a function.
    """
    params = estimator.get_params()
    X = X.astype(np.float64)
    kernel = kernel or kernel_of(params, X)
    kind = next((kind for kind in KINDS if type(estimator).__name__ == kind), None)
    if kind is None or params.get("class_weight") is not None:
        raise ValueError(f"The evaluator cannot judge {estimator!r}.")
    support = np.asarray(estimator.support_, np.int64).ravel()
    anchors = _anchors(estimator, X, support)
    dual_coef = estimator.dual_coef_
    resolution = 4 * float(np.finfo(dual_coef.dtype).eps)
    dual_coef = (dual_coef.toarray() if sp.issparse(dual_coef) else np.asarray(dual_coef)).astype(np.float64)
    if kind.endswith("SVC"):
        classes = np.unique(y)
        codes = np.searchsorted(classes, y)
        columns = _one_vs_one(dual_coef, codes[support], len(classes))
    else:
        codes, columns = None, dual_coef.T
    F = _values(kernel, X, anchors, columns)
    coef = np.zeros((X.shape[0], columns.shape[1]))
    coef[support] = columns
    intercept = np.asarray(estimator.intercept_, np.float64).ravel()
    judged = [_judge(kind, params, model, resolution) for model in _binary_models(kind, codes, y, coef, F, intercept)]
    primal, dual, violation, infeasibility = (np.array(column) for column in zip(*judged, strict=True))
    return Evaluation(
        primal=math.fsum(primal),
        dual=math.fsum(dual),
        violation=float(violation.max()),
        worst_gap=max(_relative_gap(p, d) for p, d in zip(primal, dual, strict=True)),
        infeasibility=float(infeasibility.max()),
        n_support=len(support),
        models=len(judged),
    )


def _anchors(estimator: Any, X: Any, support: np.ndarray) -> Any:
    """The support vectors, which must be the training rows that ``support_`` names."""
    rows, listed = X[support], estimator.support_vectors_
    if listed.shape[0] == 0:  # scikit-learn publishes none for a kernel that is a function
        return rows
    apart = abs(rows - listed).max() if len(support) else 0.0
    if not apart <= 1e-6 * abs(rows).max():
        raise ValueError(f"support_vectors_ are not the rows support_ of X: they differ by {apart:g}.")
    return rows


def _one_vs_one(dual_coef: np.ndarray, code: np.ndarray, n_classes: int) -> np.ndarray:
    """LIBSVM's k - 1 rows of coefficients as a column a pair (i, j): row j - 1 has class i's, row i class j's."""
    if n_classes == 2:
        return dual_coef.T
    columns = []
    for i, j in _pairs(n_classes):
        column = np.zeros(len(code))
        column[code == i] = dual_coef[j - 1, code == i]
        column[code == j] = dual_coef[i, code == j]
        columns.append(column)
    return np.column_stack(columns)


def _pairs(n_classes: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def _values(kernel: Kernel, X: Any, anchors: Any, columns: np.ndarray) -> np.ndarray:
    """F = K(X, anchors) @ columns, block by block; distances around the mean, so that none loses its digits."""
    n, m = X.shape[0], anchors.shape[0]
    F = np.zeros((n, columns.shape[1]))
    if kernel.name == "rbf" and not sp.issparse(X):
        X, anchors = X - X.mean(axis=0), anchors - X.mean(axis=0)
    panels = [slice(start, start + TILE_ANCHORS) for start in range(0, m, TILE_ANCHORS)]
    right = [anchors[panel] for panel in panels]

    def strip(start: int) -> None:
        rows = slice(start, start + TILE_ROWS)
        left = X[rows]
        for panel, part in zip(panels, right, strict=True):
            F[rows] += kernel(left, part) @ columns[panel]

    with ThreadPoolExecutor() as pool:
        list(pool.map(strip, range(0, n, TILE_ROWS)))
    return F


def _binary_models(
    kind: str, codes: Any, y: Any, coef: np.ndarray, F: np.ndarray, b: np.ndarray
) -> Iterator[BinaryModel]:
    """The binary models of a fit. Positive is class i of a pair (i, j), but class 1 if there are two classes only."""
    everything = np.arange(len(F))
    if kind == "OneClassSVM":
        yield BinaryModel(everything, coef[:, 0], np.zeros(len(F)), F[:, 0], b[0])
    elif kind.endswith("SVR"):
        yield BinaryModel(everything, coef[:, 0], np.asarray(y, np.float64), F[:, 0], b[0])
    elif codes.max() == 1:
        yield BinaryModel(everything, coef[:, 0], 2.0 * codes - 1.0, F[:, 0], b[0])
    else:
        for column, (i, j) in enumerate(_pairs(codes.max() + 1)):
            rows = np.flatnonzero((codes == i) | (codes == j))
            sign = np.where(codes[rows] == i, 1.0, -1.0)
            yield BinaryModel(rows, coef[rows, column], sign, F[rows, column], b[column])


def _judge(
    kind: str, params: dict[str, Any], model: BinaryModel, resolution: float
) -> tuple[float, float, float, float]:
    """Primal, dual, m - M and infeasibility of one binary model. Within ``resolution`` (relative, the rounding of the
    published coefficients) a coefficient is at its bound."""
    if kind.startswith("Nu"):
        return _judge_nu(kind, params, model, resolution)
    y, f, coef = model.y, model.f, model.coef
    half_norm = 0.5 * float(coef @ f)
    value = f + model.intercept
    C = 1.0 if kind == "OneClassSVM" else float(params["C"])
    total = 0.0
    if kind == "SVC":
        lower, upper = np.minimum(0.0, C * y), np.maximum(0.0, C * y)
        rising = falling = f - y
        loss = C * np.maximum(0.0, 1.0 - y * value).sum()
        linear = -float(y @ coef)
    elif kind == "SVR":
        epsilon = float(params["epsilon"])
        lower, upper = np.full(len(y), -C), np.full(len(y), C)
        rising = f - y + np.where(coef >= 0, epsilon, -epsilon)
        falling = f - y + np.where(coef > 0, epsilon, -epsilon)
        loss = C * np.maximum(0.0, np.abs(y - value) - epsilon).sum()
        linear = -float(y @ coef) + epsilon * float(np.abs(coef).sum())
    else:
        rho, total = -model.intercept, float(params["nu"]) * len(y)
        lower, upper = np.zeros(len(y)), np.ones(len(y))
        rising = falling = f
        loss = np.maximum(0.0, rho - f).sum() - total * rho
        linear = 0.0
    may_rise, may_fall = coef < upper - resolution * C, coef > lower + resolution * C
    violation = _exchange(falling[may_fall], rising[may_rise])
    outside = max(0.0, float((lower - coef).max()), float((coef - upper).max())) / C
    unbalanced = abs(float(coef.sum()) - total) / max(float(np.abs(coef).sum()), np.finfo(float).tiny)
    return half_norm + float(loss), -half_norm - linear, violation, max(outside, unbalanced)


def _exchange(falling: np.ndarray, rising: np.ndarray) -> float:
    """m - M: the largest slope of what may fall minus the smallest of what may rise."""
    return max(0.0, float(falling.max() - rising.min())) if len(falling) and len(rising) else 0.0


def _judge_nu(
    kind: str, params: dict[str, Any], model: BinaryModel, resolution: float
) -> tuple[float, float, float, float]:
    """A problem with nu is the one with the C, or the epsilon, that follows from its solution: objectives are those.
    The violation is that of its own exchanges, in its own scale, as LIBSVM measures it."""
    y, f, coef = model.y, model.f, model.coef
    resolution = max(resolution, IMPLIED_RESOLUTION)
    size, asked = float(np.abs(coef).sum()), float(params["nu"]) * len(y)
    if kind == "NuSVC":
        scale = asked / max(size, np.finfo(float).tiny)
        implied = {"C": 1.0 / scale}
        sides = [(y > 0, y * coef, y * f), (y < 0, y * coef, y * f)]
        missing = abs(float((y * coef).sum()) - size)  # a coefficient of the wrong sign
    else:
        scale, C = 1.0, float(params["C"])
        inside = (coef != 0) & (np.abs(coef) < C * (1 - resolution))
        errors = np.abs(y - f - model.intercept)
        bounds = errors[np.abs(coef) >= C * (1 - resolution)], errors[coef == 0]
        between = 0.5 * (min(bounds[0], default=0.0) + max(bounds[1], default=0.0))
        implied = {"C": C, "epsilon": float(np.median(errors[inside])) if inside.any() else between}
        everywhere = np.ones(len(y), bool)
        sides = [(everywhere, coef, f - y), (everywhere, -coef, y - f)]
        missing = max(0.0, size - asked * C)
    C = implied["C"]
    violation = max(
        _exchange(slope[rows & (value > resolution * C)], slope[rows & (value < C * (1 - resolution))])
        for rows, value, slope in sides
    )
    primal, dual, _, infeasibility = _judge(kind.removeprefix("Nu"), implied, model, resolution)
    return primal, dual, violation * scale, max(infeasibility, missing / max(size, np.finfo(float).tiny))
