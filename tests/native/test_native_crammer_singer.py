import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import crammer_singer as twin


def arguments(rng, n, classes, hard):
    """A problem at A = 0, where the gradient is -1 for the label and 0 for the others."""
    X, label = rng.standard_normal((n, 3)), rng.integers(0, classes, n)
    X[rng.random(n) < 0.1] = 0.0
    G = np.zeros((n, classes))
    G[np.arange(n), label] = -1.0
    bound = np.full(n, np.inf) if hard else rng.random(n) + 0.1
    return {"K": X @ X.T + np.eye(n), "G": G, "A": np.zeros((n, classes)), "label": label, "bound": bound}


@given(n=st.integers(1, 25), classes=st.integers(2, 7), hard=st.booleans(), seed=seeds)
def test_first_steps(level, n, classes, hard, seed):
    """A few steps are those of the twin; then its choices may differ by rounding."""
    ours = arguments(np.random.default_rng(seed), n, classes, hard)
    twins = {name: part.copy() for name, part in ours.items()}
    steps = _native.solve_joint_rows(**ours, goal=1e-9, max_steps=2)
    assert steps == twin.solve_joint_rows(**twins, goal=1e-9, max_steps=2)
    np.testing.assert_allclose(ours["A"], twins["A"], atol=1e-9)
    np.testing.assert_allclose(ours["G"], twins["G"], atol=1e-9)


@given(n=st.integers(1, 25), classes=st.integers(2, 7), hard=st.booleans(), seed=seeds)
def test_solution(level, n, classes, hard, seed):
    """It is feasible, its gradient is right, and no row violates the conditions by more than the goal."""
    given_ = arguments(np.random.default_rng(seed), n, classes, hard)
    start = given_["G"].copy()
    steps = _native.solve_joint_rows(**given_, goal=1e-6, max_steps=50_000)
    K, G, A, label, bound = (given_[name] for name in ("K", "G", "A", "label", "bound"))
    assert steps < 50_000
    assert twin.violations(G, A, label, bound).max() <= 1e-6
    np.testing.assert_allclose(G, start + K @ A, atol=1e-7)
    np.testing.assert_allclose(A.sum(axis=1), 0.0, atol=1e-9)
    own = A[np.arange(n), label]
    assert (own <= bound).all()
    A[np.arange(n), label] = 0.0
    assert (A <= 0).all()


@given(seed=seeds)
def test_bounded_calls_go_on_where_they_were(level, seed):
    once = arguments(np.random.default_rng(seed), 15, 4, False)
    parts = {name: part.copy() for name, part in once.items()}
    steps = _native.solve_joint_rows(**once, goal=1e-3, max_steps=60)
    taken = sum(_native.solve_joint_rows(**parts, goal=1e-3, max_steps=1) for _ in range(60))
    assert taken == steps
    np.testing.assert_array_equal(parts["A"], once["A"])
    np.testing.assert_array_equal(parts["G"], once["G"])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"K": np.ones((4, 3))}, ValueError, r"K.shape\[1\] must be 4"),
        ({"K": np.ones((4, 4), np.float32)}, TypeError, "K must be"),
        ({"G": np.ones((4, 2))}, ValueError, "G.shape"),
        ({"A": np.ones((4, 1))}, ValueError, "A.shape"),
        ({"A": np.ones((0, 3))}, ValueError, "A.shape"),
        ({"label": np.array([0, 1, 2, 3])}, ValueError, r"label must lie in \[0, 3\)"),
        ({"label": np.array([0, 1, 2, -1])}, ValueError, "label"),
        ({"label": np.zeros(3, int)}, ValueError, "label"),
        ({"bound": np.ones(5)}, ValueError, "bound"),
    ],
)
def test_wrong_arguments(changed, error, message):
    right = {**arguments(np.random.default_rng(0), 4, 3, False), "goal": 0.1, "max_steps": 1}
    refused("solve_joint_rows", right, changed, error, message)
