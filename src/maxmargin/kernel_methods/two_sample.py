"""Maximum mean discrepancy: do two samples come from one distribution? (Gretton et al. 2012)

The distance of two distributions is that of the means of their features, and is zero, for a characteristic kernel like
the Gaussian, only if they are equal. From n_x points x_i and n_y points z_j it is estimated by

    MMD^2 = mean_{i, i'} k(x_i, x_i') + mean_{j, j'} k(z_j, z_j') - 2 mean_{i, j} k(x_i, z_j)

over all pairs (biased, never negative), or in the first two means over pairs of different points (unbiased).

If the distributions are equal, it does not matter which points are called x. So the labels are permuted, and the
p-value is (1 + number of permutations with an MMD^2 as large) / (1 + number of permutations): it is exact for every
sample size (Phipson & Smyth 2010). For labels a in {0, 1}^N, with K over all N points, r = K1 and t = 1'K1, the sums of
the three blocks are

    a'Ka,    t - 2 a'r + a'Ka,    a'r - a'Ka

so that one product K A, with the permutations as columns of A, serves them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels._arrays import centre_of, squared_distances
from maxmargin.kernels._loops import MANHATTAN, coordinate_sums
from maxmargin.kernels.base import _column_names, _stacked
from maxmargin.kernels.gram.operator import Gram
from maxmargin.runtime.validation import Array, Points, check_flag, check_number, check_points
from maxmargin.svm.kernel_input import check_square, gram_of, kernel_of, resolved, threads_for

RELABELLINGS_MAX_BYTES = 64e6  # relabellings held at a time
MEDIAN_POINTS = 2000  # the median of distances is taken over no more points than this


@dataclass(frozen=True)
class MMDResult:
    """The result of :func:`mmd_test`.

    Attributes
    ----------
    statistic : float
        MMD^2 of the two samples.
    pvalue : float
        Fraction of permutations with a statistic at least as large, including the observed one.
    kernel : Kernel
        The kernel with its resolved parameters.
    n_x, n_y : int
        Sizes of the samples.
    n_permutations : int
        Number of permutations.
    unbiased : bool
        Which estimate was used.
    null : ndarray of shape (n_permutations,)
        The statistic of every permutation, sorted.

    Examples
    --------
    >>> from maxmargin import mmd_test
    >>> result = mmd_test([[0.0], [0.1], [0.2], [0.3]], [[1.0], [1.1], [1.2]], n_permutations=199, random_state=0)
    >>> bool(result.statistic > result.quantile(0.95))
    True
    """

    statistic: float
    pvalue: float
    kernel: Kernel
    n_x: int
    n_y: int
    n_permutations: int
    unbiased: bool
    null: Array = field(repr=False)

    def quantile(self, level: Any) -> Any:
        """Quantiles of the null distribution of the statistic.

        Parameters
        ----------
        level : float or array-like
            Between 0 and 1.

        Returns
        -------
        quantile : float or ndarray
        """
        quantile = np.quantile(self.null, level)
        return float(quantile) if np.ndim(quantile) == 0 else quantile

    def __str__(self) -> str:
        kind = "unbiased" if self.unbiased else "biased"
        return (
            f"MMD² = {self.statistic:.4g} ({kind}), p = {self.pvalue:.3g} from {self.n_permutations:,} permutations of "
            f"{self.n_x:,} and {self.n_y:,} points\n"
            f"{' '.join(str(self.kernel).split())}; under equal distributions 95 % lie below {self.quantile(0.95):.4g}"
        )


def mmd_test(
    X: Any,
    Y: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = None,
    degree: float = 3,
    coef0: float = 0.0,
    n_permutations: int = 1000,
    unbiased: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> MMDResult:
    """Test whether two samples come from the same distribution, by their maximum mean discrepancy.

    Parameters
    ----------
    X, Y : array-like, table or sparse matrix of shape (n_x, n_features) and (n_y, n_features)
        The samples, each with two points or more; lists of strings or other objects, if the kernel accepts them.
    kernel : str, Kernel or callable, default="rbf"
        A name, a kernel object, or a function of two points or of two arrays of points. With ``"precomputed"``, X and Y
        are rows of the kernel matrix of all points, those of the first sample and then those of the second.
    gamma : {"median", "scale", "auto"} or float, optional
        Parameter of a kernel given by name. ``"median"``, for kernels of a distance, sets the width to the median
        distance between two points: 1 / (2 median^2) for ``"rbf"``, 1 / median for ``"laplacian"``. The default is
        ``"median"`` for these two kernels, ``"scale"`` for others.
    degree, coef0 : float
        Parameters of a kernel given by name.
    n_permutations : int, default=1000
        Number of permutations; the p-value is at least 1 / (1 + n_permutations).
    unbiased : bool, default=True
        Whether the statistic excludes pairs of a point with itself.
    random_state : int or RandomState, optional
        Seed of the permutations.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    result : MMDResult
        With ``statistic``, ``pvalue``, the ``kernel`` used and the null distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((100, 2)), rng.standard_normal((80, 2)) + [1.0, 0.0]
    >>> print(mmd_test(X, Y, random_state=0))
    MMD² = ... (unbiased), p = 0.000999 from 1,000 permutations of 100 and 80 points
    RBF(gamma=...); under equal distributions 95 % lie below ...
    """
    check_number("n_permutations", n_permutations, least=1, integer=True)
    check_flag("unbiased", unbiased)
    rng = check_random_state(random_state)
    distance = isinstance(kernel, str) and kernel in ("rbf", "laplacian")
    median = gamma == "median" or (gamma is None and distance)
    if median and not distance:
        raise ValueError(f"gamma='median' is for the kernels 'rbf' and 'laplacian'; got kernel={kernel!r}.")
    rule = "scale" if gamma is None or median else gamma
    unresolved = kernel_of(kernel, gamma=rule, degree=degree, coef0=coef0)
    Z, n_x = _pooled(X, Y, unresolved)
    if median:
        unresolved.set_params(gamma=_median_gamma(Z, kernel, rng))
    ready = resolved(unresolved, kernel, Z, names=_column_names(X))
    gram = gram_of(ready, Z, threads_for(Z.shape[0], n_jobs))
    observed, null = _statistics(gram, n_x, int(n_permutations), unbiased, rng)
    # Relabellings that give the same two samples, or the same swapped, differ from the observed by rounding only.
    rounding = 1e-12 * float(np.abs(gram.diagonal()).max())
    return MMDResult(
        statistic=observed,
        pvalue=(1 + int(np.count_nonzero(null >= observed - rounding))) / (1 + int(n_permutations)),
        kernel=ready,
        n_x=n_x,
        n_y=Z.shape[0] - n_x,
        n_permutations=int(n_permutations),
        unbiased=bool(unbiased),
        null=np.sort(null),
    )


def _pooled(X: Any, Y: Any, kernel: Kernel) -> tuple[Points, int]:
    """The points of both samples, and how many are of the first."""
    first: Points = kernel.objects(X)
    second: Points = kernel.objects(Y)
    if first is None or second is None:
        first, second = check_points(X, "X"), check_points(Y, "Y")
        if first.shape[1] != second.shape[1]:
            raise ValueError(
                f"X has {first.shape[1]} columns and Y has {second.shape[1]}: give points of the same features."
            )
    for name, points in (("X", first), ("Y", second)):
        if points.shape[0] < 2:
            raise ValueError(f"{name} has {points.shape[0]} sample(s): a test needs two or more of each distribution.")
    Z = _stacked(first, second)
    if isinstance(kernel, Precomputed):
        check_square(Z)
    return Z, first.shape[0]


def _median_gamma(Z: Points, kernel: str, rng: Any) -> float:
    """The gamma of a kernel as wide as the median distance of two points (of different ones, if most are equal)."""
    if Z.shape[0] > MEDIAN_POINTS:
        # By chance, not the first ones: the choice must not depend on which sample a point belongs to.
        Z = Z[np.sort(rng.choice(Z.shape[0], MEDIAN_POINTS, replace=False))]
    gaussian = kernel == "rbf"
    D = np.sqrt(squared_distances(Z, Z, centre_of(Z, None))) if gaussian else coordinate_sums(Z, Z, MANHATTAN)
    distances = D[np.triu_indices(len(D), 1)]
    median = float(np.median(distances))
    if median == 0.0 and distances.any():
        median = float(np.median(distances[distances > 0]))
    if median == 0.0:
        return 1.0
    return 0.5 / median**2 if gaussian else 1.0 / median


def _statistics(gram: Gram, n_x: int, n_permutations: int, unbiased: bool, rng: Any) -> tuple[float, Array]:
    """MMD^2 of the samples as they are, and of every relabelling."""
    n, every = gram.n, np.arange(gram.n)
    n_y = n - n_x
    r, diagonal = gram.product(every, np.ones(n)), gram.diagonal()
    total, trace = r.sum(), diagonal.sum()
    step = max(16, int(RELABELLINGS_MAX_BYTES // (8 * n)))
    values = np.empty(1 + n_permutations)
    for start in range(0, len(values), step):
        count = min(step, len(values) - start)
        A = np.zeros((n, count))
        for column in range(count):
            chosen = every[:n_x] if start + column == 0 else rng.permutation(n)[:n_x]
            A[chosen, column] = 1.0
        within = np.einsum("ib,ib->b", A, gram.product(every, A))  # a'Ka
        edges = r @ A
        xx, yy, xy = within, total - 2.0 * edges + within, edges - within
        if unbiased:
            own = diagonal @ A
            means = (xx - own) / (n_x * (n_x - 1)) + (yy - trace + own) / (n_y * (n_y - 1))
        else:
            means = xx / n_x**2 + yy / n_y**2
        values[start : start + count] = means - 2.0 * xy / (n_x * n_y)
    return float(values[0]), values[1:]
