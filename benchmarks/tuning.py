"""Grid search beside scikit-learn's: ``python -m benchmarks.tuning --data FOLDER``.

The same grid of C and gamma, the same stratified folds, the same rows: ``SVCCV`` against ``GridSearchCV`` around
scikit-learn's ``SVC`` (500 MB of cache each job), refits included. Before timing, both search a few rows, so that
nothing is loaded, compiled or started on the clock. Ratios hold within one run; every fold's score is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from maxmargin.model_selection import SVCCV

from ._data import Data, MissingDataError, load
from ._table import markdown, ratio, seconds

PRICES = [float(f"1e{k}") for k in range(-2, 4)]
WIDTHS = [float(f"1e{k}") for k in range(-3, 2)]


@dataclass(frozen=True)
class Work:
    """A set, its rows and the grid."""

    data: str
    rows: int


WORKS = [
    Work("magic shuffled", 4000),
    Work("usps", 3000),
    Work("spambase", 3000),
    Work("satimage", 3000),
    Work("letter", 3000),
]


@dataclass(frozen=True)
class Result:
    """One work, measured."""

    data: str
    rows: int
    classes: int
    mine: float
    peer: float
    apart: float  # largest difference of a fold's score, in samples
    choice: str
    score: float
    peer_choice: str
    peer_score: float
    ties: bool  # the same choice, or one with the same mean score by the peer's own figures

    @property
    def ratio(self) -> float:
        return self.peer / self.mine


def searches(folds: int, jobs: int, cache: float) -> dict[str, Any]:
    splitter = StratifiedKFold(folds)
    peer = GridSearchCV(
        sklearn.svm.SVC(cache_size=cache), {"C": PRICES, "gamma": WIDTHS}, cv=splitter, n_jobs=jobs, refit=True
    )
    return {"mine": SVCCV(Cs=PRICES, gammas=WIDTHS, cv=splitter, n_jobs=jobs), "peer": peer}


def measure(work: Work, data: Data, *, folds: int, repeats: int, jobs: int, cache: float) -> Result:
    """Both searches, ours ``repeats`` times (the median counts), scikit-learn's once, in between."""
    both = searches(folds, jobs, cache)
    few = np.concatenate([np.flatnonzero(data.y == label)[: 2 * folds] for label in np.unique(data.y)])
    for search in both.values():
        search.fit(data.X[few], data.y[few])
    times: dict[str, list[float]] = {"mine": [], "peer": []}
    turns = ["mine"] * repeats
    turns.insert(repeats // 2, "peer")
    for turn in turns:
        began = time.perf_counter()
        both[turn].fit(data.X, data.y)
        times[turn].append(time.perf_counter() - began)
    mine, peer = both["mine"], both["peer"]
    apart = 0.0
    for k, (_, test) in enumerate(StratifiedKFold(folds).split(data.X, data.y)):
        a, b = (search.cv_results_[f"split{k}_test_score"] for search in (mine, peer))
        apart = max(apart, float(np.abs(a - b).max()) * len(test))
    means = peer.cv_results_["mean_test_score"]
    return Result(
        work.data,
        data.X.shape[0],
        len(np.unique(data.y)),
        float(np.median(times["mine"])),
        times["peer"][0],
        apart,
        choice(mine.best_params_),
        float(mine.best_score_),
        choice(peer.best_params_),
        float(peer.best_score_),
        bool(means[mine.best_index_] >= means.max() - 1.5 / data.X.shape[0]),
    )


def choice(params: dict[str, Any]) -> str:
    return f"C = {params['C']:g}, gamma = {params['gamma']:g}"


def table(results: Sequence[Result]) -> str:
    head = ["set", "rows", "classes", "maxmargin, s", "scikit-learn, s", "ratio", "scores apart, samples"]
    rows = [
        [
            r.data,
            f"{r.rows:,}",
            r.classes,
            seconds(r.mine),
            seconds(r.peer),
            ratio(r.ratio),
            f"{r.apart:.1f}",
            f"{r.choice} ({r.score:.4f})",
            f"{r.peer_choice} ({r.peer_score:.4f})" + ("" if r.ties else ", better"),
        ]
        for r in results
    ]
    return markdown([*head, "choice", "scikit-learn's choice"], rows, words=(0, 7, 8))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets (.npz)")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="works whose name contains a word")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3, help="searches of maxmargin, of which the median counts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="threads, and processes of the peer")
    parser.add_argument("--peer-cache-size", type=float, default=500, metavar="MB", help="scikit-learn's cache_size")
    parser.add_argument("--rows", type=int, help="fewer rows, for a trial")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every figure")
    args = parser.parse_args(arguments)
    results = []
    for work in WORKS:
        if args.only and not any(word in work.data for word in args.only):
            continue
        try:
            data = load(work.data, args.data, rows=work.rows, most=args.rows or 0)
        except MissingDataError as error:
            print(f"skipped {work.data}: {error}", file=sys.stderr)
            continue
        results.append(
            measure(work, data, folds=args.folds, repeats=args.repeats, jobs=args.jobs, cache=args.peer_cache_size)
        )
        print(table(results[-1:]), file=sys.stderr, flush=True)
    print(f"# Grid search: {len(PRICES)} C x {len(WIDTHS)} gamma, {args.folds} folds, {args.jobs} jobs\n")
    print(table(results))
    if args.json:
        args.json.write_text(json.dumps([{**asdict(r), "ratio": r.ratio} for r in results], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
