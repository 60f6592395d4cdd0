"""Which separating line is best? The one with the widest margin
=============================================================

Left: a perceptron stops at the first line without errors, and another order of the points gives another line.
All of them classify the training points correctly; the legend shows the width of the margin of each. Right:
the hard-margin classifier finds the best w. Its margin, between the thin lines f = -1 and f = +1, is 2/|w| wide,
and only the ringed points on its edge determine it: moving any other point a little changes nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC, Perceptron
from maxmargin.displays import MarginDisplay

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, BLACK = "#C98A00", "#B6528B", "#000000"
plt.rcParams["font.size"] = 13


LINES = ((GREEN, "-"), (PURPLE, "--"), (ORANGE, "-."), (BLACK, ":"))


def two_clouds() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = np.concatenate((rng.normal((-1.3, -0.9), 0.55, (22, 2)), rng.normal((1.2, 0.9), 0.55, (22, 2))))
    return X, np.repeat(["left", "right"], 22)


# %%
# Two separable classes. The hard-margin classifier is ``SVC`` with ``C = inf``; its margin is as wide as it can be.

X, y = two_clouds()
figure = plt.figure(figsize=(13, 6.6), layout="constrained")
many, best = figure.subplots(1, 2)

model = SVC(kernel="linear", C=np.inf, tol=1e-6).fit(X, y)
display = MarginDisplay.from_estimator(model, X, y)
display.plot(best, legend=False, title="the best w: the widest margin")

ends = display.horizontal[[0, -1]]
# The perceptron depends on the order of the points. Each line below comes from another order; its margin is twice
# the distance of the nearest point.

for seed, (colour, style) in enumerate(LINES):
    line = Perceptron(random_state=seed).fit(X, y)
    w, b = line.coef_[0], line.intercept_[0]
    margin = 2 * np.abs(line.decision_function(X)).min() / np.linalg.norm(w)
    heights = -(w[0] * ends + b) / w[1]
    many.plot(ends, heights, color=colour, linestyle=style, linewidth=2.2, label=f"perceptron {seed + 1}: {margin:.2f}")
for label, colour, marker in (("left", BLUE, "o"), ("right", VERMILION, "s")):
    many.scatter(*X[y == label].T, color=colour, marker=marker, s=55, edgecolor="white", linewidth=0.8, zorder=3)
many.set(xlim=ends, ylim=display.vertical[[0, -1]], xlabel="x₁", title="four separating lines")
many.set_ylabel("x₂", rotation=0)
many.set_aspect("equal", anchor="S")
many.legend(title="margin", loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False)
figure.legend(handles=display.handles_, loc="outside lower center", ncols=4, frameon=False)

plt.show()
