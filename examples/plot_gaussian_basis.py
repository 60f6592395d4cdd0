"""Gaussian basis: a bump on every training point, and predictions as linear combinations of the targets
=====================================================================================================

The fitted curve is a sum of bumps exp(-(x - x_i)^2 / sigma^2), one centred on each point; ridge regression chooses
their heights (green). Narrow bumps fit the points but are zero in the gaps between them; wide ones overlap and give a
smooth curve. Below: the prediction at one point x (dashed) as a linear combination b(x)'y of the targets. With narrow
bumps only the nearest points have a weight; with wide ones more do, some of them with a negative weight.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin.displays import RegressionDisplay
from maxmargin.kernel_methods.feature_maps import GaussianBasis
from maxmargin.kernel_methods.ridge import BasisRegression

plt.rcParams["font.size"] = 13


def truth(x: np.ndarray) -> np.ndarray:
    """The function that the points are drawn from."""
    return 1.0 + np.sin(x) + 0.3 * x


# %%
# Eighteen noisy points of a smooth function.

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 8, 18))[:, None]
y = truth(X[:, 0]) + 0.15 * rng.standard_normal(18)

# %%
# Two widths of the basis functions. ``blend_at`` draws the weights that the targets have in one prediction.

figure = plt.figure(figsize=(12, 7), layout="constrained")
for ax, sigma in zip(figure.subplots(1, 2), (0.3, 1.5), strict=True):
    model = BasisRegression(GaussianBasis(sigma), alpha=0.1).fit(X, y)
    display = RegressionDisplay.from_estimator(model, X, y, basis=True, truth=truth)
    display.plot(ax, blend_at=5.0)
    display.ax_.set(title=f"$\\sigma$ = {sigma:g}, $\\lambda$ = 0.1", ylim=(-1.5, 4.4))
    display.ax_.legend(loc="lower center", ncols=2, fontsize="small", framealpha=1)
    display.blend_ax_.set(ylabel="weight b(5)", ylim=(-0.25, 0.75))

plt.show()
