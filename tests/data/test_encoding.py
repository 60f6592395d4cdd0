"""TableEncoder: numbers pass, words become unit vectors; checked against scikit-learn's encoder."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, load, save
from maxmargin.data.table_encoder import TableEncoder

rng = np.random.default_rng(0)
N = 40
FRAME = pd.DataFrame(
    {
        "size": rng.normal(size=N),
        "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, N)],
        "count": rng.integers(0, 9, N),
        "ripe": rng.random(N) < 0.5,
        "shape": pd.Categorical(np.array(["round", "long"])[rng.integers(0, 2, N)]),
    }
)
ARRAY = FRAME.to_numpy(object)
LABELS = np.where((FRAME["colour"] == "red") ^ (FRAME["size"] > 0), "good", "bad")


@parametrize_with_checks([TableEncoder(), TableEncoder(sparse_output=True), TableEncoder(handle_unknown="ignore")])
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


def oracle(frame):
    """The same by scikit-learn, with the columns put in order."""
    texts = ["colour", "shape"]
    parts = []
    for name in frame.columns:
        if name in texts:
            parts.append(OneHotEncoder(sparse_output=False).fit(FRAME[[name]]).transform(frame[[name]]))
        else:
            parts.append(frame[[name]].to_numpy(np.float64))
    return np.hstack(parts)


@pytest.mark.parametrize("form", ["pandas", "polars", "array", "list"])
def test_against_scikit_learn(form):
    table = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "array": ARRAY, "list": ARRAY.tolist()}[form]
    encoder = TableEncoder(None if form in ("pandas", "polars") else list(FRAME.columns)).fit(table)
    points = encoder.transform(table)
    assert np.array_equal(points, oracle(FRAME))
    assert points.dtype == np.float64
    names = ["size", "colour_blue", "colour_green", "colour_red", "count", "ripe", "shape_long", "shape_round"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.text_columns_ == [1, 4]
    assert [None if part is None else part.tolist() for part in encoder.categories_] == [
        None,
        ["blue", "green", "red"],
        None,
        None,
        ["long", "round"],
    ]
    assert np.array_equal(encoder.transform(table[:7]), oracle(FRAME[:7]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.text(max_size=4), st.integers(0, 3)), min_size=1, max_size=20))
def test_a_row_has_a_one_for_each_word(rows):
    table = np.array(rows, dtype=object)
    encoder = TableEncoder().fit(table)
    points = encoder.transform(table)
    words = points[:, 1:-1]
    assert np.array_equal(points[:, 0], table[:, 0].astype(float))
    assert np.array_equal(points[:, -1], table[:, 2].astype(float))
    assert set(words.ravel()) <= {0.0, 1.0}
    assert (words.sum(axis=1) == 1).all()
    for row, word in zip(words, table[:, 1], strict=True):
        assert encoder.categories_[1][row.argmax()] == word


def test_sparse_where_most_is_zero():
    words = np.array([f"word {i}" for i in range(200)])
    few = TableEncoder().fit(ARRAY)
    many = TableEncoder().fit(np.column_stack([words, words[::-1]]))
    assert not few.sparse_output_
    assert many.sparse_output_
    points = many.transform(np.column_stack([words, words]))
    assert points.format == "csr"
    assert points.nnz == 400
    for form in (True, False):
        encoder = TableEncoder(sparse_output=form).fit(ARRAY)
        points = encoder.transform(ARRAY)
        assert sp.issparse(points) == form
        assert np.array_equal(points.toarray() if form else points, oracle(FRAME))


def test_numbers_pass():
    X = rng.normal(size=(5, 3))
    for points in (X, X.astype(np.float32), sp.csr_matrix(X), pd.DataFrame(X, columns=[*"abc"]), X.tolist()):
        encoder = TableEncoder().fit(points)
        Z = encoder.transform(points)
        assert sp.issparse(Z) == sp.issparse(points)
        assert np.array_equal(
            Z.toarray() if sp.issparse(Z) else Z, np.asarray(points.toarray() if sp.issparse(points) else points)
        )
        assert Z.dtype == (np.float32 if getattr(points, "dtype", None) == np.float32 else np.float64)


def test_unknown_categories():
    encoder = TableEncoder().fit(FRAME)
    new = FRAME[:3].assign(colour=["red", "gren", "blue"])
    with pytest.raises(
        ValueError,
        match=r"column 'colour', row 1: the category 'gren' was not in the training data, which had 'blue', 'green', "
        r"'red'. Did you mean 'green'\? Correct it, or set handle_unknown='ignore'",
    ):
        encoder.transform(new)
    points = TableEncoder(handle_unknown="ignore").fit(FRAME).transform(new)
    assert points[:, 1:4].sum(axis=1).tolist() == [1, 0, 1]
    assert TableEncoder(handle_unknown="ignore", sparse_output=True).fit(FRAME).transform(new).toarray().tolist() == (
        points.tolist()
    )
    with pytest.raises(ValueError, match="column 0, row 0: the category 'c' was not"):
        TableEncoder().fit([["a"], ["b"]]).transform([["c"]])


def test_codes_that_look_like_numbers():
    """A text column of which new data have numbers only: the number 1.0 is the word 1."""
    encoder = TableEncoder().fit(np.array([["1", 5.0], ["2", 6.0], ["x", 7.0]], dtype=object))
    assert encoder.transform(np.array([[2.0, 5.0], [1.0, 5.0]])).tolist() == [[0, 1, 0, 5], [1, 0, 0, 5]]
    assert encoder.transform(np.array([[2, 5.0]], dtype=object)).tolist() == [[0, 1, 0, 5]]
    frame = pd.DataFrame({"code": pd.Categorical([7, 8]), "n": [1, 2]})
    assert TableEncoder().fit_transform(frame).tolist() == [[1, 0, 1], [0, 1, 2]]


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ([["a", 1.0], ["b", None]], ValueError, "Input X contains NaN: column 1, row 1 is missing"),
        ([["a", 1.0], [None, 1.0]], ValueError, "Input X contains NaN: column 0, row 1 is missing"),
        ([["a", 1.0], ["b", np.inf]], ValueError, "Input X contains infinity: column 1, row 1"),
        ([["a", 1.0], ["b", "c"]], TypeError, r"column 1, row 0: 1.0 stands among text"),
        ([["a", 1.0], ["b", {}]], TypeError, r"column 1, row 1: \{\} is not a number"),
        (pd.DataFrame({"born": pd.to_datetime(["2020-01-01"])}), TypeError, "column 'born' holds dates or times"),
        (pl.DataFrame({"born": pl.Series(["2020-01-01"]).str.to_date()}), TypeError, "column 'born' holds dates"),
        (pd.DataFrame({"c": ["a", None]}), ValueError, "Input X contains NaN: column 'c', row 1"),
        (pd.DataFrame({"c": pd.Categorical(["a", None])}), ValueError, "Input X contains NaN: column 'c', row 1"),
        (pd.DataFrame({"c": pd.Series([1, None], dtype="Int64"), "d": ["a", "b"]}), ValueError, "column 'c', row 1"),
        (np.empty((0, 2), object), ValueError, r"0 sample\(s\)"),
        (np.array([], dtype="U1").reshape(0, 2), ValueError, r"0 sample\(s\)"),
        (np.array(["a", "b"]), ValueError, "Expected 2D array"),
    ],
)
def test_bad_tables(table, error, message):
    with pytest.raises(error, match=message):
        TableEncoder().fit(table)


def test_bad_new_tables():
    encoder = TableEncoder().fit(FRAME)
    with pytest.raises(TypeError, match=r"column 'size', row 1: 'big' is not a number"):
        encoder.transform(FRAME[:2].astype({"size": object}).assign(size=[1.0, "big"]))
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(FRAME.rename(columns={"size": "sizes"}))
    with pytest.raises(ValueError, match="X has 4 features, but TableEncoder is expecting 5 features"):
        TableEncoder().fit(ARRAY).transform(ARRAY[:, :4])
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 5 features"):
        TableEncoder().fit(ARRAY).transform(np.zeros((3, 2)))


def test_parameters():
    with pytest.raises(ValueError, match="handle_unknown must be one of 'error', 'ignore'"):
        TableEncoder(handle_unknown="zero").fit(ARRAY)
    with pytest.raises(TypeError, match="sparse_output must be True or False"):
        TableEncoder(sparse_output="yes").fit(ARRAY)
    with pytest.raises(TypeError, match="columns must be a list of names"):
        TableEncoder("abcde").fit(ARRAY)
    with pytest.raises(ValueError, match="columns has 2 names, and X has 5 columns"):
        TableEncoder(["a", "b"]).fit(ARRAY)
    with pytest.raises(ValueError, match="a DataFrame has its own names"):
        TableEncoder([*"abcde"]).fit(FRAME)
    assert TableEncoder(list(FRAME.columns)).fit(FRAME).n_features_in_ == 5
    with pytest.raises(ValueError, match="input_features should have length"):
        TableEncoder().fit(ARRAY).get_feature_names_out(["a"])
    assert TableEncoder().fit(ARRAY[:, :2]).get_feature_names_out().tolist()[:2] == ["x0", "x1_blue"]
    assert TableEncoder().fit(ARRAY[:, :1]).get_feature_names_out(["q"]).tolist() == ["q"]


def test_clone_pickle_and_frames_out():
    encoder = TableEncoder(list(FRAME.columns), handle_unknown="ignore").fit(ARRAY)
    assert clone(encoder).get_params() == encoder.get_params()
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.transform(ARRAY), encoder.transform(ARRAY))
    frame = TableEncoder().set_output(transform="pandas").fit(FRAME).transform(FRAME)
    assert frame.columns.tolist() == encoder.get_feature_names_out().tolist()
    assert np.array_equal(frame.to_numpy(), oracle(FRAME))


def test_the_model_is_that_of_a_column_transformer():
    ours = Pipeline([("encode", TableEncoder()), ("scale", StandardScaler()), ("model", SVC())]).fit(FRAME, LABELS)
    columns = ColumnTransformer([("words", OneHotEncoder(), ["colour", "shape"])], remainder="passthrough")
    theirs = Pipeline([("encode", columns), ("scale", StandardScaler()), ("model", SVC())]).fit(FRAME, LABELS)
    decisions = [model.decision_function(FRAME) for model in (ours, theirs)]
    assert decisions[0] == pytest.approx(decisions[1], abs=5e-3)


@pytest.mark.parametrize("table", [FRAME, ARRAY], ids=["frame", "array"])
def test_model_files(table, tmp_path):
    names = None if table is FRAME else list(FRAME.columns)
    steps = [("encode", TableEncoder(names)), ("scale", StandardScaler()), ("model", SVC())]
    model = Pipeline(steps).fit(table, LABELS)
    save(model, tmp_path / "model.mm")
    again = load(tmp_path / "model.mm")
    assert np.array_equal(again.decision_function(table), model.decision_function(table))
    assert again[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="the category 'pink' was not in the training data"):
        again.predict(FRAME[:1].assign(colour="pink") if table is FRAME else [[1.0, "pink", 1, True, "long"]])
