"""Data files: every format gives the same data, and every bad file one line that says what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from fuzz.data_files import run
from maxmargin.data.source import Source
from maxmargin.io import Data, DataFileError, read_batches, read_data, read_svmlight, write_svmlight

pa = pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3)) * np.array([1.0, 1e-8, 1e5])
Y = rng.integers(0, 3, 30).astype(float)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": Y})
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path, **options):
    """The message of the error, without the name of the folder."""
    with pytest.raises(DataFileError) as caught:
        read_data(path, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message.endswith((".", "?"))
    return message.replace(f"{os.path.dirname(path)}/", "")


# The same data in every format


@pytest.mark.parametrize("end", PACK)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("points.csv", {}),
        ("points.csv", {"sep": ";"}),
        ("points.csv", {"sep": "|"}),
        ("points.tsv", {"sep": "\t"}),
        ("points.csv", {"quoting": 1}),
        ("points.csv", {"lineterminator": "\r\n"}),
        ("points.csv", {"lineterminator": "\r"}),
        ("points.csv", {"encoding": "utf-8-sig"}),
        ("points.csv", {"index": True}),
        ("points.csv", {"header": False}),
        ("points.txt", {"sep": " "}),
        ("points", {}),
    ],
)
def test_text_tables(name, options, end, tmp_path):
    if name == "points.txt":
        content = "\n".join("  ".join(map(repr, row)) for row in FRAME.to_numpy().tolist()).encode()
    else:
        encoding = options.get("encoding", "utf-8")
        content = FRAME.to_csv(None, **{"index": False, **options}).encode(encoding)
    data = read_data(written(tmp_path, name + end, PACK[end](content)))
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, Y)
    named = name != "points.txt" and options.get("header", True)
    assert data.columns == (["a", "b", "c"] if named else None)
    assert data.target == ("label" if named else None)
    assert data.X.flags.c_contiguous
    assert data.X.dtype == np.float64


@pytest.mark.parametrize("name", ["points.parquet", "points.feather", "stream.arrow", "polars.parquet", "points"])
def test_columnar_tables(name, tmp_path):
    path = tmp_path / name
    if name == "stream.arrow":
        table = pa.Table.from_pandas(FRAME)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    elif name == "polars.parquet":
        pl.from_pandas(FRAME).write_parquet(path)
    elif name == "points.feather":
        FRAME.to_feather(path)
    else:
        FRAME.to_parquet(path, row_group_size=7)
    data = read_data(path)
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, Y)
    assert (data.columns, data.target) == (["a", "b", "c"], "label")


def test_a_pandas_index_is_no_feature(tmp_path):
    path = tmp_path / "points.parquet"
    FRAME.set_index(np.arange(30)[::-1]).rename_axis("number").to_parquet(path)
    assert read_data(path).columns == ["a", "b", "c"]


@pytest.mark.parametrize("keys", [("X", "y"), ("data", "target"), ("data", "labels")])
def test_numpy_archives(keys, tmp_path):
    path = tmp_path / "points.npz"
    np.savez_compressed(path, **dict(zip(keys, (X.astype(np.float32), Y.astype(int)), strict=True)))
    data = read_data(path)
    assert np.array_equal(data.X, X.astype(np.float32))
    assert data.X.dtype == np.float64
    assert np.array_equal(data.y, Y)
    np.savez(path, X=X, y=Y.astype(str))
    assert np.array_equal(read_data(path).y, Y.astype(str))
    np.savez(path, np.column_stack([X, Y]))
    assert np.array_equal(read_data(path).y, Y)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_archives(form, tmp_path):
    path = tmp_path / "points.npz"
    matrix = sp.random(20, 9, 0.3, format=form, random_state=0)
    sp.save_npz(path, matrix)
    data = read_data(path, labelled=False)
    assert data.X.format == "csr"
    assert np.array_equal(data.X.toarray(), matrix.toarray())
    assert data.y is None
    assert "has no y" in refusal(path)


def test_numpy_arrays(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.column_stack([Y, X]))
    data = read_data(path, target=0)
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, Y)
    assert read_data(path, labelled=False).X.shape == (30, 4)
    assert read_data(path, labelled=False, n_features=3).X.shape == (30, 3)
    np.save(path, np.asfortranarray(np.column_stack([X > 0, Y > 0])))
    assert np.array_equal(read_data(path).X, X > 0)


@pytest.mark.parametrize("end", PACK)
@pytest.mark.parametrize("name", ["points.svm", "points.txt", "points.scale", "points"])
def test_svmlight(name, end, tmp_path):
    file = io.BytesIO()
    points = np.where(X > 0, X, 0)
    points[0, 0] = 1.0  # so that column 1 occurs
    dump_svmlight_file(points, Y, file, zero_based=False, comment="of scikit-learn")
    data = read_data(written(tmp_path, name + end, PACK[end](file.getvalue())))
    file.seek(0)
    oracle, _ = load_svmlight_file(file)
    assert np.array_equal(data.X.toarray(), oracle.toarray())
    assert np.array_equal(data.y, Y)
    assert (data.columns, data.target) == (None, None)


@pytest.mark.parametrize("columns", [3, 2500])
def test_numbers_between_unusual_white_space(columns, tmp_path):
    """str.strip takes more characters for white space than float does. The letter that is no UTF-8 makes the records be
    read one by one; many columns are put together by rows."""
    path = tmp_path / "table.csv"
    numbers = b",".join([b"\x1f4e2", *[b"1"] * (columns - 2)])
    path.write_bytes(numbers + b",red,x\n" + numbers + b',\x0fbl""ue",y\n' + numbers + b',g\x8ceen,"x"\n')
    data = read_data(path, header=False)
    assert data.X.shape == (3, columns)
    assert np.array_equal(data.X[:, 0].astype(float), [400.0] * 3)


def test_svmlight_without_targets(tmp_path):
    path = written(tmp_path, "new.svm", "# new points\n\n1:2 3:4 # first\n  2:1\n")
    data = read_data(path, labelled=False)
    assert data.X.toarray().tolist() == [[2, 0, 4], [0, 1, 0]]
    assert data.y is None
    assert refusal(path) == "new.svm, line 3: '1:2 3:4 # first': there is no target: put it first."
    assert read_data(path, labelled=False, n_features=5).X.shape == (2, 5)
    assert read_data(path, labelled=False, columns=list("abcd")).columns == list("abcd")
    path = written(tmp_path, "new.svm", "1 1:2 3:4\n-1 2:1\n")
    assert read_data(path, labelled=False).y.tolist() == [1, -1]


def test_many_blocks_are_one_file(tmp_path, monkeypatch):
    """Blocks of a few bytes, so that every kind of cut happens."""
    text = FRAME.assign(word=["red", 'a "b"', "two\nlines"] * 10).to_csv(index=False)
    table = written(tmp_path, "points.csv", text.replace("\n", "\r\n"))
    plain = written(tmp_path, "plain.csv", FRAME.to_csv(index=False, lineterminator="\r\n"))
    file = io.BytesIO()
    dump_svmlight_file(X, Y, file)
    sparse = written(tmp_path, "points.svm", file.getvalue())
    whole = [read_data(table, target="label"), read_data(plain), read_data(sparse)]
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr("maxmargin.data.source.Source._piece.__defaults__", (size,))
        for path, data, options in zip((table, plain, sparse), whole, ({"target": "label"}, {}, {}), strict=True):
            again = read_data(path, **options)
            same = again.X.toarray() if sp.issparse(again.X) else again.X
            assert np.array_equal(same, data.X.toarray() if sp.issparse(data.X) else data.X)
            assert np.array_equal(again.y, data.y)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=8),
            st.integers(-(2**40), 2**40),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_what_pandas_writes_is_read(tmp_path_factory, rows):
    """Numbers to the last bit, and text, with quotes and line ends in it."""
    frame = pd.DataFrame(rows, columns=["number", "word", "y"])
    path = tmp_path_factory.mktemp("data") / "table.csv"
    frame.to_csv(path, index=False, encoding="utf-8")
    words = [word.strip() for word in frame["word"]]
    missing = {"", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "nil", "null", "none"}
    if any(word.lower() in missing for word in words):
        assert "missing" in refusal(path, text=["word"], header=True)
        return
    data = read_data(path, text=["word"], header=True)
    assert data.X[:, 0].tolist() == frame["number"].tolist()
    assert data.X[:, 1].tolist() == words
    assert data.y.tolist() == frame["y"].tolist()


# Which column is what


def test_target(tmp_path):
    path = written(tmp_path, "t.csv", "a,Label,b\n1,2,3\n4,5,6\n")
    assert read_data(path).target == "Label"
    assert read_data(path, target="b").y.tolist() == [3, 6]
    for position in (0, "0", -3):
        assert read_data(path, target=position).y.tolist() == [1, 4]
    assert refusal(path, target="Lable") == "t.csv has no column 'Lable': did you mean 'Label'?"
    assert refusal(path, target="zzz") == "t.csv has no column 'zzz': it has 'a', 'Label', 'b'."
    assert "has 3 columns, and the target column 3 is not among them" in refusal(path, target=3)
    assert "has no header, so the target column cannot be called 'b'" in refusal(path, target="b", header=False)
    with pytest.raises(TypeError, match="target must be the name or the position of a column; got True"):
        read_data(path, target=True)


def test_columns_of_a_model(tmp_path):
    path = written(tmp_path, "t.csv", "a,b,extra,y\n1,2,0,3\n4,5,0,6\n")
    for labelled in (True, False):
        data = read_data(path, columns=["b", "a"], labelled=labelled)
        assert data.X.tolist() == [[2, 1], [5, 4]]
        assert data.y.tolist() == [3, 6]
        assert (data.columns, data.target) == (["b", "a"], "y")
    assert read_data(path, columns=["b"], target="extra").y.tolist() == [0, 0]
    assert read_data(path, columns=["b"], target="gone", labelled=False).target == "y"
    assert refusal(path, columns=["a", "B", "q"]) == "t.csv lacks the columns 'B', 'q': it has 'a', 'b', 'extra', 'y'."
    assert "no column besides the features" in refusal(path, columns=["a", "b", "extra", "y"])
    assert "as target and among the features" in refusal(path, columns=["a", "b"], target="a")
    with pytest.raises(ValueError, match="lists a column twice"):
        read_data(path, columns=["a", "a"])
    path = written(tmp_path, "new.csv", "b,a\n1,2\n")
    data = read_data(path, columns=["a", "b"], labelled=False)
    assert data.X.tolist() == [[2, 1]]
    assert data.y is None


def test_columns_of_a_model_without_a_header(tmp_path):
    path = written(tmp_path, "t.csv", "1,2,3\n4,5,6\n")
    assert read_data(path, columns=["a", "b", "c"], labelled=False).y is None
    for options in ({"columns": ["a", "b"]}, {"n_features": 2}):
        for labelled in (True, False):
            data = read_data(path, labelled=labelled, **options)
            assert data.X.tolist() == [[1, 2], [4, 5]]
            assert data.y.tolist() == [3, 6]
    assert read_data(path, columns=["a", "b"], labelled=False, target=0).y.tolist() == [1, 4]
    assert "has 3 columns and no header, and 4 features are needed" in refusal(path, columns=[*"abcd"], labelled=False)
    assert "has 2 feature columns, and 5 are needed" in refusal(path, n_features=5)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a,b,c\n1,2,x\n3,4,y\n", ["a", "b"]),
        ("1,2,x\n3,4,y\n", None),
        ("red,1,x\nblue,2,y\n", None),
        ("'a','b c','d'\n1,2,x\n3,4,y\n", ["a", "b c"]),
        ("p,x,e\np,y,e\ne,x,p\n", None),
        ("cap,ring,class\np,y,e\ne,x,p\n", ["cap", "ring"]),
        ("0,1,2,target\n5,1,1,yes\n1,3,4,no\n", ["0", "1", "2"]),
        (",0,1,2\n0,5.5,1,1\n1,1,3,4\n2,3,4,5\n", ["0", "1"]),
        ("land,code,1960,1961,1962\nAruba,ABW,4.8,4.6,4.4\nFiji,FJI,6,5.9,5.8\n", ["land", "code", "1960", "1961"]),
        ("land,1960,1970,1980\nAruba,4.8,4.6,4.4\nFiji,6,5.9,5.8\n", ["land", "1960", "1970"]),
        ("land,code,2021\nAruba,ABW,-4.8\nFiji,FJI,60.5\n", ["land", "code"]),
        ("land,2021\nAruba,R+4.8\nFiji,D+6\n", ["land"]),
        ("red,blue,2021\ngreen,red,2000\n", None),
        ("red,2021\ngreen,1\n", None),
        ("red,1960,1961,1962\nblue,1970,1971,1972\n", None),
        ("red,1960,1961,1963\nblue,4,5,6\n", None),
        ('"","a","b"\n"1",5,6\n"2",7,8\n', ["a"]),
        (",a,b\n3,5,6\n5,7,8\n", ["column 1", "a"]),
    ],
)
def test_a_header_is_found(text, columns, tmp_path):
    assert read_data(written(tmp_path, "t.csv", text)).columns == columns


def test_a_header_can_be_forced(tmp_path):
    path = written(tmp_path, "t.csv", "1,2\n3,4\n")
    assert read_data(path, header=True).X.tolist() == [[3]]
    assert read_data(path, header=True).columns == ["1"]
    path = written(tmp_path, "t.csv", "a,b,1\nc,d,2\n")
    assert read_data(path, header=False).X.shape == (2, 2)


# What a column holds


def test_kinds_of_columns(tmp_path):
    path = written(tmp_path, "t.csv", "n,flag,word,code,y\n1,TRUE, red ,01,true\n2,false,blue,02,false\n")
    data = read_data(path)
    assert data.X.tolist() == [[1.0, 1.0, "red", 1.0], [2.0, 0.0, "blue", 2.0]]
    assert data.y.tolist() == ["true", "false"]
    assert read_data(path, text=["code"]).X[:, 3].tolist() == ["01", "02"]
    assert read_data(path, text=[3, "absent"]).X[:, 3].tolist() == ["01", "02"]
    with pytest.raises(TypeError, match="text must be a list of columns; got 'code'"):
        read_data(path, text="code")


def test_kinds_of_typed_columns(tmp_path):
    frame = pd.DataFrame({"flag": [True, False], "kind": pd.Categorical([7, 8]), "i": [1, 2], "y": [True, False]})
    frame["small"] = np.array([1.5, 2.5], np.float32)
    frame.to_parquet(tmp_path / "t.parquet")
    data = read_data(tmp_path / "t.parquet", target="y")
    assert data.X.tolist() == [[1.0, "7", 1.0, 1.5], [0.0, "8", 2.0, 2.5]]
    assert data.y.tolist() == ["True", "False"]
    pl.DataFrame({"d": ["1.25", "2.50"], "y": [1, 2]}).cast({"d": pl.Decimal(5, 2)}).write_parquet(
        tmp_path / "d.parquet"
    )
    assert read_data(tmp_path / "d.parquet").X.tolist() == [[1.25], [2.5]]


@pytest.mark.parametrize(("texts", "rows"), [(1, 3), (1, 5000), (2499, 5000)])
@pytest.mark.parametrize("late", [True, False])
def test_a_few_words_among_numbers_are_mistakes(texts, rows, late, tmp_path):
    values = ["abc"] * texts + ["5"] * (rows - texts)
    values = values[::-1] if late else values
    path = written(tmp_path, "t.csv", "a,age,y\n" + "".join(f"1,{value},0\n" for value in values))
    line = 2 + (rows - texts if late else 0)
    assert refusal(path, header=True) == (
        f"t.csv, column 'age', line {line}: 'abc' is not a number: correct it, or leave out the row."
    )


@pytest.mark.parametrize("late", [True, False])
def test_half_a_column_of_words_is_text(late, tmp_path):
    values = (["5.0"] * 2000 + ["abc"] * 2000)[:: 1 if late else -1]
    path = written(tmp_path, "t.csv", "a,age,y\n" + "".join(f"1,{value},0\n" for value in values))
    assert read_data(path).X[:, 1].tolist() == values


# Bad files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: a data file needs at least one row"),
        ("\n \n", "is empty: a data file needs at least one row"),
        ("a,b\n", "has a header and no rows"),
        ("a\n1\n", "has a single column: there must be features beside the target"),
        ("a,a\n1,2\n", "has 2 columns called 'a'"),
        ("a,b,c\n1,2,3\n\n1,2\n", "line 4: has 2 fields where the first line has 3: correct it."),
        (
            "a,b\n1,2,3\n",
            "line 2: has 3 fields where the first line has 2: correct it, or quote fields that hold a ','.",
        ),
        ("a,b\n1,\n", "column 'b', line 2: the value is missing: fill it in, or leave out the row or the column."),
        ("1,2,3\n1, ,4\n", "column 2, line 2: the value is missing"),
        ("a,b\nred,1\n?,1\n", "column 'a', line 3: '?' stands for a missing value"),
        *(
            (f"a,b\n1,2\n{word},1\n", f"line 3: '{word}' stands for a missing")
            for word in ("NA", "NaN", "null", "None")
        ),
        ("a,b\n1,2\n1,-inf\n", "column 'b', line 3: '-inf' is not finite"),
        ("a,b\n1,2\n1,1e999\n", "column 'b', line 3: '1e999' is not finite"),
        ("a,b\n1,2\n1,1_0\n1,3\n", "column 'b', line 3: '1_0' is not a number"),
        ("a,b\ntrue,2\nmaybe,1\nfalse,2\nfalse,2\n", None),
        ("a,b\n2020-01-31,2\n2020-02-01,1\n", "column 'a': holds dates: turn them into numbers"),
        ("a;b\n1,5;2\n2,5;3\n", "column 'a': has decimal commas: write them as points."),
        ('a,b\n1,2\n"1,2\n3,4\n', "line 3: a quote is out of place or not closed"),
        ('a,b\n1,2\n"1"x,2\n', "line 3: a quote is out of place"),
        ("é,b\n1,2\n1,".encode() + b"\xe9\n", "line 3: the byte 0xe9 is no UTF-8: save the file as UTF-8."),
        (b"a,b\n1,2\n1,\0\n", "line 3: is not a text file, or is damaged: it contains a zero byte."),
        (b"\x80\x04\x95x", "is a pickle, which would run code when read"),
        ('{"a": 1}', "looks like JSON"),
        ("a,y\n1," + "x" * 300 + "\n", "column 'y', line 2: a label of 300 letters"),
    ],
)
def test_bad_tables(text, message, tmp_path):
    path = written(tmp_path, "t.csv", text)
    if message is None:
        assert read_data(path).X[1, 0] == "maybe"
    else:
        assert message in refusal(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: a data file needs at least one row"),
        ("# only a remark\n", "holds no points"),
        ("1 1:2\n-1 1:nan\n", "line 2: '-1 1:nan': a value is missing or infinite"),
        ("1 1:2\n\ninf 1:1\n", "line 3: 'inf 1:1': a value is missing or infinite"),
        ("1 1:2\n1 -3:1\n", "line 2: '1 -3:1': Invalid index -3"),
        ("1 1:2\n1 99999999999:1\n", "line 2: '1 99999999999:1': an index is too large: is it right?"),
        ("1 1:2\n1 2:1 2147483640:1\n", "line 2: the index 2147483640 would make more columns than memory takes"),
        ("1,2,3\n", "line 1: '1,2,3': not 'target index:value index:value ...'"),
        ("1 1:2\n1,2 1:3\n", "line 2: '1,2 1:3': not 'target index:value"),
    ],
)
def test_bad_svmlight(text, message, tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.data.text.sparse_text.available_memory", lambda: 1e9)
    assert message in refusal(written(tmp_path, "t.svm", text))


def test_too_many_columns_of_svmlight(tmp_path):
    path = written(tmp_path, "t.svm", "1 1:2\n1 4:1\n")
    assert refusal(path, n_features=3) == (
        "t.svm, line 2: the index 4 is beyond the 3 columns asked for: give the columns of the training data, or a "
        "larger n_features."
    )


def test_names_that_are_no_files(tmp_path):
    assert refusal(tmp_path / "none.csv") == "none.csv does not exist: check the name and the folder."
    (tmp_path / "folder.csv").mkdir()
    assert refusal(tmp_path / "folder.csv") == "folder.csv is a folder: give the name of a file."
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a named pipe, not a file" in refusal(tmp_path / "pipe.csv")
    with pytest.raises(DataFileError, match="is no name of a file"):
        read_data("a\0b.csv")
    with pytest.raises(TypeError, match="source must be a path"):
        read_data(3)
    path = written(tmp_path, "t.xyz", "hello\n")
    assert refusal(path).startswith("t.xyz is of no known format (.xyz): give svmlight, CSV")
    assert "is a zip archive: unpack it first" in refusal(written(tmp_path, "t.zip", b"PK\x03\x04"))
    with pytest.raises(ValueError, match=r"format must be one of .* Did you mean 'csv'"):
        read_data(path, format="cvs")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_must_not_be_read(tmp_path):
    path = written(tmp_path, "t.csv", "a,b\n1,2\n")
    path.chmod(0)
    assert refusal(path) == "t.csv must not be read: change its permissions."


def test_forbidden(tmp_path, monkeypatch):
    path = written(tmp_path, "t.csv", "a,b\n1,2\n")

    def forbid(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("maxmargin.data.source.os.stat", forbid)
    assert refusal(path) == "t.csv must not be read: change its permissions."


@pytest.mark.parametrize("end", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("name", ["t.csv", "t.svm"])
def test_packed_files_cut_short(name, end, tmp_path):
    text = b"a,b\n1,2\n" if name == "t.csv" else b"1 1:2\n2 1:3\n"
    packed = PACK[end](text + b"".join(b"%d\n" % i for i in rng.integers(0, 2**60, 3000)))
    for keep in (3, 20, len(packed) // 2, len(packed) - 1):
        assert "cannot be unpacked" in refusal(written(tmp_path, name + end, packed[:keep]))
    assert "cannot be unpacked: it is not what its extension says" in refusal(written(tmp_path, name + end, text))


def test_binary_files_cut_short(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    FRAME.to_feather(tmp_path / "t.feather")
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    np.save(tmp_path / "t.npy", X)
    for name in ("t.parquet", "t.feather", "t.npz", "t.npy"):
        whole = (tmp_path / name).read_bytes()
        for keep in (10, len(whole) // 2, len(whole) - 1):
            assert "is cut short or damaged" in refusal(written(tmp_path, name, whole[:keep]))


def test_bad_arrays(tmp_path):
    path = tmp_path / "t.npy"
    for array, message in [
        (np.zeros(3), "holds an array of shape (3,): one with a row for each point is needed"),
        (np.zeros((0, 3)), "there are no points"),
        (np.array([["a", "b"]]), "numbers are needed; write tables as CSV"),
        (np.array([[1, "a"]], object), "holds Python objects, which are never loaded"),
        (np.array([[1, 2], [np.nan, 1]]), "column 1, row 2: nan is missing or infinite"),
    ]:
        np.save(path, array, allow_pickle=True)
        assert message in refusal(path)
    path = tmp_path / "t.npz"
    for arrays, message in [
        ({"X": X, "y": Y[:5]}, "has 30 points and targets of shape (5,)"),
        ({"X": X, "y": np.full(30, np.inf)}, "target, row 1: inf is missing or infinite"),
        ({"X": X, "y": np.array([{}] * 30)}, "holds Python objects"),
        ({"q": X, "r": Y}, "holds q, r: the points must be called X or data"),
        ({"X": X[:0], "y": Y[:0]}, "there are no points"),
    ]:
        np.savez(path, **arrays)
        assert message in refusal(path)
    np.savez(path, X=X, y=Y)
    assert "has 3 features, and 5 are needed" in refusal(path, n_features=5)


@pytest.mark.parametrize(
    "part",
    [
        {"indices": np.array([0, 7])},
        {"indptr": np.array([0, 5, 2])},
        {"shape": np.array([2, 10**15])},
        {"format": b"coo"},
    ],
)
def test_forged_sparse_archives(part, tmp_path):
    path = tmp_path / "t.npz"
    sound = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 2])}
    np.savez(path, **{**sound, "format": b"csr"})
    assert read_data(path, labelled=False).X.toarray().tolist() == [[1, 0], [0, 1]]
    np.savez(path, **{**sound, "format": b"csr", **part})
    refusal(path, labelled=False)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_bad_columnar_tables(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    for column, message in [
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "column 'a': holds dates or times (timestamp"),
        ([1.0, None], "column 'a', row 2: the value is missing"),
        ([1.0, np.inf], "column 'a', row 2: inf is not finite"),
        (["u", None], "column 'a', row 2: the value is missing"),
        (["u", "NA"], "column 'a', row 2: 'NA' stands for a missing value"),
        ([[1], [2]], "column 'a': holds values of type"),
        ([None, None], "column 'a': is empty"),
    ]:
        getattr(pd.DataFrame({"a": column, "y": [1, 2]}), f"to_{kind}")(path)
        assert message in refusal(path)
    table = pa.table({"a": pa.array([1.0, float("nan")]), "y": [1, 2]})
    pa.feather.write_feather(table, path) if kind == "feather" else pa.parquet.write_table(table, path)
    assert "column 'a', row 2: 'nan' stands for a missing value" in refusal(path)


def test_pyarrow_is_optional(tmp_path, monkeypatch):
    FRAME.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(tmp_path / "t.parquet") == (
        "t.parquet is a Parquet file, which needs pyarrow: pip install 'maxmargin[parquet]'."
    )


def test_bombs_fill_no_memory(tmp_path, monkeypatch):
    """A file that unpacks to a thousand times its size: zeros, one endless line, one endless quote."""
    monkeypatch.setattr("maxmargin.data.source.LINE_MAX_BYTES", 8 << 20)
    for name, piece, message in [
        ("zeros.csv.gz", b"\0" * (1 << 20), "zero byte"),
        ("line.csv.gz", b"1" * (1 << 20), "line 1: is longer than 8 MB"),
        ("line.svm.gz", b"1" * (1 << 20), "line 1: is longer than 8 MB"),
        ("quote.csv.gz", b'"' + b"x\n" * (1 << 19) + b"x", "a quote is out of place or not closed"),
    ]:
        path = tmp_path / name
        with gzip.open(path, "wb", 1) as file:
            for _ in range(30):
                file.write(piece)
        tracemalloc.start()
        assert message in refusal(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6


def test_more_than_memory_holds_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path, "t.csv", "a,b\n" + "1,2\n" * 100)
    monkeypatch.setattr("maxmargin.data.source.available_memory", lambda: 1e6)
    assert read_data(path).X.shape == (100, 1)
    with pytest.raises(DataFileError, match=r"does not fit into memory: 0.2 GB are read already; read it with read_ba"):
        Source(path).check_room(2e8)


# Standard input, options, and the rest


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"a,b\n1,2\n3,4\n", {}),
        (b"1 1:4\n", {}),
        (gzip.compress(b"a,b\n4,2\n", mtime=0), {}),
        (b"1\t3\n3\t4\n", {"format": "tsv"}),
    ],
)
def test_standard_input(content, options, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    data = read_data("-", **options)
    assert data.X.sum() == 4
    assert data.source == "standard input"


def test_binary_standard_input(tmp_path, monkeypatch):
    FRAME.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", FRAME.to_numpy())
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    for name in ("t.parquet", "t.npy", "t.npz"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
        assert np.array_equal(read_data("-").X, X)


def test_empty_or_closed_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(DataFileError, match="standard input is empty"):
        read_data("-")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataFileError, match="standard input is closed: give the name of a file"):
        read_data("-")


def test_options_are_checked(tmp_path):
    path = written(tmp_path, "t.csv", "a,b\n1,2\n")
    with pytest.raises(TypeError, match="header must be True or False"):
        read_data(path, header="yes")
    with pytest.raises(TypeError, match="zero_based must be True or False"):
        read_data(path, zero_based=2)
    with pytest.raises(ValueError, match="n_features must be >= 1"):
        read_data(path, n_features=0)
    with pytest.raises(TypeError, match="labelled must be True or False"):
        read_data(path, labelled=None)


def test_options_that_mean_nothing_are_refused(tmp_path):
    svm, table = written(tmp_path, "t.svm", "1 1:2\n"), written(tmp_path, "t.csv", "a,b\n1,2\n")
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    for read in (read_data, read_batches):
        with pytest.raises(DataFileError, match=r"t.svm has its targets at the beginning of each line"):
            read(svm, target="a")
        with pytest.raises(DataFileError, match=r"t.svm is no CSV file, so there is no header"):
            read(svm, header=True)
        with pytest.raises(DataFileError, match=r"t.csv is no svmlight file, so there are no indices"):
            read(table, zero_based=True)
    assert "has its targets beside the points" in refusal(tmp_path / "t.npz", target=0)


def test_data_is_frozen(tmp_path):
    data = read_data(written(tmp_path, "t.csv", "a,b\n1,2\n"))
    assert isinstance(data, Data)
    with pytest.raises(AttributeError):
        data.X = None
    assert data.source.endswith("t.csv")
    assert repr(data) == f"<1 points with 1 features, target 'b', from {data.source}>"


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 20), st.floats(0, 1), st.booleans(), st.integers(0, 2**32 - 1))
def test_svmlight_round_trip(tmp_path_factory, n, d, density, zero_based, seed):
    path = tmp_path_factory.mktemp("data") / "points.svm"
    draw = np.random.default_rng(seed)
    points = np.where(draw.random((n, d)) < density, draw.normal(size=(n, d)), 0.0)
    y = draw.normal(size=n)
    write_svmlight(points, y, path, zero_based=zero_based)
    again, targets = read_svmlight(path, n_features=d, zero_based=zero_based)
    oracle, _ = load_svmlight_file(str(path), n_features=d, zero_based=zero_based)
    assert np.array_equal(again.toarray(), points)
    assert np.array_equal(oracle.toarray(), points)
    assert np.array_equal(targets, y)


def test_random_changes(tmp_path):
    """Of 500 changed files, or as many as the environment asks for, each is read or refused."""
    count = int(os.environ.get("MAXMARGIN_FUZZ", 500))
    read = run(count, tmp_path, np.random.default_rng(count))
    assert 0 < read < count
