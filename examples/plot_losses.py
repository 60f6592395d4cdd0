"""What a mistake costs: the losses of classification against the functional margin m = y f(x)
===========================================================================================

The zero-one loss counts errors, and no efficient method minimises it. The hinge loss of the soft margin lies above it
everywhere, so the sum of the slacks bounds the number of errors; it is convex, and exactly zero for points outside
the margin, which is why these are not support vectors. The squared hinge is smooth where the hinge has its corner and
penalises large errors more. The logistic loss never becomes zero: there every point is a support vector.
"""

import matplotlib.pyplot as plt

from maxmargin.displays import LossDisplay

plt.rcParams["font.size"] = 13


# %%
# ``LossDisplay`` draws the four losses; ``plot`` takes axes of your own.

figure = plt.figure(figsize=(8, 5), layout="constrained")
LossDisplay().plot(figure.add_subplot())

plt.show()
