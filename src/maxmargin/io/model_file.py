"""Models as files that hold data and no code.

    save   estimator -> tree of plain values and arrays -> bytes -> a temporary file -> read back -> the file
    load   file -> digest right? -> tree -> every attribute as its class requires? -> estimator

A pickle is a program, and loading one from a stranger runs it. A model file is read as data: classes come from a closed
list, and shapes, types, indices and finiteness are checked before an object is made of them.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import maxmargin
from maxmargin.io import _container
from maxmargin.io._atomic import write_atomically
from maxmargin.io._container import ModelFileError
from maxmargin.io._decoder import Decoder
from maxmargin.io._tree import Allowance, Encoder
from maxmargin.io.schema.registry import (
    ENTRIES,
    NOT_STORED,
    class_of,
    is_estimator,
    is_stored,
    names,
    record_state,
    required_names,
)
from maxmargin.io.schema.words import check_state
from maxmargin.kernels import Kernel
from maxmargin.runtime.history import History, Record
from maxmargin.runtime.validation import warn

HISTORY_RECORD_BYTES = 400  # of a record of eight numbers, and of its place in the lists it is made from


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that :func:`load` reads.

    All estimators, searches, kernels and feature maps of this package can be saved, and pipelines of them with
    scikit-learn's scalers, encoders and ``ColumnTransformer``. The new file is written to a temporary name, read back
    and compared with the estimator, and then replaces the old one. So there is a complete file at any time, and a valid
    file is never replaced by one that cannot be loaded.

    Parameters
    ----------
    estimator : object
        The fitted estimator. Kernels or scorers that are Python functions cannot be saved. The state of a warm start is
        not saved; the next fit of the loaded estimator starts from scratch.
    path : str or path
        The file name, by convention ending in ``.mm``.

    Raises
    ------
    ModelFileError
        If the estimator, or one of its parameters, cannot be saved; the message names it.
    NotFittedError
        If the estimator is not fitted, or was left half-fitted by a fit that was refused.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import SVC
    >>> from maxmargin.io import load, save
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.mm"))
    ...     loaded = load(os.path.join(folder, "model.mm"))
    >>> loaded.predict([[0.2], [2.9]])
    array(['low', 'high'], dtype='<U4')
    """
    if not isinstance(estimator, BaseEstimator):
        if isinstance(estimator, (str, os.PathLike)):
            raise ModelFileError(f"The first argument is {estimator!r}: give the model first, save(model, path).")
        raise ModelFileError(f"An estimator is needed, one of {names()}; got {estimator!r:.80}.")
    text, arrays = _encoded(estimator)
    _check_fitted(estimator)

    def check(written: str) -> None:
        name = type(estimator).__name__
        try:
            again, found = _encoded(_decoded(*_container.unpack(written)))
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            reason = str(error).removeprefix(written).strip().removeprefix("is damaged:").strip().rstrip(".")
            raise ModelFileError(
                f"{os.fspath(path)} was not written: the attributes of this {name} do not belong together ({reason}). "
                "Its last fit may have been refused: fit it again, then save it."
            ) from error
        if again != text or not all(map(_same_bits, arrays, found)):
            raise ModelFileError(f"{os.fspath(path)} was not written: this {name} reads back as another one.")

    write_atomically(path, _container.pack(text, arrays), check)


def _encoded(estimator: Any) -> tuple[dict[str, Any], list[Any]]:
    """The text and the arrays of a file."""
    encoder = Encoder(_describe)
    root = encoder.encode(estimator, type(estimator).__name__)
    versions = {"maxmargin": maxmargin.__version__, "scikit-learn": sklearn.__version__}
    return {**versions, "objects": encoder.objects, "root": root}, encoder.arrays


def _same_bits(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    left, right = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (a, b))
    step = _container.BLOCK_ENTRIES
    return all(np.array_equal(left[at : at + step], right[at : at + step]) for at in range(0, len(left), step))


