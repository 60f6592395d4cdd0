"""Random problems: points, targets, weights. A tame one is what any program should solve; others are not so kind.

Everything is drawn from one generator, so a seed is a problem. Values are rounded to few digits: ties, duplicates and
exact zeros are then frequent, and a failing case is short to print.
"""

from __future__ import annotations

import numpy as np

SHAPES = [(2, 1), (3, 1), (3, 2), (4, 2), (6, 1), (8, 3), (12, 2), (20, 4), (30, 2), (45, 5), (60, 3), (80, 10)]
WIDE = [(3, 30), (10, 60), (25, 120), (6, 400)]
TALL = [(300, 2), (1100, 3)]  # past 1,000 rows threads are used


def choose(rng, options, p=None):
    """One of the options, as it is (not as a NumPy scalar)."""
    return options[int(rng.choice(len(options), p=p))]


def log_uniform(rng, low, high):
    """A number between 10^low and 10^high, with two digits."""
    return float(f"{10.0 ** rng.uniform(low, high):.1e}")


def shape(rng, tame):
    """Rows and columns."""
    kind = choose(rng, ["usual", "wide", "tall"], [0.82, 0.13, 0.05])
    n, d = choose(rng, {"usual": SHAPES, "wide": WIDE, "tall": TALL}[kind])
    return (max(n, 6), d) if tame else (n, d)


def points(rng, n, d, tame, positive=False):
    """Points, with what real data has: equal rows, constant columns, zeros, columns of different size, outliers."""
    X = rng.standard_normal((n, d))
    style = choose(rng, ["normal", "grid", "clusters", "line"], [0.5, 0.2, 0.2, 0.1])
    if style == "grid":
        X = np.round(X)
    elif style == "clusters":
        X = 0.3 * X + 3.0 * rng.standard_normal((min(4, n), d))[rng.integers(min(4, n), size=n)]
    elif style == "line":
        X = X[:, :1] * np.ones(d) + 1e-3 * X
    X = np.round(X, 3)
    if rng.random() < 0.3:
        X[rng.random(X.shape) < 0.6] = 0.0
    if rng.random() < 0.3 and n > 2:  # equal rows
        X[rng.integers(n, size=n // 2)] = X[rng.integers(n, size=n // 2)]
    if rng.random() < 0.15:
        X[:, int(rng.integers(d))] = choose(rng, [0.0, 1.0, -7.0])
    if not tame:
        X = _unkind(rng, X)
    if positive:
        X = np.abs(X)
    if rng.random() < 0.2:
        with np.errstate(over="ignore"):
            X = np.clip(X, -1e30, 1e30).astype(np.float32)
    return np.ascontiguousarray(X)


def _unkind(rng, X):
    """Scales, shifts, outliers, rows that hardly differ."""
    n, d = X.shape
    for change in rng.choice(["scale", "columns", "shift", "outlier", "near", "tiny", "same"], size=rng.integers(1, 3)):
        if change == "scale":
            X = X * log_uniform(rng, -6, 6)
        elif change == "columns":
            X = X * 10.0 ** rng.integers(-4, 5, size=d)
        elif change == "shift":
            X = X + log_uniform(rng, 0, 6)
        elif change == "outlier":
            X = X.copy()
            X[int(rng.integers(n))] *= log_uniform(rng, 2, 9)
        elif change == "near":
            X = X[rng.integers(n, size=n)] + 1e-7 * rng.standard_normal(X.shape)
        elif change == "tiny":
            X = X * 1e-150
        else:
            X = np.repeat(X[:1], n, axis=0)
    return X


def labels(rng, X, n_classes, tame):
    """Class labels of several types; every class occurs. Mostly they follow the points, sometimes not at all."""
    n = len(X)
    if rng.random() < 0.7:
        with np.errstate(over="ignore", invalid="ignore"):
            value = X[:, 0].astype(np.float64) + 0.3 * X.std() * rng.standard_normal(n)
        codes = np.argsort(np.argsort(value, kind="stable")) * n_classes // n
    else:
        codes = rng.integers(n_classes, size=n)
    if not tame and rng.random() < 0.3:  # a rare class
        codes = np.where(rng.random(n) < 0.8, 0, codes)
    codes[rng.permutation(n)[:n_classes]] = np.arange(n_classes)
    names = {
        "int": np.arange(n_classes),
        "signs": np.array([-1, 1, 3, 5, 7, 9][:n_classes]),
        "text": np.array(["ant", "bee", "cat", "dog", "eel", "fox"][:n_classes]),
        "float": np.arange(n_classes) + 1.0,
    }
    if n_classes == 2:
        names["bool"] = np.array([False, True])
    return names[choose(rng, list(names))][codes]


def values(rng, X, tame):
    """Targets of a regression."""
    n = len(X)
    with np.errstate(over="ignore", invalid="ignore"):
        x = X[:, 0].astype(np.float64)
        spread = x.std() or 1.0
        y = np.sin(2 * (x - x.mean()) / spread) + 0.2 * rng.standard_normal(n)
    y = np.round(np.nan_to_num(y), 3)
    style = choose(rng, ["plain", "constant", "large", "shifted", "integers"], [0.6, 0.05, 0.1, 0.15, 0.1])
    if style == "constant":
        y = np.full(n, choose(rng, [0.0, 2.5]))
    elif style == "integers":
        y = np.round(3 * y)
    elif style == "shifted":
        y = y + (10.0 if tame else 1e6)
    elif style == "large" and not tame:
        y = y * log_uniform(rng, -6, 6)
    return y


def weights(rng, n, tame):
    """Sample weights, or None; at least half of them positive."""
    style = choose(rng, ["none", "small integers", "zeros", "any", "extreme"], [0.5, 0.2, 0.12, 0.13, 0.05])
    if style == "none":
        return None
    if style == "small integers":
        return rng.integers(1, 4, size=n).astype(np.float64)
    if style == "zeros":
        w = rng.integers(0, 3, size=n).astype(np.float64)
        w[rng.permutation(n)[: (n + 1) // 2]] = 1.0
        return w
    w = np.round(rng.uniform(0.1, 3.0, size=n), 2)
    return w if style == "any" or tame else w * 10.0 ** rng.integers(-6, 7, size=n)


def fresh_points(rng, X):
    """Points to predict for: some of the training points, some between them, some beside them."""
    n = len(X)
    a, b = rng.integers(n, size=6), rng.integers(n, size=6)
    with np.errstate(over="ignore", invalid="ignore"):
        between = (X[a] + X[b]) / 2
        beside = X[a] * np.asarray(1.01, X.dtype)
    new = np.concatenate((X[rng.permutation(n)[:5]], between, beside))
    return np.ascontiguousarray(new.astype(X.dtype))
