"""How time and memory grow with the number of rows and with C: ``python -m benchmarks.growth --data FOLDER``.

Each fit runs in a process of its own, after a small fit that loads and compiles everything.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._data import MissingDataError, load
from ._libraries import TITLES, Options, Work
from ._runner import in_own_process
from ._table import machine, markdown, ratio, seconds

LIBRARIES = ("maxmargin", "sklearn")
SIZES = [2_000, 4_000, 8_000, 16_000, 32_000, 64_000]
PRICES = [0.1, 1.0, 10.0, 100.0, 1000.0]
COLOURS = {"maxmargin": "#0b6e99", "sklearn": "#d9730d"}


@dataclass(frozen=True)
class Point:
    """One fit: where on the axis, by whom, and what it took; nan if it was left out."""

    at: float
    library: str
    seconds: float = math.nan
    memory: float = math.nan
    n_support: int = 0


def by_rows(size: int) -> Work:
    return Work(f"covtype, {size:,} rows", "covtype", {"C": 10.0, "gamma": 1 / 16}, rows=size)


def by_price(C: float, rows: int) -> Work:
    return Work(f"magic, {rows:,} rows, C = {C:g}", "magic shuffled", {"C": C, "gamma": 0.1}, rows=rows)


def sweep(
    works: Sequence[tuple[float, Work]],
    folder: Path,
    options: Options,
    *,
    repeats: int,
    peer_seconds: float,
    power: float,
) -> list[Point]:
    """Fit every work with every library. A peer is left out, from the first point on that is expected (time grows at
    most with this power of the axis) or turns out to take longer than ``peer_seconds``."""
    points = []
    last: dict[str, tuple[float, float]] = {}
    stopped: set[str] = set()
    for at, work in works:
        for library in LIBRARIES:
            peer = library != "maxmargin"
            if peer and library in last:
                before, took = last[library]
                if took * (at / before) ** power > peer_seconds:
                    stopped.add(library)
            answer: dict[str, Any] = {}
            if library not in stopped:
                # loading and warming up take some seconds of their own
                limit = peer_seconds + 60 if peer else None
                answer = in_own_process(library, work, folder, options, repeats=1 if peer else repeats, timeout=limit)
            if not answer:
                stopped.add(library)
                points.append(Point(at, library))
                say(f"{work.name}: {TITLES[library]} left out, it would take longer than {peer_seconds:g} s")
                continue
            last[library] = (at, answer["seconds"])
            points.append(Point(at, library, answer["seconds"], answer["memory"], answer["n_support"]))
            say(f"{work.name}: {TITLES[library]} {seconds(answer['seconds'])} s, {answer['memory']:.0f} MB")
    return points


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def series(points: Sequence[Point], library: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The measured points of one library."""
    mine = [(p.at, getattr(p, what)) for p in points if p.library == library and not math.isnan(getattr(p, what))]
    return np.array([x for x, _ in mine]), np.array([y for _, y in mine])


def exponent(points: Sequence[Point], library: str, what: str) -> float:
    """The power with which a figure grows: the slope in log-log axes."""
    x, y = series(points, library, what)
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0]) if len(x) > 1 else math.nan


def table(points: Sequence[Point], axis: str) -> str:
    """One line a value of the axis."""
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
    head = [axis, *(f"{title}, s" for title in titles), "ratio", *(f"{title}, MB" for title in titles)]
    return markdown([*head, "support vectors"], rows)


def plot(of_rows: Sequence[Point], of_price: Sequence[Point], path: Path, rows: int) -> None:
    """Panels on logarithmic axes: time and memory against n, time against C."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator

    panels = [
        (of_rows, "seconds", "training rows n", "seconds", "Time to fit against n\ncovtype, RBF, C = 10"),
        (of_rows, "memory", "training rows n", "megabytes", "Peak extra memory against n\ncovtype, RBF, C = 10"),
        (of_price, "seconds", "C", "seconds", f"Time to fit against C\nmagic, {rows:,} rows, RBF"),
    ]
    panels = [panel for panel in panels if panel[0]]
    if not panels:
        say("nothing to plot")
        return
    figure, axes = plt.subplots(1, len(panels), figsize=(4.4 * len(panels), 4.2), layout="constrained", squeeze=False)
    for ax, (points, what, xlabel, ylabel, title) in zip(axes[0], panels, strict=True):
        for library in LIBRARIES:
            x, y = series(points, library, what)
            power = exponent(points, library, what)
            grows = f", grows like n$^{{{power:.1f}}}$" if xlabel.endswith("n") and not math.isnan(power) else ""
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
    parser.add_argument("--prices", type=float, nargs="+", default=PRICES, metavar="C", help="values of C on magic")
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
        args.sizes, args.prices, args.rows, args.repeats = [250, 500, 1000], [0.1, 1.0, 10.0], 500, 1
    options = Options(cache_size=args.cache_size, sklearn_cache=args.peer_cache_size, threads=args.threads)
    swept = {}
    works = {
        "covtype": ([(n, by_rows(n)) for n in sorted(args.sizes)], 2.0),
        "magic shuffled": ([(C, by_price(C, args.rows)) for C in sorted(args.prices)], 1.0),
    }
    for name, (list_of_works, power) in works.items():
        try:
            load(name, args.data, rows=10)
        except MissingDataError as error:
            say(f"skipped {name}: {error}")
            swept[name] = []
            continue
        swept[name] = sweep(
            list_of_works, args.data, options, repeats=args.repeats, peer_seconds=args.peer_seconds, power=power
        )
    of_rows, of_price = swept.values()
    parts = ["# Growth", "", machine(options), ""]
    for title, points, axis in (
        ("covtype (C = 10, gamma = 1/16): growth with the number of rows", of_rows, "n"),
        (f"magic ({args.rows:,} rows, gamma = 0.1): growth with C", of_price, "C"),
    ):
        if points:
            parts += [f"## {title}", "", table(points, axis), ""]
    text = "\n".join(parts)
    print(text)
    if args.markdown:
        args.markdown.write_text(text)
    if args.json:
        figures = {name: [vars(point) for point in points] for name, points in swept.items()}
        args.json.write_text(json.dumps({"machine": machine(options), **figures}, indent=1))
    if args.plot:
        plot(of_rows, of_price, args.plot, args.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
