"""Linear models on a Dask cluster, beside one computer's and Spark's: ``python -m benchmarks.dask --data FOLDER``.

Three figures for the covtype set, standardised, with the same number of cores each:

    dask       maxmargin.large_scale.dask.LinearSVC on a LocalCluster of processes with one thread, rows held on the
    workers one        maxmargin.LinearSVC with as many threads
    spark      pyspark.ml.classification.LinearSVC on local[cores], rows cached; regParam = 1 / (C n) makes it minimise
               the same function, and its maxIter is doubled until its objective is within ``--within`` of ours

Objectives are computed here, in float64, from coefficients and intercept. ``--simulate`` needs no data: it measures
what a row costs on this computer, and plays the map-reduce steps of larger clusters with it.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._data import Data, MissingDataError, load
from ._table import markdown, ratio, say, seconds, small

PARTITIONS = 4  # for each worker
WARM_UP = 5000  # rows of the fit before timing
BANDWIDTH = 1.25e9  # bytes a second between two computers of a ten-gigabit network
LATENCY = 2e-3  # seconds of a call from client to worker and back
SLOWEST = 0.1  # spread of the workers' speeds, as the standard deviation of their logarithm


def objective(data: Data, w: Any, b: float, C: float, loss: str) -> float:
    """1/2 |w|^2 + C sum loss."""
    slack = np.maximum(0.0, 1.0 - np.where(data.y > 0, 1.0, -1.0) * (data.X @ w + b))
    return 0.5 * float(w @ w) + C * float((slack**2 if loss == "squared_hinge" else slack).sum())


def timed(work: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter) -> tuple[float, Any]:
    """The median of the seconds, and the last result."""
    taken = []
    for _ in range(repeats):
        begin = clock()
        result = work()
        taken.append(clock() - begin)
    return statistics.median(taken), result


def cores_seconds() -> float:
    """Seconds of all cores that this process and its children have taken: it tells how much work was done, also where
    other programs keep the computer busy."""
    import psutil

    here, total = psutil.Process(), 0.0
    for process in [here, *here.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            spent = process.cpu_times()
            total += spent.user + spent.system
    return total


def twice(work: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """The median of the seconds, the cores' seconds of one run, and the last result."""
    begin = cores_seconds()
    spent, result = timed(work, repeats)
    return spent, (cores_seconds() - begin) / repeats, result


# ---- the three ways


def on_one(data: Data, args: argparse.Namespace, loss: str) -> tuple[float, float, Any]:
    from maxmargin import LinearSVC

    options = {"loss": loss, "C": args.C, "n_jobs": args.workers}
    LinearSVC(**options).fit(data.X[:WARM_UP], data.y[:WARM_UP])
    return twice(lambda: LinearSVC(**options).fit(data.X, data.y), args.repeats)


