"""Rows of published tables, with their data and settings: ``python -m benchmarks.records --data FOLDER ROW``.

Each row is one command. It prints, and writes with ``--json``, what every library took and what its solution is worth:
seconds, peak memory, score on test rows, and the certificate recomputed in float64 apart from every library.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

from ._child import PeakMemory
from ._data import Data, MissingDataError, load, read_npz
from ._evaluate import Kernel, evaluate
from ._libraries import PEERS, TITLES, Options, Work, cannot, estimator, fell_back, installed
from ._linear_work import LinearWork, objective, ours, quietly, theirs
from ._records_data import COVTYPE_TRAIN, HIGGS_COLUMNS, TORGO_ROWS, generated, generated_batches
from ._runner import warm_up
from ._table import computer, geometric_mean, markdown, ratio, say, seconds, small

TEXT_TEST_STRIDE = 3  # every third string is a test row
WORD_LENGTH = 4  # of the spectrum kernel
CELL_ROWS = 2000  # of a search in cells, as in liquidSVM
LIBLINEAR_TOL = 0.1  # LIBLINEAR's own default
TIGHT_TOL = 1e-6  # relative gap of the fit that bounds the optimum from below


# ------------------------------------------------------------ what was measured


@dataclass
class Line:
    """What one library did with one piece of work."""

    work: str
    shape: str
    library: str
    seconds: float = math.nan
    processor: float = math.nan  # seconds of all threads, which say more than the clock's on a busy computer
    memory: float = math.nan  # peak of extra megabytes
    violation: float = math.nan
    relative_gap: float = math.nan
    n_support: int = 0
    score: float = math.nan  # accuracy, or R squared of a regression
    note: str = ""

    def cells(self) -> list[str]:
        memory = "-" if math.isnan(self.memory) else f"{self.memory:,.0f}"
        numbers = [seconds(self.seconds), seconds(self.processor), memory]
        judged = [small(self.violation), small(self.relative_gap), f"{self.n_support:,}" if self.n_support else "-"]
        score = "-" if math.isnan(self.score) else f"{self.score:.4f}"
        return [self.work, self.shape, TITLES.get(self.library, self.library), *numbers, *judged, score, self.note]


@dataclass(frozen=True)
class Run:
    """What the command was asked for."""

    folder: Path
    libraries: list[str]
    options: Options
    rows: int | None = None  # fewer rows of every set, for a trial
    only: str = ""  # works whose names contain this
    missing: list[str] = field(default_factory=list)  # sets that are not there

    def data(self, name: str, rows: int | None = None, test_rows: int = 0) -> Data | None:
        """A set, or None (and its name among the missing)."""
        fewest = min((n for n in (rows, self.rows) if n is not None), default=None)
        try:
            return load(name, self.folder, rows=fewest, test_rows=test_rows, dtype=self.options.dtype)
        except MissingDataError as error:
            self.missing.append(str(error))
            return None


def timed(line: Line, model: Any, X: Any, y: Any) -> Any:
    """Fit, with seconds and memory in the line; how it ended goes to its note."""
    measured(line, lambda: model.fit(X, y))
    return model


def measured(line: Line, fit: Callable[[], object]) -> None:
    """The same of a call."""
    with warnings.catch_warnings(record=True) as caught, PeakMemory() as peak:
        warnings.simplefilter("always")
        start, work = time.perf_counter(), time.process_time()
        fit()
        line.seconds, line.processor = time.perf_counter() - start, time.process_time() - work
    line.memory = peak.extra
    early = [str(w.message).split("\n")[0] for w in caught if issubclass(w.category, ConvergenceWarning)]
    line.note = early[0] if early else ""
    say(f"{line.work}: {line.library} {seconds(line.seconds)} s")


def judge(line: Line, model: Any, X: Any, y: Any, tol: float, kernel: Kernel | None = None) -> None:
    """The certificate, recomputed; a solution that misses tol is called FAILED."""
    judged = evaluate(model, X, y, kernel=kernel)
    line.violation, line.relative_gap, line.n_support = judged.violation, judged.relative_gap, judged.n_support
    if not judged.violation <= tol * (1 + 1e-6):
        line.note = f"FAILED: violation above tol. {line.note}".strip()


def kernel_lines(run: Run, works: Sequence[Work]) -> list[Line]:
    """Exact fits, by every library that can do them."""
    lines = []
    for work in (work for work in works if run.only in work.name):
        data = run.data(work.data, work.rows, work.predict)
        for library in run.libraries if data is not None else []:
            assert data is not None
            line = Line(work.name, data.shape, library)
            lines.append(line)
            line.note = cannot(library, work) or warm_up(library, work, data, run.options)
            if line.note:
                continue
            model = timed(line, estimator(library, work, run.options), data.X, data.y)
            if fell_back(library, model):
                line.note = "falls back to scikit-learn"
            line.n_support = len(model.support_)
            judge(line, model, data.X, data.y, run.options.tol)
            if data.X_test is not None and data.y_test is not None:
                line.score = float(model.score(data.X_test, data.y_test))
    return lines


def linear_lines(run: Run) -> list[Line]:
    """LinearSVC with the hinge on columns from 0 to 1 and standardised: objectives of the same problem side by side,
    and how far they are from a bound on the optimum."""
    lines = []
    for name in (name for name in ("covtype unit", "covtype") if run.only in name):
        data = run.data(name, COVTYPE_TRAIN, 120_000 if name == "covtype unit" else 0)
        if data is None:
            continue
        work = LinearWork(name, name, {"loss": "hinge", "C": 1.0}, tol=LIBLINEAR_TOL)
        best = ours(replace(work, tol=TIGHT_TOL), penalised=True).fit(data.X, data.y)
        below = objective(work, data, best.coef_, best.intercept_, penalised=True) * (1 - TIGHT_TOL)
        models = [("scikit-learn (LIBLINEAR)", theirs(work, "dual"))] if "sklearn" in run.libraries else []
        models += [(f"maxmargin, {n} threads", ours(work, penalised=True, threads=n)) for n in (1, 2)]
        for title, model in models:
            quietly(model, data.sample(2000))
            line = Line(name, data.shape, title)
            timed(line, model, data.X, data.y)
            value = objective(work, data, model.coef_, model.intercept_, penalised=True)
            line.relative_gap = (value - below) / value
            line.note = f"objective {value:.8g} {line.note}".strip()
            if data.y_test is not None:
                line.score = float(model.score(data.X_test, data.y_test))
            lines.append(line)
            if title.startswith("scikit-learn"):  # ours once more, to be as near to the optimum
                same = replace(work, tol=max(line.relative_gap, TIGHT_TOL))
                models += [
                    (f"maxmargin to that gap, {n} threads", ours(same, penalised=True, threads=n)) for n in (1, 2)
                ]
    return lines


def grid_lines(run: Run, rows: int, cells: int | None = None) -> list[Line]:
    """A 10 x 10 grid with 5 folds, over all rows or in cells."""
    from maxmargin import SVCCV

    data = run.data("covtype unit", rows, 20_000)
    if data is None:
        return []
    line = Line("covtype, 10 x 10 grid, 5 folds", data.shape, "maxmargin")
    grid = {"Cs": np.geomspace(0.01, 1000, 10), "gammas": np.geomspace(0.01, 100, 10)}
    search = SVCCV(**grid, cv=5, cells=cells, n_jobs=run.options.threads)
    timed(line, search, data.X, data.y)
    if cells is None:
        judge(line, search.best_estimator_, data.X, data.y, run.options.tol)
    else:
        line.note = f"{line.note} approximate: {len(search.best_estimator_.models_):,} cells".strip()
    line.score = float(search.score(data.X_test, data.y_test))
    line.note = f"{line.note} C = {search.C_:.3g}, gamma = {search.gamma_:.3g}".strip()
    return [line]


def nystroem_lines(run: Run) -> list[Line]:
    """NystroemSVC with 1,000 landmarks on 1, 3 and 10 million generated rows, or on ``--rows``."""
    from maxmargin import NystroemSVC

    lines = []
    for rows in [run.rows] if run.rows else [1_000_000, 3_000_000, 10_000_000]:
        X, y = generated(rows + 10_000)
        line = Line("Nystroem, generated", f"{rows:,} x {HIGGS_COLUMNS}", "maxmargin")
        landmarks = min(1000, rows // 10)
        memory = "auto" if run.options.cache_size is None else run.options.cache_size
        model = NystroemSVC(C=1.0, gamma=1 / HIGGS_COLUMNS, n_components=landmarks, cache_size=memory, random_state=0)
        timed(line, model, X[:rows], y[:rows])
        line.relative_gap = float(model.report_.relative_gap)
        line.score = float(model.score(X[rows:], y[rows:]))
        line.note = f"{line.note} approximate; the gap is its own report's".strip()
        lines.append(line)
    return lines


def stream_lines(run: Run) -> list[Line]:
    """The same on 30 million rows that come in batches: the estimator keeps them in a temporary file."""
    from maxmargin import NystroemSVC

    rows = run.rows or 30_000_000
    line = Line("Nystroem, a stream of batches", f"{rows:,} x {HIGGS_COLUMNS}", "maxmargin")
    memory = "auto" if run.options.cache_size is None else run.options.cache_size
    model = NystroemSVC(
        C=1.0, gamma=1 / HIGGS_COLUMNS, n_components=min(1000, rows // 10), cache_size=memory, random_state=0
    )
    measured(line, lambda: model.fit_stream(generated_batches(rows)))
    line.relative_gap = float(model.report_.relative_gap)
    line.score = float(model.score(*next(generated_batches(10_000, rows))))
    line.note = f"{line.note} approximate; the gap is its own report's; with the time to generate the rows".strip()
    return [line]


def string_lines(run: Run) -> list[Line]:
    """SVC with a spectrum kernel on strings, judged by the words' counts."""
    from maxmargin import SVC
    from maxmargin.kernels import Spectrum

    try:
        arrays = read_npz(run.folder, "splice")
    except MissingDataError as error:
        run.missing.append(str(error))
        return []
    order = np.random.RandomState(0).permutation(len(arrays["y"]))[: run.rows]
    text, y = np.asarray(arrays["text"], object)[order], arrays["y"][order]
    test = np.arange(len(y)) % TEXT_TEST_STRIDE == 0
    line = Line("splice, spectrum kernel", f"{np.count_nonzero(~test):,} strings", "maxmargin")
    kernel = Spectrum(WORD_LENGTH)
    model = timed(line, SVC(C=1.0, kernel=kernel, tol=run.options.tol), text[~test], y[~test])
    counts = CountVectorizer(analyzer="char", lowercase=False, ngram_range=(WORD_LENGTH, WORD_LENGTH), dtype=float)
    X = counts.fit_transform(text[~test])
    judge(line, published(model, X), X, y[~test], run.options.tol, Kernel("linear"))
    line.score = float(model.score(text[test], y[test]))
    return [line]


