"""The base of all estimators and kernels: scikit-learn's, with messages that name the mistake and the remedy.

Three errors come from Python or scikit-learn themselves, before any code of ours runs: a constructor called with a name
that does not exist or with values in place of names, an attribute that only a fit sets, and a method that only some
parameters bring (``available_if``). Each is caught where it is raised and explained; a correct call pays nothing.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

# Names of the same parameters in other libraries: LIBSVM, e1071, ThunderSVM, linear models, textbooks. Where an
# estimator has several of them, the first is meant.
SYNONYMS = {
    "C": "nu alpha",
    "alpha": "C",
    "c": "C",
    "contamination": "nu",
    "cost": "C",
    "epochs": "max_iter",
    "lambda": "C alpha",
    "lambda_": "C alpha",
    "lamda": "C",
    "probability": "calibration",
    "regularization": "C",
    "eps": "epsilon",
    "sigma": "gamma",
    "weights": "class_weight",
    "max_mem_size": "cache_size",
    "multi_class": "multiclass",
    "multiclass": "multi_class",
    "decision_function": "decision_function_shape",
    "seed": "random_state",
}

# Hints for parameters that an estimator does not have.
ELSEWHERE = {
    "kernel": "SVC, SVR and OneClassSVM have one",
    "loss": "LinearSVC and LinearSVR have one",
    "penalty": "LinearSVC has one",
    "gamma": "SVC, SVR and OneClassSVM have one",
    "nu": "NuSVC, NuSVR and OneClassSVM have one",
    "epsilon": "SVR and LinearSVR have one",
    "class_weight": "classifiers have one; in regression, give sample_weight to fit",
    "sample_weight": "it is an argument of fit: fit(X, y, sample_weight=...)",
    "monotonic_cst": "LinearSVC and LinearSVR have one",
    "coef_bounds": "LinearSVC and LinearSVR have one",
    "param_grid": "give each list by its own name, such as Cs=[1, 10]",
}

SUPPORT_VECTORS = "kernel models have support vectors, SVC(kernel='linear') among them; linear models store coef_ only"

# What to use instead of an attribute that an estimator does not have.
INSTEAD = {
    "feature_importances_": "use maxmargin.shapley_values, or coef_ of a linear model",
    "predict_proba": "classifiers have it, with calibration='sigmoid'; QuantileSVR predicts quantiles",
    "decision_function": "predict returns the values themselves",
    "dual_coef_": SUPPORT_VECTORS,
    "partial_fit": "LinearSVC and StreamingKernelSVC have it; an SVC fitted with warm_start=True has learn(X, y)",
    "score": "without labels there is nothing to compare with; decision_function ranks points",
    "support_": SUPPORT_VECTORS,
    "support_vectors_": SUPPORT_VECTORS,
    "transform": "Nystroem, RandomFeatures and KernelPCA transform points",
}

Class = TypeVar("Class", bound=type)


@dataclass_transform(eq_default=False)
def parameters(cls: Class) -> Class:
    """A constructor from the annotated attributes of a class, its bases included: each parameter is written once.

    Those after ``_: KW_ONLY`` are given by name, and stand in the signature in the order of the docstring. The
    signature is that of a dataclass, which scikit-learn, type checkers and editors read as if it were written out.
    """
    dataclass(eq=False, repr=False, match_args=False)(cls)
    signature, places = inspect.signature(cls.__init__), _documented_places(cls.__doc__)  # type: ignore[misc]
    ordered = sorted(
        signature.parameters.values(),
        key=lambda each: (each.kind, each.kind is each.KEYWORD_ONLY and places.get(each.name, len(places))),
    )
    cls.__init__.__signature__ = signature.replace(parameters=ordered)  # type: ignore[misc]
    cls.__init__ = _explaining(cls.__init__)  # type: ignore[misc]
    return cls


def _documented_places(docstring: str | None) -> dict[str, int]:
    """The places of parameters in a numpydoc section; a heading may name several, as ``{kernel, degree}`` does."""
    section = re.search(r"^( *)Parameters\n *-+\n(.*?)(?:\n\n|\Z)", docstring or "", re.MULTILINE | re.DOTALL)
    if section is None:
        return {}
    headings = re.findall(rf"^{section[1]}(\S[^:\n]*)", section[2], re.MULTILINE)
    return {name: place for place, name in enumerate(re.findall(r"\w+", " ".join(headings)))}


class Estimator(BaseEstimator):
    """scikit-learn's ``BaseEstimator`` with clear messages about constructors, and attributes before the fit."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            cls.__init__ = _explaining(cls.__init__)  # type: ignore[method-assign]

    def __sklearn_tags__(self) -> Any:
        """Points may be sparse in all estimators."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of nested objects (``kernel__gamma=0.5``).

        Parameters
        ----------
        **params
            New values.

        Returns
        -------
        self : object
        """
        try:
            return super().set_params(**params)
        except ValueError as error:
            names = self.get_params(deep=False)
            hints = [_suggested(key, names) for key in params if key not in names and "__" not in key]
            raise ValueError(f"{error}{''.join(hints)}") from None

    if not TYPE_CHECKING:  # to a type checker this would mean that every attribute exists

        def __getattr__(self, name: str) -> Any:
            """Explain why an attribute does not exist."""
            kind = type(self)
            if hasattr(kind, name):  # a property, or a method that depends on the parameters
                try:
                    return object.__getattribute__(self, name)
                except NotFittedError:
                    raise
                except AttributeError as error:
                    cause = f". {error.__cause__}" if isinstance(error.__cause__, AttributeError) else ""
                    raise AttributeError(f"{error}{cause}", name=name, obj=self) from None
            if name.endswith("_") and not name.startswith("_") and "n_features_in_" not in vars(self):
                raise NotFittedError(f"This {kind.__name__} has no {name} yet: call fit first.")
            instead = f": {INSTEAD[name]}" if name in INSTEAD else ""
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{instead}", name=name, obj=self)


