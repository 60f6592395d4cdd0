"""The worked example: handwritten digits, from the random split to the report.

:func:`run` takes the five steps on scikit-learn's digits: separate at random, create, fit, predict, report.
:mod:`maxmargin.digits.pictures` brings a picture of one's own into the form of those images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from sklearn.model_selection import train_test_split

from maxmargin import SVC

Array = NDArray[np.float64]


# The naive baseline ---------------------------------------------------------------------------------------------


def naive_baseline(y_train: ArrayLike, y_test: ArrayLike) -> float:
    """Compute the test accuracy of always predicting the most frequent training label.

    Parameters
    ----------
    y_train, y_test : array-like of labels
        Ties between training labels go to the first in sorted order.

    Returns
    -------
    float
        The fraction of ``y_test`` that equals this label.

    Examples
    --------
    >>> from maxmargin.digits import naive_baseline
    >>> naive_baseline(["a", "b", "b"], ["a", "b", "a", "a"])
    0.25
    """
    y_test = np.asarray(y_test)
    if y_test.size == 0:
        raise ValueError("y_test is empty: a baseline needs at least one test label")
    return float(np.mean(y_test == _most_frequent(y_train)))


def _most_frequent(labels: ArrayLike) -> Any:
    values, counts = np.unique(np.asarray(labels), return_counts=True)
    if values.size == 0:
        raise ValueError("y_train is empty: a baseline needs at least one training label")
    return values[np.argmax(counts)]


def wilson_interval(n_correct: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Compute Wilson's confidence interval of a proportion, such as an accuracy.

    Parameters
    ----------
    n_correct, n : int
        Number of correct predictions, and of all predictions.
    confidence : float, default=0.95
        Confidence level.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from maxmargin.digits import wilson_interval
    >>> low, high = wilson_interval(90, 100)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.826 to 0.945
    """
    if not 0 <= n_correct <= n or n == 0:
        raise ValueError(f"n_correct={n_correct} of n={n}: need 0 <= n_correct <= n and n > 0")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence}: need a number between 0 and 1")
    z = float(ndtri((1 + confidence) / 2))
    share = n_correct / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    # At 0 and n right answers one end is exactly 0 or 1: rounding must not move it.
    return (0.0 if n_correct == 0 else centre - half), (1.0 if n_correct == n else centre + half)


def clearly_better(n_correct: int, n: int, baseline: float) -> bool:
    """Return whether the lower end of the 95 % interval of an accuracy is above a baseline.

    Parameters
    ----------
    n_correct, n : int
        Number of correct predictions, and of all predictions.
    baseline : float
        Accuracy to beat, such as that of :func:`naive_baseline`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from maxmargin.digits import clearly_better
    >>> clearly_better(60, 100, baseline=0.5), clearly_better(59, 100, baseline=0.5)
    (True, False)
    """
    return wilson_interval(n_correct, n)[0] > baseline


