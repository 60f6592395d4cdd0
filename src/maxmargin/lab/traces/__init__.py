"""A solver at work, step by step.

``SOLVERS`` lists the methods; each is a file with the mathematics at its top and one generator of steps. ``trace`` runs
one on the points of the page and answers with frames: the multipliers after a step, what can be said of them
(:func:`~maxmargin.lab.traces.lesson.evaluate`), and a sentence. Of long runs the first steps are all there, later ones
thinned (:class:`~maxmargin.lab.traces.lesson.Thinned`). ``trace_values`` gives the
decision function of any frame on a grid, so that frames themselves stay small.

All methods solve the same problem as :class:`~maxmargin.SVC` and end at its solution, which is part of the answer;
three have a problem of their own: coordinate descent has no intercept, Newton's method squares the slack, and the
perceptron only wants no errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import SVC, InseparableError
from maxmargin.kernels import Kernel, as_kernel
from maxmargin.lab import requests
from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces import active_set, barrier, coordinate_descent, newton, pegasos, perceptron, smo, subgradient
from maxmargin.lab.traces.answers import encoded, grid_points, listed, seconds, short
from maxmargin.lab.traces.lesson import Lesson, Step, Thinned, evaluate, evaluate_perceptron
from maxmargin.lab.traces.script import script
from maxmargin.runtime.validation import Array

__all__ = ["SOLVERS", "Method", "script", "trace", "trace_values"]

TRACE_MAX_POINTS = 300  # whose every multiplier is sent with every frame
TRACE_MAX_STEPS = 50_000
TRACE_MAX_SECONDS = 3.0  # for the steps; nobody waits longer for a film
NEGATIVE_MAX_SHARE = 1e-9  # of the largest eigenvalue of K: a negative one beyond it is no rounding


@dataclass(frozen=True)
class Method:
    """A solver that can be watched.

    title: its name in sentences
    steps: from a lesson, and the number of steps for those that need to know it, to an iterator of steps
    limit: steps after which it is stopped, unless the request says otherwise; 0 is forty times the number of points
    bounded: whether ``steps`` takes the number of steps
    hard: whether it can do without slack, C = inf
    indefinite: whether it bears a kernel that is none
    """

    title: str
    steps: Callable[..., Iterator[Step]]
    limit: int
    bounded: bool = False
    hard: bool = True
    indefinite: bool = False


SOLVERS: dict[str, Method] = {
    "smo": Method("SMO", smo.steps, 10_000, indefinite=True),
    "coordinate_descent": Method("Coordinate descent", coordinate_descent.steps, 10_000, indefinite=True),
    "active_set": Method("The active-set method", active_set.steps, 2_000),
    "barrier": Method("The barrier method", barrier.steps, 200),
    "newton": Method("Newton's method", newton.steps, 200, hard=False),
    "subgradient": Method("Sub-gradient descent", subgradient.steps, 1_000, bounded=True, hard=False),
    "pegasos": Method("Pegasos", pegasos.steps, 0, bounded=True, hard=False),
    "perceptron": Method("The perceptron", perceptron.steps, 5_000, indefinite=True),
}


def trace(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """A solver's way to the solution.

    request: ``points`` [[x, y, class], ...] of two classes, ``kernel``, ``C``, ``solver`` (one of ``SOLVERS``),
        ``tol``, ``seed``, and ``max_iterations``, the step after which to stop
    control: says when to stop
    Returns ``frames`` and what they have in common: ``signs`` (y_i; a frame's signed coefficients are signs * alpha),
        ``curves`` (columns over the frames), ``final`` (the production solver's solution), ``steps``, ``converged`` and
        ``ended`` in words. In a frame ``gradient`` is y_i f_i - 1, the slope of the dual objective along alpha_i,
        ``chosen`` the points that the step is about, counted from 0 (its ``note`` counts from 1).
    """
    control = control or Run()
    name = requests.choice(request, "solver", SOLVERS, "smo")
    method = SOLVERS[name]
    lesson, parameters = _lesson(request, name)
    limit = method.limit or min(10_000, max(1_000, 40 * lesson.n))
    limit = int(requests.number(request, "max_iterations", limit, least=1, most=TRACE_MAX_STEPS, integer=True))
    final = _final(lesson, parameters, name, control)
    thinned, stopped, began = Thinned(), "", control.seconds
    for step in method.steps(lesson, limit) if method.bounded else method.steps(lesson):
        thinned.add(step)
        if thinned.count > limit and not method.bounded:
            stopped = f"stopped after {limit:,} steps"
            break
        if thinned.count % 16 == 0:
            control.check()
            if control.stop() is not None or control.seconds - began > TRACE_MAX_SECONDS:
                stopped = "stopped at the time limit"
                break
    frames = [_frame(lesson, name, at, step, parameters["kernel"] == "linear") for at, step in thinned]
    last = frames[-1]
    converged = not stopped
    if name == "perceptron":
        converged = "separated" in last
    elif method.bounded:
        converged = _close(last, final)
    return {
        "solver": name,
        "signs": lesson.y.astype(int).tolist(),
        "frames": frames,
        "curves": {
            column: [frame[column] for frame in frames]
            for column in ("iteration", "primal", "dual", "gap", "violation", "n_support", "errors")
        },
        "final": final,
        "steps": thinned.count - 1,
        "converged": converged,
        "ended": _ended(name, thinned.count - 1, stopped, converged, last, final),
    }


def trace_values(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """The decision function of one frame on a grid.

    request: ``points``, ``kernel`` as for :func:`trace`; ``alphas``, the signed coefficients, one a point;
        ``intercept``; ``view`` and ``grid``
    Returns ``values``: float32 in base64, row by row from y0 up; ``grid`` [nx, ny], ``low`` and ``high``.
    """
    control = control or Run()
    X, _ = requests.points(request)
    if len(X) == 0:
        raise RequestError("There are no points: add some first.", "points")
    given = request.get("alphas")
    if not isinstance(given, list) or len(given) != len(X):
        raise RequestError(f"alphas must be a list of {len(X)} numbers, one a point.", "alphas")
    a = np.array([requests.number({"alphas": value}, "alphas", least=-1e15, most=1e15) for value in given])
    b = requests.number(request, "intercept", 0.0, least=-1e15, most=1e15)
    xs, ys = requests.view(request)
    kernel = _kernel(requests.kernel(request), X)
    used = np.flatnonzero(a)
    values, G = np.full(len(xs) * len(ys), b), grid_points(xs, ys)
    for start in range(0, len(G), 4096):
        control.check()
        with np.errstate(over="ignore", invalid="ignore"):
            values[start : start + 4096] += kernel.matrix(G[start : start + 4096], X[used]) @ a[used]
    return {
        "values": encoded(values),
        "grid": [len(xs), len(ys)],
        "low": short(float(values.min())),
        "high": short(float(values.max())),
    }


def warm_up() -> None:
    """One short run of every solver, so that all compiled code is loaded."""
    points = [[-0.7, 0.5, 0], [-0.5, -0.4, 0], [0.2, 0.4, 1], [0.7, 0.2, 1]]
    for name in SOLVERS:
        trace({"points": points, "kernel": "linear", "solver": name, "max_iterations": 20})
    rbf = {"points": points, "kernel": "rbf"}
    trace({**rbf, "solver": "smo"})
    trace_values({**rbf, "alphas": [-1, 0, 1, 0], "grid": [8, 8]})


def two_classes(request: Mapping[str, Any], most: int, what: str) -> tuple[Array, Array]:
    """Points and their signs, -1 for the lower class and +1 for the higher."""
    X, codes = requests.points(request)
    present = np.unique(codes)
    if len(present) < 2:
        raise RequestError(
            "There are no points: add some of two classes first."
            if len(X) == 0
            else f"All points are of class {present[0] + 1}: add at least one of another class.",
            "points",
        )
    if len(present) > 2:
        raise RequestError(f"{what} shows two classes, and there are {len(present)}: remove the others.", "points")
    if len(X) > most:
        raise RequestError(f"{what} takes at most {most:,} points, and there are {len(X):,}: remove some.", "points")
    return X, np.where(codes == present[1], 1.0, -1.0)


def _kernel(parameters: dict[str, Any], X: Array) -> Kernel:
    given = dict(parameters)
    try:
        return as_kernel(given.pop("kernel"), **given).resolve(X)
    except ValueError as error:
        raise RequestError(str(error), "kernel") from error


def resolved_kernel(request: Mapping[str, Any], X: Array) -> dict[str, Any]:
    """The kernel's name and parameters as numbers, those that depend on the points included."""
    parameters = requests.kernel(request)
    kernel = _kernel(parameters, X)
    return {"name": parameters["kernel"], **{key: getattr(kernel, key) for key in parameters if key != "kernel"}}


def _lesson(request: Mapping[str, Any], name: str) -> tuple[Lesson, dict[str, Any]]:
    X, y = two_classes(request, TRACE_MAX_POINTS, "This tab")
    C, parameters = requests.penalty(request), requests.kernel(request)
    method = SOLVERS[name]
    if math.isinf(C) and not method.hard:
        raise RequestError(
            f"{method.title} follows the slope of C times the slack, and needs a finite C: lower C.", "C"
        )
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            K = _kernel(parameters, X).matrix(X, X)
    except ValueError as error:
        raise RequestError(str(error), "kernel") from error
    if not (np.isfinite(K).all() and np.abs(K).max() < 1e100):
        raise RequestError("The kernel's values overflow on these points: lower its degree or its gamma.", "kernel")
    K = (K + K.T) / 2
    if not method.indefinite and parameters["kernel"] in ("sigmoid", "poly"):
        eigenvalues = np.linalg.eigvalsh(K)
        title = method.title[0].lower() + method.title[1:]
        if eigenvalues[0] < -NEGATIVE_MAX_SHARE * abs(eigenvalues[-1]) * len(X):
            raise RequestError(
                f"On these points the {parameters['kernel']} kernel has negative eigenvalues, and {title} needs one "
                "that has none: choose another kernel, or SMO.",
                "kernel",
            )
    return Lesson(
        X=X,
        y=y,
        K=K,
        C=C,
        tol=requests.number(request, "tol", 1e-3, least=1e-8, most=1.0),
        intercept=name != "coordinate_descent",
        squared=name == "newton",
        seed=int(requests.number(request, "seed", 0, least=0, most=2**31 - 1, integer=True)),
    ), parameters


def _frame(lesson: Lesson, name: str, at: int, step: Step, linear: bool) -> dict[str, Any]:
    seen = evaluate_perceptron(lesson, step) if name == "perceptron" else evaluate(lesson, step)
    b = step.b if step.b is not None else seen.b
    y = lesson.y
    return {
        "iteration": at,
        "alpha": listed(np.abs(step.a)),
        "w": listed(step.a @ lesson.X) if linear else None,
        "b": short(b),
        "chosen": list(step.chosen),
        "step": short(step.length),
        "gradient": listed(y * step.f - 1.0, 4),
        "primal": short(seen.primal),
        "dual": short(seen.dual),
        "gap": short(seen.primal - seen.dual),
        "violation": short(seen.violation),
        "n_support": int(np.count_nonzero(step.a)),
        "errors": _wrong_side(lesson, step.f, b),
        "note": step.note,
        **step.more,
    }


def _final(lesson: Lesson, parameters: dict[str, Any], name: str, control: Run) -> dict[str, Any]:
    """The exact solution, by the production solver. The squared hinge is a hard margin with K + I / (2 C)."""
    left: dict[str, Any] = {"max_seconds": min(TRACE_MAX_SECONDS, seconds(control)), "tol": 1e-7}
    try:
        if lesson.squared:
            model = SVC(C=math.inf, kernel="precomputed", **left)
            model.fit(lesson.K + np.eye(lesson.n) / (2 * lesson.C), lesson.y)
        else:
            model = SVC(C=lesson.C, **parameters, fit_intercept=lesson.intercept, **left).fit(lesson.X, lesson.y)
    except InseparableError as error:
        if name != "perceptron":
            raise RequestError(
                "C = inf allows no errors, and with this kernel the classes cannot be separated: use a finite C.", "C"
            ) from error
        return dict.fromkeys(("alpha", "w", "b", "primal", "dual", "margin", "n_support", "errors"))
    except ValueError as error:
        raise RequestError(str(error), "kernel") from error
    a = np.zeros(lesson.n)
    a[model.support_] = model.dual_coef_[0]
    step = Step(a, lesson.K @ a, "", b=float(model.intercept_[0]))
    seen = evaluate(lesson, step)
    norm = math.sqrt(max(0.0, float(a @ step.f)))
    return {
        "alpha": listed(np.abs(a)),
        "w": listed(a @ lesson.X) if parameters["kernel"] == "linear" else None,
        "b": short(float(model.intercept_[0])),
        "primal": short(seen.primal),
        "dual": short(seen.dual),
        "margin": short(2 / norm) if norm > 0 else None,
        "n_support": len(model.support_),
        "errors": _wrong_side(lesson, step.f, float(model.intercept_[0])),
    }


def _wrong_side(lesson: Lesson, f: Array, b: float) -> int:
    return int(np.count_nonzero(lesson.y * (f + b) <= 0))


def _close(last: dict[str, Any], final: dict[str, Any]) -> bool:
    """Whether the objective is within a hundredth of the best."""
    return bool(last["primal"] is not None and last["primal"] <= 1.01 * final["primal"] + 1e-9)


def _ended(name: str, steps: int, stopped: str, converged: bool, last: dict[str, Any], final: dict[str, Any]) -> str:
    title, plural = SOLVERS[name].title, "" if steps == 1 else "s"
    if name == "perceptron":
        if converged:
            return "The perceptron stops here; in general its margin is not the widest."
        return f"The perceptron {stopped or 'gave up'}: perhaps no boundary of this kind separates the classes."
    if last["primal"] is None or not final["primal"]:
        return f"{title} took {steps:,} step{plural}."
    above = max(0.0, last["primal"] / final["primal"] - 1)
    if SOLVERS[name].bounded:  # it has no test of its own, and ends at its limit
        state = f"stopped at its limit of {steps - bool(last.get('average')):,} steps"
    else:
        state = f"converged after {steps:,} step{plural}" if converged else stopped or f"stopped after {steps:,} steps"
    end = "at the best objective" if above < 1e-6 else f"{100 * above:.2g} % above the best objective"
    return f"{title} {state}, {end}."
