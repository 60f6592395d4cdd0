"""Polar coordinates: the right features make a hard problem linear
================================================================

Two concentric rings differ only in their distance from the centre. In polar coordinates, (x1, x2) -> (r, theta),
the two classes are two bands, and a straight line separates them. In the original plane that line is nearly a circle.
The classifier does not know that angles are periodic: its line is slightly tilted, and the curve has a jump where the
angle changes from pi to -pi.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.pipeline import make_pipeline

from maxmargin import SVC
from maxmargin.displays import MarginDisplay
from maxmargin.kernel_methods.feature_maps import PolarMap

plt.rcParams["font.size"] = 13


# %%
# The map is a step of a pipeline.

X, y = make_circles(120, factor=0.4, noise=0.08, random_state=0)
polar = make_pipeline(PolarMap(), SVC(kernel="linear", C=np.inf)).fit(X, y)

figure = plt.figure(figsize=(12, 5.6), layout="constrained")
left, right = figure.subplots(1, 2)
# Left in input space, right in polar coordinates.

display = MarginDisplay.from_estimator(polar, X, y, grid_resolution=400)
display.plot(left, legend=False, caption=False, title="the points: a curve separates")

display = MarginDisplay.from_estimator(polar[-1], polar[0].transform(X), y)
display.plot(right, legend=False, caption=False, title="polar coordinates: a line separates")
right.set(xlabel="radius r", ylim=(-np.pi, np.pi))
right.set_ylabel("angle θ", rotation=90)
right.set_yticks(np.pi * np.array([-1, -0.5, 0, 0.5, 1]), ["-π", "-π/2", "0", "π/2", "π"])

plt.show()
