"""From collections to partitions: cuts, lengths, and errors that name the partition and the row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

import maxmargin

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
dd = pytest.importorskip("dask.dataframe")

from maxmargin.large_scale.dask import LinearSVC, NystroemSVR  # noqa: E402
from maxmargin.large_scale.dask.partitions import blocks_of, contiguous, cut, cut_like, is_collection, partition  # noqa: E402
from maxmargin.large_scale.dask.training import Moments, summary  # noqa: E402
from maxmargin.large_scale.rows.tiles import LinearRows  # noqa: E402

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.arange(60) % 2
X[:, 0] += Y


@pytest.fixture(scope="module", autouse=True)
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def blocks(values=X, chunks=25):
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


# Cuts


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 6))
def test_groups_hold_all_partitions_in_their_order(sizes, count):
    groups = contiguous(sizes, count)
    assert [i for group in groups for i in group] == list(range(len(sizes)))
    assert 1 <= len(groups) <= count
    totals = [sum(sizes[i] for i in group) for group in groups]
    assert max(totals) <= sum(sizes) / min(count, len(sizes)) + 2 * max(sizes)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 7))
def test_targets_are_cut_like_the_rows(lengths, chunk):
    n = sum(lengths)
    X, values = np.zeros((n, 2)), np.arange(n)
    if n == 0:
        return
    made = blocks_of(da.from_array(X, chunks=(tuple(lengths), 2)), "X")
    for form in (values, da.from_array(values, chunks=chunk)):
        parts, _ = cut_like(form, "y", made, lambda tasks: list(dask.compute(*tasks, scheduler="sync")))
        parts = dask.compute(*parts, scheduler="sync")
        assert [len(part) for part in parts] == lengths
        np.testing.assert_array_equal(np.concatenate(parts), values)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 8), st.booleans())
def test_rows_in_memory_are_cut_in_their_order(n, count, sparse):
    made = cut(sp.csr_matrix(X[:n]) if sparse else X[:n], count)
    parts = dask.compute(*made.parts, scheduler="sync")
    assert len(parts) == min(n, count)
    assert [part.shape[0] for part in parts] == list(made.lengths)
    assert max(made.lengths) - min(made.lengths) <= 1
    np.testing.assert_array_equal(np.concatenate([part.toarray() if sparse else part for part in parts]), X[:n])


def test_what_counts_as_a_collection(client):
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    assert is_collection(blocks())
    assert is_collection(frame)
    assert is_collection([dask.delayed(X)])
    assert is_collection([client.submit(np.zeros, (2, 3))])
    assert not any(map(is_collection, (X, [], [X], pd.DataFrame(X), dask.delayed(X), sp.csr_matrix(X))))
    assert not is_collection(db.from_sequence([1, 2]))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_moments_are_those_of_all_rows(sparse):
    weights = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    values = X + 100.0
    parts = [
        partition(i, sp.csr_matrix(values[at]) if sparse else values[at], Y[at], weights[at], 3, False)
        for i, at in enumerate(np.split(np.arange(60), [7, 7, 40]))
    ]
    moments = Moments.of([summary(part, False) for part in parts])
    repeated = np.repeat(values, weights.astype(int), axis=0)
    np.testing.assert_allclose(moments.mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.spread, repeated.std(axis=0), rtol=1e-8)
    assert moments.variance == pytest.approx(repeated.var(), rel=1e-8)
    assert moments.far() is not None
    assert sum(summary(part, False).used for part in parts) == np.count_nonzero(weights)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("constant", [None, 2.0])
def test_linear_rows(sparse, constant):
    shift = np.array([1.0, 2.0, 3.0])
    rows = LinearRows(sp.csr_matrix(X) if sparse else X, shift, constant)
    complete = X if sparse else X - shift  # sparse rows are not shifted
    if constant is not None:
        complete = np.column_stack((complete, np.full(60, constant)))
    at = np.array([3, 7])
    np.testing.assert_allclose(rows.picked(at), complete[at])
    assert rows.columns == complete.shape[1]


def test_memory_at_odd_addresses_is_copied():
    buffer = np.zeros(X.nbytes + 64, np.uint8)
    start = (8 - buffer.ctypes.data) % 16
    odd = buffer[start : start + X.nbytes].view(np.float64).reshape(X.shape)
    odd[:] = X
    made = partition(0, odd, Y, None, 3, False).X
    assert made.ctypes.data % 16 == 0
    np.testing.assert_array_equal(made, X)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert partition(0, frozen, Y, None, 3, False).X.flags.writeable
    assert partition(0, X, Y, None, 3, False).X is X


# Conventions


def test_conventions_of_scikit_learn():
    """With rows in memory, a model on a cluster is an estimator like any other."""
    found = check_estimator(LinearSVC(), on_fail="raise", on_skip=None)
    assert sum(check["status"] == "passed" for check in found) > 50


# Errors


def bad(row, value):
    values = X.copy()
    values[row, 1] = value
    return values


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((dask.delayed(X), Y), r"X must be a dask array.*got Delayed.*\[X\] if this is the only one"),
        (([X[:30], X[30:]], Y), r"got list\. Join its blocks, or make them delayed"),
        ((db.from_sequence([1, 2]), Y), r"got Bag\. Make it a dask array"),
        (("rows.csv", Y), "X must be a dask array.*got str"),
        ((bad(31, np.nan), Y), "Input X contains NaN"),
        ((X, Y[:50]), r"X has 60 rows and y has shape \(50,\)"),
        ((blocks(), dask.delayed(Y)), "y is a single Delayed.*: give its blocks as a list"),
        ((blocks(), np.where(np.arange(60) == 30, np.nan, Y)), r"Partition 1 of X: y contains NaN .*\(row 5 of the"),
        ((dd.from_pandas(pd.DataFrame(X), npartitions=2)[0], Y), "two dimensions.*got a dask Series of 1"),
        (
            (blocks(bad(31, np.nan)), Y),
            r"Partition 1 of X: Input X contains NaN(.|\n)*\(row 6 of the partition, column 1\)",
        ),
        ((blocks(bad(59, np.inf)), Y), r"Partition 2 of X: .*infinity(.|\n)*\(row 9 of the partition, column 1\)"),
        (
            ([dask.delayed(sp.csr_matrix(bad(31, np.nan)))], Y),
            r"Partition 0 of X: .*NaN(.|\n)*\(row 31 of the partition, column 1\)",
        ),
        ((blocks(), Y[:50]), r"X has 60 rows and y has shape \(50,\)"),
        (
            (blocks(), da.from_array(Y[:50], chunks=20)),
            r"X has 60 rows \(blocks of 25, 25, 10\) and y has 50 \(blocks of 20",
        ),
        ((blocks(), Y, np.ones(3)), r"X has 60 rows and sample_weight has shape \(3,\)"),
        ((blocks(), Y, np.where(np.arange(60) == 30, np.inf, 1.0)), r"Partition 1 of X: sample_weight\[5\] is inf"),
        ((blocks(), Y, np.where(np.arange(60) == 30, -np.inf, 1.0)), r"Partition 1 of X: sample_weight\[5\] is -inf"),
        ((blocks(), Y, np.full(60, -1.0)), "all samples have zero or negative weights. sample_weight leaves nothing"),
        ((blocks(), Y, np.zeros(60)), "all samples have zero"),
        ((blocks(), None), "requires y"),
        ((blocks(), np.zeros(60)), "got 1 class"),
        ((blocks(), X[:, 0]), "(?i)continuous"),
        ((blocks(), np.array(["a", 1] * 30, dtype=object)), "(?i)(mixes labels|not supported between)"),
        ((blocks(), np.array(["a", None] * 30, dtype=object)), "Partition 0 of X: y contains a missing value"),
        ((da.zeros(60, chunks=20), Y), "two dimensions"),
        ((da.zeros((0, 3)), np.empty(0)), "0 sample"),
        (
            ([dask.delayed(X[:30]), dask.delayed(X[30:, :2])], Y),
            "Partition 1 of X: it has 2 columns, and 3 were expected",
        ),
        (
            ([dask.delayed(X[:30]), dask.delayed(X[30:])], [dask.delayed(Y[:29]), dask.delayed(Y[29:])]),
            "Partition 0 of X: it has 30 rows, and the same partition of y has 29",
        ),
    ],
    ids=range(28),
)
def test_errors_name_the_cause(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LinearSVC().fit(*given)


@pytest.mark.parametrize("left_out", [[30], range(25, 50), [30, 55]], ids=["a row", "a partition", "of two partitions"])
def test_rows_of_negative_weight_are_left_out_and_named_by_the_client(left_out):
    weights = np.ones(60)
    weights[left_out] = -1.0
    rows = rf"^Partition 1 of X: sample_weight\[{left_out[0] - 25}\] is -1: .* left out, {len(left_out)} of 60\.$"
    with pytest.warns(UserWarning, match=rows) as caught:
        model = LinearSVC(tol=1e-8).fit(blocks(), Y, weights)
    assert [one.filename for one in caught] == [__file__]
    zero = LinearSVC(tol=1e-8).fit(blocks(), Y, np.maximum(weights, 0.0))
    np.testing.assert_array_equal(model.coef_, zero.coef_)


def test_text_columns_are_refused_by_name():
    frame = pd.DataFrame({"age": np.arange(60.0), "city": ["Rome", "Oslo"] * 30})
    with pytest.raises(ValueError, match=r"Column 'city' of X has dtype .*TableEncoder"):
        LinearSVC().fit(dd.from_pandas(frame, npartitions=3), Y)
    with pytest.raises(ValueError, match=r"X contains text in column 'city' \(first value 'Rome'\).*TableEncoder"):
        LinearSVC().fit(frame, Y)


def test_targets_of_a_regression_are_numbers():
    with pytest.raises(
        ValueError, match=r"Partition 0 of X: y contains text \(first value 'a'\).*regression needs numbers"
    ):
        NystroemSVR(n_components=5).fit(blocks(), np.array(["a", "b"] * 30))
    with pytest.raises(ValueError, match="one dimension"):
        NystroemSVR(n_components=5).fit(blocks(), blocks())
    with pytest.raises(ValueError, match=r"Partition 2 of X: .*NaN"):
        NystroemSVR(n_components=5).fit(blocks(), np.where(np.arange(60) == 55, np.nan, 1.0))


# Tables of several types


def mixed():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "single": X[:, 0].astype(np.float32),
            "double": X[:, 1],
            "count": rng.integers(0, 9, 60),
            "flag": rng.random(60) > 0.5,
            "Count": pd.array(rng.integers(0, 5, 60), dtype="Int64"),
            "Double": pd.array(X[:, 2], dtype="Float64"),
            "Flag": pd.array(rng.random(60) > 0.5, dtype="boolean"),
        }
    )


LABELS = pd.Series(np.array(["no", "yes"])[Y])


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category"])
def test_columns_of_many_types_and_labels_of_any(dtype):
    frame, labels = mixed(), LABELS.astype(dtype)
    local = maxmargin.LinearSVC(tol=1e-13).fit(frame, LABELS)
    table, target = (dd.from_pandas(one, npartitions=4) for one in (frame, labels.rename("y")))
    for rows, y in ((table, target), (table, labels), (frame, labels), (table, target.to_frame())):
        model = LinearSVC().fit(rows, y, dd.from_pandas(pd.Series(np.ones(60)).astype("Int64"), npartitions=3))
        np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-8)
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.predict(table).compute().tolist() == local.predict(frame).tolist()


@pytest.mark.parametrize(("column", "missing"), [("double", np.nan), ("Count", pd.NA), ("Flag", pd.NA)], ids=str)
def test_a_missing_value_is_named_by_partition_row_and_column(column, missing):
    frame = mixed()
    frame.loc[47, column] = missing
    expected_message = rf"Partition 3 of X: .*NaN(.|\n)*\(row 2 of the partition, column '{column}'\)"
    with pytest.raises(ValueError, match=expected_message):
        LinearSVC().fit(dd.from_pandas(frame, npartitions=4), Y)


@pytest.mark.parametrize("dtype", ["string", "category"])
def test_a_missing_label_is_named(dtype):
    labels = LABELS.astype(dtype)
    labels[47] = pd.NA if dtype == "string" else None
    with pytest.raises(ValueError, match=r"Partition 3 of X: y contains a missing value \(row 2 of the partition\)"):
        LinearSVC().fit(dd.from_pandas(mixed(), npartitions=4), dd.from_pandas(labels, npartitions=4))


def test_lists_of_tables_and_of_futures(client):
    """Blocks of a list keep their columns' names."""
    frame = mixed()
    local = maxmargin.LinearSVC(tol=1e-13).fit(frame, Y)
    pieces = [frame[:20], frame[20:]]
    for blocks in ([dask.delayed(piece) for piece in pieces], client.scatter(pieces)):
        model = LinearSVC().fit(blocks, Y)
        np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-8)
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        found = dask.compute(*model.predict(blocks))
        np.testing.assert_array_equal(np.concatenate(found), local.predict(frame))


def test_data_that_is_held_on_workers_is_used_where_it_is(client):
    held = blocks(chunks=10).persist()
    distributed.wait(held)
    model = LinearSVC().fit(held, da.from_array(Y, chunks=10))
    np.testing.assert_allclose(model.coef_, LinearSVC().fit(blocks(), Y).coef_, atol=1e-8)
    assert model.traffic_.partitions == 6


def test_tables_with_columns_in_another_order_are_refused():
    from maxmargin.large_scale.dask.partitions import check_names

    check_names([None, ("a", "b"), None, ("a", "b")])
    with pytest.raises(
        ValueError, match=r"Partition 2 of X has the columns \['b', 'a'\], and partition 0 has \['a', 'b'\]"
    ):
        check_names([("a", "b"), None, ("b", "a")])
