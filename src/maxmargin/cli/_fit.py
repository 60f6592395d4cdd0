"""The steps of ``maxmargin train``: read, decide, separate, prepare the columns, fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from maxmargin.cli import UserError
from maxmargin.cli._cluster import check_cluster, fit_on_cluster
from maxmargin.cli._data import matching_labels, read_for_training, read_like
from maxmargin.cli._machine import WORDS, as_labels, as_numbers, check_kernel, count_machines, decide_task, make_machine
from maxmargin.cli._model import Model
from maxmargin.cli._options import Voice, counted, plain
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array
from maxmargin.svm.report import FitReport

if TYPE_CHECKING:
    from maxmargin.io import Data
    from maxmargin.svm.streaming.report import StreamReport

HELD_OUT = 0.25
EXACT_MAX_ROWS = 200_000  # of a kernel SVM that takes minutes; a million takes hours
RANGE_RATIO_MAX = 30.0  # of two columns; beyond, the smaller one hardly counts in a distance
READING = ("format", "header", "zero_based")  # options that say how a file is to be read
UNSCALED = ("chi2", "intersection", "additive_chi2")  # kernels of histograms, which scaling would spoil


@dataclass
class Work:
    """All that a fit needs: rows to train and to test on, the steps before the machine, the machine."""

    task: str
    reason: str
    X: Any
    y: Array | None
    X_test: Any
    y_test: Array | None
    encoder: Any
    scale: bool
    machine: Any
    max_seconds: float | None
    description: str
    dask: str | None = None


def prepare(source: str, options: dict[str, Any], machine: dict[str, Any], voice: Voice) -> Work:
    """Everything before the fit, so that what is wrong with the input shows before time is spent."""
    check_kernel(machine["kernel"] or "rbf")
    reading = {name: options[name] for name in READING}
    data = read_for_training(source, options["task"], options["target"], options["text"], reading)
    task, reason = task_of(options["task"], data.y, data.source)
    y = target_of(task, data.y, data.source)
    check_labels_differ(task, y, data.source)
    X, encoder = data.X, _encoder(data, options["unknown"])
    fitted = make_machine(task, machine, None if y is None or task != "classify" else np.unique(y))
    lines = [*describe(data, task, y), *why(options["task"], task, reason)]
    X_test, y_test, split = None, None, "all rows to train, and no test"
    if options["test"] is not None:
        X_test, y_test, told = read_test(data, task, y, encoder, options, voice)
        split = f"all rows to train, and {told} for the test"
    elif options["test_size"] != 0:
        share = HELD_OUT if options["test_size"] is None else options["test_size"]
        X, X_test, y, y_test, split = _split(X, y, task, share, machine["seed"], voice)
    told = "\n".join([*lines, split])
    hint = size_hint(fitted, X.shape[0])
    if hint:
        voice.note(hint)
    limit = machine["max_seconds"]
    address = options.get("dask")
    check_cluster(address, fitted)
    return Work(task, reason, X, y, X_test, y_test, encoder, options["scale"], fitted, limit, told, address)


def size_hint(estimator: Any, n_rows: int) -> str:
    """A sentence about other estimators, if an exact kernel SVM would take hours for so many rows."""
    exact = type(estimator).__name__ in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
    if not exact or n_rows <= EXACT_MAX_ROWS:
        return ""
    return (
        f"Hint: {n_rows:,} rows are many for {type(estimator).__name__}, whose time grows with their square or faster: "
        "try --approximate, or --kernel linear, or set --max-seconds."
    )


def task_of(asked: str, y: Array | None, source: str) -> tuple[str, str]:
    """What to learn, and why."""
    if asked == "auto":
        return decide_task(y)
    if asked != "outliers" and y is None:
        raise UserError(f"{source} has no labels, and --task {asked} needs them: name the column with --target.")
    return asked, "--task says so"


def check_labels_differ(task: str, y: Array | None, source: str) -> None:
    if task == "classify" and y is not None and len(np.unique(y)) == 1:
        raise UserError(
            f"{source}: the only label is {plain(y[0])!r}, so that there is nothing to tell apart: choose another "
            "column with --target, or say --task outliers."
        )


def read_test(data: Any, task: str, y: Array | None, encoder: Any, options: dict[str, Any], voice: Voice) -> Any:
    """Points and targets of the file of --test, like those of ``data``, and how many they are in words."""
    other = read_like(
        options["test"],
        data.columns,
        data.X.shape[1],
        target=options["target"] or data.target,
        text=options["text"] or text_columns(data),
        labelled=data.y is not None,
        reading={name: options[name] for name in READING},
    )
    if encoder is not None:
        encoder.transform(other.X)  # an unknown text shows before the fit
    y_test = other.y
    if task == "classify" and y is not None and y_test is not None:
        y_test = matching_labels(y_test, np.unique(y), other.source, voice)
    elif y_test is not None:
        y_test = target_of(task, y_test, other.source)
    return other.X, y_test, f"{counted(other.X.shape[0], 'row')} of {other.source}"


def fit(work: Work, voice: Voice) -> Model:
    """Fit what is done to the columns, then the machine, with a bar."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from maxmargin.cli._progress import showing_progress

    Z, steps, names = work.X, [], None
    if work.encoder is not None:
        steps.append(("columns", work.encoder))
        Z, names = work.encoder.transform(Z), work.encoder.get_feature_names_out().tolist()
    if work.scale:
        steps.append(("scale", StandardScaler(with_mean=not sp.issparse(Z)).fit(Z)))
        Z = steps[-1][1].transform(Z)
    elif getattr(work.machine, "kernel", "") not in UNSCALED:
        hint = scaling_hint(Z, names)
        if hint:
            voice.note(hint)
    n_classes = 2 if work.y is None or work.task != "classify" else len(np.unique(work.y))
    machine = work.machine
    with showing_progress(machine.tol, count_machines(machine, n_classes), work.max_seconds):
        if work.dask is not None:
            machine = fit_on_cluster(machine, Z, work.y, work.dask)
        else:
            machine.fit(Z) if work.task == "outliers" else machine.fit(Z, work.y)
    work.machine = machine
    return Model("", Pipeline([*steps, ("machine", work.machine)]) if steps else work.machine, False)


