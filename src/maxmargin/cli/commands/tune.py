"""``maxmargin tune``: C, gamma, epsilon or nu chosen by cross-validation, then tested and saved like ``train``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from maxmargin.cli import INTERRUPTED, UserError
from maxmargin.cli._options import (
    Voice,
    check_folder,
    check_test_options,
    counted,
    data_options,
    json_option,
    learning_options,
)

CELLS_SHOWN = 5  # best cells in the table
EXTENSIONS_MAX = 3  # beyond the grid
DEFAULT_CS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
DEFAULT_SCORES = {"classify": "accuracy", "regress": "R2", "outliers": "mass_volume"}
# scikit-learn's name of a score -> what the verdict goes by
JUDGED_BY = {
    "accuracy": "accuracy",
    "roc_auc": "AUC",
    **dict.fromkeys(("balanced_accuracy", "f1", "f1_macro", "recall", "recall_macro"), "balanced accuracy"),
}


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """``0.1,1,10`` as numbers."""
    if value is None:
        return None
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 0.1,1,10.") from None


@click.command(name="tune", short_help="Train with C and the kernel width chosen by cross-validation.")
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("-o", "--output", metavar="MODEL", type=click.Path(dir_okay=False), help="Save the model here (.mm).")
@learning_options("tunes")
@click.option("--scale/--no-scale", default=None, help="Bring numbers to mean 0 and variance 1 (the default).")
@click.option("--kernel", metavar="NAME", default="rbf", show_default=True, help="rbf, poly, sigmoid, laplacian ...")
@click.option("--Cs", "Cs", metavar="LIST", callback=numbers, help="Values of C.  [default: 0.01,0.1,...,1000]")
@click.option("--gammas", metavar="LIST", callback=numbers, help="Values of gamma.  [default: 0.01 to 100 x scale]")
@click.option("--epsilons", metavar="LIST", callback=numbers, help="Values of epsilon in regression.  [default: 0.1]")
@click.option("--nus", metavar="LIST", callback=numbers, help="Values of nu for outliers.  [default: 0.01,...,0.5]")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Folds of the cross-validation.")
@click.option("--scoring", metavar="NAME", help="One of scikit-learn's scorers.  [default: accuracy, R2, mass_volume]")
@click.option("--refine/--no-refine", default=False, help="Search a finer grid around the best cell afterwards.")
@click.option("--extend/--no-extend", default=True, help="Go on beyond the grid while the best cell is at its edge.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Factors of C for the classes.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Limit of time: the best so far.")
@click.option("--cache-size", metavar="MB", type=float, help="Memory for kernel values.  [default: 1000]")
@click.option(
    "--threads", type=click.IntRange(1), help="Cores to use; the result does not depend on it.  [default: all]"
)
@click.option("--plot", "picture", metavar="PNG", type=click.Path(dir_okay=False), help="Draw the map of scores here.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the splits.")
@click.option(
    "--report", "page", metavar="HTML", type=click.Path(dir_okay=False), help="Write a page with pictures here."
)
@data_options
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, data: str, output: str | None, page: str | None, as_json: bool, **options: Any
) -> None:
    """Choose C, gamma (and epsilon) by cross-validation on DATA, test the model on held-out rows, and save it.

    The rows of the test take no part in the choice. Kernel values are computed once for all folds and all C.

    \b
    maxmargin tune iris.csv -o iris.mm
    maxmargin tune houses.csv --target price --epsilons 0.1,1 --refine
    maxmargin tune visits.csv --task outliers --nus 0.01,0.05 -o odd.mm
    """
    voice = Voice(as_json)
    check_test_options(options)
    for path in (output, options["picture"]):
        if path is not None:
            check_folder(path)
    if output is not None and Path(output).suffix.lower() not in (".mm", ""):
        raise UserError(f"{output}: tune writes .mm files: give the model a name that ends in .mm.")
    if page is not None:
        from maxmargin.cli._page import check_page

        check_page(page, options)
    from maxmargin.cli._fit import fit, prepare
    from maxmargin.cli._results import conclude
    from maxmargin.runtime.control import Status

    with voice.repeating_warnings():
        given = {"kernel": options["kernel"], "seed": options["seed"], "estimator": "kernel", "max_seconds": None}
        work = prepare(data, options, given, voice)
        work.estimator = _search(work, options)
    voice.say(work.description)
    with voice.repeating_warnings():
        model = fit(work, voice)
        search = model.svm
        if options["picture"] is not None:  # of the grid, before cells beyond it
            from maxmargin.displays import SearchDisplay

            SearchDisplay.from_estimator(search).figure_.savefig(options["picture"], dpi=150, bbox_inches="tight")
        if options["extend"]:
            search = _extended(search, work, model, options, voice)
    score = options["scoring"] or DEFAULT_SCORES[work.task]
    voice.say("\n" + _table(search, work.target_spread, score))
    edges = _edges(search)
    if edges:
        listed = " and ".join(f"{name} = {value:.4g}" for name, (value, _) in edges.items())
        voice.note(f"Note: the best cell is at the edge of the grid ({listed}): give more values beyond it.")
    work.estimator = best = search.best_estimator_
    model.estimator = best if len(model.steps) == 1 else model.estimator.set_params(svm=best)
    with voice.repeating_warnings():
        judged_by, stopped = JUDGED_BY.get(options["scoring"] or ""), search.status_ == Status.INTERRUPTED.value
        found = conclude(work, model, voice, output, judged_by, tuned=True, stopped=stopped)
    if page is not None:
        from maxmargin.cli._page import write_page

        write_page(page, data, work, model, found)
        voice.say(f"wrote {page}")
    voice.finish(
        {
            "data": data,
            "status": search.status_,
            "best_params": search.best_params_,
            "best_score": float(search.best_score_),
            "cells": len(search.cv_results_["params"]),
            "folds": int(search.n_splits_),
            "edge": sorted(edges),
            **found,
            "page": page,
        }
    )
    if found["interrupted"]:
        ctx.exit(INTERRUPTED)


def _edges(search: Any) -> dict[str, tuple[float, bool]]:
    """Axes on whose end the best cell lies: the value, and whether it is the largest."""
    found = {}
    for name in ("C", "gamma", "epsilon"):
        value = search.best_params_.get(name)
        tried = sorted({cell[name] for cell in search.cv_results_["params"] if isinstance(cell.get(name), float)})
        if isinstance(value, float) and len(tried) > 2 and value in (tried[0], tried[-1]):
            found[name] = (value, value == tried[-1])
    return found


def _extended(search: Any, work: Any, model: Any, options: dict[str, Any], voice: Voice) -> Any:
    """The search after steps beyond the grid, as long as the best cell lies at its edge and the score gains."""
    from sklearn.base import clone

    Z = work.X
    for step in model.steps[:-1]:
        Z = step.transform(Z)
    for _ in range(EXTENSIONS_MAX):
        edges = _edges(search)
        if not edges or search.status_ != "complete" or options["max_seconds"] is not None:
            return search
        axes = {
            name: sorted({cell[name] for cell in search.cv_results_["params"]})
            for name in search.best_params_
            if isinstance(search.best_params_[name], float)
        }
        for name, values in axes.items():
            ratio = values[-1] / values[-2] if len(values) > 1 else 1.0
            if name in edges:
                high = edges[name][1]
                axes[name] = (
                    [values[-1] * ratio, values[-1] * ratio**2] if high else [values[0] / ratio**2, values[0] / ratio]
                )
            else:
                at = values.index(search.best_params_[name])
                axes[name] = values[max(0, at - 1) : at + 2]
        listed = " and ".join(
            f"{name} {'above' if high else 'below'} {value:.4g}" for name, (value, high) in edges.items()
        )
        voice.note(f"Note: the best cell is at the edge of the grid: trying {listed}, too.")
        plural = {"C": "Cs", "gamma": "gammas", "epsilon": "epsilons"}
        further = clone(search).set_params(**{plural[name]: values for name, values in axes.items() if name in plural})
        further.fit(Z, work.y)
        if not further.best_score_ > search.best_score_:
            return _joined(search, further)
        search = _joined(further, search)
    return search


def _joined(best: Any, other: Any) -> Any:
    """The better search with the cells of both."""
    import numpy as np

    for name, values in best.cv_results_.items():
        both = [*values, *other.cv_results_.get(name, [])]
        best.cv_results_[name] = (
            both if name == "params" else np.concatenate([np.asarray(values), np.asarray(other.cv_results_[name])])
        )
    if other.status_ != "complete":
        best.status_ = other.status_
    scores = np.asarray(best.cv_results_["mean_test_score"], float)
    best.cv_results_["rank_test_score"] = np.argsort(np.argsort(-scores, kind="stable"), kind="stable") + 1
    return best


def _search(work: Any, options: dict[str, Any]) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    from maxmargin.model_selection import SVCCV, SVRCV, OneClassSVMCV

    task, spread = work.task, work.target_spread
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
    common["Cs"] = [spread * C for C in options["Cs"] or DEFAULT_CS]
    epsilons = [spread * epsilon for epsilon in options["epsilons"] or (0.1,)]
    return SVRCV(cv=KFold(**folds), epsilons=epsilons, tol=1e-3 * spread, **common)


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
            raise UserError(f"{option} does not apply to --task {task}: leave it out, or use {others}.")


def _table(search: Any, spread: float, score: str) -> str:
    """The best cells, with the mean and the standard deviation of their scores over the folds; C and epsilon as they
    were given, in units of the target's spread."""
    results = search.cv_results_
    order = sorted(range(len(results["params"])), key=lambda cell: results["rank_test_score"][cell])[:CELLS_SHOWN]
    cells = f"{counted(len(results['params']), 'cell')} on {search.n_splits_} folds, {search.status_}"
    lines = [f"{cells}; the best by {score} (mean and standard deviation over the folds):"]
    for cell in order:
        if math.isnan(results["mean_test_score"][cell]):  # the search was stopped before
            continue
        params = ", ".join(
            f"{name} = {value / (spread if name in ('C', 'epsilon') else 1):.4g}"
            if isinstance(value, (int, float))
            else f"{name} = {value}"
            for name, value in results["params"][cell].items()
        )
        lines.append(f"  {results['mean_test_score'][cell]:.4f} +- {results['std_test_score'][cell]:.4f}   {params}")
    return "\n".join(lines)
