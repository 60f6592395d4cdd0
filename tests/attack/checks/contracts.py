"""Laws of the interface: what every scikit-learn estimator promises, and what this library adds."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from attack.case import answers_of, handed, need, quiet
from attack.state import differences, state_of

SPOILT = ("nan in X", "nan in y", "y too short", "negative weight", "weights all zero", "wrong type", "text in X")


def parameters(trial):
    """fit changes no parameter; a clone has the same parameters and is not fitted; set_params takes get_params."""
    case = trial.case
    before, model = trial.make(case), trial.model
    names = before.get_params(deep=False)
    asked = {name: repr(value) for name, value in names.items()}
    got = {name: repr(value) for name, value in model.get_params(deep=False).items()}
    assert got == asked, f"fit changed parameters: {[name for name in asked if got.get(name) != asked[name]]}"
    copied = clone(model)
    assert {n: repr(v) for n, v in copied.get_params(deep=False).items()} == asked, "clone has other parameters"
    left = [name for name in vars(copied) if name.endswith("_") and not name.startswith("_")]
    assert not left, f"a clone is fitted: {left}"
    copied.set_params(**copied.get_params(deep=False))
    ask = getattr(copied, "predict", None) or copied.transform
    with pytest.raises(NotFittedError):
        ask(handed(case, case.X))


def input_untouched(trial):
    """fit and predict leave their arguments as they are."""
    case = trial.case
    X, y, w = handed(case, case.X), copy.deepcopy(case.y), copy.deepcopy(case.weight)
    before = state_of([X, y, w])
    arguments = () if y is None else (y,)
    weights = {} if w is None else {"sample_weight": w}
    quiet(lambda: trial.make(case).fit(X, *arguments, **weights))
    assert state_of([X, y, w]) == before, "fit changed its arguments"
    new = handed(case, case.new)
    before = state_of(new)
    quiet(lambda: answers_of(trial.model, new))
    assert state_of(new) == before, "predict changed its argument"


def independent(trial):
    """A fitted model does not change when the arrays that it was fitted on do."""
    case = trial.case
    X = case.X.copy()
    y, w = copy.deepcopy(case.y), copy.deepcopy(case.weight)
    need(not case.sparse and not case.precomputed)
    model = quiet(
        lambda: trial.make(case).fit(X, *(() if y is None else (y,)), **({} if w is None else {"sample_weight": w}))
    )
    new = handed(case, case.new)
    before = state_of(quiet(lambda: answers_of(model, new)))
    X[:] = 0
    if w is not None:
        w[:] = 0
    if y is not None:
        y[:] = y[0]
    found = differences(before, state_of(quiet(lambda: answers_of(model, new))))
    assert not found, f"changing X, y and the weights after fit changes {found}"


def refused(trial):
    """A fit that is refused leaves the model exactly as it was, whatever was wrong with it."""
    case, model = trial.case, trial.model
    rng = np.random.default_rng(len(case.X))
    answers = quiet(lambda: answers_of(model, handed(case, case.new)))  # first: it may fill caches
    before = state_of(model)
    for spoilt in SPOILT:
        arguments = _spoilt(case, spoilt, rng, hasattr(model, "classes_"))
        if arguments is None:
            continue
        X, y, weights = arguments
        try:
            quiet(lambda X=X, y=y, w=weights: model.fit(X, *(() if y is None else (y,)), **w))
        except (ValueError, TypeError):
            found = differences(before, state_of(model))
            assert not found, f"a refused fit ({spoilt}) changed {found}"
        else:
            raise AssertionError(f"fit accepts {spoilt}")
    after = quiet(lambda: answers_of(model, handed(case, case.new)))
    assert state_of(answers) == state_of(after), "a refused fit changed the answers"


def _spoilt(case, what, rng, classifies):
    """Arguments of a fit that must be refused, with another number of columns than the first fit had."""
    X = np.column_stack((case.X.astype(np.float64), case.X[:, :1]))
    y, weights = case.y, {}
    if case.precomputed:
        return None
    if what == "nan in X":
        X[int(rng.integers(len(X))), 0] = np.nan
    elif what == "nan in y":
        if y is None or classifies:
            return None
        y = y.copy()
        y[0] = np.nan
    elif what == "y too short":
        if y is None:
            return None
        y = y[:-1]
    elif what == "negative weight" or what == "weights all zero":
        if not case.extra.get("weights", True):
            return None
        w = np.zeros(len(X))
        w[0] = -1.0 if what == "negative weight" else 0.0
        weights = {"sample_weight": w}
    elif what == "wrong type":
        X = None
    else:
        X = X.astype(object)
        X[0, 0] = "text"
    return X, y, weights


def refused_parameter(trial):
    """A fit that is refused because of a parameter leaves the model as it was, and names the parameter."""
    case, model = trial.case, trial.model
    wrong = {
        "C": -1.0, "tol": -1.0, "nu": 2.0, "epsilon": -1.0, "cache_size": -3, "solver": "magic", "gamma": -2.0,
        "max_iter": 1.5, "n_jobs": 0, "kernel": "magic", "alpha": -1.0, "n_clusters": 0, "n_neighbors": 0,
        "n_components": 0, "fit_intercept": "yes", "loss": "magic", "degree": -1,
    }  # fmt: skip
    kernel_params = {"gamma": ("rbf", "laplacian", "poly", "sigmoid", "chi2"), "degree": ("poly",)}
    arguments = () if case.y is None else (case.y,)
    for name, value in wrong.items():
        if name not in model.get_params():
            continue
        if name in kernel_params and case.params.get("kernel", "rbf") not in kernel_params[name]:
            continue
        good = model.get_params()[name]
        model.set_params(**{name: value})
        before = state_of(model)
        try:
            quiet(lambda: model.fit(handed(case, case.X), *arguments))
        except (ValueError, TypeError) as error:
            named, text = name in str(error), str(error)
            assert named, f"the error for {name}={value!r} does not name it: {text}"
            found = differences(before, state_of(model))
            assert not found, f"a refused fit ({name}={value!r}) changed {found}"
        else:
            raise AssertionError(f"fit accepts {name}={value!r}")
        finally:
            model.set_params(**{name: good})


def pickled(trial):
    """A pickled model gives the same bits."""
    case, model = trial.case, trial.model
    again = pickle.loads(pickle.dumps(model))
    X = handed(case, case.new)
    one, other = (quiet(lambda m=m: answers_of(m, X)) for m in (model, again))
    assert state_of(one) == state_of(other), "a pickled model answers differently"
