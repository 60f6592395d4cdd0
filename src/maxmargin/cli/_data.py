"""Reading data: to train on, or for a model, which knows the columns it wants.

the model has names of columns    those are taken from a table with a header, in whatever order they stand there
it has none                       the number of columns must be right
svmlight                          leaves out zeros: fewer columns are filled up with zeros, more are refused
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.cli import UserError
from maxmargin.cli._machine import as_labels, as_numbers
from maxmargin.cli._model import Model, load_model
from maxmargin.cli._options import Voice, counted, plain
from maxmargin.io import Data, DataFileError, read_data
from maxmargin.runtime.validation import Array


def read_for_training(source: str, task: str, target: str | None, text: Any, reading: dict[str, Any]) -> Data:
    """Rows to train on; to find outliers no target is needed, and without a name none is looked for."""
    from maxmargin.cli._progress import showing_reading

    labelled = task != "outliers" or target is not None
    with showing_reading():
        return read_data(source, target=target, labelled=labelled, text=text, **_options(**reading))


def read_like(
    source: str,
    columns: list[str] | None,
    n_features: int,
    *,
    target: str | None = None,
    text: Any = (),
    labelled: bool = True,
    reading: dict[str, Any],
) -> Data:
    """Rows with the columns of others."""
    size = {"columns": columns} if columns is not None else {"n_features": n_features}
    return read_data(source, target=target, labelled=labelled, text=text, **size, **_options(**reading))


def read_for_model(
    model: Model, source: str, *, labels: bool | None, voice: Voice, target: str | None = None, **reading: Any
) -> Data:
    """Rows for a model, and their targets in the form in which it predicts.

    ``labels`` says whether targets must be there (True), are of no interest (False), or are welcome (None)."""
    if labels is None and source != "-":  # standard input can be read but once
        with contextlib.suppress(DataFileError):
            return _read(model, source, True, None, target, reading)
    return _read(model, source, labels is True, voice, target, reading)


def _read(
    model: Model, source: str, labels: bool, voice: Voice | None, target: str | None, reading: dict[str, Any]
) -> Data:
    if model.libsvm:
        data = _for_libsvm(model, source, labels, target, reading)
    else:
        wanted: dict[str, Any] = {"target": target, "text": model.text_columns, "labelled": labels, "reading": reading}
        data = read_like(source, model.columns, model.n_features, **wanted)
    return replace(data, y=_matching_targets(model, data, voice if labels else None))


def _matching_targets(model: Model, data: Data, voice: Voice | None) -> Array | None:
    """Targets as numbers, or as labels of the type that the classifier knows; without a voice, None if they are not."""
    y = data.y
    if y is None:
        return None
    if model.task == "outliers":
        return as_labels(y)
    if model.task == "regress":
        return as_numbers(y, data.source) if voice is not None else y if y.dtype.kind == "f" else None
    return matching_labels(y, model.machine.classes_, data.source, voice)


def matching_labels(y: Array, classes: Array, source: str, voice: Voice | None) -> Array | None:
    """Labels of a file in the type of the classes. Labels that the classifier does not know are told, and are an error
    if there are no others; without a voice, None is returned then."""
    labels = as_labels(y)
    if classes.dtype.kind == "U" and labels.dtype.kind != "U":
        labels = np.array([str(label) for label in labels.tolist()])
    found = np.unique(labels)
    comparable = (found.dtype.kind == "U") == (classes.dtype.kind == "U")
    strange = found[~np.isin(found, classes)] if comparable else found
    if len(strange) == len(found):
        if voice is None:
            return None
        raise UserError(
            f"{source}: its labels are {_some(found)}, and the model knows {_some(classes)}: name the right column "
            "with --target."
        )
    if len(strange) and voice is not None:
        n = int(np.isin(labels, strange).sum())
        voice.note(f"Note: {counted(n, 'row')} with labels the model does not know ({_some(strange)}) count as wrong.")
    return labels


def _for_libsvm(model: Model, source: str, labels: bool, target: str | None, reading: dict[str, Any]) -> Data:
    """A LIBSVM model does not tell how many columns its data had: the data do, if they have more than it uses."""
    data = read_data(source, target=target, labelled=labels, **_options(**reading))
    n, known = data.X.shape[1], model.n_features
    if n > known:
        model.estimator = load_model(model.path, n).estimator
        return data
    return data if n == known else read_like(source, None, known, target=target, labelled=labels, reading=reading)


def _options(format: str | None, header: bool | None, zero_based: bool | None) -> dict[str, Any]:
    return {"format": format, "header": header, "zero_based": "auto" if zero_based is None else zero_based}


def _some(labels: Array) -> str:
    return ", ".join(repr(plain(label)) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
