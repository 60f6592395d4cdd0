"""Kernel PCA: principal components that bend
==========================================

Linear principal components of two rings are only a rotation: the rings stay one inside the other, and the contours of
a component are parallel lines. With a Gaussian kernel the components are functions on the plane with curved contours.
The first separates the inner ring from the outer one, so that a vertical line divides them in the lower scatter plot;
the second divides the inner ring into two halves.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

from maxmargin.displays import ProjectionDisplay
from maxmargin.kernel_methods.pca import KernelPCA

plt.rcParams["font.size"] = 13


# %%
# Two concentric rings.

X, y = make_circles(200, factor=0.35, noise=0.06, random_state=0)
names = y.astype(str)
names[y == 1], names[y == 0] = "inner", "outer"

# %%
# Left: the points in the first two components. Right: the components as functions of the plane.

figure = plt.figure(figsize=(13, 8.4), layout="constrained")
grid = figure.add_gridspec(2, 2, width_ratios=(1, 2))
rows = (("linear PCA", KernelPCA(kernel="linear")), ("Gaussian kernel PCA", KernelPCA(kernel="rbf", gamma=3.0)))
for i, (title, pca) in enumerate(rows):
    pca.fit(X)
    display = ProjectionDisplay.from_estimator(pca, X, names)
    display.plot(figure.add_subplot(grid[i, 1]), kind="contours", legend=False)
    display.plot(figure.add_subplot(grid[i, 0]), legend=i == 1)
    display.ax_.set_title(title, fontweight="bold")

plt.show()
