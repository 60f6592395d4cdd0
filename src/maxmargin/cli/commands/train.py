"""``maxmargin train``: from a file of data to a tested model in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from maxmargin.cli import INTERRUPTED, UserError
from maxmargin.cli._options import (
    Voice,
    address,
    check_folder,
    check_test_options,
    data_options,
    json_option,
    learning_options,
    number_or,
)

PARAMETERS = (
    "kernel",
    "estimator",
    "approximate",
    "components",
    "C",
    "gamma",
    "sigma",
    "degree",
    "coef0",
    "epsilon",
    "nu",
    "multiclass",
    "class_weight",
    "solver",
    "tol",
    "max_iter",
    "max_seconds",
    "cache_size",
    "threads",
    "seed",
    "probabilities",
)


@click.command(name="train", short_help="Train a model, test it on held-out rows, and save it.")
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("-o", "--output", metavar="MODEL", type=click.Path(dir_okay=False), help="Save the model here (.mm).")
@learning_options("trains")
@click.option(
    "--scale/--no-scale",
    default=None,
    help="Bring numbers, and the target of a regression, to mean 0 and variance 1.  [default: yes; sparse data: no]",
)
@click.option(
    "--kernel", metavar="NAME", help="rbf, linear, poly, sigmoid, laplacian, chi2, intersection ...  [default: rbf]"
)
@click.option("--C", "C", type=float, help="Weight of points inside the margin; inf is a hard margin.  [default: 1]")
@click.option(
    "--gamma",
    metavar="NUMBER|scale|auto",
    callback=number_or("scale", "auto"),
    help="Parameter of the kernel.  [default: scale]",
)
@click.option("--sigma", type=float, help="Width of the Gaussian kernel, instead of gamma = 1 / (2 sigma^2).")
@click.option("--degree", type=float, help="Degree of the polynomial kernel.  [default: 3]")
@click.option("--coef0", type=float, help="Constant of the polynomial and the sigmoid kernel.  [default: 0]")
@click.option("--epsilon", type=float, help="Errors up to this are free in regression.  [default: 0.1]")
@click.option(
    "--nu", type=float, help="Share of points that may lie outside, instead of C.  [default for outliers: 0.1]"
)
@click.option(
    "--multiclass",
    type=click.Choice(["ovo", "ovr", "crammer_singer"]),
    help="One against one, one against the rest, or all at once.",
)
@click.option("--class-weight", metavar="balanced|LABEL=W,...", help="Factors of C for the classes.")
@click.option(
    "--estimator",
    type=click.Choice(["auto", "kernel", "linear"]),
    default="auto",
    show_default=True,
    help="auto takes the linear estimator, made for many rows, for --kernel linear.",
)
@click.option(
    "--approximate",
    is_flag=True,
    default=None,
    help="Approximate the kernel by landmarks (Nystroem): for hundreds of thousands of rows and more.",
)
@click.option(
    "--components",
    metavar="NUMBER|auto",
    callback=number_or("auto", integer=True),
    help="How many landmarks; auto adds some until the score on rows held out no longer gains.  [default: 1000]",
)
@click.option(
    "--stream", is_flag=True, help="Never hold all of DATA in memory: read it in batches, several times if need be."
)
@click.option(
    "--dask",
    metavar="ADDRESS|local",
    callback=address,
    help="Fit on the Dask cluster of this scheduler; local makes one of this computer's cores.",
)
@click.option(
    "--solver", metavar="NAME", help="The algorithm; the report says what was chosen and why.  [default: auto]"
)
@click.option(
    "--tol", type=float, help="Stop when the optimality conditions hold to this.  [default: 1e-3; linear 1e-4]"
)
@click.option("--max-iter", type=int, help="Limit of iterations.")
@click.option(
    "--max-seconds", type=click.FloatRange(0, min_open=True), help="Limit of time: stop with the best model so far."
)
@click.option(
    "--cache-size",
    metavar="MB",
    type=float,
    help="Memory for kernel values.  [default: 200; approximate: half of what is free]",
)
@click.option(
    "--threads", type=click.IntRange(1), help="Cores to use; the model does not depend on it.  [default: all]"
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Of the split into training and test rows.",
)
@click.option(
    "--probabilities",
    is_flag=True,
    default=None,
    help="Learn probabilities, too (Platt's sigmoid, by cross-validation), for predict --probabilities.",
)
@click.option(
    "--report", "page", metavar="HTML", type=click.Path(dir_okay=False), help="Write a page with pictures here."
)
@data_options
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, data: str, output: str | None, page: str | None, as_json: bool, **options: Any
) -> None:
    """Train a model on DATA, test it on held-out rows, print a report, and save the model.

    DATA is a table (CSV and the like, Excel, ARFF, Parquet, Arrow), svmlight, or NumPy's .npy or .npz; "-" is standard
    input. Numbers are standardised, texts become columns of 0 and 1, dates become numbers, and missing values are
    imputed. The model file contains this preprocessing, so that predict takes data of the same form.

    \b
    maxmargin train iris.csv -o iris.mm
    maxmargin train titanic.csv --target Survived --report titanic.html
    maxmargin train houses.csv --target price --C 10 -o houses.mm
    maxmargin train a9a.svm --test a9a.t --kernel linear
    maxmargin train visits.csv --task outliers --nu 0.02 -o odd.mm
    maxmargin train huge.parquet --approximate --stream -o huge.mm
    """
    voice = Voice(as_json)
    check_test_options(options)
    if output is not None:
        _check_output(output)
    if page is not None:
        from maxmargin.cli._page import check_page

        check_page(page, options)
    from maxmargin.cli._fit import fit, prepare
    from maxmargin.cli._results import conclude

    parameters = {name: options[name] for name in PARAMETERS}
    with voice.repeating_warnings():
        if options["stream"]:
            from maxmargin.cli._stream import fit_streamed, prepare_stream

            work = prepare_stream(data, options, parameters, voice)
        else:
            work = prepare(data, options, parameters, voice)
    voice.say(work.description)
    with voice.repeating_warnings():
        model = fit_streamed(work) if options["stream"] else fit(work, voice)
        found = conclude(work, model, voice, output)
    if page is not None:
        from maxmargin.cli._page import write_page

        write_page(page, data, work, model, found)
        voice.say(f"wrote {page}")
    voice.finish({"data": data, **found, "page": page})
    if found["interrupted"]:
        ctx.exit(INTERRUPTED)


def _check_output(output: str) -> None:
    """Refuse before the fit what could not be written after it."""
    suffix = Path(output).suffix.lower()
    if suffix in (".model", ".onnx"):
        raise UserError(
            f"{output}: train writes .mm files: save one, and bring it into this form by maxmargin convert."
        )
    if suffix in (".csv", ".tsv", ".txt", ".svm", ".npy", ".npz"):
        raise UserError(f"{output}: this is the name of a data file: give the model a name that ends in .mm.")
    check_folder(output)
