"""Laws of invariance: what must not change a model does not.

Two solutions of one strongly convex problem, each with an objective at most g above the optimum, have functions whose
distance in feature space is at most 2 sqrt(2 g): P(w) - P* >= |w - w*|^2 / 2. So their values at x, without intercepts,
differ by at most 2 sqrt(2 g k(x, x)); g is at most tol times the sum of the bounds.
"""

from __future__ import annotations

import math

import numpy as np

from attack.apart import problems, sample_weights, scheme_of
from attack.case import answers_of, handed, need, need_same_refusal, within
from attack.checks.certificates import rounding
from attack.checks.predictions import of_classes
from attack.functions import core, values
from attack.state import differences, public, state_of


def permuted(trial):
    """The order of the training rows changes nothing: w, or the coefficient of every row, is the same to the last bit,
    and so are the intercepts. (Equal rows share one coefficient.)"""
    case = trial.case
    need(not case.precomputed and not case.params.get("warm_start"))
    order = np.random.default_rng(len(case.X)).permutation(len(case.X))
    other = case.but(
        X=case.X[order],
        y=None if case.y is None else case.y[order],
        weight=None if case.weight is None else case.weight[order],
    )
    got, want = core(other, trial.fit(other)), core(case, trial.model)
    if "rows" in want:
        groups = _equal_rows(other)
        size = np.bincount(groups, weights=np.abs(want["rows"][order]).sum(axis=1))
        for part, rows in ((got, got["rows"]), (want, want["rows"][order])):
            part["rows"] = np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
        within(got.pop("rows"), want.pop("rows"), 4e-16 * len(order) * size[:, None], "coefficients")
    _same_bits(got, want, "the order of the rows")


def _same_bits(got, want, cause):
    changed = [name for name in want if not np.array_equal(got[name], want[name])]
    if changed:
        name = changed[0]
        apart = np.abs(got[name] - want[name]).max() if got[name].shape == want[name].shape else np.nan
        raise AssertionError(f"{cause} changes {changed}, {name} by {apart:.3g}")


def _equal_rows(case):
    """A number for each row, the same for rows of equal content and target."""
    target = np.zeros(len(case.X)) if case.y is None else np.unique(case.y, return_inverse=True)[1].ravel()
    key = np.column_stack((case.X.astype(np.float64) + 0.0, target))
    return np.unique(key, axis=0, return_inverse=True)[1].ravel()


def repeated(trial):
    """A row of weight two is the same as the row given twice: the same function, to the last bits."""
    case = trial.case
    need(case.weight is not None and not case.precomputed)
    w = np.asarray(case.weight)
    need((w == np.round(w)).all() and w.sum() <= 3 * len(w) and len(w) < 500)
    times = w.astype(int)
    other = case.but(
        X=np.repeat(case.X, times, axis=0), y=None if case.y is None else np.repeat(case.y, times), weight=None
    )
    if hasattr(trial.model, "classes_"):
        need(len(np.unique(other.y)) == len(trial.model.classes_))
    again = trial.like(other)
    got, want = core(other, again.model), core(case, trial.model)
    if "rows" in want:
        here, there = values(trial), values(again, case.new)
        within(there[0], here[0], here[1] + there[1], "values of a model of repeated rows")
        got, want = ({"intercept_": part["intercept_"]} for part in (got, want))
    _same_bits(got, want, "repeating rows instead of weighting them")


def _distance(trial, other):
    """How far apart two certified solutions of the same problems may be, per output; and which outputs those are."""
    gram = trial.kernel(trial.case.X, trial.case.X)
    bounds = []
    for mine, theirs in zip(problems(trial.case, trial.model), problems(other.case, other.model), strict=True):
        sides = [part.judge(gram.values).gap for part in (mine, theirs)]
        slack = rounding(mine, gram)[1] + rounding(theirs, gram)[1]
        bounds.append(sum(math.sqrt(2 * (max(0.0, side) + slack)) for side in sides))
    return np.array(bounds)


def _same_function(trial, other, what):
    """Two models of one problem agree as far as their gaps say, apart from their intercepts."""
    case = trial.case
    need(trial.model.report_.kernel_valid is not False and not math.isinf(case.params.get("C", 1.0)))
    need(case.estimator != "NuSVC")  # its values are divided by rho, which is another number in each
    distance = _distance(trial, other)
    need(len(distance) == len(np.atleast_1d(trial.model.intercept_)))
    want, bound = values(trial)
    got, more = values(other, case.new)
    length = np.sqrt(np.abs(np.asarray(_self_similarity(trial, case.new), np.float64)))
    allowed = length[:, None] * distance + bound + more
    within(got - other.model.intercept_, want - trial.model.intercept_, allowed, what)


def _self_similarity(trial, points):
    if trial.case.precomputed:
        return np.ones(len(points))
    return np.array([trial.kernel(x[None], x[None]).values[0, 0] for x in points])


