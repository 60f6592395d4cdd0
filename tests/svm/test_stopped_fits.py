"""What a fit still does once it is to stop: as little as its report allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC
from maxmargin.problems import optimality
from maxmargin.runtime import canonical_rows
from maxmargin.runtime.control import Status
from maxmargin.runtime.threads import Halted
from maxmargin.solvers.base import KernelSolver
from maxmargin.solvers.registry import SOLVERS
from maxmargin.solvers.solution import Solution


@dataclass(frozen=True)
class Stopped(KernelSolver):
    """Is stopped at a feasible point, whose values it has in single precision."""

    name: ClassVar[str] = "stopped"

    def solve(self, problem, gram, *, tol, control, start=None):
        a = problem.feasible(problem.target * 0.1)
        f = gram.product(np.arange(gram.n), problem.coefficients(a)).astype(np.float32).astype(float)
        return Solution(a, f, Status.DEADLINE, 1)


def test_values_of_a_stopped_run_are_verified_without_packing_the_points_again(monkeypatch):
    """The audit converts all support vectors to double precision first: 0.4 s for 12,000 rows of 784 columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    y = X[:, 0] + rng.standard_normal(2000) > 0

    def audit(*args, **options):
        raise AssertionError("a stopped run was audited")

    monkeypatch.setattr(optimality, "audited", audit)
    monkeypatch.setitem(SOLVERS, "smo", Stopped())
    with pytest.warns(ConvergenceWarning, match="stopped at the time limit"):
        model = SVC(solver="smo").fit(X, y)
    f = np.where(y, 1, -1) * model.decision_function(X)
    coef = model.dual_coef_[0]
    norm = float(coef @ (model.decision_function(model.support_vectors_) - model.intercept_))
    primal = 0.5 * norm + np.maximum(0.0, 1.0 - f).sum()
    assert model.report_.primal_objective == pytest.approx(primal, rel=1e-4)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_copied_in_parts_that_can_be_stopped(order, threads, monkeypatch):
    monkeypatch.setattr(canonical_rows, "COPY_MAX_ENTRIES", 100)
    monkeypatch.setattr(canonical_rows, "COPIED_PART_ENTRIES", 40)
    rng = np.random.default_rng(0)
    X, at = np.asarray(rng.standard_normal((57, 5)), order=order), rng.permutation(57)[:50]
    copied = canonical_rows.rows_of(X, at, threads)
    np.testing.assert_array_equal(copied, X[at])
    assert copied.flags.c_contiguous
    assert not np.shares_memory(copied, X)
    calls = []

    def stop():
        calls.append(1)
        return Status.INTERRUPTED if len(calls) > 2 else None

    with pytest.raises(Halted):
        canonical_rows.rows_of(X, at, threads, stop)
    assert len(calls) <= 2 + threads
