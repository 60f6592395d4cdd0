"""Polynomial regression: the degree M and the penalty lambda
==========================================================

Twelve noisy points of a smooth function are fitted with the basis 1, x, ..., x^M. In the upper row lambda = 0, which
is least squares: degree 3 follows the function, degree 5 begins to follow the noise, and degree 11 goes through every
point and oscillates between them. In the lower row large weights cost something, w = (Phi'Phi + lambda I)^-1 Phi'y
with a small lambda, and even the highest degree stays smooth. The dotted line is the function that the points were
drawn from.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin.displays import RegressionDisplay
from maxmargin.kernel_methods.feature_maps import MonomialMap
from maxmargin.kernel_methods.ridge import BasisRegression

plt.rcParams["font.size"] = 13


def truth(x: np.ndarray) -> np.ndarray:
    """The function that the points are drawn from."""
    return np.sin(np.pi * x) + 0.5 * x


# %%
# Twelve noisy points.

rng = np.random.default_rng(4)
X = np.linspace(-1, 1, 12)[:, None]
y = truth(X[:, 0]) + 0.3 * rng.standard_normal(12)

# %%
# Above, least squares; below, ridge regression with the same bases.

figure = plt.figure(figsize=(12, 7.8), layout="constrained")
axes = figure.subplots(2, 3, sharex=True, sharey=True)
for row, penalty in zip(axes, (0.0, 0.01), strict=True):
    for ax, degree in zip(row, (3, 5, 11), strict=True):
        model = BasisRegression(MonomialMap(degree, include_bias=True), alpha=penalty).fit(X, y)
        display = RegressionDisplay.from_estimator(model, X, y, truth=truth)
        display.plot(ax, legend=ax is axes[0, 0])
        largest = np.abs(model.coef_).max()
        ax.set(
            title=f"M = {degree}, $\\lambda$ = {penalty:g}\nlargest weight {largest:,.1f}",
            xlabel="x" if ax in axes[1] else "",
            ylabel="y" if ax in axes[:, 0] else "",
            ylim=(-2.1, 2.1),
        )

plt.show()
