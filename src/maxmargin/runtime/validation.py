"""What a user hands in, made into arrays the other layers can trust.

The only caller of scikit-learn's ``validate_data`` and ``check_array``. Points are C-ordered float32 or float64
arrays, or CSR matrices of either type (numbers of one or two bytes become float32, exactly); labels are coded
0, 1, ...; weights are finite and not negative.
Every error names the parameter, the value and the remedy.
"""

from __future__ import annotations

import contextlib
import difflib
import math
import numbers
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Set, Sized
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin.runtime.arrays import as_numpy, canonical_csr, check_indices, exact_single
from maxmargin.runtime.diagnosis import check_columns, explained, is_missing, unsortable_labels, without_dates
from maxmargin.runtime.memory import available_memory

Array: TypeAlias = npt.NDArray[Any]
Points: TypeAlias = Any  # an Array, or a scipy CSR matrix or array

_POINTS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
# What other programs and textbooks call one of our choices.
SYNONYMS = {
    "gaussian": "rbf",
    "radial": "rbf",
    "gauss": "rbf",
    "rbf_kernel": "rbf",
    "polynomial": "poly",
    "tanh": "sigmoid",
    "dot": "linear",
    "ova": "ovr",
    "oaa": "ovr",
    "one-vs-rest": "ovr",
    "one-vs-one": "ovo",
    "platt": "sigmoid",
    "libsvm": "smo",
}


def check_points(X: Any, name: str = "X") -> Points:
    """Points outside an estimator: array-like, pandas, polars or sparse, one row per point."""
    X = exact_single(as_numpy(X))
    check_indices(X)
    try:
        check_columns(X, name)
        return canonical_csr(check_array(X, input_name=name, **_POINTS))
    except (TypeError, ValueError) as error:
        raise explained(error, X, name=name) from None


def as_objects(X: Any, *, only: bool = False) -> Array | None:
    """A list or column of things that are not vectors (strings, sets, ...) as a one-dimensional array of objects; None
    for what should be read as an array of numbers. With ``only`` nothing should, and what is no list is refused."""
    listed = isinstance(X, Iterable) and isinstance(X, Sized) and not isinstance(X, (str, bytes, Set, Mapping))
    listed = listed and not hasattr(X, "columns") and getattr(X, "ndim", 1) == 1
    if not listed:
        if only:
            shape = f" of shape {X.shape}" if hasattr(X, "shape") else ""
            raise TypeError(
                f"X must be a list or a single column of objects, one per sample; got {_kind(X)}{shape}. The kernel "
                "compares strings, sets or other objects; for columns of numbers use a kernel such as RBF()."
            )
        return None
    things = list(X)
    if only:
        if not things:
            raise ValueError("Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required.")
    else:
        first = next((thing for thing in things if not is_missing(thing)), None)
        if first is None or isinstance(first, (numbers.Number, list, tuple, np.ndarray)):
            return None
    # A set that its owner changes later must not change a fitted model.
    frozen = (frozenset(thing) if isinstance(thing, Set) else thing for thing in things)
    return np.fromiter(frozen, dtype=object, count=len(things))


def shown(value: Any) -> str:
    """A value as its user would write it: 0.5, not np.float64(0.5)."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _kind(thing: Any) -> str:
    return "a single string" if isinstance(thing, str) else f"an object of type {type(thing).__name__}"


def _ready(X: Any) -> bool:
    """Whether scikit-learn's validation would return X unchanged: a plain, finite array of numbers in C
    order. Most arrays are, and finding that out takes a hundredth of a millisecond."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.flags.c_contiguous
        and X.size > 0
        and math.isfinite(float(X.sum(dtype=np.float64)))
    )


def _ready_csr(X: Any) -> bool:
    """The same for a CSR matrix of ordinary numbers, whose indices are still to be checked."""
    return (
        type(X) in (sp.csr_matrix, sp.csr_array)
        and X.ndim == 2
        and X.data.dtype in (np.float64, np.float32)
        and X.indices.dtype in (np.int32, np.int64)
        and min(X.shape) > 0
        and math.isfinite(float(X.data.sum(dtype=np.float64)))
    )


