"""Decompositions against LAPACK's, on one thread and on several, and how they end early."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from maxmargin.runtime.decompositions import cholesky, cholesky_in_place, cholesky_solve, eigh, svd
from maxmargin.runtime.threads import Halted


@pytest.mark.parametrize("n", [5, 600])  # without and with a thread
def test_decompositions(n: int) -> None:
    A = np.random.default_rng(0).standard_normal((n, n))
    K = A @ A.T + np.eye(n)
    values, vectors = eigh(K)
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(K), rtol=1e-9)
    np.testing.assert_allclose(vectors * values @ vectors.T, K, atol=1e-9 * n)
    L = cholesky(K)
    np.testing.assert_allclose(L, scipy.linalg.cholesky(K, lower=True), atol=1e-9)
    U, s, Vt = svd(A[:, : n // 2])
    np.testing.assert_allclose(U * s @ Vt, A[:, : n // 2], atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(-K)


@pytest.mark.parametrize("n", [1, 5, 256, 257, 700])
def test_cholesky_in_place(n):
    rng = np.random.default_rng(n)
    padded = rng.standard_normal((n + 3, n + 9))  # not contiguous, as kernel matrices come
    A = padded[:n, :n]
    A[:] = A @ A.T + n * np.eye(n)
    before = A.copy()
    assert cholesky_in_place(A, threads=2)
    np.testing.assert_allclose(np.tril(A), np.linalg.cholesky(before), rtol=0, atol=1e-11 * n)
    np.testing.assert_array_equal(np.triu(A, 1), np.triu(before, 1))
    R = rng.standard_normal((n, 3))
    np.testing.assert_allclose(before @ cholesky_solve(A, R), R, atol=1e-9)
    again = before.copy()
    cholesky_in_place(again, threads=1)
    np.testing.assert_array_equal(np.tril(again), np.tril(A))


def test_cholesky_says_no():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((600, 600))
    A = A @ A.T
    A[500, 500] = -1.0
    assert not cholesky_in_place(A)


def test_cholesky_ends_between_blocks_when_the_run_is_to_stop():
    answers = iter([None, None, "stop"])
    with pytest.raises(Halted):
        cholesky(np.eye(1500), lambda: next(answers))
    with pytest.raises(StopIteration):
        next(answers)


def test_cholesky_leaves_its_argument_alone():
    A = np.full((300, 300), 0.5) + np.eye(300)
    before = A.copy()
    L = cholesky(A)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(np.triu(L, 1), 0.0)
