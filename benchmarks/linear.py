"""Linear estimators beside scikit-learn's, which are LIBLINEAR's: ``python -m benchmarks.linear --data FOLDER``."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ._child import PeakMemory
from ._data import Data, MissingDataError, load
from ._libraries import Options, version
from ._linear_plot import curves, plot
from ._linear_work import WORK, LinearWork, cannot, objective, ours, quietly, theirs, variants
from ._runner import seconds_of
from ._table import computer, markdown, ratio, say, seconds, small

QUICK_ROWS = 400
WARM_UP = 2000  # rows of the fit before timing

TEXT = """\
scikit-learn's linear models always penalise the intercept; ours leave it free by default. So ours are timed twice:
with a free intercept, and with an intercept that is penalised in the same way (`intercept_scaling=1`), where both
libraries minimise the same function. **The ratio and the objectives compare the latter**: the same problem for both,
with objectives computed in float64 independently of any solver. The stopping rules differ: ours is a certified
relative duality gap of `tol`; scikit-learn applies the same number to a different criterion, which guarantees nothing
about the objective. "above ours" shows the difference. Where scikit-learn has a solver for the dual and one for the
primal, both are timed, and the faster one that converged counts. "cap" marks a fit that stopped at its `max_iter`
(scikit-learn's default, 1,000): its time is not that of a solution. Predictions are of the training rows. Both
libraries get the same float64 arrays; LIBLINEAR uses one thread. covtype is the first half of its rows after
`RandomState(0).permutation`, standardised."""


@dataclass
class Fit:
    """One way to do a work: seconds (all repeats), the objective with a penalised intercept, and how it ended."""

    seconds: list[float]
    predict: float = math.nan
    objective: float = math.nan
    capped: bool = False
    gap: float = math.nan
    memory: float = math.nan
    cached: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def shown(self) -> str:
        return seconds(self.median) + (" cap" if self.capped else "") + (" (stored)" if self.cached else "")


@dataclass
class Result:
    work: LinearWork
    shape: str
    warm_up: float
    free: Fit
    same: Fit
    peers: dict[str, Fit] = field(default_factory=dict)

    @property
    def peer(self) -> tuple[str, Fit] | None:
        """The faster of scikit-learn's, one that is no cap if there is any."""
        return min(self.peers.items(), key=lambda item: (item[1].capped, item[1].median), default=None)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def timed(make: Any, data: Data, repeats: int, *, memory: bool) -> tuple[Any, Fit]:
    """Fits of a fresh model each time, and one prediction."""
    taken = []
    for _ in range(repeats):
        spent, (model, capped) = seconds_of(lambda: quietly(make(), data))
        taken.append(spent)
    fit = Fit(taken, seconds_of(lambda: model.predict(data.X))[0], capped=capped)
    if memory:
        with PeakMemory() as peak:
            quietly(make(), data)
        fit.memory = peak.extra
    return model, fit


def measure(work: LinearWork, data: Data, args: argparse.Namespace, stored: dict[str, Any]) -> Result | str:
    """One work with both libraries, or why it cannot be done."""
    begin = time.perf_counter()
    reason = cannot(work, data.sample(WARM_UP))
    if reason:
        return reason
    warm_up = time.perf_counter() - begin
    fits = {}
    for penalised in (False, True):
        model, fit = timed(
            lambda penalised=penalised: ours(work, penalised=penalised, threads=args.threads),
            data,
            args.repeats,
            memory=args.memory,
        )
        fit.gap = float(model.report_.relative_gap)
        fit.objective = objective(work, data, model.coef_, model.intercept_, penalised=penalised)
        fits[penalised] = fit
    result = Result(work, data.shape, warm_up, fits[False], fits[True])
    for variant in variants(work):
        key = f"{work.name} | {variant} | {data.shape} | scikit-learn {version('sklearn')}"
        if key in stored:
            result.peers[variant] = Fit(**{**stored[key], "cached": True})
        elif not (work.slow and args.skip_slow_peers):
            say(f"    scikit-learn, {variant} ...")
            model, fit = timed(
                lambda variant=variant: theirs(work, variant), data, args.peer_repeats, memory=args.memory
            )
            fit.objective = objective(work, data, model.coef_, model.intercept_, penalised=True)
            result.peers[variant], stored[key] = fit, asdict(fit)
    return result


def times_table(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        peer = result.peer
        others = "; ".join(f"{name} {fit.shown()}" for name, fit in result.peers.items())
        rows.append(
            [
                result.work.name,
                result.shape,
                result.free.shown(),
                result.same.shown(),
                others or "-",
                ratio(peer[1].median / result.same.median if peer else math.nan),
                seconds(result.same.predict),
                seconds(peer[1].predict) if peer else "-",
                seconds(result.warm_up),
            ]
        )
    head = ["work", "rows x columns", "maxmargin, free, s", "maxmargin, same problem, s", "scikit-learn, s", "ratio"]
    return markdown([*head, "predict, s", "scikit-learn's, s", "warm-up, s"], rows)


def solutions_table(results: Sequence[Result], memory: bool) -> str:
    rows = []
    for result in results:
        _, peer = result.peer or ("-", Fit([math.nan]))
        rows.append(
            [
                result.work.name,
                f"{result.work.tol:g}",
                f"{result.same.objective:.10g}",
                f"{peer.objective:.10g}" + (" cap" if peer.capped else ""),
                small((peer.objective - result.same.objective) / result.same.objective),
                small(result.same.gap),
                small(result.free.gap),
                *([f"{result.free.memory:.0f}", f"{peer.memory:.0f}"] if memory else []),
            ]
        )
    head = ["work", "tol", "objective", "scikit-learn's", "above ours", "relative gap", "of the free fit"]
    return markdown([*head, *(["extra MB", "scikit-learn's"] if memory else [])], rows)


def document(results: Sequence[Result], left_out: Sequence[str], args: argparse.Namespace) -> str:
    quick = "\n**A quick trial on a few rows: it shows that everything runs, the figures mean nothing.**\n"
    parts = [
        "# Linear estimators",
        quick if args.quick else "",
        "\n".join(computer(Options(threads=args.threads)).splitlines()[:2]),
        "",
        TEXT,
        "",
    ]
    parts += ["## Training times: medians in seconds", "", times_table(results), ""]
    parts += ["## Solutions of the same problem", "", solutions_table(results, args.memory), ""]
    if any(fit.cached for result in results for fit in result.peers.values()):
        parts += ["Times marked (stored) are of an earlier run: ratios to them are rough.", ""]
    parts += [f"- left out: {line}" for line in left_out]
    return "\n".join(parts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets (.npz)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="works whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="list the works and leave")
    parser.add_argument("--repeats", type=int, default=3, help="timings of ours, of which the median counts")
    parser.add_argument("--peer-repeats", type=int, default=1, help="the same for scikit-learn, which is slow")
    parser.add_argument("--peers", type=Path, metavar="FILE", help="keep scikit-learn's results in this JSON file")
    parser.add_argument("--skip-slow-peers", action="store_true", help="no scikit-learn where it takes minutes")
    parser.add_argument("--quick", action="store_true", help=f"a trial: at most {QUICK_ROWS} rows of each set, once")
    parser.add_argument("--memory", action="store_true", help="also measure peak memory beyond the input")
    parser.add_argument("--threads", type=int, help="our threads (default: all cores); LIBLINEAR has one")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the tables, which are printed anyway")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the picture (.png, .svg, .pdf)")
    parser.add_argument("--plot-seconds", type=float, default=20.0, help="longest run of a line of the picture")
    args = parser.parse_args(arguments)
    if args.quick:
        args.repeats = args.peer_repeats = 1
        args.plot_seconds = min(args.plot_seconds, 1.0)
    return args


def selected(only: Sequence[str] | None) -> list[LinearWork]:
    """The works that ``--only`` names; a name that matches none is an error."""
    if not only:
        return WORK
    for want in only:
        if not any(want in work.name for work in WORK):
            raise SystemExit(f"No work is called {want!r}. There are: {'; '.join(work.name for work in WORK)}.")
    return [work for work in WORK if any(want in work.name for want in only)]


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(arguments)
    works = selected(args.only)
    if args.list:
        print(
            markdown(
                ["work", "set", "estimator", "parameters"], [[w.name, w.data, w.estimator, w.params] for w in works]
            )
        )
        return 0
    stored: dict[str, Any] = json.loads(args.peers.read_text()) if args.peers and args.peers.exists() else {}
    results: list[Result] = []
    panels, left_out = [], []
    try:
        for work in works:
            try:
                data = load(work.data, args.data, rows=work.rows, most=QUICK_ROWS if args.quick else 0)
            except MissingDataError as error:
                left_out.append(f"{work.name}: {error}")
                say(f"skipped {left_out[-1]}")
                continue
            say(f"{work.name} ({data.shape}) ...")
            result = measure(work, data, args, stored)
            if isinstance(result, str):
                left_out.append(f"{work.name}: {result}")
                say(f"skipped {left_out[-1]}")
                continue
            results.append(result)
            say(f"    {result.same.shown()} s; {'; '.join(f'{k} {fit.shown()}' for k, fit in result.peers.items())}")
            if args.peers:
                args.peers.write_text(json.dumps(stored, indent=1))
            if args.json:
                args.json.write_text(json.dumps([result.as_dict() for result in results], indent=1))
            if args.plot and work.solvers:
                panels.append((f"{work.name}\n{data.shape}", curves(work, data, seconds=args.plot_seconds)))
    except KeyboardInterrupt:
        say("interrupted: the tables show what was done until then")
    text = document(results, left_out, args)
    print(text)
    if args.out:
        args.out.write_text(text)
    if args.plot and panels:
        plot(panels, args.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
