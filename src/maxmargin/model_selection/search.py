"""The loop of a grid search.

    for each kernel (several at a time, if memory holds their values):
        K                               once, for all folds and values of C
        for each fold, in parallel:     a job: the models of all values of C, one after the other
        for each cell and fold:         the scorer, on the samples that were left out

Jobs do not see each other, and what a job does depends on its data only: so scores do not depend on the number of
threads. Kernels are taken from the middle of the grid outward: a search that is stopped knows the likelier ones.
"""

from __future__ import annotations

import math
import numbers
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from maxmargin.kernels import Kernel
from maxmargin.model_selection.folds import Fold
from maxmargin.model_selection.grid import Cell
from maxmargin.model_selection.jobs import CellResult
from maxmargin.model_selection.results import NOT_REACHED, STOPS, Table, is_own_score, takes_weights
from maxmargin.model_selection.store import Store
from maxmargin.runtime.control import Control, print_note
from maxmargin.runtime.threads import run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array

SCORING_GRACE_SECONDS = 0.5  # seconds for the scores of models that are fitted when a search is stopped

MakeJob = Callable[[Kernel, "Array | None", Fold, Sequence[tuple[int, Cell]]], Any]


class Search:
    """A search under way.

    make_job: the job of a resolved kernel, its values if they are held, a fold, and numbered cells
    scorer: ``scorer(estimator, X, y)`` as scikit-learn's
    """

    def __init__(
        self, folds: Sequence[Fold], make_job: MakeJob, scorer: Any, control: Control, threads: int, verbose: bool
    ) -> None:
        self.folds, self.make_job, self.scorer = folds, make_job, scorer
        self.control, self.threads, self.verbose = control, threads, verbose
        self.weighted = takes_weights(scorer)
        self.table = Table(len(folds))
        self.unfinished = 0  # fits that ended before tol
        self.cut = False  # whether cells were left out because it was stopped

    def run(self, cells: Sequence[Cell], kernels: Sequence[Kernel | str], store: Store) -> None:
        """Score every cell; a kernel that could not be resolved is given as the reason."""
        numbered = list(zip(self.table.add(cells), cells, strict=True))
        of_kernel: dict[int, list[tuple[int, Cell]]] = {}
        for number, cell in numbered:
            of_kernel.setdefault(cell.variant, []).append((number, cell))
        waiting = []
        middle = (len(kernels) - 1) / 2
        for v in sorted(of_kernel, key=lambda v: (abs(v - middle), v)):
            kernel = kernels[v]
            mine = sorted(of_kernel[v], key=lambda pair: pair[1].hyperparameters.get("C", 0.0))
            if isinstance(kernel, str):
                self._fail(mine, range(len(self.folds)), kernel)
            else:
                waiting.append((kernel, mine))
        # Two kernels at a time keep threads busy that one kernel's folds would leave idle at its end.
        together = 2 if store.capacity > 1 and len(waiting) > 3 and len(self.folds) % self.threads else 1
        try:
            for first in range(0, len(waiting), together):
                if self.control.stop() is not None:
                    break
                self._batch(waiting[first : first + together], store)
                self._report_progress()
        finally:
            status = self.control.stop()
            if status is not None:
                for number, _ in numbered:
                    reasons = self.table.reasons[number]
                    reasons[:] = [status.value if reason == NOT_REACHED else reason for reason in reasons]
                    self.cut = self.cut or not STOPS.isdisjoint(reasons)

    def _batch(self, kernels: Sequence[tuple[Kernel, list[tuple[int, Cell]]]], store: Store) -> None:
        """All folds of a few kernels."""
        jobs = []
        for slot, (kernel, cells) in enumerate(kernels):
            try:
                K = store.values(kernel, slot)
            except Exception as error:  # a user's kernel may raise any exception
                self._fail(cells, range(len(self.folds)), f"{type(error).__name__}: {error}")
                continue
            for k, fold in enumerate(self.folds):
                try:
                    if len(fold.test) == 0:
                        raise ValueError("no sample that was left out has a weight, so there is nothing to score")
                    jobs.append((k, cells, self.make_job(kernel, K, fold, cells)))
                except (ValueError, TypeError) as error:
                    self._fail(cells, [k], str(error))
        parts = [(j, t) for j, (_, _, job) in enumerate(jobs) for t in range(job.parts)]
        answers: list[list[CellResult]] = [[]] * len(jobs)

        failed = [""] * len(jobs)

        def solve(p: int) -> None:
            if self.control.stop() is None:
                j, t = parts[p]
                try:
                    jobs[j][2].part(t)
                except Exception as error:  # an error of one fold (such as memory) does not affect the others
                    failed[j] = f"{type(error).__name__}: {error}"

        def collect(j: int) -> None:
            if failed[j]:
                answers[j] = [CellResult(reason=failed[j])] * len(jobs[j][1])
            else:
                answers[j] = jobs[j][2].results()

        with warnings.catch_warnings(), single_threaded_blas():
            warnings.simplefilter("ignore", ConvergenceWarning)  # they are counted
            warnings.filterwarnings("ignore", "nu=", UserWarning)  # class proportions differ between folds
            run_tiles(solve, len(parts), self.threads)
            run_tiles(collect, len(jobs), self.threads)
        listed = [
            (number, k, answer)
            for (k, cells, _), found in zip(jobs, answers, strict=True)
            for (number, _), answer in zip(cells, found, strict=False)
        ]
        stopped = math.inf
        for number, k, answer in sorted(listed, key=lambda one: one[:2]):  # in the order of the cells
            if self.control.stop() is not None:
                stopped = min(stopped, time.perf_counter())
                if time.perf_counter() - stopped > SCORING_GRACE_SECONDS:
                    break
            self._score(number, k, answer)

    def _fail(self, cells: Sequence[tuple[int, Cell]], splits: Sequence[int], reason: str) -> None:
        for number, _ in cells:
            for k in splits:
                self.table.reasons[number][k] = reason

    def _score(self, number: int, k: int, answer: CellResult) -> None:
        """Score one cell on one fold; an exception of the scorer becomes the reason."""
        if answer.estimator is None:
            self.table.reasons[number][k] = answer.reason
            return
        fold, began = self.folds[k], time.perf_counter()
        extra = {"sample_weight": fold.sample_weight} if self.weighted and fold.sample_weight is not None else {}
        reason = ""
        try:
            score = self._scored(answer.estimator, fold, extra)
            if getattr(score, "size", 0) == 1:
                score = score.item()
            if not isinstance(score, numbers.Real):
                reason, score = f"the scorer returned {score!r}, not a number", math.nan
            elif not math.isfinite(float(score)):
                reason, score = f"the scorer returned {float(score)}", math.nan
        except Exception as error:
            reason, score = f"the scorer failed: {type(error).__name__}: {error}", math.nan
        self.table.reasons[number][k] = reason
        self.table.scores[number][k] = float(score)
        self.table.fit_times[number][k] = answer.seconds
        self.table.score_times[number][k] = time.perf_counter() - began
        self.unfinished += not answer.converged

    def _scored(self, model: Any, fold: Fold, extra: dict[str, Any]) -> Any:
        if is_own_score(self.scorer) and type(model).score is ClassifierMixin.score:
            # Accuracy without scikit-learn's checks of labels, which take longer than many a fit.
            return np.average(model.predict(fold.points) == fold.target, weights=extra.get("sample_weight"))
        known = () if fold.target is None else (fold.target,)
        return self.scorer(model, fold.points, *known, **extra)

    def _report_progress(self) -> None:
        """Report the number of complete cells, and the best so far."""
        done = int(np.count_nonzero(~np.isnan(self.table.means())))
        self.control.report(done, math.nan, 0)
        best = self.table.best()
        if self.verbose and best is not None:
            params = ", ".join(f"{name}={short(value)}" for name, value in self.table.cells[best].params.items())
            print_note(
                f"{self.control.seconds:8.2f} s  cells {done} of {len(self.table.cells)}  "
                f"best score {np.nanmean(self.table.scores[best]):.4f} ({params})"
            )


def short(value: Any) -> str:
    """A parameter's value for a line of text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
