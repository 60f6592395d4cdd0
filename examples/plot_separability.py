"""Can a line separate two classes? Yes, with the line; or no, with the proof
==========================================================================

A linear program looks for w and b with y (w'x + b) >= 1 at every point. Left: it finds a separating line, shown next to
the one with the widest margin. Right: there is none, and the program returns a proof that is easy to check. A convex
combination of a few points of one class (the ends of the solid lines, with their weights) equals a convex combination
of a few points of the other class (dashed lines). A line that separates the classes would have this common point, the
star, on both of its sides. The shaded convex hulls overlap; one common point is enough.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

from maxmargin import SVC, separability

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
YELLOW, BLACK = "#F0E442", "#000000"
plt.rcParams["font.size"] = 13


STYLES = {"blue": (BLUE, "o"), "orange": (VERMILION, "s")}


def draw_classes(ax: Any, X: np.ndarray, y: np.ndarray) -> None:
    for label, (colour, marker) in STYLES.items():
        points = X[y == label]
        ax.fill(*points[ConvexHull(points).vertices].T, facecolor=colour, alpha=0.15, edgecolor=colour, linewidth=1.2)
        ax.scatter(
            *points.T, color=colour, marker=marker, s=60, edgecolor="white", linewidth=0.8, zorder=3, label=label
        )
    ax.set(xlabel="x₁")
    ax.set_aspect("equal", anchor="S")
    ax.margins(0.16)
    ax.set_ylabel("x₂", rotation=0)


def draw_line(ax: Any, w: np.ndarray, b: float, **style: Any) -> None:
    """The line w'x + b = 0, through its point nearest to the origin."""
    ax.axline(-b * w / (w @ w), -b * w / (w @ w) + np.array([-w[1], w[0]]), **style)


# %%
# The same cloud of points twice: first far apart, then overlapping.

rng = np.random.default_rng(32)
y = np.repeat(list(STYLES), 20)
cloud = rng.normal(0.0, 0.6, (40, 2))
figure = plt.figure(figsize=(13.5, 6), layout="constrained")
left, right = figure.subplots(1, 2)

# Separable: the linear program returns some separating line. The margin of the hard-margin classifier is wider.

X = cloud + np.where(y == "blue", -1.5, 1.5)[:, None] * (1.0, 0.6)
found = separability(X, y)
draw_classes(left, X, y)
widest = SVC(kernel="linear", C=np.inf).fit(X, y)
left.set(xlim=left.get_xlim(), ylim=left.get_ylim(), title="separable: yes, by this line")
draw_line(left, found.w, found.b, color=BLACK, linewidth=2.4, label=f"linear program, margin {found.margin:.2f}")
margin = widest.report_.margin
label = f"widest, margin {margin:.2f}"
draw_line(left, widest.coef_[0], widest.intercept_[0], color=GREEN, linewidth=2.4, linestyle="--", label=label)

# Inseparable: ``proof`` holds two convex combinations that are the same point. ``verify`` checks them against the
# data.

X = cloud + np.where(y == "blue", -0.6, 0.6)[:, None] * (1.0, 0.6)
proof = separability(X, y).proof
assert proof is not None
proof.verify(X, y)
draw_classes(right, X, y)
sides = ((proof.rows_positive, proof.weights_positive, "-"), (proof.rows_negative, proof.weights_negative, "--"))
for rows, weights, style in sides:
    for row, weight in zip(rows, weights, strict=True):
        right.plot(*np.array([X[row], proof.point]).T, color=BLACK, linestyle=style, linewidth=1.8, zorder=4)
        right.annotate(
            f"{weight:.0%}",
            X[row],
            xytext=tuple(25 * (X[row] - proof.point) / np.linalg.norm(X[row] - proof.point)),  # away from the star
            textcoords="offset points",
            ha="center",
            va="center",
            weight="bold",
            zorder=6,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.9},
        )
star = {"marker": "*", "markersize": 24, "markerfacecolor": YELLOW, "markeredgecolor": BLACK, "linestyle": ""}
right.plot(*proof.point, zorder=5, label="a point in both convex hulls", **star)
right.set_title("not separable: the convex hulls intersect")
for ax in (left, right):
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)

plt.show()
