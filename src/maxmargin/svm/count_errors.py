"""A linear classifier that counts its training errors, exactly, by branch and bound: why one measures them instead.

    minimise  |w|^2 + C (number of points with y_i (w'x_i + b) < 1)

A node of the search has decided some points: those of R keep the margin, those of E are errors. The others have slacks
and pay for them in proportion, which bounds the count from below: where the objective is less than that of the best
model so far, ``best``, |w|^2 < best - C |E|, and each class has a point j that keeps the margin (the first ``best`` is
the model that always predicts the larger class), so that the slack of a point i of that class,

    xi_i = 1 - y_i f(x_i) <= y_i w'(x_j - x_i) <= |w| |x_j - x_i|,

is at most some M_i: with the nearest j of R, or the farthest of all that may be one. So the objective is at least the
optimum of |w|^2 + sum_i (C / M_i) xi_i + C |E| with hard margins in R: a support vector machine. Its multipliers sum to
no more than its optimum, so that a bound of best - C |E| in the place of infinity changes no optimum below ``best``.
Without slacks the bound is attained; otherwise the search continues with the point of the largest xi_i / M_i, once in R
and once in E. The node of the lowest bound is next, so that this bound is one of the whole problem at any time.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from maxmargin.kernels.gram.operator import precomputed_gram
from maxmargin.problems import c_svc
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.optimality import offsets
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_labels, check_number, check_training, warn
from maxmargin.solvers import SOLVERS, KernelSolver
from maxmargin.svm.kernel.solving.batch import OPTIMAL, KernelValues, one_problem, solve_posed
from maxmargin.svm.linear.function import LinearClassifier

MAX_ROWS = 300  # separable data of this size is one node; overlapping classes take hours from about a hundred points
LARGEST_VALUE = 1e100  # whose square, summed over columns and rows, is far from overflow
RELAXATION_TOL = 1e-9  # of the conditions of optimality of a node's problem, whose decision values are about 1
SLACK_TOL = 1e-6  # of a point that keeps the margin, far above what the tolerance of a node's problem leaves


class _Node(NamedTuple):
    """Points that are decided, and the problem of the others, solved."""

    bound: float
    number: int  # among nodes of equal bound the first one made is the first one searched
    kept: Array  # mask of the points that must keep the margin
    errors: Array  # mask of the points that are errors
    slack: Array
    share: Array  # xi_i / M_i of the points that are not decided
    w: Array
    b: float


@dataclass
class _Search:
    """Branch and bound over the points of one problem."""

    X: Array  # centred
    y: Array
    C: float
    tol: float
    control: Control
    max_nodes: int
    n_nodes: int = 0

    def __post_init__(self) -> None:
        self.K = self.X @ self.X.T
        self.values = KernelValues.of_matrix(self.K)
        squares = np.diagonal(self.K)
        distance = np.sqrt(np.maximum(0.0, squares[:, None] + squares - 2 * self.K))
        self.distance = np.where(self.y[:, None] == self.y, distance, np.nan)  # inside a class
        larger = 1.0 if self.y.sum() >= 0 else -1.0
        self.errors = self.y != larger  # of the best model so far
        self.w, self.b = np.zeros(self.X.shape[1]), larger
        self.best = self.C * np.count_nonzero(self.errors)

    def run(self) -> tuple[float, Status]:
        """Search to the end, or to a limit; a lower bound of the objective, and why the search ended."""
        no_rows = np.zeros(len(self.y), bool)
        numbers = itertools.count()
        open_nodes: list[_Node] = []
        self._add(open_nodes, no_rows, no_rows, next(numbers))
        while open_nodes:
            if (stop := self.control.stop()) is not None or self.n_nodes >= self.max_nodes:
                return min(self.best, open_nodes[0].bound), stop or Status.MAX_ITER
            node = heapq.heappop(open_nodes)
            if not self._promising(node.bound):
                break
            chosen = np.zeros(len(self.y), bool)
            chosen[np.argmax(node.share)] = True
            self._add(open_nodes, node.kept | chosen, node.errors, next(numbers))
            self._add(open_nodes, node.kept, node.errors | chosen, next(numbers))
        return self.best, Status.OPTIMAL

    def _promising(self, bound: float) -> bool:
        return bool(bound < self.best * (1 - self.tol))

    def _add(self, open_nodes: list[_Node], kept: Array, errors: Array, number: int) -> None:
        """Solve a node's problem, and keep the node if a better model may be below it."""
        self.n_nodes += 1
        budget = self.best - self.C * np.count_nonzero(errors)  # for |w|^2
        if budget <= 0 or not self._has_both(~errors):
            return
        node = self._solved(kept, errors, number, budget)
        missed = errors | (node.slack > SLACK_TOL)
        if (missed & kept).any():  # the bound in the place of infinity holds them back: no optimum below ``best``
            return
        scale = 1 / (1 - node.slack[~missed].max(initial=0.0))  # to margins of one, which rounding left out
        objective = float(node.w @ node.w) * scale**2 + self.C * np.count_nonzero(missed)
        if objective < self.best:
            self.best, self.errors, self.w, self.b = objective, missed, scale * node.w, scale * node.b
        if node.share.max(initial=0.0) > 0 and self._promising(node.bound):
            heapq.heappush(open_nodes, node)

    def _has_both(self, rows: Array) -> bool:
        return len(np.unique(self.y[rows])) == 2

    def _solved(self, kept: Array, errors: Array, number: int, budget: float) -> _Node:
        rows = np.flatnonzero(~errors)
        y, distance = self.y[rows], self.distance[np.ix_(rows, rows)]
        farthest = np.nanmax(distance, axis=1)
        nearest = np.nanmin(np.where(kept[rows], distance, np.inf), axis=1)
        largest = np.sqrt(budget) * np.minimum(farthest, nearest)  # M_i
        with np.errstate(divide="ignore"):
            penalty = np.where(kept[rows], budget, np.minimum(self.C / (2 * largest), budget))
        a, b = self._optimum(c_svc(y, penalty), rows)
        w = a @ self.X[rows]
        dual = float(np.abs(a).sum() - 0.5 * w @ w)  # any feasible variables bound the optimum
        slack, share = np.zeros(len(self.y)), np.zeros(len(self.y))
        slack[rows] = np.maximum(0.0, 1 - y * (self.X[rows] @ w + b))
        undecided = ~kept[rows] & (slack[rows] > SLACK_TOL)
        share[rows[undecided]] = slack[rows[undecided]] / np.maximum(largest[undecided], SLACK_TOL)
        bound = 2 * dual + self.C * np.count_nonzero(errors)
        return _Node(bound, number, kept, errors, slack, share, w, b)

    def _optimum(self, problem: DualProblem, rows: Array) -> tuple[Array, float]:
        """The variables and the intercept of a node's problem."""
        posed = one_problem(problem)
        assert posed is not None
        solved = solve_posed(
            posed, self.values, tol=RELAXATION_TOL, control=Control(), budget=np.inf, threads=1, index=rows
        )
        if solved.status[0] == OPTIMAL:
            return solved.a, float(solved.intercept[0])
        gram = precomputed_gram(self.K, rows)  # pair steps creep where penalties differ much
        barrier = SOLVERS["barrier"]
        assert isinstance(barrier, KernelSolver)
        solution = barrier.solve(problem, gram, tol=RELAXATION_TOL, control=Control())
        offset = offsets(problem, solution.a, problem.gradient(solution.f, solution.a))
        return solution.a, problem.scalars(offset).intercept


