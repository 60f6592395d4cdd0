from .comparisons import compare_solvers
from .compression import CompressionReport, compress
from .explanations import Explanation, explain
from .map_and_kernel import compare_map_and_kernel
from .margins import MarginReport, margin_report
from .shapley import ShapleyValues, shapley_values

__all__ = [
    "CompressionReport",
    "Explanation",
    "MarginReport",
    "ShapleyValues",
    "compare_map_and_kernel",
    "compare_solvers",
    "compress",
    "explain",
    "margin_report",
    "shapley_values",
]
