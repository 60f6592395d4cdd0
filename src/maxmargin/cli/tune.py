"""``maxmargin tune``: C, gamma, epsilon or nu chosen by cross-validation, then tested and saved like ``train``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from maxmargin.cli import UserError
from maxmargin.cli._options import (
    Voice,
    check_folder,
    check_test_options,
    counted,
    data_options,
    in_bytes,
    json_option,
    learning_options,
)

__all__ = ["command"]

SHOWN = 5  # best cells in the table


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """``0.1,1,10`` as numbers."""
    if value is None:
        return None
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 0.1,1,10.") from None


@click.command(name="tune", short_help="Choose C and the kernel's width by cross-validation, test, save the model.")
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("-o", "--output", metavar="MODEL", type=click.Path(dir_okay=False), help="Save the model here (.mm).")
@learning_options("tunes")
@click.option("--scale/--no-scale", default=True, help="Bring every column to mean 0 and variance 1 (the default).")
@click.option("--kernel", metavar="NAME", default="rbf", show_default=True, help="rbf, poly, sigmoid, laplacian ...")
@click.option("--Cs", "Cs", metavar="LIST", callback=numbers, help="Values of C.  [default: 0.01,0.1,...,1000]")
@click.option("--gammas", metavar="LIST", callback=numbers, help="Values of gamma.  [default: 0.01 to 100 x scale]")
@click.option("--epsilons", metavar="LIST", callback=numbers, help="Values of epsilon in regression.  [default: 0.1]")
@click.option("--nus", metavar="LIST", callback=numbers, help="Values of nu for outliers.  [default: 0.01,...,0.5]")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Folds of the cross-validation.")
@click.option("--scoring", metavar="NAME", help="One of scikit-learn's scorers.  [default: accuracy, R2, mass_volume]")
@click.option("--refine/--no-refine", default=False, help="Search a finer grid around the best cell afterwards.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Factors of C for the classes.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Limit of time: the best so far.")
@click.option("--cache-size", metavar="MB", type=float, help="Memory for kernel values.  [default: 1000]")
@click.option("--threads", type=click.IntRange(1), help="[default: all cores]; the result does not depend on it.")
@click.option("--plot", "picture", metavar="PNG", type=click.Path(dir_okay=False), help="Draw the map of scores here.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the splits.")
@data_options
@json_option
def command(data: str, output: str | None, as_json: bool, **options: Any) -> None:
    """Choose C, gamma (and epsilon) for DATA by cross-validation, test the choice on rows held out, and save it.

    The rows of the test take no part in the choice. Kernel values are computed once for all folds and all C.

    \b
    maxmargin tune iris.csv -o iris.mm
    maxmargin tune houses.csv --target price --epsilons 0.1,1 --refine -o houses.mm
    maxmargin tune visits.csv --task outliers --nus 0.01,0.05 -o odd.mm
    """
    voice = Voice(as_json)
    check_test_options(options)
    for path in (output, options["picture"]):
        if path is not None:
            check_folder(path)
    if output is not None and Path(output).suffix.lower() not in (".mm", ""):
        raise UserError(f"{output}: tune writes .mm files: give the model a name that ends in .mm.")
    from maxmargin.cli._findings import findings_of
    from maxmargin.cli._fit import fit, prepare, report_as_dict

    with voice.repeating_warnings():
        machine = dict.fromkeys(("sigma", "max_seconds"), None) | {"kernel": options["kernel"], "seed": options["seed"]}
        work = prepare(data, options, machine | {"machine": "kernel"}, voice)
        work.machine = _search(work.task, options)
    voice.say(work.description)
    with voice.repeating_warnings():
        model = fit(work, voice)
    search = model.machine
    voice.say("\n" + _table(search))
    if options["picture"] is not None:
        from maxmargin.displays import SearchDisplay

        SearchDisplay.from_estimator(search).figure_.savefig(options["picture"], dpi=150, bbox_inches="tight")
    best = search.best_estimator_
    model.estimator = best if model.estimator is search else model.estimator.set_params(machine=best)
    size = None
    if output is not None:
        from maxmargin.io import save

        save(model.estimator, output)
        size = os.path.getsize(output)
    voice.say(f"\n{best.report_}")
    found = None
    if work.X_test is not None:
        found = findings_of(model, work.X_test, work.y_test, work.y, "of the training rows")
        voice.say(f"\nOn the {counted(work.X_test.shape[0], 'row')} of the test:\n\n{found.text()}")
    saved = "The model was not saved: say -o model.mm to keep it." if output is None else f"saved {output}"
    voice.say(f"\n{saved}" + (f" ({in_bytes(size)})" if size else ""))
    voice.finish(
        {
            "data": data,
            "task": work.task,
            "status": search.status_,
            "best_params": search.best_params_,
            "best_score": float(search.best_score_),
            "cells": len(search.cv_results_["params"]),
            "folds": int(search.n_splits_),
            "report": report_as_dict(best.report_),
            "test": None if found is None else found.to_dict(),
            "output": output,
            "output_bytes": size,
        }
    )


def _search(task: str, options: dict[str, Any]) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    from maxmargin.model_selection import SVCCV, SVRCV, OneClassSVMCV

    _refuse(task, options)
    common: dict[str, Any] = {
        "kernel": options["kernel"],
        "gammas": options["gammas"],
        "scoring": options["scoring"],
        "refine": options["refine"],
        "n_jobs": options["threads"],
        "max_seconds": options["max_seconds"],
    }
    if options["cache_size"] is not None:
        common["cache_size"] = options["cache_size"]
    folds = {"n_splits": options["folds"], "shuffle": True, "random_state": options["seed"]}
    if task == "outliers":
        return OneClassSVMCV(cv=KFold(**folds), nus=options["nus"], random_state=options["seed"], **common)
    common["Cs"] = options["Cs"]
    if task == "classify":
        return SVCCV(cv=StratifiedKFold(**folds), class_weight=options["class_weight"], **common)
    return SVRCV(cv=KFold(**folds), epsilons=options["epsilons"] or (0.1,), **common)


def _refuse(task: str, options: dict[str, Any]) -> None:
    """Options of another task."""
    for name, option, tasks in (
        ("Cs", "--Cs", ("classify", "regress")),
        ("epsilons", "--epsilons", ("regress",)),
        ("class_weight", "--class-weight", ("classify",)),
        ("nus", "--nus", ("outliers",)),
    ):
        if options[name] is not None and task not in tasks:
            others = " or ".join(f"--task {other}" for other in tasks)
            raise UserError(f"{option} does not apply to --task {task}: leave it out, or say {others}.")


def _table(search: Any) -> str:
    """The best cells, with the mean and the spread of their scores."""
    results = search.cv_results_
    order = sorted(range(len(results["params"])), key=lambda cell: results["rank_test_score"][cell])[:SHOWN]
    lines = [f"{counted(len(results['params']), 'cell')} on {search.n_splits_} folds, {search.status_}; the best:"]
    for cell in order:
        params = ", ".join(
            f"{name} = {value:.4g}" if isinstance(value, (int, float)) else f"{name} = {value}"
            for name, value in results["params"][cell].items()
        )
        lines.append(
            f"  score {results['mean_test_score'][cell]:.4f} +- {results['std_test_score'][cell]:.4f}   {params}"
        )
    return "\n".join(lines)
