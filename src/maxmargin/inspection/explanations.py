"""Why a model predicts what it predicts: every term of f(x), exactly.

The value of a kernel model is a sum over its support vectors, that of a linear one a sum over the features:

    f(x) = sum_i c_i k(x_i, x) + b                contribution of support vector i:   c_i k(x_i, x)
    f(x) = sum_j w_j x_j + b                      contribution of feature j:          w_j x_j

Nothing is fitted or sampled here: contributions and intercept add up to the decision value. A term's share is its size
among the sizes of all terms, |t_i| / sum |t|. Where the kernel has a derivative, df/dx_j says in which features the
value would change (:mod:`maxmargin.inspection.sensitivities`).

With more than two classes the value explained is that of the predicted class against its strongest rival: their own
binary model of one-vs-one, or the difference of the two classes' values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin.inspection._functions import check_is_expansion, check_not_pipeline
from maxmargin.inspection.sensitivities import gradient, has_gradient
from maxmargin.kernels import Linear, Precomputed
from maxmargin.runtime.text_report import TextReport, pandas
from maxmargin.runtime.validation import Array, Points, check_new_points, check_number
from maxmargin.svm.models.terms import explained, plain, support_codes, support_coefficients

BATCH_ROWS = 256  # rows whose kernel values are held at a time
SHOWN_FEATURES = 10  # features that the text shows


@dataclass(frozen=True)
class Explanation(TextReport):
    """The explanation of one prediction, as returned by :func:`explain`.

    Attributes
    ----------
    prediction : object
        The label, or the value of a regression.
    about : str
        Description of the value.
    value : float
        The decision value explained: the sum of all contributions and the intercept.
    intercept : float
        The intercept of the function.
    index : array of int
        Training rows of the largest contributions, largest first; empty for a model without support vectors.
    label : array or None
        Their classes; None if there are none.
    alpha : array
        Absolute value of each coefficient.
    kernel : array
        k(x_i, x).
    contribution, share : arrays
        c_i k(x_i, x), and its share of the sum of absolute values of all terms.
    rest : float
        The sum of the contributions that are not listed.
    n_rest : int
        Their number.
    features : array of shape (d,) or None
        w_j x_j, for linear models.
    sensitivity : array of shape (d,) or None
        df/dx_j, where the kernel has a derivative.
    names : sequence of str or None
        Names of the features.
    point : array of shape (d,) or None
        x, where it is a vector.
    vectors : array or None
        The listed support vectors, where they are vectors.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin import explain
    >>> model = SVC(gamma=1.0, C=10.0).fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> one = explain(model, [[2.5]])[0]
    >>> one.prediction, bool(abs(one.contribution.sum() + one.intercept - one.value) < 1e-9)
    ('high', True)
    """

    prediction: Any
    about: str
    value: float
    intercept: float
    index: Array
    label: Array | None
    alpha: Array
    kernel: Array
    contribution: Array
    share: Array
    rest: float
    n_rest: int
    features: Array | None
    sensitivity: Array | None
    names: Sequence[str] | None
    point: Array | None
    vectors: Any

    def _tables(self) -> list[tuple[str, list[list[str]]]]:
        """Headings and tables, the first line of each its head."""
        tables = []
        if len(self.index):
            lines = [["training row", "label", "alpha", "k(x_i, x)", "contribution", "share"]]
            for i in range(len(self.index)):
                numbers = [self.alpha[i], self.kernel[i], self.contribution[i]]
                label = "" if self.label is None else str(self.label[i])
                lines.append([str(self.index[i]), label, *(f"{x:.4g}" for x in numbers), f"{self.share[i]:.1%}"])
            if self.n_rest:
                left = max(0.0, 1.0 - float(self.share.sum()))
                lines.append([f"{self.n_rest:,} others", "", "", "", f"{self.rest:.4g}", f"{left:.1%}"])
            if self.label is None:
                lines = [line[:1] + line[2:] for line in lines]
            tables.append(("support vectors", lines))
        for title, of_feature in (("features, w_j x_j", self.features), ("sensitivity, df/dx_j", self.sensitivity)):
            if of_feature is None or (title.startswith("sens") and self.features is not None):
                continue  # of a linear model the sensitivities are its weights, the same everywhere
            order = np.argsort(-np.abs(of_feature), kind="stable")[:SHOWN_FEATURES]
            lines = [["feature", "value", "contribution" if self.features is not None else "df/dx_j"]]
            for j in order:
                name = str(j) if self.names is None else str(self.names[j])
                lines.append([name, "" if self.point is None else f"{self.point[j]:.4g}", f"{of_feature[j]:.4g}"])
            if len(order) < len(of_feature):
                others = "" if self.features is None else f"{of_feature.sum() - of_feature[order].sum():.4g}"
                lines.append([f"{len(of_feature) - len(order):,} others", "", others])
            tables.append((title, lines))
        return tables

    def _lines(self) -> list[tuple[str, str]]:
        return [
            ("prediction", f"{self.prediction!r}" if isinstance(self.prediction, str) else f"{self.prediction}"),
            ("value", f"{self.value:.6g} ({self.about})"),
            ("intercept", f"{self.intercept:.6g}"),
        ]


class Explanations(Sequence[Explanation]):
    """The explanations of some points: a list that prints itself.

    Parameters
    ----------
    items : sequence of Explanation

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin import explain
    >>> found = explain(LinearSVC().fit([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]])
    >>> len(found), [one.prediction for one in found]
    (2, [0, 1])
    """

    def __init__(self, items: Sequence[Explanation]) -> None:
        self._items = list(items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> Explanation: ...

    @overload
    def __getitem__(self, at: slice) -> Explanations: ...

    def __getitem__(self, at: int | slice) -> Explanation | Explanations:
        return Explanations(self._items[at]) if isinstance(at, slice) else self._items[at]

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._items)

    def __str__(self) -> str:
        return "\n\n".join(f"point {i}\n{item}" for i, item in enumerate(self._items))

    def _repr_html_(self) -> str:
        return "".join(f"<h4>point {i}</h4>{item._repr_html_()}" for i, item in enumerate(self._items))

    def to_frame(self) -> Any:
        """The listed contributions as a pandas DataFrame, one row each.

        Returns
        -------
        pandas.DataFrame
            Of support vectors, with columns ``point``, ``row``, ``label``, ``alpha``, ``kernel``, ``contribution`` and
            ``share``; of features, for models without support vectors, with ``point``, ``feature``, ``contribution``.
        """
        pd = pandas()
        parts = []
        for i, one in enumerate(self._items):
            if len(one.index):
                columns = {"row": one.index, "alpha": one.alpha, "kernel": one.kernel}
                columns |= {"contribution": one.contribution, "share": one.share}
                columns = columns if one.label is None else {"label": one.label, **columns}
            else:
                features = np.empty(0) if one.features is None else one.features
                names = np.arange(len(features)) if one.names is None else np.asarray(one.names)
                columns = {"feature": names, "contribution": features}
            parts.append(pd.DataFrame({"point": i, **columns}))
        return pd.concat(parts, ignore_index=True)


def explain(estimator: Any, X: Any, *, top: int = 10) -> Explanations:
    """Explain predictions by the contributions of support vectors and columns.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this library: with a kernel (``SVC``, ``NuSVC``, ``SVR``, ``NuSVR``,
        ``OneClassSVM``) or linear (``LinearSVC``, ``LinearSVR``).
    X : array-like, sparse matrix or list of objects
        Points as for ``predict``; kernel rows k(x, training points) for ``kernel="precomputed"``.
    top : int, default=10
        The number of support vectors to list for each point.

    Returns
    -------
    Explanations
        One explanation per point; prints as tables.

    Raises
    ------
    TypeError
        If the estimator is not one of this library.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin import explain
    >>> model = SVC(kernel="linear", C=10.0, tol=1e-10).fit([[0.0], [1.0], [3.0]], ["far", "far", "near"])
    >>> print(explain(model, [[2.5]], top=1)[0])
    prediction  'near'
    value       0.5 (f of 'near' against 'far')
    intercept   -2
    <BLANKLINE>
    support vectors
    training row  label  alpha  k(x_i, x)  contribution  share
               2   near    0.5        7.5          3.75  75.0%
        1 others                                  -1.25  25.0%
    <BLANKLINE>
    features, w_j x_j
    feature  value  contribution
          0    2.5           2.5
    """
    check_number("top", top, least=1, integer=True)
    check_not_pipeline(estimator, "explain")
    check_is_fitted(estimator)
    check_is_expansion(estimator, "explain")
    if hasattr(estimator, "_expansion") and hasattr(estimator, "support_"):
        points = estimator._new_points(X)
        return Explanations(_of_kernel_model(estimator, points, X, int(top)))
    if hasattr(estimator, "coef_") and hasattr(estimator, "intercept_"):
        points = check_new_points(estimator, X)
        return Explanations(_of_linear_model(estimator, points, X))
    raise TypeError(
        f"explain takes a fitted support vector model of maxmargin; got {type(estimator).__name__} of "
        f"{type(estimator).__module__.split('.')[0]}."
    )


def _of_kernel_model(estimator: Any, X: Points, given: Any, top: int) -> list[Explanation]:
    kernel, C = estimator.kernel_, support_coefficients(estimator)
    support, intercept = np.asarray(estimator.support_), np.asarray(estimator._expansion.intercept)
    precomputed = isinstance(kernel, Precomputed)
    anchors = estimator.support_vectors_
    labels = None
    if is_classifier(estimator):
        labels = estimator.classes_[support_codes(estimator)]
    predictions = estimator.predict(given)
    linear = isinstance(kernel, Linear)
    differentiable = not precomputed and X.ndim == 2 and has_gradient(kernel)
    names = getattr(estimator, "feature_names_in_", None)
    out: list[Explanation] = []
    for start in range(0, X.shape[0], BATCH_ROWS):
        part = X[start : start + BATCH_ROWS]
        if precomputed:
            K = np.asarray((part.toarray() if sp.issparse(part) else part)[:, support], np.float64)
        else:
            K = kernel.matrix(part, anchors) if len(support) else np.zeros((part.shape[0], 0))
        for i in range(part.shape[0]):
            decision = K[i] @ C + intercept
            mixture, about = explained(estimator, decision, predictions[start + i])
            c, b = C @ mixture, float(intercept @ mixture)
            terms = c * K[i]
            order = np.argsort(-np.abs(terms), kind="stable")[:top]
            size = float(np.abs(terms).sum()) or 1.0
            x = None if precomputed or X.ndim == 1 else _dense_row(part, i)
            slope = gradient(kernel, x, anchors, c) if differentiable and x is not None and len(c) else None
            out.append(
                Explanation(
                    prediction=plain(predictions[start + i]),
                    about=about,
                    value=float(terms.sum()) + b,
                    intercept=b,
                    index=support[order],
                    label=None if labels is None else labels[order],
                    alpha=np.abs(c[order]),
                    kernel=K[i, order],
                    contribution=terms[order],
                    share=np.abs(terms[order]) / size,
                    rest=float(terms.sum() - terms[order].sum()),
                    n_rest=int(np.count_nonzero(np.delete(c, order))),
                    features=slope * x if linear and slope is not None else None,
                    sensitivity=slope,
                    names=names,
                    point=x,
                    vectors=None if x is None else _dense(anchors[order]),
                )
            )
    return out


def _of_linear_model(estimator: Any, X: Points, given: Any) -> list[Explanation]:
    coef = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else np.atleast_2d(estimator.coef_)
    intercept = np.atleast_1d(np.asarray(estimator.intercept_, np.float64))
    predictions, nothing = estimator.predict(given), np.empty(0)
    out = []
    for i in range(X.shape[0]):
        x = _dense_row(X, i)
        mixture, about = explained(estimator, coef @ x + intercept, predictions[i])
        w, b = mixture @ coef, float(mixture @ intercept)
        out.append(
            Explanation(
                prediction=plain(predictions[i]),
                about=about,
                value=float((w * x).sum()) + b,
                intercept=b,
                index=np.empty(0, np.int64),
                label=None,
                alpha=nothing,
                kernel=nothing,
                contribution=nothing,
                share=nothing,
                rest=0.0,
                n_rest=0,
                features=w * x,
                sensitivity=w,
                names=getattr(estimator, "feature_names_in_", None),
                point=x,
                vectors=None,
            )
        )
    return out


def _dense(A: Points) -> Array:
    return A.toarray() if sp.issparse(A) else np.asarray(A)


def _dense_row(X: Points, i: int) -> Array:
    return _dense(X[i : i + 1])[0].astype(np.float64)
