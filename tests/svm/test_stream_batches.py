"""Batches of a data file: together they are the file, with the same errors, and memory holds one of them."""

from __future__ import annotations

import gzip
import io
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.data.table_encoder import TableEncoder
from maxmargin.io import Batches, DataFileError, read_batches, read_data, write_svmlight

pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
X = np.where(rng.random((103, 4)) < 0.7, rng.normal(size=(103, 4)), 0.0)
Y = rng.integers(0, 3, 103).astype(float)
FRAME = pd.DataFrame(np.column_stack([X, Y]), columns=["a", "b", "c", "d", "label"])
WORDS = np.array(["red", "green", "blue"])[rng.integers(0, 3, 103)]
NAMES = ["points.csv", "points.tsv", "points.csv.gz", "points.parquet", "points.feather", "points.npy", "points.svm"]


def written(folder, name, frame=FRAME):
    path = folder / name
    if name.endswith(".parquet"):
        frame.to_parquet(path, row_group_size=17)
    elif name.endswith(".feather"):
        frame.to_feather(path, chunksize=17)
    elif name.endswith(".npy"):
        np.save(path, frame.to_numpy())
    elif name.endswith(".svm"):
        write_svmlight(X, Y, path)
    else:
        frame.to_csv(path, index=False, sep="\t" if name.endswith(".tsv") else ",")
    return path


def dense(points):
    return points.toarray() if sp.issparse(points) else points


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 10, 103, 1000])
def test_batches_are_the_file(name, size, tmp_path):
    path = written(tmp_path, name)
    batches = read_batches(path, size)
    whole = read_data(path)
    for _ in range(2):  # each iteration starts anew
        parts = list(batches)
        lengths = [part.shape[0] for part, _ in parts]
        assert lengths == [size] * (103 // size) + ([103 % size] if 103 % size else [])
        assert np.array_equal(np.vstack([dense(part) for part, _ in parts]), dense(whole.X))
        assert np.array_equal(np.concatenate([y for _, y in parts]), whole.y)
    assert batches.n_features == 4
    assert batches.columns == whole.columns
    assert batches.target == whole.target
    assert isinstance(batches, Batches)
    assert repr(batches) == f"<batches of {size} from {path}>"


def test_two_iterations_at_once(tmp_path):
    batches = read_batches(written(tmp_path, "points.csv"), 10)
    for (first, _), (second, _) in zip(batches, batches, strict=True):
        assert np.array_equal(first, second)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 200))
