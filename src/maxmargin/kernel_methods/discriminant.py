"""Kernel discriminant analysis: Fisher's discriminant on the features (Mika et al. 1999; Baudat & Anouar 2000).

With class means m_c, mean m, shares p_c of the classes and shares d_i = w_i / sum_j w_j of the points,

    S_b = sum_c p_c (m_c - m)(m_c - m)'                      between the classes
    S_w = sum_i d_i (phi(x_i) - m_{y_i})(phi(x_i) - m_{y_i})'  within them

the directions v maximise v'S_b v / v'(S_w + lambda I)v. There are more features than points, so S_w is singular and
lambda > 0 is needed; it is ``alpha`` times the total variance trace(S_b + S_w), and so has no unit.

Let Phi hold the features of the points as rows, M = Phi'H the centred class means (H has one column per class:
d_i / p_c in the class, minus d_i everywhere), D = diag(d), and Q the matrix that takes off every point's class mean.
Then S_w = Psi'Psi with Psi = D^1/2 Q Phi, and by the inverse of a sum (Woodbury)

    (S_w + lambda I)^-1 M = Phi'B,   B = (H - Q'D^1/2 (K_w + lambda I)^-1 D^1/2 Q K H) / lambda,
    K_w = Psi Psi' = D^1/2 Q K Q'D^1/2.

All directions lie in the span of Phi'B: what is left is an eigenproblem of the size of the number of classes,

    G = M'Phi'B = H'K B,    P^1/2 G P^1/2 u = rho u,    v = Phi'B P^1/2 u / sqrt(rho),   P = diag(p)

and with this length of v, the (regularised) scatter within classes is the identity among the projections. So they are
classified by the distance from the class means, with the log of the prior added: linear discriminant analysis.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from maxmargin.kernel_methods.base import KERNEL_ENTRIES, KernelMethod
from maxmargin.runtime.decompositions import cholesky
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_labels, check_memory, check_number, check_weights
from maxmargin.svm.models.expansion import KernelExpansion

MIN_RHO_SHARE = 1e-10  # of the largest rho: below it a direction does not separate anything


@documented(KERNEL_ENTRIES)
@parameters
class KernelDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, KernelMethod):
    """Kernel Fisher discriminant analysis: dimensionality reduction and classification.

    Parameters
    ----------
    n_components : int, optional
        Number of directions for ``transform``, at most n_classes - 1, which is the default. Predictions use all.
    {kernel, gamma, degree, coef0}
    alpha : float, default=1e-3
        Regularisation, > 0: the amount added to the within-class scatter in every direction, as a fraction of the total
        variance of the features. With the linear kernel and a small ``alpha`` this is linear discriminant analysis.
    priors : array-like of shape (n_classes,), optional
        Prior probabilities of the classes; by default their frequencies in the training set.
    {n_jobs}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    priors_ : ndarray of shape (n_classes,)
        The prior probabilities used.
    eigenvalues_ : ndarray of shape (n_classes - 1,)
        rho of each direction: variance between classes over (regularised) variance within them, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its fraction of the total.
    means_ : ndarray of shape (n_classes, n_classes - 1)
        The projected class means; zero for a class without weight.
    {kernel_}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import KernelDiscriminantAnalysis
    >>> angle = np.arange(12.0)
    >>> ring = np.column_stack((np.cos(angle), np.sin(angle)))
    >>> X, y = np.vstack((ring, 3.0 * ring)), ["inner"] * 12 + ["outer"] * 12
    >>> model = KernelDiscriminantAnalysis().fit(X, y)
    >>> model.predict([[0.0, 1.2], [2.5, 0.0]])
    array(['inner', 'outer'], dtype='<U5')
    >>> model.transform(X).shape
    (24, 1)
    """

    n_components: int | None = None
    _: KW_ONLY
    alpha: float = 1e-3
    priors: Any = None

    fit_transform = all_or_nothing(TransformerMixin.fit_transform)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the directions.

        {X_train, y_labels, sample_weight -> self}
        """
        self._threads(0)  # refuses a bad n_jobs
        check_number("alpha", self.alpha, above=0, remedy="The scatter within classes is singular in feature space.")
        X, y = self._training_points(X, y, supervised=True)
        self.classes_, codes = check_labels(y)
        most = len(self.classes_) - 1
        if self.n_components is not None:
            few = f"{most + 1} classes have {most} directions."
            check_number("n_components", self.n_components, least=1, most=most, integer=True, remedy=few)
        weights = check_weights(sample_weight, X.shape[0])
        used = np.flatnonzero(weights > 0)
        codes, d = codes[used], weights[used] / weights.sum()
        shares = np.bincount(codes, weights=d, minlength=most + 1)
        self.priors_ = self._check_priors(shares)

        n = len(used)
        check_memory(
            24.0 * n * n,
            f"Kernel discriminant analysis of {n:,} points",
            "use fewer points, or KernelPCA with few components before a linear discriminant.",
        )
        gram, anchors = self._gram_of(X, used, weights[used])
        K = gram.block(np.arange(n), np.arange(n))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            coefficients, self.eigenvalues_ = _directions(K, codes, d, shares, float(self.alpha))
        if not np.isfinite(coefficients).all():
            raise ValueError(
                f"the coefficients of the directions overflow: kernel values reach only {np.abs(K).max():.0e}. Scale "
                "the columns of X to about 1."
            )
        projections = K @ coefficients
        centre = d @ projections
        self.means_ = np.zeros((most + 1, most))
        np.add.at(self.means_, codes, (d / shares[codes])[:, None] * (projections - centre))
        self._expansion = KernelExpansion(self.kernel_, anchors, coefficients, -centre)
        total = self.eigenvalues_.sum()
        self.explained_variance_ratio_ = (self.eigenvalues_ / total if total > 0 else self.eigenvalues_)[: self._kept]
        return self

    def _check_priors(self, shares: Array) -> Array:
        """Priors of the classes; one without training weight has none, and is never predicted."""
        if self.priors is None:
            return shares
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != shares.shape:
            raise ValueError(f"priors has shape {priors.shape}: give one number for each of the {len(shares)} classes.")
        if not (np.isfinite(priors).all() and (priors >= 0).all()) or abs(priors.sum() - 1.0) > 1e-6:
            raise ValueError(f"priors must be numbers >= 0 with sum 1; got priors={self.priors!r}.")
        priors = np.where(shares > 0, priors, 0.0)
        if not priors.any():
            raise ValueError(f"priors={self.priors!r} are zero for every class that has training points.")
        return priors / priors.sum()

    @property
    def _kept(self) -> int:
        return len(self.classes_) - 1 if self.n_components is None else int(self.n_components)

    @property
    def _n_features_out(self) -> int:
        return self._kept

    def transform(self, X: Any) -> Array:
        """Project points on the directions.

        {X_new -> projections}
        """
        return self._values(X)[:, : self._kept]

    def _scores(self, X: Any) -> Array:
        """log prior - |z - mean|^2 / 2 of each class, up to the same number for all: the log posterior."""
        Z = self._values(X)
        with np.errstate(divide="ignore"):
            return Z @ self.means_.T - 0.5 * (self.means_**2).sum(axis=1) + np.log(self.priors_)

    def decision_function(self, X: Any) -> Array:
        """Log posterior of each class, up to a common constant; for two classes, that of the second minus the first.

        {Parameters, X_new}

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Array:
        """Predict the class with the largest posterior.

        {X_new -> labels}
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Posterior probability of each class, assuming Gaussian features within classes.

        {X_new -> probabilities}
        """
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Its logarithm.

        {Parameters, X_new}

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
        """
        return log_softmax(self._scores(X), axis=1)


