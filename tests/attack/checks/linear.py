"""Laws of linear models: w and b have the objective that is reported, and no other program finds a better one."""

from __future__ import annotations

import math

import numpy as np

from attack.apart import class_weights, dense, sample_weights
from attack.case import handed, need, need_same_refusal, within
from reference.linear import Linear


def problems(trial):
    """The linear problems of a fit with their (w, b)."""
    case, model = trial.case, trial.model
    params, w = model.get_params(), sample_weights(case)
    W, b = np.atleast_2d(dense(model.coef_)), np.ravel(model.intercept_)
    X = case.X
    if case.estimator == "LinearOneClassSVM":
        one = Linear("one_class", X[w > 0], np.ones((w > 0).sum()), w[w > 0], nu=params["nu"])
        return [(one, W[0], float(b[0]))]
    scaling = params["intercept_scaling"]
    common = {
        "squared": params["loss"].startswith("squared"),
        "fit_intercept": params["fit_intercept"],
        "scaling": math.inf if scaling is None or not params["fit_intercept"] else float(scaling),
    }
    need(not math.isinf(params["C"]))
    if case.estimator == "LinearSVR":
        used = w > 0
        y = np.asarray(case.y, np.float64)[used]
        c = params["C"] * w[used]
        return [(Linear("regress", X[used], y, c, epsilon=params["epsilon"], **common), W[0], float(b[0]))]
    need(params["multi_class"] == "ovr")
    codes = np.searchsorted(model.classes_, case.y)
    factors = class_weights(case, model.classes_, codes)
    found = []
    for k in range(len(W)):
        positive = codes == (1 if len(W) == 1 else k)
        c = params["C"] * w * (factors[codes] if len(W) == 1 else np.where(positive, factors[k], 1.0))
        used = c > 0
        y = np.where(positive, 1.0, -1.0)[used]
        if len(np.unique(y)) == 2:
            one = Linear("classify", X[used], y, c[used], l1=params["penalty"] == "l1", **common)
            found.append((one, W[k], float(b[k])))
    need(found)
    return found


def objective(trial):
    """The primal objective that is reported is that of coef_ and intercept_."""
    total = slack = 0.0
    for problem, w, b in problems(trial):
        total, slack = total + problem.objective(w, b), slack + problem.rounding(w, b)
    reported = trial.model.report_.primal_objective
    bound = slack + 1e-9 * abs(total)
    assert abs(reported - total) <= bound, (
        f"the objective is {total!r}, and reported is {reported!r} (within {bound:.1e})"
    )


def lower_bound(trial):
    """The dual objective that is reported is a lower bound: no other program's solution has a smaller objective; and a
    fit that is called optimal is at most tol, relatively, above any of them."""
    report = trial.model.report_
    need(len(trial.case.X) <= 400)
    best = slack = 0.0
    for problem, w, b in problems(trial):
        mine = problem.objective(w, b)
        others = [problem.objective(*peer) for peer in problem.peers()]
        least, error = min(others), problem.rounding(w, b)
        if report.converged:
            allowed = report.tol * max(abs(mine), abs(least)) / max(1.0 - report.tol, 0.1) + error
            if problem.kind == "one_class":  # where zero is optimal the gap is a share of the dual's own terms
                total = problem.nu * problem.c.sum()
                squares = np.einsum("ij,ij->i", problem.X.astype(np.float64), problem.X.astype(np.float64))
                allowed += report.tol * 0.5e-8 * total**2 * float(squares.mean())
            assert mine <= least + allowed, (
                f"optimal, but the objective {mine!r} is {mine - least:.3g} above another program's, {least!r}: "
                f"tol = {report.tol:g} allows {allowed:.3g}"
            )
        best, slack = best + min(least, mine), slack + error
    assert report.dual_objective <= best + slack + 1e-9 * abs(best), (
        f"the dual objective {report.dual_objective!r} is no lower bound: another program finds {best!r}"
    )


def reported_gap(trial):
    """The reported relative gap is (primal - dual) / the larger of both, and at most tol where the fit is called
    optimal."""
    report = trial.model.report_
    gap, size = report.duality_gap, max(abs(report.primal_objective), abs(report.dual_objective))
    need(math.isfinite(gap) and len(np.atleast_1d(report.margins)) == 1)
    if report.converged:
        assert report.relative_gap <= report.tol, f"optimal, with a relative gap of {report.relative_gap:.3g}"
    if size > 0 and trial.case.estimator != "LinearOneClassSVM":
        within(report.relative_gap, gap / size, 1e-9, "relative_gap")


def linear_values(trial):
    """decision_function is coef_ x + intercept_, and predict names what it says."""
    from attack.functions import values

    case, model = trial.case, trial.model
    want, bound = values(trial)
    want = np.asarray(want, np.float64)
    got = trial.decision().reshape(want.shape)
    if want.shape[1] > 1:
        w = sample_weights(case)
        codes = np.searchsorted(model.classes_, case.y)
        factors = class_weights(case, model.classes_, codes)
        present = np.bincount(codes, weights=w * factors[codes], minlength=len(model.classes_)) > 0
        assert (got[:, ~present] == -np.inf).all(), "a class without weight has a finite decision value"
        want = np.where(present, want, -np.inf)
    finite = np.isfinite(want)
    within(got[finite], want[finite], bound[finite] + 1e-300, "decision_function")
    labels = model.predict(handed(case, case.new))
    if not hasattr(model, "classes_"):
        return
    if want.shape[1] == 1:
        sure, codes = np.abs(want[:, 0]) > bound[:, 0], (want[:, 0] > 0).astype(int)
    else:
        top = np.sort(want, axis=1)
        sure, codes = top[:, -1] - top[:, -2] > 2 * bound.max(axis=1), want.argmax(axis=1)
    wrong = sure & (labels != model.classes_[codes])
    assert not wrong.any(), f"predict gives {labels[wrong][0]!r} for the values {want[wrong][0]}"


def linear_float32(trial):
    """Points that float32 holds exactly make the same w in either type, as far as the objectives of both allow:
    |w - w'| <= sqrt(2 g) + sqrt(2 g') for objectives g and g' above the optimum."""
    case = trial.case
    need(case.params.get("penalty") != "l1")
    with np.errstate(over="ignore"):
        X = case.X.astype(np.float32)
    need(np.isfinite(X).all())
    single, double = (trial.like(case.but(X=X.astype(kind))) for kind in (np.float32, np.float64))
    need_same_refusal(single, double)
    need(single.model.report_.converged and double.model.report_.converged)
    pairs = zip(problems(single), problems(double), strict=True)
    for (problem, w, b), (_, v, a) in pairs:
        slack = problem.rounding(w, b) + problem.rounding(v, a)
        mine, theirs = problem.objective(w, b), problem.objective(v, a)
        tol = trial.model.report_.tol
        above = [tol * max(abs(value), abs(value / (1 - min(tol, 0.5)))) + slack for value in (mine, theirs)]
        limit = sum(math.sqrt(2 * g) for g in above)
        distance = float(np.linalg.norm(w - v))
        assert distance <= limit, (
            f"w of float32 and of float64 points are {distance:.3g} apart, where {limit:.3g} is allowed"
        )


def linear_converges(trial):
    """A tame problem is solved by every solver but the teaching ones, which may stop at max_iter."""
    case = trial.case
    teaching = ("subgradient", "stochastic_subgradient", "pegasos", "coordinate_descent", "smo")
    need(case.tame and case.params.get("solver", "auto") not in teaching)
    assert trial.model.report_.converged, f"a tame problem ends with {trial.model.report_.status.name}"
