"""From solved problems to what an estimator shows: coefficients of the input rows, and the fitted function.

Coefficients stand in a table of ``lines`` by canonical rows: one line per function, or LIBSVM's layout of one-vs-one,
in which a row of class i has its coefficient against class j in line j - 1 if i < j, else in line j.

Equal rows of equal target were one variable, whose bound is the sum of theirs. Its coefficient c goes to the first of
them up to that row's own bound, then to the next, so that no more of them are support vectors than need be:

    c_s = sign(c) min(bound_s, max(0, |c| - bound_1 - ... - bound_(s-1))).

No coefficient is too small to be kept: the sum over equal rows is c up to rounding, relative to c itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.runtime.canonical_rows import rows_of
from maxmargin.runtime.transaction import remove_attributes
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.models.expansion import KernelExpansion


@dataclass(frozen=True)
class CoefficientTable:
    """Coefficients of the canonical rows."""

    values: Array  # shape (lines, n)
    # shape (lines, n), the part of its bound that each takes up (0 where there is no bound); None if no rows
    # were merged
    filled: Array | None = None
    # shape (lines or 1, n_inputs), bounds of the input rows; NaN where a coefficient goes to equal rows by
    # their weights alone
    bounds: Array | None = None
    pairs: bool = False  # whether the lines are LIBSVM's layout of one-vs-one


def publish(
    estimator: Any, context: FitContext, table: CoefficientTable, intercept: Array, codes: Array | None = None
) -> int:
    """Set what scikit-learn's estimators expose, and the fitted function; the number of its terms. ``codes`` are the
    classes of the input rows, by which support vectors are listed, if there are any."""
    X, kernel, values = context.given.X, context.kernel, table.values
    used = np.flatnonzero(values[0] if len(values) == 1 else values.any(axis=0))
    merged = context.merged
    if merged:
        support, listed = _distribute(context, table, used)
    else:
        support, listed = context.rows.representative[used], values[:, used].T
    order = np.argsort(support) if codes is None else np.lexsort((support, codes[support]))
    support, dual = support[order], np.ascontiguousarray(listed[order].T)
    remove_attributes(estimator, "compression_report_")
    estimator.kernel_, estimator.intercept_, estimator.shape_fit_ = kernel, intercept, X.shape
    estimator.support_ = support.astype(np.int32)
    estimator.support_vectors_ = (
        np.empty((0, 0)) if isinstance(kernel, Precomputed) else rows_of(X, support, context.threads)
    )
    estimator._gamma, estimator._sparse = np.float64(getattr(kernel, "gamma", 0.0)), sp.issparse(X)
    estimator.dual_coef_ = sp.csr_matrix(dual) if estimator._sparse else dual
    n_classes = len(values) + 1 if table.pairs else 0 if context.classes is None else len(context.classes)
    counts: Any = [len(support)] if codes is None else np.bincount(codes[support], minlength=n_classes)
    estimator._n_support = counts
    # One term for equal rows; and where the intercept contains w'm, a w that does not depend on the rows' order.
    if (merged and len(support) != len(used)) or context.centre is not None:
        if codes is not None:
            used = used[np.argsort(context.target[used], kind="stable")]
            counts = np.bincount(context.target[used], minlength=n_classes)
        anchors, dual = context.points(used), values[:, used]
    else:
        anchors = _anchors(estimator, context, support)
    function = _function(kernel, anchors, dual, counts if table.pairs else None, intercept)
    if context.centre is not None:  # w'(x - m) + b, with the w that values are computed from
        estimator.intercept_ = intercept - function.weights @ context.centre
        function = _function(kernel, anchors, dual, counts if table.pairs else None, estimator.intercept_)
    estimator._expansion = function
    return len(used)


def _function(kernel: Kernel, anchors: Points, dual: Array, counts: Any, intercept: Array) -> KernelExpansion:
    """The fitted function; ``counts`` are the support vectors of each class where ``dual`` is LIBSVM's layout."""
    if counts is None:
        return KernelExpansion(kernel, anchors, dual.T.copy(), intercept)
    return KernelExpansion.of_pairs(kernel, anchors, dual.copy(), counts, intercept)


def _anchors(estimator: Any, context: FitContext, support: Array) -> Points:
    """The points of the fitted function over these support vectors."""
    if isinstance(context.kernel, Precomputed):
        return support
    vectors: Any = estimator.support_vectors_
    return vectors.toarray() if sp.issparse(vectors) and not sp.issparse(context.X) else vectors


def _distribute(context: FitContext, table: CoefficientTable, used: Array) -> tuple[Array, Array]:
    """The support vectors among the input rows, in their order, and their coefficients."""
    place = np.full(context.n + 1, -1)  # the last entry serves rows that are in no merged row
    place[used] = np.arange(len(used))
    of = place[context.rows.member_of]
    members = np.flatnonzero(of >= 0)
    of = of[members]
    coefficients = np.ascontiguousarray(table.values[:, used].T)
    if len(members) == len(used):
        return members, coefficients[of]
    assert table.filled is not None
    assert table.bounds is not None
    shape = (len(members), len(table.values))
    per_input = np.empty(shape)
    _native.distribute_coefficients(
        of,
        context.rows.share(context.given.weight)[members],
        coefficients,
        np.ascontiguousarray(table.filled[:, used].T),
        np.ascontiguousarray(np.broadcast_to(table.bounds[:, members].T, shape)),
        per_input,
    )
    keep = per_input.any(axis=1)
    return members[keep], per_input[keep]
