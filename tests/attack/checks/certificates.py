"""Laws of optimality: what a fit reports of its solution is true of it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import sklearn.svm

from attack.apart import class_weights, coefficients, problems, sample_weights, scheme_of
from attack.case import need
from reference import optimality
from reference.grams import SAFETY, UNIT

AUDITED_IN_FULL = 500_000  # kernel values up to which a certificate is computed from all of them
FLOAT64_MAX_ROWS = 256  # of a problem whose objectives are computed in float64 throughout, as documented
INTERIOR_POINTS = ("barrier", "qp_dual")  # solvers of convex programs only
PEER_STEPS = 20_000  # of scikit-learn's solver: any function it ends with is one to compare with


def float32_rounding(problem, gram):
    """What kernel values in float32 may change in the objectives of a problem: each of |a|'K|a| and c'K|a| by a few of
    its units."""
    at = np.ix_(problem.rows, problem.rows)
    size = np.abs(np.asarray(problem.a, np.float64))
    f = np.abs(np.asarray(gram.values[at], np.float64)) @ size
    return float(SAFETY * np.finfo(np.float32).eps * ((size + np.where(np.isfinite(problem.c), problem.c, 0.0)) @ f))


def rounding(problem, gram):
    """What float64 may change in f - y, and in the objective, for the solution of a problem."""
    at = np.ix_(problem.rows, problem.rows)
    size = np.abs(np.asarray(problem.a, np.float64))
    n = len(problem.rows)
    K = np.abs(np.asarray(gram.values[at], np.float64))
    of_f = gram.error[at] @ size + SAFETY * UNIT * ((n + 2) * (K @ size + abs(problem.b)) + np.abs(problem.y))
    soft = np.where(np.isfinite(problem.c), problem.c, 0.0)
    scale = 1.0 + np.abs(problem.y) + K @ size + abs(problem.b)
    if math.isfinite(problem.third):
        scale = scale + abs(problem.third)
    of_objective = float((size + soft) @ of_f + SAFETY * UNIT * (n + 2) * ((size + soft) @ scale))
    if problem.kind == "one_class":  # rho is chosen so that rounding leaves no point on the boundary outside
        of_objective += 2e-12 * abs(problem.third) * problem.total
    return float(np.max(of_f, initial=0.0)), of_objective


def judged(trial):
    """The problems of a fit with what the definitions say of each."""
    need(not any("used instead" in message for message in trial.messages))  # nu was lowered
    gram = trial.kernel(trial.case.X, trial.case.X)
    parts = problems(trial.case, trial.model)
    need(parts)
    return [(problem, problem.judge(gram.values), *rounding(problem, gram)) for problem in parts]


def violation(trial):
    """A fit that is called optimal violates no pair of KKT conditions by more than tol, recomputed from the data; and
    the violation that is reported is the one recomputed."""
    report = trial.model.report_
    worst, slack = 0.0, 0.0
    for problem, found, of_f, _ in judged(trial):
        need(math.isfinite(found.violation))
        if report.converged:
            allowed = report.tol * problem.tol_scale
            assert found.violation <= allowed + 2 * of_f, (
                f"status is {report.status.name}, but the violation is {found.violation:.3g}: more than "
                f"tol = {allowed:.3g} and rounding, {2 * of_f:.1e}; reported is {report.kkt_violation:.3g}"
            )
        worst, slack = max(worst, found.violation), max(slack, 2 * of_f)
    if len(trial.case.X) * len(trial.model.support_) <= AUDITED_IN_FULL:
        bound = slack + 1e-9 * worst
        assert worst <= report.kkt_violation + bound, (
            f"the violation is {worst:.6g}, and reported is {report.kkt_violation:.6g} (rounding {slack:.1e})"
        )


def feasible(trial):
    """The multipliers lie inside their bounds, and satisfy the equality constraints."""
    for problem, found, _, _ in judged(trial):
        largest = float(np.max(problem.c[np.isfinite(problem.c)], initial=float(np.abs(problem.a).max(initial=0.0))))
        assert found.outside <= 1e-9 * largest, f"a multiplier is {found.outside:.3g} outside of its bound"
        size = float(np.abs(problem.a).sum()) + largest
        assert found.equality <= 1e-9 * size, f"the equality constraint is off by {found.equality:.3g} of {size:.3g}"


def gap(trial):
    """Primal minus dual objective is at most tol times the sum of the bounds where the fit is called optimal; and both
    objectives are those reported, to rounding: of float64, or of float32 where a problem has many rows, as the report's
    documentation says."""
    report, case = trial.model.report_, trial.case
    need(report.kernel_valid is not False and not math.isinf(case.params.get("C", 1.0)))
    primal = dual = slack = 0.0
    gram = trial.kernel(case.X, case.X)
    for problem, found, _, of_objective in judged(trial):
        allowed = report.tol * problem.tol_scale * problem.total * (2 if problem.kind == "nu_svr" else 1)
        if report.converged:
            assert found.gap <= allowed + of_objective, (
                f"status is {report.status.name}, but the gap is {found.gap:.3g}: more than tol times the sum of the "
                f"bounds, {allowed:.3g}, and rounding, {of_objective:.1e}"
            )
        assert found.gap >= -of_objective, f"the dual objective exceeds the primal one by {-found.gap:.3g}"
        primal, dual, slack = primal + found.primal, dual + found.dual, slack + of_objective
        if len(problem.rows) > FLOAT64_MAX_ROWS:
            slack += float32_rounding(problem, gram)
    for name, value in (("primal_objective", primal), ("dual_objective", dual)):
        reported = getattr(report, name)
        bound = slack + 1e-9 * abs(value)
        assert abs(reported - value) <= bound, f"{name} is {value!r}, and reported is {reported!r} (within {bound:.1e})"


def not_worse(trial):
    """The objective is no worse than that of scikit-learn's solution, beyond what tol allows."""
    report, case = trial.model.report_, trial.case
    need(report.converged and report.kernel_valid is not False)
    need(not math.isinf(case.params.get("C", 1.0)) and len(case.X) <= 400)
    gram = trial.kernel(case.X, case.X)
    K = np.asarray(gram.values, np.float64)
    for problem, found, _, of_objective in judged(trial):
        other = peer(problem, K[np.ix_(problem.rows, problem.rows)])
        allowed = report.tol * problem.tol_scale * problem.total * (2 if problem.kind == "nu_svr" else 1)
        best = peer_objective(problem, gram.values, *other)
        assert found.primal <= best + allowed + 2 * of_objective + 1e-9 * abs(best), (
            f"the objective is {found.primal!r}, and scikit-learn's {best!r}: worse by {found.primal - best:.3g}, "
            f"where tol allows {allowed:.3g}"
        )


