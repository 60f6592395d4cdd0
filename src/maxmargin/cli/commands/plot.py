"""``maxmargin plot``: a picture of a model on data.

two columns            classes: decision function, margin, support vectors; outliers: the region
one column, numbers    the curve and its tube
more columns           classes and outliers: the plane of the decision function and the first residual direction
                       (of several functions: their two main directions), in colours of the predictions, errors
                       crossed; numbers: predicted against true
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click

from maxmargin.cli import UserError
from maxmargin.cli._options import Voice, check_folder, data_options, json_option, target_option

FORMATS = (".png", ".svg", ".pdf")
POINTS_MAX_ROWS = 2000  # rows that are shown


@click.command(name="plot", short_help="Plot a model on data.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "-o",
    "--output",
    metavar="PNG",
    type=click.Path(dir_okay=False),
    help="Where to write: .png, .svg or .pdf.  [default: MODEL's name and .png]",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help=f"Of the choice of {POINTS_MAX_ROWS:,} rows, where there are more.",
)
@target_option
@data_options
@json_option
def command(model: str, data: str, output: str | None, seed: int, as_json: bool, **reading: Any) -> None:
    """Plot MODEL on the rows of DATA.

    With two columns: the decision function with its margin and support vectors. With one column and a regression: the
    curve and its tube. With more columns: the decision function and the first principal component orthogonal to it.
    """
    voice = Voice(as_json)
    out = Path(output if output is not None else Path(model).with_suffix(".png").name)
    if out.suffix.lower() not in FORMATS:
        raise UserError(f"{out}: a picture's name ends in {', '.join(FORMATS)}.")
    check_folder(out)
    from maxmargin import displays  # noqa: F401  first, so that a missing matplotlib shows now
    from maxmargin.cli._data import read_for_model
    from maxmargin.cli._model import load_model
    from maxmargin.cli._pictures import draw
    from maxmargin.io._atomic import write_atomically

    with voice.repeating_warnings():
        loaded = load_model(model)
        points = read_for_model(loaded, data, labels=True if loaded.task == "regress" else None, voice=voice, **reading)
        what, figure = draw(loaded, points, seed, POINTS_MAX_ROWS, voice)
        memory = io.BytesIO()
        figure.savefig(memory, format=out.suffix[1:].lower(), dpi=130)
    write_atomically(out, [memory.getvalue()])
    voice.say(f"wrote {out}: {what}")
    voice.finish({"model": model, "data": data, "output": str(out), "picture": what})
