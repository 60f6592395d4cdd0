"""The steps of ``maxmargin train``: read, decide, separate, prepare the columns, fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.cli import UserError
from maxmargin.cli._data import (
    Rows,
    make_encoder,
    matching_labels,
    note_unknown,
    read_for_training,
    rows_like,
    take,
    with_targets,
)
from maxmargin.cli._estimator import (
    WORDS,
    as_labels,
    as_numbers,
    check_kernel,
    count_problems,
    decide_task,
    in_target_units,
    make_estimator,
)
from maxmargin.cli._model import Model
from maxmargin.cli._options import LABEL_LETTERS, Voice, counted, cut, figure, plain
from maxmargin.data.formats import FORMATS, format_of
from maxmargin.data.forms import numbers_of
from maxmargin.data.layout import TARGETS
from maxmargin.data.source import Source
from maxmargin.data.survey import ColumnPlan
from maxmargin.data.table import Table, read_table
from maxmargin.io import read_data
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array
from maxmargin.svm.report import FitReport

ON_CLUSTERS = ("LinearSVC", "NystroemSVC", "NystroemSVR", "NystroemRidge")
HELD_OUT = 0.25
READING = ("format", "header", "zero_based")  # options that say how a file is to be read
UNSCALED = ("chi2", "intersection", "additive_chi2")  # kernels of histograms, which scaling would spoil
CLASSES_SHOWN = 8
SINGLE_LABELS_SHOWN = 3
SERIES_MIN_DISTINCT = 0.9  # of the rows: dates that come more often are no series of one thing


def check_cluster(address: str | None, svm: Any) -> None:
    """Refuse, before the fit, what a cluster cannot do."""
    if address is None:
        return
    if type(svm).__name__ not in ON_CLUSTERS:
        raise UserError(
            f"--dask fits linear classifiers and approximate estimators, and this is {type(svm).__name__}: add "
            "--approximate, or use --kernel linear."
        )
    from maxmargin.large_scale import dask

    dask.LinearSVC  # noqa: B018  raises where Dask is not installed


def fit_on_cluster(svm: Any, X: Any, y: Array | None, address: str) -> Any:
    """The fitted estimator; "local" is a cluster of this computer's cores."""
    from maxmargin.large_scale.dask.cluster import ClusterError, on_cluster

    assert y is not None
    try:
        return on_cluster(svm, X, y, None if address == "local" else address)
    except ClusterError as error:
        raise UserError(str(error)) from error


@dataclass
class Work:
    """All that a fit needs: rows to train and to test on, the steps before the estimator, the estimator."""

    task: str
    reason: str
    X: Any
    y: Array | None
    X_test: Any
    y_test: Array | None
    encoder: Any
    scaler: Any
    estimator: Any
    max_seconds: float | None
    description: str
    plans: list[ColumnPlan]
    test_file: bool = False
    dask: str | None = None
    target_spread: float = 1.0
    target: str | None = None
    ordered_by: str | None = None  # a column of dates in whose order the rows stand, from which the test was drawn


def prepare(source: str, options: dict[str, Any], parameters: dict[str, Any], voice: Voice) -> Work:
    """Everything before the fit, so that what is wrong with the input shows before time is spent."""
    from maxmargin.cli._progress import showing_step

    kernel = parameters["kernel"] or "rbf"
    check_kernel(kernel)
    data = read_for_training(source, options, voice)
    with showing_step("dividing the rows", data.n):
        return _divided(data, kernel, options, parameters, voice)


