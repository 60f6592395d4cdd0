"""Kernels on strings and sets: against their definitions, and in every place where a kernel may stand."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin import kernels as fast
from maxmargin.kernels import (
    KERNELS,
    RBF,
    Callable,
    Centered,
    Columns,
    Jaccard,
    Mismatch,
    Normalized,
    Spectrum,
    Subsequence,
    Sum,
    WeightedDegree,
    validate_gram,
)
from maxmargin.runtime.canonical_rows import object_digests
from reference import kernels as slow

STRINGS = ["gattaca", "tacatac", "", "ga", "aaaa", "ünïcöde ünï", "🎈🎉🎈🎉", "gat\x00tac", "cccagt"]
OTHERS = ["attac", "nïc", "🎉🎈🎉", "ttt", "g", "gattaca"]
LETTERS = "".join(sorted(set("".join(STRINGS + OTHERS))))
SETS = [{1, 2, 3}, frozenset({2, 3}), set(), {"milk", (1, 2), None}, {1}, {2.0, "milk"}]
OTHER_SETS = [{3, 2}, frozenset(), {"milk"}, {1, 2, 3, 4, 5}]


def both(one, two):
    return lambda x, z: one(x, z) * two(x, z)


# name -> the kernel, the definition it must agree with, and the things it compares
CASES = {
    "spectrum": (Spectrum(), slow.spectrum(3), STRINGS, OTHERS),
    "spectrum 1": (Spectrum(k=1), slow.spectrum(1), STRINGS, OTHERS),
    "spectrum 5": (Spectrum(k=5), slow.spectrum(5), STRINGS, OTHERS),
    "mismatch": (Mismatch(), slow.mismatch(3, 1, LETTERS), STRINGS, OTHERS),
    "mismatch 2, 1": (Mismatch(k=2, m=1, alphabet="ünïcöde"), slow.mismatch(2, 1, "ünïcöde"), STRINGS, OTHERS),
    "mismatch 4, 2": (Mismatch(k=4, m=2, alphabet="acgt"), slow.mismatch(4, 2, "acgt"), STRINGS, OTHERS),
    "mismatch 3, 0": (Mismatch(k=3, m=0), slow.spectrum(3), STRINGS, OTHERS),
    "subsequence": (Subsequence(), slow.subsequence(3, 0.5), STRINGS, OTHERS),
    "subsequence 1": (Subsequence(k=1, decay=0.3), slow.subsequence(1, 0.3), STRINGS, OTHERS),
    "subsequence 4": (Subsequence(k=4, decay=1), slow.subsequence(4, 1), STRINGS, OTHERS),
    "weighted degree": (WeightedDegree(), slow.weighted_degree(3), STRINGS, OTHERS),
    "weighted degree 1": (WeightedDegree(1), slow.weighted_degree(1), STRINGS, OTHERS),
    "weighted degree 6": (WeightedDegree(degree=6), slow.weighted_degree(6), STRINGS, OTHERS),
    "jaccard": (Jaccard(), slow.jaccard, SETS, OTHER_SETS),
    "callable": (
        Callable(lambda A, B: [[float(len(x) * len(z)) for z in B] for x in A]),
        lambda x, z: len(x) * len(z),
        STRINGS,
        OTHERS,
    ),
    "sum": (
        Spectrum(2) + 0.5 * Subsequence(2),
        lambda x, z: slow.spectrum(2)(x, z) + 0.5 * slow.subsequence(2, 0.5)(x, z),
        STRINGS,
        OTHERS,
    ),
    "product": (Spectrum(1) * Subsequence(2), both(slow.spectrum(1), slow.subsequence(2, 0.5)), STRINGS, OTHERS),
    "power": (Jaccard() ** 2, both(slow.jaccard, slow.jaccard), SETS, OTHER_SETS),
    "normalized": (Normalized(Spectrum(2)), slow.normalized(slow.spectrum(2)), STRINGS, OTHERS),
    "normalized subsequence": (Normalized(Subsequence()), slow.normalized(slow.subsequence(3, 0.5)), STRINGS, OTHERS),
    "centered": (
        Centered(Spectrum(2)),
        slow.centered(slow.spectrum(2), STRINGS + OTHERS, [1.0] * len(STRINGS + OTHERS)),
        STRINGS,
        OTHERS,
    ),
    "centered sets": (
        Centered(Jaccard()),
        slow.centered(slow.jaccard, SETS + OTHER_SETS, [1.0] * len(SETS + OTHER_SETS)),
        SETS,
        OTHER_SETS,
    ),
}
every_kernel = pytest.mark.parametrize(("kernel", "definition", "A", "B"), list(CASES.values()), ids=list(CASES))


def objects(things):
    return np.fromiter(things, dtype=object, count=len(things))


def test_every_registered_kernel_is_tested():
    tested = {type(kernel) for kernel, *_ in CASES.values()}
    registered = {kind for kind in KERNELS.values() if not kind().takes_vectors}
    assert registered == {Spectrum, Mismatch, Subsequence, WeightedDegree, Jaccard}
    assert registered <= tested


# What holds for every kernel


@every_kernel
def test_definition(kernel, definition, A, B):
    K = kernel(A, B)
    assert K.dtype == np.float64
    assert K.flags.c_contiguous
    np.testing.assert_allclose(K, slow.object_gram(definition, A, B), rtol=1e-12, atol=1e-13)


@every_kernel
def test_symmetric_positive_semidefinite_with_its_diagonal(kernel, definition, A, B):
    K = kernel(A)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), kernel.diagonal(A))
    assert kernel.psd or isinstance(kernel, Callable)
    assert validate_gram(kernel(A + B), tol=1e-12)
    resolved = kernel.resolve(objects(A + B))
    A, B = objects(A), objects(B)
    np.testing.assert_allclose(resolved.matrix(A, B), resolved.matrix(B, A).T, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(resolved.matrix(A, A).diagonal(), resolved.self_similarity(A), rtol=1e-13, atol=1e-14)


@every_kernel
def test_clone_pickle_and_repr(kernel, definition, A, B):
    K = kernel(A, B)
    assert repr(clone(kernel)) == repr(kernel)
    if isinstance(kernel, Callable):
        return
    again = eval(repr(kernel), {name: getattr(fast, name) for name in fast.__all__})
    np.testing.assert_array_equal(again(A, B), K)
    resolved = kernel.resolve(objects(A + B))
    loaded = pickle.loads(pickle.dumps(resolved))
    np.testing.assert_array_equal(loaded.matrix(objects(A), objects(B)), resolved.matrix(objects(A), objects(B)))
    fresh = clone(resolved)
    assert not [name for name in vars(fresh) if name.endswith("_")]
    np.testing.assert_allclose(fresh(A, B), K, rtol=1e-12, atol=1e-13)


@every_kernel
def test_resolving_changes_nothing_and_twice_is_once(kernel, definition, A, B):
    every, A, B = objects(A + B), objects(A), objects(B)
    before = dict(vars(kernel))
    resolved = kernel.resolve(every)
    assert vars(kernel) == before
    assert resolved is not kernel
    np.testing.assert_array_equal(resolved.resolve(A).matrix(A, B), resolved.matrix(A, B))
    np.testing.assert_allclose(resolved(A, B), kernel(A, B), rtol=1e-13, atol=1e-14)


@every_kernel
def test_one_object_and_many(kernel, definition, A, B):
    assert kernel(A[:1]).shape == (1, 1)
    assert kernel(A[:1], B).shape == (1, len(B))
    many = (A * 70)[:300]  # more than one tile of rows
    K = kernel.resolve(objects(A + B)).matrix(objects(A), objects(B))
    np.testing.assert_array_equal(kernel.resolve(objects(A + B))(many, B), np.tile(K, (70, 1))[:300])


@pytest.mark.parametrize(
    "container",
    [
        tuple,
        objects,
        np.array,
        lambda X: pd.Series(X, index=range(7, 7 + len(X))),
        lambda X: pd.Series(X, dtype="string"),
        lambda X: pd.Series(X, dtype="category"),
        pd.Index,
        pl.Series,
    ],
    ids=["tuple", "objects", "array", "pandas", "pandas string", "category", "index", "polars"],
)
def test_containers(container):
    X, Z = STRINGS[:5], OTHERS
    for kernel in (Spectrum(2), Normalized(Mismatch()), Subsequence(2), Centered(Spectrum(1))):
        np.testing.assert_array_equal(kernel(container(X), container(Z)), kernel(X, Z))
        np.testing.assert_array_equal(kernel.diagonal(container(X)), kernel.diagonal(X))
    y = [0, 1, 0, 1, 1]
    expected = SVC(kernel=Spectrum(2)).fit(X, y).decision_function(Z)
    model = SVC(kernel=Spectrum(2)).fit(container(X), y)
    np.testing.assert_array_equal(model.decision_function(container(Z)), expected)


# Strings


alphabets = st.sampled_from(["ab", "acgt", "xyzé", "a🎈ß\ud800", "\x00\U0010ffff"])
several_strings = alphabets.flatmap(lambda letters: st.lists(st.text(letters, max_size=9), min_size=1, max_size=5))


@settings(max_examples=60, deadline=None)
@given(several_strings, several_strings, st.integers(1, 4), st.data())
def test_any_strings(A, B, k, data):
    m = data.draw(st.integers(0, k - 1))
    alphabet = data.draw(st.sampled_from([None, "ab", "acg", "", "🎈\x00"]))
    decay = data.draw(st.floats(0.05, 1.0))
    letters = "".join(sorted(set("".join(A + B)))) if alphabet is None else alphabet
    for kernel, definition in (
        (Spectrum(k), slow.spectrum(k)),
        (Mismatch(k, m, alphabet), slow.mismatch(k, m, letters)),
        (Subsequence(k, decay), slow.subsequence(k, decay)),
    ):
        K = slow.object_gram(definition, A, B)
        np.testing.assert_allclose(kernel(A, B), K, rtol=1e-11, atol=1e-300, err_msg=repr(kernel))
        np.testing.assert_allclose(
            kernel.resolve(objects(A + B)).self_similarity(objects(A)),
            [definition(x, x) for x in A],
            rtol=1e-11,
            atol=1e-300,
        )
        assert validate_gram(kernel(A + B))


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_spectrum_counts_as_scikit_learn_does(k):
    rng = np.random.default_rng(k)
    X = ["".join(rng.choice(list("acgt"), size=rng.integers(k, 60))) for _ in range(300)]
    counts = CountVectorizer(analyzer="char", ngram_range=(k, k)).fit_transform(X)
    np.testing.assert_array_equal(Spectrum(k)(X), (counts @ counts.T).toarray())


def test_words_longer_than_an_integer():
    rng = np.random.default_rng(0)
    some = "".join(chr(c) for c in rng.integers(0x4E00, 0x9000, size=40))  # 12 letters of these need 166 bits
    X = [some, some[5:35], some[::-1], "b" + some[1:], some + some]
    np.testing.assert_array_equal(Spectrum(12)(X), slow.object_gram(slow.spectrum(12), X, X))
    alphabet = some[:3]
    expected = slow.object_gram(slow.mismatch(12, 1, alphabet), X, X)
    np.testing.assert_array_equal(Mismatch(12, 1, alphabet)(X), expected)


@pytest.mark.parametrize("kernel", [Spectrum(2), Mismatch(3, 1), Mismatch(4, 2, "acgt")], ids=repr)
def test_small_pieces_change_nothing(kernel, monkeypatch):
    K, diagonal = kernel(STRINGS, OTHERS), kernel.diagonal(STRINGS)
    monkeypatch.setattr("maxmargin.kernels.objects.strings.WORD_PATTERNS_MAX_HELD", 30)
    monkeypatch.setattr("maxmargin.kernels.objects.words.TABLE_MAX_ENTRIES", 1)
    np.testing.assert_array_equal(kernel(STRINGS, OTHERS), K)
    np.testing.assert_array_equal(kernel.diagonal(STRINGS), diagonal)


def test_strings_shorter_than_a_word_have_no_features():
    for kernel in (Spectrum(3), Mismatch(3, 1), Subsequence(3)):
        np.testing.assert_array_equal(kernel(["", "a", "ab", "abc"])[:3], np.zeros((3, 4)))
        np.testing.assert_array_equal(Normalized(kernel)(["", "ab", "abc"]), np.diag([0.0, 0.0, 1.0]))
        np.testing.assert_array_equal(kernel(["", ""]), np.zeros((2, 2)))


@pytest.mark.parametrize(("k", "m", "q"), [(3, 1, 4), (5, 2, 20), (8, 3, 4), (6, 5, 26), (20, 1, 1)])
def test_a_word_has_as_many_neighbours_as_there_are(k, m, q):
    alphabet = "".join(chr(97 + i) for i in range(q))
    word = (alphabet * k)[:k]
    count = sum(math.comb(k, j) * (q - 1) ** j for j in range(m + 1))
    assert Mismatch(k, m, alphabet)([word])[0, 0] == count


def test_the_alphabet_is_that_of_the_training_strings():
    X = objects(["acca", "gattg"])
    kernel = Mismatch(2, 1).resolve(X)
    assert kernel.alphabet == "acgt"
    assert Mismatch(2, 1, "tgcaac").resolve(X).alphabet == "acgt"
    new = ["aNca", "tttt"]
    K = np.array(slow.object_gram(slow.mismatch(2, 1, "acgt"), new, X))
    np.testing.assert_array_equal(kernel.matrix(objects(new), X), K)  # new letters do not change old similarities
    np.testing.assert_array_equal(kernel(new, X), K)
    model = SVC(kernel=Mismatch(2, 1)).fit(X, [0, 1])
    assert model.kernel_.alphabet == "acgt"
    assert model.kernel.alphabet is None
    coefficients = np.zeros(2)
    coefficients[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(new), K @ coefficients + model.intercept_, rtol=1e-9)


def test_an_unknown_letter_equals_only_itself():
    kernel = Mismatch(3, 1, "ACGT")
    K = kernel(["AAN", "AAA", "CAN", "NAN", "AAM"])
    # N stays, and two of the other letters are free: 1 + 2 * 3 neighbours
    assert K[0, 0] == 7
    assert K[0, 2] == 4  # AAN and CAN differ in one letter: the four words ?AN
    np.testing.assert_array_equal(K[0, [1, 3, 4]], 0)
    assert K[3, 3] == 4


def test_subsequences_of_the_paper():
    decay = 0.7
    K = Subsequence(2, decay)(["cat", "car"])
    np.testing.assert_allclose(K[0], [2 * decay**4 + decay**6, decay**4], rtol=1e-14)
    assert Normalized(Subsequence(2, decay))(["cat", "car"])[0, 1] == pytest.approx(1 / (2 + decay**2), rel=1e-14)


def test_without_decay_all_subsequences_count_alike():
    assert Subsequence(7, decay=1)(["a" * 30])[0, 0] == math.comb(30, 7) ** 2
    assert Subsequence(2, decay=1)(["ab" * 10], ["ba"])[0, 0] == math.comb(10, 2)


def test_lanes_do_not_touch_each_other():
    rng = np.random.default_rng(1)
    X = objects(["".join(rng.choice(list("abc"), size=n)) for n in rng.integers(0, 40, size=50)])
    kernel = Subsequence(3, 0.8).resolve(X)
    K = kernel.matrix(X, X)
    order = rng.permutation(50)
    np.testing.assert_array_equal(kernel.matrix(X, X[order]), K[:, order])
    for j in (0, 17, 49):
        np.testing.assert_array_equal(kernel.matrix(X, X[j : j + 1]), K[:, j : j + 1])
    np.testing.assert_array_equal(kernel.self_similarity(X), K.diagonal())


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Spectrum(0), ValueError, "k must be >= 1"),
        (Spectrum(2.0), TypeError, "k must be an integer"),
        (Spectrum("3"), TypeError, "k must be an integer"),
        (Mismatch(0), ValueError, "k must be >= 1"),
        (Mismatch(3, 3), ValueError, r"m must be >= 0 and <= 2.*Words have k=3 letters"),
        (Mismatch(3, -1), ValueError, "m must be"),
        (Mismatch(alphabet=4), TypeError, "alphabet must be a string"),
        (Mismatch(40, 3), ValueError, r"4,598,479 patterns of up to 6 holes.*lower m or k"),
        (Subsequence(0), ValueError, "k must be >= 1"),
        (Subsequence(3, 0), ValueError, "decay must be > 0"),
        (Subsequence(3, 1.5), ValueError, "decay must be .* <= 1"),
        (Subsequence(3, None), TypeError, "decay must be a number"),
        (Subsequence(100, 1e-3), ValueError, "underflow.*Raise decay or lower k"),
        (Subsequence(100, 1), ValueError, r"overflow: a string of 600 letters has.*k=100.*Lower k"),
    ],
    ids=repr,
)
def test_wrong_parameters(kernel, error, message):
    for use in (kernel, Normalized(kernel), OneClassSVM(kernel=kernel).fit):
        with pytest.raises(error, match=message):
            use(["abc", "a" * 600])


def test_new_strings_that_overflow_are_named():
    model = SVR(kernel=Subsequence(200, 1)).fit(["a" * 210, "b" * 205], [0.0, 1.0])
    with pytest.raises(ValueError, match="overflow in row 1"):
        model.predict(["a", "a" * 4000])


# Sets


@settings(max_examples=40, deadline=None)
@given(*[st.lists(st.frozensets(st.one_of(st.integers(0, 5), st.text("ab", max_size=2))), min_size=1, max_size=6)] * 2)
def test_any_sets(A, B):
    np.testing.assert_allclose(Jaccard()(A, B), slow.object_gram(slow.jaccard, A, B), rtol=1e-15)
    assert validate_gram(Jaccard()(A + B), tol=1e-12)


def test_empty_sets_are_equal():
    np.testing.assert_array_equal(Jaccard()([set(), frozenset(), {1}]), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


def test_a_set_that_is_changed_later_changes_no_model():
    X = [{1, 2}, {1}, {3, 4}, {4}]
    kernel, model = Centered(Jaccard()), SVC(kernel=Jaccard()).fit(X, [0, 0, 1, 1])
    resolved = kernel.resolve(kernel.objects(X))
    before = model.decision_function([{1}, {4}]), resolved([{1}, {4}])
    for each in X:
        each.clear()
    np.testing.assert_array_equal(model.decision_function([{1}, {4}]), before[0])
    np.testing.assert_array_equal(resolved([{1}, {4}]), before[1])


def test_views_of_dictionaries_are_sets():
    assert Jaccard()([{"a": 1, "b": 2}.keys()], [{"a"}])[0, 0] == 0.5


# Wrong things


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (Spectrum(), ["abc", "abd", "abe", 7], r"X\[3\] is of type int, but Spectrum compares strings"),
        (Spectrum(), [1, 2, 3, 4], r"X\[0\] is of type int, but Spectrum compares strings"),
        (
            Subsequence(),
            ["a", None, "b", "c"],
            r"X\[1\] is of type NoneType, but Subsequence compares strings.*missing",
        ),
        (Subsequence(), [None, "a", "b", "c"], r"X\[0\] is of type NoneType.*missing"),
        (Mismatch(), ["a", math.nan, "b", "c"], r"X\[1\] is of type float, but Mismatch compares strings.*missing"),
        (Spectrum(), pd.Series(["a", None, "b", "c"], dtype="string"), r"X\[1\] is of type NAType.*missing"),
        (Spectrum(), pl.Series(["a", "b", None, "c"]), r"X\[2\] is of type NoneType.*missing"),
        (Spectrum(), [b"abc", b"abd", b"abe", b"abf"], r"X\[0\] is of type bytes.*x\.decode\(\)"),
        (Spectrum(), np.array([b"abc", b"abd", b"a", b"b"]), r"X\[0\] is of type bytes_.*x\.decode\(\)"),
        (Spectrum(), ["abc", {"abc"}, "a", "b"], r"X\[1\] is of type frozenset, but Spectrum compares strings"),
        (Spectrum(), [["abc"], ["abd"], ["abe"], ["abf"]], r"X\[0\] is of type list, but Spectrum compares strings"),
        (Spectrum(), np.eye(4), r"list or a single column.*of shape \(4, 4\)"),
        (Spectrum(), np.array([["a"], ["b"], ["c"], ["d"]]), r"list or a single column.*of shape \(4, 1\)"),
        (Spectrum(), sp.csr_array(np.eye(4)), r"list or a single column.*of shape \(4, 4\)"),
        (Spectrum(), pd.DataFrame({"text": ["a", "b", "c", "d"]}), r"single column.*DataFrame of shape \(4, 1\)"),
        (Spectrum(), "abcd", "list or a single column.*a single string"),
        (Spectrum(), {"a", "b", "c", "d"}, "list or a single column.*type set"),
        (Spectrum(), 3, "list or a single column.*type int"),
        (Jaccard(), [{1}, [1, 2], {3}, {4}], r"X\[1\] is of type list, but Jaccard compares sets.*set\(x\)"),
        (Jaccard(), [[1], [1, 2], [3], [4]], r"X\[0\] is of type list, but Jaccard compares sets.*set\(x\)"),
        (Jaccard(), ["abc", "abd", "abe", "abf"], r"X\[0\] is of type str, but Jaccard compares sets"),
        (Jaccard(), [{1}, {2}, {3}, "d"], r"X\[3\] is of type str, but Jaccard compares sets"),
    ],
)
def test_wrong_things_are_named(kernel, X, message):
    for chosen in (kernel, 2 * Normalized(Sum([kernel])), Centered(kernel)):
        for use in (
            chosen,
            chosen.diagonal,
            lambda X, chosen=chosen: SVC(kernel=chosen).fit(X, [0, 1, 0, 1]),
            lambda X, chosen=chosen: SVR(kernel=chosen).fit(X, [0, 1, 0, 1]),
            OneClassSVM(kernel=chosen).fit,
        ):
            with pytest.raises(TypeError, match=message):
                use(X)
    good = [{"a"}, {"b"}] if isinstance(kernel, Jaccard) else ["aaa", "bbb"]
    with pytest.raises(TypeError, match=message):
        kernel(good, X)
    model = SVC(kernel=kernel).fit(good, [0, 1])
    with pytest.raises((TypeError, ValueError)):
        model.predict(X)


def test_nothing_to_compare():
    for use in (Spectrum(), Jaccard().diagonal, OneClassSVM(kernel=Normalized(Spectrum())).fit):
        with pytest.raises(ValueError, match="0 sample"):
            use([])
    model = SVC(kernel=Spectrum()).fit(["aaa", "bbb"], [0, 1])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict([])


def test_another_kind_at_prediction():
    model = SVC(kernel=Spectrum(1)).fit(["a", "b"], [0, 1])
    for X in ([{"a"}], [1.0], [[1.0, 2.0]], np.eye(2), [None], [b"a"]):
        with pytest.raises((TypeError, ValueError), match=r"Spectrum compares strings|list or a single column"):
            model.predict(X)
    with pytest.raises(ValueError, match="y has 3"):
        model.fit(["a", "b"], [0, 1, 0])


def test_kernels_of_vectors_and_of_strings_do_not_mix():
    with pytest.raises(TypeError, match="Spectrum compares strings, not vectors"):
        Columns(Spectrum(), [0])(np.eye(3))
    for X in (np.eye(3), ["a", "b", "c"]):
        with pytest.raises(TypeError, match=r"Sum\(.*combines kernels on vectors with kernels on objects"):
            (RBF() + Spectrum())(X)
        with pytest.raises(TypeError, match="combines kernels"):
            SVC(kernel=RBF() * Spectrum()).fit(X, [0, 1, 0])
    with pytest.raises(ValueError, match="differ in kind"):
        Callable(lambda A, B: np.ones((len(A), len(B))))(["a"], [[1.0]])


@pytest.mark.parametrize("X", [["a", "b", "c"], pd.Series(["a", "b", "c"]), [{"a"}, {"b"}, set()], [{"a": 1}] * 3])
def test_things_for_a_kernel_of_vectors(X):
    for use in (RBF(), RBF().diagonal, lambda X: SVC().fit(X, [0, 1, 0]), OneClassSVM().fit):
        with pytest.raises(ValueError, match=r"X is a list of objects of type .*RBF\(.*compares vectors.*Spectrum"):
            use(X)


def test_lists_of_vectors_stay_vectors():
    X, y = np.random.default_rng(0).normal(size=(6, 2)), [0, 1, 0, 1, 0, 1]
    for kernel in (RBF(0.5), Callable(lambda A, B: A @ B.T)):
        for vectors in (list(X), tuple(X), X.tolist(), [tuple(x) for x in X], list(X.astype(object))):
            np.testing.assert_array_equal(kernel(vectors), kernel(X))
            model = SVC(kernel=kernel).fit(vectors, y)
            assert model.n_features_in_ == 2
            np.testing.assert_array_equal(model.decision_function(vectors), model.decision_function(X))
    observed = []
    Callable(lambda A, B: observed.append((A[0], B[0])) or np.ones((len(A), len(B))))([None, "a", pd.NA])
    assert observed[0] == (None, None)  # a function may know what to do with what is missing


def test_what_equal_objects_have_in_common():
    """Equal objects have equal digests, in every process; others have others."""
    digests = object_digests(
        objects(["ab", np.str_("ab"), {1, 2}, frozenset([2.0, np.int64(1)]), {"b", "a"}, {"a", "b"}])
    )
    assert digests[0::2] == digests[1::2]
    different = ["", "1", 1, -1, 0.1, math.inf, None, b"1", (), (1,), ("a", "b"), ("ab",), {1}, {"1"}, {(1,)}, {"ab"}]
    different += [set(), {"a", "b"}, {frozenset()}, {None}, "a", "\ud800"]
    assert len(set(object_digests(objects(different)))) == len(different)
    assert object_digests(objects(["a", object()])) is None
    assert object_digests(objects([{"a": 1}])) is None
    assert object_digests(objects([{1 + 2j}])) is None


# Models


def motif_sequences(n, seed, motif="tata", length=30):
    """Random sequences; those of class 1 contain the motif somewhere, with one letter changed in half of them."""
    rng = np.random.default_rng(seed)
    X, y = [], rng.integers(0, 2, size=n)
    for label in y:
        letters = rng.choice(list("cg"), size=length)
        if label:
            word = list(motif)
            if rng.random() < 0.5:
                word[rng.integers(len(word))] = rng.choice(list("cg"))
            at = rng.integers(length - len(motif) + 1)
            letters[at : at + len(motif)] = word
        else:
            letters[rng.choice(length, size=4, replace=False)] = rng.choice(list("ta"), size=4)
        X.append("".join(letters))
    return X, y


@pytest.mark.parametrize(
    "kernel",
    [Normalized(Spectrum(3)), Normalized(Mismatch(4, 1)), Normalized(Subsequence(3, 0.3))],
    ids=repr,
)
def test_a_motif_is_learnt(kernel):
    X, y = motif_sequences(200, 0)
    Z, wanted = motif_sequences(200, 1)
    model = SVC(kernel=kernel, C=10.0).fit(X, y)
    assert model.score(Z, wanted) > 0.8
    letters = SVC(kernel=Normalized(Spectrum(1)), C=10.0).fit(X, y)
    assert letters.score(Z, wanted) < model.score(Z, wanted) - 0.1  # the order of the letters matters


def test_the_model_of_explicit_counts():
    X, y = motif_sequences(120, 2)
    Z, _ = motif_sequences(50, 3)
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False).fit(X)
    explicit = SVC(kernel="linear", C=0.1, tol=1e-6).fit(vectorizer.transform(X), y)
    model = SVC(kernel=Spectrum(3), C=0.1, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(Z), explicit.decision_function(vectorizer.transform(Z)), rtol=1e-4, atol=1e-4
    )
    assert model.report_.dual_objective == pytest.approx(explicit.report_.dual_objective, rel=1e-6)


models = pytest.mark.parametrize(
    ("model", "numeric"),
    [
        (SVC(), False),
        (SVC(multiclass="ovr"), False),
        (SVC(multiclass="crammer_singer"), False),
        (NuSVC(nu=0.2), False),
        (SVR(), True),
        (NuSVR(), True),
        (OneClassSVM(nu=0.3), None),
    ],
    ids=lambda value: repr(value) if not isinstance(value, bool) else "",
)


def data_for(numeric, n=60, seed=4):
    X, y = motif_sequences(n, seed, length=12)
    if numeric is None:
        return X, None
    return X, np.array([x.count("ta") + 0.1 * x.count("c") for x in X]) if numeric else np.array(["no", "yes"])[y]


@models
@pytest.mark.parametrize("kernel", [Spectrum(2), Normalized(Subsequence(2))], ids=repr)
def test_every_model_agrees_with_its_precomputed_self(model, numeric, kernel):
    X, y = data_for(numeric)
    Z, _ = data_for(numeric, seed=5)
    model = clone(model).set_params(kernel=kernel, tol=1e-8).fit(X, y)
    given_matrix = clone(model).set_params(kernel="precomputed", tol=1e-8).fit(kernel(X), y)
    resolved = kernel.resolve(objects(X))
    expected = given_matrix.predict(resolved.matrix(objects(Z), objects(X)))
    if numeric:
        np.testing.assert_allclose(model.predict(Z), expected, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(model.predict(Z), expected)
    assert model.report_.dual_objective == pytest.approx(given_matrix.report_.dual_objective, rel=1e-6)
    assert model.support_vectors_.dtype == object
    assert list(model.support_vectors_) == [X[i] for i in model.support_]
    assert "object" in str(model.report_)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(Z), model.predict(Z))


@models
@pytest.mark.parametrize("kernel", [Spectrum(2), Jaccard()], ids=repr)
def test_the_order_of_the_rows_does_not_matter(model, numeric, kernel):
    X, y = data_for(numeric)
    X, Z = X + X[:10], data_for(numeric, seed=6)[0]
    y = None if y is None else np.append(y, y[:10])
    if isinstance(kernel, Jaccard):
        X, Z = ([{x[i : i + 2] for i in range(len(x) - 1)} for x in each] for each in (X, Z))
    model = clone(model).set_params(kernel=kernel)
    values = model.fit(X, y).predict(Z) if numeric else model.fit(X, y).decision_function(Z)
    order = np.random.default_rng(7).permutation(len(X))
    model.fit([X[i] for i in order], None if y is None else y[order])
    again = model.predict(Z) if numeric else model.decision_function(Z)
    np.testing.assert_allclose(again, values, rtol=1e-12, atol=1e-13)


@models
def test_a_weight_of_two_is_a_repetition_and_zero_an_absence(model, numeric):
    X, y = data_for(numeric, n=40)
    weights = np.random.default_rng(8).integers(0, 4, size=40)
    model = clone(model).set_params(kernel=Spectrum(2))
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = [x for x, w in zip(X, weights, strict=True) for _ in range(w)]
    unweighted = clone(model).fit(repeated, None if y is None else np.repeat(y, weights))
    use = "predict" if numeric else "decision_function"
    np.testing.assert_allclose(getattr(weighted, use)(X), getattr(unweighted, use)(X), rtol=1e-9, atol=1e-10)


def test_objects_of_unknown_content_keep_their_order():
    class Thing:
        def __init__(self, x):
            self.x = x

    def similarity(A, B):
        return np.exp(-(np.subtract.outer([a.x for a in A], [b.x for b in B]) ** 2.0))

    X = [Thing(x) for x in (0.0, 0.3, 2.0, 2.5)]
    model = SVC(kernel=Centered(Callable(similarity))).fit(X, [0, 0, 1, 1])
    assert list(model.predict(X)) == [0, 0, 1, 1]
    assert list(model.predict([Thing(2.2), Thing(0.1)])) == [1, 0]


def test_equal_strings_are_one_point():
    with pytest.warns(UserWarning, match="identical"):
        model = OneClassSVM(kernel=Spectrum(1)).fit(["abc"] * 5)
    assert list(model.predict(["abc", "zzz"])) == [1, -1]


def test_threads_change_no_bit():
    X, y = motif_sequences(700, 9)
    for kernel in (Spectrum(3), Subsequence(2)):
        one, two = (SVC(kernel=kernel, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
        np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_values_on_demand_and_stored_give_one_model():
    X, y = motif_sequences(400, 10)
    stored = SVC(kernel=Spectrum(3), tol=1e-8).fit(X, y)
    on_demand = SVC(kernel=Spectrum(3), tol=1e-8, cache_size=0.05).fit(X, y)
    assert on_demand.report_.kernel_evaluations != stored.report_.kernel_evaluations
    np.testing.assert_allclose(on_demand.decision_function(X), stored.decision_function(X), rtol=1e-6, atol=1e-6)


def test_vectors_after_strings_and_strings_after_vectors():
    model = SVC(kernel=Spectrum(1)).fit(["a", "b"], [0, 1])
    model.set_params(kernel="rbf").fit([[0.0], [1.0]], [0, 1])
    assert model.n_features_in_ == 1
    model.set_params(kernel=Spectrum(1)).fit(["a", "b"], [0, 1])
    assert not hasattr(model, "n_features_in_")
    assert model.report_.n_features == 0


@pytest.mark.parametrize("container", [list, objects, pd.Series, pl.Series], ids=["list", "array", "pandas", "polars"])
def test_model_selection(container):
    X, y = motif_sequences(90, 11)
    X = container(X)
    assert cross_val_score(SVC(kernel=Normalized(Spectrum(3)), C=10), X, y, cv=3).mean() > 0.7
    search = GridSearchCV(
        SVC(kernel=Normalized(Spectrum())), {"kernel__kernel__k": [1, 3], "C": [1.0, 10.0]}, cv=3, error_score="raise"
    ).fit(X, y)
    assert search.best_params_["kernel__kernel__k"] == 3
    upper = FunctionTransformer(lambda X: [x.upper() for x in X])
    pipeline = make_pipeline(upper, SVC(kernel="spectrum")).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    assert set("".join(pipeline[-1].support_vectors_)) == set("ACGT")


def test_by_name():
    X, y = motif_sequences(40, 12)
    for name, kind in (("spectrum", Spectrum), ("mismatch", Mismatch), ("subsequence", Subsequence)):
        named, built = SVC(kernel=name).fit(X, y), SVC(kernel=kind()).fit(X, y)
        assert type(named.kernel_) is kind
        np.testing.assert_array_equal(named.decision_function(X), built.decision_function(X))
    sets = [set(x) for x in X]
    assert type(SVC(kernel="jaccard").fit(sets, y).kernel_) is Jaccard
