"""The one registry of solvers, and which of them serves a problem best.

``SOLVERS`` is the list that the estimators, ``compare_solvers``, the command line, the lab, the tests and the
documentation go by. A solver declares the forms of problems and the losses that it accepts, and refuses what it cannot
take with the remedy. Each entry has its default options; ``Pegasos(batch_size=16)`` is one with others. A solver is
imported when it is first used: a fit does not wait for those that it does not need.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from maxmargin.problems.dual import DualProblem
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.registry import Registry
from maxmargin.runtime.validation import check_choice
from maxmargin.solvers.base import KernelSolver, LinearSolver, Solver

SOLVERS: Registry[Solver] = Registry(
    {
        "active_set": "maxmargin.solvers.active_set:ActiveSet",
        "barrier": "maxmargin.solvers.interior_point:Barrier",
        "newton": "maxmargin.solvers.newton:Newton",
        "coordinate_descent": "maxmargin.solvers.coordinate_descent:CoordinateDescent",
        "smo": "maxmargin.solvers.smo:SMO",
        "qp_primal": "maxmargin.solvers.qp:PrimalQP",
        "qp_dual": "maxmargin.solvers.qp:DualQP",
        "subgradient": "maxmargin.solvers.teaching.subgradient:Subgradient",
        "stochastic_subgradient": "maxmargin.solvers.teaching.stochastic:StochasticSubgradient",
        "pegasos": "maxmargin.solvers.teaching.stochastic:Pegasos",
        "l1_coordinate_descent": "maxmargin.solvers.l1:L1CoordinateDescent",
        "crammer_singer": "maxmargin.solvers.crammer_singer:CrammerSinger",
    },
    make=lambda kind: kind(),
)
KERNEL_DEFAULT = "active_set"
# Nanoseconds, measured on two-class data of 10 to 250 columns, sparse and dense: what a row of e entries costs in an
# iteration of a square system (a constant, per entry, and per entry of its outer product, sparse and dense; Newton's
# method adds and subtracts some), and in an epoch of coordinate descent (a constant, per entry, sparse and dense).
SYSTEM_ROW, SYSTEM_ENTRY, SYSTEM_PRODUCT_DENSE = 200.0, 6.0, 0.05
SYSTEM_PRODUCT = {"barrier": 1.0, "newton": 1.7}
EPOCH_ROW, EPOCH_ENTRY, EPOCH_ENTRY_DENSE = 60.0, 1.3, 1.2
SYSTEM_ITERATIONS = {"barrier": 12.0, "newton": 5.0}  # on easy data: a forecast that is wrong costs little then
EPOCHS_MAX_SHARE = 0.6  # of the time of the other method, after which it begins at the latest
SYSTEM_MAX_SIZE = 1500  # columns, or rows, whose square matrix is factored in a fraction of a second
SPARSE_SYSTEM_MAX_ROWS = 300  # of text, say: beyond, going through the rows costs less than the square matrix


def linear_fallback() -> LinearSolver:
    """Coordinate descent, which takes every loss and forms no square system that could lose digits."""
    solver = SOLVERS["coordinate_descent"]
    assert isinstance(solver, LinearSolver)
    return solver


def solvers_for(form: str, losses: Iterable[str] | None = None) -> list[str]:
    """Names of the solvers that accept this form of problem and, for linear problems, at least one of these losses.

    Examples
    --------
    >>> from maxmargin.solvers import solvers_for
    >>> solvers_for("kernel")[:5]
    ['active_set', 'barrier', 'coordinate_descent', 'smo', 'qp_dual']
    >>> solvers_for("linear", ["pinball"])
    ['barrier', 'coordinate_descent']
    """
    accepting = {name: solver for name, solver in SOLVERS.items() if form in solver.accepts}
    wanted = None if losses is None else set(losses)
    return [name for name, solver in accepting.items() if wanted is None or wanted & set(solver.losses)]


def check_linear_solver(solver: Any, losses: Iterable[str]) -> None:
    """A name of the registry that accepts one of these losses, or an object that can solve."""
    if isinstance(solver, str):
        if solver != "auto":
            check_choice("solver", solver, ["auto", *solvers_for("linear", losses)], ", or a solver object")
    elif not isinstance(solver, Solver):
        example = "Pegasos" if "hinge" in set(losses) else "CoordinateDescent"
        raise TypeError(
            f"solver must be a name or an object of maxmargin.solvers, such as {example}(); got {solver!r}."
        )


def choose_solver(name: str, problem: DualProblem) -> tuple[KernelSolver, str]:
    """Choose a solver for a kernel problem by name or, with ``"auto"``, by the problem; also return the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc
    >>> from maxmargin.solvers import choose_solver
    >>> solver, reason = choose_solver("auto", c_svc(np.array([1.0, -1.0]), np.ones(2)))
    >>> solver.name
    'active_set'
    """
    solver = SOLVERS[KERNEL_DEFAULT] if name == "auto" else _requested(SOLVERS[name], problem)
    assert isinstance(solver, KernelSolver)
    return solver, "small working sets over kernel values in tiles suit every kernel" if name == "auto" else "asked for"


def _requested(solver: Solver, problem: DualProblem | PrimalProblem) -> Solver:
    """The requested solver, unless it refuses the problem."""
    reason = solver.refuses(problem) or solver.refuses_form(problem)
    if reason is not None:
        raise ValueError(f"solver={solver.name!r} cannot solve this problem: {reason}.")
    return solver


def choose_linear_solver(
    solver: str | Solver, problem: PrimalProblem, learns: str | None = None
) -> tuple[LinearSolver, str]:
    """Choose a solver for a linear problem by name or, with ``"auto"``, by its shape; also return the reason.

    The primal has d unknowns, the dual n. Where either is small, interior points (with a squared loss and few columns
    Newton steps) solve its square system a few times; where both are large, or the rows are sparse, coordinate descent
    is cheapest.

    Parameters
    ----------
    solver : str or Solver
        Name of the solver, ``"auto"``, or a solver object.
    problem : PrimalProblem
        The problem to solve.
    learns : {"primal", "dual"}, optional
        The requested form (the parameter ``dual``). Both have the same solution, so ``"auto"`` only considers the
        shape; a solver given by name must match.

    Returns
    -------
    solver : Solver
    why : str

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.primal import PrimalProblem
    >>> from maxmargin.solvers import choose_linear_solver
    >>> problem = PrimalProblem(np.zeros((10, 3)), np.ones(10), np.ones(10))
    >>> solver, why = choose_linear_solver("auto", problem)
    >>> solver.name, why
    ('barrier', 'the primal has 3 unknowns (columns), the dual 10 (rows): a 3 x 3 system per iteration')
    """
    if isinstance(solver, str) and solver == "auto":
        chosen, reason = _by_shape(problem)
        assert isinstance(chosen, LinearSolver)
        other = learns is not None and chosen.learns not in (learns, "both")
        return chosen, f"{reason}; dual={learns == 'dual'} has the same solution" if other else reason
    if isinstance(solver, str):
        solver = SOLVERS[check_choice("solver", solver, ["auto", *solvers_for("linear")])]
    chosen = _requested(solver, problem)
    if learns is not None and chosen.learns not in (learns, "both"):
        raise ValueError(
            f"dual={learns == 'dual'} asks for a solver of the {learns}, and solver={chosen.name!r} is one of the "
            f"{chosen.learns}: use dual='auto', or solver='auto'."
        )
    assert isinstance(chosen, LinearSolver)
    return chosen, "asked for"


def _by_shape(problem: PrimalProblem) -> tuple[Solver, str]:
    if problem.form == "l1":
        by_columns = "the L1 penalty makes most weights zero: by columns, those that matter first"
        return SOLVERS["l1_coordinate_descent"], by_columns
    n, d = problem.n_rows, problem.n_features
    unknowns = f"the primal has {d:,} unknown{'s' if d != 1 else ''} (columns), the dual {n:,} (rows)"
    small = min(n, d)
    if problem.form == "bounded":
        bounded = f"{unknowns}, and coefficients have bounds: a {small:,} x {small:,} system per iteration"
        return SOLVERS["barrier"], bounded
    if d <= SYSTEM_MAX_SIZE and n > d and SOLVERS["newton"].refuses(problem) is None:
        loss = "squared hinge" if problem.loss.classifies else "squared loss"
        return SOLVERS["newton"], f"{unknowns}, and the {loss} has a derivative: a {d:,} x {d:,} system a step"
    if problem.design.sparse and d > n > SPARSE_SYSTEM_MAX_ROWS and not problem.hard_margin:
        return linear_fallback(), f"{unknowns}, and a row uses few columns: row by row"
    if small <= SYSTEM_MAX_SIZE or problem.hard_margin:
        return SOLVERS["barrier"], f"{unknowns}: a {small:,} x {small:,} system per iteration"
    return linear_fallback(), f"{unknowns}: too many for a square system, so row by row"


def first_passes(problem: PrimalProblem, solver: LinearSolver) -> float:
    """How many passes of coordinate descent over all rows are worth trying before a method that solves square systems:
    they take a part of its time. 0 where that method begins at once."""
    sparse, (n, d) = problem.design.sparse, problem.X.shape
    by_rows = problem.X.format == "csr" if sparse else problem.X.flags.c_contiguous  # in memory: no copy is needed
    usual = problem.form == "linear" and solver.name in SYSTEM_ITERATIONS and n > d and by_rows
    if not usual or problem.hard_margin or problem.total:
        return 0.0
    entries = problem.X.nnz / n if sparse else float(d)
    product = SYSTEM_PRODUCT[solver.name] * entries**2 if sparse else np.inf
    iteration = SYSTEM_ROW + SYSTEM_ENTRY * entries + min(product, SYSTEM_PRODUCT_DENSE * d * (d + d * d / n))
    epoch = EPOCH_ROW + (EPOCH_ENTRY if sparse else EPOCH_ENTRY_DENSE) * entries
    return EPOCHS_MAX_SHARE * SYSTEM_ITERATIONS[solver.name] * iteration / epoch


def lanes_serve(solver: LinearSolver | None, problem: PrimalProblem) -> bool:
    """Whether one-vs-rest problems of this kind are solved side by side."""
    usual = solver == linear_fallback() and problem.form == "linear"
    return usual and problem.design.sparse and not problem.hard_margin
