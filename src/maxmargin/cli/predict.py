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
    from maxmargin.runtime.validation import Array

__all__ = ["command"]

SUFFIXES = (".csv", ".tsv", ".txt", ".npy", ".npz", "")


@click.command(name="predict", short_help="Labels or numbers for new rows.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "-o", "--output", metavar="OUT", type=click.Path(dir_okay=False), help="Write here: .csv, .tsv, .txt, .npy, .npz."
)
@click.option(
    "--values", is_flag=True, help="Give decision values, too: the distance from the boundary, and on which side."
)
@target_option
@data_options
@json_option
def command(model: str, data: str, output: str | None, values: bool, as_json: bool, **reading: Any) -> None:
    """Predict the labels (or numbers) of the rows of DATA with MODEL.

    DATA may have a column of labels or not; "-" is standard input. Columns are matched by name where they have names.
    Prints one label a line. An outlier is -1, any other row 1.
    """
    voice = Voice(as_json)
    suffix = Path(output).suffix.lower() if output is not None else ""
    if suffix not in SUFFIXES:
        raise UserError(f"{output}: predictions are written as .csv, .tsv, .txt, .npy or .npz, not as {suffix}.")
    if suffix == ".npy" and values:
        raise UserError(f"{output}: an .npy file holds one array, and there are labels and values: use .npz or .csv.")
    if output is not None:
        check_folder(output)
    from maxmargin.cli._data import read_for_model
    from maxmargin.cli._model import load_model

    with voice.repeating_warnings():
        loaded = load_model(model)
        task = loaded.task
        points = read_for_model(loaded, data, labels=False, voice=voice, **reading)
        predicted = loaded.estimator.predict(points.X)
        decision = loaded.estimator.decision_function(points.X) if values and task != "regress" else None
    if values and decision is None:
        raise UserError(f"--values: {model} predicts numbers, and those are its values: leave the option out.")
    if output is not None:
        from maxmargin.io._atomic import write_atomically

        write_atomically(output, [_bytes(suffix, predicted, decision, loaded.svm)])
        voice.say(f"wrote {output}: {len(predicted):,} predictions")
    elif not as_json:
        click.echo(_bytes(".tsv" if values else "", predicted, decision, loaded.svm, named=False).decode(), nl=False)
    kept = (
        {} if output is not None else {"predictions": predicted, **({} if decision is None else {"values": decision})}
    )
    voice.finish({"model": model, "data": data, "n": len(predicted), "task": task, "output": output, **kept})


def _bytes(suffix: str, predicted: Array, decision: Array | None, svm: Any, *, named: bool = True) -> bytes:
    """The content of a file of predictions; ``named`` puts the names of the columns first."""
    import numpy as np

    if suffix in (".npy", ".npz"):
        memory = io.BytesIO()
        if suffix == ".npy":
            np.save(memory, predicted, allow_pickle=False)
        else:
            arrays = {"predictions": predicted} if decision is None else {"predictions": predicted, "values": decision}
            np.savez(memory, **arrays)  # type: ignore[arg-type]
        return memory.getvalue()
    columns = [predicted.tolist()]
    if decision is not None:
        columns += np.asarray(decision).reshape(len(predicted), -1).T.tolist()
    if suffix in ("", ".txt") and decision is None:
        return "".join(f"{value}\n" for value in columns[0]).encode()
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
    if named:
        writer.writerow(["prediction", *_value_names(svm, len(columns) - 1)])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def _value_names(svm: Any, n: int) -> list[str]:
    """One value speaks for the second class; several are those of the classes, or of pairs."""
    classes = getattr(svm, "classes_", [])
    return (
        [f"value {label}" for label in classes]
        if n == len(classes)
        else [f"value {k + 1}" if n > 1 else "value" for k in range(n)]
    )
