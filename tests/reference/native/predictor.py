"""What the compiled predictor computes, in NumPy."""

import numpy as np

from reference.native import one_vs_one

LINEAR, RBF, LAPLACIAN, POLYNOMIAL, SIGMOID = range(5)


def kernel_values(kind, g, coef0, degree, Z, X):
    apart = X[:, None, :] - Z[None, :, :]
    return {
        RBF: lambda: np.exp2(-g * (apart**2).sum(axis=2)),
        LAPLACIAN: lambda: np.exp2(-g * np.abs(apart).sum(axis=2)),
        POLYNOMIAL: lambda: (g * (X @ Z.T) + coef0) ** degree,
        SIGMOID: lambda: np.tanh(g * (X @ Z.T) + coef0),
    }[kind]()


def decision(kind, g, coef0, degree, Z, coefficients, counts, intercept, X):
    X = np.atleast_2d(X)
    if kind == LINEAR:
        return X @ Z.T + intercept
    K = kernel_values(kind, g, coef0, degree, Z, X)
    return (K @ coefficients if counts is None else one_vs_one.values(K, coefficients, counts)) + intercept
