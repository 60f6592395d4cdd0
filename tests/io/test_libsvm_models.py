"""LIBSVM's models in both directions, against LIBSVM itself."""

from __future__ import annotations

import ctypes
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from maxmargin import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from maxmargin.io import (
    ModelFileError,
    load,
    read_libsvm_model,
    read_svmlight,
    save,
    write_libsvm_model,
    write_svmlight,
)
from maxmargin.kernels import RBF, Linear, Polynomial

svmutil = pytest.importorskip("libsvm.svmutil")

rng = np.random.default_rng(3)
X = rng.normal(size=(80, 3))
NEW = rng.normal(size=(100, 3))
Y3 = np.array([4, -2, 9])[rng.integers(0, 3, 80)]
Y5 = np.array([4, -2, 9, 0, 7])[rng.integers(0, 5, 80)]
Y2 = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 3, -5)
T = X[:, 0] - X[:, 1] ** 2

KERNELS = {
    "linear": ("-t 0", {"kernel": "linear"}),
    "poly": ("-t 1 -d 2 -g 0.5 -r 1", {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}),
    "rbf": ("-t 2 -g 0.7", {"kernel": "rbf", "gamma": 0.7}),
    "sigmoid": ("-t 3 -g 0.1 -r -0.5", {"kernel": "sigmoid", "gamma": 0.1, "coef0": -0.5}),
}
ESTIMATORS = {
    "two classes": ("-s 0", SVC, {}, Y2),
    "three classes": ("-s 0", SVC, {}, Y3),
    "five classes": ("-s 0", SVC, {}, Y5),
    "nu": ("-s 1 -n 0.2", NuSVC, {"nu": 0.2}, Y3),
    "nu, two classes": ("-s 1 -n 0.2", NuSVC, {"nu": 0.2}, Y2),
    "one class": ("-s 2 -n 0.2", OneClassSVM, {"nu": 0.2}, None),
    "regression": ("-s 3 -p 0.1", SVR, {"epsilon": 0.1}, T),
    "nu regression": ("-s 4 -n 0.5", NuSVR, {"nu": 0.5}, T),
}


@pytest.fixture(autouse=True)
def one_thread():
    """LIBSVM's threads wait for each other, which takes long where other work is going on."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.model"


def trained(options, y, points=X):
    """A model of LIBSVM."""
    y = np.ones(len(points)) if y is None else y
    return svmutil.svm_train(svmutil.svm_problem(y, points), svmutil.svm_parameter(f"{options} -q -e 0.0001"))


def predicted(model, points=NEW):
    """LIBSVM's labels and decision values. (Its own ``svmutil.svm_predict`` has room for one value only where a nu_svc
    model of k classes has k (k - 1) / 2, and writes beyond it.)"""
    k = model.get_nr_class()
    values = (ctypes.c_double * max(1, k * (k - 1) // 2))()
    labels, decision = [], []
    for point in points:
        nodes, _ = svmutil.gen_svm_nodearray(point, isKernel=model.param.kernel_type == 4)
        labels.append(svmutil.libsvm.svm_predict_values(model, nodes, values))
        decision.append(list(values))
    return np.array(labels), np.array(decision)


def in_our_order(estimator, model, values):
    """LIBSVM's values of the pairs, which are in the order of its labels, as ours."""
    if not hasattr(estimator, "classes_"):
        return values.ravel()
    labels = model.get_labels()
    if len(labels) == 2:
        return values.ravel() * (1 if labels[0] == estimator.classes_[1] else -1)
    of = {}
    column = 0
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            of[labels[i], labels[j]], of[labels[j], labels[i]] = values[:, column], -values[:, column]
            column += 1
    classes = estimator.classes_.tolist()
    return np.column_stack([of[a, b] for i, a in enumerate(classes) for b in classes[i + 1 :]])


def decisions(estimator, points=NEW):
    if isinstance(estimator, (SVR, NuSVR)):
        return estimator.predict(points)
    return estimator.set_params(
        **({"decision_function_shape": "ovo"} if hasattr(estimator, "classes_") else {})
    ).decision_function(points)


