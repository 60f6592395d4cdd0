"""The account of a linear fit."""

from __future__ import annotations

from typing import ClassVar

from maxmargin.runtime.control import LINEAR_WORDS
from maxmargin.runtime.text_report import tolerance_text
from maxmargin.svm.report import FitReport, without_rounding


class LinearReport(FitReport):
    """A report whose tolerance is a relative duality gap, and which has no kernel values to speak of.

    Its attributes are those of :class:`~maxmargin.svm.report.FitReport`; ``kkt_violation`` is the largest residual of
    the conditions in :mod:`maxmargin.problems.primal_certificate`, each as a share.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> print(LinearSVC(loss="hinge").fit([[-1.0], [1.0]], ["left", "right"]).report_)
    model            LinearSVC, 2 classes
    parameters       C = 1, hinge loss, free intercept
    solver           barrier (the primal has 1 unknown (columns), the dual 2 (rows): a 1 x 1 system an iteration)
    status           optimal within the tolerance
    ...
    """

    scikit_learn_words: ClassVar[str] = LINEAR_WORDS

    def distance_from_optimum(self) -> str:
        return f"certified relative duality gap is {self.relative_gap:.2e} (tol={self.tol:g})"

    def _lines(self) -> list[tuple[str, str]]:
        lines = dict(super()._lines())
        del lines["kernel"], lines["kernel evaluations"]
        lines["duality gap"] = (
            f"{without_rounding(self.duality_gap):.3g} (relative {without_rounding(self.relative_gap):.1e}, "
            f"tolerance {tolerance_text(self.tol)})"
        )
        lines["KKT violation"] = f"{self.kkt_violation:.2e}"
        return list(lines.items())
