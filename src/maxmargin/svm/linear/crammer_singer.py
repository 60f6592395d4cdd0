"""The joint multiclass problem of Crammer & Singer (2001) with the linear kernel.

    minimise  1/2 sum_k |w_k|^2 + sum_i c_i max(0, max_{k != y_i} 1 + f_k(x_i) - f_{y_i}(x_i)),    f_k(x) = w_k'x + b_k

:class:`~maxmargin.solvers.crammer_singer.CrammerSinger` solves its dual. An intercept is the weight of a constant
column s, penalised like the others: b_k = s w_k0. The solver stops by the violation of the conditions; it is asked for
a tenth of it again and again, until the relative duality gap is small enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.kernels import Linear
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.problems.design import Design
from maxmargin.problems.joint import JointProblem, certify_joint
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.threads import Stop
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.crammer_singer import CrammerSinger
from maxmargin.svm.linear.binary_models import LinearOutcome
from maxmargin.svm.report import SolverUsed

# Row steps of an iteration: as many as there are rows, and on few rows these. They take less time than the checks
# around them, and problems of 20 rows with a large C need 200,000.
ITERATION_MIN_STEPS = 512
FIRST_VIOLATION, LAST_VIOLATION = 0.1, 1e-12  # the initial violation, and that of rounding


class _WithConstant(KernelGram):
    """The linear kernel of points with one more, constant, column."""

    def __init__(self, X: Points, constant: float, threads: int = 1) -> None:
        super().__init__(Linear().resolve(X), X, threads)
        self.constant = constant

    def linear_points(self) -> None:
        return None

    def diagonal(self) -> Array:
        return super().diagonal() + self.constant**2

    def block(self, rows: Array, cols: Array) -> Array:
        return super().block(rows, cols) + self.constant**2

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        # X (X' coef): the kernel matrix is never needed for a product.
        part = self.X[cols] if len(cols) < self.n else self.X
        w = np.asarray(part.T.astype(np.float64) @ coef)
        left = self.X if rows is None else self.X[rows]
        return np.asarray(left @ w) + self.constant**2 * coef.sum(axis=0)


def solve_joint(
    X: Points, problem: JointProblem, constant: float, *, tol: float, control: Control, threads: int = 1
) -> LinearOutcome:
    """Solve the joint problem to a relative duality gap of ``tol``."""
    gram = _WithConstant(X, constant, threads)
    every, history = np.arange(problem.n_rows), History()
    goal, n_iter, A = FIRST_VIOLATION, 0, None
    steps_per_iteration = max(problem.n_rows, ITERATION_MIN_STEPS)
    limit = control.max_iter * steps_per_iteration if control.max_iter >= 0 else -1
    while True:
        inner = replace(control.of_one(), max_iter=max(0, limit - n_iter) if limit >= 0 else -1)
        solution = CrammerSinger().solve(problem, gram, tol=goal, control=inner, start=A)
        A, n_iter = solution.a, n_iter + solution.n_iter
        certificate = certify_joint(problem, A, gram.product(every, A))
        epochs = -(-n_iter // steps_per_iteration)
        history.append(
            iteration=epochs,
            objective=certificate.primal,
            dual=certificate.dual,
            margin=2.0 / certificate.norm if certificate.norm > 0 else np.inf,
            n_support=int(np.count_nonzero(A.any(axis=1))),
            seconds=control.seconds,
        )
        goal *= 0.1
        if certificate.relative_gap <= tol or not solution.status.converged or goal < LAST_VIOLATION:
            break
    status = solution.status if not solution.status.converged else Status.STALLED
    status = Status.OPTIMAL if certificate.relative_gap <= tol else status
    W = Design(X, constant=constant or None, threads=threads).transposed(A).T
    d = X.shape[1]
    return LinearOutcome(
        coef=W[:, :d].copy(),
        intercept=constant * W[:, d] if constant else np.zeros(problem.n_classes),
        certificates=[certificate],
        solver=SolverUsed(CrammerSinger.name, "the joint problem is one problem over all classes"),
        status=status,
        n_iter=np.array([epochs]),
        history=history,
        support=np.asarray(A.any(axis=1)),
    )
