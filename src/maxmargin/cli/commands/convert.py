"""``maxmargin convert``: a model in another program's form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli import UserError
from maxmargin.cli._options import Voice, check_folder, in_bytes, json_option

if TYPE_CHECKING:
    from maxmargin.cli._model import Model


@click.command(name="convert", short_help="Convert a model to LIBSVM or ONNX, and from LIBSVM.")
@click.argument("model", type=click.Path())
@click.argument("out", type=click.Path(dir_okay=False))
@click.option("--n-features", type=int, help="Columns of the data, which a LIBSVM model does not tell.")
@json_option
def command(model: str, out: str, n_features: int | None, as_json: bool) -> None:
    """Write MODEL to OUT, in the format that the ending of OUT selects.

    \b
    .mm       maxmargin's own format: contains everything
    .model    LIBSVM's text format, for svm-predict: one model, no preprocessing
    .onnx     for ONNX runtimes: the model and its preprocessing
    """
    voice = Voice(as_json)
    suffix = Path(out).suffix.lower()
    writers = {".mm": _write_own, ".model": _write_libsvm, ".onnx": _write_onnx}
    if suffix not in writers:
        raise UserError(f"{out}: the name must end in .mm, .model (LIBSVM) or .onnx.")
    check_folder(out)
    from maxmargin.cli._model import load_model

    with voice.repeating_warnings():
        loaded = load_model(model, n_features)
        if n_features is not None and not loaded.libsvm:
            raise UserError(f"--n-features: {model} knows its number of columns: leave the option out.")
        writers[suffix](loaded, out, voice)
    size = os.path.getsize(out)
    voice.say(f"wrote {out} ({in_bytes(size)})")
    voice.finish({"model": model, "output": out, "output_bytes": size})


def _write_own(model: Model, out: str, voice: Voice) -> None:
    from maxmargin.io import save

    save(model.estimator, out)


def _write_libsvm(model: Model, out: str, voice: Voice) -> None:
    from maxmargin.io import write_libsvm_model

    for step in model.steps[:-1]:
        if not _only_names(step):
            raise UserError(
                f"{model.path}: a LIBSVM model holds no preprocessing, and this one has {type(step).__name__}: train "
                "with --no-scale, on numbers only, or convert to .onnx."
            )
    write_libsvm_model(model.svm, out)
    if model.columns is not None:
        voice.note("Note: the names of the columns are left out; LIBSVM numbers them from 1 in the same order.")


def _only_names(step: Any) -> bool:
    """Whether a step passes all columns on as they are, but for what is missing."""
    from maxmargin.data.table_encoder import TableEncoder

    return (
        isinstance(step, TableEncoder)
        and not step.text_columns_
        and not step.scale
        and not len(getattr(step, "indicated_", ()))
    )


def _write_onnx(model: Model, out: str, voice: Voice) -> None:
    from maxmargin.io.onnx import to_onnx

    to_onnx(model.estimator, out)
    if model.encoder is not None and model.text_columns:
        voice.note(
            "Note: the ONNX model has an input for each column; categories are strings, dates and prices numbers."
        )
