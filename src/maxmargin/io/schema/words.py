"""What an attribute read from a file must be, in words like ``"float64 (s, t) | none"``.

    kind             the value is of this kind
    kind (s, t)      it has this shape: a name stands for one length throughout an object, a number for itself, and
                     "." for any length
    kind | kind      one of several

Kinds of single values: none, bool, count (an integer >= 0), number (finite), float (NaN and infinity, too), text,
numbers (any array or number), any. Kinds of arrays: float64 and real (float32, too), both finite; float64* (NaN and
infinity, too); int32, int64, integers, indices (>= 0), mask, labels (all different), texts; csr; points (finite, dense
or CSR, or objects). ``size (d)`` is an integer that is itself a length. Kinds of objects: kernel; ``resolved (d)``, a
kernel ready for points of d columns; ``expansion (d, t)``, a function of such points with t values; estimator; and
classes by their names.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from maxmargin.io._container import BLOCK_ENTRIES, ModelFileError, all_in_blocks
from maxmargin.kernels import Columns, Kernel, Precomputed
from maxmargin.runtime.validation import Array
from maxmargin.svm.models.expansion import KernelExpansion

Lengths = dict[str, int]
UNSORTED_LABELS_MAX_BYTES = 8e6  # of a copy of labels that are not sorted: two million classes of LIBSVM's integers
CHECKED_ROWS_BYTES = 4e6  # of points that a kernel checks at once
LABEL_OBJECT_BYTES = 80  # of a Python object's place in a list and in a set

RANGES: dict[str, Callable[[Any], bool]] = {  # of the parameters of resolved kernels
    **dict.fromkeys(("gamma", "degree", "exponent"), lambda value: value >= 0),
    **dict.fromkeys(("factor", "decay", "alpha", "period"), lambda value: value > 0),
    "nu": lambda value: value in (0.5, 1.5, 2.5),
    "order": lambda value: value in (0, 1, 2),
    **dict.fromkeys(("k", "m"), lambda value: 0 <= value <= 10**6 and value == int(value)),
    "coef0": lambda value: True,
}


@dataclass(frozen=True)
class Entry:
    """A class: its module, what its state must be, what its attributes must agree on, what is computed again, and
    the names that attributes had in earlier versions (earlier name -> name)."""

    module: str
    state: dict[str, str] = field(default_factory=dict)
    agree: Callable[[dict[str, Any], dict[str, Any], Lengths], None] | None = None
    finish: Callable[[Any, Any], None] | None = None
    renamed: dict[str, str] = field(default_factory=dict)


def check_state(name: str, schema: dict[str, str], state: dict[str, Any]) -> Lengths:
    """Check the state of an object against its class: ``schema`` is attribute -> words, and an attribute with a
    question mark may be missing. Returns the lengths by name."""
    lengths: Lengths = {}
    known = {key.rstrip("?") for key in schema}
    for key in state:
        if key not in known:
            raise ModelFileError(f"is damaged, or written by a newer maxmargin: {name} has no attribute {key[:40]!r}.")
    for key, words in schema.items():
        attribute = key.rstrip("?")
        if attribute in state:
            check_value(f"{name}.{attribute}", words, state[attribute], lengths)
        elif not key.endswith("?"):
            raise ModelFileError(f"is damaged: {name} lacks its attribute {attribute}.")
    return lengths


def check_value(where: str, words: str, value: Any, lengths: Lengths) -> None:
    """Refuse a value that the words do not describe; record the lengths that they name."""
    for kind, axes in _alternatives(words):
        tried = dict(lengths)
        if _KINDS.get(kind, _by_class(kind))(value) and _fits(kind, axes, value, tried):
            lengths.update(tried)
            return
    here = ", ".join(f"{name} = {length}" for name, length in lengths.items() if re.search(rf"\b{name}\b", words))
    raise ModelFileError(f"is damaged: {where} is not {words}{f' with {here}' if here else ''}.")


@functools.cache
def _alternatives(words: str) -> list[tuple[str, list[str] | None]]:
    found = []
    for choice in words.split(" | "):
        match = re.fullmatch(r"([\w*]+)(?: \((.*)\))?", choice)
        assert match, f"no such words: {choice}"
        axes = match.group(2)
        found.append((match.group(1), None if axes is None else axes.split(", ")))
    return found


def _fits(kind: str, axes: list[str] | None, value: Any, lengths: Lengths) -> bool:
    if kind == "resolved":
        return is_resolved(value, lengths.get(axes[0]) if axes else None)
    if axes is None:
        return True
    if kind == "size":
        return _same(axes, (int(value),), lengths)
    if kind == "expansion":
        d, t = axes
        columns = value.anchors.shape[1] if value.anchors.ndim == 2 else None
        return _same([t], value.intercept.shape, lengths) and (columns is None or _same([d], (columns,), lengths))
    if kind == "points" and value.ndim == 1:  # objects have no columns
        axes = axes[:1]
    return _same(axes, value.shape, lengths)


def _same(axes: list[str], shape: tuple[int, ...], lengths: Lengths) -> bool:
    if len(axes) != len(shape):
        return False
    return all(
        axis == "." or (int(axis) if axis.isdecimal() else lengths.setdefault(axis, length)) == length
        for axis, length in zip(axes, shape, strict=True)
    )


def is_resolved(kernel: Any, d: int | None) -> bool:
    """Whether a kernel is ready to compare points of d columns (None: of any kind)."""
    if not isinstance(kernel, Kernel):
        return False
    for name in kernel._get_param_names():
        value = getattr(kernel, name)
        if name in RANGES and not (_is_number(value) and RANGES[name](value)):
            return False
        if name == "sigma" and value is not None:
            return False
    if isinstance(kernel, Columns):
        indices = getattr(kernel, "indices_", None)
        if indices is None or (d is not None and kernel.n_features_ != d) or (indices >= kernel.n_features_).any():
            return False
        return is_resolved(kernel.kernel, len(indices))
    shift = getattr(kernel, "shift_", None)
    if shift is not None and d is not None and len(shift) != d:
        return False
    reference = getattr(kernel, "reference_", None)
    if reference is not None and reference.ndim == 2 and d is not None and reference.shape[1] != d:
        return False
    inner = getattr(kernel, "kernels", [kernel.kernel] if hasattr(kernel, "kernel") else [])
    if hasattr(kernel, "kernels") and not (isinstance(inner, (list, tuple)) and inner):
        return False
    return all(is_resolved(member, d) for member in inner)


def check_expansion(state: dict[str, Any]) -> None:
    """A fitted function: its kernel suits its anchors, which for a precomputed kernel are indices."""
    kernel, anchors = state["kernel"], state["anchors"]
    objects = anchors.dtype == object
    if isinstance(kernel, Precomputed) != (anchors.ndim == 1 and not objects):
        raise ModelFileError("is damaged: the points of a kernel function do not suit its kernel.")
    if (objects and not kernel.takes_objects) or (anchors.ndim == 2 and not kernel.takes_vectors):
        raise ModelFileError("is damaged: a kernel cannot compare the points it comes with.")
    if not is_resolved(kernel, anchors.shape[1] if anchors.ndim == 2 else None):
        raise ModelFileError("is damaged: a kernel is not ready for the points it comes with.")
    check_points_of(kernel, anchors)


def check_points_of(kernel: Kernel, points: Any) -> None:
    """Refuse points that a kernel is not defined on, some rows at a time: a check may copy what it is given."""
    if isinstance(kernel, Precomputed):
        return
    n = points.shape[0]
    stored = points.data.nbytes + points.indices.nbytes if sp.issparse(points) else points.nbytes
    rows = max(1, int(n * min(1.0, CHECKED_ROWS_BYTES / max(stored, 1))))
    try:
        for begin in range(0, n, rows):
            kernel.check_points(points if rows >= n else points[begin : begin + rows])
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"is damaged: {error}") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and math.isfinite(value)


def _is_array(dtypes: Callable[[Any], bool], finite: bool = True) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        if not isinstance(value, np.ndarray) or not dtypes(value.dtype):
            return False
        return not finite or value.dtype.kind != "f" or all_in_blocks(np.isfinite, value)

    return test


def _is_csr(value: Any) -> bool:
    return (
        sp.issparse(value)
        and value.format == "csr"
        and value.dtype.kind == "f"
        and all_in_blocks(np.isfinite, value.data)
    )


def _is_points(value: Any) -> bool:
    if sp.issparse(value):
        return _is_csr(value) and value.dtype in (np.float32, np.float64)
    if not isinstance(value, np.ndarray):
        return False
    return value.ndim == 1 if value.dtype == object else value.ndim == 2 and _KINDS["real"](value)


def _is_labels(value: Any) -> bool:
    """Two labels or more, all different. Labels of a fit are sorted, which is checked without copies; those of a LIBSVM
    model need not be."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "biufUSO" or len(value) < 2:
        return False
    if value.dtype == object:
        try:
            rising = all(a < b for a, b in itertools.pairwise(value))
        except TypeError:
            rising = False
        if rising:
            return True
        if len(value) * LABEL_OBJECT_BYTES > UNSORTED_LABELS_MAX_BYTES:
            return False
        return all(label == label for label in value) and len(set(value)) == len(value)
    if value.dtype.kind == "f" and not all_in_blocks(np.isfinite, value):
        return False
    if all_rising(value):
        return True
    return value.nbytes <= UNSORTED_LABELS_MAX_BYTES and all_rising(np.sort(value))