def shared_parameters(estimator: BaseEstimator, kind: type[BaseEstimator], *, without: str) -> dict[str, Any]:
    """The parameters of ``estimator`` that the class ``kind`` has under the same names, one of them left out."""
    known = set(kind._get_param_names()) - {without}
    return {name: value for name, value in estimator.get_params(deep=False).items() if name in known}


def _explaining(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor whose TypeError names the remedy."""

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError:
            message = _mistake(type(self).__name__, inspect.signature(init), args, kwargs)
            if message is None:
                raise
            raise TypeError(message) from None

    return __init__


def _mistake(name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the arguments of a constructor; None if they fit it."""
    parameters = list(signature.parameters.values())[1:]  # without self
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    names = [parameter.name for parameter in parameters]
    unknown = [key for key in kwargs if key not in names]
    if unknown:
        place = ELSEWHERE.get(unknown[0])
        near = "" if place else _suggested(unknown[0], names)
        hint = near or f" Its parameters are {', '.join(names) or 'none'}."
        return f"{name} has no parameter {unknown[0]!r}{f' ({place})' if place else ''}.{hint}"
    free = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    extra = args[len(parameters) - len(free) :]
    if not extra or len(extra) > len(free):
        return None
    named = []
    for value in extra:  # the next parameter whose default is of the same kind, such as kernel for a string
        fits = [each for each in free if isinstance(each.default, str) == isinstance(value, str)]
        chosen = (fits or free)[0]
        free.remove(chosen)
        named.append(f"{chosen.name}={_short(value)}")
    kept = [_short(value) for value in args[: len(args) - len(extra)]]
    given = ", ".join(map(_short, args))
    return f"{name} takes its parameters by name: write {name}({', '.join(kept + named)}) instead of {name}({given})."


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 30 else "..."


def _suggested(key: str, names: Iterable[str]) -> str:
    """A sentence with the parameter that was probably meant; empty if none is near."""
    names = list(names)
    near = difflib.get_close_matches(key, names, n=1) or difflib.get_close_matches(key.lower(), names, n=1)
    near = [name for name in SYNONYMS.get(key, "").split() if name in names] or near
    return f" Did you mean {near[0]!r}?" if near else ""
