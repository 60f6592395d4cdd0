"""A fitted model as a sum of terms: the coefficients of its support vectors, and its most informative value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from maxmargin import _native
from maxmargin.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.kernels._arrays import FAR_EXPONENT, is_integer, squared_norms
from maxmargin.runtime.arrays import csr_arrays
from maxmargin.runtime.validation import Array
from maxmargin.svm.models.multiclass import PairTable, pairs, votes_with_confidence

LINEAR, KIND_RBF, KIND_LAPLACIAN, KIND_POLYNOMIAL, KIND_SIGMOID = range(5)
NO_LABEL, SIGN, REGION, HIGHEST, VOTES, CONFIDENCE = range(6)
ONE_OUTPUT = np.ones(1, bool)


def support_codes(estimator: Any) -> Array:
    """The class of each listed support vector, as its position in ``classes_``."""
    return np.repeat(np.arange(len(estimator.classes_)), estimator.n_support_)


def support_coefficients(estimator: Any) -> Array:
    """The coefficients of the listed support vectors in every model, shape (n_support, models); ``dual_coef_`` of
    one-vs-one, is converted from LIBSVM's layout."""
    dual = estimator.dual_coef_.toarray() if sp.issparse(estimator.dual_coef_) else estimator.dual_coef_
    if getattr(estimator, "_scheme", "") != "ovo" or len(estimator.classes_) == 2:
        return dual.T
    return PairTable(dual, estimator.n_support_).coefficients()


def explained(estimator: Any, decision: Array, prediction: Any) -> tuple[Array, str]:
    """The combination of the models' values that is explained, and its description."""
    if not is_classifier(estimator):
        words = "f, positive inside" if hasattr(estimator, "offset_") else "f"
        return np.ones(1), words
    names = estimator.classes_.tolist()
    mixture = np.zeros(len(decision))
    if len(decision) == 1:
        mixture[0] = 1.0
        return mixture, f"f of {names[1]!r} against {names[0]!r}"
    predicted = names.index(plain(prediction))
    present = getattr(estimator, "_present", np.ones(len(names), bool))
    if getattr(estimator, "_scheme", "ovr") == "ovo":
        strength = votes_with_confidence(decision[None, :], present)[0]
        rival = _rival(strength, predicted, present)
        mixture[pairs(len(names)).index((min(predicted, rival), max(predicted, rival)))] = (
            1.0 if predicted < rival else -1.0
        )
    else:
        rival = _rival(decision, predicted, present)
        mixture[predicted], mixture[rival] = 1.0, -1.0
    return mixture, f"f of {names[predicted]!r} against {names[rival]!r}"


def _rival(strength: Array, predicted: int, present: Array) -> int:
    """The strongest other class."""
    strength = np.where(present, strength, -np.inf)
    strength[predicted] = -np.inf
    best = int(strength.argmax())
    return best if best != predicted else (predicted + 1) % len(strength)


def plain(value: Any) -> Any:
    """A Python number or string."""
    return value.item() if isinstance(value, np.generic) else value


def compiled_linear(coef: Array, intercept: Array, rule: int = NO_LABEL, present: Array = ONE_OUTPUT) -> Any:
    """w_t'x + b_t, one row of ``coef`` per output."""
    weights = np.ascontiguousarray(coef, np.float64)
    offsets = np.ascontiguousarray(np.broadcast_to(intercept, (len(weights),)), np.float64)
    return _native.Predictor(LINEAR, 1.0, 0.0, 1, weights, None, None, offsets, rule, present)


def compiled_expansion(expansion: Any, rule: int = NO_LABEL, present: Array = ONE_OUTPUT) -> Any:
    """A ``KernelExpansion`` as a compiled function; None where the kernel has no such form."""
    if type(expansion.kernel) is Linear:
        return compiled_linear(expansion.weights, expansion.intercept, rule, present)
    form = _form_of(expansion.kernel)
    if form is None:
        return None
    anchors = expansion.anchors.toarray() if sp.issparse(expansion.anchors) else expansion.anchors
    table = expansion.pair_table
    return _native.Predictor(
        *form,
        np.ascontiguousarray(anchors, np.float64),
        np.ascontiguousarray(expansion.coefficients, np.float64) if table is None else table.rows,
        None if table is None else table.counts,
        np.ascontiguousarray(expansion.intercept, np.float64),
        rule,
        present,
    )


def sparse_kernel_values(kernel: Kernel, anchors: Any) -> Any:
    """Compiled kernel values of sparse rows with sparse anchors (``_native.SparseKernelValues``); None where the kernel
    has no such form, or where expanded distances between the anchors lose digits."""
    form = _form_of(kernel)
    if form is None or form[0] == KIND_LAPLACIAN or getattr(kernel, "shift_", None) is not None:
        return None
    if form[0] == KIND_RBF and float(kernel.gamma) * squared_norms(anchors).max(initial=0.0) > FAR_EXPONENT:
        return None
    by_column = sp.csr_matrix(anchors.T, dtype=np.float64)
    return _native.SparseKernelValues(*form, csr_arrays(by_column), anchors.shape[0])


def _form_of(kernel: Kernel) -> tuple[int, float, float, int] | None:
    """The kernel's kind, factor, constant and degree, as the compiled function takes them."""
    if type(kernel) is RBF:
        return KIND_RBF, float(kernel.gamma) * math.log2(math.e), 0.0, 1
    if type(kernel) is Laplacian:
        return KIND_LAPLACIAN, float(kernel.gamma) * math.log2(math.e), 0.0, 1
    if type(kernel) is Sigmoid:
        return KIND_SIGMOID, float(kernel.gamma), float(kernel.coef0), 1
    if type(kernel) is Polynomial and is_integer(kernel.degree) and 1 <= kernel.degree <= 1024:
        return KIND_POLYNOMIAL, float(kernel.gamma), float(kernel.coef0), int(kernel.degree)
    return None
