"""Parameters and attributes that many estimators share, documented once.

A docstring names them in braces, on lines of their own, and :func:`documented` inserts their entries:

    Parameters
    ----------
    C : float, default=1.0
        Penalty of slack.
    {kernel, degree, gamma, coef0}
    {n_jobs, max_seconds}

The headings of sections are entries, too: ``{Parameters, X, y}`` and ``{Returns, self}`` are sections of their own, and
``{X, y -> self}`` is both of them. A parameter that means several things is entered under several names: ``X_new as X``
is what ``{X_new}`` inserts as ``X``.

Constructors stay explicit: only the text is shared. An entry that differs in one estimator is written out there; one
that a package shares stands in a table of its own, made by :func:`entries` and given to ``documented``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import TypeVar

Documented = TypeVar("Documented", bound=type | Callable[..., object])

_NAMES = re.compile(r"^( *)\{([\w\s,]+)(?:-> (\w+))?\}$", re.MULTILINE)


def entries(text: str) -> dict[str, str]:
    """The entries of a numpydoc section by name; one headed by several names, such as ``gamma, degree``, has each.

    Examples
    --------
    >>> from maxmargin.runtime.parameter_docs import entries
    >>> entries('''
    ... tol : float, default=1e-3
    ...     Stopping tolerance.
    ... ''')
    {'tol': 'tol : float, default=1e-3\\n    Stopping tolerance.'}
    """
    table = {}
    for entry in re.split(r"\n(?=\S)", textwrap.dedent(text).strip("\n")):
        names = entry.partition("\n")[0].partition(" : ")[0]
        role, _, name = names.partition(" as ")
        for key in role.split(", "):
            table[key] = entry.replace(names, name or role, 1)
    return table


def documented(table: Mapping[str, str] | None = None) -> Callable[[Documented], Documented]:
    """Insert shared entries into the docstring of a function, or of a class and its methods.

    Parameters
    ----------
    table : mapping of str to str, default=None
        Entries besides those of this module, by name; they go first.

    Returns
    -------
    decorator : callable

    Examples
    --------
    >>> from maxmargin.runtime.parameter_docs import documented
    >>> @documented()
    ... class Estimator:
    ...     '''An estimator.
    ...
    ...     Parameters
    ...     ----------
    ...     {n_jobs}
    ...     '''
    >>> print(Estimator.__doc__.splitlines()[4].strip())
    n_jobs : int or None, default=None
    """

    def lines(*names: str) -> str:
        return "\n".join(dict.fromkeys((table or {}).get(name) or ENTRIES[name] for name in names))

    def insert(found: re.Match[str]) -> str:
        indent, names, returned = found.groups()
        text = lines(*(["Parameters"] if returned else []), *(name.strip() for name in names.split(",")))
        if returned:
            text += f"\n\n{lines('Returns', returned)}"
        return textwrap.indent(text, indent)

    def decorate(owner: Documented) -> Documented:
        methods = vars(owner).values() if isinstance(owner, type) else ()
        inside = [getattr(method, "__wrapped__", None) for method in methods]  # of class methods, and of available_if
        for each in (owner, *filter(callable, (*methods, *inside))):
            if each.__doc__ is not None and _NAMES.search(each.__doc__):  # python -OO has none
                each.__doc__ = _NAMES.sub(insert, each.__doc__)
        return owner

    return decorate


ENTRIES = entries(
    """
self : object
    The fitted estimator.
X : array-like or sparse matrix of shape (n_samples, n_features)
    Points, one per row.
X_train as X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
    Training points; with ``kernel="precomputed"`` their kernel matrix.
X_new as X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_training)
    Points; with ``kernel="precomputed"`` their kernel values with the training points.
y_labels as y : array-like of shape (n_samples,)
    Class labels: numbers, strings or booleans.
y_values as y : array-like of shape (n_samples,)
    Target values.
y_outputs as y : array-like of shape (n_samples,) or (n_samples, n_targets)
    Target values.
y : array-like of shape (n_samples,)
    Class labels, or target values.
