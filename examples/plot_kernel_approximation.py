"""A few features instead of a kernel: landmarks, random features, and what they miss
==================================================================================

Most of the two thousand points are in one small cloud, the rest on an arc around it. Above: sixty landmarks, chosen
in four ways; the shading shows how much of k(x, x) their features miss (dark: all of it). Uniformly drawn landmarks
follow the density of the points; cluster centres, leverage scores and random pivots also cover the arc. Below left:
the fraction of the kernel's trace that is missed, against the number of landmarks. Below right: the error of the kernel
matrix. Random features do not depend on the data, and their error decreases with the square root of their number; that
of landmarks decreases as fast as the eigenvalues of the kernel matrix.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin.large_scale import Nystroem, RandomFeatures

plt.rcParams["font.size"] = 13


GAMMA = 2.0
NUMBERS = (20, 40, 80, 160, 320)
COLOURS = {"uniform": "#D55E00", "kmeans": "#009E73", "leverage": "#C98A00", "rpcholesky": "#0072B2"}
NAMES = {"uniform": "uniform", "kmeans": "k-means", "leverage": "leverage scores", "rpcholesky": "random pivots"}


def cloud_and_arc(n: int) -> np.ndarray:
    """A dense cloud, and one point in seven on an arc around it."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(-1.7, 1.6, n // 7)
    arc = np.column_stack((4.8 * np.cos(angle), 4.8 * np.sin(angle)))
    return np.concatenate((rng.normal(0.0, 0.25, (n - len(arc), 2)), arc + rng.normal(0.0, 0.08, arc.shape)))


# %%
# Most points are in a dense cloud, one in seven on an arc.

X = cloud_and_arc(2000)
figure = plt.figure(figsize=(15, 9), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=(1.0, 1.1))

# Sixty landmarks, chosen in four ways, over the part of k(x, x) that their features lose.

edges = np.linspace(-5.8, 5.8, 180)
plane = np.stack(np.meshgrid(edges, edges), axis=-1).reshape(-1, 2)
panels = above.subplots(1, 4, sharex=True, sharey=True)
for ax, (method, colour) in zip(panels, COLOURS.items(), strict=True):
    features = Nystroem(gamma=GAMMA, n_components=60, landmarks=method, random_state=0).fit(X)
    missed = 1.0 - (features.transform(plane) ** 2).sum(axis=1)
    ax.pcolormesh(edges, edges, missed.reshape(180, 180), cmap="Greys", vmin=0, vmax=1.6, rasterized=True)
    ax.plot(*X.T, ".", color="0.35", markersize=1.5, label="points")
    style = {"color": colour, "markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.6}
    ax.plot(*features.components_.T, "o", label="landmarks", **style)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"{NAMES[method]}: misses {features.kernel_error(X).trace:.1%}")
    ax.legend(loc="upper left", fontsize="x-small", markerscale=1.5)
image = panels[0].collections[0]
parts = {"ticks": (0, 0.5, 1), "boundaries": np.linspace(0, 1, 101)}
above.colorbar(image, ax=list(panels), shrink=0.8, label="missed part of k(x, x)", **parts)

# The error against the number of landmarks or random features.

left, right = below.subplots(1, 2)
errors = {
    method: [
        Nystroem(gamma=GAMMA, n_components=m, landmarks=method, random_state=1).fit(X).kernel_error(X) for m in NUMBERS
    ]
    for method in COLOURS
}
for method, colour in COLOURS.items():
    left.loglog(NUMBERS, [error.trace for error in errors[method]], "o-", color=colour, label=NAMES[method])
left.set(xlabel="landmarks", ylabel="missed part of the trace", xticks=NUMBERS, xticklabels=NUMBERS)
for method in ("uniform", "rpcholesky"):
    values = [error.frobenius for error in errors[method]]
    right.loglog(NUMBERS, values, "o-", color=COLOURS[method], label=f"landmarks, {NAMES[method]}")
values = [RandomFeatures(m, gamma=GAMMA, random_state=1).fit(X).kernel_error(X).frobenius for m in NUMBERS]
right.loglog(NUMBERS, values, "s--", color="k", label="random features")
right.set(xlabel="features", ylabel="relative error of K (Frobenius)", xticks=NUMBERS, xticklabels=NUMBERS)
for ax in (left, right):
    ax.minorticks_off()
    ax.legend(frameon=False)

plt.show()
