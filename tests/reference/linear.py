"""Linear support vector machines from their definitions: the objective of any (w, b), and other ways to a good one.

    classification  1/2 |w|^2 + 1/2 (b / s)^2 + sum_i c_i loss(y_i (w'x_i + b))     hinge max(0, 1 - m), or its square
    L1              |w|_1 + sum_i c_i max(0, 1 - m)^2    (and |b / s| if the intercept is penalised)
    regression      1/2 |w|^2 + 1/2 (b / s)^2 + sum_i c_i loss(|y_i - w'x_i - b| - epsilon)      max(0, r), or its
    square one-class       1/2 |w|^2 - nu rho sum_i c_i + sum_i c_i max(0, rho - w'x_i)

The term in b is there for an intercept that is penalised with scale s. Whatever (w, b) another program ends with is a
point to compare with: its objective is an upper bound of the optimum.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.optimize
import sklearn.svm

STEPS = 3000  # of other programs


@dataclass(frozen=True)
class Linear:
    """One linear problem."""

    kind: str
    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    squared: bool = False
    epsilon: float = 0.0
    scaling: float = math.inf
    fit_intercept: bool = True
    nu: float = math.nan
    l1: bool = False

    def objective(self, w, b):
        """The objective of (w, b), in extended precision."""
        w, b = np.asarray(w, np.longdouble), np.longdouble(b)
        f = np.asarray(self.X, np.longdouble) @ w
        if self.kind == "one_class":  # b = -rho
            return float(w @ w / 2 + self.nu * b * self.c.sum() + self.c @ np.maximum(0, -b - f))
        slack = 1 - self.y * (f + b) if self.kind == "classify" else np.abs(self.y - f - b) - self.epsilon
        slack = np.maximum(0, slack)
        size = np.abs(w).sum() if self.l1 else w @ w / 2
        if math.isfinite(self.scaling):
            size += abs(b / self.scaling) if self.l1 else (b / self.scaling) ** 2 / 2
        return float(size + self.c @ (slack**2 if self.squared else slack))

    def rounding(self, w, b):
        """What float64 may change in the objective of (w, b)."""
        n, d = self.X.shape
        size = np.abs(self.X.astype(np.float64)) @ np.abs(w) + abs(b) + np.abs(self.y) + 1.0 + self.epsilon
        unit = 8 * (n + d + 8) * np.finfo(np.float64).eps
        losses = (size**2 if self.squared else size) @ self.c
        return float(unit * (losses + w @ w + abs(self.nu * b * self.c.sum() if self.kind == "one_class" else 0.0)))

    def peers(self):
        """Points (w, b) that other programs find: scikit-learn's, and a quasi-Newton method where there is a
        derivative."""
        X, found = self.X.astype(np.float64), [(np.zeros(self.X.shape[1]), 0.0)]
        if self.kind == "regress" and self.fit_intercept:
            found.append((np.zeros(X.shape[1]), float(np.median(self.y))))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for model in self._models():
                try:
                    arguments = (X,) if self.kind == "one_class" else (X, self.y)
                    model.fit(*arguments, sample_weight=self.c)
                except ValueError:
                    continue
                w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
                found.append((w, b if self.fit_intercept else 0.0))
            if self.squared and not self.l1:
                found.append(self._quasi_newton(X, found[-1]))
        return [(w, b) for w, b in found if np.isfinite(w).all() and math.isfinite(b)]

    def _models(self):
        common = {"tol": 1e-6, "max_iter": STEPS}
        intercept = {"fit_intercept": self.fit_intercept, "intercept_scaling": min(self.scaling, 1e3)}
        if self.kind == "one_class":
            # with nu = 1 and weights scikit-learn writes past the end of its arrays
            return [sklearn.svm.OneClassSVM(kernel="linear", nu=self.nu, **common)] if self.nu < 1.0 else []
        if self.kind == "classify":
            loss = "squared_hinge" if self.squared else "hinge"
            penalty = "l1" if self.l1 else "l2"
            primal = {"dual": not self.squared, "random_state": 0}
            linear = sklearn.svm.LinearSVC(C=1.0, loss=loss, penalty=penalty, **common, **intercept, **primal)
            return [linear] + ([] if self.squared else [sklearn.svm.SVC(C=1.0, kernel="linear", **common)])
        loss = "squared_epsilon_insensitive" if self.squared else "epsilon_insensitive"
        linear = sklearn.svm.LinearSVR(
            C=1.0, epsilon=self.epsilon, loss=loss, dual=True, random_state=0, **common, **intercept
        )
        kernel = sklearn.svm.SVR(C=1.0, epsilon=self.epsilon, kernel="linear", **common)
        return [linear] + ([] if self.squared else [kernel])

    def _quasi_newton(self, X, start):
        """L-BFGS on the squared loss, from another program's end."""

        def value(v):
            w, b = v[:-1], v[-1] if self.fit_intercept else 0.0
            f = X @ w + b
            r = 1 - self.y * f if self.kind == "classify" else np.abs(self.y - f) - self.epsilon
            r = np.maximum(0, r)
            sign = -self.y if self.kind == "classify" else np.sign(f - self.y)
            g = 2 * self.c * r * sign
            total, of_b = w @ w / 2 + self.c @ r**2, g.sum()
            if math.isfinite(self.scaling):
                total, of_b = total + (b / self.scaling) ** 2 / 2, of_b + b / self.scaling**2
            return total, np.append(w + X.T @ g, of_b if self.fit_intercept else 0.0)

        v = scipy.optimize.minimize(value, np.append(*start), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        return v[:-1], float(v[-1]) if self.fit_intercept else 0.0
