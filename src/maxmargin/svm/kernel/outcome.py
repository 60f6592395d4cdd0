"""What a fit's problems came to, as columns: one entry per binary problem, whichever way it was solved.

The report and the history of a fit are made from this, when they are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.runtime.control import Progress, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.validation import Array
from maxmargin.svm.kernel.batch import Solved
from maxmargin.svm.kernel.coefficients import Machine

CERTIFICATE = (
    "primal",
    "dual",
    "violation",
    "stationarity",
    "dual_infeasibility",
    "primal_infeasibility",
    "complementarity",
    "norm",
)


@dataclass(frozen=True)
class FitOutcome:
    """Certificates and counts, one row or entry per problem.

    Attributes
    ----------
    certificates : array of shape (8, n_problems)
        The fields of :class:`~maxmargin.problems.optimality.Certificate`, in their order in ``CERTIFICATE``.
    n_iter, n_support : arrays
    scale : array
        Factors from the dual's variables to decision values with margin one.
    status : Status
        Of the fit: the first that is not optimal.
    progress : sequence of lists of Progress
        What solvers reported of each problem; empty where they did not.
    """

    certificates: Array
    n_iter: Array
    n_support: Array
    scale: Array
    status: Status
    progress: Sequence[Sequence[Progress]]

    @classmethod
    def of_models(cls, models: Sequence[Machine], scale: Array) -> FitOutcome:
        table = [[getattr(m.certificate, name) for m in models] for name in CERTIFICATE]
        return cls(
            np.array(table, np.float64).reshape(len(CERTIFICATE), len(models)),
            np.array([m.solution.n_iter for m in models], int),
            np.array([np.count_nonzero(m.solution.a) for m in models], int),
            scale,
            next((m.solution.status for m in models if not m.solution.status.converged), Status.OPTIMAL),
            [m.seen for m in models],
        )

    @classmethod
    def of_batch(cls, solved: Solved, status: Status) -> FitOutcome:
        table = np.array(
            [
                solved.primal,
                solved.dual,
                solved.violation,
                solved.stationarity,
                solved.outside,
                np.zeros(len(solved.primal)),
                solved.complementarity,
                solved.norm,
            ]
        )
        return cls(table, solved.steps, solved.n_support, np.ones(len(solved.steps)), status, ())

    def column(self, name: str) -> Array:
        values: Array = self.certificates[CERTIFICATE.index(name)]
        return values

    @property
    def margins(self) -> Array:
        """2 / |w| of each problem."""
        norm = self.column("norm") * self.scale
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(norm >= 0, 2.0 / norm, math.nan)

    def combined(self) -> dict[str, float]:
        """The certificate of the fit: sums of objectives, the worst of the rest."""
        primal, dual = float(self.column("primal").sum()), float(self.column("dual").sum())
        gap = primal - dual
        size = max(abs(primal), abs(dual))
        worst = {
            name: float(self.column(name).max(initial=0.0))
            for name in ("stationarity", "primal_infeasibility", "dual_infeasibility", "complementarity")
        }
        return {
            "primal_objective": primal,
            "dual_objective": dual,
            "relative_gap": gap / size if size and math.isfinite(gap) else (0.0 if gap == 0 else math.inf),
            "kkt_violation": float(self.column("violation").max(initial=0.0)),
            **worst,
        }

    def history(self) -> History:
        """What solvers reported of each problem, and its certificate as the last record."""
        history, margins = History(), self.margins
        primal, dual = self.column("primal"), self.column("dual")
        for k in range(len(margins)):
            reported = self.progress[k] if self.progress else ()
            for seen in reported:
                norm = self.scale[k] * seen.norm
                history.append(
                    machine=k,
                    iteration=seen.iteration,
                    objective=seen.primal,
                    dual=seen.dual,
                    margin=2.0 / norm if norm > 0 else math.inf if norm == 0 else math.nan,
                    n_support=seen.n_support,
                    seconds=seen.seconds,
                )
            history.append(
                machine=k,
                iteration=int(self.n_iter[k]),
                objective=float(primal[k]),
                dual=float(dual[k]),
                margin=float(margins[k]),
                n_support=int(self.n_support[k]),
                seconds=reported[-1].seconds if reported else 0.0,
            )
        return history
