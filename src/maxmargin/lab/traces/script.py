"""The Step tab as a Python script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.lab import requests


def script(state: Mapping[str, Any]) -> str:
    """The steps again, and the production solver's solution beside them.

    state: as for :func:`~maxmargin.lab.traces.trace`
    Returns source that leaves the run in ``run`` and the model in ``model``.
    """
    from maxmargin.lab.script import call, heading, literal, value_text
    from maxmargin.lab.traces import SOLVERS, TRACE_MAX_POINTS, TRACE_MAX_STEPS, two_classes

    name = requests.choice(state, "solver", SOLVERS, "smo")
    X, _ = two_classes(state, TRACE_MAX_POINTS, "This tab")
    y = requests.points(state)[1]
    C, kernel = requests.penalty(state), requests.kernel(state)
    own: dict[str, Any] = {}
    if state.get("tol") is not None:
        own["tol"] = requests.number(state, "tol", least=1e-8, most=1.0)
    for key, most in (("seed", 2**31 - 1), ("max_iterations", TRACE_MAX_STEPS)):
        if state.get(key) is not None:
            own[key] = int(requests.number(state, key, least=0, most=most, integer=True))
    given = {"solver": name, "C": "inf" if np.inf == C else C, **own}
    parameters = ", ".join(f'"{key}": {value_text(value)}' for key, value in kernel.items() if key != "kernel")
    asked = ", ".join(f'"{key}": {value_text(value)}' for key, value in given.items())
    settings = {"C": C, **kernel, "tol": 1e-7}
    if name == "coordinate_descent":
        settings["fit_intercept"] = False
    lines = [
        *heading("A solver at work, step by step,"),
        "from maxmargin import SVC",
        "from maxmargin.lab.traces import trace",
        "",
        *literal("points", np.column_stack([X, y]), "x, y, class", (2,)),
        "X, y = points[:, :2], points[:, 2].astype(int)",
        "",
        f'kernel = {{"name": "{kernel["kernel"]}"{", " + parameters if parameters else ""}}}',
        f'run = trace({{"points": points.tolist(), "kernel": kernel, {asked}}})',
        'for frame in run["frames"]:',
        "    print(f\"{frame['iteration']:6}  {frame['note']}\")",
        'print(run["ended"])',
        "",
    ]
    if name == "newton":  # the squared hinge is a hard margin with K + I / (2 C)
        of_kernel = ", ".join(f"{key}={value_text(value)}" for key, value in kernel.items() if key != "kernel")
        lines += [
            "# Slack costs its square here: that is a hard margin with the kernel matrix K + I / (2 C).",
            f'K = as_kernel("{kernel["kernel"]}"{", " + of_kernel if of_kernel else ""})(X)',
            f'model = SVC(C=np.inf, kernel="precomputed", tol=1e-07).fit(K + np.eye(len(y)) / (2 * {C!r}), y)',
        ]
        lines.insert(lines.index("from maxmargin.lab.traces import trace"), "from maxmargin.kernels import as_kernel")
    else:
        lines += [f"model = {call('SVC', settings)}.fit(X, y)"]
    return "\n".join([*lines, "print(model.report_)"]) + "\n"
