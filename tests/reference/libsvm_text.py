"""Decision values of a model in LIBSVM's text format, as LIBSVM's ``svm_predict_values`` defines them.

A line of the part after ``SV`` is one support vector: k - 1 coefficients (one for regression and one-class), then
``index:value``, from index 1. Support vectors are listed class by class, ``nr_sv`` of each. The value of the pair of
classes i < j is sum over class i of coefficient j - 1, plus sum over class j of coefficient i, minus rho of the pair.
"""

from __future__ import annotations

import math

import numpy as np


def parsed(text):
    """The header as words by name, the coefficients and the support vectors as a list of dicts."""
    head, body = text.split("\nSV\n")
    header = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    coefficients, vectors = [], []
    for line in body.splitlines():
        words = line.split()
        vectors.append({int(w.split(":")[0]): float(w.split(":")[1]) for w in words if ":" in w})
        coefficients.append([float(w) for w in words if ":" not in w])
    per_vector = max(1, int(header.get("nr_class", ["2"])[0]) - 1)
    return header, np.array(coefficients).reshape(len(vectors), per_vector), vectors


def labels(text):
    """The class labels, in the file's order."""
    return [int(word) for word in parsed(text)[0]["label"]]


def _kernel(header):
    def number(name):
        return float(header[name][0])

    kind = header["kernel_type"][0]
    if kind == "linear":
        return lambda dot, square: dot
    if kind == "polynomial":
        return lambda dot, square: (number("gamma") * dot + number("coef0")) ** int(header["degree"][0])
    if kind == "rbf":
        return lambda dot, square: math.exp(-number("gamma") * square)
    return lambda dot, square: math.tanh(number("gamma") * dot + number("coef0"))


def decisions(text, X):
    """The decision values of dense points, shape (n, pairs), or (n, 1) for regression and one-class."""
    header, coefficients, vectors = parsed(text)
    k = _kernel(header)
    d = X.shape[1]
    Z = np.zeros((len(vectors), d))
    for row, vector in zip(Z, vectors, strict=True):
        for index, value in vector.items():
            row[index - 1] = value
    K = np.array([[k(float(x @ z), float(((x - z) ** 2).sum())) for z in Z] for x in X.astype(np.float64)])
    K = K.reshape(len(X), len(Z))
    rho = [float(word) for word in header["rho"]]
    if "nr_sv" not in header:
        return K @ coefficients - rho
    starts = np.concatenate(([0], np.cumsum([int(word) for word in header["nr_sv"]])))
    n_classes = len(starts) - 1
    out = []
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            a, b = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            out.append(K[:, a] @ coefficients[a, j - 1] + K[:, b] @ coefficients[b, i] - rho[len(out)])
    return np.stack(out, axis=1)
