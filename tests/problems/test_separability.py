"""Separability: a hyperplane that holds for every row, or two combinations that meet, against a textbook program."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog
from sklearn.datasets import load_iris

from maxmargin import SVC, InseparableError
from maxmargin.problems.separability import InseparabilityProof, Separability, program, separability

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
CROSS, CORNERS = (
    np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]),
    np.array(["same", "same", "other", "other"]),
)


def oracle(X, y, fit_intercept=True):
    """The least sum of slacks, min sum s with y_i (w'x_i + b) >= 1 - s_i and s >= 0: zero exactly if separable."""
    n = len(X)
    columns = [X, np.ones((n, 1))] if fit_intercept else [X]
    A = np.hstack([-y[:, None] * np.hstack(columns), -np.eye(n)])
    free = A.shape[1] - n
    answer = linprog(np.r_[np.zeros(free), np.ones(n)], A, -np.ones(n), bounds=[(None, None)] * free + [(0, None)] * n)
    assert answer.status == 0
    return answer.fun < 1e-7


def dense(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)


def check(found, X, y, fit_intercept=True):
    """What is claimed holds, by the definitions."""
    X, y = dense(X), np.asarray(y)
    assert isinstance(found, Separability)
    assert bool(found) == found.separable
    signs = np.where(y == found.classes[1], 1.0, -1.0)
    if found.separable:
        assert found.proof is None
        assert (signs * (X @ found.w + found.b) >= 1).all()
        assert found.margin == pytest.approx(2 / math.hypot(*found.w))
        assert fit_intercept or found.b == 0
        return
    assert found.w is None
    assert found.b is None
    assert found.margin == 0
    check_proof(found.proof, X, y, fit_intercept)
    assert (found.proof.negative, found.proof.positive) == found.classes
    assert (y[found.proof.rows_positive] == found.proof.positive).all()
    assert (y[found.proof.rows_negative] == found.proof.negative).all()
    assert len(found.proof.rows) <= X.shape[1] + 2


def check_proof(proof, X, y, fit_intercept=True):
    """Two combinations that are one point of the space of X."""
    assert isinstance(proof, InseparabilityProof)
    assert proof.fit_intercept == fit_intercept
    assert (proof.weights >= 0).all()
    total = proof.weights_positive.sum(), proof.weights_negative.sum()
    np.testing.assert_allclose(total if fit_intercept else sum(total), 1.0, atol=1e-12)
    p = proof.weights_positive @ X[proof.rows_positive]
    q = proof.weights_negative @ X[proof.rows_negative]
    size = np.ptp(X, axis=0) if fit_intercept else np.abs(X).max(axis=0)
    near = 1e-12 * size + 1e-15 * np.abs(X).max(axis=0)
    assert (np.abs(p - q) <= near).all()
    assert (np.abs(p - proof.point) <= near).all()
    assert 0 <= proof.residual <= 1e-13
    assert proof.verify(X, y) <= 1e-13


# The answer


@settings(max_examples=150, deadline=None)
@given(data=st.data(), fit_intercept=st.booleans(), sparse=st.booleans())
def test_the_answer_is_the_program_s(data, fit_intercept, sparse):
    """Points on a small grid, so that hulls touch, cross, coincide and are flat as often as not."""
    n, d = data.draw(st.integers(2, 14)), data.draw(st.integers(1, 4))
    X = data.draw(hnp.arrays(np.float64, (n, d), elements=st.integers(-3, 3).map(float)))
    y = np.where(data.draw(hnp.arrays(bool, n)), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    found = separability(sp.csr_matrix(X) if sparse else X, y, fit_intercept=fit_intercept)
    check(found, X, y, fit_intercept)
    assert found.separable == oracle(X, y, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [1, 3, 10, 40, 300])
@pytest.mark.parametrize("per_column", [1.0, 1.7, 2.3, 4.0])
def test_random_labels(d, per_column, fit_intercept):
    """Around two points a column lies the change from separable to not (Cover 1965)."""
    rng = np.random.default_rng(d)
    n = max(3, int(per_column * d))
    X, y = rng.standard_normal((n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    found = separability(X, y, fit_intercept=fit_intercept)
    check(found, X, y, fit_intercept)
    if d <= 40:
        assert found.separable == oracle(X, y, fit_intercept)
    elif per_column != 2.3:
        assert found.separable == (per_column < 2)


@pytest.mark.parametrize("label", ["setosa", "versicolor", "virginica"])
def test_iris(label):
    """One species is separable from the others, the other two are not."""
    found = separability(IRIS, label == NAMES)
    check(found, IRIS, label == NAMES)
    assert found.separable == (label == "setosa")


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array], ids=lambda f: f.__name__)
def test_sparse_points_have_the_answer_of_dense_ones(form):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 30)) < 0.2, rng.standard_normal((200, 30)), 0.0)
    for y in (X[:, 3] + X[:, 7] > 0.1, rng.random(200) < 0.5):
        found = separability(form(X), y)
        check(found, X, y)
        assert found.separable == separability(X, y).separable


