"""The report of an approximate fit, and what the last step of a fit over rows reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.kernels import Kernel
from maxmargin.large_scale.auto import Trial
from maxmargin.large_scale.features.kernel_error import KernelError
from maxmargin.problems.certificate import Certificate
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.text_report import tolerance_text
from maxmargin.runtime.validation import Array
from maxmargin.svm.report import FitReport, SolverUsed


@dataclass(frozen=True)
class SolvedRows:
    """The rows of a fit, and the solution of Newton's method."""

    kernel: Kernel
    control: Control
    threads: int
    input_shape: tuple[int, ...]
    dtype: str
    status: Status
    solver: SolverUsed
    n_iter: int
    certificates: Sequence[Certificate]
    history: History
    has_margin: bool = True
    advice: str = ""

    @property
    def margins(self) -> Array:
        norms = [c.norm for c in self.certificates] if self.has_margin else []
        return np.array([2.0 / norm if norm > 0 else math.inf for norm in norms])


@dataclass(frozen=True)
class ApproximateReport(FitReport):
    """What a fit on landmarks did.

    The certificate is that of the approximated problem: f is sought among the functions of the landmarks. Such an f is
    also one of the exact problem, with the same norm and the same losses, so ``primal_objective`` is an upper bound of
    the exact optimum; ``dual_objective`` is no lower bound of it.

    Besides the attributes of :class:`~maxmargin.svm.report.FitReport`, of which ``margins`` is empty for the squared
    loss:

    Attributes
    ----------
    n_landmarks, rank : int
        Landmarks, and dimensions of what they span.
    landmarks : str
        How they were chosen.
    stored : bool
        Whether kernel values were stored in memory, or recomputed in every pass.
    source : str
        Where the rows were read from, if not from memory.
    passes : float
        Passes over the kernel values.
    products : int
        Those of conjugate gradients.
    kernel_error : KernelError or None
        Error of the approximated kernel; None if all rows are landmarks, or the fit was stopped before it was computed.
    trials : tuple of Trial
        What ``n_components="auto"`` tried.
    trials_ended : str
        Why it stopped there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.large_scale import NystroemSVC
    >>> print(NystroemSVC(n_components=20, random_state=0).fit(*load_iris(return_X_y=True)).report_)
    model             NystroemSVC, approximate, 3 classes, one-vs-rest, 3 binary problems
    kernel            RBF(gamma=0.0...)
    landmarks         20 (uniform), rank 20
    ...
    """

    n_landmarks: int
    rank: int
    landmarks: str
    stored: bool
    source: str
    passes: float
    products: int
    kernel_error: KernelError | None
    trials: tuple[Trial, ...]
    trials_ended: str

    scikit_learn_words: ClassVar[str] = ""

    def distance_from_optimum(self) -> str:
        return f"certified relative duality gap is {self.relative_gap:.2e} (tol={self.tol:g})"

    def _lines(self) -> list[tuple[str, str]]:
        lines = dict(super()._lines())
        if len(self.margins) == 0:  # the squared loss: all rows count
            del lines["margin"], lines["support vectors"]
        held = "held in memory" if self.stored else "computed anew in every pass"
        own = {
            "landmarks": f"{self.n_landmarks:,} ({self.landmarks}), rank {self.rank:,}",
            "kernel error": str(self.kernel_error or "none, or not computed because the fit was stopped"),
            "kernel values": f"{held}; {self.passes:.3g} passes over all rows, {self.products:,} products of CG",
        }
        if self.trials:
            tried = "; ".join(f"{t.n_components:,}: {t.score:.5g} ({t.seconds:.2g} s)" for t in self.trials)
            own["components tried"] = f"{tried}; {self.trials_ended}"
        if self.source:
            own["rows"] = self.source
        lines["duality gap"] = (
            f"{self.duality_gap:.3g} (relative {self.relative_gap:.1e}, tolerance {tolerance_text(self.tol)}), of the "
            "approximated problem"
        )
        lines["KKT violation"] = f"{self.kkt_violation:.2e}"
        ordered = []
        for name, value in lines.items():
            ordered.append((name, value))
            if name == "kernel":
                ordered.extend(own.items())
        return ordered
