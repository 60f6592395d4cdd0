"""``python -m tests.attack``: trials of all kinds until the time is over, then a summary; exit code 1 after
failures."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from attack.campaigns import CAMPAIGNS
from attack.campaigns import answer as answer_of_campaign
from attack.kinds import KINDS
from attack.report import HEADER, test_of
from attack.shrink import shrunk
from attack.trial import Failure, draw, run
from attack.workers import Worker, nice, waiting

WEIGHTS = {name: kind.weight for name, kind in [*KINDS.items(), *CAMPAIGNS.items()]}  # how often each is drawn
PROGRESS_SECONDS = 15.0  # between two lines of progress
SLOW_CPU_SECONDS = 5.0  # of one trial, past which its seed is listed: most take a tenth of a second
SLOW_LISTED = 12
SHOWN_PER_LAW = 1  # failures of one estimator and one law that are shrunk and printed in full


def main() -> int:
    options = _options()
    if options.serve:
        return serve()
    if options.seed is not None:
        return repeat(options)
    return attack(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long to go on")
    parser.add_argument("--kind", choices=sorted(WEIGHTS), action="append", help="only this kind; may be repeated")
    parser.add_argument("--seed", type=int, help="repeat the trial of this seed, with --kind")
    parser.add_argument("--check", help="with --seed: only this law")
    parser.add_argument("--base", type=int, help="draws the trials' seeds; a random one by default, which is printed")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--skip", default="", help="laws to leave out of the summary, separated by commas")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seed is not None and len(options.kind or []) != 1:
        parser.error("--seed needs one --kind")
    return options


def serve() -> int:
    """Run the trials that come on standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        job, began = json.loads(line), time.process_time()
        if "shrink" in job:
            answer = {"text": _smaller(job["kind"], job["seed"], Failure(job["shrink"], job["message"]))}
        elif job["kind"] in CAMPAIGNS:
            answer = answer_of_campaign(job["kind"], job["seed"])
        else:
            result = run(draw(job["kind"], job["seed"]))
            failures = [vars(failure) for failure in result.failures]
            answer = {"failures": failures, "held": result.held, "outcome": result.outcome, "counts": result.counts}
        answer["cpu"] = time.process_time() - began
        print(json.dumps(answer), file=answers, flush=True)
    return 0


def _smaller(kind: str, seed: int, failure: Failure) -> str:
    """A failure as a test of the smallest case found."""

    def fails(case: Any) -> Failure | None:
        only = None if failure.check == "fit" else failure.check
        return next((f for f in run(case, only).failures if f.check == failure.check), None)

    case = draw(kind, seed)
    small = shrunk(case, lambda c: fails(c) is not None) if fails(case) else case
    again = fails(small)
    return test_of(small, failure.check, again.message if again else failure.message, seed)


def repeat(options: argparse.Namespace) -> int:
    """One trial in this process, shrunk if it fails."""
    kind = options.kind[0]
    if kind in CAMPAIGNS:
        answer = answer_of_campaign(kind, options.seed)
        print(f"{kind} {options.seed}: {answer['counts']}")
        print("\n".join(failure["message"] for failure in answer["failures"]))
        return int(bool(answer["failures"]))
    result = run(draw(kind, options.seed), options.check)
    print(f"{kind} {options.seed}: {result.outcome}; held: {', '.join(result.held)}")
    if result.failures:
        print(HEADER)
    for failure in result.failures:
        print("\n" + _smaller(kind, options.seed, failure) + "\n")
    return int(bool(result.failures))


