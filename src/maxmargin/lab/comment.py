"""What the page says about a fit: the comment window line by line, the certificate as a sentence, the numbers.

People count classes from 1, as the keys do; in the data they are 0, 1, ...
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin import SVC
from maxmargin.lab import requests
from maxmargin.problems.separability import InseparabilityProof
from maxmargin.svm.report import FitReport

TITLES = {"linear": "Linear", "rbf": "Gaussian", "poly": "Polynomial", "laplacian": "Laplacian", "sigmoid": "Sigmoid"}
WORDS = {"degree": "degree", "gamma": "gamma", "coef0": "offset"}


def comment(model: SVC, errors: int, n: int, live: bool = False, test: dict[str, Any] | None = None) -> list[str]:
    """The lines of the comment window; ``live`` while a point is dragged, when fits get little time; ``test`` counts
    the errors on held-out points.
    """
    report = model.report_
    of_class = ", ".join(f"class {k + 1}: {m}" for k, m in zip(model.classes_, model.n_support_, strict=True))
    many = len(report.margins) > 1
    valid = report.kernel_valid is not False
    lines = [
        f"kernel                {kernel_text(model.get_params())}",
        f"C                     {model.C:g}",
        f"support vectors       {report.n_support} of {n} points ({of_class})",
        f"{'smallest margin' if many else 'margin 2/|w|':<20}  {margin_text(report)}",
        f"training errors       {errors} of {n} points ({100 * errors / n:.1f} %)",
        *([f"{'largest |w|' if many else '|w|':<20}  {2 / report.margin:.6g}"] if valid else []),
        f"kernel evaluations    {report.kernel_evaluations:,}",
        f"solver                {report.solver.replace('_', ' ')}",
        f"iterations            {report.n_iter:,}",
        *([f"duality gap           {report.duality_gap:.3g} (relative {report.relative_gap:.1e})"] if valid else []),
        f"seconds               {report.seconds:.2g}",
    ]
    if test is not None:
        share = 100 * test["errors"] / test["n"]
        lines.insert(5, f"test errors           {test['errors']} of {test['n']} points ({share:.1f} %)")
    if report.converged:
        return lines
    return [*lines, SO_FAR if live else f"not converged         {report.status.value}"]


def margin_text(report: FitReport) -> str:
    """The margin, which is infinite for w = 0, and not defined where a kernel gives |w|^2 < 0."""
    negative = math.isinf(report.margin) and report.kernel_valid is False
    return "not defined: |w|² is negative with this kernel" if negative else f"{report.margin:.6g}"


def kernel_text(settings: dict[str, Any]) -> str:
    """The kernel of these parameters in words."""
    name = settings["kernel"]
    has = requests.parameters_of(name)
    gamma = settings["gamma"] if "gamma" in has else None
    if isinstance(gamma, str):  # "scale": a number that depends on the points
        return f"{TITLES[name]}, gamma = {gamma}"
    if name == "rbf" and gamma is not None:
        return f"Gaussian, sigma = {math.sqrt(0.5 / gamma):.4g} (gamma = {gamma:.4g})"
    parts = [f"{words} {settings[key]:.4g}" for key, words in WORDS.items() if key in has]
    return ", ".join([TITLES[name], *parts])


def certificate(report: FitReport) -> str:
    """How near the optimum the model is, as a sentence with its proof."""
    if report.kernel_valid is False:
        return (
            "This kernel is not positive semidefinite, so there is no dual to prove an optimum: the solver stopped by "
            f"its own rule, with a violation of {report.kkt_violation:.1e}."
        )
    gap = max(0.0, report.relative_gap)
    near = f"within {percent(gap)} of the optimum"
    proved = f"proved by the dual: primal {report.primal_objective:.6g}, dual {report.dual_objective:.6g}"
    ended = "" if report.converged else f" The solver was not finished: {report.status.value}."
    return f"The objective is {near}, {proved}.{ended}"


def percent(share: float) -> str:
    """A share in per cent, with two digits."""
    if not math.isfinite(share):
        return "an unknown part"
    points = 100 * max(share, 1e-9)
    return f"{points:.{max(0, 1 - math.floor(math.log10(points)))}f} %"


def numbers(model: SVC, errors: int, n: int) -> dict[str, Any]:
    """The report for programs."""
    report = model.report_
    return {
        "model": report.model,
        "kernel": kernel_text(model.get_params()),
        "parameters": report.parameters,
        "solver": report.solver,
        "solver_reason": report.solver_reason,
        "status": report.status.name.lower(),
        "converged": report.converged,
        "iterations": report.n_iter,
        "kernel_evaluations": report.kernel_evaluations,
        "n_support": report.n_support,
        "n_support_per_class": model.n_support_.tolist(),
        "margin": report.margin,
        "norm": 2.0 / report.margin if report.margin > 0 else None,
        "errors": errors,
        "training_error": errors / n,
        "primal": report.primal_objective,
        "dual": report.dual_objective,
        "gap": report.duality_gap,
        "relative_gap": report.relative_gap,
        "violation": report.kkt_violation,
        "tol": report.tol,
        "seconds": report.seconds,
    }


def hull_sentence(proof: InseparabilityProof | None, kernel: str) -> str:
    """Why there is no hard margin."""
    if proof is None:
        return "No joint model with this kernel classifies all points correctly: choose a finite C, or another kernel."
    names = [f"class {label + 1}" if label is not None else "the others" for label in (proof.positive, proof.negative)]
    (few, alone), (n, other) = sorted(zip((len(proof.rows_positive), len(proof.rows_negative)), names, strict=True))
    where = "" if kernel == "linear" else " in the feature space"
    if n == 1:
        met = f"a point of {alone} and one of {other} are the same{where}"
    elif few == 1:
        met = f"a point of {alone} is{where} a mixture of {n} points of {other}"
    else:
        met = f"a mixture of {few} points of {alone} and one of {n} points of {other} are the same point{where}"
    return f"No hard margin exists: {met}, and no boundary has it on both sides. Choose a finite C, or another kernel."


SO_FAR = "so far                the best found while you drag; let go, and the fit is finished"


def unfinished_sentence(report: FitReport, live: bool = False) -> str:
    """What to say where a hard margin was neither found nor ruled out."""
    if live:
        return "No hard margin was found so far: let go, and it is searched for longer."
    return (
        f"No hard margin was found in {report.seconds:.1f} s: in this feature space the classes all but touch. Choose "
        "a finite C, or a kernel that bends more (a larger gamma or degree)."
    )
