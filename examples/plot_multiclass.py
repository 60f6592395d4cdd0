"""Three ways to more than two classes: one-vs-one, one-vs-rest and the joint formulation
======================================================================================

Three classes surround a fourth. One-vs-one solves a binary problem for each pair of classes and lets them vote: every
pair is easy to separate. One-vs-rest separates each class from all others. No line separates the middle class from
the rest, so its decision function is nearly constant, most points become support vectors, and the class gets only the
region that no other class claims. The joint formulation of Crammer and Singer only requires that the score of a
point's own class is higher than the other scores, and needs the fewest support vectors. All three use the kernel 1 +
x'z, that is straight lines with an intercept.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from maxmargin import SVC
from maxmargin.displays import MarginDisplay

plt.rcParams["font.size"] = 13


SCHEMES = {"ovo": "one-vs-one", "ovr": "one-vs-rest", "crammer_singer": "joint"}
CENTRES = ((0.0, 0.0), (-2.4, -1.2), (2.4, -1.2), (0.0, 2.6))
NAMES = np.array(["middle", "west", "east", "north"])


# %%
# Four classes; a linear kernel with an intercept.

X, codes = make_blobs(140, centers=CENTRES, cluster_std=0.6, random_state=1)
y = NAMES[codes]
# %%
# One panel per scheme. Support vectors are ringed.

figure = plt.figure(figsize=(16, 7.4), layout="constrained")
for ax, (scheme, name) in zip(figure.subplots(1, 3, sharey=True), SCHEMES.items(), strict=True):
    model = SVC(kernel="poly", degree=1, gamma=1.0, coef0=1.0, C=10.0, multiclass=scheme).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, grid_resolution=400)
    display.plot(ax, legend=False, title=name, size=40)
    ax.label_outer()
figure.legend(handles=display.handles_, loc="outside lower center", ncols=6, frameon=False)

plt.show()