def _with_width(estimator: Any, X: Array) -> Array:
    """Leave on the estimator what scikit-learn's validation leaves there for an array without column names."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = X.shape[1]
    return X


def check_training_points(estimator: Any, X: Any) -> Points:
    """Training points of an estimator; sets ``n_features_in_`` and ``feature_names_in_``."""
    if _ready(X):
        return _with_width(estimator, X)
    X = exact_single(as_numpy(X))
    check_indices(X)
    try:
        check_columns(X)
        return canonical_csr(validate_data(estimator, X, **_POINTS))
    except (TypeError, ValueError) as error:
        raise explained(error, X) from None


def check_training(
    estimator: Any, X: Any, y: Any, *, numeric: bool = False, order: str | None = "C", several: bool = False
) -> tuple[Points, Array]:
    """Training points and targets of an estimator; sets ``n_features_in_`` and ``feature_names_in_``. With
    ``order=None`` an X that is contiguous by columns (Fortran order, CSC) is not copied. With ``several`` y may have
    several columns."""
    kinds = "fiu" if numeric else "biuU"
    if _ready(X) and type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in kinds and len(y) > 1:
        if not numeric:
            return _with_width(estimator, X), y
        if math.isfinite(float(y.sum(dtype=np.float64))):
            return _with_width(estimator, X), y if y.dtype.kind == "f" else y.astype(np.float64)
    accepted = "csr" if order is not None else ["csr", "csc"]
    options = {**_POINTS, "order": order, "accept_sparse": accepted}
    X, y = exact_single(as_numpy(X)), without_dates(as_numpy(y)) if numeric else as_numpy(y)
    check_indices(X)
    try:
        check_columns(X)
        if several and has_several_columns(y):
            points = validate_data(estimator, X, **options)
            targets = check_outputs(y, points.shape[0])[0]
        else:
            points, targets = validate_data(estimator, X, y, y_numeric=numeric, **options)
            if numeric and targets.dtype.kind in "US":  # which scikit-learn leaves as they are
                targets = targets.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise explained(error, X, y, numeric=numeric) from None
    return canonical_csr(points), targets


def check_targets(y: Any, n_samples: int, *, numeric: bool = False) -> Array:
    """Targets for training points that scikit-learn does not validate."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = given = without_dates(as_numpy(y)) if numeric else as_numpy(y)
    try:
        y = column_or_1d(y, warn=True)
        if len(y) != n_samples:
            raise ValueError(f"X has {n_samples} samples and y has {len(y)}: give one target for each sample.")
        return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y") if numeric else y
    except (TypeError, ValueError) as error:
        raise explained(error, [[0.0]], given, numeric=numeric) from None


def has_several_columns(y: Any) -> bool:
    """Whether there are several targets per sample: one column is what scikit-learn's estimators make a list of."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return len(shape) == 2 and shape[1] > 1


def check_outputs(y: Any, n_samples: int) -> tuple[Array, bool]:
    """Targets as float64 columns, and whether the user gave a single one-dimensional list of them."""
    if y is None or len(y.shape if hasattr(y, "shape") else np.asarray(y).shape) < 2:
        return check_targets(y, n_samples, numeric=True)[:, None], True
    if sp.issparse(y):
        raise TypeError("y is a sparse matrix; targets must be dense: use y.toarray().")
    Y = check_points(y, "y")
    if len(Y) != n_samples:
        raise ValueError(f"X has {n_samples} samples and y has {len(Y)}: give one row of targets for each sample.")
    return Y.astype(np.float64), False


def check_new_points(estimator: Any, X: Any) -> Points:
    """Points to predict for: the columns the estimator was fitted with."""
    own = vars(estimator)
    if "n_features_in_" in own and "feature_names_in_" not in own:
        if _ready(X) and own["n_features_in_"] == X.shape[1]:
            return X
        if _ready_csr(X) and own["n_features_in_"] == X.shape[1]:
            return canonical_csr(X)
    check_is_fitted(estimator)
    X = exact_single(as_numpy(X))
    check_indices(X)
    try:
        check_columns(X)
        return canonical_csr(validate_data(estimator, X, reset=False, **_POINTS))
    except (TypeError, ValueError) as error:
        if " features, but " in str(error) and estimator.__sklearn_tags__().input_tags.pairwise:
            raise ValueError(
                f"{str(error).rstrip('. ')}. With a precomputed kernel X holds similarities to the training points, "
                f"one column per training point: {estimator.n_features_in_} columns. Give k(X_new, X_training)."
            ) from None
        raise explained(error, X) from None


def check_new_objects(estimator: Any, X: Any, *, only: bool = False) -> Array:
    """Things that are not vectors to predict for, where the estimator was fitted on such; see ``as_objects``."""
    check_is_fitted(estimator)
    objects = as_objects(X, only=only)
    if objects is None:
        raise ValueError(
            f"{type(estimator).__name__} was fitted on objects that are not vectors; give a list of the same kind."
        )
    return objects


def check_labels(y: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """``classes_`` and the code of every sample's class."""
    if y.dtype == object and all(isinstance(label, (numbers.Real, np.bool_)) for label in y):
        y = np.array(y.tolist())  # numbers in an array of objects are still numbers
    if y.dtype == object and (message := unsortable_labels(y)) is not None:
        raise ValueError(message)
    if y.dtype.kind not in "biuUS":  # those are labels whatever they hold; scikit-learn judges the rest
        try:
            check_classification_targets(y)
        except ValueError as error:
            cause = str(error).split(".")[0]  # "Unknown label type: continuous"
            raise ValueError(
                f"{cause}. A classifier needs y of few different labels, such as integers or text; the first is "
                f"{shown(y.flat[0])}. For regression use SVR, LinearSVR or NystroemSVR."
            ) from None
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        found = f"1 class, {classes.tolist()[0]!r}" if len(classes) else "no labels"
        raise ValueError(
            f"The number of classes has to be greater than one; got {found}. "
            "A single class can be described by OneClassSVM."
        )
    return classes, codes.astype(np.int64)


