"""Probabilities beside scikit-learn's: ``python -m benchmarks.calibration --data FOLDER``.

An estimator with ``calibration="sigmoid"`` against the same one without, and against ``CalibratedClassifierCV(...,
ensemble=False)`` around it and around scikit-learn's. Times are CPU seconds of the process, the least of as many
repeats for each, with one BLAS thread (idle ones spin, which would count as work); log-losses are of rows that none
was fitted to. The sets marked * were looked at while the constants of the calibration were chosen; the others were not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from maxmargin import SVC, LinearSVC

from ._data import MissingDataError, load
from ._table import markdown, ratio, seconds

SEED = 2  # of the split into rows to fit and rows to judge


@dataclass(frozen=True)
class Work:
    """A set, the rows to fit and to judge, and the estimators."""

    data: str
    rows: int
    held_out: int
    options: dict[str, Any] = field(default_factory=dict)
    linear: bool = False
    seen: bool = True  # whether the constants were chosen with an eye on this set

    @property
    def name(self) -> str:
        return f"{self.data}{', linear' if self.linear else ''}{' *' if self.seen else ''}"

    def estimators(self) -> tuple[Any, Any]:
        """Ours and scikit-learn's."""
        if self.linear:
            return LinearSVC(**self.options), sklearn.svm.LinearSVC(**self.options)
        return SVC(**self.options), sklearn.svm.SVC(cache_size=500, **self.options)


WORKS = [
    Work("digits", 1200, 597, {"gamma": 0.001}),
    Work("satimage", 3000, 1435, {"C": 10}),
    Work("letter", 5000, 5000, {"C": 10}),
    Work("usps", 3000, 3000, {"C": 10}),
    Work("magic", 12_000, 7020, {"C": 10, "gamma": 0.1}),
    Work("a9a", 10_000, 10_000, {"gamma": 1 / 16}),
    Work("ijcnn1", 20_000, 20_000, {"C": 32, "gamma": 2}),
    Work("spambase", 3000, 1601, {"C": 10}, seen=False),
    Work("shuttle", 4000, 6000, {"C": 10}),
    Work("satimage", 3000, 1435, {"loss": "hinge"}, linear=True),
    Work("digits", 1200, 597, {"loss": "hinge"}, linear=True),
    Work("spambase", 3000, 1601, {"loss": "hinge"}, linear=True, seen=False),
]


@dataclass(frozen=True)
class Result:
    """One work, measured."""

    data: str
    rows: int
    judged: int  # rows that calibrated the model
    plain: float
    calibrated: float
    own_peer: float
    peer: float
    loss: float
    own_peer_loss: float
    peer_loss: float


def least(fit: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least CPU time of some fits, and the last of what they gave."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        fitted = fit()
        times.append(time.process_time() - began)
    return min(times), fitted


def measure(work: Work, folder: Path, *, repeats: int, most: int) -> Result:
    data = load(work.data, folder)
    n = min(work.rows, most) if most else work.rows
    order = np.random.RandomState(SEED).permutation(data.X.shape[0])
    rows, test = order[:n], order[n : n + (min(work.held_out, most) if most else work.held_out)]
    X, y, labels = data.X[rows], data.y[rows], np.unique(data.y[rows])
    test = test[np.isin(data.y[test], labels)]
    ours, theirs = work.estimators()
    contestants = {
        "plain": ours,
        "calibrated": clone(ours).set_params(calibration="sigmoid"),
        "own_peer": CalibratedClassifierCV(ours, ensemble=False),
        "peer": CalibratedClassifierCV(theirs, ensemble=False),
    }
    times, losses, judged = {}, {}, 0
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        for name, estimator in contestants.items():
            clone(estimator).fit(X, y)  # nothing is compiled or started on the clock
            times[name], fitted = least(lambda estimator=estimator: clone(estimator).fit(X, y), repeats)
            if name != "plain":
                losses[name] = float(log_loss(data.y[test], fitted.predict_proba(data.X[test]), labels=labels))
            if name == "calibrated":
                judged = fitted.calibration_.n_samples
    return Result(work.name, n, judged, *times.values(), losses["calibrated"], losses["own_peer"], losses["peer"])


def table(results: Sequence[Result]) -> str:
    head = ["set", "rows", "judged", "plain, s", "calibrated, s", "ratio", "wrapped ours", "wrapped scikit-learn"]
    rows = [
        [
            r.data,
            f"{r.rows:,}",
            f"{r.judged:,}",
            seconds(r.plain),
            seconds(r.calibrated),
            ratio(r.calibrated / r.plain),
            ratio(r.own_peer / r.calibrated),
            ratio(r.peer / r.calibrated),
            f"{r.loss:.4f}",
            f"{r.own_peer_loss:.4f}",
            f"{r.peer_loss:.4f}",
        ]
        for r in results
    ]
    return markdown([*head, "log-loss", "wrapped ours", "wrapped scikit-learn"], rows, words=(0,))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets (.npz)")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="works whose name contains a word")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each, of which the fastest counts")
    parser.add_argument("--quick", action="store_true", help="at most 1,000 rows, one fit of each")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every figure")
    args = parser.parse_args(arguments)
    results = []
    for work in WORKS:
        if args.only and not any(word in work.name for word in args.only):
            continue
        try:
            repeats, most = (1, 1000) if args.quick else (args.repeats, 0)
            results.append(measure(work, args.data, repeats=repeats, most=most))
        except MissingDataError as error:
            print(f"skipped {work.name}: {error}", file=sys.stderr)
            continue
        print(table(results[-1:]), file=sys.stderr, flush=True)
    print("# Calibration\n")
    print(table(results))
    if args.json:
        args.json.write_text(json.dumps([asdict(r) for r in results], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
