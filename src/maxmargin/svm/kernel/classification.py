"""Support vector classification: ``SVC`` (by C) and ``NuSVC`` (by nu), for any number of classes."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import ClassVar

from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented, entries
from maxmargin.runtime.validation import check_number
from maxmargin.svm.kernel.classifier import KernelClassifier
from maxmargin.svm.kernel.formulations import CClassification, NuClassification

DEFAULT_NU = 0.5  # of NuSVC, as in scikit-learn; lowered where the classes do not allow it

CLASSIFIER_ENTRIES = entries(
    """
probability : bool, default="deprecated"
    scikit-learn's deprecated name: True means ``calibration="sigmoid"``.
classes_ : array of shape (n_classes,)
    The labels.
support_ : array of shape (n_support,)
    Indices of the support vectors, class by class.
n_support_ : array of shape (n_classes,)
    Number of support vectors of each class.
dual_coef_ : array of shape (n_classes - 1, n_support)
    y_i alpha_i, in LIBSVM's layout for one-vs-one; one row per class for the other schemes.
intercept_, n_iter_ : array of shape (n_models,)
    b, and solver steps, of each binary model.
calibration_ : Calibration
    The calibration and its score on held-out rows, if ``calibration`` is not None.
"""
)


@documented(CLASSIFIER_ENTRIES)
@parameters
class SVC(KernelClassifier):
    """C-support vector classification.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the regularisation, > 0: the penalty of slack. A large C gives a narrow margin with few
        training errors, a small C a wide margin. ``inf`` requires a hard margin, and raises an error if the classes are
        not separable.
    {kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose, max_iter}
    {decision_function_shape, break_ties, random_state}
    multiclass : {"ovo", "ovr", "crammer_singer"}, default="ovo"
        One-vs-one, one-vs-rest, or the joint problem of Crammer and Singer, which has no intercept and its own solver.
    {solver, fit_intercept, n_jobs, max_seconds, warm_start, calibration}

    Attributes
    ----------
    {classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, kernel_}
    {report_, history_, calibration_}

    Examples
    --------
    >>> from maxmargin import SVC
    >>> X = [[-2.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [2.0, 0.0]]
    >>> y = ["left", "left", "right", "right"]
    >>> model = SVC(kernel="linear", C=float("inf")).fit(X, y)
    >>> model.predict([[3.0, 5.0]])
    array(['right'], dtype='<U5')
    >>> round(model.report_.margin, 6)
    2.0
    """

    _: KW_ONLY
    C: float = 1.0

    @property
    def _approximation(self) -> str | None:
        return None if math.isinf(self.C) else "NystroemSVC"

    _kind: ClassVar[str] = "c_svc"

    def _formulation(self) -> CClassification:
        check_number(
            "C",
            self.C,
            above=0,
            infinite=True,
            remedy="Without a penalty on slack the data have no effect; C=inf is a hard margin.",
        )
        return CClassification(self.C, self.fit_intercept)


@documented(CLASSIFIER_ENTRIES)
@parameters
class NuSVC(KernelClassifier):
    """nu-support vector classification.

    ``nu`` replaces C: it is an upper bound on the fraction of margin errors and a lower bound on the fraction of
    support vectors. Sample and class weights scale both.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]; at most twice the fraction of the smaller class, in every pair of classes. A larger value is an
        error, except that the default, and a value that only weights make infeasible, are lowered to the largest
        feasible one with a warning.
    {kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size}
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.
    {verbose, max_iter, decision_function_shape, break_ties, random_state}
    multiclass : {"ovo", "ovr"}, default="ovo"
        One-vs-one or one-vs-rest; the joint problem of Crammer and Singer is not available with nu.
    {solver, fit_intercept, n_jobs, max_seconds, warm_start, calibration}

    Attributes
    ----------
    {classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, kernel_}
    {report_, history_, calibration_}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVC(nu=0.1).fit(X, y).score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    nu: float = DEFAULT_NU

    _kind: ClassVar[str] = "nu_svc"

    def _formulation(self) -> NuClassification:
        check_number("nu", self.nu, above=0, most=1)
        if self.multiclass == "crammer_singer":
            raise ValueError("multiclass='crammer_singer' is not available with nu: use SVC, or 'ovo' or 'ovr'.")
        return NuClassification(float(self.nu), self.fit_intercept, DEFAULT_NU)