class Tally:
    """What came of all trials."""

    def __init__(self, skip: str) -> None:
        self.skip = set(filter(None, skip.split(",")))
        self.trials: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()  # fits, files, signals, kills
        self.failed: Counter[tuple[str, str]] = Counter()
        self.seeds: dict[tuple[str, str], list[int]] = {}
        self.slow: list[tuple[float, str, int]] = []  # CPU seconds of trials that took long
        self.tests: list[str] = []

    def add(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """Count an answer; the jobs that shrink what is new in it."""
        job, more = answer["job"], []
        if "text" in answer:
            self.tests.append(answer["text"])
            print("\n" + answer["text"] + "\n", flush=True)
            return []
        if "shrink" in job:  # shrinking itself broke the worker
            print(f"\n{job['kind']} {job['seed']} {job['shrink']}: {job['message']} (not shrunk)\n", flush=True)
            return []
        self.trials[job["kind"]] += 1
        self.outcomes[answer["outcome"]] += 1
        if job["kind"] not in CAMPAIGNS and answer.get("cpu", 0.0) > SLOW_CPU_SECONDS:
            self.slow.append((answer["cpu"], job["kind"], job["seed"]))
        self.held.update(answer["held"])
        self.counts.update(answer.get("counts", {}))
        for failure in answer["failures"]:
            key = (job["kind"], failure["check"])
            self.failed[key] += 1
            self.seeds.setdefault(key, []).append(job["seed"])
            if failure["check"] in self.skip or self.failed[key] > SHOWN_PER_LAW:
                continue
            if failure["check"] in ("crash", "hang") or job["kind"] in CAMPAIGNS:
                print(f"\n{job['kind']} {job['seed']}: {failure['check']}, {failure['message']}\n", flush=True)
            else:
                more.append({**job, "shrink": failure["check"], "message": failure["message"]})
        return more

    def progress(self, seconds: float) -> str:
        return f"{seconds / 60:5.1f} min, {sum(self.trials.values()):,} trials: {self.totals()}"

    def totals(self) -> str:
        """What was tried, and how often it failed."""
        tried = {name: self.counts[name] for name in ("fits", "signals", "kills")}
        tried["files"] = sum(count for name, count in self.counts.items() if name.endswith("_files"))
        tried["failures"] = sum(count for (_, check), count in self.failed.items() if check not in self.skip)
        return ", ".join(f"{count:,} {name}" for name, count in tried.items())

    def summary(self) -> str:
        lines = ["", f"trials     {dict(sorted(self.trials.items()))}", f"outcomes   {dict(self.outcomes)}"]
        lines += [f"tried      {dict(sorted(self.counts.items()))}"]
        lines += [f"laws       {dict(sorted(self.held.items()))} held"]
        slowest = sorted(self.slow, reverse=True)[:SLOW_LISTED]
        lines += [f"slow       {kind} {seed}: {seconds:.0f} s" for seconds, kind, seed in slowest]
        for (kind, check), count in sorted(self.failed.items()):
            skipped = " (left out)" if check in self.skip else ""
            seeds = ", ".join(map(str, self.seeds[kind, check][:8]))
            lines.append(f"FAILED     {kind} {check}: {count} times{skipped}, seeds {seeds}")
        lines.append(f"in all     {self.totals()}")
        return "\n".join(lines)

    @property
    def ok(self) -> bool:
        return all(check in self.skip for _, check in self.failed)


def attack(options: argparse.Namespace) -> int:
    """Trials until the time is over."""
    base = secrets.randbelow(2**31) if options.base is None else options.base
    print(f"base {base}; the trials' seeds follow from it")
    print(HEADER)
    rng, kinds = np.random.default_rng(base), options.kind or list(WEIGHTS)
    share = np.array([WEIGHTS[kind] for kind in kinds])
    tally, jobs, began, said = Tally(options.skip), [], time.monotonic(), 0.0
    nice()
    workers = [Worker() for _ in range(options.workers)]
    try:
        while True:
            over = time.monotonic() - began > 60 * options.minutes
            for place, worker in enumerate(workers):
                if worker.job is not None and (answer := worker.answer()) is not None:
                    worker.job = None
                    jobs.extend(tally.add(answer))
                    if answer.get("broken"):
                        worker.close()
                        workers[place] = worker = Worker()
                if worker.job is None and (jobs or not over):
                    kind = kinds[int(rng.choice(len(kinds), p=share / share.sum()))]
                    worker.start(jobs.pop() if jobs else {"kind": kind, "seed": int(rng.integers(10**6))})
            if over and not jobs and all(worker.job is None for worker in workers):
                break
            waiting(workers, 1.0)
            if time.monotonic() - said > PROGRESS_SECONDS:
                said = time.monotonic()
                print(tally.progress(said - began), file=sys.stderr, flush=True)
    finally:
        for worker in workers:
            worker.close()
    print(tally.summary())
    return int(not tally.ok)


if __name__ == "__main__":
    sys.exit(main())
