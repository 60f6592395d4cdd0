"""A case: an estimator by name, its parameters and its data, as plain values that can be shrunk and printed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning

import maxmargin
from maxmargin import kernels
from reference.grams import gram

ALLOWED = (UserWarning, LinAlgWarning)  # ConvergenceWarning and others are UserWarnings


class NotApplicable(Exception):
    """The law says nothing about this case."""


def need_same_refusal(first, second):
    """The law applies to two trials that are both fitted; one that is refused alone breaks it. Tiny points that differ
    may be equal once they are rounded, and their problem unsolvable."""
    refused = []
    for trial in (first, second):
        try:
            refused.append(trial.model is None)
        except ValueError:
            refused.append(True)
    assert refused[0] == refused[1], "of two forms of the same points one is refused"
    need(not refused[0])


def need(condition):
    """Leave a check whose law does not apply."""
    if not condition:
        raise NotApplicable


@dataclass(frozen=True)
class Case:
    """One problem.

    ``X`` and ``new`` are dense; ``sparse`` hands them over as CSR. A parameter that begins with ``=`` is an expression
    of :mod:`maxmargin.kernels`, such as ``"=RBF(0.5) + Linear()"``. With ``kernel="precomputed"`` the matrix is that of
    the Gaussian kernel with gamma = 1 / columns. ``tame`` says that nothing excuses a refusal or a fit that does not
    converge. ``extra`` holds what one kind needs besides.
    """

    kind: str
    estimator: str
    params: dict[str, Any]
    X: np.ndarray
    y: np.ndarray | None = None
    weight: np.ndarray | None = None
    new: np.ndarray | None = None
    sparse: bool = False
    tame: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def precomputed(self):
        return self.params.get("kernel") == "precomputed"

    def but(self, **changes):
        """The same case with other values; ``params`` are merged."""
        if "params" in changes:
            changes["params"] = {**self.params, **changes["params"]}
        return replace(self, **changes)


def estimator_of(case):
    """The unfitted estimator of a case."""
    params = {
        name: eval(value[1:], vars(kernels).copy()) if isinstance(value, str) and value[:1] == "=" else value
        for name, value in case.params.items()
    }
    return getattr(maxmargin, case.estimator)(**params)


def handed(case, points):
    """Points as they are handed to the estimator: dense, sparse, or kernel values with the training points."""
    if case.precomputed:
        points = np.asarray(precomputed(case, points).values, np.float64)
        if len(points) == len(case.X):
            points = (points + points.T) / 2 if np.allclose(points, points.T) else points
    return sp.csr_matrix(points) if case.sparse else points


def precomputed(case, points):
    """The matrix of a case with a precomputed kernel, by its definition."""
    return gram(kernels.RBF(gamma=1.0 / case.X.shape[1]), points, case.X)


class Trial:
    """A case and its fit, which is done once; ``make`` builds the unfitted estimator."""

    def __init__(self, case, make=estimator_of):
        self.case, self.make = case, make
        self.messages = []
        self.grams = {}  # of the case's own points, which many laws need
        self.fits = [0]  # how many, together with the trials that are like this one

    @cached_property
    def model(self):
        return self.fit(self.case)

    def fit(self, case):
        """Another fit. Warnings are kept in ``messages``; one that is not meant for a user is an error."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arguments = () if case.y is None else (case.y,)
            weights = {} if case.weight is None else {"sample_weight": case.weight}
            self.fits[0] += 1
            model = self.make(case).fit(handed(case, case.X), *arguments, **weights)
        self.messages.extend(str(warning.message) for warning in caught)
        for warning in caught:
            if not issubclass(warning.category, ALLOWED):
                raise AssertionError(f"{warning.category.__name__} escapes from fit: {warning.message}")
        return model

    def like(self, case):
        """A trial of another case with the same maker."""
        other = Trial(case, self.make)
        other.fits = self.fits
        return other

    def decision(self, points=None, model=None):
        """Decision values (predictions, for regression) of new points."""
        model = self.model if model is None else model
        points = handed(self.case, self.case.new if points is None else points)
        ask = next(name for name in ("decision_function", "predict", "transform") if hasattr(model, name))
        return np.asarray(getattr(model, ask)(points))

    def kernel(self, A, B):
        """The oracle's kernel matrix of the fitted model: values and error bound."""
        if self.case.precomputed:
            return precomputed(self.case, A)
        if B is not self.case.X or not (A is B or A is self.case.new):
            return gram(self.model.kernel_, A, B)
        if id(A) not in self.grams:  # an address is a name here: the case holds both arrays
            self.grams[id(A)] = gram(self.model.kernel_, A, B)
        return self.grams[id(A)]


def quiet(action):
    """What the action returns, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return action()


def answers_of(model, X):
    """Everything a fitted model says of points; the text of its error, where it refuses to."""

    def answer(name):
        try:
            return np.asarray(getattr(model, name)(X))
        except ValueError as error:
            return str(error)

    names = ("decision_function", "predict", "transform", "predict_proba")
    return {name: answer(name) for name in names if hasattr(model, name)}


def within(got, want, bound, what):
    """|got - want| <= bound, entry by entry."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    excess = np.abs(got - want) - bound
    bad = ~(excess <= 0)
    if bad.any():
        at = np.unravel_index(int(np.argmax(np.where(bad, np.nan_to_num(excess, nan=np.inf), -np.inf))), got.shape)
        limit = np.broadcast_to(bound, got.shape)[at]
        raise AssertionError(f"{what}: {got[at]!r} at {tuple(map(int, at))}, expected {want[at]!r} within {limit:.3g}")
