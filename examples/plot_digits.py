"""The worked example: handwritten digits, read by a support vector machine
========================================================================

1,797 images of 8 x 8 pixels are split at random, 60 % for training and 40 % for testing. A classifier with the
Gaussian kernel, gamma = 0.001, is fitted and predicts the 719 test images. The misclassified images come first, in
orange, with the true and the predicted digit above each. The confusion matrix counts all predictions. The accuracy is
compared with that of a baseline that always predicts the most frequent digit.
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
