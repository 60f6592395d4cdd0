"""Parameters and attributes that the estimators on landmarks share, documented once."""

from maxmargin.runtime.parameter_docs import entries

LANDMARK_ENTRIES = entries(
    """
kernel : str, Kernel or callable, default="rbf"
    A name, an object of :mod:`maxmargin.kernels`, a function, or ``"precomputed"``.
gamma, degree, coef0
    Parameters of a kernel given by name, as for :class:`~maxmargin.SVC`.
n_components : int or "auto", default=1000
    Landmarks m. ``"auto"`` doubles them until rows that are held out gain no more than noise.
landmarks : {"uniform", "kmeans", "leverage", "rpcholesky"} or array-like, default="uniform"
    How they are chosen; or the landmarks themselves, as points or as indices of rows.
fit_intercept : bool, default=True
    Whether to add a constant that is not penalised.
tol : float, default=1e-3
    Stop when the relative duality gap of each output is at most this.
cache_size : float or "auto", default="auto"
    Megabytes for kernel values; beyond that they are computed anew in every pass. "auto" is half of what is free.
max_iter : int, default=200
    Largest number of Newton steps, -1 for no limit.
random_state : int, RandomState, Generator or None, default=None
    Chooses the landmarks. None is one fixed seed.
landmarks_ : array or CSR matrix of shape (n_components_, n_features), or array of objects
    For a precomputed kernel, their indices.
landmark_indices_ : array of int or None
    Which rows they are; None if they are none.
X_train : array-like, memory map or sparse matrix of shape (n_samples, n_features), or list of objects
    With ``kernel="precomputed"`` the square kernel matrix.
X_new : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples_fit)
source : path, iterable or callable
    A file (svmlight, CSV, TSV, Parquet, Arrow, ``.npy``), or batches (X, y) or (X, y, sample_weight), with one target.
target : str or int, optional
    The column of the file that holds the labels or targets.
sample_weight : array-like of shape (n_samples,), default=None
    Weights; a weight of two is the same as giving the sample twice.
n_components_, n_iter_ : int
    Landmarks and Newton steps.
report_ : ApproximateReport
    What the fit did, how much of the kernel the landmarks miss, and the certificate of the approximated problem.
"""
)
for _role in ("X_train", "X_new"):  # roles of X in several methods
    LANDMARK_ENTRIES[_role] = LANDMARK_ENTRIES[_role].replace(_role, "X", 1)
