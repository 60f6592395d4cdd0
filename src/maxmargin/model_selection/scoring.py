"""Scorers: scikit-learn's by name, a user's own functions, and what can be asked of them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.metrics import check_scoring, get_scorer_names

from maxmargin.runtime.parameter_docs import documented


def scorer_of(estimator: Any, scoring: Any, others: Sequence[str] = ()) -> Any:
    """The scorer that a user names; None is the estimator's own ``score``. ``others`` are names that are known
    elsewhere."""
    if isinstance(scoring, (list, tuple, set, Mapping)):
        raise TypeError(f"scoring must be one score, by name or as a function; got {scoring!r}.")
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        near = difflib.get_close_matches(scoring.lower(), [*others, *get_scorer_names()], n=1)
        known = f"one of {', '.join(map(repr, others))}, or of" if others else "one of"
        raise ValueError(
            f"scoring must be {known} sklearn.metrics.get_scorer_names(), or a function; got scoring={scoring!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
        )
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise TypeError(f"scoring must be the name of a scorer or a function; got {scoring!r}.")
    return check_scoring(estimator, scoring=scoring)


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer can weigh samples."""
    function = getattr(scorer, "_score_func", None)
    if function is None:  # a function of the user's own, or the estimator's own score
        function = scorer if "PassthroughScorer" not in type(scorer).__name__ else None
    if function is None:
        return True
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return "sample_weight" in known


@documented()
class ScoreByScorer:
    """To the left of scikit-learn's mixins, which have a ``score`` of their own."""

    scorer_: Any
    _best: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the best model on new points, by ``scorer_``.

        {X_new, y, sample_weight -> score}
        """
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self._best("score"), X, y, **extra))
