from . import optimality
from .dual import DualProblem, JointProblem, c_svc, eps_svr, largest_nu, nu_svc, nu_svr, one_class, quantile, svdd

__all__ = [
    "DualProblem",
    "JointProblem",
    "c_svc",
    "eps_svr",
    "largest_nu",
    "nu_svc",
    "nu_svr",
    "one_class",
    "optimality",
    "quantile",
    "svdd",
]
