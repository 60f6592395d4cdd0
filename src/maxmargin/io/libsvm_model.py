"""Models of LIBSVM (Chang & Lin 2011), read and written.

LIBSVM numbers classes in the order of the training data, ours are sorted. Its value of a pair (i, j) means i when
positive; so does ours, except that with two classes only ours means the second. Hence

    two classes    read: f = value if label[0] is the larger one, -value otherwise
                   write: label = classes_[1], classes_[0], and f as it is
    more           classes_ has the order of the file's labels, because LIBSVM gives a tie to the class that comes first

and an intercept is -rho.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.io._atomic import write_atomically
from maxmargin.io._container import ModelFileError, check_regular
from maxmargin.io._libsvm_text import INT_MAX, KERNELS, LibsvmModel, parse, write
from maxmargin.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.kernels.gram.operator import computing_form
from maxmargin.runtime.memory import available_memory
from maxmargin.runtime.validation import Array, check_number, warn
from maxmargin.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import PairTable

ESTIMATORS: dict[str, Any] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
NAMES = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}
TEXT_MAX_COPIES = 20  # bytes of memory for a byte of text: words are Python strings while a line is read
TYPES: dict[Any, str] = {
    Linear: "linear",
    Polynomial: "polynomial",
    RBF: "rbf",
    Sigmoid: "sigmoid",
    Precomputed: "precomputed",
}


def read_libsvm_model(path: str | os.PathLike[str], n_features: int | None = None) -> Any:
    """Read a LIBSVM model file.

    Parameters
    ----------
    path : str or path
        The file.
    n_features : int, optional
        Number of columns of the training data, or with a precomputed kernel of training points. The file does not
        contain it: by default it is the largest index among the support vectors.

    Returns
    -------
    estimator : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        A fitted estimator with the predictions of svm-predict. With more than two classes, ``classes_`` has the order
        of the file. Information that is not in the file is missing (``report_``, ``history_``) or has its default value
        (``C``, ``nu``), and ``support_`` numbers the support vectors themselves.

    Raises
    ------
    ModelFileError
        If the file is not such a model; the message names the line.

    Warns
    -----
    UserWarning
        If the model has probability estimates (probA, probB), which are ignored.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_libsvm_model
    >>> lines = ["svm_type c_svc", "kernel_type linear", "nr_class 2", "total_sv 2"]
    >>> lines += ["rho 0.5", "label 7 3", "nr_sv 1 1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.model")
    ...     with open(path, "w") as file:
    ...         _ = file.write("\\n".join([*lines, "SV", "1 1:2", "-1 1:1", ""]))
    ...     model = read_libsvm_model(path)
    >>> model.predict([[0.0], [4.0]]), model.decision_function([[4.0]])
    (array([3, 7]), array([3.5]))
    """
    name = os.fspath(path)
    check_regular(name)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if TEXT_MAX_COPIES * size > available_memory():
            raise ModelFileError(
                f"{name} has {size / 1e9:.1f} GB, and reading a LIBSVM model takes {TEXT_MAX_COPIES} times its size of "
                "memory: more than is free."
            )
        beginning = file.read(4096)
        first = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if first in (b"\0", b"{", b"\x80"):
            raise ModelFileError(
                f"{name} is not a LIBSVM model: it does not begin with an entry such as svm_type c_svc."
            )
        raw = beginning + file.read()
    try:
        text = raw.removeprefix(b"\xef\xbb\xbf").decode("ascii").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{name} is not a LIBSVM model: byte {error.start} is not ASCII.") from error
    if not text.strip():
        raise ModelFileError(f"{name} is empty.")
    model = parse(name, text)
    if model.ignored:
        warn(
            f"{name} has probability estimates ({', '.join(model.ignored)}), which are left out: decision values and "
            "labels do not depend on them."
        )
    return _estimator(name, model, n_features)


def _estimator(name: str, model: LibsvmModel, n_features: int | None) -> Any:
    """The fitted estimator of a model."""
    parameters = {key: getattr(model, key) for key in KERNELS[model.kernel_type]}
    estimator = ESTIMATORS[model.svm_type](kernel=NAMES[model.kernel_type], **parameters)
    total, columns = len(model.coefficients), _columns(name, model, n_features)
    estimator.n_features_in_, estimator._objects = columns, False
    if model.classifies:
        _set_classes(estimator, model)
    else:
        estimator._n_support = [total]
    order = _class_order(model, estimator._n_support)
    functions, dual, intercept = _functions(model)[order], model.coefficients[order], _intercepts(model)
    kernel = estimator._kernel()
    if model.serial is not None:
        points: Any = model.serial[order] - 1
        estimator.support_, estimator.support_vectors_ = points.astype(np.int32), np.empty((0, 0))
        estimator.shape_fit_ = (columns, columns)
    else:
        model.vectors.resize(total, columns)
        points = computing_form(model.vectors[order])
        try:
            kernel = kernel.resolve(points if total else np.zeros((1, columns)))
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{name}: {error}") from error
        estimator.support_, estimator.support_vectors_ = np.arange(total, dtype=np.int32), points
        estimator.shape_fit_ = (total, columns)
    estimator.kernel_, estimator._gamma = kernel, getattr(kernel, "gamma", 0.0)
    estimator._sparse = bool(sp.issparse(points))
    dual = np.ascontiguousarray((functions if model.nr_class == 2 else dual).T)
    estimator.dual_coef_ = sp.csr_matrix(dual) if estimator._sparse else dual
    estimator.intercept_ = intercept
    estimator._expansion = KernelExpansion(kernel, points, np.ascontiguousarray(functions), intercept)
    estimator.fit_status_ = 0
    if model.svm_type == "one_class":
        estimator.offset_ = -intercept
    return estimator


def _columns(name: str, model: LibsvmModel, n_features: int | None) -> int:
    """Columns of the data, or training points if the kernel is precomputed."""
    if model.serial is None:
        least = model.vectors.shape[1]
    else:
        least = int(model.serial.max(initial=1))
        if len(np.unique(model.serial)) != len(model.serial):
            raise ModelFileError(f"{name}: a training point is listed twice among the support vectors.")
    if n_features is None:
        return least
    if check_number("n_features", n_features, least=1, integer=True) < least:
        raise ModelFileError(f"{name} uses column {least}; got n_features={n_features}.")
    return int(n_features)


def _flipped(model: LibsvmModel) -> bool:
    """Whether a positive value of LIBSVM means the smaller label, with two classes."""
    return model.label is not None and model.nr_class == 2 and model.label[0] < model.label[1]


def _set_classes(estimator: Any, model: LibsvmModel) -> None:
    assert model.label is not None
    assert model.nr_sv is not None
    order = np.argsort(model.label) if model.nr_class == 2 else np.arange(model.nr_class)
    estimator.classes_ = np.array(model.label, dtype=np.int64)[order]
    estimator._n_support = np.array(model.nr_sv, dtype=np.int64)[order]
    estimator.class_weight_ = np.ones(model.nr_class)
    estimator._present = np.ones(model.nr_class, dtype=bool)
    estimator._scheme = "ovo"


def _class_order(model: LibsvmModel, counts: Any) -> Array:
    """The support vectors class by class in the order of ``classes_``, and training points in order within a class."""
    every = np.arange(len(model.coefficients))
    if model.nr_sv is not None and model.nr_class == 2 and not _flipped(model):
        every = np.roll(every, -model.nr_sv[0])
    if model.serial is None:
        return every
    of_class = np.repeat(np.arange(len(counts)), counts)
    return every[np.lexsort((model.serial[every], of_class))]


def _functions(model: LibsvmModel) -> Array:
    """The coefficients of each function, a column each, from LIBSVM's k - 1 columns."""
    if model.nr_class == 2:
        return -model.coefficients if _flipped(model) else model.coefficients
    assert model.nr_sv is not None
    return PairTable(model.coefficients.T, np.array(model.nr_sv)).coefficients()


