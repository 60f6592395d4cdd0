"""Methods to choose m landmarks among n points.

The features of m landmarks (``factor.py``) are exact at the landmarks; elsewhere the error of k(x, x) is

    residual(x) = k(x, x) - k_m(x)'K_mm^+ k_m(x) >= 0,

so landmarks should lie where the residual would be large without them.

    uniform     distinct rows with equal probability
    kmeans      centres of clusters (Zhang, Tsang & Kwok 2008): seeds drawn by their squared distance to those before
                (Arthur & Vassilvitskii 2007, in batches as Bahmani et al. 2012), then Lloyd's steps
    leverage    rows by their ridge leverage score l_i = [K (K + mu I)^-1]_ii, the weight a row has in its own kernel
                ridge prediction. Scores of a set of rows are estimated from landmarks of half the set, which come from
                a quarter, and so on (Musco & Musco 2017):
                    l_i ~ (k_ii - k_i'D (D K_SS D + mu I)^-1 D k_i) / mu,    D = diag(P(S chosen))^(-1/2)
    rpcholesky  one row after another, each by its residual given those before: randomly pivoted Cholesky (Chen,
                Epperly, Tropp & Webber 2022), in blocks with rejection (Epperly, Tropp & Webber 2024), so that
                most work is in matrix products, and the pivots have the distribution of the plain algorithm

A row of weight w counts as w rows. The last three choose from no more than ``sample_size(m)`` distinct rows, a random
sample if there are more; their work is O(rows m (m + d)), with m x rows numbers in memory. Uniform sampling costs one
pass over X.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels._arrays import centre_of, squared_distances
from maxmargin.kernels.gram.operator import Gram, KernelGram, computing_form, precomputed_gram
from maxmargin.large_scale.features.landmarks import METHODS, Landmarks, given_landmarks, landmarks_at
from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.decompositions import eigh
from maxmargin.runtime.threads import Halted, Stop, single_threaded_blas
from maxmargin.runtime.validation import Array, Points, check_choice, check_memory, check_number

SAMPLE_ROWS, SAMPLE_ROWS_PER_LANDMARK = 20_000, 4  # the larger is what methods other than uniform choose from
MERGE_MAX_ROWS = 1 << 18  # up to which equal rows are found among all
SCORES_PER_LANDMARK = 0.5  # the scores that landmarks are drawn by sum to this times their number
PROPOSED_PIVOTS = 128  # at a time
MU_ROWS = 4_096  # whose scores are summed in the search for mu
MAX_NEGATIVE_RESIDUAL = 1e-6  # relative to the largest k(x, x), that may be rounding
LEVERAGE_MAX_PRODUCTS = 1_000_000_000  # multiplications between two calls of ``stop``: some hundredths of a second
LLOYD_STEPS = 10
SEED_BATCHES = 16
DISTANCE_ROWS = 2048  # whose distances to all centres are held at a time


def sample_size(m: int) -> int:
    """Rows that m landmarks are chosen from, if there are so many."""
    return max(SAMPLE_ROWS, SAMPLE_ROWS_PER_LANDMARK * m)


def choose_landmarks(
    kernel: Kernel,
    X: Points,
    m: int,
    method: Any = "uniform",
    weights: Array | None = None,
    rng: np.random.Generator | None = None,
    threads: int = 1,
    stop: Stop | None = None,
) -> Landmarks:
    """Landmarks for the rows of X.

    kernel: a resolved kernel
    X: array, memmap or CSR matrix of shape (n, d), or array of n objects; validated points; for a precomputed kernel,
        its matrix. X is never copied.
    m: number of landmarks. With m or fewer distinct rows of positive weight, all of them; where the kernel has fewer
        dimensions than m, ``"rpcholesky"`` stops when the residual is zero.
    method: {"uniform", "kmeans", "leverage", "rpcholesky"} or array-like; or the landmarks themselves,
        as points or as indices of rows, and then m does not matter
    weights: (n,); sample weights; two equals a repetition, zero a missing row
    rng: random number generator
    threads: threads that compute kernel values; the result does not depend on it
    stop: called now and then; anything but None ends the choice with the landmarks chosen so far
    """
    X = X if sp.issparse(X) else np.asarray(X)  # a memmap's own memory, as a plain array
    if not isinstance(method, str):
        return given_landmarks(kernel, X, method)
    check_choice("landmarks", method, METHODS, extra=", or an array of points or of indices")
    m = int(check_number("n_components", m, least=1, integer=True))
    rng = np.random.default_rng() if rng is None else rng
    weights = np.ones(X.shape[0]) if weights is None else weights
    stop = _no_stop_requested if stop is None else stop
    if method == "kmeans":
        _check_vectors(kernel, X)
    rows, share = _distinct(kernel, X, weights, sample_size(m), rng)
    if len(rows) <= m:
        return landmarks_at(kernel, X, rows)
    if method == "uniform":
        return landmarks_at(kernel, X, rows[rng.choice(len(rows), m, replace=False)])
    if method == "kmeans":
        centres = _centres(computing_form(X[rows]), share, m, rng, stop)
        if sp.issparse(X) != sp.issparse(centres):
            centres = sp.csr_matrix(centres) if sp.issparse(X) else centres.toarray()
        return Landmarks(centres, None)
    check_memory(16.0 * len(rows) * m, f"Choosing {m:,} landmarks by {method!r}", "take fewer, or landmarks='uniform'.")
    if isinstance(kernel, Precomputed):
        gram: Gram = precomputed_gram(X, rows)
    else:
        gram = KernelGram(kernel, computing_form(X[rows]), threads)
    draw = _pivots if method == "rpcholesky" else _by_leverage
    try:
        with single_threaded_blas():
            chosen = draw(gram, share, m, rng, stop)
            if len(chosen) == 0:
                raise np.linalg.LinAlgError("no row has k(x, x) > 0")
            return landmarks_at(kernel, X, rows[chosen])
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"The kernel {kernel!r} is not positive semidefinite on these points, so landmarks={method!r} has no "
            "meaning: choose another kernel, other parameters, or landmarks='uniform'."
        ) from error


def _no_stop_requested() -> None:
    """Nothing to stop for."""


def _distinct(kernel: Kernel, X: Points, weights: Array, most: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Indices of distinct rows of positive weight, at most so many, and the weight of each with its copies. Their order
    depends on their content and on rng, not on the order of X, unless X is so long that a sample must do."""
    used = np.flatnonzero(weights > 0)
    if len(used) > max(MERGE_MAX_ROWS, most):
        weight = weights[used]
        chance = None if (weight == weight[0]).all() else weight / weight.sum()
        used = used[np.sort(rng.choice(len(used), most, replace=False, p=chance, shuffle=False))]
        X, weights = (X if isinstance(kernel, Precomputed) else X[used]), np.ones(len(used))
        merged = canonical_rows(X, weights, weights, merge=not isinstance(kernel, Precomputed))
        return used[merged.representative], merged.weight
    merged = canonical_rows(X, np.zeros(X.shape[0]), weights, merge=not isinstance(kernel, Precomputed))
    rows, share = merged.representative, merged.weight
    if len(rows) <= most:
        return rows, share
    kept = np.sort(rng.choice(len(rows), most, replace=False, shuffle=False))
    return rows[kept], share[kept]


