"""Support vector regression: errors inside the tube cost nothing
==============================================================

Errors up to epsilon cost nothing, so only the points on the edge of the tube and outside it determine the curve: the
support vectors, ringed. A narrow tube needs nearly all points, a wide one only a few, and a tube wider than the noise
underfits. Kernel ridge regression, last, penalises the squared error of every point: its curve is as good, but it needs
all points.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVR
from maxmargin.displays import RegressionDisplay
from maxmargin.kernel_methods.ridge import KernelRidge

plt.rcParams["font.size"] = 13


def truth(x: np.ndarray) -> np.ndarray:
    """The function that the points are drawn from."""
    return np.sin(x) + 0.4 * np.cos(2 * x)


# %%
# Sixty noisy points.

rng = np.random.default_rng(1)
X = np.sort(rng.uniform(0, 7, 60))[:, None]
y = truth(X[:, 0]) + 0.2 * rng.standard_normal(60)

# %%
# Three widths of the tube, and kernel ridge regression.

models = [(f"SVR, $\\varepsilon$ = {width:g}", SVR(C=5, gamma=0.5, epsilon=width)) for width in (0.05, 0.3, 0.7)]
models.append(("kernel ridge, $\\lambda$ = 0.2", KernelRidge(alpha=0.2, kernel="rbf", gamma=0.5)))

# %%
# Support vectors are ringed.

figure = plt.figure(figsize=(12, 8), layout="constrained")
axes = figure.subplots(2, 2, sharex=True, sharey=True)
for ax, (title, model) in zip(axes.flat, models, strict=True):
    RegressionDisplay.from_estimator(model.fit(X, y), X, y, truth=truth).plot(ax)
    ax.legend(loc="upper center", fontsize="small", ncols=2)
    ax.set(
        title=title,
        ylim=(-2.1, 2.5),
        xlabel="x" if ax in axes[1] else "",
        ylabel="y" if ax in axes[:, 0] else "",
    )

plt.show()
