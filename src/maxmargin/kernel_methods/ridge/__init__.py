"""Least squares with a penalty: on basis functions, and through a kernel."""

from __future__ import annotations

from maxmargin.kernel_methods.ridge.basis import BasisRegression
from maxmargin.kernel_methods.ridge.kernel_ridge import KernelRidge
from maxmargin.kernel_methods.ridge.kernel_ridge_cv import KernelRidgeCV

__all__ = ["BasisRegression", "KernelRidge", "KernelRidgeCV"]
