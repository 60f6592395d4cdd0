"""``maxmargin train --stream``: learn from a file that is never in memory as a whole.

The file is read once to learn its targets (which are kept: eight bytes a row) and, with --scale, the columns' means and
variances; then the estimator reads it as often as it needs. A random part of the rows cannot be held out that way, so a
test wants a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.cli import UserError
from maxmargin.cli._estimator import check_kernel, in_target_units, make_estimator
from maxmargin.cli._fit import (
    READING,
    UNSCALED,
    Work,
    check_labels_differ,
    describe,
    read_test,
    target_of,
    task_of,
    why,
)
from maxmargin.cli._model import Model
from maxmargin.cli._options import Voice
from maxmargin.data.table_encoder import TableEncoder
from maxmargin.io import read_batches
from maxmargin.runtime.validation import Array

BATCH_MAX_ROWS = 20_000  # rows at a time, and fewer where the file would have less than
MIN_BATCHES = 20  # batches
EPOCHS = 10  # passes of an estimator that learns row by row
REFUSED = {
    **dict.fromkeys(("test_size", "test_last"), "give the test a file of its own with --test"),
    **dict.fromkeys(
        ("text", "drop", "keep", "id", "missing", "decimal", "dates"), "it reads tables of numbers only, leave it out"
    ),
    "dask": "leave out one of them",
}


class Streamed:
    """The file's rows as the estimator gets them, batch after batch; as often as one iterates."""

    def __init__(self, batches: Any, scale: bool | None) -> None:
        from sklearn.preprocessing import StandardScaler

        self.X, self.batches = self, batches  # describe and read_test use X.shape
        self.source, self.columns, self.target, self.dtype = batches.source, batches.columns, batches.target, None
        self.encoder: Any = None  # keeps the names of the columns
        self.scaler: Any = None
        self.targets: Any = None
        parts: list[Array] = []
        for X, y in batches:
            self.sparse = sp.issparse(X)
            if self.columns is not None and not parts:
                self.encoder = TableEncoder(columns=self.columns, target=self.target).fit(X)
            if y is None:
                raise UserError(
                    f"{batches.source} has no labels, and --stream needs them: name the column with --target."
                )
            if scale or (scale is None and not self.sparse):
                self.scaler = self.scaler or StandardScaler(with_mean=not self.sparse)
                self.scaler.partial_fit(X)
            parts.append(y)
        strings = any(part.dtype.kind == "U" for part in parts)
        self.y = np.concatenate([part.astype(str) if strings else part for part in parts])
        self.shape = (len(self.y), batches.n_features)
        batches.size = max(1, min(batches.size, len(self.y) // MIN_BATCHES))

    def __iter__(self) -> Iterator[tuple[Any, Array]]:
        at = 0
        for X, y in self.batches:
            target = self.targets[at : at + len(y)]
            at += len(y)
            yield (X if self.scaler is None else self.scaler.transform(X)), target


def prepare_stream(source: str, options: dict[str, Any], parameters: dict[str, Any], voice: Voice) -> Work:
    """Everything before the fit."""
    kernel = parameters["kernel"] or "rbf"
    check_kernel(kernel)
    scale = False if kernel in UNSCALED and options["scale"] is None else options["scale"]
    for name, remedy in REFUSED.items():
        if options[name]:
            raise UserError(f"--stream goes without --{name.replace('_', '-')}: {remedy}.")
    if options["task"] == "outliers":
        raise UserError("--stream classifies and regresses, it does not find outliers: leave it out.")
    reading = {name: options[name] for name in READING}
    reading["zero_based"] = "auto" if reading["zero_based"] is None else reading["zero_based"]
    data = Streamed(read_batches(source, BATCH_MAX_ROWS, target=options["target"], **reading), scale)
    task, reason = task_of(options["task"], data.y, data.source)
    y = data.targets = np.asarray(target_of(task, data.y, data.source))
    check_labels_differ(task, y, data.source)
    fitted = make_estimator(task, parameters, np.unique(y) if task == "classify" else None)
    if not hasattr(fitted, "fit_stream"):
        raise UserError(
            f"--stream does not go with {type(fitted).__name__}, which needs all rows at once: add --approximate"
            + (", or use --kernel linear." if task == "classify" else ".")
        )
    split, X_test, y_test = "all rows to train, and no test", None, None
    if options["test"] is not None:
        X_test, y_test, about = read_test(data, task, y, options, voice)
        split = f"all rows to train, and {about} for the test"
    spread = in_target_units(fitted, y) if task == "regress" and scale is not False else 1.0
    about = "\n".join([*describe(data, task, y), *why(options["task"], task, reason, y), f"{split}; read in batches"])
    limit = parameters["max_seconds"]
    return Work(task, reason, data, y, X_test, y_test, None, None, fitted, limit, about, [], target_spread=spread)


def fit_streamed(work: Work) -> Model:
    """Fit the estimator to the stream, with a bar."""
    from sklearn.pipeline import Pipeline

    from maxmargin.cli._estimator import count_problems
    from maxmargin.cli._progress import showing_progress

    more: dict[str, Any] = {"classes": np.unique(work.X.targets)} if work.task == "classify" else {}
    if hasattr(work.estimator, "partial_fit"):
        more["epochs"] = EPOCHS
    n_classes = len(more.get("classes", "ab"))
    with showing_progress(work.estimator.tol, count_problems(work.estimator, n_classes), work.max_seconds):
        work.estimator.fit_stream(work.X, **more)
    made = (("columns", work.X.encoder), ("scale", work.X.scaler))
    steps = [(name, step) for name, step in made if step is not None]
    return Model("", Pipeline([*steps, ("svm", work.estimator)]) if steps else work.estimator, False)
