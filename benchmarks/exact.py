"""Exact fits beside scikit-learn and scikit-learn-intelex: ``python -m benchmarks.exact --data FOLDER``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ._cold import Start, cold_starts
from ._data import MissingDataError, load
from ._libraries import PEERS, TITLES, Options, Work, installed
from ._runner import Outcome, Result, in_own_process, run
from ._table import computer, geometric_mean, markdown, ratio, say, seconds, small

QUICK_ROWS = 400
NOISE = 0.9  # a ratio above this is not slower than measurement noise
WORSE = 1e-6  # relative: an objective may not be worse than scikit-learn's by more

TUBE = {"C": 10.0, "epsilon": 0.1, "gamma": 0.1}

WORK = [
    # two classes, RBF
    Work("magic", "magic", {"C": 10.0, "gamma": 0.1}),
    Work("a9a", "a9a", {"C": 1.0, "gamma": 1 / 16}, predict=5_000),
    Work("ijcnn1", "ijcnn1", {"C": 32.0, "gamma": 2.0}),
    Work("covtype 20k", "covtype", {"C": 10.0, "gamma": 1 / 16}, rows=20_000),
    Work("magic, C = 1000", "magic", {"C": 1000.0, "gamma": 0.1}),
    Work("magic, C = 0.01", "magic", {"C": 0.01, "gamma": 0.1}),
    # many classes
    Work("mnist 20k", "mnist", {"C": 5.0, "gamma": 0.05}, rows=20_000, predict=10_000),
    # small
    Work("digits", "digits"),
    Work("iris", "iris"),
    Work("breast cancer", "breast cancer"),
    Work("breast cancer standardised", "breast cancer standardised"),
    Work("200 random points", "200 random points"),
    # other problems, other kernels
    Work("cadata, SVR", "cadata", TUBE, estimator="SVR"),
    Work("mammography, one-class", "mammography", {"nu": 0.05, "gamma": "scale"}, estimator="OneClassSVM"),
    Work("magic, polynomial", "magic", {"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": 1.0, "C": 1.0}),
    Work("magic, Laplacian", "magic", {"kernel": "laplacian", "gamma": 0.1, "C": 10.0}),
    # sets that nothing was tuned on
    Work("letter", "letter", {"C": 16.0, "gamma": 1.0}),
    Work("pendigits", "pendigits", {"C": 10.0, "gamma": 2.0}),
    Work("madelon", "madelon"),
    Work("satimage", "satimage", {"C": 10.0, "gamma": 0.05}),
    Work("shuttle", "shuttle", {"C": 10.0, "gamma": 0.1}),
    Work("spambase", "spambase", {"C": 10.0, "gamma": 1 / 57}),
    Work("mushrooms, sparse", "mushrooms", {"C": 1.0, "gamma": 1 / 16}),
    Work("usps", "usps", {"C": 10.0, "gamma": 1 / 128}),
    Work("cpusmall, SVR", "cpusmall", TUBE, estimator="SVR"),
    Work("kin40k, SVR", "kin40k", TUBE, estimator="SVR"),
    # sparse text
    Work("news20, linear", "news20 two topics", {"kernel": "linear", "C": 1.0}),
    Work("news20, RBF", "news20 two topics", {"C": 10.0, "gamma": 0.5}),
    Work("news20, 20 classes, RBF", "news20", {"C": 10.0, "gamma": 1.0}),
    Work("sector, 105 classes", "sector", {"C": 10.0, "gamma": 1.0}),
]

BINARY = ["magic", "a9a", "ijcnn1", "covtype 20k"]
MANY_CLASSES = ["letter", "pendigits", "satimage", "usps", "digits"]
SMALL = ["iris", "breast cancer", "breast cancer standardised", "200 random points"]


@dataclass(frozen=True)
class Target:
    """How many times faster than each peer some works should be: their geometric mean, or the slowest of them."""

    text: str
    works: list[str]
    sklearn: float
    sklearnex: float | None
    phase: str = "fit"
    mean: bool = False


TARGETS = [
    Target("fit, geometric mean of the four binary sets", BINARY, 40, 12, mean=True),
    Target("fit, each of them", BINARY, 15, 6),
    Target("fit, magic at C = 1000", ["magic, C = 1000"], 15, 7),
    Target("fit, mnist 20k, ten classes", ["mnist 20k"], 50, 10),
    Target("predict, mnist 10k rows", ["mnist 20k"], 60, 15, phase="predict"),
    Target("predict, a9a 5k rows", ["a9a"], 30, 2.5, phase="predict"),
    Target("fit, small sets, each", SMALL, 1.3, 2),
    Target("fit, many classes, each", MANY_CLASSES, 5, 10),
    Target("fit, many classes, geometric mean", MANY_CLASSES, 9, None, mean=True),
    Target("fit, 105 classes of sparse text", ["sector, 105 classes"], 100, 20),
    Target("fit, 20 classes of sparse text", ["news20, 20 classes, RBF"], 40, 8),
    Target("fit, madelon", ["madelon"], 3, 1),
    Target("fit, SVR on cadata", ["cadata, SVR"], 10, 3),
    Target("fit, OneClassSVM on mammography", ["mammography, one-class"], 10, 3),
    Target("fit, polynomial kernel on magic", ["magic, polynomial"], 5, None),
    Target("fit, Laplacian kernel on magic", ["magic, Laplacian"], 5, None),
]


def times_table(results: Sequence[Result], tol: float) -> str:
    """Seconds, the floor and ratios, the worst ratio first; a time that did not end in a solution is marked."""
    rows: list[tuple[float, list[str]]] = []
    for result in results:
        for phase in ("fit", "predict") if result.test_rows else ("fit",):
            name = result.work.name if phase == "fit" else f"{result.work.name}: predict {result.test_rows:,} rows"
            times = [_marked_seconds(result.outcomes.get(library), phase, tol) for library in TITLES]
            floor = seconds(result.floor) if phase == "fit" else ""
            ratios = [result.ratio(peer, phase) for peer in PEERS]
            worst = min((value for value in ratios if not math.isnan(value)), default=math.inf)
            rows.append((worst, [name, result.shape, *times, floor, *map(ratio, ratios)]))
    rows.sort(key=lambda row: row[0])
    head = ["work", "rows x columns", *(f"{title}, s" for title in TITLES.values()), "floor, s"]
    table = markdown([*head, *(f"against {TITLES[peer]}" for peer in PEERS)], [row for _, row in rows])
    done = {result.work.name: result for result in results}
    if all(name in done for name in BINARY):
        means = [geometric_mean([done[name].ratio(peer) for name in BINARY]) for peer in PEERS]
        row = ["**geometric mean of the four binary fits**", "", "", "", "", "", *map(ratio, means)]
        table += "\n" + markdown([""] * 8, [row]).splitlines()[-1]
    return table


def _marked_seconds(outcome: Outcome | None, phase: str, tol: float) -> str:
    if outcome is None or math.isnan(outcome.median(phase)):
        return "FAILED" if outcome is not None and outcome.error else "-"
    return seconds(outcome.median(phase)) + (" FAILED" if outcome.failure(tol) else "")


def solutions_table(results: Sequence[Result], tol: float) -> str:
    """What the evaluator says of each fit."""
    rows = []
    for result in results:
        for library, outcome in result.outcomes.items():
            judged = outcome.evaluation
            note = f"FAILED: {outcome.failure(tol)}" if outcome.failure(tol) else outcome.skipped
            if outcome.agreement is not None and library != "sklearn":
                note = f"{note} {outcome.agreement:.2%} of the labels are scikit-learn's".strip()
            rows.append(
                [
                    result.work.name,
                    TITLES[library],
                    *(map(small, (judged.violation, judged.relative_gap, judged.worst_gap)) if judged else "---"),
                    small(result.better(library)),
                    f"{judged.n_support:,}" if judged else "-",
                    "-" if outcome.memory is None else f"{outcome.memory:.0f}",
                    note,
                ]
            )
    head = ["work", "library", "m - M", "relative gap", "of the worst pair", "dual against scikit-learn"]
    return markdown([*head, "support vectors", "peak extra MB", "note"], rows, words=(0, 1, 8))


def targets_table(results: Sequence[Result], starts: Sequence[Start], tol: float) -> str:
    """The figures to reach beside those measured, plainly."""
    done = {result.work.name: result for result in results}
    rows = []
    for target in TARGETS:
        cells: list[str] = []
        for peer, goal in (("sklearn", target.sklearn), ("sklearnex", target.sklearnex)):
            found = [done[name] for name in target.works if name in done]
            values = [result.ratio(peer, target.phase) for result in found]
            value = math.nan
            if len(found) == len(target.works) and not any(map(math.isnan, values)):
                value = geometric_mean(values) if target.mean else min(values)
            cells += ["-" if goal is None else f">= {goal:g} x", ratio(value), _verdict(value, goal, found, peer, tol)]
        rows.append([target.text, *cells])
    head = ["work"]
    for peer in PEERS:
        head += [f"against {TITLES[peer]}", "measured", ""]
    table = markdown(head, rows, words=(0, 3, 6))
    return f"{table}\n\n{markdown(['promise', 'measured', ''], _promises(results, starts, tol), words=(0, 2))}"


def _verdict(value: float, goal: float | None, found: Sequence[Result], peer: str, tol: float) -> str:
    if goal is None:
        return ""
    own = [(result.work.name, result.outcomes["maxmargin"]) for result in found if "maxmargin" in result.outcomes]
    failed = [name for name, outcome in own if outcome.failure(tol)]
    if failed:
        return f"**not met**: {', '.join(failed)} failed"
    if math.isnan(value):
        reasons = {result.outcomes[peer].skipped for result in found if peer in result.outcomes} - {""}
        return f"no peer: {', '.join(sorted(reasons))}" if reasons else "not measured"
    return "met" if value >= goal else "**not met**"


def _promises(results: Sequence[Result], starts: Sequence[Start], tol: float) -> list[list[str]]:
    """The promises that are about all works at once: each names the worst of them."""
    own = [result for result in results if "maxmargin" in result.outcomes]
    rows = []

    def add(text: str, worst: tuple[float, str] | None, shown: str, good: bool) -> None:
        measured = "-" if worst is None else f"{shown} ({worst[1]})"
        rows.append([text, measured, "not measured" if worst is None else "met" if good else "**not met**"])

    violations = [
        (r.outcomes["maxmargin"].evaluation.violation, r.work.name) for r in own if r.outcomes["maxmargin"].evaluation
    ]
    worst = max(violations, default=None)
    failed = [r.work.name for r in own if r.outcomes["maxmargin"].failure(tol)]
    add(f"every fit ends with m - M <= {tol:g}", worst, small(worst and worst[0]), not failed)
    dual = min(
        ((r.better("maxmargin"), r.work.name) for r in own if not math.isnan(r.better("maxmargin"))), default=None
    )
    add(
        "dual objective not worse than scikit-learn's by 1e-6",
        dual,
        small(dual and dual[0]),
        bool(dual and dual[0] >= -WORSE),
    )
    ratios = [
        (r.ratio("sklearn", phase), f"{phase} {r.work.name}")
        for r in own
        for phase in ("fit", "predict")
        if not math.isnan(r.ratio("sklearn", phase))
    ]
    slow = min(ratios, default=None)
    add("nothing slower than scikit-learn", slow, ratio(slow[0]) if slow else "-", bool(slow and slow[0] >= NOISE))
    at = {start.label: start for start in starts}
    if "maxmargin" in at and "scikit-learn" in at:
        value = at["maxmargin"].imported / at["scikit-learn"].imported
        add("import <= 1.3 x scikit-learn's", (value, f"{at['maxmargin'].imported:.2f} s"), ratio(value), value <= 1.3)
        value = at["maxmargin"].added
        add("first fit of a process adds <= 0.1 s", (value, "2,000 x 10"), f"{value:.2f} s", value <= 0.1)
    return rows


def starts_table(starts: Sequence[Start]) -> str:
    rows = [[s.label, *map(seconds, (s.imported, s.first, s.later, s.added))] for s in starts]
    return markdown(["new process", "import, s", "first fit, s", "later fit, s", "added by the first, s"], rows)


def document(results: Sequence[Result], starts: Sequence[Start], options: Options) -> str:
    """All tables, with what they were measured on."""
    quick = "\n**A quick trial on a few rows: it shows that everything runs, the figures mean nothing.**\n"
    parts = ["# Exact fits", quick if options.most else "", computer(options), ""]
    parts += ["## Training times: medians in seconds", "", times_table(results, options.tol), ""]
    parts += ["## Solutions, judged in float64 apart from every solver", "", solutions_table(results, options.tol), ""]
    if starts:
        parts += ["## Cold start", "", starts_table(starts), ""]
    parts += ["## Figures to reach", "", targets_table(results, starts, options.tol), ""]
    return "\n".join(parts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets (.npz)")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="works whose name contains one of these (exact name: =NAME)"
    )
    parser.add_argument("--list", action="store_true", help="list the works and leave")
    parser.add_argument("--libraries", nargs="+", choices=list(TITLES), help="default: all that are installed")
    parser.add_argument("--repeats", type=int, default=3, help="timings of each work, of which the median counts")
    parser.add_argument("--peer-repeats", type=int, help="the same for the peers, which are slow (default: as many)")
    parser.add_argument("--quick", action="store_true", help=f"a trial: at most {QUICK_ROWS} rows of each set, once")
    parser.add_argument("--memory", action="store_true", help="also measure peak memory, each fit in its own process")
    parser.add_argument("--no-cold-start", action="store_true", help="do not measure imports and first fits")
    parser.add_argument("--cache-size", type=float, metavar="MB", help="maxmargin's cache_size (default: its own)")
    parser.add_argument("--peer-cache-size", type=float, default=4000, metavar="MB", help="scikit-learn's cache_size")
    parser.add_argument("--intelex-cache-size", type=float, metavar="MB", help="default: its own")
    parser.add_argument("--threads", type=int, help="threads of those that have any (default: all cores)")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64", help="of the input of all")
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every figure, after each work")
    parser.add_argument("--markdown", type=Path, metavar="OUT", help="write the tables, which are printed anyway")
    return parser.parse_args(arguments)


def selected(only: Sequence[str] | None) -> list[Work]:
    """The works that ``--only`` names; a name that matches none is an error."""
    if not only:
        return WORK
    matches = {want: [w for w in WORK if w.name == want[1:] or (want[0] != "=" and want in w.name)] for want in only}
    for want, found in matches.items():
        if not found:
            raise SystemExit(f"No work is called {want!r}. There are: {', '.join(work.name for work in WORK)}.")
    return [work for work in WORK if any(work in found for found in matches.values())]


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
    options = Options(
        tol=args.tol,
        cache_size=args.cache_size,
        sklearn_cache=args.peer_cache_size,
        sklearnex_cache=args.intelex_cache_size,
        threads=args.threads,
        dtype=args.dtype,
        most=QUICK_ROWS if args.quick else 0,
    )
    libraries = [name for name in args.libraries or TITLES if name in installed()]
    own = 1 if args.quick else args.repeats
    peer = own if args.peer_repeats is None else min(own, args.peer_repeats)
    repeats = {library: own if library == "maxmargin" else peer for library in libraries}
    starts: list[Start] = []
    if not args.no_cold_start:
        say("cold start ...")
        starts = cold_starts(libraries, 1 if args.quick else 3)
    results: list[Result] = []
    try:
        for work in works:
            result = measure(work, args.data, repeats, options, seed=args.seed, memory=args.memory)
            if result is not None:
                results.append(result)
                if args.json:
                    args.json.write_text(as_json(results, starts, options))
    except KeyboardInterrupt:
        say("interrupted: the tables show what was done until then")
    text = document(results, starts, options)
    print(text)
    if args.markdown:
        args.markdown.write_text(text)
    return 0


def measure(
    work: Work, folder: Path, repeats: dict[str, int], options: Options, *, seed: int = 0, memory: bool = False
) -> Result | None:
    """One work with all libraries, and their memory if that is asked for; None, and a word, if its data is missing."""
    try:
        data = load(work.data, folder, rows=work.rows, test_rows=work.predict, dtype=options.dtype, most=options.most)
    except MissingDataError as error:
        say(f"skipped {work.name}: {error}")
        return None
    say(f"{work.name} ({data.shape}) ...")
    result = run(work, data, repeats, options, seed=seed)
    for library, outcome in result.outcomes.items():
        if memory and library != "sklearnex" and outcome.fit:
            outcome.memory = in_own_process(library, replace(work, predict=0), folder, options)["memory"]
    times = ", ".join(
        f"{TITLES[name]} {seconds(o.median('fit'))} {o.failure(options.tol)}{o.skipped}".strip()
        for name, o in result.outcomes.items()
    )
    say(f"    {times}")
    return result


def as_json(results: Sequence[Result], starts: Sequence[Start], options: Options) -> str:
    whole: dict[str, Any] = {
        "computer": computer(options),
        "options": options.as_dict(),
        "cold_start": [asdict(start) for start in starts],
        "results": [result.as_dict() for result in results],
    }
    return json.dumps(whole, indent=1)


if __name__ == "__main__":
    sys.exit(main())
