"""Support vector regression on landmarks, for millions of rows: ``NystroemSVR``."""

from __future__ import annotations

import abc
import math
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.large_scale.estimator import LandmarkMachine, Problem
from maxmargin.large_scale.losses import Loss
from maxmargin.large_scale.rows.disk_buffer import Spool
from maxmargin.large_scale.rows.targets import Values
from maxmargin.large_scale.training import budget_of
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.control import Control
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_choice, check_number, check_targets, check_weights
from maxmargin.svm.models.expansion import KernelExpansion

TUBE_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


class ValueMachine(RegressorMixin, LandmarkMachine, abc.ABC):
    """What regressions on landmarks share: the problem of a tube around real targets of one or several outputs."""

    _single = True

    @abc.abstractmethod
    def _loss(self) -> Loss:
        """The loss of a row."""

    @abc.abstractmethod
    def _price(self) -> float:
        """What a row of weight one pays for its loss, where the penalty is 1/2 |f|^2."""

    @abc.abstractmethod
    def _parameters(self) -> str:
        """C and epsilon, or alpha: what the machine has, in words."""

    def _fit_values(self, X: Points, Y: Array, weights: Array, control: Any, source: str) -> None:
        """Fit to targets of shape (n, outputs)."""
        share = weights / weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = share @ Y
            spread = float(np.sqrt(share @ ((Y - mean) ** 2)).max())
        if not math.isfinite(spread):
            raise ValueError("The targets are so large that their squares overflow: divide y by a constant.")
        merged = Y[:, 0] if Y.shape[1] == 1 else np.unique(Y, axis=0, return_inverse=True)[1].ravel()
        first_b = mean if self.fit_intercept else np.zeros(Y.shape[1])
        scale = spread if spread > 0 else max(1.0, float(np.abs(mean).max()))

        def make(at: Array, part: Array) -> Problem:
            return Problem(Values(np.ascontiguousarray(Y[at]), part, self._price()), self._loss(), scale, first_b)

        def judge(at: Array, values: Array) -> tuple[Array, float]:
            squares = ((Y[at] - values) ** 2).mean(axis=1)
            around = ((Y[at] - np.average(Y[at], axis=0, weights=weights[at])) ** 2).mean(axis=1)
            total = float(weights[at] @ around)
            return squares, 1.0 - float(weights[at] @ squares) / total if total > 0 else 0.0

        fitted = self._fit_rows(X, merged, weights, make, judge, control, source)
        self.coefficients_, self.intercept_ = fitted.trained.coefficients, fitted.trained.solution.b
        self._expansion = KernelExpansion(self.kernel_, self.landmarks_, self.coefficients_, self.intercept_)
        many = f", {Y.shape[1]} targets" if Y.shape[1] > 1 else ""
        self._account(
            X,
            fitted,
            f"{type(self).__name__}, approximate{many}",
            self._parameters(),
            "root mean squared training error",
        )

    def _fit_batches(self, source: Any, target: Any) -> None:
        control = Control.of(self)
        with Spool(budget_of(self.cache_size)) as spool:
            parts, weights, said = self._gather(source, target, spool)
            y = check_targets(np.concatenate(parts), spool.n, numeric=True)
            whole = check_weights(np.concatenate(weights), spool.n)
            self._fit_values(spool.points(), y[:, None], whole, control, said)

    def predict(self, X: Any) -> Array:
        """Values at new points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples_fit)

        Returns
        -------
        values : array of shape (n_samples,) or (n_samples, n_targets)
        """
        X = self._new_points(X)
        values = self._expand(self._expansion, X)
        return values[:, 0] if self._single else values

    def exact_objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective that the fitted function has in the exact problem of these rows, in float64.

        The function is one of the exact problem too, and |f|^2 = B'K_mm B is its norm there. On the training rows this
        is ``report_.primal_objective``, up to rounding: an upper bound of the exact optimum.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        X = self._new_points(X)
        values = self._expand(self._expansion, X)
        Y = np.asarray(y, dtype=np.float64).reshape(values.shape)
        weights = check_weights(sample_weight, len(values))
        losses = float((self._price() * weights[:, None] * self._loss().value(values, Y)).sum())
        return self._unit * (0.5 * float(self._squares.sum()) + losses)


