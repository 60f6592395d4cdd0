"""NumPy twins of native/rows."""

import numpy as np


def transpose(A, out):
    out[:] = A.T


def gather(K, rows, columns, out):
    out[:] = K[np.ix_(rows, columns)]


def gather_product(K, rows, columns, coef, out):
    out[:] = K[np.ix_(rows, columns)].astype(float) @ coef


def add_rows(K, rows, coef, out):
    out += coef @ K[rows, : len(out)].astype(float)


def add_columns(K, columns, coef, out):
    out += K[: len(out), columns].astype(float) @ coef