def _directions(K: Array, codes: Array, d: Array, shares: Array, alpha: float) -> tuple[Array, Array]:
    """Coefficients of the directions, one per column, and rho; one less than there are classes.

    Signs: the class whose mean weighs most in a direction has the positive side, and the last one of several such, so
    that with two classes the second is positive."""
    n, n_classes = len(d), len(shares)
    Y = np.zeros((n, n_classes))
    Y[np.arange(n), codes] = 1.0
    E = Y * (d / shares[codes])[:, None]  # Q = I - Y E'
    H = np.where(shares > 0, E - d[:, None], 0.0)
    root = np.sqrt(d)[:, None]
    diagonal = K.diagonal()
    variance = float(d @ diagonal - d @ (K @ d))
    noise = n * float(np.finfo(np.float64).eps) * np.abs(diagonal).max()
    if abs(variance) <= noise:  # all features are equal
        return np.zeros((n, n_classes - 1)), np.zeros(n_classes - 1)
    lam = alpha * variance

    K_w = K - (E.T @ K)[codes]
    K_w -= (K_w @ E)[:, codes]
    K_w *= root
    K_w *= root.T
    K_w.flat[:: n + 1] += lam
    KH = K @ H
    try:
        factor = cholesky(K_w)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"The scatter within classes, regularised by alpha={alpha:g}, is not positive definite: raise alpha, or "
            "use a kernel that is positive semidefinite; maxmargin.validate_gram checks it."
        ) from error
    inner = scipy.linalg.cho_solve(
        (factor, True), root * (KH - (E.T @ KH)[codes]), overwrite_b=True, check_finite=False
    )
    inner *= root
    B = (H - inner + E @ (Y.T @ inner)) / lam

    scale = np.sqrt(shares)
    G = scale[:, None] * (KH.T @ B) * scale
    rho, u = scipy.linalg.eigh(0.5 * (G + G.T))
    rho, u = rho[:0:-1], u[:, :0:-1]  # decreasing, and without the least: the class means lie in a plane through m
    size = np.abs(u)
    last = n_classes - 1 - (size[::-1] >= (1.0 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    u = u * np.where(u[last, np.arange(n_classes - 1)] < 0, -1.0, 1.0)
    separating = rho > MIN_RHO_SHARE * max(rho[0], 0.0)
    rho = np.where(separating, rho, 0.0)
    lengths = np.divide(1.0, np.sqrt(rho), out=np.zeros_like(rho), where=separating)
    return B @ (scale[:, None] * u) * lengths, rho
