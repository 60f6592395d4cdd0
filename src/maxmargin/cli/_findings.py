"""What predictions are worth, beside those of someone who has not looked at the data.

    classes    accuracy                  the most frequent label, always
    numbers    MAE, RMSE, R2             the mean (best for RMSE and R2) and the median (best for MAE), always
    outliers   share outside the region  the share nu that training allows

"Clearly better" means more than chance: the 95 % interval of the accuracy, or of the mean difference of the squared
errors, lies above the baseline's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.cli._model import Model
from maxmargin.cli._options import plain
from maxmargin.digits.example import wilson_interval
from maxmargin.runtime.validation import Array

MANY = 40  # classes from which the table shows only the average
SURE = 1.96  # standard errors that a difference must have


@dataclass(frozen=True)
class ClassFindings:
    """Predicted labels beside true ones; the baseline always answers ``naive``, the most frequent label ``where``."""

    truth: Array
    predicted: Array
    naive: Any
    where: str

    @property
    def n_correct(self) -> int:
        return int(np.sum(self.truth == self.predicted))

    @property
    def accuracy(self) -> float:
        return self.n_correct / len(self.truth)

    @property
    def baseline(self) -> float:
        return float(np.mean(self.truth == self.naive))

    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.n_correct, len(self.truth))

    @property
    def better(self) -> bool:
        return self.interval[0] > self.baseline

    @property
    def verdict(self) -> str:
        if self.better:
            return "The model is clearly better than the naive baseline."
        if self.accuracy > self.baseline:
            return (
                "The model is better than the naive baseline, but not by more than chance would allow "
                f"(its 95 % interval starts at {self.interval[0]:.3f}): test on more rows, or try other parameters."
            )
        return (
            "Warning: the model is NOT better than the naive baseline: try --scale, another --C, --gamma or --kernel."
        )

    def scores(self) -> tuple[dict[Any, dict[str, float]], dict[str, float]]:
        """Precision, recall, f1 and support of every label, and their averages weighted by support."""
        from sklearn.metrics import precision_recall_fscore_support

        names = ("precision", "recall", "f1", "support")
        labels = np.unique(np.concatenate((self.truth, self.predicted)))
        known = {"labels": labels, "zero_division": 0.0}
        columns = precision_recall_fscore_support(self.truth, self.predicted, **known)
        average = precision_recall_fscore_support(self.truth, self.predicted, average="weighted", **known)[:3]
        rows = zip(labels, np.transpose(columns), strict=True)
        by_label = {plain(label): dict(zip(names, map(float, row), strict=True)) for label, row in rows}
        return by_label, dict(zip(names, (*map(float, average), float(len(self.truth))), strict=True))

    def text(self) -> str:
        by_label, average = self.scores()
        rows = [*(by_label.items() if len(by_label) <= MANY else ()), ("average", average)]
        width = min(40, max(14, *(len(str(label)) + 2 for label, _ in rows)))
        lines = [f"{'label':<{width}}{'precision':<10}{'recall':<7}{'f1':<5}support"]
        for label, row in rows:
            figures = f"{row['precision']:<10.2f}{row['recall']:<7.2f}{row['f1']:<5.2f}{row['support']:.0f}"
            lines.append(f"{str(label)[: width - 2]:<{width}}{figures}")
        low, high = self.interval
        return "\n".join(
            [
                *lines,
                "",
                f"accuracy        {self.accuracy:.3f}  {self.n_correct:,} of {len(self.truth):,} right; "
                f"95 % interval {low:.3f} to {high:.3f}",
                f"naive baseline  {self.baseline:.3f}  always answering {plain(self.naive)}, "
                f"the most frequent label {self.where}",
                self.verdict,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        by_label, average = self.scores()
        return {
            "n": len(self.truth),
            "n_correct": self.n_correct,
            "accuracy": self.accuracy,
            "accuracy_interval": list(self.interval),
            "baseline": self.baseline,
            "baseline_label": plain(self.naive),
            "better_than_baseline": self.better,
            "scores": {str(label): row for label, row in by_label.items()},
            "average": average,
        }


@dataclass(frozen=True)
class NumberFindings:
    """Predicted numbers beside true ones; ``mean`` and ``median`` are what the baselines always answer."""

    truth: Array
    predicted: Array
    mean: float
    median: float
    where: str

    def errors(self, predicted: Array | float) -> dict[str, float]:
        """Mean absolute error, root mean squared error, and the share of the variance that is explained."""
        residual = self.truth - predicted
        variance = float(np.mean((self.truth - self.truth.mean()) ** 2))
        squared = float(np.mean(residual**2))
        r2 = 1 - squared / variance if variance > 0 else math.nan
        return {"mae": float(np.mean(np.abs(residual))), "rmse": math.sqrt(squared), "r2": r2}

    @property
    def better(self) -> bool:
        """Whether the mean of the differences of squared errors is above zero by 1.96 standard errors."""
        difference = (self.truth - self.mean) ** 2 - (self.truth - self.predicted) ** 2
        spread = float(np.std(difference, ddof=1)) / math.sqrt(len(difference)) if len(difference) > 1 else math.inf
        return bool(float(difference.mean()) > SURE * spread)

    @property
    def verdict(self) -> str:
        ours, mean = self.errors(self.predicted), self.errors(self.mean)
        if self.better:
            share = ours["rmse"] / mean["rmse"]
            return f"The model is clearly better than the naive baseline: its RMSE is {share:.0%} of the mean's."
        if ours["rmse"] < mean["rmse"]:
            return (
                "The model is better than the naive baseline, but not by more than chance would allow: test on more "
                "rows, or try other parameters."
            )
        return "Warning: the model is NOT better than the naive baseline: try --scale, or a larger --C."

    def text(self) -> str:
        rows = {
            "model": self.errors(self.predicted),
            "naive: mean": self.errors(self.mean),
            "naive: median": self.errors(self.median),
        }
        lines = [f"{'':<15}{'MAE':<12}{'RMSE':<12}R2"]
        for name, row in rows.items():
            lines.append(f"{name:<15}{row['mae']:<12.5g}{row['rmse']:<12.5g}{row['r2']:.3f}")
        answers = (
            f"The naive baselines always answer {self.mean:.5g} and {self.median:.5g}, mean and median {self.where}."
        )
        return "\n".join([*lines, "", answers, self.verdict])

    def to_dict(self) -> dict[str, Any]:
        return {
            "n": len(self.truth),
            **self.errors(self.predicted),
            "baseline_mean": self.errors(self.mean),
            "baseline_median": self.errors(self.median),
            "better_than_baseline": self.better,
        }


@dataclass(frozen=True)
class OutlierFindings:
    """Which rows lie outside the region; ``expected`` is the share outside among the training rows, or nu."""

    outside: Array
    expected: float
    expected_name: str
    labels: Array | None = None

    @property
    def n_outside(self) -> int:
        return int(self.outside.sum())

    @property
    def share(self) -> float:
        return self.n_outside / len(self.outside)

    def by_label(self) -> dict[Any, tuple[int, int]]:
        """Of each label: rows outside, and rows."""
        if self.labels is None:
            return {}
        found = {}
        for label in np.unique(self.labels):
            here = self.labels == label
            found[plain(label)] = int(self.outside[here].sum()), int(here.sum())
        return found

    @property
    def verdict(self) -> str:
        low, high = wilson_interval(self.n_outside, len(self.outside))
        told = f"(95 % interval {low:.1%} to {high:.1%}; {self.expected_name} {self.expected:.1%})"
        if low > self.expected:
            return (
                f"Warning: more rows lie outside than expected {told}: these rows differ from the training rows, or "
                "the region follows those too closely (a smaller --gamma is smoother)."
            )
        if high < self.expected:
            return f"Fewer rows lie outside than expected {told}."
        return f"As many rows lie outside as expected {told}."

    def text(self) -> str:
        lines = [f"outliers        {self.share:.1%}  {self.n_outside:,} of {len(self.outside):,} rows", self.verdict]
        labels = self.by_label()
        if 1 < len(labels) <= MANY:
            width = min(40, max(16, *(len(str(label)) + 2 for label in labels)))
            lines += ["", f"{'label':<{width}}{'outside':<10}of"]
            for label, (outside, n) in labels.items():
                lines.append(f"{str(label)[: width - 2]:<{width}}{f'{outside / n:.1%}':<10}{n:,} rows")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "n": len(self.outside),
            "n_outliers": self.n_outside,
            "share": self.share,
            "expected_share": self.expected,
            "by_label": {str(label): {"outside": a, "n": n} for label, (a, n) in self.by_label().items()},
        }


Findings = ClassFindings | NumberFindings | OutlierFindings


def findings_of(model: Model, X: Any, y: Array | None, naive_from: Array | None, where: str) -> Findings:
    """What a model's predictions on X are worth; the baseline learns from the targets ``naive_from``."""
    if model.task == "outliers":
        report = getattr(model.machine, "report_", None)
        expected, name = float(model.machine.nu), "nu is"
        if report is not None and not math.isnan(report.training_error):
            expected, name = report.training_error, "of the training rows"
        return OutlierFindings(model.estimator.predict(X) < 0, expected, name, y)
    assert y is not None
    assert naive_from is not None
    predicted = model.estimator.predict(X)
    if model.task == "regress":
        return NumberFindings(y, predicted, float(naive_from.mean()), float(np.median(naive_from)), where)
    labels, counts = np.unique(naive_from, return_counts=True)
    return ClassFindings(y, predicted, labels[np.argmax(counts)], where)
