from .comparisons import compare_solvers
from .compression import CompressionReport, compress
from .counterfactual import Counterfactual, counterfactual
from .explanations import Explanation, explain
from .map_and_kernel import compare_map_and_kernel
from .margin_table import MarginReport
from .margins import margin_report
from .robustness import Robustness, robustness
from .shapley import ShapleyValues, shapley_values

__all__ = [
    "CompressionReport",
    "Counterfactual",
    "Explanation",
    "MarginReport",
    "Robustness",
    "ShapleyValues",
    "compare_map_and_kernel",
    "compare_solvers",
    "compress",
    "counterfactual",
    "explain",
    "margin_report",
    "robustness",
    "shapley_values",
]