def _check_vectors(kernel: Kernel, X: Points) -> None:
    if X.dtype == object or isinstance(kernel, Precomputed):
        what = "a precomputed matrix" if isinstance(kernel, Precomputed) else "objects that are not vectors"
        raise ValueError(
            f"landmarks='kmeans' takes means of points, and X holds {what}: use 'rpcholesky', 'leverage' or 'uniform'."
        )


def _centres(X: Points, weights: Array, m: int, rng: np.random.Generator, stop: Stop) -> Points:
    """Centres of m clusters, in the precision of X."""
    n, batch, shift = X.shape[0], -(-m // SEED_BATCHES), centre_of(X, weights)
    seeds = np.sort(rng.choice(n, 1, p=weights / weights.sum()))
    distance = np.full(n, np.inf)
    with single_threaded_blas():
        _approach(X, X[seeds], distance, shift)
        while len(seeds) < m:
            if stop() is not None:  # the rest at random
                others = np.setdiff1d(np.arange(n), seeds)
                return X[np.concatenate((seeds, rng.choice(others, m - len(seeds), replace=False)))]
            mass = weights * (distance / (distance.max() or 1.0))
            mass[seeds] = 0.0
            if np.count_nonzero(mass) < batch:  # all others are at a seed up to rounding
                mass[np.setdiff1d(np.arange(n), seeds)] += 1.0
            new = rng.choice(n, min(batch, m - len(seeds)), replace=False, p=mass / mass.sum())
            _approach(X, X[new], distance, shift)
            seeds = np.concatenate((seeds, new))
        centres = X[seeds]
        for _ in range(LLOYD_STEPS):
            if stop() is not None:
                break
            nearest = _approach(X, centres, np.full(n, np.inf), shift)
            members = sp.csr_array((weights, (nearest, np.arange(n))), shape=(m, n))
            total = np.asarray(members.sum(axis=1)).ravel()
            kept = total > 0  # a centre without members goes back to where it started
            shares = sp.diags_array(1.0 / np.where(kept, total, 1.0)) @ members
            if not kept.all():
                alone = sp.csr_array((np.ones(m), (np.arange(m), seeds)), shape=(m, n))
                shares = shares + sp.diags_array((~kept).astype(float)) @ alone
            centres = (shares @ X).astype(X.dtype, copy=False)
    return centres


def _approach(X: Points, centres: Points, distance: Array, shift: Array | None) -> Array:
    """Lower ``distance`` to the squared distance from the nearest centre; return the index of that centre."""
    nearest = np.empty(X.shape[0], np.int64)
    for start in range(0, X.shape[0], DISTANCE_ROWS):
        rows = slice(start, start + DISTANCE_ROWS)
        D = squared_distances(X[rows], centres, shift)
        nearest[rows] = D.argmin(axis=1)
        np.minimum(distance[rows], D.min(axis=1), out=distance[rows])
    return nearest


def _pivots(gram: Gram, weights: Array, m: int, rng: np.random.Generator, stop: Stop) -> Array:
    """Randomly pivoted Cholesky: K ~ F'F, and d = diag(K - F'F), the residual.

    A block S of rows is drawn by the residual d before it, and row s of it is accepted with the probability (residual
    after the accepted rows of its block) / (residual before): s then has the distribution of its own turn."""
    n, every = gram.n, np.arange(gram.n)
    d = gram.diagonal()
    largest = float(np.abs(d).max(initial=0.0))
    flat, negative = 1e-12 * largest, -MAX_NEGATIVE_RESIDUAL * largest  # rounding, and what is more than that
    if d.min(initial=0.0) < negative:
        raise np.linalg.LinAlgError("k(x, x) < 0")
    F, chosen = np.empty((m, n)), np.empty(0, np.int64)
    for _ in range(m):  # a block accepts its first row at least
        mass = np.where(d > flat, weights * d, 0.0)
        total, missing = mass.sum(), m - len(chosen)
        if total <= 0 or missing == 0 or (len(chosen) and stop() is not None):
            break
        S = rng.choice(n, PROPOSED_PIVOTS, p=mass / total)
        done = F[: len(chosen)]
        H = gram.block(S, S) - done[:, S].T @ done[:, S]
        accepted: list[int] = []
        uniform = rng.random(PROPOSED_PIVOTS)
        for i, s in enumerate(S):
            if len(accepted) == missing:
                break
            if H[i, i] > flat and uniform[i] * d[s] < H[i, i]:
                accepted.append(i)
                column = H[:, i] / np.sqrt(H[i, i])
                H -= np.outer(column, column)
        if not accepted:  # the residual is rounding
            break
        A = S[accepted]
        R = gram.block(every, A).T - done[:, A].T @ done
        L = scipy.linalg.cholesky(R[:, A], lower=True, check_finite=False)
        R = scipy.linalg.solve_triangular(L, R, lower=True, check_finite=False)
        F[len(chosen) : len(chosen) + len(A)] = R
        d = d - np.einsum("ij,ij->j", R, R)
        if d.min() < negative:
            raise np.linalg.LinAlgError("a residual is negative")
        chosen = np.concatenate((chosen, A))
    return chosen


def _by_leverage(gram: Gram, weights: Array, m: int, rng: np.random.Generator, stop: Stop) -> Array:
    """m rows drawn by ridge leverage scores, estimated over sets of rows that double."""
    order, size = rng.permutation(gram.n), min(gram.n, 2 * m)
    diagonal = np.maximum(gram.diagonal(), 0.0)
    scale = float(diagonal.max())
    if scale == 0:
        return order[:m]
    diagonal /= scale
    chosen, chance = order[:m], np.full(m, m / size)
    while stop() is None:
        size = min(gram.n, 2 * size)
        rows = order[:size]
        D = np.sqrt(weights[chosen] / chance)
        B = D[:, None] * (gram.block(chosen, chosen) / scale) * D
        try:
            values, Q = eigh((B + B.T) * 0.5, stop)
        except Halted:
            break
        left, squares = np.ascontiguousarray(Q.T * D), np.empty((m, size))
        step = max(1, LEVERAGE_MAX_PRODUCTS // (m * m))
        for start in range(0, size, step):
            if stop() is not None:
                return chosen
            G = left @ (gram.block(rows[start : start + step], chosen).T / scale)
            np.multiply(G, G, out=squares[:, start : start + step])
        score = _scores(diagonal[rows], weights[rows], np.maximum(values, 0.0), squares, m)
        picked = rng.choice(size, m, replace=False, p=score / score.sum())
        chosen, chance = rows[picked], np.minimum(1.0, m * score[picked] / score.sum())
        if size == gram.n:
            break
    return chosen


def _scores(diagonal: Array, weights: Array, values: Array, squares: Array, m: int) -> Array:
    """l_i(mu) for the mu under which they sum to ``SCORES_PER_LANDMARK`` m, by bisection: the sum falls with mu."""

    def scores(mu: float, some: slice) -> Array:
        projected = (1.0 / (values + mu)) @ squares[:, some]
        return np.clip(weights[some] * (diagonal[some] - projected) / mu, 0.0, 1.0)

    # Rows are in random order: the first ones determine mu.
    few = slice(0, min(len(diagonal), MU_ROWS))
    times = len(diagonal) / max(1, few.stop)
    high = float(weights @ diagonal)  # the sum is less than one there
    low = 1e-12 * high
    for _ in range(30):
        mu = math.sqrt(low * high)
        low, high = (mu, high) if times * scores(mu, few).sum() > SCORES_PER_LANDMARK * m else (low, mu)
    return scores(high, slice(None)) + 1e-9