def peer(problem, K):
    """Coefficients and intercept that scikit-learn finds for the same problem."""
    kinds = {
        "c_svc": (sklearn.svm.SVC, {"C": 1.0}),
        "nu_svc": (sklearn.svm.NuSVC, {"nu": problem.nu}),
        "eps_svr": (sklearn.svm.SVR, {"C": 1.0, "epsilon": problem.third}),
        "nu_svr": (sklearn.svm.NuSVR, {"C": 1.0, "nu": problem.nu}),
        "one_class": (sklearn.svm.OneClassSVM, {"nu": problem.nu}),
    }
    if problem.kind == "one_class" and problem.nu == 1.0:  # one feasible point; with weights scikit-learn crashes
        return problem.c, 0.0
    kind, params = kinds[problem.kind]
    model = kind(kernel="precomputed", tol=1e-4, max_iter=PEER_STEPS, **params)
    arguments = () if problem.kind == "one_class" else (problem.y,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(K, *arguments, sample_weight=problem.c)
        except ValueError:  # it refuses what we accept
            need(False)
    a = np.zeros(len(problem.y))
    a[model.support_] = np.ravel(model.dual_coef_)
    return a, float(np.ravel(model.intercept_)[0])


def peer_objective(problem, K, a, b):
    """The primal objective of another function, with the rho or epsilon that suits it best and, where the intercept is
    not free, without one."""
    if not np.isfinite(a).all() or not math.isfinite(b):
        return math.inf
    b = b if problem.fit_intercept else 0.0
    f = np.asarray(K[np.ix_(problem.rows, problem.rows)] @ a, np.float64)
    if problem.kind in ("c_svc", "eps_svr"):
        return problem.judge(K, a, b).primal
    if problem.kind == "nu_svr":
        choices = np.append(np.abs(problem.y - f - b), 0.0)
    else:
        choices = problem.y * (f + b) if problem.kind == "nu_svc" else f
    return min(problem.judge(K, a, b, float(third)).primal for third in np.unique(choices))


def joint_optimum(trial):
    """The joint multiclass model called optimal has a violation of at most tol in every row, and a gap of at most
    tol times the sum of the bounds."""
    case, model = trial.case, trial.model
    need(hasattr(model, "classes_") and scheme_of(case, len(model.classes_)) == "crammer_singer")
    need(not math.isinf(case.params.get("C", 1.0)))
    codes = np.searchsorted(model.classes_, case.y)
    c = model.C * sample_weights(case) * class_weights(case, model.classes_, codes)[codes]
    rows = np.flatnonzero(c > 0)
    A = coefficients(case, model)
    gram = trial.kernel(case.X, case.X)  # of rows without weight, too: a given matrix has a column for each
    found = optimality.joint(gram.values[np.ix_(rows, rows)], A[rows], codes[rows], c[rows])
    _, error = gram.expand(A, 0.0)
    slack = 2 * float(error[rows].max(initial=0.0))
    size = float(np.abs(A).max(initial=0.0))
    assert found.outside <= 1e-9 * size, f"a multiplier is {found.outside:.3g} outside of its bound"
    assert found.equality <= 1e-9 * size, f"a row's multipliers sum to {found.equality:.3g}"
    if model.report_.converged:
        tol = model.report_.tol
        assert found.violation <= tol + slack, f"optimal, but the violation is {found.violation:.3g} > tol = {tol:g}"
        if model.report_.kernel_valid is not False:
            allowed = (tol + slack) * float(c.sum()) + SAFETY * UNIT * len(rows) * abs(found.primal)
            assert found.gap <= allowed, f"optimal, but the gap is {found.gap:.3g} > {allowed:.3g}"


def converges(trial):
    """A tame problem is solved: it is not refused, and its status is optimal. Interior points are for convex problems
    only: on an indefinite kernel matrix they may stall, and the report says that it is indefinite."""
    case = trial.case
    need(case.params.get("solver") not in INTERIOR_POINTS or trial.model.report_.kernel_valid is not False)
    need(case.tame and case.params.get("max_iter", -1) < 0)
    assert trial.model.report_.converged, f"a tame problem ends with {trial.model.report_.status.name}"
