"""Existing programs on these machines: ``sklearn.svm`` with our estimators in the place of scikit-learn's.

    import maxmargin
    maxmargin.patch_sklearn()
    from sklearn.svm import SVC          # ours

or, without touching the program, ``python -m maxmargin script.py``.

What takes the place of a class of scikit-learn is a subclass of ours with scikit-learn's parameters and defaults, and
after them our own. Where an object asks for something that only scikit-learn has (``probability=True``)
it becomes an object of scikit-learn's class, and the log says so: a program goes on working.

The names in ``sklearn.svm._classes``, where the classes are defined, stay as they are. Pickles look for them there,
those on disk and those of objects that are scikit-learn's.
"""

from __future__ import annotations

import abc
import inspect
import sys
import threading
from collections.abc import Iterable, Iterator
from types import ModuleType, TracebackType
from typing import Any, Self

import numpy as np
import sklearn.svm
from sklearn.svm import _classes

from maxmargin import svm
from maxmargin.runtime.logging import logger, show
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import check_choice, check_flag

__all__ = ["patch_sklearn", "sklearn_is_patched", "unpatch_sklearn"]

NAMES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"]
REQUESTS = {"_metadata_request", "_skl_callbacks"}  # what scikit-learn keeps in an object besides its parameters

_lock = threading.RLock()
_told: set[str] = set()


class StandIn:
    """What is added to a class of ours that takes the place of one of scikit-learn's."""

    _original: type
    _signature: inspect.Signature
    _added: frozenset[str]  # parameters that only our class has
    _missing: frozenset[str]  # parameters that only scikit-learn's class has

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        bound = self._signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name in list(bound.arguments)[1:]:
            setattr(self, name, bound.arguments[name])
        self._settle()

    def set_params(self, **params: Any) -> Self:
        """Set parameters; some of them make this an object of scikit-learn's class.

        Parameters
        ----------
        **params
            New values.

        Returns
        -------
        self : object
        """
        super().set_params(**params)  # type: ignore[misc]
        self._settle()
        return self

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the machine to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if self._give_back(fitting=True):
            return self.fit(X, y, sample_weight)  # scikit-learn's fit, by now
        weights = np.asarray(0.0 if sample_weight is None else sample_weight)
        if weights.dtype.kind in "if" and (weights < 0).any():
            sample_weight = np.maximum(weights, 0)  # LIBSVM and LIBLINEAR leave out what has no positive weight
        return super().fit(X, y, sample_weight)  # type: ignore[misc]

    def _settle(self) -> None:
        """As soon as parameters are known: ``hasattr(model, "predict_proba")`` may be asked before the fit. A fitted
        machine stays what it is, and so does an object of a derived class, whose constructor is not through yet."""
        if "_original" in type(self).__dict__ and not hasattr(self, "n_features_in_"):
            self._give_back()

    def _give_back(self, *, fitting: bool = False) -> bool:
        """Become an object of scikit-learn's class if a parameter asks for what only that has. Nonsense stays as it is
        until the fit, where scikit-learn refuses it."""
        default = {name: parameter.default for name, parameter in self._signature.parameters.items() if name != "self"}
        given = {name: getattr(self, name, None) for name in default}
        wanted: list[str] = []
        for key in self._missing:
            if given[key] is True or (fitting and repr(given[key]) not in (repr(default[key]), "False")):
                wanted.append(key)
        added = [key for key in self._added if repr(given[key]) != repr(default[key])]
        if not wanted or (added and not fitting):
            return False
        name, asked = self._original.__name__, ", ".join(f"{key}={given[key]!r}" for key in wanted)
        if "_original" not in type(self).__dict__:
            raise ValueError(
                f"{type(self).__name__} is derived from maxmargin's {name}, which has no {asked}: derive it from "
                f"scikit-learn's, sklearn.svm._classes.{name}, or before patch_sklearn() is called."
            )
        if added:
            ours = ", ".join(f"{key}={given[key]!r}" for key in added)
            raise ValueError(f"Only scikit-learn's {name} has {asked}, only maxmargin's {ours}: leave out one of them.")
        if (told := f"{name}({asked}) is left to scikit-learn, because maxmargin has no {asked}") not in _told:
            _told.add(told)
            logger.warning("%s", told)
        params = {key: value for key, value in given.items() if key not in self._added}
        self.__dict__ = {key: value for key, value in self.__dict__.items() if key in REQUESTS}
        self.__class__ = self._original
        self.__init__(**params)  # type: ignore[misc]
        return True


def _stand_in(name: str) -> Any:
    """The class that takes the place of scikit-learn's class of this name."""
    ours, original = getattr(svm, name), getattr(_classes, name)
    theirs = inspect.signature(original.__init__).parameters
    own = inspect.signature(ours.__init__).parameters
    added = [parameter for key, parameter in own.items() if key not in theirs]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        StandIn.__init__(self, *args, **kwargs)

    signature = inspect.Signature([*theirs.values(), *added])
    __init__.__signature__ = signature  # type: ignore[attr-defined]  # where get_params looks for the parameters
    content = {
        "__module__": __name__,
        "__qualname__": name,
        "__doc__": ours.__doc__,
        "__init__": __init__,
        "_original": original,
        "_signature": signature,
        "_added": frozenset(parameter.name for parameter in added),
        "_missing": frozenset(theirs) - frozenset(own),
    }
    made: Any = abc.ABCMeta(name, (StandIn, ours), content)
    made.register(original)  # isinstance(model, sklearn.svm.SVC) holds for scikit-learn's own models too
    return made


