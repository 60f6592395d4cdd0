"""``l1_min_c``: below it an L1 penalty leaves no weight, above it some; scikit-learn's for a penalised intercept."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_iris, make_classification

from maxmargin import LinearSVC, l1_min_c


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("data", ["iris", "two unequal classes", "sparse"])
def test_it_is_the_border(data, fit_intercept):
    X, y = load_iris(return_X_y=True)
    if data != "iris":
        X, y = make_classification(120, 6, weights=[0.8], random_state=3)
        X = sp.csr_matrix(X + 1) if data == "sparse" else X + 1
    least = l1_min_c(X, y, fit_intercept=fit_intercept)
    weights = [
        LinearSVC(penalty="l1", C=c * least, fit_intercept=fit_intercept, tol=1e-9).fit(X, y).coef_
        for c in (0.999, 1.001)
    ]
    assert not weights[0].any()
    assert weights[1].any()


def test_a_penalised_intercept_is_scikit_learn_s():
    X, y = load_iris(return_X_y=True)
    for options in ({"intercept_scaling": 3.0}, {"loss": "log"}, {"fit_intercept": False}):
        assert l1_min_c(X, y, **options) == sklearn.svm.l1_min_c(X, y, **options)


def test_refusals():
    with pytest.raises(ValueError, match=r"Ill-posed l1_min_c calculation"):
        l1_min_c(np.ones((4, 1)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="loss must be"):
        l1_min_c(np.ones((4, 1)), [0, 1, 0, 1], loss="hinge")
