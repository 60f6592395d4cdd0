"""Certificates of small problems, and merged rows, from their definitions in NumPy."""

from __future__ import annotations

import numpy as np


def kernel_matrix(X: np.ndarray, form: tuple[int, int, float, float, bool]) -> np.ndarray:
    """k of all pairs of rows, as the forms of the tiles define it."""
    kind, degree, root, bias, _ = form
    A = root * X.astype(np.float64)
    if kind == 0:
        return np.exp2(-0.5 * ((A[:, None] - A[None]) ** 2).sum(axis=2))
    if kind == 1:
        return (A @ A.T + bias) ** degree
    if kind == 2:
        return np.tanh(np.log(2) / 2 * (A @ A.T + bias))
    return np.exp2(-np.abs(A[:, None] - A[None]).sum(axis=2))


def violation(gradient: np.ndarray, a: np.ndarray, lower: np.ndarray, upper: np.ndarray, group: np.ndarray) -> float:
    """m(a) - M(a), the largest over the groups."""
    worst = 0.0
    for g in np.unique(group):
        rise = gradient[(group == g) & (a < upper)].min(initial=np.inf)
        fall = gradient[(group == g) & (a > lower)].max(initial=-np.inf)
        worst = max(worst, fall - rise)
    return worst


def merge_rows(X: np.ndarray, target: np.ndarray, weight: np.ndarray) -> set[tuple[frozenset[int], float]]:
    """Sets of equal rows of equal target with positive weight, and the weight of each."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i in np.flatnonzero(weight > 0):
        groups.setdefault((*(X[i] + 0.0).tolist(), target[i]), []).append(int(i))
    return {(frozenset(rows), float(sum(weight[rows]))) for rows in groups.values()}
