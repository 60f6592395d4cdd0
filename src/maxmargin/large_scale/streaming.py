"""A kernel classifier for streams: a fixed feature map in front of a linear one that learns from each row once.

The map (random features, or the Nystroem map of some landmarks) is made from the first batch and never changes; the
kernel k(x, z) is then the inner product of two rows of features, and :class:`~maxmargin.LinearSVC` streams over them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.large_scale.features.nystroem import Nystroem
from maxmargin.large_scale.features.random_features import RandomFeatures
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing, remove_attributes
from maxmargin.runtime.validation import Array, Points, check_choice, check_new_points, check_targets, check_training
from maxmargin.svm.linear.classification import LinearSVC

MAPS = ("random", "nystroem")


@documented()
@parameters
class StreamingKernelSVC(ClassifierMixin, Estimator):
    """Kernel classification of streams with ``partial_fit``, by approximate kernel features.

    Parameters
    ----------
    features : {"random", "nystroem"}, RandomFeatures or Nystroem, default="random"
        The feature map. ``"random"`` accepts the RBF and Laplacian kernels and depends on the data only through gamma;
        ``"nystroem"`` accepts any kernel, and its landmarks are rows of the first batch. An object is used unchanged,
        with its own kernel, gamma, n_components and random_state.
    kernel : str or Kernel, default="rbf"
        The kernel, by name or as an object.
    gamma : float, "scale" or "auto", default="scale"
        ``"scale"`` is computed from the first batch.
    n_components : int, default=300
        Number of features; the number of landmarks is at most the number of rows of the first batch.
    C : float, default=1.0
        Inverse strength of the regularisation, as in ``LinearSVC``.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        Loss of the margin, as in :class:`~maxmargin.LinearSVC`.
    {class_weight}
    random_state : int, RandomState or None, default=0
        Seed of the feature map.
    {n_jobs}

    Attributes
    ----------
    features_ : RandomFeatures or Nystroem
        The map, fitted to the first batch.
    linear_ : LinearSVC
        The classifier of its features.
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import StreamingKernelSVC
    >>> random = np.random.default_rng(0)
    >>> model = StreamingKernelSVC(gamma=2.0)
    >>> for _ in range(20):
    ...     X = random.uniform(-1, 1, (200, 2))
    ...     model = model.partial_fit(X, np.hypot(*X.T) < 0.6, classes=[False, True])
    >>> model.predict([[0.0, 0.1], [0.9, 0.9]])
    array([ True, False])
    """

    _: KW_ONLY
    features: Any = "random"
    kernel: Any = "rbf"
    gamma: Any = "scale"
    n_components: int = 300
    C: float = 1.0
    loss: str = "squared_hinge"
    class_weight: Any = None
    random_state: Any = 0
    n_jobs: int | None = None

    def _map(self, n: int) -> Any:
        """The map for a first batch of n rows."""
        if isinstance(self.features, (RandomFeatures, Nystroem)):
            return clone(self.features)
        check_choice("features", self.features, MAPS, " or a RandomFeatures or Nystroem object")
        options = {"kernel": self.kernel, "random_state": self.random_state, "n_jobs": self.n_jobs}
        if isinstance(self.kernel, str):
            options["gamma"] = self.gamma
        if self.features == "random":
            return RandomFeatures(self.n_components, **options)
        return Nystroem(n_components=min(self.n_components, n), **options)

    def _linear(self) -> LinearSVC:
        return LinearSVC(C=self.C, loss=self.loss, class_weight=self.class_weight, n_jobs=self.n_jobs)

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map and the classifier of its features to a training set.

        {X, y_labels -> self}
        """
        X, y = check_training(self, X, y)
        self.features_ = self._map(X.shape[0]).fit(X)
        self.linear_ = self._linear().fit(self.features_.transform(X), y)
        self.classes_ = self.linear_.classes_
        return self

    @all_or_nothing(copies=("linear_",))
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, stream_size: float | None = None
    ) -> Self:
        """Update the model with one pass over a batch.

        The map is fitted to the first batch, which should be large enough for gamma and the landmarks: a few hundred
        rows. A batch that is refused leaves the model unchanged.

        {Parameters, X, y_labels}
        classes : array-like of shape (n_classes,), optional
            All possible labels; without them, new classes are added as they occur.
        {sample_weight}
        stream_size : float, optional
            The number of rows to which C refers; see :meth:`maxmargin.LinearSVC.partial_fit`.

        {Returns, self}
        """
        if "linear_" not in vars(self):
            X, y = check_training(self, X, y)
            self.features_, self.linear_ = self._map(X.shape[0]).fit(X), self._linear()
        else:
            X = check_new_points(self, X)
            y = check_targets(y, X.shape[0])
            self.linear_.set_params(**self._linear().get_params())
        remove_attributes(self, "classes_")
        self.linear_.partial_fit(self.features_.transform(X), y, classes, sample_weight, stream_size=stream_size)
        self.classes_ = self.linear_.classes_
        return self

    def _mapped(self, X: Any) -> Points:
        check_is_fitted(self)
        mapped: Points = self.features_.transform(check_new_points(self, X))
        return mapped

    def decision_function(self, X: Any) -> Array:
        """Decision values of new points.

        {X -> decision}
        """
        return self.linear_.decision_function(self._mapped(X))

    def predict(self, X: Any) -> Array:
        """Labels of new points.

        {X -> labels}
        """
        return self.linear_.predict(self._mapped(X))
