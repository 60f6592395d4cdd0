"""Existing programs on these estimators: ``sklearn.svm`` with ours in the place of scikit-learn's.

    import maxmargin
    maxmargin.patch_sklearn()
    from sklearn.svm import SVC          # ours

or, without changing the program, ``python -m maxmargin script.py``.

What takes the place of a class of scikit-learn is a subclass of ours with scikit-learn's defaults: they differ in the
intercept of the linear estimators only, which scikit-learn penalises.

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
from typing import Any

import sklearn.svm
from sklearn.svm import _classes

from maxmargin import svm
from maxmargin.runtime.logging import logger, show
from maxmargin.runtime.validation import check_choice, check_flag

__all__ = ["patch_sklearn", "sklearn_is_patched", "unpatch_sklearn"]

NAMES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"]

_lock = threading.RLock()


def _stand_in(name: str) -> Any:
    """The class that takes the place of scikit-learn's class of this name."""
    ours, original = getattr(svm, name), getattr(_classes, name)
    signature, theirs = inspect.signature(ours.__init__), inspect.signature(original.__init__).parameters
    parameters = {each: signature.parameters[each] for each in (*theirs, *signature.parameters)}  # in their order
    if "intercept_scaling" in parameters:
        default = theirs["intercept_scaling"].default
        parameters["intercept_scaling"] = parameters["intercept_scaling"].replace(default=default)
    signature = signature.replace(parameters=list(parameters.values()))

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        ours.__init__(**bound.arguments)

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # where get_params looks for the parameters
    content = {"__module__": __name__, "__qualname__": name, "__doc__": ours.__doc__, "__init__": __init__}
    content["_parameter_constraints"] = original._parameter_constraints  # subclasses elsewhere build theirs from it
    made: Any = abc.ABCMeta(name, (ours,), content)
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
    """Replace the estimators of ``sklearn.svm`` by those of this package.

    Parameters
    ----------
    names : str or list of str, optional
        Which classes: "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", ...; all by default.
    verbose : bool, default=False
        Report what was replaced, by logging or on standard error.

    Returns
    -------
    patch : context manager
        ``with patch_sklearn(): ...`` undoes the patch at the end of the block. Otherwise call :func:`unpatch_sklearn`.

    Notes
    -----
    The names are replaced in all loaded modules of scikit-learn. Modules that have already executed ``from sklearn.svm
    import SVC`` keep scikit-learn's class, which is logged: call this function first. The patch applies to the whole
    process, in all threads. Fitted models are instances of classes in :mod:`maxmargin.svm.patching`, and can be pickled
    and loaded with or without the patch.

    Parameters and their defaults are scikit-learn's, such as ``LinearSVC(intercept_scaling=1)``; ``report_`` and the
    additional parameters of this package are available too.

    Examples
    --------
    >>> import sklearn.svm
    >>> from maxmargin import patch_sklearn
    >>> with patch_sklearn():
    ...     model = sklearn.svm.SVC().fit([[0.0], [1.0]], [0, 1])
    >>> print(model.report_.status.value)
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
    if new:
        logger.info("sklearn.svm: %s are maxmargin's", ", ".join(new))
    for place in _taken_before(new):
        logger.warning("%s was imported before and is still scikit-learn's: call patch_sklearn() first", place)
    return Patch(new)


def unpatch_sklearn(names: str | Iterable[str] | None = None) -> None:
    """Restore the original estimators of ``sklearn.svm``.

    Parameters
    ----------
    names : str or list of str, optional
        Which classes; all by default. Classes that are not patched are ignored.

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
    """Return whether estimators of ``sklearn.svm`` are replaced.

    Parameters
    ----------
    name : str, optional
        Name of a class; by default any.

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
