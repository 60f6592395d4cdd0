"""Denoising handwritten digits: pre-images of kernel principal components
=======================================================================

Projecting a noisy image onto the principal components of clean images removes what these components do not span, which
is most of the noise. This takes few linear components, but few of them blur the digits. With a Gaussian kernel there
are as many components as training images, more than an image has pixels, and they follow the curved set on which the
digits lie. The projection is then a point in feature space; the picture shows its pre-image, the image whose features
are nearest to it (Mika et al. 1999). The numbers are root mean squared distances to the clean images, over all 400
held-out images.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from maxmargin.kernel_methods.pca import KernelPCA
from maxmargin.kernels import RBF

plt.rcParams["font.size"] = 13


# %%
# A thousand clean images to learn the components from, four hundred others with noise added.

images, digits = load_digits(return_X_y=True)
training, clean, digits = images[:1000] / 16, images[-400:] / 16, digits[-400:]
noisy = clean + 0.3 * np.random.default_rng(0).standard_normal(clean.shape)

# %%
# Twelve linear components, and 256 components of the Gaussian kernel. ``preimage`` finds the image whose features are
# nearest to the projection.

middle = training.mean(axis=0)
linear = KernelPCA(n_components=12, fit_inverse_transform=True, alpha=1e-6).fit(training - middle)
curved = KernelPCA(n_components=256, kernel=RBF(sigma=2.0)).fit(training)
rows = {
    "clean": clean,
    "noisy": noisy,
    "linear,\n12 components": linear.inverse_transform(linear.transform(noisy - middle)) + middle,
    "kernel,\n256 components": curved.preimage(curved.transform(noisy)),
}

# %%
# One column per digit; the error is over all 400 images.

figure = plt.figure(figsize=(12, 5.2), layout="constrained")
shown = [np.flatnonzero(digits == digit)[0] for digit in range(10)]
for axes, (name, pictures) in zip(figure.subplots(len(rows), 10), rows.items(), strict=True):
    for ax, picture in zip(axes, pictures[shown], strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    error = np.sqrt(np.mean((pictures - clean) ** 2))
    label = name if name == "clean" else f"{name}\nerror {error:.3f}"
    axes[0].set_ylabel(label, rotation=0, ha="right", va="center")

plt.show()