def _check_fitted(estimator: Any) -> None:
    """Refuse an estimator without a model in it."""
    if isinstance(estimator, Kernel):
        return
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            if isinstance(step, BaseEstimator):
                _check_fitted(step)
        return
    name = type(estimator).__name__
    required = required_names(name)
    missing = [key for key in required if key not in vars(estimator)]
    fitted = [key for key in vars(estimator) if key.endswith("_") and not key.startswith("_")]
    if missing and fitted:
        raise NotFittedError(
            f"This {name} is half-fitted: it has {', '.join(fitted[:3])} and lacks {', '.join(missing[:3])}. Its last "
            "fit was refused or interrupted: fit it again, then save it."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        fitted = []
    if missing or (not fitted and not required and not _is_stateless(estimator)):
        raise NotFittedError(f"This {name} is not fitted, so that there is no model to save: call fit first.")


def _is_stateless(estimator: Any) -> bool:
    return bool(getattr(estimator.__sklearn_tags__(), "requires_fit", True)) is False


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that :func:`save` wrote.

    Loading never executes code. It needs at most the size of the file plus 64 MB of memory (among points that are
    strings, a string of more than 16 MB counts twice).

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator : object
        An estimator that makes bit for bit the same predictions as the saved one.

    Raises
    ------
    ModelFileError
        If the file is not a maxmargin model file, is damaged or forged, or was written by a newer version.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import OneClassSVM
    >>> from maxmargin.io import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(OneClassSVM(nu=0.2).fit([[0.0], [1.0], [2.0]]), os.path.join(folder, "model.mm"))
    ...     load(os.path.join(folder, "model.mm"))
    OneClassSVM(nu=0.2)
    """
    text, arrays = _container.unpack(path)
    try:
        estimator = _decoded(text, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} {error}") from error.__cause__
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(f"{os.fspath(path)} is damaged: {error}") from error
    return estimator


def _decoded(text: dict[str, Any], arrays: list[Any]) -> Any:
    """The estimator of a file whose bytes are as they were written."""
    objects = text.get("objects")
    if not isinstance(objects, list):
        raise ModelFileError("is damaged: it has no list of objects.")
    decoder = Decoder(arrays, _build)
    for entry in objects:
        decoder.add_object(entry)
    estimator = decoder.decode(text.get("root"))
    if not isinstance(estimator, BaseEstimator):
        raise ModelFileError("is damaged: it holds no estimator.")
    written = text.get("scikit-learn")
    if written != sklearn.__version__:
        for made in decoder.objects:
            if type(made).__module__.startswith("sklearn."):
                warning = InconsistentVersionWarning(
                    estimator_name=type(made).__name__,
                    current_sklearn_version=sklearn.__version__,
                    original_sklearn_version=str(written)[:40],
                )
                warn(warning)
    return estimator


def _describe(value: Any, where: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name, parameters and state of an object, or an error that says why it cannot be saved."""
    kind = type(value)
    name = kind.__name__
    if name not in ENTRIES or class_of(name) is not kind:
        raise ModelFileError(_refusal(value, where))
    if isinstance(value, History):
        columns = {key: getattr(value, key) for key in Record._fields}
        return name, {}, {key: np.asarray(column) for key, column in columns.items()}
    if not is_estimator(kind):
        return name, {}, record_state(value)
    parameters = {key: getattr(value, key) for key in kind._get_param_names()}
    state = {}
    for key, item in vars(value).items():
        if is_stored(name, key, item):
            state[key] = item
        elif key not in parameters and key not in NOT_STORED:
            raise ModelFileError(
                f"{where} has the attribute {key!r}, which a model file does not hold for {name}: delete it first."
            )
    return name, parameters, state


def _refusal(value: Any, where: str) -> str:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if name == "maxmargin.kernels.other.Callable":
        return f"{where} is a Python function: it cannot be saved; use a kernel object."
    if not isinstance(value, BaseEstimator):
        what = "a Python function" if callable(value) else f"of type {name}"
        remedy = "use a kernel object" if where.endswith((".kernel", ".kernel_")) else "use a plain value"
        return f"{where} is {what}: it cannot be saved; {remedy}."
    if name.startswith("sklearn.svm."):
        return f"{where} is scikit-learn's {type(value).__name__}, which cannot be saved: fit maxmargin's instead."
    return f"{where} is of class {name}, which cannot be saved. Classes that can be are {names()}."


def _build(name: str, parameters: dict[str, Any], state: dict[str, Any], allowance: Allowance) -> Any:
    """An object of a listed class, with a state as the class requires."""
    if name not in ENTRIES:
        raise ModelFileError(f"is damaged, or written by a newer maxmargin: the class {name[:40]!r} is unknown.")
    entry, kind = ENTRIES[name], class_of(name)
    state = {entry.renamed.get(key, key): value for key, value in state.items()}
    if not is_estimator(kind):
        if parameters:
            raise ModelFileError(f"is damaged: {name} has no parameters.")
        lengths = check_state(name, entry.state, state)
        if entry.agree is not None:
            entry.agree(parameters, state, lengths)
        if kind is History:
            allowance.take(lengths["n"], HISTORY_RECORD_BYTES)
            rows = zip(*(state[key].tolist() for key in Record._fields), strict=True)
            return History(Record(*row) for row in rows)
        made: Any = object.__new__(kind)
        made.__dict__.update(state)
        return made
    known = kind._get_param_names()  # type: ignore[attr-defined]
    for key in parameters:
        if key not in known:
            raise ModelFileError(f"is damaged, or written by a newer maxmargin: {name} has no parameter {key[:40]!r}.")
    if state or name == "Pipeline":
        lengths = check_state(name, entry.state, state)
        if entry.agree is not None:
            entry.agree(parameters, state, lengths)
    estimator = kind(**parameters)
    estimator.__dict__.update(state)
    if entry.finish is not None:
        entry.finish(estimator, allowance)
    return estimator