def test_more_columns_than_rows_in_a_sparse_matrix():
    rng = np.random.default_rng(1)
    X = sp.random(400, 3000, 0.01, format="csr", random_state=0)
    y = rng.random(400) < 0.5
    check(separability(X, y), X, y)
    assert separability(X, y).separable
    twice, labels = sp.vstack([X, X[:1]], format="csr"), np.r_[y, ~y[0]]
    found = separability(twice, labels)
    check(found, twice, labels)
    assert sorted(found.proof.rows) == [0, 400]


def test_sparse_rows_that_are_too_many_to_be_dense_go_to_the_program(monkeypatch):
    rng = np.random.default_rng(2)
    X = sp.random(60, 20, 0.2, format="csr", random_state=1)
    monkeypatch.setattr(program, "DENSE_MAX_ENTRIES", 10)
    for y in (rng.random(60) < 0.5, dense(X).sum(axis=1) > np.median(dense(X).sum(axis=1))):
        found = separability(X, y)
        check(found, X, y)
        assert found.separable == oracle(dense(X), np.where(y, 1.0, -1.0))


@pytest.mark.parametrize("method", ["_least_squares", "_linear_program"])
def test_either_method_answers_alone(monkeypatch, method):
    """One of the two is made to give up."""
    other = {"_least_squares": "_linear_program", "_linear_program": "_least_squares"}[method]
    monkeypatch.setattr(program, other, lambda *_: None)
    rng = np.random.default_rng(3)
    for seed in range(20):
        d = 1 + seed % 5
        X, y = rng.standard_normal((3 * d, d)), np.where(rng.random(3 * d) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        found = separability(X, y)
        check(found, X, y)
        assert found.separable == oracle(X, y)


def test_float32_points_give_a_hyperplane_in_float64():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 6)).astype(np.float32)
    y = X[:, 2] > 0
    found = separability(X, y)
    check(found, X, y)
    assert found.separable
    assert found.w.dtype == np.float64


@pytest.mark.parametrize("kind", [pd.DataFrame, lambda X: pl.DataFrame(X, orient="row"), lambda X: X.tolist()])
def test_tables_and_lists(kind):
    assert not separability(kind(CROSS), CORNERS.tolist()).separable


def test_many_rows_need_few():
    """Margins from wide to narrow among 30,000 rows; the search sees a few hundred of them."""
    rng = np.random.default_rng(5)
    w = rng.standard_normal(20)
    w /= np.linalg.norm(w)
    for gap in (1.0, 0.1, 1e-3):
        X = rng.standard_normal((30_000, 20))
        y = X @ w > 0
        X += np.outer(np.where(y, gap, -gap), w)
        found = separability(X, y)
        check(found, X, y)
        assert found.separable
        X[0], y[0] = X[np.argmax(X @ w)] - 2 * w, False
        y[1], X[1] = True, X[0]
        assert not separability(X, y).separable


# Close calls


def answer(X, y):
    """The answer, or the text of the error that there is none."""
    try:
        return separability(X, y), ""
    except ArithmeticError as error:
        return None, str(error)


TOUCHING = {
    "a common corner": ([[0, 0], [1, 0], [0, 0], [-1, 0]], [1, 1, 0, 0]),
    "a corner on an edge": ([[0, 0], [1, 1], [0, 1], [0, -1]], [1, 1, 0, 0]),
    "a corner in a face": ([[1 / 3] * 3, [2, 2, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [1, 1, 0, 0, 0]),
    "edges that overlap": ([[0, 0], [2, 0], [1, 0], [3, 0], [1, 1]], [1, 1, 0, 0, 1]),
    "the same points": ([[1, 2], [3, 4], [3, 4], [1, 2]], [1, 1, 0, 0]),
    "one point": (np.ones((6, 2)), [0, 1, 0, 1, 0, 1]),
    "decimals": ([[0.1 + 0.2, 0.5], [0.9, 0.5], [0.3, 1.0], [0.3, -1.0]], [1, 1, 0, 0]),
}


@pytest.mark.parametrize("case", TOUCHING)
@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1e-200, 0), (1e150, 0), (3, 1e6)])
def test_hulls_that_touch_are_not_separable(case, scale, shift):
    points, y = TOUCHING[case]
    X = scale * np.array(points, float) + shift
    check(separability(X, y), X, y)
    assert not separability(X, y).separable


