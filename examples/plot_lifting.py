"""Lifting: what no line separates in the plane, a plane separates in space
========================================================================

No straight line separates two concentric rings. Add a third coordinate, the squared distance from the origin,
(x1, x2) -> (x1, x2, x1^2 + x2^2), and the points lie on a paraboloid, the inner ring below the outer one. There a plane
separates them, found by a linear classifier with the widest margin (right). In the plane, this is a circle (left): a
classifier that is linear in the features is nonlinear in the points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.pipeline import make_pipeline

from maxmargin import SVC
from maxmargin.displays import MarginDisplay
from maxmargin.kernel_methods.feature_maps import RadialMap

plt.rcParams["font.size"] = 13


# %%
# The map is a transformer, so that a pipeline does both steps.

X, y = make_circles(120, factor=0.4, noise=0.08, random_state=0)
lifted = make_pipeline(RadialMap(), SVC(kernel="linear", C=np.inf)).fit(X, y)

figure = plt.figure(figsize=(12, 6.6), layout="constrained")
grid = figure.add_gridspec(1, 2, width_ratios=(1, 1.15))
display = MarginDisplay.from_estimator(lifted, X, y)
display.plot(figure.add_subplot(grid[0]), legend=False, caption=False, title="in the plane: a circle separates")

# The same classifier in the lifted space, where the boundary is a plane.

ax = figure.add_subplot(grid[1], projection="3d")
angle, radius = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(0, 1.25, 11))
x1, x2 = radius * np.cos(angle), radius * np.sin(angle)
ax.plot_wireframe(x1, x2, radius**2, rstride=2, cstride=4, color="0.75", linewidth=0.7)
w, b = lifted[-1].coef_[0], lifted[-1].intercept_[0]
side = np.array([-1.3, 1.3])
x1, x2 = np.meshgrid(side, side)
ax.plot_surface(x1, x2, -(w[0] * x1 + w[1] * x2 + b) / w[2], color="0.5", alpha=0.45)
Z = lifted[0].transform(X)
for label, marker in ((0, "o"), (1, "s")):
    colour = display.colours[label]
    ax.scatter(*Z[y == label].T, color=colour, marker=marker, s=30, edgecolor="white", linewidth=0.4, depthshade=False)
ax.view_init(elev=24, azim=-60)
ax.set_box_aspect((1, 1, 0.9), zoom=1.0)
ax.locator_params(nbins=4)
ax.set(xlabel="x₁", ylabel="x₂", zlabel="x₁² + x₂²", title="lifted: a plane separates")
figure.legend(handles=display.handles_, loc="outside lower center", ncols=4, frameon=False)

plt.show()
