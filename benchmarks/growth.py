"""How time and memory grow with rows, C, columns, classes and threads: ``python -m benchmarks.growth --data FOLDER``.

Each fit runs in a process of its own, after a small fit that loads everything.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ._data import CLASS_COUNTS, COLUMN_COUNTS, MissingDataError, load
from ._libraries import TITLES, Options, Work
from ._runner import in_own_process
from ._table import computer, markdown, ratio, say, seconds

LIBRARIES = ("maxmargin", "sklearn")
SIZES = [2_000, 4_000, 8_000, 16_000, 32_000, 64_000]  # --sizes goes on, to the 581,012 of the set
PENALTIES = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0]
THREADS = [1, 2]
AXES = ["rows", "C", "columns", "classes", "threads"]
COLOURS = {"maxmargin": "#0b6e99", "sklearn": "#d9730d"}


@dataclass(frozen=True)
class Point:
    """One fit: where on the axis, by whom, and what it took; nan if it was left out."""

    at: float
    library: str
    seconds: float = math.nan
    memory: float = math.nan
    n_support: int = 0


@dataclass(frozen=True)
class Axis:
    """What grows: its name and sign, the set, and the work at each value. ``power`` is the largest with which time is
    expected to grow, by which a slow peer is left out."""

    name: str
    sign: str
    title: str
    data: str
    works: list[tuple[float, Work]]
    power: float = 1.0
    threads: bool = False  # whether the values are numbers of threads


def by_rows(size: int) -> Work:
    return Work(f"covtype, {size:,} rows", "covtype", {"C": 10.0, "gamma": 1 / 16}, rows=size)


def axes(sizes: Sequence[int], penalties: Sequence[float], rows: int) -> list[Axis]:
    """All axes."""
    of_magic, of_columns = "magic shuffled", [(d, f"{d:,} columns") for d in COLUMN_COUNTS]
    of_classes = [(k, f"{k} classes") for k in CLASS_COUNTS]
    return [
        Axis(
            "rows",
            "n",
            "covtype (C = 10, gamma = 1/16): growth with the number of rows",
            "covtype",
            [(n, by_rows(n)) for n in sorted(sizes)],
            power=2.0,
        ),
        Axis(
            "C",
            "C",
            f"magic ({rows:,} rows, gamma = 0.1): growth with C",
            of_magic,
            [
                (C, Work(f"magic, {rows:,} rows, C = {C:g}", of_magic, {"C": C, "gamma": 0.1}, rows=rows))
                for C in sorted(penalties)
            ],
        ),
        Axis(
            "columns",
            "d",
            "generated (4,000 rows, C = 1): growth with the number of columns",
            of_columns[0][1],
            [(d, Work(name, name, {"C": 1.0}, rows=rows)) for d, name in of_columns],
        ),
        Axis(
            "classes",
            "classes",
            "generated (5,000 x 20, C = 1): growth with the number of classes",
            of_classes[0][1],
            [(k, Work(name, name, {"C": 1.0}, rows=rows)) for k, name in of_classes],
        ),
        Axis(
            "threads",
            "threads",
            f"covtype ({2 * rows:,} rows): threads",
            "covtype",
            [(t, by_rows(2 * rows)) for t in THREADS],
            threads=True,
        ),
    ]


def sweep(axis: Axis, folder: Path, options: Options, *, repeats: int, peer_seconds: float) -> list[Point]:
    """Fit every work with every library. A peer is left out, from the first point on that is expected (time grows at
    most with the axis' power) or turns out to take longer than ``peer_seconds``."""
    points = []
    last: dict[str, tuple[float, float]] = {}
    stopped: set[str] = set()
    for at, work in axis.works:
        own = replace(options, threads=int(at)) if axis.threads else options
        for library in LIBRARIES:
            peer = library != "maxmargin"
            if peer and library in last:
                before, took = last[library]
                if took * (at / before) ** axis.power > peer_seconds:
                    stopped.add(library)
            answer: dict[str, Any] = {}
            if library not in stopped:
                # loading and warming up take some seconds of their own
                limit = peer_seconds + 60 if peer else None
                answer = in_own_process(library, work, folder, own, repeats=1 if peer else repeats, timeout=limit)
            if not answer:
                stopped.add(library)
                points.append(Point(at, library))
                say(f"{work.name}: {TITLES[library]} left out, it would take longer than {peer_seconds:g} s")
                continue
            last[library] = (at, answer["seconds"])
            points.append(Point(at, library, answer["seconds"], answer["memory"], answer["n_support"]))
            say(f"{work.name}: {TITLES[library]} {seconds(answer['seconds'])} s, {answer['memory']:.0f} MB")
    return points


def series(points: Sequence[Point], library: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The measured points of one library."""
    mine = [(p.at, getattr(p, what)) for p in points if p.library == library and not math.isnan(getattr(p, what))]
    return np.array([x for x, _ in mine]), np.array([y for _, y in mine])


def exponent(points: Sequence[Point], library: str, what: str) -> float:
    """The power with which a figure grows: the slope in log-log axes."""
    x, y = series(points, library, what)
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0]) if len(x) > 1 else math.nan


def table(points: Sequence[Point], sign: str) -> str:
    """One line per value of the axis."""
    rows = []
    for at in sorted({p.at for p in points}):
        mine, peer = (next(p for p in points if p.at == at and p.library == library) for library in LIBRARIES)
        memory = ["-" if math.isnan(p.memory) else f"{p.memory:.0f}" for p in (mine, peer)]
        times = [seconds(mine.seconds), seconds(peer.seconds), ratio(peer.seconds / mine.seconds)]
        rows.append([f"{at:,g}" if at < 1000 else f"{at:,.0f}", *times, *memory, f"{mine.n_support:,}"])
    powers = [exponent(points, library, what) for what in ("seconds", "memory") for library in LIBRARIES]
    shown = ["-" if math.isnan(power) else f"^{power:.2f}" for power in powers]
    rows.append(["grows like this power", *shown[:2], "", *shown[2:], ""])
    titles = [TITLES[library] for library in LIBRARIES]
    head = [sign, *(f"{title}, s" for title in titles), "ratio", *(f"{title}, MB" for title in titles)]
    return markdown([*head, "support vectors"], rows)


def plot(swept: Sequence[tuple[Axis, list[Point]]], path: Path) -> None:
    """Panels on logarithmic axes: time of every axis, and memory against the rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator

    panels = [(points, "seconds", axis.sign, "seconds", f"Time against {axis.name}") for axis, points in swept]
    panels += [(points, "memory", "n", "megabytes", "Extra memory against rows") for axis, points in swept[:1]]
    panels = [panel for panel in panels if panel[0]]
    if not panels:
        say("nothing to plot")
        return
    columns = min(3, len(panels))
    shape = (-(-len(panels) // columns), columns)
    figure, grid = plt.subplots(*shape, figsize=(4.4 * columns, 4.0 * shape[0]), layout="constrained", squeeze=False)
    for ax in grid.flat[len(panels) :]:
        ax.remove()
    for ax, (points, what, xlabel, ylabel, title) in zip(grid.flat, panels, strict=False):
        for library in LIBRARIES:
            x, y = series(points, library, what)
            power = exponent(points, library, what)
            grows = "" if math.isnan(power) else f", power {power:.1f}"
            marker = "o" if library == "maxmargin" else "s"
            ax.plot(x, y, marker=marker, color=COLOURS[library], label=f"{TITLES[library]}{grows}")
        ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
        ticks = sorted({p.at for p in points})
        ax.set_xticks(ticks, [f"{t / 1000:g}k" if t >= 2000 else f"{t:g}" for t in ticks])
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.minorticks_off()
        ax.set_title(title, fontsize=11, loc="left")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets (.npz)")
    parser.add_argument("--plot", type=Path, metavar="OUT", help="write the plot (.png, .svg, .pdf)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="rows of covtype")
    parser.add_argument(
        "--penalties", type=float, nargs="+", default=PENALTIES, metavar="C", help="values of C on magic"
    )
    parser.add_argument("--axes", nargs="+", choices=AXES, default=AXES, help="what grows (default: all)")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of magic")
    parser.add_argument("--repeats", type=int, default=3, help="fits of maxmargin, of which the median counts")
    parser.add_argument("--peer-seconds", type=float, default=120, help="leave scikit-learn out above this")
    parser.add_argument("--quick", action="store_true", help="a trial: sizes 250, 500 and 1000, once")
    parser.add_argument("--cache-size", type=float, metavar="MB", help="maxmargin's cache_size (default: its own)")
    parser.add_argument("--peer-cache-size", type=float, default=4000, metavar="MB", help="scikit-learn's cache_size")
    parser.add_argument("--threads", type=int, help="maxmargin's threads (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every figure")
    parser.add_argument("--markdown", type=Path, metavar="OUT", help="write the tables, which are printed anyway")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(arguments)
    if args.quick:
        args.sizes, args.penalties, args.rows, args.repeats = [250, 500, 1000], [0.1, 1.0, 10.0], 500, 1
    options = Options(cache_size=args.cache_size, sklearn_cache=args.peer_cache_size, threads=args.threads)
    swept: list[tuple[Axis, list[Point]]] = []
    for axis in (axis for axis in axes(args.sizes, args.penalties, args.rows) if axis.name in args.axes):
        try:
            load(axis.data, args.data, rows=10)
        except MissingDataError as error:
            say(f"skipped {axis.data}: {error}")
            continue
        points = sweep(axis, args.data, options, repeats=args.repeats, peer_seconds=args.peer_seconds)
        swept.append((axis, points))
    parts = ["# Growth", "", computer(options), ""]
    for axis, points in swept:
        parts += [f"## {axis.title}", "", table(points, axis.sign), ""]
    text = "\n".join(parts)
    print(text)
    if args.markdown:
        args.markdown.write_text(text)
    if args.json:
        figures = {axis.name: [vars(point) for point in points] for axis, points in swept}
        args.json.write_text(json.dumps({"computer": computer(options), **figures}, indent=1))
    if args.plot:
        plot(swept, args.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
