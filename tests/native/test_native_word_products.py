import numpy as np
import pytest
from drawn import refused, seeds, sparse_rows
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import word_products as twin

sizes = st.integers(0, 12)


def arguments(rng, words, features, strings, others, density=0.3):
    matrices = (
        sparse_rows(rng, *shape, index=np.int64, density=density)[0]
        for shape in ((words, strings), (words, features), (features, others))
    )
    F, E, Phi = matrices
    return {"F": F, "E": E, "h": rng.random(features), "Phi": Phi, "K": rng.random((strings, others))}


@given(words=sizes, features=sizes, strings=sizes, others=st.integers(0, 40), seed=seeds)
def test_products(level, words, features, strings, others, seed):
    """All words in one call, and few per call: the same bits."""
    given_ = arguments(np.random.default_rng(seed), words, features, strings, others)
    start = given_["K"].copy()
    expected = start.copy()
    twin.add_word_products(**{**given_, "K": expected})
    assert _native.add_word_products(**given_, first=0, max_operations=10**9) == words
    np.testing.assert_allclose(given_["K"], expected, rtol=1e-13)
    word, parts = 0, {**given_, "K": start}
    while word < words:
        before, word = word, _native.add_word_products(**parts, first=word, max_operations=5)
        assert word > before
    np.testing.assert_array_equal(start, given_["K"])


RIGHT = {**arguments(np.random.default_rng(0), 5, 4, 3, 2, density=1.0), "first": 0, "max_operations": 100}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"F": RIGHT["E"]}, ValueError, "F.indices"),
        ({"E": RIGHT["Phi"]}, ValueError, "words of E must be 5"),
        ({"Phi": RIGHT["F"]}, ValueError, "Phi.indices"),
        ({"h": np.ones(3)}, ValueError, "E.indices"),
        ({"h": np.ones(5)}, ValueError, r"features of Phi must be 5 \(entries of h\), got 4"),
        ({"K": np.ones((3, 1))}, ValueError, "Phi.indices"),
        ({"K": np.ones((2, 3)).T}, TypeError, "K must be"),
        ({"first": -1}, ValueError, "words"),
        ({"first": 6}, ValueError, "words"),
        ({"max_operations": 0}, ValueError, "max_operations"),
        ({"F": (*(part.astype(np.int32) for part in RIGHT["F"][:2]), RIGHT["F"][2])}, TypeError, "F.indptr"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("add_word_products", RIGHT, changed, error, message)