def check_weights(sample_weight: Any, n_samples: int) -> Array:
    """Sample weights as float64: one per sample, finite, not all zero. Negative ones become zero, with a warning."""
    if sample_weight is None:
        return np.ones(n_samples)
    if isinstance(sample_weight, str):
        raise ValueError(f"sample_weight={sample_weight!r}: give a number per sample, or set class_weight='balanced'.")
    if isinstance(sample_weight, numbers.Number):
        weights = np.full(n_samples, float(sample_weight))  # type: ignore[arg-type]
    else:
        weights = check_array(
            as_numpy(sample_weight),
            ensure_2d=False,
            dtype=np.float64,
            input_name="sample_weight",
            ensure_min_samples=0,
            ensure_all_finite=False,
            copy=True,
        )
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; got {weights.ndim} dimensions.")
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_samples,)}: give one weight for each of the "
            f"{n_samples} samples."
        )
    if not np.isfinite(weights).all():
        where = int(np.flatnonzero(~np.isfinite(weights))[0])
        value = "NaN" if np.isnan(weights[where]) else weights[where]
        raise ValueError(f"sample_weight[{where}] is {value}: weights must be finite.")
    negative = np.flatnonzero(weights < 0)
    if 0 < len(negative) < n_samples:
        warn(
            f"sample_weight[{negative[0]}] is {weights[negative[0]]:g}: rows with a negative weight are left out, "
            f"{len(negative):,} of {n_samples:,}."
        )
    if weights.max(initial=0.0) > 1e100:
        raise ValueError(f"sample_weight reaches {weights.max():.1e}: sums would overflow. Divide the weights by that.")
    weights = np.maximum(weights, 0.0) + 0.0  # -0.0 is 0
    if not weights.any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. sample_weight leaves nothing to fit: "
            "give at least one positive weight."
        )
    return weights


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
    infinite: bool = False,
    integer: bool = False,
    remedy: str = "",
) -> float:
    """A number inside its bounds, or an error that names the parameter, the value and the remedy."""
    if type(value) is not int and (integer or type(value) is not float):  # skips the slower checks for the usual types
        kind = numbers.Integral if integer else numbers.Real
        wanted = "an integer" if integer else "a number"
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
            raise TypeError(f"{name} must be {wanted}; got {shown(value)} of type {type(value).__name__}.")
    number = float(value)
    if (
        (above is None or number > above)
        and (least is None or number >= least)
        and (most is None or number <= most)
        and (below is None or number < below)
        and (math.isfinite(number) or (infinite and number > 0))
    ):
        return number
    limits = {">": above, ">=": least, "<=": most, "<": below}
    rule = " and ".join(f"{sign} {limit:g}" for sign, limit in limits.items() if limit is not None)
    finite = "" if infinite or math.isfinite(number) else " and finite" if rule else "finite"
    raise ValueError(f"{name} must be {rule}{finite}; got {name}={shown(value)}.{' ' + remedy if remedy else ''}")


def check_choice(name: str, value: Any, choices: Iterable[str], extra: str = "") -> str:
    """One of the given names; otherwise an error with the list and the nearest of them."""
    known = list(choices)
    if isinstance(value, str) and value in known:
        return value
    known.sort()
    by_lower_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(value).lower(), by_lower_case, n=1)
    meant = SYNONYMS.get(str(value).lower()) or (by_lower_case[near[0]] if near else None)
    hint = f" Did you mean {meant!r}?" if meant in known else ""
    raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}{extra}; got {name}={shown(value)}.{hint}")


def check_flag(name: str, value: Any) -> bool:
    """True or False, NumPy's included."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {shown(value)}.")
    return bool(value)


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """A warning that points at the line outside this package that led to it."""
    warnings.warn(message, category, stacklevel=callers_level())


def callers_level() -> int:
    """The ``stacklevel`` of a warning that should point at the line outside this package that led to it."""
    inside = (os.path.dirname(os.path.dirname(__file__)), contextlib.__file__)  # the package, and its ``with`` blocks
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
        level += 1
    return level


def check_memory(needed: float, purpose: str, remedy: str) -> None:
    """Refuse, up front and with the estimate, what would get the process killed."""
    free = available_memory()
    if needed > 0.9 * free:
        raise MemoryError(f"{purpose} needs about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free: {remedy}")
