"""``maxmargin inspect``: what is in a model file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli._options import Voice, counted, in_bytes, json_option
from maxmargin.runtime.text_report import short_numbers

if TYPE_CHECKING:
    from maxmargin.cli._model import Model

NAMES_SHOWN = 12  # names and classes that are listed
KERNEL_DIGITS = 6  # of the kernel's parameters; JSON has all digits


@click.command(name="inspect", short_help="Show the contents of a model file and the certificate of its fit.")
@click.argument("model", type=click.Path())
@json_option
def command(model: str, as_json: bool) -> None:
    """Show what MODEL contains: parameters, preprocessing, support vectors and the certificate of the fit."""
    voice = Voice(as_json)
    from maxmargin.cli._fit import report_as_dict
    from maxmargin.cli._model import load_model

    with voice.repeating_warnings():
        loaded = load_model(model)
    facts = {"file": model, "bytes": os.path.getsize(model), **_origin(loaded), **_facts(loaded)}
    report: Any = getattr(loaded.svm, "report_", None)
    width = 18
    for name, value in _lines(facts):
        voice.say(f"{name:<{width}}{value}")
    if report is None:
        voice.say("\nThe file has no report of the fit: there is no certificate.")
    else:
        voice.say(f"\nThe fit:\n\n{report}")
    voice.finish({**facts, "report": report_as_dict(report) if hasattr(report, "duality_gap") else report})


def _origin(model: Model) -> dict[str, Any]:
    """The format of the file and who wrote it."""
    if model.libsvm:
        return {"format": "LIBSVM model", "format_version": None, "written_by": None}
    from maxmargin.io._container import unpack

    text, _ = unpack(model.path)
    return {
        "format": "maxmargin model",
        "format_version": text["version"],
        "written_by": f"maxmargin {text.get('maxmargin')}, scikit-learn {text.get('scikit-learn')}",
    }


def _facts(model: Model) -> dict[str, Any]:
    svm = model.svm
    found: dict[str, Any] = {
        "estimator": type(svm).__name__,
        "repr": " ".join(str(svm).split()),
        "task": model.task,
        "parameters": {name: _simple(value) for name, value in svm.get_params(deep=False).items()},
        "kernel": " ".join(str(svm.kernel_).split()) if hasattr(svm, "kernel_") else None,
        "preprocessing": [words for step in model.steps[:-1] if (words := _step(step))],
        "n_columns": model.n_features,
        "columns": model.columns,
        "target": model.target,
        "n_encoded_columns": int(svm.n_features_in_),
        "classes": svm.classes_.tolist() if hasattr(svm, "classes_") else None,
    }
    if hasattr(svm, "support_"):
        vectors, per_class = svm.support_vectors_, svm.n_support_.tolist()
        size = vectors.data.nbytes + vectors.indices.nbytes if hasattr(vectors, "indices") else vectors.nbytes
        found.update(n_support=len(svm.support_), n_support_by_class=per_class, support_bytes=int(size))
    return found


def _step(step: Any) -> str:
    """What a step does to the columns, in a few words; nothing if it only knows their names."""
    from maxmargin.data.table_encoder import TableEncoder

    if isinstance(step, TableEncoder):
        categories = sum(step._is_category(j) for j in range(len(step.categories_)))
        others = len(step.text_columns_) - categories
        parts = [f"categories of {counted(categories, 'column')} as 0 and 1"] if categories else []
        parts += [f"{counted(others, 'column')} of dates, prices or texts as numbers"] if others else []
        parts += [f"missing values filled ({step.missing})"] if step.missing != "refuse" else []
        return ", ".join(parts + ["numbers standardised"] * step.scale)
    return " ".join(str(step).split())


def _simple(value: Any) -> Any:
    return (
        value if value is None or isinstance(value, bool | int | float | str | dict) else " ".join(str(value).split())
    )


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    version = "" if facts["format_version"] is None else f", version {facts['format_version']}"
    lines = [("file", f"{facts['file']}, {in_bytes(facts['bytes'])}"), ("format", facts["format"] + version)]
    if facts["written_by"]:
        lines.append(("written by", facts["written_by"]))
    what = {"classify": "a classifier", "regress": "a regression", "outliers": "a detector of outliers"}[facts["task"]]
    lines.append(("estimator", f"{facts['repr']}, {what}"))
    if facts["kernel"]:
        lines.append(("kernel", short_numbers(facts["kernel"], KERNEL_DIGITS)))
    lines.append(("preprocessing", ", then ".join(facts["preprocessing"]) or "none"))
    lines.append(("columns", f"{facts['n_columns']:,}{_listed(facts['columns'])}"))
    if facts["n_encoded_columns"] != facts["n_columns"]:
        lines.append(("", f"{facts['n_encoded_columns']:,} after preprocessing"))
    if facts["target"] is not None:
        lines.append(("target", facts["target"]))
    if facts["classes"] is not None:
        lines.append(("classes", f"{len(facts['classes'])}{_listed(facts['classes'])}"))
    if "n_support" in facts:
        by_class = ""
        if facts["classes"] is not None and len(facts["n_support_by_class"]) == len(facts["classes"]):
            pairs = zip(facts["classes"], facts["n_support_by_class"], strict=True)
            by_class = _listed([f"{label} {n:,}" for label, n in pairs])
        lines.append(("support vectors", f"{facts['n_support']:,}{by_class}, {in_bytes(facts['support_bytes'])}"))
    return lines


def _listed(names: list[Any] | None) -> str:
    if names is None:
        return ""
    return f": {', '.join(map(str, names[:NAMES_SHOWN]))}" + (", ..." if len(names) > NAMES_SHOWN else "")
