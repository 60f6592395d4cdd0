"""The weights of several kernels, learnt with the models that use them, as data.

With K(d) = sum_m d_m K_m, one vector d of weights serves all dual problems p of a fit (one of a regression, one per
pair of classes). Where V_p(K) is the optimum of problem p with the kernel K,

    minimise  J(d) = sum_p V_p(K(d))    subject to  d >= 0,  |d|_q <= 1,        q = 1 or 2.

In the primal, that is sum_p 1/2 sum_m |w_pm|^2 / d_m plus the losses: a penalty (sum_m |w_m|)^2 / 2 for q = 1, the
group lasso, with which many kernels have the weight zero. J is convex. Of any feasible multipliers, with c the linear
part of all dual objectives and S_m = sum_p beta_p'K_m beta_p,

    J(d) >= c - 1/2 S'd    for every d,            so            min J >= c - 1/2 |S|_q*,

with |S|_q* the largest entry for q = 1, and the Euclidean norm for q = 2: a lower bound. With the primal objectives at
d, an upper one, it certifies the weights. :class:`Cuts` collects such inequalities; a convex combination of them is
one, too.

The next weights are, for q = 2, those that are optimal for the present norms |w_m| = d_m sqrt(S_m) (Kloft et al. 2011),

    d_m = |w_m|^(2/3) / (sum_k |w_k|^(4/3))^(1/2),

and for q = 1, where the same rule creeps as weights go to zero, those of the level method (Lemarechal, Nemirovskii &
Nesterov 1995; Xu et al. 2008): the point closest to the best one at which no cut is above a level between the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog, nnls

from maxmargin.runtime.validation import Array

# Of the way from the lower to the upper bound: where the next weights should be at most. Measured on two sets of data
# with 18 kernels: 0.5 to 0.7 take 10 to 14 evaluations to a gap of 1e-3, 0.1 to 0.3 up to 22.
LEVEL_SHARE = 0.6
MAX_CUTS = 200  # after which the one that matters least is dropped


@dataclass
class Cuts:
    """Lower bounds of J: J(d) >= c - 1/2 S'd.

    norm: {1, 2}; q
    lower, upper: the best bounds of min J so far
    best: the weights that ``upper`` was found at
    """

    norm: int
    n_kernels: int
    lower: float = -np.inf
    upper: float = np.inf
    best: Array = field(default_factory=lambda: np.zeros(0))
    constants: list[float] = field(default_factory=list)
    slopes: list[Array] = field(default_factory=list)

    def first(self) -> Array:
        """Equal weights."""
        return np.full(self.n_kernels, self.n_kernels ** (-1.0 / self.norm))

    @property
    def relative_gap(self) -> float:
        """The difference of the bounds as a part of the larger."""
        gap, size = self.upper - self.lower, max(abs(self.upper), abs(self.lower))
        return gap / size if gap > 0 and np.isfinite(gap) else 0.0 if gap <= 0 else np.inf

    def add(self, d: Array, value: float, c: float, S: Array) -> None:
        """What one evaluation found at d: an upper bound of J(d), and a cut."""
        if value < self.upper:
            self.upper, self.best = value, d
        self.constants.append(c)
        self.slopes.append(S)
        size = float(S.max()) if self.norm == 1 else float(np.linalg.norm(S))
        self.lower = max(self.lower, c - 0.5 * size)
        if self.norm == 1 and len(self.constants) > 1:
            self._combine()

    def _combine(self) -> None:
        """The best combination of the cuts: max over lambda of min over d, a linear program."""
        c, S = np.array(self.constants), np.array(self.slopes)
        scale = max(float(np.abs(c).max()), float(S.max()), 1e-300)
        n = len(c)
        # Variables lambda and t >= the largest entry of S'lambda.
        found = linprog(
            np.append(-c / scale, 0.5),
            A_ub=np.hstack([S.T / scale, -np.ones((self.n_kernels, 1))]),
            b_ub=np.zeros(self.n_kernels),
            A_eq=np.append(np.ones(n), 0.0)[None],
            b_eq=[1.0],
        )
        if found.x is None:
            return
        share = np.maximum(found.x[:n], 0.0)
        share /= share.sum()
        self.lower = max(self.lower, float(share @ c) - 0.5 * float((share @ S).max()))
        if n > MAX_CUTS:
            least = int(np.argmin(share[:-1]))
            del self.constants[least], self.slopes[least]

    def next_weights(self, d: Array, S: Array) -> Array:
        """Where to evaluate J next; d and S are those of the last evaluation."""
        if self.norm == 2:
            sizes = d * np.sqrt(S)
            made = sizes ** (2.0 / 3.0)
            return made / (np.linalg.norm(made) or 1.0) if made.any() else self.first()
        return self._at_level(self.lower + LEVEL_SHARE * (self.upper - self.lower))

    def _at_level(self, level: float) -> Array:
        """The weights closest to the best at which no cut is above the level. With x = d - best, that is the shortest x
        with G x >= h, which non-negative least squares solve (Lawson & Hanson 1974, chapter 23)."""
        base, c, S = self.best, np.array(self.constants), np.array(self.slopes)
        G = np.vstack([0.5 * S, np.eye(self.n_kernels), -np.ones(self.n_kernels)])
        h = np.concatenate([c - level - 0.5 * S @ base, -base, [base.sum() - 1.0]])
        size = np.linalg.norm(G, axis=1)
        size[size == 0] = 1.0
        E = np.vstack([G.T / size, h / size])
        target = np.zeros(len(E))
        target[-1] = 1.0
        residual = E @ nnls(E, target, maxiter=30 * E.shape[1])[0] - target
        x = -residual[:-1] / residual[-1] if residual[-1] != 0 else np.zeros(self.n_kernels)
        return _rounded(base + x)


def _rounded(d: Array) -> Array:
    """Weights of sum one, with what rounding leaves of zeros removed."""
    d = np.where(d > 1e-10 * float(d.max()), d, 0.0)
    return d / d.sum()