def all_rising(values: Array) -> bool:
    """Whether each value is larger than the one before, a block at a time."""
    step = BLOCK_ENTRIES
    parts = (values[at : at + step + 1] for at in range(0, len(values) - 1, step))
    return all(bool((part[1:] > part[:-1]).all()) for part in parts)


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object and all(isinstance(text, str) for text in value)


def _by_class(name: str) -> Callable[[Any], bool]:
    return lambda value: type(value).__name__ == name and type(value).__module__.startswith("maxmargin.")


_KINDS: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "none": lambda value: value is None,
    "bool": lambda value: isinstance(value, (bool, np.bool_)),
    "count": lambda value: _is_integer(value) and value >= 0,
    "size": lambda value: _is_integer(value) and 0 <= value < 2**48,
    "number": _is_number,
    "float": lambda value: isinstance(value, (float, int, np.floating)) and not isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "numbers": lambda value: _is_number(value) or _is_array(lambda t: t.kind in "fiub", finite=False)(value),
    "shape": lambda value: isinstance(value, tuple) and all(_is_integer(n) and n >= 0 for n in value),
    "float64": _is_array(lambda dtype: dtype == np.float64),
    "float64*": _is_array(lambda dtype: dtype == np.float64, finite=False),
    "real": _is_array(lambda dtype: dtype in (np.float32, np.float64)),
    "int32": _is_array(lambda dtype: dtype == np.int32),
    "int64": _is_array(lambda dtype: dtype == np.int64),
    "integers": _is_array(lambda dtype: dtype.kind in "iu"),
    "indices": lambda value: (
        _is_array(lambda dtype: dtype.kind in "iu")(value) and all_in_blocks(lambda part: part >= 0, value)
    ),
    "mask": _is_array(lambda dtype: dtype == np.bool_),
    "labels": _is_labels,
    "texts": _is_texts,
    "csr": _is_csr,
    "points": _is_points,
    "kernel": lambda value: isinstance(value, Kernel),
    "resolved": lambda value: isinstance(value, Kernel),
    "expansion": lambda value: isinstance(value, KernelExpansion),
    "estimator": lambda value: isinstance(value, BaseEstimator),
    "list": lambda value: isinstance(value, list),
    "dict": lambda value: isinstance(value, dict),
}