# The five steps -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DigitsResult:
    """The result of :func:`run`.

    Attributes
    ----------
    model : SVC
        The fitted classifier.
    train_indices, test_indices : ndarray of int
        Rows of ``sklearn.datasets.load_digits()`` in the training and in the test set.
    X_train, X_test : ndarray of shape (n, 64)
        The images as rows of pixels, 0 (paper) to 16 (ink).
    y_train, y_test : ndarray of shape (n,)
        The digits they show.
    images_train, images_test : ndarray of shape (n, 8, 8)
        The same images as squares.
    predictions : ndarray of shape (n_test,)
        Predicted digits of the test images.

    Examples
    --------
    >>> from maxmargin import digits
    >>> result = digits.run()
    >>> result.predictions.shape, result.n_correct > 700
    ((719,), True)
    """

    model: SVC
    train_indices: NDArray[np.intp]
    test_indices: NDArray[np.intp]
    X_train: Array
    X_test: Array
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]
    predictions: NDArray[np.int64]

    @property
    def images_train(self) -> Array:
        return self.X_train.reshape(-1, 8, 8)

    @property
    def images_test(self) -> Array:
        return self.X_test.reshape(-1, 8, 8)

    @property
    def n_correct(self) -> int:
        """Number of correctly classified test images."""
        return int(np.sum(self.predictions == self.y_test))

    @property
    def accuracy(self) -> float:
        """Fraction of correctly classified test images."""
        return self.n_correct / len(self.y_test)

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the accuracy."""
        return wilson_interval(self.n_correct, len(self.y_test))

    @property
    def baseline(self) -> float:
        """Test accuracy of always predicting the most frequent digit of the training set."""
        return naive_baseline(self.y_train, self.y_test)

    @property
    def better_than_baseline(self) -> bool:
        """Whether the lower end of the accuracy's 95 % interval is above the baseline."""
        return clearly_better(self.n_correct, len(self.y_test), self.baseline)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Confusion matrix of the test images: one row per true digit, one column per predicted digit."""
        return np.asarray(confusion_matrix(self.y_test, self.predictions, labels=range(10)))

    def scores(self) -> dict[str, dict[str, float]]:
        """Precision, recall, f1 and support of every digit, and their averages weighted by support.

        Returns
        -------
        dict
            Maps "0" ... "9" and "average" to the four scores by name. Undefined scores are 0.
        """
        names = ("precision", "recall", "f1", "support")
        truth = (self.y_test, self.predictions)
        columns = precision_recall_fscore_support(*truth, labels=range(10), zero_division=0.0)
        average = precision_recall_fscore_support(*truth, average="weighted", zero_division=0.0)[:3]
        table = {
            str(digit): dict(zip(names, map(float, row), strict=True))
            for digit, row in enumerate(np.transpose(columns))
        }
        table["average"] = dict(zip(names, (*map(float, average), float(len(self.y_test))), strict=True))
        return table

    def table(self) -> str:
        """The result of :meth:`scores` as text, one line per digit, the weighted average last."""
        lines = [f"{'digit':<11}{'precision':<10}{'recall':<7}{'f1':<5}support"]
        for name, row in self.scores().items():
            numbers = f"{row['precision']:<10.2f}{row['recall']:<7.2f}{row['f1']:<5.2f}{row['support']:.0f}"
            lines.append(f"{name:<11}{numbers}")
        return "\n".join(lines)

    def summary(self) -> str:
        """Summary as text: the settings, the table, the accuracy and the naive baseline, and the report of the fit."""
        n_train, n_test = len(self.y_train), len(self.y_test)
        low, high = self.accuracy_interval
        answer = _most_frequent(self.y_train)
        if self.better_than_baseline:
            verdict = "The model is clearly better than the naive baseline."
        else:
            verdict = (
                "Warning: the model is not clearly better than the naive baseline "
                f"(its 95 % interval starts at {low:.3f}): try another gamma or C."
            )
        return "\n".join(
            [
                f"Handwritten digits: {n_train + n_test} images of 8 x 8 pixels, separated at random",
                f"into {n_train} to fit {self.model} and {n_test} to test it",
                "",
                self.table(),
                "",
                f"accuracy        {self.accuracy:.3f}  {self.n_correct} of {n_test} right; "
                f"95 % interval {low:.3f} to {high:.3f}",
                f"naive baseline  {self.baseline:.3f}  always answering {answer}, "
                "the most frequent digit among the training images",
                verdict,
                "",
                str(self.model.report_),
            ]
        )

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """The results as plain numbers, for JSON."""
        return {
            "n_train": len(self.y_train),
            "n_test": len(self.y_test),
            "n_correct": self.n_correct,
            "accuracy": self.accuracy,
            "accuracy_interval": list(self.accuracy_interval),
            "baseline": self.baseline,
            "better_than_baseline": self.better_than_baseline,
            "scores": self.scores(),
            "confusion": self.confusion.tolist(),
        }


def run(
    gamma: float | str = 0.001, C: float = 1.0, test_size: float = 0.4, random_state: int = 0, **svc_params: Any
) -> DigitsResult:
    """Run the worked example: split the digits at random, fit a classifier, predict and report.

    Parameters
    ----------
    gamma, C : float
        Parameters of the classifier, a :class:`maxmargin.SVC`.
    test_size : float, default=0.4
        Fraction of the images in the test set.
    random_state : int, default=0
        Seed of the random split.
    **svc_params
        Further parameters of the classifier.

    Returns
    -------
    DigitsResult

    Examples
    --------
    >>> from maxmargin import digits
    >>> result = digits.run()
    >>> print(f"accuracy {result.accuracy:.3f}, naive baseline {result.baseline:.3f}")
    accuracy 0.993, naive baseline 0.083
    >>> print(result.table())
    digit      precision recall f1   support
    0          1.00      1.00   1.00 60
    ...
    average    0.99      0.99   0.99 719
    """
    X, y = load_digits(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=random_state)
    model = SVC(gamma=gamma, C=C, **svc_params)
    model.fit(X[train], y[train])
    return DigitsResult(model, train, test, X[train], X[test], y[train], y[test], model.predict(X[test]))
