"""The Gaussian kernel has infinitely many features, and a few are enough
======================================================================

For one column, exp(-(x - z)^2 / 2) is the inner product of the features exp(-x^2 / 2) x^k / sqrt(k!), k = 0, 1, 2,
... Truncated after some order, the sum is accurate near the origin, and further out with every term (left). The error
is largest for the points farthest from the origin. The right picture shows the largest error measured on points up to
a distance R (dots) and the bound that the library guarantees (lines). Beyond order R^2 it falls faster and faster,
down to rounding.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin.kernel_methods.feature_maps import GaussianSeriesMap
from maxmargin.kernels import RBF

plt.rcParams["font.size"] = 13


# %%
# Left: the kernel as a function of x, and the series truncated at five orders.

figure = plt.figure(figsize=(12, 5.2), layout="constrained")
left, right = figure.subplots(1, 2)
kernel = RBF(sigma=1.0)

x, z = np.linspace(-2, 6, 400)[:, None], np.array([[2.0]])
left.plot(x, kernel(x, z), color="0.75", linewidth=7, label="kernel $k(x, 2)$")
for order, colour in ((0, "#D55E00"), (2, "#C98A00"), (4, "#009E73"), (8, "#B6528B"), (16, "#0072B2")):
    series = GaussianSeriesMap(order=order).fit(x)
    left.plot(x, series.transform(x) @ series.transform(z).T, color=colour, linewidth=2, label=f"order {order}")
left.set(xlabel="$x$", title="truncated series, $z = 2$")
left.legend()

# Right: the bound of ``truncation_error`` against the largest error on a grid of points.

orders = np.arange(0, 41)
for radius, colour in ((1.0, "#0072B2"), (2.0, "#009E73"), (3.0, "#D55E00")):
    points = np.linspace(-radius, radius, 41)[:, None]
    K = kernel(points)
    bounds, measured = [], []
    for order in orders:
        series = GaussianSeriesMap(order=int(order)).fit(points)
        features = series.transform(points)
        bounds.append(series.truncation_error(points))
        measured.append(np.abs(features @ features.T - K).max())
    right.semilogy(orders, bounds, color=colour, linewidth=2, label=f"R = {radius:g}")
    right.semilogy(orders, measured, "o", color=colour, markersize=4)
right.axhline(np.finfo(float).eps, color="0.5", linestyle=":")
right.text(0.5, 4e-16, "rounding", color="0.3")
right.set(xlabel="order", title="largest error: bound (lines), measured (dots)", ylim=(2e-17, 4))
right.grid(alpha=0.3)
right.legend()

plt.show()
