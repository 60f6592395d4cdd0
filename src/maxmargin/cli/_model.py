"""A model file and the data that it is asked about.

Columns are matched by name where both the model and the file have names; else by place, and their number must agree.
svmlight files leave out zeros, so that one with fewer columns than the model is filled up with zeros.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from maxmargin.cli import UserError


@dataclass
class Model:
    """An estimator from a file: a model, or a pipeline that ends in one."""

    path: str
    estimator: Any
    libsvm: bool

    @property
    def steps(self) -> list[Any]:
        """All steps, the support vector machine last."""
        if not hasattr(self.estimator, "steps"):
            return [self.estimator]
        return [step for _, step in self.estimator.steps if step not in (None, "passthrough")]

    @property
    def svm(self) -> Any:
        return self.steps[-1]

    @property
    def task(self) -> str:
        from sklearn.base import is_classifier, is_outlier_detector, is_regressor

        if is_classifier(self.svm):
            return "classify"
        if is_regressor(self.svm):
            return "regress"
        if is_outlier_detector(self.svm):
            return "outliers"
        raise UserError(f"{self.path} holds a {type(self.svm).__name__}, which predicts nothing.")

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns that it was trained on, if it knows them."""
        first = self.steps[0]
        names = getattr(first, "columns", None)
        if names is None:
            names = getattr(first, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def encoder(self) -> Any:
        """The step that makes numbers of texts and knows the names of the columns, if there is one."""
        from maxmargin.data.table_encoder import TableEncoder

        first = self.steps[0]
        return first if isinstance(first, TableEncoder) else None

    @property
    def target(self) -> str | None:
        """The name of the target column that it was trained on, if it knows it."""
        return None if self.encoder is None else self.encoder.target

    @property
    def text_columns(self) -> list[Any]:
        """Names of the columns that held texts; those of a table without names the encoder finds itself."""
        names = self.columns
        return [] if self.encoder is None or names is None else [names[j] for j in self.encoder.text_columns_]

    @property
    def n_features(self) -> int:
        return int(self.steps[0].n_features_in_)


def load_model(path: str, n_features: int | None = None) -> Model:
    """Read a model of ours or of LIBSVM."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from maxmargin.io import ModelFileError, load, read_libsvm_model

    beginning = b"\0"
    if os.path.isfile(path):  # otherwise load says what is wrong
        with open(path, "rb") as file:
            beginning = file.read(11).removeprefix(b"\xef\xbb\xbf")[:8]
    libsvm = beginning == b"svm_type"
    try:
        model = Model(path, read_libsvm_model(path, n_features) if libsvm else load(path), libsvm)
    except ModelFileError:
        if beginning.isascii() and beginning.decode().isprintable() and not libsvm:
            raise UserError(f"{path} is a text file, not a model file: name the model first, then the data.") from None
        raise
    try:
        check_is_fitted(model.svm)
    except NotFittedError:
        raise UserError(f"{path} holds a {type(model.svm).__name__} that was never fitted: fit and save it.") from None
    return model