def scaling_hint(X: Any, names: list[str] | None) -> str:
    """A sentence that names the columns with the largest and the smallest range, if they are far apart."""
    if X.shape[1] < 2 or X.shape[0] < 2:
        return ""
    if sp.issparse(X):
        spans = np.asarray(X.max(axis=0).toarray() - X.min(axis=0).toarray()).ravel()
    else:
        spans = np.ptp(X, axis=0)
    varying = np.flatnonzero(spans > 0)
    if len(varying) < 2:
        return ""
    most, least = varying[np.argmax(spans[varying])], varying[np.argmin(spans[varying])]
    if not spans[most] > RANGE_RATIO_MAX * spans[least]:
        return ""
    large, small = (f"'{names[k]}'" if names is not None else str(k + 1) for k in (most, least))
    return (
        f"Hint: column {large} spans {spans[most]:.3g} and column {small} only {spans[least]:.3g}, so that the first "
        "counts for more than the second: try --scale."
    )


def report_as_dict(report: FitReport | StreamReport) -> dict[str, Any]:
    """A report's figures for JSON."""
    found = {item.name: getattr(report, item.name) for item in fields(report)}
    if isinstance(report, FitReport):
        found.update(
            kernel=" ".join(str(report.kernel).split()),
            status=report.status.name,
            status_text=report.status.value,
            converged=report.converged,
            margin=report.margin,
            duality_gap=report.duality_gap,
        )
    return found


