"""A fitted model as a compiled function, for serving: no validation per call beyond shape and dtype.

    predictor = model.compile_predictor()
    predictor(x)          # a row of float64: one label or value, in microseconds
    predictor(X)          # several rows: an array

The formulas are in ``native/predictor/predictor.h``; everything is computed in float64 from the definitions, so that
values agree with those of ``decision_function`` to rounding. A predictor is immutable and may be called from several
threads at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from maxmargin import _native
from maxmargin.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.kernels._arrays import is_integer
from maxmargin.runtime.validation import Array
from maxmargin.svm.models.expansion import KernelExpansion

LINEAR, KIND_RBF, KIND_LAPLACIAN, KIND_POLYNOMIAL, KIND_SIGMOID = range(5)
NO_LABEL, SIGN, REGION, HIGHEST, VOTES, CONFIDENCE = range(6)


class Predictor:
    """What :meth:`compile_predictor` of a fitted estimator returns: a function of one row or of several.

    Parameters
    ----------
    function : _native.Predictor
    labels : array or None
        The label of each class code; None where the values themselves are the prediction.

    Attributes
    ----------
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), ["low", "low", "high", "high"]
    >>> predictor = SVC().fit(X, y).compile_predictor()
    >>> predictor(np.array([3.5]))
    'high'
    >>> predictor(X)
    array(['low', 'low', 'high', 'high'], dtype='<U4')
    """

    __slots__ = ("_codes", "_decision", "_labels", "n_features_in_")

    def __init__(self, function: Any, labels: Array | None) -> None:
        self._decision, self._codes = function.decision, function.codes
        self._labels = labels
        self.n_features_in_: int = function.n_features

    def __call__(self, X: Array) -> Any:
        """The prediction for a row, or for each of several rows.

        Parameters
        ----------
        X : C-contiguous float64 array of shape (n_features,) or (n_samples, n_features)

        Returns
        -------
        label or value, or array of shape (n_samples,)
        """
        if self._labels is None:
            values = self._decision(X)
            return values[..., 0] if values.shape[-1] == 1 else values
        codes = self._codes(X)
        label = self._labels[codes]
        return label.item() if type(codes) is int and isinstance(label, np.generic) else label

    def decision_function(self, X: Array) -> Any:
        """The values of f: one per binary problem (two classes, regression and one class have one).

        Parameters
        ----------
        X : C-contiguous float64 array of shape (n_features,) or (n_samples, n_features)

        Returns
        -------
        values : float or array of shape (n_samples,); with several binary problems (n_problems,) or \
(n_samples, n_problems)
        """
        values = self._decision(X)
        return values[..., 0] if values.shape[-1] == 1 else values


class PredictorMixin:
    """For estimators whose fitted function is a kernel expansion (``_expansion``) or linear (``coef_``)."""

    coef_: Any
    intercept_: Any

    def compile_predictor(self) -> Predictor:
        """The fitted model as a compiled function of one row or of several, without per-call validation.

        Returns
        -------
        predictor : Predictor
            Takes C-contiguous float64 arrays and returns what ``predict`` would. It keeps a copy of the model: later
            fits do not change it.

        Raises
        ------
        ValueError
            If the kernel has no compiled form.
        """
        check_is_fitted(self)
        labels, rule, present = _labels_of(self)
        expansion = getattr(self, "_expansion", None)
        if expansion is None:
            coef = np.atleast_2d(self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_)
            function = _linear(coef, np.ravel(self.intercept_), rule, present)
        else:
            function = _of_expansion(expansion, rule, present)
        return Predictor(function, labels)


def _labels_of(estimator: Any) -> tuple[Array | None, int, Array]:
    """The labels of class codes, the rule that gives the code, and which classes had training rows."""
    if is_outlier_detector(estimator):
        return np.array([0, 1, -1]), REGION, np.ones(1, bool)
    if not is_classifier(estimator):
        return None, NO_LABEL, np.ones(1, bool)
    classes, present = estimator.classes_, np.asarray(estimator._present, bool)
    if len(classes) == 2 and getattr(estimator, "_scheme", "ovr") != "crammer_singer":
        only = np.flatnonzero(present)
        return (classes if len(only) == 2 else classes[np.repeat(only, 2)]), SIGN, present
    if getattr(estimator, "_scheme", "ovr") == "ovo":
        return classes, CONFIDENCE if estimator.break_ties else VOTES, present
    return classes, HIGHEST, present


def _linear(coef: Array, intercept: Array, rule: int, present: Array) -> Any:
    weights = np.ascontiguousarray(coef, np.float64)
    offsets = np.ascontiguousarray(np.broadcast_to(intercept, (len(weights),)), np.float64)
    return _native.Predictor(LINEAR, 1.0, 0.0, 1, weights, None, offsets, rule, present)


def _of_expansion(expansion: KernelExpansion, rule: int, present: Array) -> Any:
    kernel = expansion.kernel
    if type(kernel) is Linear:
        return _linear(expansion.weights, expansion.intercept, rule, present)
    kind, g, coef0, degree = _form_of(kernel)
    anchors = expansion.anchors.toarray() if sp.issparse(expansion.anchors) else expansion.anchors
    return _native.Predictor(
        kind,
        g,
        coef0,
        degree,
        np.ascontiguousarray(anchors, np.float64),
        np.ascontiguousarray(expansion.coefficients, np.float64),
        np.ascontiguousarray(expansion.intercept, np.float64),
        rule,
        present,
    )


def _form_of(kernel: Kernel) -> tuple[int, float, float, int]:
    """The kernel's kind, factor, constant and degree, as the compiled function takes them."""
    if type(kernel) is RBF:
        return KIND_RBF, float(kernel.gamma) * math.log2(math.e), 0.0, 1
    if type(kernel) is Laplacian:
        return KIND_LAPLACIAN, float(kernel.gamma) * math.log2(math.e), 0.0, 1
    if type(kernel) is Sigmoid:
        return KIND_SIGMOID, float(kernel.gamma), float(kernel.coef0), 1
    if type(kernel) is Polynomial and is_integer(kernel.degree) and 1 <= kernel.degree <= 1024:
        return KIND_POLYNOMIAL, float(kernel.gamma), float(kernel.coef0), int(kernel.degree)
    raise ValueError(
        f"kernel={kernel!r} has no compiled predictor: it takes linear, rbf, laplacian, sigmoid and poly kernels of "
        "integer degree. Use predict, or maxmargin.io.to_onnx."
    )
