"""What a fitted kernel model of scikit-learn or of ours says of its dual problem, from the definitions."""

import numpy as np
import scipy.sparse as sp


def kernel_matrix(model, X):
    """K of the training points from the definition, with the gamma that scikit-learn resolved."""
    X = np.asarray(X.todense() if sp.issparse(X) else X, np.float64)
    if model.kernel == "rbf":
        return np.exp(-model._gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    if model.kernel == "linear":
        return X @ X.T
    inner = model._gamma * (X @ X.T) + model.coef0
    return np.tanh(inner) if model.kernel == "sigmoid" else inner**model.degree


def coefficients(model, n):
    """The coefficients of a model with one function, over its n training rows."""
    c = np.zeros(n)
    c[model.support_] = (model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_).ravel()
    return c
