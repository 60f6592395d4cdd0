from . import joint, optimality
from .dual import DualProblem, c_svc, eps_svr, largest_nu, nu_svc, nu_svr, one_class, quantile, svdd
from .joint import JointProblem

__all__ = [
    "DualProblem",
    "JointProblem",
    "c_svc",
    "eps_svr",
    "joint",
    "largest_nu",
    "nu_svc",
    "nu_svr",
    "one_class",
    "optimality",
    "quantile",
    "svdd",
]
