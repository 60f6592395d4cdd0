"""Map against kernel: one classifier, two ways to compute it
==========================================================

The kernel (1 + x'z)^p is an inner product of explicit features, all monomials up to degree p with the right factors.
A linear classifier of the features and a kernel classifier of the points are therefore the same classifier: the two
pictures on the left agree within the tolerance of the solver. They differ in cost. An inner product of features costs
one multiplication for each monomial, and there are C(d + p, p) of them for d columns; the kernel costs d
multiplications and a power. The right picture counts both, on handwritten digits cut to their last d pixels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_moons
from sklearn.pipeline import make_pipeline

from maxmargin.displays import MarginDisplay
from maxmargin.inspection.map_and_kernel import compare_map_and_kernel

plt.rcParams["font.size"] = 13


# %%
# ``compare_map_and_kernel`` fits the classifier both ways.

X, y = make_moons(100, noise=0.15, random_state=1)
both = compare_map_and_kernel(X, y, degree=4, C=1.0)

figure = plt.figure(figsize=(14, 4.8), layout="constrained")
by_kernel, by_map, costs = figure.subplots(1, 3, width_ratios=(1.1, 1.1, 1))
pictures = (
    (by_kernel, both.kernel_model, f"kernel: {both.n_columns} numbers per point"),
    (by_map, make_pipeline(both.feature_map, both.map_model), f"map: {both.n_map_features} numbers per point"),
)
for ax, model, title in pictures:
    display = MarginDisplay.from_estimator(model, X, y, pad=0.2)
    display.plot(ax, legend=False, caption=False, title=title, size=40)
    ax.set_aspect("auto")
figure.supxlabel(f"largest difference of decision values: {both.decision_difference:.0e}", x=0.34, fontsize=13)

# The cost of one inner product, by the number of columns.

images, digits = load_digits(n_class=2, return_X_y=True)
images, digits = images[:30] / 16, digits[:30]
columns = (2, 4, 8, 16, 32, 64)
for degree, colour, marker in ((3, "#B6528B", "s"), (2, "#009E73", "o")):
    results = [compare_map_and_kernel(images[:, -d:], digits, degree=degree, tol=1e-3) for d in columns]
    for name, line in (("map", "-"), ("kernel", "--")):
        counts = [getattr(result, f"{name}_cost") for result in results]
        label = f"{name}, degree {degree}"
        costs.loglog(columns, counts, color=colour, marker=marker, linestyle=line, linewidth=2, label=label)
costs.set_xticks(columns, [str(d) for d in columns])
costs.minorticks_off()
costs.grid(alpha=0.3)
costs.set(xlabel="columns d", title="multiplications per inner product")
costs.legend()

plt.show()
