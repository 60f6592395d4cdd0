"""What C does: the same points with a hard margin, C = 100 and C = 10
===================================================================

One point of the orange class lies close to the blue ones. A hard margin, C = inf, must classify it correctly, which
makes the margin narrow. A finite C is the penalty of one unit of slack: with C = 100 the classifier misclassifies the
point and has a wider margin, with C = 10 a wider one still, with more points inside it. As C grows, the solution
approaches the hard margin. The captions are taken from the reports.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC
from maxmargin.displays import MarginDisplay

plt.rcParams["font.size"] = 13


def with_an_outlier() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = np.concatenate((rng.normal((0.28, 0.34), 0.1, (25, 2)), rng.normal((0.72, 0.66), 0.1, (24, 2)), [[0.41, 0.5]]))
    return X, np.repeat([-1, 1], 25)


# %%
# Two classes of 25 points, and one outlier.

X, y = with_an_outlier()
# %%
# Three values of C, the regularisation parameter. The caption of each panel is taken from ``report_``.

figure = plt.figure(figsize=(16, 6.8), layout="constrained")
handles: dict[str, Any] = {}
for ax, C in zip(figure.subplots(1, 3, sharey=True), (np.inf, 100.0, 10.0), strict=True):
    model = SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
    title = "hard margin, C = ∞" if np.isinf(C) else f"soft margin, C = {C:g}"
    display = MarginDisplay.from_estimator(model, X, y).plot(ax, legend=False, title=title)
    handles |= {handle.get_label(): handle for handle in display.handles_}
    ax.label_outer()
figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=5, frameon=False)

plt.show()