def _divided(data: Rows, kernel: str, options: dict[str, Any], parameters: dict[str, Any], voice: Voice) -> Work:
    """Rows to train and to test on, and the estimator for them."""
    task, reason = task_of(options["task"], data.y, data.source)
    y = target_of(task, data.y, data.source)
    check_labels_differ(task, y, data.source)
    scale = False if kernel in UNSCALED and options["scale"] is None else options["scale"]
    encoder = make_encoder(data, scale, options["missing"], options["unknown"])
    scaler = None
    if scale and sp.issparse(data.X):
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler(with_mean=False)
    estimator = make_estimator(task, parameters, None if y is None or task != "classify" else np.unique(y))
    lines = [*describe(data, task, y), *why(options["task"], task, reason, data.y)]
    if options["target"] is None and data.target is not None and data.target.lower() not in TARGETS:
        differing = "" if data.table is None or data.target == data.table.columns[-1] else " whose values differ"
        lines.append(f"target {data.target!r}, because it is the last column{differing} (--target to name another)")
    X, X_test, y_test, split = data.X, None, None, "all rows to train, and no test"
    if options["test"] is not None:
        X_test, y_test, about = read_test(data, task, y, options, voice)
        split = f"all rows to train, and {about} for the test"
    elif options["test_size"] != 0:
        share = HELD_OUT if options["test_size"] is None else options["test_size"]
        n_test = math.ceil(share * data.n)
        if n_test >= data.n:
            raise UserError(f"{counted(data.n, 'row')} cannot be divided into training and test: use --test-size 0.")
        if options["test_last"]:
            train, test = np.split(np.arange(data.n), [data.n - n_test])
            how = "the last ones"
        else:
            train, test, how = _drawn(task, y, n_test, data.n, parameters["seed"], voice)
        if task == "classify" and y is not None and len(np.unique(y[train])) < 2:
            raise UserError(
                f"{data.source}: all rows to train would be of class {cut(y[train][0], LABEL_LETTERS)}: use "
                "--test-size 0, choose another column with --target, or provide more rows."
            )
        split = f"{counted(len(train), 'row')} to train, {len(test):,} held out for the test ({how})"
        X, X_test = take(X, train), take(X, test)
        y, y_test = (None, None) if y is None else (y[train], y[test])
    spread = in_target_units(estimator, y) if task == "regress" and scale is not False else 1.0
    address = options.get("dask")
    check_cluster(address, estimator)
    return Work(
        *(task, reason, X, y, X_test, y_test, encoder, scaler, estimator, parameters["max_seconds"]),
        "\n".join([*lines, split]),
        data.plans,
        options["test"] is not None,
        address,
        spread,
        data.target,
        None if options["test"] is not None or options["test_last"] else _ordered_by(data),
    )


def task_of(requested: str, y: Array | None, source: str) -> tuple[str, str]:
    """What to learn, and why."""
    if requested == "auto":
        return decide_task(y)
    if requested != "outliers" and y is None:
        raise UserError(f"{source} has no labels, and --task {requested} needs them: name the column with --target.")
    return requested, "--task says so"


def check_labels_differ(task: str, y: Array | None, source: str) -> None:
    if task == "classify" and y is not None and len(np.unique(y)) == 1:
        raise UserError(
            f"{source}: the only label is {plain(y[0])!r}, so there is nothing to learn: choose another "
            "column with --target, or use --task outliers."
        )


def read_test(data: Any, task: str, y: Array | None, options: dict[str, Any], voice: Voice) -> Any:
    """Points and targets of the file of --test, like those of ``data``, and how many they are in words."""
    file = Source(options["test"])
    kind = format_of(file, options["format"])
    goal = options["target"] or data.target
    encoded = isinstance(data.X, Table)
    if not FORMATS[kind].tabular:
        zero_based = "auto" if options["zero_based"] is None else options["zero_based"]
        size = {"columns": data.columns} if data.columns is not None else {"n_features": data.X.shape[1]}
        found = read_data(file, target=goal, format=options["format"], zero_based=zero_based, **size)
        other = Rows(found.X, found.y, found.columns, found.target, found.source)
    else:
        table = read_table(file, format=kind, header=options["header"])
        other = rows_like(file, table, data.columns, data.X.shape[1], goal, data.y is not None, encoded)
        other = with_targets(other, task, y, voice)
    y_test = other.y
    if task == "classify" and y is not None and y_test is not None:
        y_test = matching_labels(y_test, np.unique(y), other.source, voice)
    elif y_test is not None:
        y_test = target_of(task, y_test, other.source)
    return other.X, y_test, f"{counted(other.n, 'row')} of {other.source}"


def fit(work: Work, voice: Voice) -> Model:
    """Fit what is done to the columns, then the estimator, with a bar."""
    from sklearn.pipeline import Pipeline

    from maxmargin.cli._progress import showing_progress, showing_step

    Z, steps = work.X, []
    with showing_step("turning the columns into numbers", Z.shape[0]):
        for name, step in (("columns", work.encoder), ("scale", work.scaler)):
            if step is not None:
                Z = step.fit_transform(Z)
                steps.append((name, step))
        if work.encoder is not None and work.X_test is not None:
            if work.test_file or work.encoder.handle_unknown == "error":  # what cannot be tested shows before the fit
                note_unknown(work.encoder, work.X_test, voice)
            work.encoder.transform(work.X_test)
    n_classes = 2 if work.y is None or work.task != "classify" else len(np.unique(work.y))
    estimator = work.estimator
    with showing_progress(estimator.tol, count_problems(estimator, n_classes), work.max_seconds):
        if work.dask is not None:
            estimator = fit_on_cluster(estimator, Z, work.y, work.dask)
        else:
            estimator.fit(Z) if work.task == "outliers" else estimator.fit(Z, work.y)
    work.estimator = estimator
    return Model("", Pipeline([*steps, ("svm", estimator)]) if steps else estimator, False)


