"""``maxmargin evaluate``: a model against data whose answers are known."""

from __future__ import annotations

from typing import Any

import click

from maxmargin.cli._options import Voice, counted, data_options, json_option, target_option


@click.command(name="evaluate", short_help="Test a model on rows with known labels or numbers.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@target_option
@data_options
@json_option
def command(model: str, data: str, as_json: bool, **reading: Any) -> None:
    """Compare the predictions of MODEL with the labels in DATA, and with a naive baseline.

    The baseline is the best prediction that does not use the columns: the most frequent label (or the mean and the
    median) of DATA itself.
    """
    voice = Voice(as_json)
    from maxmargin.cli._data import read_for_model
    from maxmargin.cli._findings import findings_of
    from maxmargin.cli._model import load_model

    with voice.repeating_warnings():
        loaded = load_model(model)
        task = loaded.task
        points = read_for_model(loaded, data, labels=task != "outliers", voice=voice, **reading)
        found = findings_of(loaded, points.X, points.y, points.y, f"of {points.source}")
    target = f", target {points.target!r}" if points.target is not None else ""
    rows = counted(points.X.shape[0], "row")
    voice.say(f"{type(loaded.svm).__name__} of {model} on {rows} of {points.source}{target}\n")
    voice.say(f"{found.text()}\n\n{found.verdict}")
    voice.finish({"model": model, "data": data, "task": task, **found.to_dict()})