def _intercepts(model: LibsvmModel) -> Array:
    return (model.rho if _flipped(model) else -model.rho) + 0.0  # no -0.0


def write_libsvm_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a LIBSVM model file.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted, with a kernel that LIBSVM has (linear, polynomial of integer degree, Gaussian, sigmoid, precomputed),
        integer labels, and one-vs-one if there are more than two classes.
    path : str or path
        Where to write.

    Raises
    ------
    ModelFileError
        If LIBSVM cannot represent the model; the message says why. :func:`~maxmargin.io.save` can save all models.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import SVC
    >>> from maxmargin.io import write_libsvm_model
    >>> model = SVC(kernel="linear").fit([[0.0], [2.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.model")
    ...     write_libsvm_model(model, path)
    ...     with open(path) as file:
    ...         print(file.read())
    svm_type c_svc
    kernel_type linear
    nr_class 2
    total_sv 2
    rho 1.0
    label 1 0
    nr_sv 1 1
    SV
    0.5 1:2.0
    -0.5
    """
    write_atomically(path, list(write(_model(estimator))))


def _model(estimator: Any) -> LibsvmModel:
    svm_type = next((key for key, kind in ESTIMATORS.items() if type(estimator) is kind), None)
    if svm_type is None:
        known = ", ".join(kind.__name__ for kind in ESTIMATORS.values())
        raise ModelFileError(f"LIBSVM has no {type(estimator).__name__}: it has {known}.")
    if not hasattr(estimator, "_expansion"):
        raise ModelFileError(f"This {type(estimator).__name__} is not fitted: there is no model to write yet.")
    if not hasattr(estimator, "classes_") and len(estimator.intercept_) > 1:
        raise ModelFileError(
            f"LIBSVM has no model of several targets; this one has {len(estimator.intercept_)}. Fit each target alone."
        )
    kernel = estimator.kernel_
    serial = estimator.support_.astype(np.int64) + 1 if isinstance(kernel, Precomputed) else None
    vectors = sp.csr_matrix(estimator.support_vectors_, dtype=np.float64) if _has_kernel(kernel) else None
    dual = estimator.dual_coef_
    dual = np.asarray(dual.toarray() if sp.issparse(dual) else dual).T
    model = LibsvmModel(
        svm_type=svm_type,
        kernel_type=TYPES[type(kernel)],
        rho=-estimator.intercept_ + 0.0,
        coefficients=dual,
        vectors=vectors,
        serial=serial,
        degree=int(getattr(kernel, "degree", 3)),
        gamma=float(getattr(kernel, "gamma", 0.0)),
        coef0=float(getattr(kernel, "coef0", 0.0)),
    )
    if model.classifies:
        _describe_classes(estimator, model)
    return model


def _has_kernel(kernel: Kernel) -> bool:
    if type(kernel) not in TYPES:
        raise ModelFileError(f"LIBSVM has no kernel {kernel!r}: it has {', '.join(TYPES.values())}.")
    if isinstance(kernel, Polynomial) and int(kernel.degree) != kernel.degree:
        raise ModelFileError(f"LIBSVM's polynomials have integer degrees; this one has degree={kernel.degree}.")
    return True


def _describe_classes(estimator: Any, model: LibsvmModel) -> None:
    """Labels, counts and the order of the support vectors."""
    classes = estimator.classes_
    if estimator._scheme != "ovo":
        raise ModelFileError(f"LIBSVM has one-vs-one models only; this one has multiclass={estimator.multiclass!r}.")
    whole = classes.dtype.kind in "iu" or (classes.dtype.kind == "f" and (classes == np.round(classes)).all())
    if not whole or (np.abs(classes.astype(float)) > INT_MAX).any():
        raise ModelFileError(
            f"LIBSVM's labels are integers; these are {classes[:5].tolist()} of type {classes.dtype}: number the "
            "classes with sklearn.preprocessing.LabelEncoder before the fit."
        )
    model.nr_class = len(classes)
    model.label = [int(label) for label in classes]
    model.nr_sv = [int(count) for count in estimator.n_support_]
    if model.nr_class > 2:
        return
    order = np.roll(np.arange(len(model.coefficients)), -model.nr_sv[0])
    model.coefficients = model.coefficients[order]
    if model.serial is not None:
        model.serial = model.serial[order]
    else:
        model.vectors = model.vectors[order]
    model.label, model.nr_sv = model.label[::-1], model.nr_sv[::-1]
