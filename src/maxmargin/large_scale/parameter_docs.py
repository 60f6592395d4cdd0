"""Parameters and attributes that the estimators on landmarks, and the features, share, documented once."""

from maxmargin.runtime.parameter_docs import entries

LANDMARK_ENTRIES = entries(
    """
kernel : str, Kernel or callable, default="rbf"
    A name, an object of :mod:`maxmargin.kernels`, a function, or ``"precomputed"``.
gamma, degree, coef0
    Parameters of a kernel given by name, as for :class:`~maxmargin.SVC`.
n_components : int or "auto", default=1000
    Number of landmarks m. ``"auto"`` doubles it until the score on held-out rows no longer improves significantly.
landmarks : {"uniform", "kmeans", "leverage", "rpcholesky"} or array-like, default="uniform"
    How to choose landmarks; or the landmarks themselves, as points or as row indices.
fit_intercept : bool, default=True
    Whether to fit an unpenalised intercept.
tol : float, default=1e-3
    Stop when the relative duality gap of each output is at most this.
cache_size : float or "auto", default="auto"
    Megabytes for kernel values; values that do not fit are recomputed in every pass. "auto" is half of the free memory.
max_iter : int, default=200
    Maximum number of Newton steps; -1 for no limit.
random_state : int, RandomState, Generator or None, default=None
    Seed for the choice of landmarks. None is a fixed seed.
landmarks_ : array or CSR matrix of shape (n_components_, n_features), or array of objects
    For a precomputed kernel, their indices.
landmark_indices_ : array of int or None
    Their row numbers; None if they are not training rows.
X_train as X : array-like, memory map or sparse matrix of shape (n_samples, n_features), or list of objects
    With ``kernel="precomputed"`` the square kernel matrix.
source : path, iterable or callable
    A file (svmlight, CSV, TSV, Parquet, Arrow, ``.npy``), or batches (X, y) or (X, y, sample_weight), with one target.
target : str or int, optional
    The column of the file with the labels or targets.
n_components_, n_iter_ : int
    Landmarks and Newton steps.
report_ : ApproximateReport
    The report of the fit, with an estimate of the approximation error and the certificate of the approximated problem.
"""
)
FEATURE_ENTRIES = entries(
    """
n_jobs : int, optional
    Threads; all cores by default. The features do not depend on it.
dtype : {"float32", "float64"}, optional
    dtype of the features; by default that of X.
rows : int, default=1000
    Number of rows to use.
random_state : int, RandomState or Generator, default=0
    Seed for the choice of rows.
error : KernelError
    Prints as a sentence.
"""
)
