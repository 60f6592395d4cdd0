"""Predictions of models that describe a region: inside or outside, and the signed distance.

f(x) = s(x) - rho        s: the score of a point, rho: the level that the region's boundary has
inside where f(x) >= 0
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array


@documented()
class RegionMixin(OutlierMixin):
    """For an estimator with ``offset_`` (rho), ``_new_points`` (validated points) and ``_decision`` (their f, one
    column)."""

    offset_: Array
    _new_points: Any
    _decision: Any

    fit_predict = all_or_nothing(OutlierMixin.fit_predict)

    def decision_function(self, X: Any) -> Array:
        """Signed value of new points: positive inside the region, negative outside.

        {X -> decision_value}
        """
        values: Array = self._decision(self._new_points(X))
        return values[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Unshifted values of new points: ``decision_function(X) + offset_``.

        {X -> scores}
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """1 for new points inside the region (its boundary included), -1 outside.

        {X -> labels}
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