def test_a_point_of_either_class_at_the_same_place_is_the_whole_proof():
    proof = separability([[5.0, 1.0], [2.0, 2.0], [2.0, 2.0]], ["a", "a", "b"]).proof
    assert (proof.rows_negative, proof.rows_positive) == ([1], [2])
    np.testing.assert_array_equal(proof.weights, 1.0)
    np.testing.assert_array_equal(proof.point, [2.0, 2.0])
    assert proof.residual == 0


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-16])
@pytest.mark.parametrize("d", [2, 5, 20])
def test_hulls_that_nearly_touch_get_an_honest_answer(d, apart):
    """Half of the points of each class on its side of a gap: separable, or not to be told; never a false proof."""
    rng = np.random.default_rng(d)
    n = 20 * d
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.uniform(-1, 1, (n, d))
    X -= np.outer(X @ w - y * (apart + np.maximum(0.0, rng.uniform(-0.5, 0.5, n))), w)
    found, error = answer(X, y)
    if found is None:
        assert "Double precision cannot tell" in error
        assert apart < 1e-9
        return
    check(found, X, y)
    if apart >= 1e-12:
        assert found.separable


def test_what_cannot_be_told_is_said(monkeypatch):
    monkeypatch.setattr(program, "COMMON_POINT_TOL", -1.0)  # no proof is good enough
    with pytest.raises(ArithmeticError, match=r"cannot tell .* within \d\.\de[-+]\d+ of each other"):
        separability(CROSS, CORNERS)


def test_a_large_shift_is_no_obstacle_until_it_is():
    v = np.arange(20) % 2
    for shift, step in ((1e9, 1e-6), (1e12, 1e-3), (1e15, 1.0)):
        X = shift + step * v[:, None]
        assert len(np.unique(X)) == 2
        check(separability(X, v), X, v)
        assert separability(X, v).separable
    rng = np.random.default_rng(6)
    X = 1e6 + rng.standard_normal((50, 8)) * 1e-8
    y = rng.random(50) < 0.5
    X[:, 0] = 1e6 + np.where(y, 1e-9, -1e-9)
    found, error = answer(X, y)
    if found is None:
        assert "centre and scale" in error or "cannot tell" in error
    else:
        check(found, X, y)


def test_columns_of_very_different_size():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((200, 4)) * [1e12, 1.0, 1e-8, 1.0]
    y = X[:, 2] > 0
    X[:, 2] += np.where(y, 1e-9, -1e-9)
    check(separability(X, y), X, y)
    assert separability(X, y).separable
    y = rng.random(200) < 0.5
    check(separability(X, y), X, y)


@pytest.mark.parametrize("scale", [1e308, 1e-250])
def test_the_ends_of_the_range(scale):
    X = scale * np.array([[1.7, 1.0], [-1.7, 1.0], [1.6, 0.0]])
    for y in ([1, 0, 1], [0, 1, 1], [0, 0, 1]):
        check(separability(X, y), X, y) if scale < 1 else separability(X, y)
    flat = X * [1, 0]
    assert not separability(flat, [0, 0, 1]).separable
    assert separability(flat, [1, 0, 1]).separable


def test_constant_columns_get_no_weight():
    found = separability([[0.0, 7.0], [1.0, 7.0], [3.0, 7.0]], [0, 0, 1])
    np.testing.assert_allclose(found.w, [1.0, 0.0])


def test_through_the_origin():
    """Points of a ray are on one side of the origin, whatever their labels."""
    X, y = np.array([[1.0, 1.0], [2.0, 2.0]]), [0, 1]
    assert separability(X, y).separable
    found = separability(X, y, fit_intercept=False)
    check(found, X, y, fit_intercept=False)
    assert not found.separable
    np.testing.assert_allclose(found.proof.weights, [1 / 3, 2 / 3])
    assert separability([[-1.0, 1.0], [2.0, 2.0]], y, fit_intercept=False).separable


def test_the_origin_itself_is_on_no_side():
    found = separability([[0.0, 0.0], [2.0, 2.0]], ["zero", "two"], fit_intercept=False)
    assert not found.separable
    assert found.proof.rows.tolist() == [0]
    check(found, [[0.0, 0.0], [2.0, 2.0]], ["zero", "two"], fit_intercept=False)