def on_dask(data: Data, args: argparse.Namespace, losses: Sequence[str]) -> dict[str, tuple[float, float, Any]]:
    import dask.array as da
    import distributed

    from maxmargin.large_scale.dask import LinearSVC

    rows = -(-len(data.y) // (PARTITIONS * args.workers))
    with (
        distributed.LocalCluster(
            n_workers=args.workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        slices = [slice(start, start + rows) for start in range(0, len(data.y), rows)]
        blocks = client.scatter([data.X[at] for at in slices], hash=False)
        X = da.concatenate(
            [da.from_delayed(block, data.X[at].shape, data.X.dtype) for block, at in zip(blocks, slices, strict=True)]
        )
        X, y = X.persist(), da.from_array(data.y, chunks=rows).persist()
        distributed.wait([X, y])
        del blocks
        results = {}
        for loss in losses:
            estimator = LinearSVC(loss=loss, C=args.C)
            estimator.fit(X[:WARM_UP], y[:WARM_UP])
            results[loss] = twice(lambda estimator=estimator: estimator.fit(X, y), args.repeats)
    return results


def on_spark(data: Data, args: argparse.Namespace, goal: float) -> tuple[float, float, float, int]:
    """Seconds and cores' seconds of the first fit whose objective is near enough, that objective, and iterations."""
    import pandas as pd
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    builder = SparkSession.builder.master(f"local[{args.workers}]").appName("maxmargin")
    spark = builder.config("spark.driver.memory", "4g").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.parquet"
            table = pd.DataFrame({"row": list(data.X), "label": (data.y > 0).astype(np.float64)})
            table.to_parquet(path)
            del table
            read = spark.read.parquet(path).repartition(PARTITIONS * args.workers)
            rows = read.select(array_to_vector(col("row")).alias("features"), col("label")).cache()
            rows.count()
            LinearSVC(maxIter=2, standardization=False).fit(rows.limit(WARM_UP))
            iterations = args.first
            while True:
                estimator = LinearSVC(
                    maxIter=iterations, regParam=1.0 / (args.C * len(data.y)), tol=1e-10, standardization=False
                )
                spent, cores, model = twice(lambda estimator=estimator: estimator.fit(rows), 1)
                reached = objective(data, model.coefficients.toArray(), float(model.intercept), args.C, "hinge")
                say(f"    spark, {iterations} iterations: {spent:.1f} s, objective {reached:.8g}")
                if reached <= goal * (1.0 + args.within) or iterations >= args.most:
                    return spent, cores, reached, iterations
                iterations *= 2
    finally:
        spark.stop()


def measured(data: Data, args: argparse.Namespace) -> str:
    losses = ["squared_hinge", "hinge"]
    say("dask ...")
    ours = on_dask(data, args, losses)
    rows, best = [], math.nan
    for loss in losses:
        say(f"one computer, {loss} ...")
        spent, cores, estimator = on_one(data, args, loss)
        taken, used, cluster = ours[loss]
        values = [objective(data, m.coef_[0], float(m.intercept_[0]), args.C, loss) for m in (cluster, estimator)]
        gaps = [small(m.report_.relative_gap) for m in (cluster, estimator)]
        rows.append([f"dask, {loss}", seconds(taken), seconds(used), f"{values[0]:.9g}", gaps[0], "", ""])
        rows.append(["  " + str(cluster.traffic_), *[""] * 6])
        ratios = [ratio(taken / spent), ratio(used / max(cores, 0.01))]
        rows.append([f"one computer, {loss}", seconds(spent), seconds(cores), f"{values[1]:.9g}", gaps[1], *ratios])
        best = values[0]
    if not args.no_spark:
        say("spark ...")
        spent, cores, reached, iterations = on_spark(data, args, best)
        taken, used, _ = ours["hinge"]
        name, above = f"spark, hinge, {iterations} iterations", small((reached - best) / best)
        ratios = [ratio(spent / taken), ratio(cores / max(used, 0.01))]
        rows.append([name, seconds(spent), seconds(cores), f"{reached:.9g}", above, *ratios])
    head = [
        "estimator",
        "seconds",
        "of all cores",
        "objective",
        "gap (spark: above ours)",
        "ratio",
        "of cores' seconds",
    ]
    told = "Ratios: ours on dask to one computer's, and Spark's to ours on dask."
    return f"{data.shape}, {args.workers} cores, C = {args.C:g}. {told}\n\n" + markdown(head, rows, words=(0,))


# ---- larger clusters


@dataclass(frozen=True)
class Fit:
    """The map-reduce steps of a fit: how often each kind is asked, what a row costs in it, and bytes down and up."""

    name: str
    steps: dict[str, tuple[int, float, float, float]]


def row_costs(d: int, second: str) -> dict[str, float]:
    """Seconds of a core that a row takes in each kind of question; ``second`` is the one for second
    derivatives."""
    from maxmargin.large_scale.rows.local import LocalOracle
    from maxmargin.large_scale.rows.targets import Labels
    from maxmargin.large_scale.rows.tiles import StoredRows
    from maxmargin.large_scale.smoothed_loss import SmoothedLoss
    from maxmargin.problems.losses import SquaredHinge

    rng, outputs, n = np.random.default_rng(0), 1, 2**22 // d
    K, codes = rng.standard_normal((n, d)).astype(np.float32 if d > 200 else np.float64), rng.integers(0, 2, n)
    oracle = LocalOracle(StoredRows(K), Labels.one_vs_rest(codes, np.ones(n), 1.0, np.ones(2)))
    loss, P, p = SmoothedLoss(SquaredHinge()), 0.01 * rng.standard_normal((d, outputs)), np.zeros(outputs)
    steps = np.linspace(0.1, 2.0, 18)[:, None] * np.ones(outputs)

    def first() -> None:
        oracle.evaluate(None, None, loss, sides=True)

    def line() -> None:
        oracle.direction(P, p)
        oracle.along(steps, loss)

    second_order = {"times": lambda: oracle.curvature_times(P, p), "matrix": lambda: oracle.curvature([0])}
    kinds = {"sums": first, "line": line, second: second_order[second]}
    oracle.evaluate(P, p, loss, sides=True)
    for work in kinds.values():
        work()
    return {kind: timed(work, 3, time.process_time)[0] / n for kind, work in kinds.items()}


def played(fit: Fit, rows: float, workers: int, rng: np.random.Generator) -> tuple[float, float]:
    """Seconds of the map-reduce steps, and the share that is not computing: the slowest worker of each step counts, and
    sums come together pairwise, in log2(workers) steps."""
    total, spent = 0.0, 0.0
    for count, cost, down, up in fit.steps.values():
        for _ in range(count):
            own = rows / workers * cost * float(np.exp(SLOWEST * rng.standard_normal(workers)).max())
            deep = math.ceil(math.log2(workers)) if workers > 1 else 0
            moved = LATENCY * (1 + deep) + down * workers / BANDWIDTH + up * max(1, deep) / BANDWIDTH
            total, spent = total + own + moved, spent + rows / workers * cost
    return total, 1.0 - spent / total


def simulated() -> str:
    rng, lines = np.random.default_rng(0), []
    for d, m in ((54, 0), (784, 2000)):
        columns = m or d
        say(f"what a row of {columns} columns costs ...")
        cost = row_costs(columns, "times" if m else "matrix")
        small_sums, matrix = 8.0 * 2 * columns, 8.0 * (columns + 1) ** 2
        if m:
            counted = {
                "sums": (12, cost["sums"], 8.0 * columns, small_sums),
                "times": (100, cost["times"], 8.0 * columns, small_sums),
                "line": (14, cost["line"], 8.0 * columns, 300.0),
            }
            fit = Fit(f"NystroemSVC, {m:,} landmarks, conjugate gradients", counted)
        else:
            counted = {
                "derivatives": (16, cost["sums"] + cost["matrix"], 8.0 * columns, small_sums + matrix),
                "line": (18, cost["line"], 8.0 * columns, 300.0),
            }
            fit = Fit(f"LinearSVC, {d} columns, exact Newton steps", counted)
        count = sum(one[0] for one in fit.steps.values())
        for workers in (1, 10, 100, 1000):
            spent, overhead = played(fit, 1e9, workers, rng)
            memory = 1e9 / workers * (8.0 * d if not m else 4.0 * m) / 1e9
            lines.append([fit.name, workers, count, f"{memory:,.0f}", seconds(spent), f"{overhead:.0%}"])
    head = ["estimator, 10^9 rows", "workers (one core each)", "steps", "GB a worker", "seconds", "not computing"]
    return markdown(head, lines, words=(0,))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dask", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with covtype.npz")
    parser.add_argument("--rows", type=int, help="only so many rows")
    parser.add_argument("--workers", type=int, default=2, help="processes, threads of the others (default 2)")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3, help="timings of ours, of which the median counts")
    parser.add_argument(
        "--within",
        type=float,
        default=1e-4,
        help="how near Spark's objective must come (default 1e-4, the tolerance of ours)",
    )
    parser.add_argument("--first", type=int, default=10, help="first maxIter of Spark, doubled as long as need be")
    parser.add_argument("--most", type=int, default=400, help="largest maxIter of Spark")
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--simulate", action="store_true", help="play the map-reduce steps of larger clusters")
    args = parser.parse_args(arguments)
    if args.simulate:
        print(simulated())
        return 0
    if args.data is None:
        parser.error("--data or --simulate is needed")
    try:
        data = load("covtype", args.data, rows=args.rows)
    except MissingDataError as error:
        say(str(error))
        return 1
    print(measured(data, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
