import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import subsequences as twin

LANES = _native.SUBSEQUENCE_LANES


def arguments(rng, strings, length, k):
    """Short strings over two letters on both sides, some of them empty."""
    sizes = rng.integers(0, 7, strings)
    lanes = np.where(np.arange(length)[:, None] < rng.integers(0, length + 1, LANES), 1.0, -1.0)
    lanes[lanes > 0] = rng.integers(65, 67, int((lanes > 0).sum()))
    return {
        "letters": rng.integers(65, 67, sizes.sum()).astype(np.float64),
        "starts": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "lanes": lanes,
        "decay": 0.7,
        "P": np.full((length + 1, k, LANES), np.nan),
        "total": np.full(LANES, np.nan),
        "place": np.zeros(2, np.int64),
        "out": np.full((strings, LANES), np.nan),
        "max_operations": 10**9,
    }


@given(strings=st.integers(0, 3), length=st.integers(0, 6), k=st.integers(1, 10), seed=seeds)
def test_sums(level, strings, length, k, seed):
    given_ = arguments(np.random.default_rng(seed), strings, length, k)
    assert _native.read_subsequences(**given_)
    expected = twin.subsequences(given_["letters"], given_["starts"], given_["lanes"], k, 0.7)
    np.testing.assert_allclose(given_["out"], expected, rtol=1e-13, atol=1e-15)


@given(k=st.integers(1, 9), seed=seeds)
def test_bounded_calls_give_the_same_bits(level, k, seed):
    once = arguments(np.random.default_rng(seed), 4, 5, k)
    parts = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in once.items()}
    assert _native.read_subsequences(**once)
    parts["max_operations"] = 1
    calls = 0
    while not _native.read_subsequences(**parts):
        calls += 1
    assert calls <= len(once["letters"]) + 1
    np.testing.assert_array_equal(parts["out"], once["out"])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"letters": np.zeros(20, np.int32)}, TypeError, "letters"),
        ({"letters": np.zeros(0)}, ValueError, "starts must rise from 0 to at most 0"),
        ({"starts": np.array([0, 1])}, ValueError, "starts"),
        ({"starts": np.array([0, 3, 2, 5])}, ValueError, "starts"),
        ({"starts": np.array([-1, 0, 0, 0])}, ValueError, "starts"),
        ({"lanes": np.zeros((4, LANES - 1))}, ValueError, "lanes"),
        ({"lanes": np.zeros((5, LANES))}, ValueError, "P.shape"),
        ({"P": np.zeros((5, 0, LANES))}, ValueError, "P.shape"),
        ({"P": np.zeros((5, 2, LANES - 1))}, ValueError, "P.shape"),
        ({"total": np.zeros(3)}, ValueError, "total"),
        ({"place": np.zeros(3, np.int64)}, ValueError, "place"),
        ({"place": np.array([4, 0])}, ValueError, "strings"),
        ({"place": np.array([-1, 0])}, ValueError, "strings"),
        ({"place": np.array([0, 99])}, ValueError, "letters of the string"),
        ({"out": np.zeros((3, LANES - 1))}, ValueError, "out"),
        ({"max_operations": 0}, ValueError, "max_operations"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("read_subsequences", arguments(np.random.default_rng(0), 3, 4, 2), changed, error, message)