def rounding(estimator):
    """What values may differ by when the same terms are added up in another order."""
    return 1e-14 * (100 + np.abs(estimator._expansion.coefficients).sum())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_reading_what_libsvm_wrote(estimator, kernel, path):
    options, kind, _, y = ESTIMATORS[estimator]
    model = trained(f"{options} {KERNELS[kernel][0]}", y)
    svmutil.svm_save_model(str(path), model)
    again = read_libsvm_model(path)
    assert type(again) is kind
    labels, values = predicted(svmutil.svm_load_model(str(path)))
    np.testing.assert_allclose(decisions(again), in_our_order(again, model, values), 1e-9, rounding(again) * 100)
    np.testing.assert_allclose(again.predict(NEW), labels, rtol=1e-9, atol=1e-9)
    assert again.n_support_.sum() == len(again.support_vectors_) == model.get_nr_sv()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_writing_for_libsvm(estimator, kernel, path):
    _, kind, parameters, y = ESTIMATORS[estimator]
    ours = kind(**parameters, **KERNELS[kernel][1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours.fit(X, *([] if y is None else [y]))
    write_libsvm_model(ours, path)
    model = svmutil.svm_load_model(str(path))
    labels, values = predicted(model)
    np.testing.assert_allclose(decisions(ours), in_our_order(ours, model, values), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.predict(NEW), labels, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_there_and_back(estimator, path):
    _, kind, parameters, y = ESTIMATORS[estimator]
    ours = kind(**parameters).fit(X, *([] if y is None else [y]))
    write_libsvm_model(ours, path)
    again = read_libsvm_model(path)
    assert np.array_equal(again.support_vectors_, ours.support_vectors_)
    assert np.array_equal(again.dual_coef_, ours.dual_coef_)
    assert np.array_equal(again.intercept_, ours.intercept_)
    assert np.array_equal(again.n_support_, ours.n_support_)
    np.testing.assert_allclose(decisions(again), decisions(ours), rtol=1e-12, atol=1e-12)
    second = path.with_name("b.model")
    write_libsvm_model(again, second)
    assert second.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("first", [3, -5])
def test_two_classes_whichever_came_first(first, path):
    order = np.r_[np.flatnonzero(first == Y2), np.flatnonzero(first != Y2)]
    model = trained("-s 0 -t 2 -g 0.7", Y2[order], X[order])
    assert model.get_labels()[0] == first
    svmutil.svm_save_model(str(path), model)
    again = read_libsvm_model(path)
    assert again.classes_.tolist() == [-5, 3]
    assert ((again.decision_function(NEW) > 0) == (again.predict(NEW) == 3)).all()
    ours = SVC(gamma=0.7, tol=1e-4).fit(X, Y2)
    np.testing.assert_allclose(again.decision_function(NEW), ours.decision_function(NEW), atol=2e-3)
    assert again.n_support_.tolist() == [np.sum(again.dual_coef_ < 0), np.sum(again.dual_coef_ > 0)]


def test_ties_go_to_the_class_that_libsvm_met_first(path):
    """Three models that vote in a circle: LIBSVM takes the first of its labels."""
    head = ["svm_type c_svc", "kernel_type linear", "nr_class 3", "total_sv 0", "rho -1 1 -1", "label 8 2 5"]
    path.write_text("\n".join([*head, "nr_sv 0 0 0", "SV", ""]))
    again = read_libsvm_model(path, n_features=1)
    assert predicted(svmutil.svm_load_model(str(path)), [[1.0]])[0] == [8]
    assert again.predict([[1.0]]) == [8]
    write_libsvm_model(again, path)
    assert read_libsvm_model(path, n_features=1).predict([[1.0]]) == [8]


@pytest.mark.parametrize("y", [Y2, Y3, T])
def test_precomputed_kernels(y, path):
    K, new = X @ X.T, NEW @ X.T
    kind, option = (SVR, "-s 3") if y is T else (SVC, "-s 0")
    numbered = [{0: i + 1, **dict(enumerate(row.tolist(), 1))} for i, row in enumerate(K)]
    new_numbered = [{0: i + 1, **dict(enumerate(row.tolist(), 1))} for i, row in enumerate(new)]
    problem = svmutil.svm_problem(y.tolist(), numbered, isKernel=True)
    model = svmutil.svm_train(problem, svmutil.svm_parameter(f"{option} -t 4 -q"))
    svmutil.svm_save_model(str(path), model)
    again = read_libsvm_model(path, n_features=len(X))
    labels, values = predicted(svmutil.svm_load_model(str(path)), new_numbered)
    np.testing.assert_allclose(again.predict(new), labels, atol=1e-9)
    np.testing.assert_allclose(decisions(again, new), in_our_order(again, model, values), atol=1e-9)
    ours = kind(kernel="precomputed").fit(K, y)
    write_libsvm_model(ours, path)
    assert np.array_equal(read_libsvm_model(path, n_features=80).support_, ours.support_)
    model = svmutil.svm_load_model(str(path))
    labels, values = predicted(model, new_numbered)
    np.testing.assert_allclose(decisions(ours, new), in_our_order(ours, model, values), atol=1e-9)


def test_sparse_points(path):
    points = sp.random_array((60, 40000), density=0.001, rng=2, format="csr")
    estimator = SVC(kernel="linear").fit(points, Y3[:60])
    write_libsvm_model(estimator, path)
    again = read_libsvm_model(path, n_features=40000)
    assert sp.issparse(again.support_vectors_)
    np.testing.assert_allclose(decisions(again, points), decisions(estimator, points), atol=1e-12)
    assert read_libsvm_model(path).n_features_in_ <= 40000
    with pytest.raises(ModelFileError, match=r"uses column .*; got n_features=5"):
        read_libsvm_model(path, n_features=5)


def test_a_class_without_weight(path):
    estimator = SVC(class_weight={4: 0.0}).fit(X, Y5)
    write_libsvm_model(estimator, path)
    assert np.array_equal(predicted(svmutil.svm_load_model(str(path)))[0], estimator.predict(NEW))


def test_models_with_probabilities(path):
    model = trained("-s 0 -b 1", Y2)
    svmutil.svm_save_model(str(path), model)
    with pytest.warns(UserWarning, match="has probability estimates .probA, probB., which are left out"):
        again = read_libsvm_model(path)
    np.testing.assert_allclose(again.predict(NEW), predicted(model)[0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_model_that_was_read_can_be_saved(estimator, path):
    options, _, _, y = ESTIMATORS[estimator]
    svmutil.svm_save_model(str(path), trained(options, y))
    again = read_libsvm_model(path)
    save(again, path.with_suffix(".mm"))
    assert np.array_equal(decisions(load(path.with_suffix(".mm"))), decisions(again))


def test_windows_lines_and_a_byte_order_mark(path):
    write_libsvm_model(SVC().fit(X, Y3), path)
    plain = read_libsvm_model(path).predict(NEW)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert np.array_equal(read_libsvm_model(path).predict(NEW), plain)


# What LIBSVM does not have


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SVC(kernel="laplacian").fit(X, Y3), r"LIBSVM has no kernel Laplacian.*it has linear, polynomial, rbf"),
        (SVC(kernel=RBF() + Linear()).fit(X, Y3), r"LIBSVM has no kernel Sum"),
        (SVC(kernel=Polynomial(1.5, coef0=50.0)).fit(X, Y3), r"integer degrees; this one has degree=1\.5"),
        (SVC(multiclass="ovr").fit(X, Y3), r"one-vs-one models only; this one has multiclass='ovr'"),
        (SVC(multiclass="crammer_singer").fit(X, Y3), r"multiclass='crammer_singer'"),
        (SVC().fit(X, np.where(Y2 > 0, "a", "b")), r"labels are integers; these are \['a', 'b'\] of type <U1"),
        (SVC().fit(X, Y2 > 0), r"labels are integers; these are \[False, True\] of type bool"),
        (SVC().fit(X, Y2 * 10**10), r"labels are integers"),
        (KernelRidge().fit(X, T), r"LIBSVM has no KernelRidge: it has SVC, NuSVC, OneClassSVM, SVR, NuSVR"),
        (SVC(), r"This SVC is not fitted"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(repr(value).split()),
)
def test_what_libsvm_does_not_have_is_refused_by_name(estimator, message, path):
    with pytest.raises(ModelFileError, match=message):
        write_libsvm_model(estimator, path)
    assert not path.exists()


def test_labels_that_are_whole_floats(path):
    write_libsvm_model(SVC().fit(X, Y2.astype(float)), path)
    assert read_libsvm_model(path).classes_.tolist() == [-5, 3]


# Strictness

GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:1
-1 2:2
"""


def test_the_good_one(path):
    path.write_text(GOOD)
    assert read_libsvm_model(path).n_features_in_ == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GOOD, "", "is empty"),
        ("svm_type c_svc", "svm_type svc", "line 1: svm_type is 'svc'"),
        ("svm_type c_svc\n", "", "line 8: there is no line svm_type"),
        ("kernel_type rbf", "kernel_type tanh", "line 2: kernel_type is 'tanh'"),
        ("gamma 0.5\n", "", "the kernel rbf needs a line gamma"),
        ("gamma 0.5", "gamma nan", "line 3: gamma must be a finite number; got 'nan'"),
        ("gamma 0.5", "gamma 1_0", "line 3: gamma must be a finite number"),
        ("gamma 0.5", "gamma -1", "gamma"),
        ("gamma 0.5", "gamma", "line 3: gamma needs one value; got 0"),
        ("gamma 0.5", "gama 0.5", "line 3: 'gama' is not an entry of a LIBSVM model"),
        ("nr_class 2", "nr_class -2", "line 4: nr_class must be an integer from 1"),
        ("nr_class 2", "nr_class 99999999999999999999", "line 4: nr_class must be"),
        ("nr_class 2", "nr_class 100000", "rho needs 4999950000 values"),
        ("nr_class 2", "nr_class 1", "nr_class is 1"),
        ("nr_class 2", "nr_class 2\nnr_class 2", "line 5: nr_class occurs twice"),
        ("total_sv 2", "total_sv 2147483647", "nr_sv does not add up to total_sv, 2147483647"),
        ("total_sv 2", "total_sv 3.0", "line 5: total_sv must be an integer"),
        ("total_sv 2\n", "", "there is no line total_sv"),
        ("rho 0.25", "rho 0.25 1", "rho needs 1 values for 2 classes; got 2"),
        ("rho 0.25", "rho inf", "line 6: rho must be a finite number"),
        ("label 1 -1", "label 1 1", "line 7: a label occurs twice"),
        ("label 1 -1", "label 1.5 -1", "line 7: a label must be an integer"),
        ("label 1 -1\n", "", "label needs 2 values; got 0"),
        ("nr_sv 1 1", "nr_sv -1 3", "line 8: nr_sv must be an integer from 0"),
        ("nr_sv 1 1", "nr_sv 1 2", "line 9: nr_sv does not add up"),
        ("SV\n1", "\nSV\n1", "line 9: the line is empty"),
        ("SV\n1 1:0.5 3:1\n-1 2:2\n", "", "line 8: the file ends before its line SV"),
        ("-1 2:2\n", "", "line 9: total_sv is 2, and 1 lines follow SV"),
        ("-1 2:2\n", "-1 2:2\n0.5 1:1\n", "total_sv is 2, and 3 lines follow SV"),
        ("-1 2:2", "x 2:2", "line 11: a coefficient must be a finite number; got 'x'"),
        ("-1 2:2", "", "line 11: a support vector of 2 classes begins with 1 coefficients"),
        ("-1 2:2", "-1 2:2 2:3", "line 11: indices must rise; got 2 after 2"),
        ("-1 2:2", "-1 0:2", "line 11: an index must be an integer from 1"),
        ("-1 2:2", "-1 -1:2", "line 11: an index must be"),
        ("-1 2:2", "-1 2147483648:2", "line 11: an index must be"),
        ("-1 2:2", "-1 2", "line 11: a feature is written index:value; got '2'"),
        ("-1 2:2", "-1 2:nan", "line 11: a value must be a finite number"),
        ("-1 2:2", "-1 2:1e400", "line 11: a value must be a finite number"),
        (
            "kernel_type rbf",
            "kernel_type precomputed",
            "line 10: with a precomputed kernel a support vector is 0:number",
        ),
        ("svm_type c_svc", "svm_type \xff", "is not ASCII"),
        ("svm_type c_svc\nkernel_type rbf", "svm_type nu_svr\nkernel_type polynomial", "needs a line degree"),
    ],
)
def test_bad_models_are_refused_with_their_line(old, new, message, path):
    assert old in GOOD
    path.write_bytes(GOOD.replace(old, new, 1).encode("latin-1"))
    with pytest.raises(ModelFileError, match=message):
        read_libsvm_model(path)


def test_one_far_column_takes_no_memory(path):
    path.write_text(GOOD.replace("2:2", "2147483647:2"))
    again = read_libsvm_model(path)
    assert sp.issparse(again.support_vectors_)
    assert again.support_vectors_.nnz == 3


def test_every_truncation_before_the_last_line_is_refused(path):
    last = GOOD.rindex("-1 2:2")
    for length in range(last + 1):
        path.write_text(GOOD[:length])
        with pytest.raises(ModelFileError):
            read_libsvm_model(path)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_random_changes_are_refused_or_read(tmp_path_factory, data):
    text = GOOD
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from(["", " ", "\n", "-", "9" * 12, "1e308", ":", "0", ".", "SV", "\x00", "\ufeff"])
        )
        text = text[:place] + piece + text[place + data.draw(st.integers(0, 2)) :]
    path = tmp_path_factory.mktemp("random") / "a.model"
    path.write_text(text, encoding="utf-8")
    try:
        estimator = read_libsvm_model(path)
    except ModelFileError:
        return
    assert np.isfinite(estimator._expansion.coefficients).all()


# Data


@pytest.mark.parametrize("suffix", [".svm", ".svm.gz", ".svm.bz2", ".svm.xz"])
@pytest.mark.parametrize("zero_based", [False, True])
def test_data_come_back_to_the_bit(suffix, zero_based, tmp_path):
    path = tmp_path / f"data{suffix}"
    points = X * (rng.random(X.shape) < 0.7)
    points[0] = 1.0
    write_svmlight(points, T, path, zero_based=zero_based, query_id=np.arange(80) // 7)
    again, y, query = read_svmlight(path, query_id=True)
    assert np.array_equal(again.toarray(), points)
    assert np.array_equal(y, T)
    assert np.array_equal(query, np.arange(80) // 7)
    assert (path.read_bytes()[:4] != b"1.0 ") or suffix == ".svm"


def test_libsvm_reads_our_data(tmp_path):
    path = tmp_path / "data.svm"
    write_svmlight(sp.csr_matrix(X), Y3, path)
    y, points = svmutil.svm_read_problem(str(path), return_scipy=True)
    assert np.array_equal(points.toarray(), X)
    assert np.array_equal(y, Y3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no points"),
        (b"# nothing\n\n", "holds no points"),
        (b"1 1:2\n\n# remark\n1 3:4 2:1\n1 1:1\n", "data.svm, line 4: b'1 3:4 2:1': .*sorted and unique"),
        (b"1 1:2\n1 1;2\n", "line 2"),
        (b"x 1:2\n", "line 1.*could not convert"),
        (b"1 1:2\n" * 70 + b"1 a:2\n" + b"1 1:2\n" * 9, "line 71"),
        (b"1 -1:3\n", "line 1.*Invalid index -1"),
    ],
)
def test_bad_data_are_refused_with_their_line(content, message, tmp_path):
    path = tmp_path / "data.svm"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_svmlight(path)


def test_data_with_windows_lines_a_mark_and_tabs(tmp_path):
    path = tmp_path / "data.svm"
    path.write_bytes(b"\xef\xbb\xbf1\t1:2\t3:4\r\n-1 2:1 # x\r\n")
    points, y = read_svmlight(path)
    assert points.toarray().tolist() == [[2, 0, 4], [0, 1, 0]]
    assert y.tolist() == [1, -1]


def test_columns_from_zero_or_one(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 0:5 2:1\n")
    assert read_svmlight(path)[0].toarray().tolist() == [[5, 0, 1]]
    with pytest.raises(ValueError, match=r"line 1.*Invalid index 0"):
        read_svmlight(path, zero_based=False)
    path.write_text("1 1:5 2:1\n")
    assert read_svmlight(path)[0].toarray().tolist() == [[5, 1]]
    assert read_svmlight(path, zero_based=True)[0].toarray().tolist() == [[0, 5, 1]]
    assert read_svmlight(path, n_features=4)[0].shape == (1, 4)
    with pytest.raises(TypeError, match="zero_based must be True or False"):
        read_svmlight(path, zero_based="yes")


def test_data_that_cannot_be_written_or_unpacked(tmp_path):
    path = tmp_path / "data.svm.gz"
    with pytest.raises(ValueError, match="numbers only"):
        write_svmlight(X[:2], ["a", "b"], path)
    with pytest.raises(ValueError, match="queries are integers"):
        write_svmlight(X[:2], [1, 2], path, query_id=[0.5, 1.5])
    path.write_bytes(b"1 1:2\n")
    with pytest.raises(ValueError, match="cannot be unpacked"):
        read_svmlight(path)
    other = tmp_path / "data.svm"
    other.write_text("1 qid:1 1:2\n1 1:3\n")
    with pytest.raises(ValueError, match="2 points and 1 with qid"):
        read_svmlight(other, query_id=True)
