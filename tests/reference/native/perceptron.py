"""NumPy twins of native/perceptron."""

import numpy as np
import scipy.sparse as sp


def perceptron_pass(X, y, order, v, s, t, eta, intercept):
    mistakes, loss = 0, 0.0
    for i in order:
        z = np.append(X[i].astype(np.float64), intercept)
        margin = y[i] * (z @ v)
        if not margin > 0:
            mistakes, loss = mistakes + 1, loss - margin
            v += eta * y[i] * z
            s += t * eta * y[i] * z
        t += 1
    return mistakes, loss


def perceptron_pass_csr(X, columns, y, order, v, s, t, eta, intercept):
    indptr, indices, data = X
    dense = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns)).toarray()
    return perceptron_pass(dense, y, order, v, s, t, eta, intercept)
