"""A fitted model as a compiled function, for serving: no validation per call beyond shape and dtype.

    predictor = model.compile_predictor()
    predictor(x)          # a row of float64: one label or value, in microseconds
    predictor(X)          # several rows: an array

The formulas are in ``native/predictor/predictor.h``; everything is computed in float64 from the definitions, so that
values agree with those of ``decision_function`` to rounding. A predictor is immutable and may be called from several
threads at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from maxmargin.runtime.validation import Array
from maxmargin.svm.models.terms import (
    CONFIDENCE,
    HIGHEST,
    NO_LABEL,
    REGION,
    SIGN,
    VOTES,
    compiled_expansion,
    compiled_linear,
)


class Predictor:
    """The result of :meth:`compile_predictor` of a fitted estimator: a function of one or several rows.

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
    kernel_: Any
    intercept_: Any

    def compile_predictor(self) -> Predictor:
        """Compile the fitted model into a fast function of one or several rows, without validation.

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
            function = compiled_linear(coef, np.ravel(self.intercept_), rule, present)
        else:
            function = compiled_expansion(expansion, rule, present)
        if function is None:
            raise ValueError(
                f"kernel={self.kernel_!r} has no compiled predictor: it takes linear, rbf, laplacian, sigmoid and "
                "poly kernels of integer degree. Use predict, or maxmargin.io.to_onnx."
            )
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
