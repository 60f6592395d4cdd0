"""The report of a fit in two or three lines, to stand under a picture, and labels as they are."""

from __future__ import annotations

import math
from typing import Any

from maxmargin.kernels import RBF, Kernel, Linear, Polynomial
from maxmargin.runtime.text_report import short_numbers
from maxmargin.svm.report import FitReport

BETWEEN = " · "
CAPTION_DIGITS = 4  # of a number in a caption


def caption_items(
    estimator: Any, error: float, *, margin: float | None = None, n_support: int | None = None
) -> list[str]:
    """What a fit did: solver, kernel, C, kernel evaluations, support vectors, margin and training error.

    ``margin`` and ``n_support`` are those of one of several binary problems (0 where its own are not known); ``error``
    is the share of wrong points in the picture, for estimators without a report."""
    name = type(estimator).__name__
    report = getattr(estimator, "report_", None)
    if not isinstance(report, FitReport):
        return [name, f"{error:.1%} of these points wrong"]
    items = [f"{name}, {report.solver}", kernel_text(report.kernel), report.parameters]
    if report.kernel_evaluations:
        items.append(f"{report.kernel_evaluations:,} kernel evaluations")
    if n_support != 0:
        items.append(f"{report.n_support if n_support is None else n_support:,} support vectors")
    if hasattr(estimator, "classes_"):
        smallest = margin is None and len(report.margins) > 1
        margin = report.margin if margin is None else margin
        items.append(f"{'smallest ' if smallest else ''}margin {margin:.4g}")
    if not math.isnan(report.training_error):
        items.append(f"{report.error_name} {report.training_error:.1%}")
    if not report.converged:
        items.append(f"NOT CONVERGED: {report.status.value}")
    return items


def plain(label: Any) -> str:
    """A label that matplotlib shows as it is: matplotlib reads $ as mathematics, and hides what begins with _."""
    text = str(label).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def kernel_text(kernel: Kernel) -> str:
    """The kernel with its argument in few digits; the Gaussian by its width, exp(-|x - z|^2 / 2 sigma^2)."""
    if isinstance(kernel, Linear):
        return "linear kernel"
    if type(kernel) is RBF and isinstance(kernel.gamma, float) and kernel.gamma > 0:
        return f"Gaussian kernel, σ = {1 / math.sqrt(2 * kernel.gamma):.3g}"
    if type(kernel) is Polynomial:
        inner = f"{kernel.gamma:.{CAPTION_DIGITS}g} x·z" if isinstance(kernel.gamma, float) else "γ x·z"
        return f"polynomial kernel, ({inner} + {kernel.coef0:.{CAPTION_DIGITS}g})^{kernel.degree}"
    return short_numbers(" ".join(str(kernel).split()), CAPTION_DIGITS)


def filled_lines(items: list[str], width: int) -> str:
    """The items in as few lines of at most so many characters as will do, and those about equally long."""

    def broken(width: int) -> list[str]:
        lines = [items[0]]
        for item in items[1:]:
            if len(lines[-1]) + len(BETWEEN) + len(item) <= width:
                lines[-1] += BETWEEN + item
            else:
                lines.append(item)
        return lines

    fewest = len(broken(width))
    narrowest = next(narrow for narrow in range(1, width + 1) if len(broken(narrow)) == fewest)
    return "\n".join(broken(narrowest))