def report_as_dict(report: Any) -> dict[str, Any]:
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


def was_interrupted(report: Any) -> bool:
    """Whether a fit ended by Ctrl-C."""
    if isinstance(report, FitReport):
        return report.status is Status.INTERRUPTED
    return not report.complete and Status.INTERRUPTED.value in report.ended


def target_of(task: str, y: Array | None, source: str) -> Array | None:
    """The target in the form that the task takes; of outliers, labels to compare with and not to learn from."""
    if y is None:
        return None
    return as_numbers(y, source) if task == "regress" else as_labels(y)


def _drawn(task: str, y: Array | None, n_test: int, n: int, seed: int, voice: Voice) -> tuple[Array, Array, str]:
    """Rows to train and rows to test on, at random; of every class the same share, where that is possible."""
    from sklearn.model_selection import train_test_split

    drawn, single, by_class = np.arange(n), np.zeros(0, np.intp), None
    if task == "classify" and y is not None:
        labels, first, counts = np.unique(y, return_index=True, return_counts=True)
        if (counts == 1).any() and n - np.count_nonzero(counts == 1) > n_test:
            single = first[counts == 1]
            drawn = np.setdiff1d(drawn, single)
            rare = ", ".join(cut(label, LABEL_LETTERS) for label in labels[counts == 1][:SINGLE_LABELS_SHOWN])
            rare += ", ..." if len(single) > SINGLE_LABELS_SHOWN else ""
            what = (
                "label has a single row, which is" if len(single) == 1 else "labels have a single row each, which are"
            )
            voice.note(f"Note: {len(single):,} {what} used to train ({rare}).")
            counts = counts[counts > 1]
        if len(counts) <= min(n_test, len(drawn) - n_test) and counts.min() >= 2:
            by_class = y[drawn]
        else:
            voice.note(f"Note: the test is not stratified: {len(labels):,} classes are too many for {n_test:,} rows.")
    train, test = train_test_split(drawn, test_size=n_test, random_state=seed, stratify=by_class)
    how = "at random" + (", stratified by class" if by_class is not None else "")
    return np.sort(np.concatenate([train, single])), np.sort(test), f"{how}; --seed {seed}"


def _ordered_by(data: Rows) -> str | None:
    """A column of dates in whose order the rows stand, hardly any of them twice: a series."""
    for plan in data.plans:
        if plan.form is not None and plan.form.startswith("date ") and plan.n_distinct > SERIES_MIN_DISTINCT * data.n:
            days = numbers_of(data.X[plan.name], plan.form)[:, 0]
            if (np.diff(days) >= 0).all():  # not so where one is missing
                return plan.name
    return None


def describe(data: Any, task: str, y: Array | None) -> list[str]:
    n, d = data.X.shape
    plans = getattr(data, "plans", [])
    kind = "sparse column" if sp.issparse(data.X) else "column"
    line = f"{data.source}: {counted(n, 'row')}, {counted(len(plans) or d, kind)}"
    if y is not None:
        line += f", target {data.target!r}" if isinstance(data.target, str) else ", target"
        line += f": {_spread(task, y)}"
    return [line]


def _spread(task: str, y: Array) -> str:
    if task == "regress":
        return f"numbers from {figure(y.min(), 6)} to {figure(y.max(), 6)}"
    labels, counts = np.unique(y, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:CLASSES_SHOWN]
    shown = [
        f"{cut(labels[k], LABEL_LETTERS)} {counts[k]:,}"
        for k in (np.sort(most) if len(labels) <= CLASSES_SHOWN else most)
    ]
    return f"{counted(len(labels), 'class')} ({', '.join(shown)}{', ...' if len(labels) > CLASSES_SHOWN else ''})"


def why(requested: str, task: str, reason: str, y: Array | None) -> list[str]:
    """The task that was found, the reason, and the others that this target could have."""
    if requested != "auto":
        return []
    of_words = y is not None and y.dtype.kind not in "fiu"
    others = " or ".join(f"--task {it}" for it in WORDS if it != task and not (it == "regress" and of_words))
    return [f"task {task}, because {reason} ({others} to override)"]
