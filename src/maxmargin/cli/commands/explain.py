"""``maxmargin explain``: why each row got its label.

The effect of a column on a row is what the decision value (or the number) loses on average when the row takes the
column's value from other rows of DATA:

    effect_j(x) = f(x) - mean over rows z of f(x with x_j replaced by z_j)

For a linear model this is w_j (x_j - mean_j); effects of a kernel model need not add up to f(x).
"""

from __future__ import annotations

import csv
import io
from typing import Any

import click

from maxmargin.cli import UserError
from maxmargin.cli._options import (
    NAME_LETTERS,
    Voice,
    check_folder,
    counted,
    data_options,
    figure,
    json_option,
    plain,
    short_names,
    target_option,
)

SPARSE_MAX_ENTRIES = 10_000_000  # that are held as a dense table, in 80 MB
BACKGROUND_ROWS = 40  # that lend their values
CELL_LETTERS = 22  # of a value that is shown


@click.command(name="explain", short_help="Show which columns drive the prediction for a row.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--rows", "n_rows", type=click.IntRange(1), default=5, show_default=True, help="How many rows, from the first."
)
@click.option(
    "--top", type=click.IntRange(1), default=5, show_default=True, help="Columns that are listed for each row."
)
@click.option("-o", "--output", metavar="CSV", type=click.Path(dir_okay=False), help="Write all effects here.")
@target_option
@data_options
@json_option
def command(model: str, data: str, n_rows: int, top: int, output: str | None, as_json: bool, **reading: Any) -> None:
    """Show which columns drive the predictions of MODEL for the first rows of DATA.

    The effect of a column is the average drop of the decision value (in a regression: of the prediction) when its
    value is replaced by those of other rows of DATA: positive for the prediction, negative against it.
    """
    voice = Voice(as_json)
    if output is not None:
        check_folder(output)
        if not output.lower().endswith(".csv"):
            raise UserError(f"{output}: effects are written as CSV: give a name that ends in .csv.")
    from maxmargin.cli._data import read_for_model
    from maxmargin.cli._model import load_model

    with voice.repeating_warnings():
        loaded = load_model(model)
        rows = read_for_model(loaded, data, labels=False, voice=voice, **reading)
        if rows.n < 2:
            raise UserError(f"{rows.source} has a single row: the effect of a column shows beside other rows.")
        found = effects(loaded, rows.X, min(n_rows, rows.n))
    what = "number" if loaded.task == "regress" else "decision value in favour of the prediction"
    voice.say(f"Beside each column: how much of the {what} is lost when the column takes the values of other rows.\n")
    names = short_names(effect["column"] for effect in found[0]["effects"])
    for one in found:
        value = f", value {figure(one['value'], 4)}" if loaded.task != "regress" else ""
        voice.say(f"row {one['row']}: {_shown(one['prediction'])}{value}")
        for effect in one["effects"][:top]:
            name, shown = names[effect["column"]], _shown(effect["value"])[:CELL_LETTERS]
            voice.say(f"  {name:<{NAME_LETTERS + 1}} {shown:<{CELL_LETTERS + 1}} {_signed(effect['effect'])}")
        voice.say()
    if rows.n > len(found):
        voice.say(f"{counted(rows.n - len(found), 'more row')}: --rows {rows.n} explains all.")
    if output is not None:
        from maxmargin.io._atomic import write_atomically

        write_atomically(output, [_table(found)])
        voice.say(f"wrote {output}")
    voice.finish({"model": model, "data": data, "task": loaded.task, "rows": found, "output": output})


def effects(model: Any, X: Any, n: int) -> list[dict[str, Any]]:
    """Prediction, value and the effects of all columns, largest first, for the first n rows."""
    import numpy as np
    import scipy.sparse as sp

    from maxmargin.cli._data import take
    from maxmargin.data.table import Table

    if sp.issparse(X):
        if X.shape[0] * X.shape[1] > SPARSE_MAX_ENTRIES:
            raise UserError(
                f"explain takes sparse data of at most {SPARSE_MAX_ENTRIES:,} entries, zeros included, and these have "
                f"{X.shape[0]:,} x {X.shape[1]:,}: give fewer rows, or a model of fewer columns."
            )
        X = X.toarray()
    named = isinstance(X, Table)
    columns = X.columns if named else model.columns or [f"column {j + 1}" for j in range(X.shape[1])]
    others = np.linspace(0, X.shape[0] - 1, min(BACKGROUND_ROWS, X.shape[0])).astype(int)
    predicted = model.estimator.predict(take(X, np.arange(n)))
    codes = None if model.task != "classify" else np.searchsorted(model.svm.classes_, predicted)

    estimator, points, source = model.estimator, X, np.arange(len(columns))
    if model.encoder is not None:  # each column has outputs of its own, so that the table is encoded once
        estimator, points, source = estimator[1:], model.encoder.transform(X), model.encoder.output_columns()

    def value(points: Any, repeats: int) -> Any:
        if model.task == "regress":
            return estimator.predict(points)
        decision = np.asarray(estimator.decision_function(points))
        if codes is None:
            return decision
        of = np.repeat(codes, repeats)
        return decision * np.where(of == 1, 1, -1) if decision.ndim == 1 else decision[np.arange(len(of)), of]

    base = value(points[:n], 1)
    losses = np.empty((n, len(columns)))
    kept, lent = points[np.repeat(np.arange(n), len(others))], points[np.tile(others, n)]
    for j in range(len(columns)):
        if sp.issparse(points):
            changed = kept @ sp.diags_array(1.0 * (source != j)) + lent @ sp.diags_array(1.0 * (source == j))
        else:
            changed = np.where(source == j, lent, kept)
        losses[:, j] = base - value(changed, len(others)).reshape(n, -1).mean(axis=1)
    found = []
    for i in range(n):
        listed = [
            {"column": columns[j], "value": plain(X.arrays[j][i] if named else X[i, j]), "effect": float(losses[i, j])}
            for j in np.argsort(-np.abs(losses[i]), kind="stable")
        ]
        found.append({"row": i + 1, "prediction": plain(predicted[i]), "value": float(base[i]), "effects": listed})
    return found


def _shown(value: Any) -> str:
    """A cell as the file has it, and numbers with decimals rounded."""
    decimals = isinstance(value, float) and value == value and value % 1 != 0
    return figure(value, 6) if decimals else _cell(value)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "(missing)"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _signed(effect: float) -> str:
    return f"{'-' if effect < 0 else '+'}{figure(abs(effect), 4)}"


def _table(found: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "prediction", "value", "column", "content", "effect"])
    for one in found:
        for effect in one["effects"]:
            head = [one["row"], one["prediction"], one["value"]]
            writer.writerow([*head, effect["column"], _cell(effect["value"]), effect["effect"]])
    return text.getvalue().encode()