# Labels and bad input


@pytest.mark.parametrize("labels", [("a", "b"), (0, 1), (-1.0, 1.0), (False, True), (7, 3)], ids=str)
def test_any_two_labels(labels):
    y = np.array(labels)[[0, 0, 1]]
    found = separability([[0.0], [1.0], [3.0]], y)
    check(found, [[0.0], [1.0], [3.0]], y)
    assert found.classes == tuple(sorted(labels))
    found = separability([[0.0], [2.0], [1.0]], y)
    check(found, [[0.0], [2.0], [1.0]], y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [2.0]], [1, 1], "number of classes"),
        ([[1.0]], [1], "number of classes"),
        (
            [[1.0], [2.0], [3.0]],
            ["a", "b", "c"],
            r"two classes, and y has 3: 'a', 'b', 'c'.*separability\(X, y == 'a'\)",
        ),
        ([[np.nan], [1.0]], [0, 1], "NaN"),
        ([[np.inf], [1.0]], [0, 1], "infinity"),
        ([[1.0], [2.0], [3.0]], [0.1, 0.2, 0.3], "continuous"),
        ([[1.0], [2.0]], [0, 1, 0], "2 samples and y has 3"),
        (np.empty((0, 2)), [], "0 sample"),
        ([1.0, 2.0], [0, 1], "2D"),
        ([["x"], ["y"]], [0, 1], r"X contains text in column 0 \(first value 'x'\)"),
        (1e-320 * np.array([[1.0], [2.0], [3.0]]), [0, 0, 1], "Column 0 of X varies by .* multiply it"),
    ],
)
def test_bad_input_is_refused_by_name(X, y, message):
    with pytest.raises(ValueError, match=message):
        separability(X, y)


def test_fit_intercept_is_a_flag():
    with pytest.raises(TypeError, match="fit_intercept"):
        separability(CROSS, CORNERS, fit_intercept="no")


# The proof object


PROOF = separability(CROSS, CORNERS).proof


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights_positive": np.array([1.5, -0.5])}, "negative"),
        ({"weights_positive": np.array([np.nan, 0.5])}, "not a number"),
        ({"weights_positive": np.array([0.5, 0.6])}, "sum to 1.1"),
        ({"rows_positive": np.array([0, 7])}, "does not have the rows"),
        ({"rows_positive": np.array([0, -1])}, "does not have the rows"),
        ({"rows_positive": np.array([0, 2])}, "a class has rows on both sides"),
        ({"weights_positive": np.array([0.4, 0.6])}, "0.1 of the data's size apart"),
    ],
)
def test_a_proof_that_is_none_is_found_out(change, message):
    with pytest.raises(ValueError, match=message):
        replace(PROOF, **change).verify(CROSS, CORNERS)


def test_a_proof_is_about_its_own_data():
    assert PROOF.verify(CROSS, CORNERS) < 1e-15
    assert PROOF.verify(sp.csr_matrix(CROSS), CORNERS) < 1e-15
    with pytest.raises(ValueError, match="apart"):
        PROOF.verify(np.add(CROSS, [[0.0, 0.1], [0, 0], [0, 0], [0, 0]]), CORNERS)
    with pytest.raises(ValueError, match="both sides"):
        PROOF.verify(CROSS, ["x", "y", "x", "y"])


def test_the_text_of_either_answer():
    text = str(separability(IRIS, NAMES == "setosa"))
    assert text.startswith("separable    yes, all 150 rows\n")
    assert "w'x + b >= 1 for class True, <= -1 for class False" in text
    text = str(separability(CROSS, CORNERS))
    lines = dict(line.split("   ", 1) for line in text.splitlines())
    assert lines["separable"].strip() == "no: the classes meet"
    assert lines["class 'same'"].strip() == "0.5 x[0] + 0.5 x[1]"
    assert lines["point"].strip() == "[0.5 0.5]"
    assert str(PROOF) in text
    rng = np.random.default_rng(8)
    many = separability(rng.standard_normal((200, 30)), rng.random(200) < 0.5)
    assert "more" in str(many)
    assert max(map(len, str(many).splitlines())) < 200


# The hard margin's error


