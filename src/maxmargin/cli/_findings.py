"""What predictions are worth, beside those of someone who knows the targets only, and of a linear model.

    classes    accuracy, balanced accuracy, AUC    the most frequent label, always
    numbers    MAE, RMSE, R2                       the mean (best for RMSE and R2) and the median (best for MAE), always
    outliers   share outside the region            the share nu that training allows

The verdict goes by one score: accuracy; balanced accuracy where a class is rare or classes were weighted; or what the
user chose by. "Clearly better" means more than chance: the 95 % interval of the score, or of the mean difference of the
squared errors, lies above the baseline's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin.cli._model import Model
from maxmargin.cli._options import cut, figure, plain
from maxmargin.digits.example import wilson_interval
from maxmargin.runtime.validation import Array

LISTED_MAX_CLASSES = 40  # beyond, the table shows the averages only
CONFUSION_MAX_CLASSES = 8  # whose matrix fits into 80 columns
INTERVAL_STANDARD_ERRORS = 1.96  # standard errors that a difference must have
CLEAR_RMSE_SHARE = 0.9  # of the mean's: a larger error is hardly better
DECIMALS_MAX = 1e5  # from which on decimals say nothing
RARE_CLASS_SHARE = 0.4  # of an even share: a class with less is rare


class Score(NamedTuple):
    """The score that a model is judged by, with its 95 % interval, and that of the baseline."""

    name: str
    value: float
    interval: tuple[float, float]
    baseline: float

    def to_dict(self) -> dict[str, Any]:
        figures = {"score": self.value, "score_interval": list(self.interval), "baseline_score": self.baseline}
        return {"judged_by": self.name, **figures}


@dataclass(frozen=True)
class ClassFindings:
    """Predicted labels beside true ones; the baseline always answers ``naive``, the most frequent label ``where``.
    ``scores`` are values that rise with the second of two classes."""

    truth: Array
    predicted: Array
    naive: Any
    where: str
    values: Array | None = None
    judged_by: str = "accuracy"

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

    def recalls(self) -> tuple[Array, Array]:
        """The share of each true class that was found, and its rows."""
        labels, counts = np.unique(self.truth, return_counts=True)
        return np.array([np.mean(self.predicted[self.truth == label] == label) for label in labels]), counts

    @property
    def balanced_accuracy(self) -> float:
        return float(np.mean(self.recalls()[0]))

    @property
    def auc(self) -> float | None:
        """The share of pairs of one row of each class that the values put in the right order."""
        labels = np.unique(self.truth)
        if self.values is None or len(labels) != 2:
            return None
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.truth == labels[1], self.values))

    def main_score(self) -> Score:
        """The score that counts."""
        if self.judged_by == "AUC" and self.auc is not None:
            return Score("AUC", self.auc, _around(self.auc, self._auc_error()), 0.5)
        if self.judged_by != "accuracy":
            recalls, counts = self.recalls()
            smoothed = (recalls * counts + 1) / (counts + 2)  # no class is perfect for sure
            error = math.sqrt(float(np.sum(smoothed * (1 - smoothed) / counts))) / len(counts)
            mean = float(recalls.mean())
            return Score("balanced accuracy", mean, _around(mean, error), 1 / len(counts))
        return Score("accuracy", self.accuracy, self.interval, self.baseline)

    def _auc_error(self) -> float:
        """Hanley and McNeil's standard error (1982)."""
        auc = self.auc
        assert auc is not None
        a, b = np.unique(self.truth, return_counts=True)[1].tolist()
        q1, q2 = auc / (2 - auc), 2 * auc * auc / (1 + auc)
        inside = auc * (1 - auc) + (b - 1) * (q1 - auc * auc) + (a - 1) * (q2 - auc * auc)
        return math.sqrt(max(inside, 0.0) / (a * b))

    @property
    def better(self) -> bool:
        score = self.main_score()
        return score.interval[0] > score.baseline

    @property
    def verdict(self) -> str:
        name, value, (low, _), baseline = self.main_score()
        if self.better:
            return f"The model is clearly better than the naive baseline (by {name})."
        if value > baseline:
            return (
                f"The model is better than the naive baseline (by {name}), but not by more than chance would allow "
                f"(its 95 % interval starts at {low:.3f}): test on more rows."
            )
        return f"Warning: the model is NOT better than the naive baseline (by {name})."

    def scores(self) -> tuple[dict[Any, dict[str, float]], dict[str, dict[str, float]]]:
        """Precision, recall, f1 and support of every label, and their means: over rows, and over classes."""
        from sklearn.metrics import precision_recall_fscore_support

        names = ("precision", "recall", "f1", "support")
        labels = np.unique(np.concatenate((self.truth, self.predicted)))
        known = {"labels": labels, "zero_division": 0.0}
        columns = precision_recall_fscore_support(self.truth, self.predicted, **known)
        rows = zip(labels, np.transpose(columns), strict=True)
        by_label = {plain(label): dict(zip(names, map(float, row), strict=True)) for label, row in rows}
        means = {}
        for name, average in (("mean of rows", "weighted"), ("mean of classes", "macro")):
            row = precision_recall_fscore_support(self.truth, self.predicted, average=average, **known)[:3]
            means[name] = dict(zip(names, (*map(float, row), float(len(self.truth))), strict=True))
        return by_label, means

    def confusion(self) -> tuple[list[Any], Array]:
        """Labels, and how many rows of each (down) were predicted as each (across)."""
        from sklearn.metrics import confusion_matrix

        labels = np.unique(np.concatenate((self.truth, self.predicted)))
        return [plain(label) for label in labels], confusion_matrix(self.truth, self.predicted, labels=labels)

    def text(self) -> str:
        by_label, means = self.scores()
        rows = [*(by_label.items() if len(by_label) <= LISTED_MAX_CLASSES else ()), *means.items()]
        width = min(40, max(17, *(len(str(label)) + 2 for label, _ in rows)))
        lines = [f"{'label':<{width}}{'precision':<10}{'recall':<7}{'f1':<5}rows"]
        for label, row in rows:
            figures = f"{row['precision']:<10.2f}{row['recall']:<7.2f}{row['f1']:<5.2f}{row['support']:,.0f}"
            lines.append(f"{str(label)[: width - 2]:<{width}}{figures}")
        labels, matrix = self.confusion()
        if len(labels) <= CONFUSION_MAX_CLASSES:
            lines += ["", *_matrix(labels, matrix)]
        low, high = self.interval
        more = []
        if self.judged_by != "accuracy" or self.auc is not None:
            naive = 1 / len(self.recalls()[1])
            more.append(f"balanced         {self.balanced_accuracy:.3f}  mean recall of the classes; naive {naive:.3f}")
        if self.auc is not None:
            more.append(f"AUC              {self.auc:.3f}  of the decision values; naive 0.500")
        return "\n".join(
            [
                *lines,
                "",
                f"accuracy         {self.accuracy:.3f}  {self.n_correct:,} of {len(self.truth):,} right; "
                f"95 % interval {low:.3f} to {high:.3f}",
                f"naive baseline   {self.baseline:.3f}  always {cut(plain(self.naive), 20)}, "
                f"the most frequent label {self.where}",
                *more,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        by_label, means = self.scores()
        labels, matrix = self.confusion()
        return {
            "n": len(self.truth),
            "n_correct": self.n_correct,
            "accuracy": self.accuracy,
            "accuracy_interval": list(self.interval),
            "balanced_accuracy": self.balanced_accuracy,
            "auc": self.auc,
            "baseline": self.baseline,
            "baseline_label": plain(self.naive),
            **self.main_score().to_dict(),
            "better_than_baseline": self.better,
            "scores": {str(label): row for label, row in by_label.items()},
            "means": means,
            "confusion": {"labels": labels, "matrix": matrix.tolist()} if len(labels) <= LISTED_MAX_CLASSES else None,
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

    def main_score(self) -> Score:
        """R2, its 95 % interval (of a ratio of means over the same rows, by the delta method), and the mean's."""
        r2 = self.errors(self.predicted)["r2"]
        deviations = (self.truth - self.truth.mean()) ** 2
        terms = (self.truth - self.predicted) ** 2 - (1 - r2) * deviations
        variance, n = float(np.mean(deviations)), len(deviations)
        error = float(np.std(terms, ddof=1)) / math.sqrt(n) / variance if n > 1 and variance > 0 else math.nan
        reach = INTERVAL_STANDARD_ERRORS * error
        return Score("R2", r2, (r2 - reach, min(1.0, r2 + reach)), self.errors(self.mean)["r2"])

    @property
    def better(self) -> bool:
        """Whether the mean of the differences of squared errors is above zero by 1.96 standard errors."""
        difference = (self.truth - self.mean) ** 2 - (self.truth - self.predicted) ** 2
        spread = float(np.std(difference, ddof=1)) / math.sqrt(len(difference)) if len(difference) > 1 else math.inf
        return bool(float(difference.mean()) > INTERVAL_STANDARD_ERRORS * spread)

    @property
    def verdict(self) -> str:
        ours, mean = self.errors(self.predicted), self.errors(self.mean)
        if self.better:
            share = ours["rmse"] / mean["rmse"]
            how = "clearly better than the naive baseline"
            if share > CLEAR_RMSE_SHARE:
                how = "better than the naive baseline by more than chance, but not by much"
            return f"The model is {how}: its RMSE is {share:.0%} of the mean's."
        if ours["rmse"] < mean["rmse"]:
            return (
                "The model is better than the naive baseline, but not by more than chance would allow: test on more "
                "rows."
            )
        return "Warning: the model is NOT better than the naive baseline."

    def text(self) -> str:
        rows = {
            "model": self.errors(self.predicted),
            "naive: mean": self.errors(self.mean),
            "naive: median": self.errors(self.median),
        }
        lines = [f"{'':<17}{'MAE':<12}{'RMSE':<12}R2"]
        for name, row in rows.items():
            lines.append(f"{name:<17}{figure(row['mae']):<12}{figure(row['rmse']):<12}{decimals(row['r2'])}")
        low, high = self.main_score().interval
        return "\n".join(
            [
                *lines,
                "",
                "R2 is undefined: the targets of the test are all equal."
                if math.isnan(low)
                else f"95 % interval of R2: {decimals(low)} to {decimals(high)}",
                f"The naive baselines always answer {figure(self.mean)} and {figure(self.median)}, "
                f"mean and median {self.where}.",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "n": len(self.truth),
            **self.errors(self.predicted),
            **self.main_score().to_dict(),
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
        details = f"(95 % interval {low:.1%} to {high:.1%}; {self.expected_name} {self.expected:.1%})"
        if low > self.expected:
            return (
                f"Warning: more rows lie outside than expected {details}: these rows differ from the training rows, or "
                "the region follows those too closely (a smaller --gamma is smoother)."
            )
        if high < self.expected:
            return f"Fewer rows lie outside than expected {details}."
        return f"As many rows lie outside as expected {details}."

    def text(self) -> str:
        lines = [f"outliers         {self.share:.1%}  {self.n_outside:,} of {len(self.outside):,} rows"]
        labels = self.by_label()
        if 1 < len(labels) <= LISTED_MAX_CLASSES:
            width = min(40, max(17, *(len(str(label)) + 2 for label in labels)))
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


def findings_of(
    model: Model, X: Any, y: Array | None, naive_from: Array | None, where: str, judged_by: str | None = None
) -> Findings:
    """What a model's predictions on X are worth; the baseline learns from the targets ``naive_from``."""
    if model.task == "outliers":
        report = getattr(model.svm, "report_", None)
        expected, name = float(model.svm.nu), "nu is"
        if report is not None and not math.isnan(report.training_error):
            expected, name = report.training_error, "of the training rows"
        return OutlierFindings(model.estimator.predict(X) < 0, expected, name, y)
    assert y is not None
    assert naive_from is not None
    predicted = model.estimator.predict(X)
    if model.task == "regress":
        return NumberFindings(y, predicted, float(naive_from.mean()), float(np.median(naive_from)), where)
    labels, counts = np.unique(naive_from, return_counts=True)
    values = None
    if len(model.svm.classes_) == 2 and np.isin(y, model.svm.classes_).all():
        values = np.asarray(model.estimator.decision_function(X))
    rule = judged_by or ("balanced accuracy" if is_imbalanced(naive_from) else "accuracy")
    return ClassFindings(y, predicted, labels[np.argmax(counts)], where, values, rule)


def is_imbalanced(y: Array) -> bool:
    """Whether a class has less than 40 % of an even share of the rows."""
    counts = np.unique(y, return_counts=True)[1]
    return bool(counts.min() < RARE_CLASS_SHARE * len(y) / len(counts))


def decimals(value: float) -> str:
    """Three decimals, no minus sign before zeros, no long rows of digits, and a dash where there is no number."""
    if math.isnan(value):
        return "-"
    if abs(value) >= DECIMALS_MAX:
        return f"{value:.2g}"
    text = f"{value:.3f}"
    return text[1:] if text == "-0.000" else text


def _around(value: float, error: float) -> tuple[float, float]:
    return max(0.0, value - INTERVAL_STANDARD_ERRORS * error), min(1.0, value + INTERVAL_STANDARD_ERRORS * error)


def _matrix(labels: list[Any], matrix: Array) -> list[str]:
    """The confusion matrix as lines of at most 80 letters."""
    across = max(6, min(12, 60 // len(labels)))
    lines = ["true \\ predicted  " + "".join(f"{cut(label, across - 1):>{across}}" for label in labels)]
    for label, row in zip(labels, matrix.tolist(), strict=True):
        lines.append(f"{cut(label, 17):<18}" + "".join(f"{n:>{across},}" for n in row))
    return lines
