from .comparisons import compare_solvers
from .compression import CompressionReport, compress
from .counterfactual import Counterfactual, counterfactual
from .explanations import Explanation, explain
from .lagrangian import Lagrangian, lagrangian
from .leave_one_out import LeaveOneOutScores, leave_one_out
from .map_and_kernel import compare_map_and_kernel
from .margin_table import MarginReport
from .margins import ClassMargins, class_margins, margin_report
from .robustness import Robustness, robustness
from .shapley import ShapleyValues, shapley_values

__all__ = [
    "ClassMargins",
    "CompressionReport",
    "Counterfactual",
    "Explanation",
    "Lagrangian",
    "LeaveOneOutScores",
    "MarginReport",
    "Robustness",
    "ShapleyValues",
    "class_margins",
    "compare_map_and_kernel",
    "compare_solvers",
    "compress",
    "counterfactual",
    "explain",
    "lagrangian",
    "leave_one_out",
    "margin_report",
    "robustness",
    "shapley_values",
]
