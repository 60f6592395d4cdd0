"""Every support vector machine as data: dual quadratic programs, their optimality conditions, scalings of C."""

from __future__ import annotations

from maxmargin.problems.dual import (
    DualProblem,
    JointProblem,
    c_svc,
    eps_svr,
    largest_nu,
    nu_svc,
    nu_svr,
    one_class,
)

__all__ = ["DualProblem", "JointProblem", "c_svc", "eps_svr", "largest_nu", "nu_svc", "nu_svr", "one_class"]