@parameters
class CountErrorsSVC(LinearClassifier, ClassifierMixin, Estimator):
    """Linear classifier that minimises ``|w|^2 + C * (number of training errors)`` exactly.

    An error is a point inside the margin or on the wrong side. This is not a quadratic program: the exact solution
    takes a branch-and-bound search over sets of errors, whose time grows exponentially. Use it on a few dozen points,
    to compare with :class:`~maxmargin.SVC`, which measures errors instead of counting them.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error, > 0.
    tol : float, default=1e-6
        Relative tolerance on the objective.
    max_nodes : int, default=100_000
        Maximum number of nodes; the search then stops with the best model so far and a warning.
    max_seconds : float or None, default=None
        Maximum time in seconds, with the same effect.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels.
    coef_ : array of shape (1, n_features)
        w.
    intercept_ : array of shape (1,)
        b.
    error_rows_ : array of int
        The training points that count as errors.
    objective_ : float
        ``|w|^2 + C * len(error_rows_)``.
    lower_bound_ : float
        No model has a lower objective; equals ``objective_`` if the search is complete.
    n_nodes_ : int
        Problems that the search solved or skipped.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    At most 300 points are accepted. The margin, ``2 / |w|``, is infinite if always predicting the larger
    class is optimal.

    Examples
    --------
    >>> from maxmargin import CountErrorsSVC
    >>> X, y = [[0.0], [1.0], [2.0], [1.5], [3.0], [4.0]], [0, 0, 0, 1, 1, 1]
    >>> model = CountErrorsSVC(C=5.0).fit(X, y)
    >>> model.error_rows_, round(model.objective_, 4)
    (array([3]), 9.0)
    """

    _: KW_ONLY
    C: float = 1.0
    tol: float = 1e-6
    max_nodes: int = 100_000
    max_seconds: float | None = None

    @property
    def _present(self) -> Array:  # type: ignore[override]
        """No class is without weight."""
        return np.ones(2, bool)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> CountErrorsSVC:
        """Search for the best set of errors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points, at most 300.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_number("C", self.C, above=0, remedy="Without a penalty on errors the data have no effect.")
        check_number("tol", self.tol, least=0)
        check_number("max_nodes", self.max_nodes, least=1, integer=True)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0, infinite=True)
        X, y = check_training(self, X, y)
        classes, codes = check_labels(y)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. y has {len(classes)} classes: use SVC, or "
                "sklearn.multiclass.OneVsOneClassifier(CountErrorsSVC())."
            )
        if X.shape[0] > MAX_ROWS:
            raise ValueError(
                f"X has {X.shape[0]:,} rows; CountErrorsSVC takes at most {MAX_ROWS}, because its time grows "
                "exponentially with the errors. Use SVC(kernel='linear'), which measures errors instead of counting "
                "them."
            )
        points = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
        mean = points.mean(axis=0)
        if np.abs(points - mean).max(initial=0.0) > LARGEST_VALUE:
            raise ValueError(
                "X has values beyond 1e100, whose squares overflow: scale the columns, for instance by StandardScaler."
            )
        signs = np.where(codes == 1, 1.0, -1.0)
        control = Control.of_deadline(self)
        search = _Search(points - mean, signs, float(self.C), float(self.tol), control, int(self.max_nodes))
        with control.catching_interrupts():
            bound, status = search.run()
        self.classes_, self.n_nodes_ = classes, search.n_nodes
        self.coef_, self.intercept_ = search.w[None, :], np.array([search.b - float(search.w @ mean)])
        self.error_rows_ = np.flatnonzero(search.errors)
        self.objective_, self.lower_bound_ = float(search.best), float(bound)
        if not status.converged:
            advice = "max_nodes" if status is Status.MAX_ITER else "max_seconds"
            warn(
                f"CountErrorsSVC did not converge (stopped after {search.n_nodes:,} nodes: raise {advice}, or use "
                f"fewer points). The model is the best one so far: its objective is {search.best:.6g}, and no model "
                f"has less than {bound:.6g}.",
                ConvergenceWarning,
            )
        return self
