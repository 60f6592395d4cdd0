"""The worked example: handwritten digits, read by a support vector machine
========================================================================

1,797 images of 8 x 8 pixels are split at random, 60 % to learn from and 40 % to test on. A classifier with the
Gaussian kernel, gamma = 0.001, is fitted and reads the 719 test images. The few it gets wrong come first, in orange,
with the true digit and the answer above each. The table counts who was taken for whom; beside the accuracy stands
that of the naive answer, always the most frequent digit.
"""

import matplotlib.pyplot as plt

from maxmargin import digits
from maxmargin.displays import DigitsDisplay

plt.rcParams["font.size"] = 12


# %%
# One function splits, fits, predicts and reports.

result = digits.run()
figure = plt.figure(figsize=(12.5, 8), layout="constrained")
DigitsDisplay.from_result(result).plot(figure.add_subplot())

plt.show()
