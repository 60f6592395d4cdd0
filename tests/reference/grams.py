"""Kernel matrices from their definitions, in extended precision, and what float64 may lose of them.

``gram`` returns two matrices: K, computed entry by entry from the definition in ``np.longdouble``, and E, a bound of
|fl(K) - K| for a program that evaluates the same definition in float64. With u = 2^-53 and d columns,

    x'z               E = d u |x|'|z|
    (g x'z + r)^p     E = p (d + 4) u (g |x|'|z| + |r|)^p
    tanh(g x'z + r)   E = (d + 4) u (g |x|'|z| + |r|) + 4 u
    exp(-t)           E = (t (d + 4) + 4) u exp(-t)         t = g |x - z|^2, g |x - z|_1, g sum (x - z)^2 / (x + z)
    sum min(x, z)     E = d u sum min(|x|, |z|)
    x'z / |x||z|      E = (2 d + 6) u
    x'z / either      E = ((d + 4) (|x|'|z| / either + |K| size / either) + 4 |K|) u
                                                            either = x'x + z'z - x'z, size = x'x + z'z + |x|'|z|
    p(s)              E = (|p'(s)| s (d + 4) + (r + 8) p(s)) u        s = g |x - z|^2, Matern's r = sqrt(4 nu s)

The exponents of the Gaussian and the Laplacian kernel may lose up to 2e-11 besides, where distances are expanded into
products or computed from scaled coordinates; other functions of s may lose six digits of s.

A value f(x) = sum_i c_i k(x_i, x) + b then errs by at most E |c| + (n + 2) u (|K| |c| + |b|). Bounds of this kind
(Higham 2002, chapter 3) hold for every order of summation; ``SAFETY`` covers scalings done beforehand.

Nothing of the library is used but public attributes of kernel objects: their class name and their parameters.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

UNIT = np.finfo(np.float64).eps / 2
SAFETY = 8.0  # operations that an implementation may do besides: scaling by sqrt(gamma), shifting, exp2 for exp
UNDERFLOW = 1e-300  # what may be taken for zero, and zero for it
EXPONENT_ERROR = 2e-11  # of kernels that decay, where distances are expanded or scaled
LOST_DIGITS = 1e6  # times its rounding error, that a distance may lose where it is expanded
BLOCK_BYTES = 64e6  # of the three-dimensional array of differences


@dataclass(frozen=True)
class Gram:
    """Kernel values, and a bound of the error of their float64 evaluation."""

    values: np.ndarray
    error: np.ndarray

    def expand(self, coefficients, intercept):
        """sum_i c_i k(x_i, x) + b per row x and output, and a bound of the error of that in float64."""
        C = np.asarray(coefficients, dtype=np.longdouble)
        b = np.asarray(intercept, dtype=np.longdouble)
        size = np.abs(self.values) @ np.abs(C) + np.abs(b)
        rounding = SAFETY * UNIT * (self.values.shape[1] + 2) * size
        return self.values @ C + b, np.asarray(self.error @ np.abs(C) + rounding, dtype=np.float64)


def gram(kernel, A, B):
    """K and E of the rows of A with the rows of B; ``kernel`` is a resolved kernel object."""
    name, get = type(kernel).__name__, functools.partial(getattr, kernel)
    A, B = np.asarray(A, np.longdouble), np.asarray(B, np.longdouble)
    d = A.shape[1]
    if name == "Linear":
        K, E = A @ B.T, d * (np.abs(A) @ np.abs(B).T)
    elif name in ("Polynomial", "Sigmoid"):
        g, r = np.longdouble(get("gamma")), np.longdouble(get("coef0"))
        base, size = g * (A @ B.T) + r, g * (np.abs(A) @ np.abs(B).T) + abs(r)
        if name == "Sigmoid":
            K, E = np.tanh(base), (d + 4) * size + 4
        else:
            p = float(get("degree"))
            K, E = base ** (int(p) if p.is_integer() else p), p * (d + 4) * size**p
    elif name in ("RBF", "Laplacian", "ChiSquared"):
        t = np.longdouble(get("gamma")) * _by_blocks(A, B, TERMS[name])
        K = np.exp(-t)
        E = (t * (d + 4) + 4) * K
        if name != "ChiSquared":
            lost = _expanded if name == "RBF" else _scaled
            E = E + lost(np.longdouble(get("gamma")), A, B) * K / (SAFETY * UNIT)
    elif name == "HistogramIntersection":
        K = _by_blocks(A, B, lambda a, b: np.minimum(a, b))
        E = d * K
    elif name == "Tanimoto":
        shared, squares, size = A @ B.T, np.add.outer((A**2).sum(1), (B**2).sum(1)), np.abs(A) @ np.abs(B).T
        either = squares - shared
        safe = np.where(either > 0, either, 1)
        K = np.where(either > 0, shared / safe, 1)
        E = (d + 4) * (size + np.abs(K) * (squares + size)) / safe + 4 * np.abs(K)
    elif name in ("Matern", "RationalQuadratic"):
        return _of_distance(kernel, name, A, B)
    else:
        return _composed(kernel, name, A, B)
    return Gram(K, np.asarray(SAFETY * UNIT * E, dtype=np.float64) + UNDERFLOW)


def _of_distance(kernel, name, A, B):
    """Values p(s) of s = gamma |x - z|^2, and what they lose: the slope of p times what s loses."""
    gamma, d = np.longdouble(kernel.gamma), A.shape[1]
    s = gamma * _by_blocks(A, B, TERMS["RBF"])
    if name == "Matern":
        r = np.sqrt(4 * np.longdouble(kernel.nu) * s)
        decay, safe = np.exp(-r), np.where(r > 0, r, 1)
        factor, slope = {
            0.5: (1, np.where(r > 0, 1 / safe, 0)),
            1.5: (1 + r, 3),
            2.5: (1 + r + r**2 / 3, 5 * (1 + r) / 3),
        }[kernel.nu]
        K, slope = factor * decay, slope * decay
    else:
        alpha = np.longdouble(kernel.alpha)
        r = 4 * alpha * np.log1p(s / alpha)
        K, slope = (1 + s / alpha) ** -alpha, (1 + s / alpha) ** (-alpha - 1)
    middle = np.median(B, axis=0)
    sizes = [np.maximum((P**2).sum(axis=1), ((P - middle) ** 2).sum(axis=1)) for P in (A, B)]
    lost = np.minimum(gamma * np.add.outer(*sizes), LOST_DIGITS * s)
    E = slope * (d + 4) * (s + lost) + (r + 8) * K
    return Gram(K, np.asarray(SAFETY * UNIT * E, dtype=np.float64) + UNDERFLOW)


def _expanded(gamma, A, B):
    """What an exponent may lose when |x - z|^2 is computed as |x|^2 - 2 x'z + |z|^2, about the origin or the middle of
    the points: a few units of the squares' sum, and never more than ``EXPONENT_ERROR``, beyond which differences of
    coordinates are taken."""
    middle = np.median(B, axis=0)
    sizes = [np.maximum((P**2).sum(axis=1), ((P - middle) ** 2).sum(axis=1)) for P in (A, B)]
    return np.minimum(EXPONENT_ERROR, SAFETY * UNIT * (A.shape[1] + 4) * gamma * np.add.outer(*sizes))


def _scaled(gamma, A, B):
    """The same where |x - z|_1 is computed as the difference of gamma x and gamma z: a unit of each of them."""
    sizes = [np.abs(P).sum(axis=1) for P in (A, B)]
    return np.minimum(EXPONENT_ERROR, UNIT * gamma * np.add.outer(*sizes))


def _chi_squared(a, b):
    total = a + b
    return np.where(total > 0, (a - b) ** 2 / np.where(total > 0, total, 1), 0)


TERMS = {"RBF": lambda a, b: (a - b) ** 2, "Laplacian": lambda a, b: np.abs(a - b), "ChiSquared": _chi_squared}


def _by_blocks(A, B, term):
    """sum_k term(a_ik, b_jk), a few rows of A at a time."""
    out = np.empty((len(A), len(B)), np.longdouble)
    step = max(1, int(BLOCK_BYTES / (16.0 * max(1, B.size))))
    for start in range(0, len(A), step):
        out[start : start + step] = term(A[start : start + step, None, :], B[None, :, :]).sum(axis=2)
    return out


def _composed(kernel, name, A, B):
    """Sums, products, multiples and powers of kernels, and kernels of points of length one."""
    if name in ("Sum", "Product"):
        parts = [gram(part, A, B) for part in kernel.kernels]
        return functools.reduce(_plus if name == "Sum" else _times, parts)
    inner = gram(kernel.kernel, A, B)
    if name == "Scaled":
        factor = abs(float(kernel.factor))
        return Gram(kernel.factor * inner.values, factor * inner.error + SAFETY * UNIT * factor * abs(inner.values))
    if name == "Power":
        return functools.reduce(_times, [inner] * int(kernel.exponent))
    if name == "Normalized":
        return _normalised(kernel.kernel, inner, A, B)
    raise NotImplementedError(f"no definition of {name}")


def _plus(left, right):
    K = left.values + right.values
    return Gram(K, left.error + right.error + np.asarray(SAFETY * UNIT * np.abs(K), np.float64))


def _times(left, right):
    K = left.values * right.values
    E = np.abs(left.values) * right.error + np.abs(right.values) * left.error + left.error * right.error
    return Gram(K, np.asarray(E + SAFETY * UNIT * np.abs(K), dtype=np.float64))


def _normalised(kernel, inner, A, B):
    """k(x, z) / sqrt(k(x, x) k(z, z)); a point of length zero has the value zero with all others."""
    sides = []
    for points in (A, B):
        rows = [gram(kernel, points[i : i + 1], points[i : i + 1]) for i in range(len(points))]
        sides.append((np.array([r.values[0, 0] for r in rows]), np.array([r.error[0, 0] for r in rows])))
    (left, left_error), (right, right_error) = sides
    length = np.sqrt(np.outer(left, right))
    zero = length == 0
    safe = np.where(zero, 1, length)
    relative = np.add.outer(
        left_error / np.where(left == 0, 1, np.abs(left)), right_error / np.where(right == 0, 1, np.abs(right))
    )
    K = np.where(zero, 0, inner.values / safe)
    E = inner.error / safe + np.abs(K) * relative + SAFETY * UNIT
    E = np.minimum(E, 2)  # cosines differ by no more, where lengths underflow
    return Gram(K, np.asarray(E, dtype=np.float64))


def scale_gamma(X, weights=None):
    """gamma="scale": 1 / (d v), v the weighted variance of all entries, 1 where v = 0; and the relative error that
    float64 may have, which is that of the mean beside the spread."""
    X = np.asarray(X, np.longdouble)
    w = np.ones(len(X), np.longdouble) if weights is None else np.asarray(weights, np.longdouble)
    total = w.sum() * X.shape[1]
    mean = (w @ X).sum() / total
    v = (w @ (X - mean) ** 2).sum() / total
    if (X[w > 0] == X[w > 0].flat[0]).all() or v == 0:
        return 1.0, 0.0
    largest = np.abs(X[w > 0]).max()
    return float(1 / (X.shape[1] * v)), float(SAFETY * UNIT * X.size * (1 + largest / np.sqrt(v)))
