"""``maxmargin predict``: labels or numbers for new rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli import UserError
from maxmargin.cli._options import Voice, check_folder, data_options, json_option, target_option

if TYPE_CHECKING:
    from maxmargin.cli._data import Rows
    from maxmargin.cli._model import Model

SUFFIXES = (".csv", ".tsv", ".txt", ".npy", ".npz", "")


@click.command(name="predict", short_help="Predict labels or numbers for new rows.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "-o", "--output", metavar="OUT", type=click.Path(dir_okay=False), help="Write here: .csv, .tsv, .txt, .npy, .npz."
)
@click.option(
    "--values", is_flag=True, help="Give decision values, too: the distance from the boundary, and on which side."
)
@click.option("--probabilities", is_flag=True, help="Give probabilities, too; of a model trained with --probabilities.")
@click.option(
    "--threshold",
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    help="Answer the second of two classes where its probability is at least this.  [default: by the decision value]",
)
@click.option("--id", metavar="COLUMN", multiple=True, help="Write this column of DATA beside the predictions.")
@click.option("--all", "everything", is_flag=True, help="Write all columns of DATA beside the predictions.")
@target_option
@data_options
@json_option
def command(model: str, data: str, output: str | None, as_json: bool, **options: Any) -> None:
    """Predict the labels (or numbers) of the rows of DATA with MODEL.

    DATA may have a column of labels or not; "-" is standard input. Columns are matched by name where they have names.
    Prints one label per line, or a table with a header where there are more columns. An outlier is -1, any other
    row 1. Categories that the model does not know are ignored and counted.

    \b
    maxmargin predict titanic.mm new.csv --id PassengerId -o survived.csv
    maxmargin predict churn.mm new.csv --probabilities --threshold 0.3
    """
    voice = Voice(as_json)
    suffix = Path(output).suffix.lower() if output is not None else ""
    if suffix not in SUFFIXES:
        raise UserError(f"{output}: predictions are written as .csv, .tsv, .txt, .npy or .npz, not as {suffix}.")
    extra = {name: options.pop(name) for name in ("values", "probabilities", "threshold", "id", "everything")}
    if suffix == ".npy" and (extra["values"] or extra["probabilities"]):
        raise UserError(f"{output}: an .npy file holds one array, and there are labels and values: use .npz or .csv.")
    if suffix in (".npy", ".npz") and (extra["id"] or extra["everything"]):
        raise UserError(f"{output}: columns of the data are written to .csv or .tsv only.")
    if output is not None:
        check_folder(output)
    from maxmargin.cli._data import read_for_model
    from maxmargin.cli._model import load_model

    with voice.repeating_warnings():
        loaded = load_model(model)
        rows = read_for_model(loaded, data, labels=False, voice=voice, **options)
        beside = _beside(rows, extra["id"], extra["everything"])
        answers = predictions(loaded, rows.X, extra["values"], extra["probabilities"], extra["threshold"])
    n = len(answers["prediction"])
    if output is not None:
        from maxmargin.io._atomic import write_atomically

        write_atomically(output, [_bytes(suffix, beside, answers)])
        voice.say(f"wrote {output}: {n:,} predictions")
    elif not as_json:
        several = len(answers) > 1 or bool(beside)
        click.echo(_bytes(".tsv" if several else "", beside, answers).decode(), nl=False)
    kept = {} if output is not None else by_kind(answers)
    voice.finish({"model": model, "data": data, "n": n, "task": loaded.task, "output": output, **kept})


def predictions(model: Model, X: Any, values: bool, probabilities: bool, threshold: float | None) -> dict[str, Any]:
    """Columns of answers: ``prediction``, and where asked for ``value ...`` and ``probability ...``, one per class."""
    import numpy as np

    estimator = model.estimator
    classes = getattr(model.svm, "classes_", None)
    p = None
    if probabilities or threshold is not None:
        option = "--probabilities" if probabilities else "--threshold"
        if classes is None:
            raise UserError(f"{option}: {model.path} has no classes: leave it out.")
        if not hasattr(estimator, "predict_proba"):
            raise UserError(f"{option}: {model.path} has no probabilities: train it with --probabilities.")
        p = estimator.predict_proba(X)
    if threshold is not None and (classes is None or len(classes) != 2):
        raise UserError(f"--threshold is for two classes, and {model.path} has more: leave it out.")
    if values and model.task == "regress":
        raise UserError(f"--values: {model.path} predicts numbers, and those are its values: leave the option out.")
    answers: dict[str, Any] = {"prediction": estimator.predict(X)}
    if threshold is not None and classes is not None and p is not None:
        answers["prediction"] = np.where(p[:, 1] >= threshold, classes[1], classes[0])
    if values:
        decision = np.asarray(estimator.decision_function(X)).reshape(len(answers["prediction"]), -1)
        answers |= dict(zip(_value_names(model.svm, decision.shape[1]), decision.T, strict=True))
    if probabilities and p is not None and classes is not None:
        answers |= {f"probability {label}": column for label, column in zip(classes, p.T, strict=True)}
    return answers


def by_kind(answers: dict[str, Any]) -> dict[str, Any]:
    """The answers as arrays: ``predictions``, and where there are some ``values`` and ``probabilities``."""
    import numpy as np

    found = {"predictions": answers["prediction"]}
    for kind, name in (("value", "values"), ("probability", "probabilities")):
        columns = [column for key, column in answers.items() if key.startswith(kind)]
        if columns:
            found[name] = columns[0] if len(columns) == 1 else np.column_stack(columns)
    return found


def _beside(rows: Rows, ids: tuple[str, ...], everything: bool) -> dict[str, list[Any]]:
    """Columns of the data that stand beside the answers."""
    if not ids and not everything:
        return {}
    if rows.table is None:
        raise UserError(f"--{'all' if everything else 'id'} is for tables, and {rows.source} is none: leave it out.")
    from maxmargin.data.survey import check_names

    check_names("--id", ids, rows.table)
    names = rows.table.columns if everything else ids
    return {name: [_cell(value) for value in rows.table[name].tolist()] for name in names}


def _cell(value: Any) -> Any:
    """A value as a CSV file has it: nothing for a missing one, 3 for 3.0."""
    if value is None or value != value:
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _bytes(suffix: str, beside: dict[str, list[Any]], answers: dict[str, Any]) -> bytes:
    """The content of a file of predictions; several columns have their names first."""
    import numpy as np

    if suffix in (".npy", ".npz"):
        memory = io.BytesIO()
        if suffix == ".npy":
            np.save(memory, answers["prediction"], allow_pickle=False)
        else:
            np.savez(memory, **by_kind(answers))
        return memory.getvalue()
    columns = {**beside, **{name: column.tolist() for name, column in answers.items()}}
    if suffix in ("", ".txt") and len(columns) == 1:
        return "".join(f"{value}\n" for value in columns["prediction"]).encode()
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _value_names(svm: Any, n: int) -> list[str]:
    """One value speaks for the second class; several are those of the classes, or of pairs."""
    classes = getattr(svm, "classes_", [])
    if n == len(classes):
        return [f"value {label}" for label in classes]
    return [f"value {k + 1}" if n > 1 else "value" for k in range(n)]
