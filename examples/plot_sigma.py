"""The width of the Gaussian kernel: from a smooth boundary to the nearest neighbour
=================================================================================

The kernel exp(-|x - z|^2 / 2 sigma^2) says how far a point's influence reaches. With sigma = 1 each support vector
influences half the picture, and the boundary is smooth. As sigma shrinks to 0.25 and 0.1 more and more points become
support vectors. The sum at a place is soon the value of the one point that is nearest, and between the points the
boundary approaches that of the nearest-neighbour classifier, the last panel. Far from all points the sum is zero, and
the intercept alone decides.
"""

from typing import Any

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from maxmargin import SVC, KernelKNeighborsClassifier
from maxmargin.displays import MarginDisplay
from maxmargin.kernels import RBF

plt.rcParams["font.size"] = 13


# %%
# Two overlapping half moons.

X, y = make_moons(100, noise=0.22, random_state=3)
figure = plt.figure(figsize=(13.5, 12), layout="constrained")
axes = figure.subplots(2, 2).ravel()
handles: dict[str, Any] = {}
for ax, sigma in zip(axes, (1.0, 0.25, 0.1), strict=False):
    model = SVC(kernel=RBF(sigma=sigma), C=10.0).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y).plot(ax, legend=False, title=f"σ = {sigma:g}")
    handles |= {handle.get_label(): handle for handle in display.handles_}
# The limit: the nearest-neighbour classifier.

nearest = KernelKNeighborsClassifier(n_neighbors=1, kernel="linear").fit(X, y)
display = MarginDisplay.from_estimator(nearest, X, y, grid_resolution=400)
display.plot(axes[3], legend=False, title="the nearest neighbour")
figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=5, frameon=False)

plt.show()