class NystroemSVR(ValueMachine):
    """Support vector regression with a kernel, for up to millions of rows.

    Minimises 1/2 |f|^2 + C sum_i loss(|y_i - f(x_i) - b| - epsilon) over the functions f(x) = sum_j B_j k(x, z_j) of m
    landmarks z_j. Time and memory grow with n m. With all rows as landmarks it is the exact machine.

    Parameters
    ----------
    C : float, default=1.0
        Price of an error outside the tube, > 0.
    epsilon : float, default=0.1
        Half the width of the tube inside which errors cost nothing.
    kernel : str, Kernel or callable, default="rbf"
        A name, an object of :mod:`maxmargin.kernels`, a function, or ``"precomputed"``.
    gamma, degree, coef0
        Parameters of a kernel given by name, as for :class:`~maxmargin.SVR`.
    n_components : int or "auto", default=1000
        Landmarks m. ``"auto"`` doubles them until rows that are held out gain no more than noise.
    landmarks : {"uniform", "kmeans", "leverage", "rpcholesky"} or array-like, default="uniform"
        How they are chosen; or the landmarks themselves, as points or as indices of rows.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        max(0, r) or max(0, r)^2 of r = |y - f(x) - b| - epsilon.
    fit_intercept : bool, default=True
    tol : float, default=1e-3
        Stop when the relative duality gap is at most this.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel values; beyond that they are computed anew in every pass. "auto" is half of what is free.
    max_iter : int, default=200
        Largest number of Newton steps, -1 for no limit.
    max_seconds : float or None, default=None
        Stop after this time with the best model so far.
    random_state : int, RandomState, Generator or None, default=None
        Chooses the landmarks. None is one fixed seed.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool, default=False
        Print progress on standard error.

    Attributes
    ----------
    coefficients_ : array of shape (n_components_, 1)
        B.
    intercept_ : array of shape (1,)
    landmarks_ : array or CSR matrix of shape (n_components_, n_features), or array of objects
        For a precomputed kernel, their indices.
    landmark_indices_ : array of int or None
        Which rows they are; None if they are none.
    n_components_, n_iter_, n_features_in_ : int
    feature_names_in_ : array
        Where X has column names.
    kernel_ : Kernel
        The kernel with its parameters resolved on the training data.
    report_ : ApproximateReport
        What the fit did, how much of the kernel the landmarks miss, and the certificate of the approximated problem.
    history_ : History

    See Also
    --------
    maxmargin.SVR : The exact machine.
    NystroemRidge : Squares for the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale import NystroemSVR
    >>> x = np.linspace(0.0, 6.0, 5000)[:, None]
    >>> machine = NystroemSVR(C=10.0, epsilon=0.01, n_components=20).fit(x, np.sin(x).ravel())
    >>> bool(abs(machine.predict([[1.0]])[0] - np.sin(1.0)) < 0.02)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        n_components: Any = 1000,
        landmarks: Any = "uniform",
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        cache_size: Any = "auto",
        max_iter: int = 200,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.landmarks = landmarks
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_number("C", self.C, above=0, remedy="A tube without exceptions is the business of SVR(C=inf).")
        check_number("epsilon", self.epsilon, least=0)
        check_choice("loss", self.loss, TUBE_LOSSES)
        self._check_options()

    def _loss(self) -> Loss:
        return Loss.named(self.loss, float(self.epsilon))

    def _price(self) -> float:
        return float(self.C)

    def _parameters(self) -> str:
        loss = f"{self.loss.replace('_', ' ')} loss"
        return f"C = {self.C:g}, epsilon = {self.epsilon:g}, {loss}, {self._intercept_in_words()}"

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to training data.

        Parameters
        ----------
        X : array-like, memory map or sparse matrix of shape (n_samples, n_features), or list of objects
            With ``kernel="precomputed"`` the square kernel matrix.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of two is the same as giving the sample twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        control = Control.of(self)
        X, y = self._training_points(X, y, supervised=True, numeric=True)
        weights = check_weights(sample_weight, X.shape[0])
        self._fit_values(X, y.astype(np.float64)[:, None], weights, control, "")
        return self

    @all_or_nothing
    def fit_stream(self, source: Any, *, target: Any = None) -> Self:
        """Fit the machine to rows that come in batches, from a file or from anywhere.

        The rows are passed over several times. They are gathered in memory if they fit ``cache_size``, else in a
        temporary file, which is removed in the end.

        Parameters
        ----------
        source : path, iterable or callable
            A file (svmlight, CSV, TSV, Parquet, Arrow, ``.npy``), or batches (X, y) or (X, y, sample_weight).
        target : str or int, optional
            The column of the file that holds the targets.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from maxmargin.large_scale import NystroemSVR
        >>> x = np.linspace(0.0, 6.0, 90)[:, None]
        >>> machine = NystroemSVR().fit_stream((x[i::3], np.sin(x[i::3, 0])) for i in range(3))
        >>> machine.score(x, np.sin(x[:, 0])) > 0.9
        True
        """
        self._check_parameters()
        self._fit_batches(source, target)
        return self
