"""A fit takes as many numbers from a random generator as scikit-learn's does: programs that seed once rely on it."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris

import maxmargin

X, y = load_iris(return_X_y=True)
BINARY = y < 2
ESTIMATORS = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"]


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("rows", [slice(None), BINARY], ids=["three classes", "two classes"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_global_generator_goes_on_as_after_a_fit_of_scikit_learn(name, rows):
    after = []
    for package in (sklearn.svm, maxmargin):
        np.random.seed(7)  # noqa: NPY002 (programs do)
        getattr(package, name)().fit(X[rows], y[rows])
        after.append(np.random.rand())  # noqa: NPY002
    assert after[0] == after[1]


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("name", ["SVC", "NuSVC", "LinearSVC", "LinearSVR"])
def test_a_generator_that_is_given_goes_on_too(name):
    after = []
    for package in (sklearn.svm, maxmargin):
        generator = np.random.RandomState(7)
        getattr(package, name)(random_state=generator).fit(X, y)
        after.append(generator.rand())
    assert after[0] == after[1]


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "LinearSVC", "LinearSVR"])
@pytest.mark.parametrize("value", ["x", -1, 2.5])
def test_other_states_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match="random_state must be"):
        getattr(maxmargin, name)(random_state=value).fit(X, y)
