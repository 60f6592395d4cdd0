"""Kernel ridge regression on landmarks, for millions of rows: ``NystroemRidge``."""

from __future__ import annotations

from typing import Any

from sklearn.base import MultiOutputMixin

from maxmargin.large_scale.regression import LandmarkRegressor
from maxmargin.problems.losses import Loss, make_loss
from maxmargin.runtime.validation import Array, Points, check_number, check_outputs


class NystroemRidge(MultiOutputMixin, LandmarkRegressor):
    """Kernel ridge regression for up to millions of rows.

    Minimises sum_i w_i (y_i - f(x_i) - b)^2 + alpha |f|^2 over the functions f(x) = sum_j B_j k(x, z_j) of m landmarks
    z_j. Time and memory grow with n m; the linear system is solved by conjugate gradients, preconditioned by a sample
    of the rows (Rudi, Carratino & Rosasco 2017). With all rows as landmarks it is :class:`~maxmargin.KernelRidge`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty |f|^2, > 0.
    kernel : str, Kernel or callable, default="rbf"
        A name, an object of :mod:`maxmargin.kernels`, a function, or ``"precomputed"``.
    gamma, degree, coef0
        Parameters of a kernel given by name.
    n_components : int or "auto", default=1000
        Landmarks m. ``"auto"`` doubles them until rows that are held out gain no more than noise.
    landmarks : {"uniform", "kmeans", "leverage", "rpcholesky"} or array-like, default="uniform"
        How they are chosen; or the landmarks themselves, as points or as indices of rows.
    fit_intercept : bool, default=True
        Whether to add a constant that costs nothing.
    tol : float, default=1e-5
        Stop when the relative duality gap of each target is at most this.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel values; beyond that they are computed anew in every pass. "auto" is half of what is free.
    max_iter : int, default=200
        Largest number of steps, -1 for no limit.
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
    coefficients_ : array of shape (n_components_, n_targets)
        B.
    intercept_ : array of shape (n_targets,)
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
    maxmargin.KernelRidge : The exact one.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale import NystroemRidge
    >>> x = np.linspace(0.0, 6.0, 5000)[:, None]
    >>> model = NystroemRidge(alpha=1e-3, n_components=20).fit(x, np.sin(x).ravel())
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        n_components: Any = 1000,
        landmarks: Any = "uniform",
        fit_intercept: bool = True,
        tol: float = 1e-5,
        cache_size: Any = "auto",
        max_iter: int = 200,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _objective_unit(self) -> float:  # type: ignore[override]
        return 2.0 * float(self.alpha)

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, above=0, remedy="For next to no penalty give a small number, like 1e-8.")
        self._check_options()

    def _loss(self) -> Loss:
        return make_loss("squared")

    def _loss_weight(self) -> float:
        return 0.5 / float(self.alpha)

    def _summary(self) -> tuple[str, str]:
        return self._named(), f"alpha = {self.alpha:g}, squared loss"

    def _training_values(self, X: Any, y: Any) -> tuple[Points, Array]:
        X = self._training_points(X)
        Y, self._single = check_outputs(y, X.shape[0])
        return X, Y
