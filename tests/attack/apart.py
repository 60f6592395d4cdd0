"""A fitted kernel model taken apart into its problems, by public attributes and the documented layout alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from attack.case import need
from reference import optimality

KINDS = {"SVC": "c_svc", "NuSVC": "nu_svc", "SVR": "eps_svr", "NuSVR": "nu_svr", "OneClassSVM": "one_class"}


@dataclass(frozen=True)
class Problem:
    """One problem of a fit: its rows, targets, bounds and solution; ``third`` is rho or epsilon, NaN if not known."""

    kind: str
    rows: np.ndarray
    y: np.ndarray
    c: np.ndarray
    a: np.ndarray
    b: float
    third: float = math.nan
    nu: float = math.nan
    fit_intercept: bool = True

    @property
    def total(self):
        """The sum of all bounds: what a violation of one costs the objective at most."""
        return float(self.c.sum())

    @property
    def tol_scale(self):
        """The part of tol that the stopping rule uses: the gradient of these problems is of the size of nu sum c."""
        return min(1.0, self.nu * self.total) if self.kind in ("nu_svc", "one_class") else 1.0

    def judge(self, K, a=None, b=None, third=None):
        """The conditions of optimality, of this solution or of another one."""
        a, b = self.a if a is None else a, self.b if b is None else b
        third = self.third if third is None else third
        a, K = np.asarray(a, np.longdouble), K[np.ix_(self.rows, self.rows)]
        if self.kind == "c_svc":
            return optimality.c_svc(K, a, b, self.y, self.c, self.fit_intercept)
        if self.kind == "nu_svc":
            return optimality.nu_svc(K, a, b, third, self.y, self.c, self.nu, self.fit_intercept)
        if self.kind == "one_class":
            return optimality.one_class(K, a, third, self.c, self.nu)
        if self.kind == "eps_svr":
            return optimality.eps_svr(K, a, b, self.y, self.c, third, self.fit_intercept)
        return optimality.nu_svr(K, a, b, third, self.y, self.c, self.nu, self.fit_intercept)


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def sample_weights(case):
    return np.ones(len(case.X)) if case.weight is None else np.asarray(case.weight, np.float64)


def class_weights(case, classes, codes):
    """The factor of each class: None is 1, a dict says it, "balanced" is the total weight over the number of classes
    that have any times the class's own."""
    given, w = case.params.get("class_weight"), sample_weights(case)
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, dict):
        return np.array([given.get(label, 1.0) for label in classes.tolist()])
    own = np.bincount(codes, weights=w, minlength=len(classes))
    return np.where(own > 0, own.sum() / (np.count_nonzero(own) * np.where(own > 0, own, 1.0)), 0.0)


def pairs(k):
    return [(i, j) for i in range(k) for j in range(i + 1, k)]


def scheme_of(case, k):
    """The multiclass scheme: two classes are one problem, unless it is the joint one."""
    scheme = case.params.get("multiclass", "ovo")
    return scheme if k > 2 or scheme == "crammer_singer" else "ovo"


def coefficients(case, model):
    """The coefficients of all training rows, shape (n, outputs); one-vs-one in LIBSVM's layout is taken apart."""
    dual, n = dense(model.dual_coef_), len(case.X)
    support = np.asarray(model.support_)
    if not hasattr(model, "classes_"):
        out = np.zeros((n, 1))
        out[support, 0] = dual[0]
        return out
    k = len(model.classes_)
    if scheme_of(case, k) != "ovo" or k == 2:
        out = np.zeros((n, len(dual)))
        out[support] = dual.T
        return out
    code = np.searchsorted(model.classes_, case.y)[support]
    out = np.zeros((n, k * (k - 1) // 2))
    for column, (i, j) in enumerate(pairs(k)):
        out[support[code == i], column] = dual[j - 1, code == i]
        out[support[code == j], column] = dual[i, code == j]
    return out


def problems(case, model):
    """Every problem of the fit that has two sides."""
    kind, params = KINDS[case.estimator], model.get_params()
    A, b = coefficients(case, model), np.asarray(model.intercept_, np.float64)
    w = sample_weights(case)
    common = {"kind": kind, "fit_intercept": params.get("fit_intercept", True), "nu": params.get("nu", math.nan)}
    if not hasattr(model, "classes_"):
        rows = np.flatnonzero(w > 0)
        C = 1.0 if kind == "one_class" else params["C"]
        third = {"one_class": lambda: -b[0], "eps_svr": lambda: params["epsilon"], "nu_svr": lambda: model.epsilon_}
        y = np.ones(len(rows)) if case.y is None else np.asarray(case.y, np.float64)[rows]
        return [
            Problem(rows=rows, y=y, c=C * w[rows], a=A[rows, 0], b=float(b[0]), third=third[kind](), **common),
        ]
    k, codes = len(model.classes_), np.searchsorted(model.classes_, case.y)
    effective = w * class_weights(case, model.classes_, codes)[codes]
    scheme = scheme_of(case, k)
    need(scheme != "crammer_singer")
    if k == 2:
        tasks = [((0, 1), codes == 1)]
    elif scheme == "ovo":
        tasks = [((i, j), codes == i) for i, j in pairs(k)]
    else:
        tasks = [(range(k), codes == i) for i in range(k)]
    found = []
    for column, (members, positive) in enumerate(tasks):
        rows = np.flatnonzero(np.isin(codes, list(members)) & (effective > 0))
        y = np.where(positive[rows], 1.0, -1.0)
        if len(np.unique(y)) < 2:
            continue
        c = params.get("C", 1.0) * effective[rows]
        problem = Problem(rows=rows, y=y, c=c, a=A[rows, column], b=float(b[column]), **common)
        found.append(_unscaled(problem) if kind == "nu_svc" else problem)
    return found


def _unscaled(problem):
    """nu-classification divides its solution by rho; the sum of the multipliers, which is known, tells by what."""
    wanted = problem.nu * problem.total / (2 if problem.fit_intercept else 1)
    used = problem.a[problem.y > 0].sum() if problem.fit_intercept else np.abs(problem.a).sum()
    need(used > 0 and abs(wanted / used - 1.0) > 1e-9)  # not divided: rho was zero, or it is one
    rho = float(wanted / used)
    return Problem(**{**problem.__dict__, "a": rho * problem.a, "b": rho * problem.b, "third": rho})
