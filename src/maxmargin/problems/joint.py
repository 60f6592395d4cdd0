"""The joint multiclass problem, and the optimality of its solutions from the definitions, for any solver."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.problems.certificate import Certificate
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class JointProblem:
    """The joint multiclass problem of Crammer & Singer (2001), without intercepts.

        primal  1/2 sum_k |w_k|^2 + sum_i c_i max(0, max_{k != y_i} 1 + w_k'x_i - w_{y_i}'x_i)
        dual    minimise 1/2 sum_k A_k' K A_k + sum_i sum_{k != y_i} A_ik
                subject to A_ik <= c_i [k = y_i] and sum_k A_ik = 0;        w_k = sum_i A_ik x_i

    Attributes
    ----------
    label : array of int
        Class of each row.
    bound : array
        c_i of each row; inf for the hard margin.
    n_classes : int
        Number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import JointProblem
    >>> JointProblem(label=np.array([0, 2]), bound=np.full(2, 10.0), n_classes=3).upper()
    array([[10.,  0.,  0.],
           [ 0.,  0., 10.]])
    """

    label: Array
    bound: Array
    n_classes: int

    @property
    def n_rows(self) -> int:
        return len(self.label)

    @property
    def hard_margin(self) -> bool:
        return bool(np.isinf(self.bound).any())

    def losses(self) -> Array:
        """E_ik = 1 for k != y_i, else 0: the linear term of the dual."""
        E = np.ones((self.n_rows, self.n_classes))
        E[np.arange(self.n_rows), self.label] = 0.0
        return E

    def upper(self) -> Array:
        """The bound of each A_ik."""
        U = np.zeros((self.n_rows, self.n_classes))
        U[np.arange(self.n_rows), self.label] = self.bound
        return U

    def feasible(self, A: Array) -> Array:
        """A feasible point near A: wrong classes at most 0, then each row scaled to its bound."""
        A = np.minimum(A, 0.0)
        rows = np.arange(self.n_rows)
        A[rows, self.label] = 0.0
        used = -A.sum(axis=1)
        over = used > self.bound * (1 + 1e-14)
        A[over] *= (self.bound[over] / used[over])[:, None]
        A[rows, self.label] = np.minimum(-A.sum(axis=1), self.bound)
        return A


def joint_gradient(problem: JointProblem, F: Array) -> Array:
    """Gradient of the joint dual from F = K @ A.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import JointProblem, joint
    >>> problem, A = JointProblem(np.array([0, 1]), np.full(2, 10.0), 2), np.zeros((2, 2))
    >>> joint.joint_gradient(problem, A)
    array([[0., 1.],
           [1., 0.]])
    """
    return F + problem.losses()


def joint_violations(problem: JointProblem, A: Array, gradient: Array) -> Array:
    """Per row: the largest gradient minus the smallest among classes whose variable may still rise.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import JointProblem, joint
    >>> problem, A = JointProblem(np.array([0, 1]), np.full(2, 10.0), 2), np.zeros((2, 2))
    >>> joint.joint_violations(problem, A, joint.joint_gradient(problem, A))
    array([1., 1.])
    """
    may_rise = np.where(problem.upper() > A, gradient, np.inf)
    return np.maximum(0.0, gradient.max(axis=1) - may_rise.min(axis=1))


def certify_joint(problem: JointProblem, A: Array, F: Array) -> Certificate:
    """The certificate of the joint multiclass problem, from its variables A and F = K @ A.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import JointProblem, joint
    >>> problem, A = JointProblem(np.array([0, 1]), np.full(2, 10.0), 2), np.zeros((2, 2))
    >>> joint.certify_joint(problem, A, A).primal
    20.0
    """
    rows = np.arange(problem.n_rows)
    norm2 = max(0.0, float(np.sum(A * F)))
    gradient = joint_gradient(problem, F)
    hard = np.isinf(problem.bound)
    infeasibility, stretch = 0.0, 1.0
    if hard.any():
        others = F[hard]
        others[np.arange(len(others)), problem.label[hard]] = -np.inf
        smallest = float(np.min(F[hard, problem.label[hard]] - others.max(axis=1)))
        infeasibility = max(0.0, 1.0 - smallest)
        stretch = 1.0 / min(1.0, smallest) if smallest > 0 else math.inf
    if math.isfinite(stretch):
        stretched = joint_gradient(problem, stretch * F).max(axis=1) - stretch * F[rows, problem.label]
        losses = np.where(hard, 0.0, problem.bound) * np.maximum(0.0, stretched)
        primal = 0.5 * norm2 * stretch**2 + float(losses.sum())
    else:
        primal = math.inf
    slack = problem.upper() - A
    multiplier = np.maximum(0.0, gradient.max(axis=1, keepdims=True) - gradient)
    products = np.where(np.isfinite(slack), multiplier * np.where(np.isfinite(slack), slack, 0.0), 0.0)
    return Certificate(
        primal=primal,
        dual=-(0.5 * norm2 + float(np.sum(problem.losses() * A))),
        violation=float(joint_violations(problem, A, gradient).max()),
        stationarity=float(np.max(np.abs(A.sum(axis=1)))),
        dual_infeasibility=float(max(0.0, np.max(-slack))),
        primal_infeasibility=infeasibility,
        complementarity=float(products.max()),
        norm=math.sqrt(norm2),
    )