def hard(X, y, **parameters):
    """The proof that a hard margin's error carries, and what it says."""
    with pytest.raises(InseparableError, match="finite C") as caught:
        SVC(C=math.inf, **parameters).fit(X, y)
    np.testing.assert_array_equal(caught.value.rows, caught.value.proof.rows)
    return caught.value.proof, str(caught.value)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_linear_hard_margin_gives_the_same_kind_of_proof(fit_intercept):
    X, y = IRIS[50:], NAMES[50:]
    proof, message = hard(X, y, kernel="linear", fit_intercept=fit_intercept)
    check_proof(proof, X, y, fit_intercept)
    assert ("origin" in message) == (not fit_intercept)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_the_forms_of_the_points(form):
    proof, _ = hard(form(CROSS), CORNERS, kernel="linear")
    check_proof(proof, CROSS, CORNERS)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_the_rows_are_the_user_s(multiclass):
    """More classes, rows of weight zero, equal rows: the numbers are those of the input."""
    X, y = np.vstack((IRIS, IRIS[::-1])), np.r_[NAMES, NAMES[::-1]]
    weight = np.r_[np.zeros(20), np.ones(len(X) - 20)]
    with pytest.raises(InseparableError) as caught:
        SVC(C=math.inf, kernel="linear", multiclass=multiclass).fit(X, y, weight)
    proof = caught.value.proof
    check_proof(proof, X, y)
    assert (weight[proof.rows] > 0).all()
    positive, negative = set(y[proof.rows_positive]), set(y[proof.rows_negative])
    assert len(positive) == 1
    assert not positive & negative
    assert multiclass == "ovr" or len(negative) == 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "kernel", [{"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 1.0}, {"kernel": "poly", "degree": 1}], ids=str
)
def test_a_proof_in_feature_space(kernel, fit_intercept):
    """Against the kernel matrix, computed here."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((60, 2))
    y = np.where(rng.random(60) < 0.5, "up", "down")
    proof, _ = hard(X, y, fit_intercept=fit_intercept, **kernel)
    assert proof.point is None
    gamma = 1.0 if "gamma" in kernel else 1 / (2 * X.var())
    K = (gamma * X @ X.T + kernel.get("coef0", 0.0)) ** kernel["degree"]
    c = np.zeros(60)
    c[proof.rows_positive], c[proof.rows_negative] = proof.weights_positive, -proof.weights_negative
    assert np.abs(c).sum() == pytest.approx(2.0 if fit_intercept else 1.0)
    assert not fit_intercept or c.sum() == pytest.approx(0.0, abs=1e-12)
    assert max(0.0, c @ K @ c) <= 1e-10 * K.diagonal().max()
    assert proof.verify(X, y) <= 1e-5
    assert "feature space" in str(proof)
    with pytest.raises(ValueError, match="apart"):
        proof.verify(X[::-1] ** 2, np.where(c > 0, "up", "down"))


def test_a_proof_for_a_precomputed_kernel_and_for_things_that_are_no_vectors():
    X, y = IRIS[50:], NAMES[50:]
    proof, _ = hard(X @ X.T, y, kernel="precomputed")
    assert proof.verify(X @ X.T, y) <= 1e-5
    apart = proof.weights_positive @ X[proof.rows_positive] - proof.weights_negative @ X[proof.rows_negative]
    assert np.abs(apart).max() < 1e-4

    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words, sides = ["ab", "cd", "abcd", "", "x"], [0, 0, 1, 1, 0]
    proof, _ = hard(words, sides, kernel=shared)
    assert proof.verify(words, sides) <= 1e-5
    weight = np.zeros(5)
    weight[proof.rows] = proof.weights
    np.testing.assert_allclose(weight, [0.5, 0.5, 0.5, 0.5, 0.0], atol=1e-4)


def test_identical_rows_are_named():
    X, y = np.vstack((IRIS, IRIS[3:4])), np.r_[NAMES, ["virginica"]]
    proof, message = hard(X, y)
    assert "rows 3 and 150 are identical" in message
    assert sorted(proof.rows.tolist()) == [3, 150]
    assert proof.verify(X, y) == 0


def test_a_narrow_linear_margin_is_no_proof():
    """Kernel values, which are squares, cannot tell these from touching hulls; the points themselves can."""
    X = np.array([[1e-7, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    y = [1, 1, 0, 0]
    model = SVC(C=math.inf, kernel="linear").fit(X, y)
    assert model.score(X, y) == 1.0


def test_the_joint_estimator_says_so_without_a_proof():
    with pytest.raises(InseparableError) as caught:
        SVC(C=math.inf, kernel="linear", multiclass="crammer_singer").fit(CROSS, CORNERS)
    assert caught.value.proof is None
    assert caught.value.rows is None


# The name
