"""Least squares with a penalty: on basis functions, and through a kernel."""

from __future__ import annotations

from .basis import BasisRegression
from .kernel_ridge import KernelRidge
from .kernel_ridge_cv import KernelRidgeCV

__all__ = ["BasisRegression", "KernelRidge", "KernelRidgeCV"]
