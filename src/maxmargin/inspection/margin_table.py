"""The table of margins: one row per point, and totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.inspection._functions import FittedFunctions, dense
from maxmargin.inspection.robustness import radii
from maxmargin.kernels import Linear
from maxmargin.runtime.text_report import TextReport, pandas
from maxmargin.runtime.validation import Array, check_number

CATEGORIES = ("outside", "on", "inside", "misclassified")
SHOWN_ROWS = 20  # rows that the text shows


@dataclass(frozen=True)
class MarginReport(TextReport):
    """Margin, slack and category of every point, as returned by :func:`margin_report`.

    Attributes
    ----------
    positive, negative : object
        The labels of the two sides; ``negative`` is None if that side consists of all other classes.
    rows : array of int
        The rows of X in this binary problem: all, or those of two classes.
    labels : array
        Their labels.
    decision, functional_margin, distance, slack : arrays
        f, y f, f / \\|w\\| and max(0, 1 - y f).
    category : array of str
        ``"outside"``, ``"on"``, ``"inside"`` or ``"misclassified"``.
    alpha : array or None
        The multipliers, 0 for points that are not support vectors (for ``NuSVC`` in the scale of ``dual_coef_``). None
        if the points are not the training points, or the classifier has no multipliers.
    norm : float
        \\|w\\|.
    tolerance : float
        How far from 1 a functional margin may be and still count as on the margin.
    function : FittedFunctions or None
        f itself; None if the classifier cannot compute kernel values for new points.
    points : array or CSR matrix
        The reported rows of X.

    Examples
    --------
    >>> from maxmargin import SVC, margin_report
    >>> X, y = [[-1.0], [1.0], [2.0]], [0, 1, 1]
    >>> report = margin_report(SVC(kernel="linear", C=10.0, tol=1e-8).fit(X, y), X, y)
    >>> report.category
    array(['on', 'on', 'outside'], dtype='<U13')
    >>> report.counts["on"], round(report.margin, 6), round(report.total_slack, 6)
    (2, 2.0, 0.0)
    """

    positive: Any
    negative: Any
    rows: Array
    labels: Array
    decision: Array
    functional_margin: Array
    distance: Array
    slack: Array
    category: Array
    alpha: Array | None
    norm: float
    tolerance: float
    function: FittedFunctions | None = None
    points: Any = None

    @property
    def margin(self) -> float:
        """2 / \\|w\\|."""
        return 2.0 / self.norm if self.norm > 0 else np.inf

    @property
    def d_plus(self) -> float:
        """Signed distance of the nearest positive point from the hyperplane; negative if it is on the wrong side."""
        return float(self.distance[self._positive].min(initial=np.inf))

    @property
    def d_minus(self) -> float:
        """The same for the negative points. For a hard margin both are half the margin."""
        return float((-self.distance[~self._positive]).min(initial=np.inf))

    @property
    def anchor_points(self) -> Array | None:
        """The foot of each point's perpendicular on the hyperplane, ``x - f(x) w / \\|w\\|^2``, one row per point: a
        point lies ``distance`` from it, in the direction of w. None unless the kernel is linear: with any other the
        foot lies in the feature space, and no point of the input space need be mapped to it."""
        if self.function is None or not isinstance(self.function.kernel, Linear) or not self.norm > 0:
            return None
        w = np.asarray(self.function.anchors.T @ self.function.coefficients)[:, 0]
        feet: Array = dense(self.points) - np.outer(self.distance / self.norm, w)
        return feet

    @property
    def _positive(self) -> Array:
        return np.asarray(self.labels == self.positive)

    def robustness(self, eps: float, *, norm: float = 2) -> float:
        """The fraction of points that stay correctly classified for every perturbation up to ``eps``.

        Parameters
        ----------
        eps : float
            Size of the perturbation.
        norm : {2, numpy.inf}, default=2
            Norm of the perturbation: Euclidean, or the largest absolute entry.

        Returns
        -------
        float
            Exact for linear kernels, a lower bound for the RBF kernel, as in :func:`maxmargin.robustness`.
        """
        check_number("eps", eps, least=0)
        if norm not in (2, np.inf):
            raise ValueError(f"norm must be 2 or numpy.inf; got norm={norm!r}.")
        if self.function is None:
            raise ValueError("a precomputed kernel has no function of the points: their features are not known.")
        right = 0
        for side, members in ((1.0, self._positive), (-1.0, ~self._positive)):
            function = self.function.mixed(np.array([[side]]), self.function.names)
            right += int(np.count_nonzero(radii(function, dense(self.points[members]), norm) > eps))
        return right / max(1, len(self.rows))

    @property
    def total_slack(self) -> float:
        """The sum of the slacks, which bounds ``n_errors`` from above."""
        return float(self.slack.sum())

    @property
    def n_errors(self) -> int:
        """Points with a slack above 1."""
        return self.counts["misclassified"]

    @property
    def counts(self) -> dict[str, int]:
        """The number of points in each category."""
        return {name: int(np.count_nonzero(self.category == name)) for name in CATEGORIES}

    def to_frame(self) -> Any:
        """The arrays as a pandas DataFrame, one row per point, with ``rows`` as its index.

        Returns
        -------
        pandas.DataFrame
        """
        pd = pandas()
        names = ["labels", "decision", "functional_margin", "distance", "slack", "category"]
        columns = {name.removesuffix("s") if name == "labels" else name: getattr(self, name) for name in names}
        if self.alpha is not None:
            columns["alpha"] = self.alpha
        return pd.DataFrame(columns, index=pd.Index(self.rows, name="row"))

    def _lines(self) -> list[tuple[str, str]]:
        other = "the rest" if self.negative is None else repr(self.negative)
        return [
            ("classes", f"{self.positive!r} (+1) against {other} (-1), {len(self.rows):,} points"),
            ("margin", f"{self.margin:.6g} (2 / |w|, |w| = {self.norm:.6g})"),
            ("categories", ", ".join(f"{count:,} {name}" for name, count in self.counts.items())),
            ("sum of slacks", f"{self.total_slack:.6g} >= {self.n_errors:,} misclassified"),
        ]

    def _tables(self) -> list[tuple[str, list[list[str]]]]:
        """One line per point: all points, or those with the smallest margins."""
        shown = np.arange(len(self.rows))
        if len(shown) > SHOWN_ROWS:
            shown = np.argsort(self.functional_margin, kind="stable")[:SHOWN_ROWS]
        head = ["row", "label", "f", "y f", "distance", "slack", "category"]
        lines = [head if self.alpha is None else [*head, "alpha"]]
        for i in shown:
            numbers = [self.decision[i], self.functional_margin[i], self.distance[i], self.slack[i]]
            line = [str(self.rows[i]), str(self.labels[i]), *(f"{x:.4g}" for x in numbers), str(self.category[i])]
            lines.append(line if self.alpha is None else [*line, f"{self.alpha[i]:.4g}"])
        few = f"the {SHOWN_ROWS} smallest margins; to_frame() has all"
        return [(few if len(self.rows) > SHOWN_ROWS else "", lines)]
