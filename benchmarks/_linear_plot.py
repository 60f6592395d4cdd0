"""How near to the optimum after how long: one panel a work, a line for each of our solvers and for scikit-learn's."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._data import Data
from ._linear_work import LinearWork, objective, ours, quietly, theirs, variants

CAPS = (1, 3, 10, 30, 100, 300, 1000)  # values of scikit-learn's max_iter
TIGHT = 1e-9  # relative gap that our solvers are asked for
FLOOR = 1e-10  # relative distances below this are drawn there
COLUMNS = 3
WARM_UP = 200  # rows
# Okabe and Ito's colours, which the colour-blind tell apart; markers differ too
LOOK = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#000000", "v")]


@dataclass(frozen=True)
class Curve:
    """Objectives, with the intercept penalised, against seconds."""

    label: str
    seconds: Sequence[float]
    objectives: Sequence[float]
    ours: bool


def curves(work: LinearWork, data: Data, *, seconds: float, caps: Sequence[int] = CAPS) -> list[Curve]:
    """Runs of all solvers on one binary work. scikit-learn's has no history: it is run anew for each ``max_iter``,
    until a run takes longer than ``seconds``. Our objectives are those of our history, scikit-learn's the judge's."""
    found = []
    for solver in work.solvers:
        model = ours(work, penalised=True, solver=solver)
        model.set_params(tol=TIGHT, max_iter=100_000, max_seconds=seconds)
        history = quietly(model, data)[0].history_
        name = model.report_.solver
        found.append(Curve(f"maxmargin {name}", list(history.seconds), list(history.objective), True))
    for variant in variants(work):
        taken, values = [], []
        quietly(theirs(work, variant, max_iter=1), data.sample(WARM_UP))
        for cap in caps:
            begin = time.perf_counter()
            model, capped = quietly(theirs(work, variant, max_iter=cap), data)
            taken.append(time.perf_counter() - begin)
            values.append(objective(work, data, model.coef_, model.intercept_, penalised=True))
            if taken[-1] > seconds or not capped:
                break
        found.append(Curve(f"scikit-learn {variant}", taken, values, False))
    return found


def plot(panels: Sequence[tuple[str, Sequence[Curve]]], path: Path) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.6 * columns, 3.9 * rows), layout="constrained", squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    for ax, (title, lines) in zip(axes.flat, panels, strict=False):
        best = min(min(line.objectives) for line in lines)
        for line, (colour, marker) in zip(lines, LOOK, strict=False):
            away = np.maximum(FLOOR, (np.asarray(line.objectives) - best) / best)
            away = np.minimum.accumulate(away) if line.ours else away  # ours returns the best it has seen
            style = "-" if line.ours else "--"
            ax.plot(line.seconds, away, style, marker=marker, ms=4, color=colour, lw=1.4, label=line.label)
        ax.set(xscale="log", yscale="log", xlabel="seconds")
        ax.set_ylabel("(objective - best) / best")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title, fontsize=11, loc="left")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)
