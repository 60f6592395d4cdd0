"""Every form in which people have their data: the same model from each, without a copy where none is needed."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import load_iris

from maxmargin import SVC, SVR, LinearSVC, NystroemSVC, OneClassSVM
from maxmargin.runtime.validation import check_new_points, check_training, check_training_points

_, Y = load_iris(return_X_y=True)
X = np.round(load_iris().data * 10)  # integers that fit any of the types
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
CLASSIFIERS = [SVC(), LinearSVC(max_iter=10**5), NystroemSVC(n_components=30, random_state=0)]
EXPECTED = {type(model).__name__: sklearn.base.clone(model).fit(X, Y).decision_function(X) for model in CLASSIFIERS}


def check(model, form, targets=Y):
    fitted = sklearn.base.clone(model).fit(form, targets)
    np.testing.assert_allclose(
        fitted.decision_function(form), EXPECTED[type(model).__name__], atol=2e-3 * np.abs(X).max()
    )
    assert fitted.predict(form).shape == (150,)
    return fitted


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "longdouble", "O"]
)
def test_number_types(model, dtype):
    check(model, X.astype(dtype))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_booleans(model):
    assert sklearn.base.clone(model).fit(X > 30, Y).predict(X > 30).shape == (150,)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "form",
    ["Int64", "Float32", "int64[pyarrow]", "double[pyarrow]", "object", pd.SparseDtype("float64", 0.0)],
    ids=str,
)
def test_pandas_columns(model, form):
    table = FRAME.astype(form)
    fitted = check(model, table)
    assert list(fitted.feature_names_in_) == ["a", "b", "c", "d"]
    for labels in ("Int64", "int64[pyarrow]", "category", "object"):
        check(model, table, pd.Series(Y).astype(labels))


@pytest.mark.parametrize("form", ["boolean", "bool[pyarrow]"])
def test_nullable_booleans(form):
    table = (FRAME > 30).astype(form)
    np.testing.assert_array_equal(SVC().fit(table, Y).predict(table), SVC().fit(X > 30, Y).predict(X > 30))


def test_nullable_targets():
    expected = SVR().fit(X, X[:, 0]).predict(X)
    for form in ("Float64", "double[pyarrow]"):
        np.testing.assert_allclose(SVR().fit(X, pd.Series(X[:, 0]).astype(form)).predict(X), expected)
    texts = pd.Series(Y).map({0: "a", 1: "b", 2: "c"})
    for kind in ("string", "category", "string[pyarrow]"):
        assert set(SVC().fit(X, texts.astype(kind)).predict(X)) == {"a", "b", "c"}


def test_polars():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(FRAME.to_dict("list"))
    for model in CLASSIFIERS:
        assert list(check(model, table, polars.Series(Y)).feature_names_in_) == ["a", "b", "c", "d"]
    wrong = {
        r"NaN in row 0, column 'b'": polars.lit(None, polars.Float64),
        r"text in column 'b' \(first value 'x'\). Encode it with TableEncoder": polars.lit("x"),
        r"categories in column 'b'": polars.lit("x").cast(polars.Categorical),
        r"dates in column 'b' \(first value datetime.date\(2020, 1, 2\)\)": polars.date(2020, 1, 2),
    }
    for message, column in wrong.items():
        with pytest.raises(ValueError, match=message):
            SVC().fit(table.with_columns(b=column), Y)


def test_arrow_tables():
    arrow = pytest.importorskip("pyarrow")
    check(SVC(), arrow.table(FRAME.to_dict("list")))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix], ids=["array", "matrix"])
@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix:scipy.sparse.SparseEfficiencyWarning")
def test_sparse_layouts(model, layout, kind):
    check(model, kind(X).asformat(layout))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_sparse_indices_and_values(model):
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    check(model, S)
    for dtype in ("int8", "uint8", "int64", "float32"):
        check(model, sp.csr_array(X).astype(dtype))
    shuffled = sp.csr_array(X)
    shuffled.indices, shuffled.data = shuffled.indices.copy(), shuffled.data.copy()
    shuffled.indices[:4], shuffled.data[:4] = shuffled.indices[3::-1].copy(), shuffled.data[3::-1].copy()
    shuffled.has_sorted_indices = False
    check(model, shuffled)
    np.testing.assert_array_equal(shuffled.indices[:4], [3, 2, 1, 0])  # the user's matrix stays as it was


@pytest.mark.parametrize("model", [*CLASSIFIERS, OneClassSVM()], ids=lambda model: type(model).__name__)
def test_read_only_data(model):
    points, labels, weights = X.copy(), Y.copy(), np.ones(150)
    S = sp.csr_array(X)
    for array in (points, labels, weights, S.data, S.indices, S.indptr):
        array.flags.writeable = False
    for form in (points, S):
        sklearn.base.clone(model).fit(form, labels, sample_weight=weights).predict(form)
    np.testing.assert_array_equal(points, X)


def test_memory_maps(tmp_path):
    np.save(tmp_path / "points.npy", X)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    for model in CLASSIFIERS:
        check(model, mapped)
    assert np.shares_memory(check_training_points(SVC(), mapped), mapped)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_needless_copies(dtype):
    points, estimator = X.astype(dtype), SVC()
    points.flags.writeable = False
    assert check_training(estimator, points, Y)[0] is points
    assert check_training(estimator, points, Y)[1] is Y
    assert check_training_points(estimator, points) is points
    fitted = SVC().fit(points, Y)
    assert check_new_points(fitted, points) is points
    S = sp.csr_array(points)
    assert check_training_points(estimator, S).data is S.data
    frame = pd.DataFrame(points, columns=list("abcd"), copy=False)
    back = check_training_points(estimator, np.asfortranarray(points))
    assert back.flags.c_contiguous
    assert check_training_points(estimator, frame).dtype == dtype


class ForeignArray:
    """An array of another library, as the array API standard describes it."""

    def __init__(self, values):
        self._values, self.shape, self.dtype, self.ndim = values, values.shape, values.dtype, values.ndim

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        return self._values

    def __len__(self):
        return len(self._values)


@pytest.mark.parametrize(
    "dispatch",
    [
        False,
        pytest.param(True, marks=pytest.mark.skipif("SCIPY_ARRAY_API" not in os.environ, reason="SciPy has it off")),
    ],
)
def test_arrays_of_other_libraries(dispatch):
    points, labels = ForeignArray(X), ForeignArray(Y)
    context = sklearn.config_context(array_api_dispatch=True) if dispatch else sklearn.config_context()
    with context:
        for model in CLASSIFIERS:
            check(model, points, labels)
    assert np.shares_memory(check_training_points(SVC(), points), X)


class BareTensor:
    """A tensor that offers its memory by DLPack, and nothing else."""

    def __init__(self, values):
        self.__dlpack__, self.__dlpack_device__ = values.__dlpack__, values.__dlpack_device__


def test_arrays_that_only_offer_dlpack():
    for model in CLASSIFIERS:
        check(model, BareTensor(X), Y)
    assert np.shares_memory(check_training_points(SVC(), BareTensor(X)), X)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    points, labels = torch.tensor(X), torch.tensor(Y)
    for model in CLASSIFIERS:
        check(model, points, labels)
    check(SVC(), points.clone().requires_grad_(), labels)
    assert np.shares_memory(check_training_points(SVC(), points), points.numpy())


@pytest.mark.parametrize(
    "given",
    [
        {"degree": -1},
        {"coef0": float("nan")},
        {"coef0": "a"},
        {"kernel": "linear", "gamma": -1.0},
        {"kernel": "linear", "gamma": "foo"},
        {"kernel": "precomputed", "gamma": -1.0},
    ],
)
def test_values_that_no_kernel_accepts_are_refused_although_this_one_does_not_read_them(given):
    with pytest.raises((ValueError, TypeError), match=f"{list(given)[-1]} must be (?! )"):
        SVC(**given).fit(np.eye(4), [0, 1, 0, 1])
