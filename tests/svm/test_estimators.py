"""Every estimator obeys scikit-learn's contract, with no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVDD, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR

ESTIMATORS = [
    SVC(),
    NuSVC(),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVC(multiclass="ovr"),
    SVC(multiclass="crammer_singer"),
    SVC(kernel="linear"),
    SVC(fit_intercept=False),
    SVR(fit_intercept=False),
    QuantileSVR(),
    QuantileSVR(kernel="linear", quantiles=0.6),
    SVDD(),
    SVDD(kernel="linear", nu=0.2),
    LinearSVR(loss="pinball", quantile=0.6),
]


# Some checks make nu=0.5 infeasible by their weights; NuSVC then says which nu it uses instead.
@pytest.mark.filterwarnings("ignore:.*feasible, and is used instead:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)
