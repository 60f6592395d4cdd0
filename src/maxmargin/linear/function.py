"""What fitted linear machines share: values of w'x + b, and the two forms of ``coef_``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin._parallel import single_threaded_blas
from maxmargin._validation import Array, Points

STRIP = 4096  # rows that are brought to float64 at a time


class LinearFunction:
    """An estimator with ``coef_`` of shape (outputs, d) and ``intercept_`` of shape (outputs,)."""

    coef_: Any
    intercept_: Array

    def _values(self, X: Points) -> Array:
        """coef_ x + intercept_ of validated points, shape (n, outputs), in float64."""
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        out = np.empty((X.shape[0], len(coef)))
        if sp.issparse(X) and X.format == "csc":  # by columns as it is: rows cannot be cut out of it
            return np.asarray(X @ np.ascontiguousarray(coef.T)) + self.intercept_
        with single_threaded_blas():
            for start in range(0, X.shape[0], STRIP):
                part = X[start : start + STRIP]
                out[start : start + STRIP] = part.astype(np.float64, copy=False) @ coef.T
        return out + self.intercept_

    def sparsify(self) -> Self:
        """Make ``coef_`` a CSR matrix, which is smaller where most weights are zero.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array again.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        return self
