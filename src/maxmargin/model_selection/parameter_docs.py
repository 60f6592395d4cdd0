"""Parameters and attributes that the searches share, documented once."""

from maxmargin.runtime.parameter_docs import entries

SEARCH_ENTRIES = entries(
    """
Cs : list of float or Range, default=None
    Values of C to try; None tries 0.01, 0.1, ..., 1000.
gammas : list of float, "scale" or "auto", or Range, default=None
    Values of the kernel's gamma. None tries 0.01, 0.1, ..., 100 times "scale", if a kernel given by name has one.
kernel : str, Kernel, callable or a list of them, default="rbf"
    As in :class:`~maxmargin.SVC`; a list is searched.
kernel_params : dict of lists, default=None
    Values for other parameters of the kernel, such as ``{"degree": [2, 3], "coef0": [0, 1]}``.
cv : int, splitter or list of splits, default=None
    As in scikit-learn; None means 5 folds, stratified for classification.
scoring : str, callable or None, default=None
    One of scikit-learn's scorers, where higher is better; None uses the estimator's ``score``.
refit : bool, default=True
    Whether to fit ``best_estimator_`` to all data.
refine : bool or int, default=False
    After the grid, search a finer one around the best cell; a number repeats this.
degree, coef0 : float, default=3, 0.0
    Fixed parameters of a kernel given by name.
cache_size : float, default=1000
    Megabytes for kernel values. If the values of all rows do not fit, every fit computes its own.
max_seconds : float or None, default=None
    Stop searching after this time and use the best cell so far. The refit may take another tenth of it.
best_params_, best_score_, best_index_ : dict, float, int
    The best cell, its mean score and its index in ``cv_results_``.
C_, epsilon_, nu_ : float
    The best values of the hyperparameters that were searched.
gamma_ : float
    The best kernel's gamma as a number, if it has one.
best_estimator_ : estimator
    Fitted to all data; its ``report_`` contains the certificate. Only with ``refit``.
cv_results_ : dict of arrays
    As in ``GridSearchCV``, with a column ``reason`` for cells without a score.
error_reasons_ : dict
    Cell -> split -> why there is no score.
status_ : str
    ``"complete"``, or how the search ended early.
n_splits_, scorer_, refit_time_, classes_, n_features_in_
    As in ``GridSearchCV``.
sample_weight : array-like of shape (n_samples,), default=None
    Weights for training and scoring; a weight of zero removes a sample.
groups : array-like of shape (n_samples,), default=None
    Groups for splitters that keep them together, such as ``GroupKFold``.
"""
)