STAND_INS: dict[str, Any] = {name: _stand_in(name) for name in NAMES}
globals().update(STAND_INS)  # where pickles of fitted models look for their class


class Patch:
    """What :func:`patch_sklearn` has replaced; as a context manager, undone at the end of the block."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __repr__(self) -> str:
        return f"Patch({', '.join(self.names) or 'nothing new'})"

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        unpatch_sklearn(self.names)


def patch_sklearn(names: str | Iterable[str] | None = None, *, verbose: bool = False) -> Patch:
    """Put the machines of this package into the place of those in ``sklearn.svm``.

    Parameters
    ----------
    names : str or list of str, optional
        Which classes: "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", ...; all that there are by default.
    verbose : bool, default=False
        Say what was replaced, and later what is left to scikit-learn, on standard error or wherever the program logs.

    Returns
    -------
    patch : context manager
        ``with patch_sklearn(): ...`` undoes at the end what this call did. Otherwise :func:`unpatch_sklearn` does.

    Notes
    -----
    Names in all loaded modules of scikit-learn are replaced. What another module has taken by ``from sklearn.svm import
    SVC`` before stays scikit-learn's, which the log mentions: call this first. The change is one of the whole process,
    whichever thread makes it. Fitted models are of classes of :mod:`maxmargin.svm.patching`, and can be pickled and
    loaded whether or not anything is patched.

    Parameters and their defaults are scikit-learn's, such as ``LinearSVC(intercept_scaling=1)``; ``report_`` and our
    own parameters come on top. An object with ``probability=True``, which only scikit-learn has, is one of
    scikit-learn's own class. The log says so once.

    Examples
    --------
    >>> import sklearn.svm
    >>> from maxmargin import patch_sklearn
    >>> with patch_sklearn():
    ...     machine = sklearn.svm.SVC().fit([[0.0], [1.0]], [0, 1])
    >>> print(machine.report_.status.value)
    optimal within the tolerance
    >>> hasattr(sklearn.svm.SVC().fit([[0.0], [1.0]], [0, 1]), "report_")
    False
    """
    chosen = _chosen(names)
    if check_flag("verbose", verbose):
        show()
    with _lock:
        new = [name for name in chosen if not sklearn_is_patched(name)]
        for name in new:
            _replace(getattr(_classes, name), STAND_INS[name])
        _told.clear()
    if new:
        logger.info("sklearn.svm: %s are maxmargin's", ", ".join(new))
    for place in _taken_before(new):
        logger.warning("%s was imported before and is still scikit-learn's: call patch_sklearn() first", place)
    return Patch(new)


def unpatch_sklearn(names: str | Iterable[str] | None = None) -> None:
    """Put scikit-learn's own classes back; the very objects that were there.

    Parameters
    ----------
    names : str or list of str, optional
        Which classes; all by default. Those that are not patched stay as they are.

    Examples
    --------
    >>> import sklearn.svm
    >>> from maxmargin import patch_sklearn, unpatch_sklearn
    >>> before = sklearn.svm.SVC
    >>> _ = patch_sklearn()
    >>> unpatch_sklearn()
    >>> sklearn.svm.SVC is before
    True
    """
    with _lock:
        for name in _chosen(names):
            _replace(STAND_INS[name], getattr(_classes, name))


def sklearn_is_patched(name: str | None = None) -> bool:
    """Whether ``sklearn.svm`` has a machine of this package.

    Parameters
    ----------
    name : str, optional
        Of this name; of any by default.

    Returns
    -------
    bool

    Examples
    --------
    >>> from maxmargin import patch_sklearn, sklearn_is_patched
    >>> with patch_sklearn("SVC"):
    ...     sklearn_is_patched(), sklearn_is_patched("SVR")
    (True, False)
    >>> sklearn_is_patched()
    False
    """
    chosen = NAMES if name is None else [check_choice("name", name, NAMES)]
    return any(getattr(sklearn.svm, each) is STAND_INS[each] for each in chosen)


def _chosen(names: str | Iterable[str] | None) -> list[str]:
    if names is None:
        return NAMES
    return [check_choice("names", name, NAMES) for name in ([names] if isinstance(names, str) else names)]


def _replace(old: type, new: type) -> None:
    """Give ``new`` the place of ``old`` in scikit-learn's modules, except in the one that defines the classes."""
    name = old.__name__
    for place, module in _modules():
        if place.split(".")[0] == "sklearn" and module is not _classes and vars(module).get(name) is old:
            setattr(module, name, new)


def _taken_before(names: list[str]) -> list[str]:
    """Where modules of others hold scikit-learn's classes under their names."""
    return [
        f"{place}.{name}"
        for place, module in _modules()
        for name in names
        if place.split(".")[0] not in ("sklearn", "maxmargin") and vars(module).get(name) is getattr(_classes, name)
    ]


def _modules() -> Iterator[tuple[str, ModuleType]]:
    return ((place, module) for place, module in list(sys.modules.items()) if isinstance(module, ModuleType))