y_ignored as y : ignored
    For scikit-learn's interface.
sample_weight : array-like of shape (n_samples,), default=None
    Weights; a weight of two equals repeating the sample.
labels : array of shape (n_samples,)
values : array of shape (n_samples,)
outputs as values : array of shape (n_samples,) or (n_samples, n_targets)
decision : array of shape (n_samples,) or (n_samples, n_classes)
    Two classes: one value, positive for ``classes_[1]``. More: one value per class.
decision_value as decision : array of shape (n_samples,)
probabilities : array of shape (n_samples, n_classes)
    In the order of ``classes_``; rows sum to one.
scores : array of shape (n_samples,)
projections as Z : array of shape (n_samples, n_components)
score : float
kernel : str, Kernel or callable, default="rbf"
    A name (``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``, ``"laplacian"``, ``"precomputed"`` or another of
    :mod:`maxmargin.kernels`), a kernel object, or a function of two arrays of points that returns their kernel matrix.
degree : float, default=3
    Degree of the kernel ``"poly"``.
gamma : float, "scale" or "auto", default="scale"
    Parameter of a kernel given by name: ``"scale"`` is 1 / (n_features Var(X)), ``"auto"`` is 1 / n_features.
coef0 : float, default=0.0
    Constant term of the kernels ``"poly"`` and ``"sigmoid"``.
shrinking : bool, default=True
    For compatibility; the solvers always use shrinking.
tol : float, default=1e-3
    Stopping tolerance on the violation m(a) - M(a) of the KKT conditions, as in LIBSVM.
cache_size : float, default=200
    Megabytes for kernel values.
class_weight : dict, "balanced" or None, default=None
    Factor of C for each class.
verbose : bool, default=False
    Print progress on standard error.
max_iter : int, default=-1
    Maximum number of solver steps per binary problem; -1 is a generous limit.
decision_function_shape : {"ovr", "ovo"}, default="ovr"
    Whether one-vs-one returns decision values per class or per pair of classes.
break_ties : bool, default=False
    Break ties between votes by the decision values instead of by the order of the classes.
random_state : int, RandomState or None, default=None
    For compatibility: the fit takes one number from the generator, as scikit-learn's does, and is deterministic.
solver : {"auto", "active_set", "smo", "coordinate_descent", "barrier", "qp_dual"}, default="auto"
    The algorithm; ``report_`` states which was chosen, and why.
fit_intercept : bool, default=True
    Whether to fit an intercept. Without it the dual has no equality constraint.
n_jobs : int or None, default=None
    Threads; None means all cores. The result does not depend on it.
max_seconds : float or None, default=None
    Stop after this time with the best model so far.
warm_start : bool, default=False
    Start from the solution of the last fit, for rows that were in its training set. Kernel estimators also keep a
    reference to the training rows, for ``learn`` and ``forget``.
calibration : {None, "sigmoid", "isotonic", "temperature"}, default=None
    How decision values become probabilities: Platt scaling, isotonic regression or temperature scaling, fitted to
    out-of-fold decision values; of large data, a part of the rows is used (``calibration_.n_samples``). None means no
    ``predict_proba``.
support_ : array of shape (n_support,)
    Indices of the support vectors.
support_vectors_ : array or CSR matrix of shape (n_support, n_features)
    The support vectors; empty for a precomputed kernel.
n_support_ : array of shape (1,)
    Number of support vectors.
intercept_ : array of shape (1,)
    b.
n_iter_ : int
    Solver steps.
coef_ : array of shape (n_models, n_features)
    Weights of the features; linear kernel only.
fit_status_ : int
    0 if converged, 1 if not.
kernel_ : Kernel
    The kernel with its parameters resolved on the training data.
report_ : FitReport
    What the fit did, and the certificate of its optimality.
history_ : History
    Objectives, margin, support vectors and time per iteration.
n_features_in_ : int
    Number of columns of X.
feature_names_in_ : array
    Names of the columns, if X has them.
"""
)
ENTRIES |= {"Parameters": "Parameters\n----------", "Returns": "Returns\n-------"}