def sparse_or_dense(trial):
    """Sparse and dense points of the same values make the same function, and get the same answers from it."""
    case = trial.case
    need(not case.precomputed)
    other = trial.like(case.but(sparse=not case.sparse))
    want, bound = values(trial)
    if "decision_function_shape" not in case.params or len(trial.model.classes_) == 2:
        got = trial.decision(model=trial.model)
        answered = other.decision(model=trial.model)
        size, finite = bound if got.ndim > 1 else bound.sum(axis=1), np.isfinite(got)
        if hasattr(trial.model, "classes_") and got.ndim > 1 and scheme_of(case, got.shape[1]) == "ovo":
            size = of_classes(bound, got.shape[1])
            finite &= (np.abs(want) > bound).all(axis=1)[:, None]  # a vote that rounding decides may go either way
        if got.shape == size.shape:
            within(answered[finite], got[finite], 2 * size[finite] + 1e-300, "answers to sparse and to dense points")
    need(case.y is None or not hasattr(trial.model, "classes_") or scheme_of(case, len(trial.model.classes_)) == "ovo")
    need(other.model.report_.converged and trial.model.report_.converged)
    _same_function(trial, other, "a model of sparse and of dense points")


def sparse_bits(trial):
    """Sparse and dense points of the same values make the same linear model, and get the same answers from it up to
    rounding."""
    case = trial.case
    other = trial.like(case.but(sparse=not case.sparse))
    got, want = core(case, other.model), core(case, trial.model)
    within(got["coef_"], want["coef_"], 0.0, "coef_ of sparse and of dense points")
    _, bound = values(trial)
    here, there = trial.decision(), other.decision(model=trial.model)
    finite = np.isfinite(here)
    size = bound.reshape(here.shape)
    within(there[finite], here[finite], 2 * size[finite] + 1e-300, "answers to sparse and to dense points")


def float32_or_float64(trial):
    """Points that float32 holds exactly make the same function in either type, or are refused in both."""
    case = trial.case
    need(not case.precomputed)
    with np.errstate(over="ignore"):
        X32 = case.X.astype(np.float32)
        new32 = case.new.astype(np.float32)
    need(np.isfinite(X32).all() and np.isfinite(new32).all())
    double = trial.like(case.but(X=X32.astype(np.float64), new=new32.astype(np.float64)))
    single = trial.like(case.but(X=X32, new=new32))
    need_same_refusal(single, double)
    need(
        case.y is None or not hasattr(single.model, "classes_") or scheme_of(case, len(single.model.classes_)) == "ovo"
    )
    need(single.model.report_.converged and double.model.report_.converged)
    _same_function(double, single, "a model of float32 and of float64 points")


def threads(trial):
    """The number of threads changes no bit of the model or of its answers."""
    case = trial.case
    first = trial.fit(case.but(params={"n_jobs": 1}))
    points = handed(case, case.new)
    answers = state_of(answers_of(first, points))
    for n_jobs in (2, 4):
        model = trial.fit(case.but(params={"n_jobs": n_jobs}))
        found = differences(public(first), public(model), ignore=("n_jobs", "threads", "seconds"))
        assert not found, f"n_jobs={n_jobs} changes {found}"
        assert state_of(answers_of(model, points)) == answers, f"n_jobs={n_jobs} changes answers"


def fitted_again(trial):
    """The same fit twice gives the same bits, whether the estimator is new or was fitted before."""
    case = trial.case
    need(not case.params.get("warm_start"))
    model = trial.fit(case)
    found = differences(public(trial.model), public(model), ignore=("seconds",))
    assert not found, f"a second fit differs in {found}"


def zero_weights(trial):
    """A row of weight zero changes nothing."""
    case = trial.case
    need(not case.precomputed and len(case.X) < 500 and not case.params.get("warm_start"))
    extra = np.random.default_rng(7).permutation(len(case.X))[:3]
    beside = (case.X[extra] * 2 + 1).astype(case.X.dtype)
    need(np.isfinite(beside).all())
    other = case.but(
        X=np.concatenate((case.X, beside)),
        y=None if case.y is None else np.concatenate((case.y, case.y[extra])),
        weight=np.concatenate((sample_weights(case), np.zeros(len(extra)))),
    )
    got, want = core(other, trial.fit(other)), core(case, trial.model)
    if "rows" in want:
        assert not got["rows"][len(case.X) :].any(), "a row of weight zero has a coefficient"
        got["rows"] = got["rows"][: len(case.X)]
    _same_bits(got, want, "a row of weight zero")


def scaled_weights(trial):
    """Weights four times as large are the same as C four times as large, to the last bit."""
    case = trial.case
    need("C" in case.params and not math.isinf(case.params["C"]) and not case.params.get("warm_start"))
    other = case.but(weight=4.0 * sample_weights(case), params={"C": case.params["C"] / 4.0})
    _same_bits(core(other, trial.fit(other)), core(case, trial.model), "moving a factor from C to the weights")


def renamed(trial):
    """Names of the classes are only names: with others in the same order, the model is the same."""
    case = trial.case
    need(hasattr(trial.model, "classes_") and not isinstance(case.params.get("class_weight"), dict))
    codes = np.searchsorted(trial.model.classes_, case.y)
    names = np.array([f"class {code}" for code in range(len(trial.model.classes_))])
    model = trial.fit(case.but(y=names[codes]))
    X = handed(case, case.new)
    got, want = model.predict(X), trial.model.predict(X)
    assert np.array_equal(np.searchsorted(names, got), np.searchsorted(trial.model.classes_, want)), "names matter"
    _same_bits(core(case, trial.model), core(case.but(y=names[codes]), model), "other names of the classes")
