"""Gram matrices: six kernels on the same 150 flowers
==================================================

Rows and columns are irises, sorted by species. A kernel that suits the classes shows bright blocks on the diagonal,
because flowers of the same species are more similar than flowers of different species. With a wide Gaussian all
flowers are similar, with a narrow one each flower is similar only to itself. These kernels are inner products of
features, so no eigenvalue is negative. The sigmoid function is not a kernel; its caption shows its negative
eigenvalues.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from maxmargin.displays import GramDisplay
from maxmargin.kernels import RBF, Linear, Normalized, Polynomial, Sigmoid

plt.rcParams["font.size"] = 13


# %%
# Standardised columns, and six kernels on them.

iris = load_iris()
X = (iris.data - iris.data.mean(axis=0)) / iris.data.std(axis=0)
kernels = {
    "linear": Linear(),
    "polynomial, normalised": Normalized(Polynomial(degree=2, gamma=0.25, coef0=1.0)),
    "sigmoid": Sigmoid(gamma=0.5, coef0=-1.0),
    "Gaussian, σ = 5": RBF(sigma=5.0),
    "Gaussian, σ = 1": RBF(sigma=1.0),
    "Gaussian, σ = 0.1": RBF(sigma=0.1),
}

# %%
# The caption of each panel says whether the matrix is positive semidefinite.

figure = plt.figure(figsize=(14, 9.6), layout="constrained")
for ax, (name, kernel) in zip(figure.subplots(2, 3).flat, kernels.items(), strict=True):
    GramDisplay.from_kernel(kernel, X, iris.target_names[iris.target]).plot(ax)
    ax.set_title(name)

plt.show()