def test_blocks_and_batches_need_not_agree(tmp_path_factory, n, size, block):
    path = tmp_path_factory.mktemp("data") / "points.csv"
    FRAME[:n].to_csv(path, index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maxmargin.data.source.Source._piece.__defaults__", (block,))
        parts = list(read_batches(path, size))
    assert all(len(part) == size for part, _ in parts[:-1])
    assert np.array_equal(np.vstack([part for part, _ in parts]), X[:n])


def test_without_targets(tmp_path):
    path = tmp_path / "new.csv"
    FRAME.drop(columns="label").to_csv(path, index=False)
    assert all(y is None for _, y in read_batches(path, 50, labelled=False))
    parts = list(read_batches(path, 50, labelled=False, columns=["d", "a"]))
    assert np.array_equal(np.vstack([part for part, _ in parts]), X[:, [3, 0]])
    svm = tmp_path / "new.svm"
    svm.write_text("1:2 3:4\n2:1\n")
    assert all(y is None for _, y in read_batches(svm, 1, labelled=False))


def test_labels_are_strings(tmp_path):
    path = written(tmp_path, "points.csv", FRAME.assign(label=WORDS))
    labels = np.concatenate([y for _, y in read_batches(path, 20)])
    assert labels.dtype.kind == "U"
    assert np.array_equal(labels, WORDS)


def test_svmlight_options(tmp_path):
    path = tmp_path / "points.svm"
    path.write_text("1 1:2\n-1 3:4\n1 0:5\n")  # the last line says that columns count from 0
    assert [dense(part).tolist() for part, _ in read_batches(path, 1)] == [
        [[0, 2, 0, 0]],
        [[0, 0, 0, 4]],
        [[5, 0, 0, 0]],
    ]
    assert read_batches(path, 1, n_features=9).n_features == 9
    with pytest.raises(DataFileError, match=r"points.svm, line 2: the index 3 is beyond the 3 columns"):
        read_batches(path, 1, n_features=3)
    batches = read_batches(path, 1, n_features=3, zero_based=True)  # no first pass: the error comes with the batch
    with pytest.raises(DataFileError, match=r"points.svm, line 2: the index 3 is beyond the 3 columns"):
        list(batches)
    with pytest.raises(DataFileError, match=r"line 3: '1 0:5': Invalid index 0"):
        list(read_batches(path, 1, n_features=3, zero_based=False))
    path.write_text("# nothing\n")
    with pytest.raises(DataFileError, match="holds no points"):
        read_batches(path)


@pytest.mark.parametrize("name", NAMES[:4])
def test_errors_name_the_place_in_the_file(name, tmp_path):
    frame = FRAME.copy()
    frame.loc[90, "c"] = np.nan
    batches = read_batches(written(tmp_path, name, frame), 10)
    place = "row 91" if name.endswith(".parquet") else "line 92"
    read = []
    with pytest.raises(DataFileError, match=f"column 'c', {place}: .*missing"):
        read.extend(part for part, _ in batches)
    with pytest.raises(DataFileError, match=f"column 'c', {place}: .*missing"):
        read_data(tmp_path / name)


def test_text_columns_need_an_encoder(tmp_path):
    frame = FRAME.assign(b=WORDS)
    path = written(tmp_path, "points.csv", frame)
    with pytest.raises(DataFileError, match=r"column 'b': holds text: fit a TableEncoder .* and give it as encoder"):
        read_batches(path)
    data = read_data(path)
    encoder = TableEncoder(data.columns).fit(data.X)
    batches = read_batches(path, 10, encoder=encoder)
    assert np.array_equal(np.vstack([part for part, _ in batches]), encoder.transform(data.X))
    assert batches.n_features == 6
    late = written(tmp_path, "late.csv", frame.assign(d=[*X[:100, 3], "abc", 1, 2]))
    for options in ({"encoder": encoder}, {"encoder": None, "columns": ["a", "c", "d"], "target": "label"}):
        with pytest.raises(DataFileError, match=r"column 'd', line 102: 'abc' is not a number: .* needs an encoder"):
            list(read_batches(late, 10, **options))
    unknown = written(tmp_path, "unknown.csv", FRAME.assign(b=[*WORDS[:100], "pink", *WORDS[101:]]))
    with pytest.raises(
        DataFileError, match=r"unknown.csv among rows 101 to 103: X, column 'b', row 0: the category 'pink'"
    ):
        list(read_batches(unknown, 20, encoder=encoder))


def test_codes_are_words_to_an_encoder_that_knows_them_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code,y\n01,1\n02,0\n")
    encoder = TableEncoder(["code"]).fit(np.array([["01"], ["02"], ["red"]], object))
    assert np.vstack([part for part, _ in read_batches(path, 1, encoder=encoder)]).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_standard_input_can_be_read_again(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,2\n3,4\n5,6\n")))
    batches = read_batches("-", 2)
    for _ in range(2):
        assert [part.tolist() for part, _ in batches] == [[[1], [3]], [[5]]]


def test_archives_are_refused(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    with pytest.raises(DataFileError, match=r"store the array as .npy"):
        read_batches(tmp_path / "t.npz")
    with pytest.raises(ValueError, match="batch_size must be >= 1"):
        read_batches(tmp_path / "t.npz", 0)


@pytest.mark.parametrize("name", ["points.csv.gz", "points.svm", "points.npy", "points.parquet"])
def test_memory_holds_one_batch(name, tmp_path, monkeypatch):
    """A file eight times as long takes no more memory."""
    monkeypatch.setattr("maxmargin.data.source.Source._piece.__defaults__", (1 << 14,))
    monkeypatch.setattr("maxmargin.data.arrays.BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr("maxmargin.data.columnar.CHUNK_MAX_ROWS", 500)
    peaks = []
    for n in (2000, 16_000):
        path = tmp_path / name
        if name == "points.npy":
            np.save(path, np.ones((n, 10)))
        elif name == "points.parquet":
            pd.DataFrame(np.ones((n, 10)), columns=[*"abcdefghij"]).to_parquet(path, row_group_size=1000)
        elif name == "points.svm":
            path.write_bytes((b"1 " + b" ".join(b"%d:1" % i for i in range(1, 10)) + b"\n") * n)
        else:
            path.write_bytes(gzip.compress((b",".join([b"1"] * 10) + b"\n") * n))
        batches = read_batches(path, 100)
        assert next(iter(batches))[0].shape == (100, 9)
        tracemalloc.start()
        assert sum(part.shape[0] for part, _ in batches) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 1e5
    assert peaks[1] < 8 * 10 * 16_000