def published(model: Any, X: Any) -> Any:
    """What a model publishes, with support vectors as rows of X, for the evaluator."""
    names = {name: getattr(model, name) for name in ("support_", "dual_coef_", "intercept_")}
    names |= {"support_vectors_": X[model.support_], "get_params": lambda self: {"C": model.C}}
    return type("SVC", (), names)()


# ------------------------------------------------------------ the rows

MNIST = [
    Work(
        "mnist, sigma = 15, C = 100",
        "mnist globally standardised",
        {"C": 100.0, "gamma": 1 / 450},
        predict=10_000,
    )
]
ODD_EVEN = [
    Work("mnist, even against odd", "mnist even against odd", {"C": 10.0, "gamma": 0.25}, predict=10_000),
]
DC_SVM = [Work("covtype, C = 32, gamma = 32", "covtype unit", {"C": 32.0, "gamma": 32.0}, predict=120_000)]
TUBE = {"C": 10.0, "epsilon": 0.1, "gamma": 0.1}
SKLBENCH = [
    Work("a9a 5k, linear", "a9a standardised", {"C": 1.0, "kernel": "linear"}, rows=5000),
    Work("skin 20k", "skin", {"C": 10.0}, rows=20_000),
    Work("ijcnn1 20k", "ijcnn1 standardised", {"C": 100.0}, rows=20_000),
    *(Work(f"gisette, {kernel}", "gisette", {"C": 100.0, "kernel": kernel}) for kernel in ("linear", "poly", "rbf")),
    *(Work(f"gisette, {kernel}, SVR", "gisette", {"C": 1.0, "kernel": kernel}, "SVR") for kernel in ("poly", "rbf")),
    *(Work(f"gisette, {k}, NuSVC", "gisette", {"nu": 0.9, "kernel": k}, "NuSVC") for k in ("linear", "rbf")),
    Work("gisette, NuSVR", "gisette", {"nu": 0.9, "C": 1.0}, "NuSVR"),
    *(Work(f"connect4 20k, {k}", "connect4", {"C": 10.0, "kernel": k}, rows=20_000) for k in ("poly", "rbf")),
    *(Work(f"mnist 20k, {k}", "mnist pixels", {"C": 1.0, "kernel": k}, rows=20_000) for k in ("poly", "rbf")),
    Work("fried half, SVR", "fried", {"C": 2.0}, "SVR", rows=TORGO_ROWS // 2),
    *(
        Work(f"2dplanes 25k, {k}, SVR", "2dplanes", {"C": 1.0, "kernel": k}, "SVR", rows=25_000)
        for k in ("linear", "poly", "rbf")
    ),
    Work("make_regression, SVR", "make_regression", {"C": 0.1, "kernel": "linear"}, "SVR", rows=10_000),
    *(
        Work(f"a9a 5k, {k}, NuSVC", "a9a standardised", {"nu": 0.1, "kernel": k}, "NuSVC", rows=5000)
        for k in ("poly", "rbf")
    ),
    Work("codrna 20k, NuSVC", "codrna", {"nu": 0.5, "kernel": "poly"}, "NuSVC", rows=20_000),
    Work("ijcnn1 20k, NuSVC", "ijcnn1 standardised", {"nu": 0.1}, "NuSVC", rows=20_000),
    *(
        Work(f"2dplanes 25k, {k}, NuSVR", "2dplanes", {"C": 1.0, "kernel": k}, "NuSVR", rows=25_000)
        for k in ("linear", "poly", "rbf")
    ),
    Work("fried, NuSVR", "fried", {"nu": 0.8, "C": 2.0}, "NuSVR"),
    Work("make_regression, NuSVR", "make_regression", {"nu": 0.5, "C": 0.1, "kernel": "linear"}, "NuSVR", rows=10_000),
]
WEEKLY = [
    Work("a9a, linear", "a9a standardised", {"C": 1.0, "kernel": "linear"}),
    Work("skin", "skin", {"C": 10.0}),
    Work("ijcnn1", "ijcnn1 standardised", {"C": 100.0}),
    *(Work(f"connect4, {kernel}", "connect4", {"C": 10.0, "kernel": kernel}) for kernel in ("poly", "rbf")),
    *(Work(f"mnist, {kernel}", "mnist pixels", {"C": 1.0, "kernel": kernel}) for kernel in ("poly", "rbf")),
    *(Work(f"2dplanes, {k}, SVR", "2dplanes", {"C": 1.0, "kernel": k}, "SVR") for k in ("linear", "poly", "rbf")),
    *(
        Work(f"a9a, {kernel}, NuSVC", "a9a standardised", {"nu": 0.1, "kernel": kernel}, "NuSVC")
        for kernel in ("poly", "rbf")
    ),
    Work("codrna, NuSVC", "codrna", {"nu": 0.5, "kernel": "poly"}, "NuSVC"),
    Work("ijcnn1, NuSVC", "ijcnn1 standardised", {"nu": 0.1}, "NuSVC"),
    *(Work(f"2dplanes, {k}, NuSVR", "2dplanes", {"C": 1.0, "kernel": k}, "NuSVR") for k in ("linear", "poly", "rbf")),
    Work("fried, NuSVR", "fried", {"nu": 0.8, "C": 2.0}, "NuSVR"),
]
REGRESSION = [Work(f"{name}, SVR", name, TUBE, "SVR") for name in ("kin40k", "protein", "pol", "elevators")]
ONE_CLASS = [
    Work(f"{name}, one-class", name, {"nu": 0.05, "gamma": "scale"}, "OneClassSVM")
    for name in ("mammography", "http", "skin")
]


@dataclass(frozen=True)
class Row:
    """One row: what others published, and how it is measured here."""

    published: str
    measure: Callable[[Run], list[Line]]


def _exact(works: Sequence[Work]) -> Callable[[Run], list[Line]]:
    return lambda run: kernel_lines(run, works)


ROWS = {
    "mnist-sigma15": Row(
        "LIBSVM 661 s, ThunderSVM on a GPU 19.6 s, Falkon on a GPU 10.9 s and approximate (Falkon's SVM comparison)",
        _exact(MNIST),
    ),
    "mnist-odd-even": Row("LIBSVM 13,963 s, a GTX 780 137 s (dpsvm)", _exact(ODD_EVEN)),
    "covtype-dcsvm": Row(
        "DC-SVM: 96.15 % exact in a seventh of LIBSVM's time, 96 % in 12 minutes stopped early (Hsieh et al. 2014)",
        _exact(DC_SVM),
    ),
    "covtype-grid": Row("liquidSVM 15.7 s on 2 threads, e1071 11,238 s", lambda run: grid_lines(run, 5000)),
    "covtype-cells": Row("liquidSVM 398 s on 3 threads", lambda run: grid_lines(run, COVTYPE_TRAIN, CELL_ROWS)),
    "covtype-linear": Row("LIBLINEAR 3.4 s, columns from 0 to 1", linear_lines),
    "sklbench": Row("scikit-learn_bench, configs/regular/svm.json", _exact(SKLBENCH)),
    "sklbench-weekly": Row("scikit-learn_bench, configs/weekly/svm.json, as far as it is there", _exact(WEEKLY)),
    "nystroem": Row("no figures for these settings", nystroem_lines),
    "nystroem-stream": Row("no figures for these settings", stream_lines),
    "svr": Row("no figures for these settings", _exact(REGRESSION)),
    "one-class": Row("no figures for these settings", _exact(ONE_CLASS)),
    "strings": Row("no figures for these settings", string_lines),
}


def comparison(lines: Sequence[Line]) -> list[str]:
    """For each peer how many times as long it took, the geometric mean and the least: also where it missed tol itself,
    but not where ours did."""
    done = [line for line in lines if line.seconds > 0]
    solved = {(line.work, line.library): line for line in done if line.library in PEERS or "FAILED" not in line.note}
    said = []
    for peer in PEERS:
        works = [work for work, library in solved if library == peer and (work, "maxmargin") in solved]
        for what, words in (("seconds", "seconds"), ("processor", "processor seconds")):
            ratios = [getattr(solved[work, peer], what) / getattr(solved[work, "maxmargin"], what) for work in works]
            if works:
                least = min(range(len(works)), key=ratios.__getitem__)
                said.append(
                    f"\n{TITLES[peer]} takes {ratio(geometric_mean(ratios))} our {words}, the geometric mean of "
                    f"{len(works)} works; the least is {ratio(ratios[least])}, {works[least]}."
                )
    return said


def document(name: str, lines: Sequence[Line], run: Run) -> str:
    """The table of a row, with what it was measured on and what is missing."""
    measured = ["s", "processor s", "peak MB", "m - M", "relative gap", "support vectors", "score"]
    table = markdown(
        ["work", "rows x columns", "library", *measured, "note"], [line.cells() for line in lines], words=(0, 2, 10)
    )
    trial = f"\n**A trial on at most {run.rows:,} rows: the figures are not those of the row.**" if run.rows else ""
    missing = [f"\nMissing: {text}" for text in dict.fromkeys(run.missing)]
    parts = [
        f"# {name}",
        f"\nPublished: {ROWS[name].published}.{trial}",
        f"\n{computer(run.options)}\n",
        table,
        *comparison(lines),
        *missing,
    ]
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    parser.add_argument("row", choices=list(ROWS), help="the row to measure")
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets (.npz)")
    parser.add_argument("--libraries", nargs="+", choices=list(TITLES), default=["maxmargin"])
    parser.add_argument("--rows", type=int, help="at most so many rows of each set, for a trial; nystroem: its rows")
    parser.add_argument("--only", metavar="WORD", default="", help="exact fits whose name contains a word")
    parser.add_argument("--cache-size", type=float, metavar="MB", help="maxmargin's cache_size (default: its own)")
    parser.add_argument("--threads", type=int, help="threads of those that have any (default: all cores)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every figure")
    args = parser.parse_args(arguments)
    libraries = [name for name in args.libraries if name in installed()]
    options = Options(cache_size=args.cache_size, threads=args.threads)
    run = Run(args.data, libraries, options, args.rows, args.only)
    lines = ROWS[args.row].measure(run)
    print(document(args.row, lines, run))
    if args.json:
        whole = {"row": args.row, "computer": computer(options), "missing": run.missing}
        args.json.write_text(json.dumps({**whole, "lines": [asdict(line) for line in lines]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
