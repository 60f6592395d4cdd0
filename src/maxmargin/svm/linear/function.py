"""What fitted linear models share: values of w'x + b, and the two forms of ``coef_``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin.problems.design import Design
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import effective_threads, run_strips, single_threaded_blas
from maxmargin.runtime.validation import Array, Points, check_new_points
from maxmargin.svm.models.predictor import PredictorMixin

FLOAT64_TILE_ROWS = 4096  # brought to float64 at a time
THREADS_MIN_ENTRIES = 200_000  # of dense points from which threads help


@documented()
class LinearFunction(PredictorMixin):
    """An estimator with ``coef_`` of shape (outputs, d) and ``intercept_`` of shape (outputs,)."""

    coef_: Any
    intercept_: Array

    def _values(self, X: Points) -> Array:
        """coef_ x + intercept_ of validated points, shape (n, outputs), in float64."""
        coef = np.atleast_2d(self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_)
        weights = np.ascontiguousarray(coef.T)
        if sp.issparse(X) or X.size <= THREADS_MIN_ENTRIES:
            with single_threaded_blas():
                return np.asarray(X @ weights) + self.intercept_
        threads = effective_threads(getattr(self, "n_jobs", None))
        if len(coef) == 1:
            return Design(X, threads=threads).times(coef[0])[:, None] + self.intercept_
        out = np.empty((X.shape[0], len(coef)))

        def work(rows: slice) -> None:
            out[rows] = X[rows].astype(np.float64, copy=False) @ weights

        with single_threaded_blas():
            run_strips(work, X.shape[0], FLOAT64_TILE_ROWS, threads)
        return out + self.intercept_

    def sparsify(self) -> Self:
        """Make ``coef_`` a CSR matrix, which is smaller where most weights are zero.

        {Returns, self}
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array again.

        {Returns, self}
        """
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        return self


def class_codes(decision: Array, present: Array) -> Array:
    """Class codes of decision values: the sign of one, or the largest of several."""
    if decision.shape[1] == 1:
        return (decision[:, 0] > 0).astype(int)
    return np.where(present, decision, -np.inf).argmax(axis=1)


@documented()
class LinearClassifier(LinearFunction):
    """A linear function per class, or one of two classes; ``_present`` are the classes that had weight."""

    classes_: Array
    _present: Array

    def _codes(self, decision: Array) -> Array:
        return class_codes(decision, self._present)

    def _decision_and_codes(self, X: Any) -> tuple[Array, Array]:
        decision = self._values(check_new_points(self, X))
        return decision, self._codes(decision)

    def decision_function(self, X: Any) -> Array:
        """Decision values of new points.

        {X -> decision}
        """
        decision = self._values(check_new_points(self, X))
        return decision[:, 0] if decision.shape[1] == 1 else np.where(self._present, decision, -np.inf)

    def predict(self, X: Any) -> Array:
        """Labels of new points.

        {X -> labels}
        """
        return self.classes_[self._decision_and_codes(X)[1]]
