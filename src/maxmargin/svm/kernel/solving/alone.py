"""One problem by a solver of the registry: what is no batch, and what a batch left unfinished.

The certificate is computed from float64 values of f, apart from the solver; a solver that misses tol by it is sent on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.verification import certified_status, verified
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers.base import KernelSolver
from maxmargin.solvers.interior_point.kernel_system import row_products
from maxmargin.solvers.registry import SOLVERS, choose_solver
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.solving.hard_margin import solve_hard_margin, solve_hard_tube
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, Subproblem

CREEPING_MAX_VARIABLES = 1000  # of a problem in which pair steps creep, up to which interior points take over
CREEPING_MIN_STEPS = 200  # pair steps per variable after which a problem that no batch took creeps; ten are usual
CERTIFICATE_ATTEMPTS = 3  # times a solver is resumed because the certificate, computed from scratch, was not met
CREPT_NOTE = "where its steps crept, interior points took over"


def solve_alone(context: FitContext, sub: Subproblem, gram: Gram, control: Control) -> BinaryModel:
    """Solve a problem that a batch did not take, or in which its pair steps creep: unscaled columns, a large C. On few
    rows, or few columns of the linear kernel, interior points do not mind, and take less time than the steps did; what
    they cannot solve goes on as ever, unless no step could: a violation below the rounding errors of f."""
    problem, barrier = sub.problem, SOLVERS["barrier"]
    solver, _ = choose_solver(context.solver, problem)
    assert isinstance(barrier, KernelSolver)
    unlimited = context.solver == "auto" and control.max_iter < 0
    crept, low_rank = unlimited and sub.start is not None, unlimited and row_products(gram) is not None
    few = problem.n_variables <= CREEPING_MAX_VARIABLES and barrier.refuses(problem) is None
    if low_rank and not crept:
        first = replace(control, max_iter=CREEPING_MIN_STEPS * problem.n_variables)
        model = solve_one(context, sub, solver, gram, first)
        if model.solution.status is not Status.MAX_ITER:
            return model
        sub, crept = replace(sub, start=model.solution.a), True
    if crept and (few or low_rank):
        model = solve_one(context, replace(sub, start=None), barrier, gram, control)
        rounding = float(np.finfo(np.float64).eps * np.abs(model.solution.a).sum() * gram.diagonal().max())
        if model.solution.status.converged or control.stop() is not None or model.certificate.violation <= rounding:
            return replace(model, solution=replace(model.solution, note=CREPT_NOTE))
    return solve_one(context, sub, solver, gram, control)


def solve_one(context: FitContext, sub: Subproblem, solver: KernelSolver, gram: Gram, control: Control) -> BinaryModel:
    """Solve one problem; a certificate that misses tol sends the solver on, with half the tol it had."""
    problem, start, n_iter, tol = sub.problem, sub.start, 0, context.tol
    values = context.defined_values(sub.rows)
    for attempt in range(CERTIFICATE_ATTEMPTS):
        if problem.hard_margin:
            solution = solve_hard_margin(context, replace(sub, start=start), solver, gram, tol, control)
        elif problem.hard_tube:
            solution = solve_hard_tube(replace(sub, start=start), solver, gram, tol, control)
        else:
            solution = solver.solve(problem, gram, tol=tol, control=control, start=start)
        n_iter += solution.n_iter
        f, a = solution.f, solution.a
        stopped = solution.status in (Status.DEADLINE, Status.INTERRUPTED)
        audit = partial(optimality.audited, problem, a, gram=gram, finished=solution.status.converged)
        f = verified(problem, a, f, values, refine=None if solution.fresh else audit, stopped=stopped)
        offset = optimality.offsets(problem, a, problem.gradient(f, a))
        certificate = optimality.certify(problem, a, f, offset)
        status = certified_status(solution.status, certificate, float(np.abs(a).sum()), context.tol * problem.tol_scale)
        if status is solution.status or status.converged or attempt == CERTIFICATE_ATTEMPTS - 1:
            break
        start, tol = a, 0.5 * tol
    gram.scratch.release()
    solution = replace(solution, n_iter=n_iter, status=status)
    return BinaryModel(sub.rows, problem, solution, certificate, f, *problem.scalars(offset), control.reports)