def was_interrupted(report: FitReport | StreamReport) -> bool:
    """Whether a fit ended by Ctrl-C."""
    if isinstance(report, FitReport):
        return report.status is Status.INTERRUPTED
    return not report.complete and Status.INTERRUPTED.value in report.ended


def target_of(task: str, y: Array | None, source: str) -> Array | None:
    """The target in the form that the task takes; of outliers, labels to compare with and not to learn from."""
    if y is None:
        return None
    return as_numbers(y, source) if task == "regress" else as_labels(y)


def _encoder(data: Data, unknown: str | None) -> Any:
    """The step that keeps the names of the columns and makes numbers of texts. It sees the rows of the test, too: which
    texts there are is no secret of theirs, and a rare one would else stop the test."""
    if data.columns is None and data.X.dtype != object:
        return None
    from maxmargin.data.table_encoder import TableEncoder

    return TableEncoder(columns=data.columns, handle_unknown=unknown or "error").fit(data.X)


def _split(X: Any, y: Array | None, task: str, share: float, seed: int, voice: Voice) -> tuple[Any, Any, Any, Any, str]:
    """Rows to train and rows to test on, at random; of every class the same share, where that is possible."""
    from sklearn.model_selection import train_test_split

    n = X.shape[0]
    n_test = math.ceil(share * n)
    if n_test >= n:
        raise UserError(f"{counted(n, 'row')} cannot be divided into training and test: say --test-size 0.")
    by_class = None
    if task == "classify" and y is not None:
        labels, counts = np.unique(y, return_counts=True)
        if counts.min() >= 2 and len(labels) <= min(n_test, n - n_test):
            by_class = y
        else:
            rare = labels[np.argmin(counts)]
            voice.note(f"Note: the test is not stratified, because of label {rare} there are only {counts.min()} rows.")
    train, test = train_test_split(np.arange(n), test_size=n_test, random_state=seed, stratify=by_class)
    train, test = np.sort(train), np.sort(test)
    how = "at random" + (", of every class the same share" if by_class is not None else "")
    told = f"{counted(len(train), 'row')} to train and {len(test):,} held out for the test ({how}; --seed {seed})"
    return X[train], X[test], None if y is None else y[train], None if y is None else y[test], told


def describe(data: Any, task: str, y: Array | None) -> list[str]:
    n, d = data.X.shape
    kind = "sparse column" if sp.issparse(data.X) else "column"
    line = f"{data.source}: {counted(n, 'row')}, {counted(d, kind)}"
    if y is not None:
        line += f", target {data.target!r}" if isinstance(data.target, str) else ", target"
        line += f": {_spread(task, y)}"
    lines = [line]
    if data.X.dtype == object:
        names = text_columns(data)
        told = ", ".join(map(str, names[:6])) + (", ..." if len(names) > 6 else "")
        lines.append(f"{counted(len(names), 'column')} of texts, each text a column of 0 and 1: {told}")
    return lines


def text_columns(data: Data) -> list[Any]:
    """Names, or positions, of the columns that hold texts."""
    if data.X.dtype != object:
        return []
    texts = [j for j in range(data.X.shape[1]) if isinstance(data.X[0, j], str)]
    return texts if data.columns is None else [data.columns[j] for j in texts]


def _spread(task: str, y: Array) -> str:
    if task == "regress":
        return f"numbers from {y.min():.6g} to {y.max():.6g}"
    labels, counts = np.unique(y, return_counts=True)
    shown = [f"{label} {count:,}" for label, count in zip(labels[:8].tolist(), counts[:8].tolist(), strict=True)]
    return f"{counted(len(labels), 'class')} ({', '.join(shown)}{', ...' if len(labels) > 8 else ''})"


def why(asked: str, task: str, reason: str) -> list[str]:
    if asked != "auto":
        return []
    others = " or ".join(f"--task {other}" for other in WORDS if other != task)
    return [f"task {task}, because {reason} ({others} to override)"]
