"""All or nothing: a fit that raises leaves the estimator exactly as it was.

A fit sets attributes as it goes (``n_features_in_``, ``classes_``, ``kernel_``, ...). When it then raises, whatever the
exception, :func:`all_or_nothing` puts back the estimator's ``__dict__`` as it was. A shallow copy is enough where a fit
only binds attributes to new objects, and takes a microsecond. State that is changed in place (the sums of a stream) is
named in ``copies``: the fit works on a copy of it, and the original is there until the fit has succeeded.

Two things stay with their owners: the generator of a ``random_state`` that is a ``RandomState``, which has moved on,
and what a callback or a kernel of the user's own has done.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from maxmargin.runtime.interrupts import FitScope, current_policy, current_scope, interrupted, run_in_scope

Method = TypeVar("Method", bound=Callable[..., Any])


def remove_attributes(estimator: Any, *names: str) -> None:
    """Remove what an earlier fit left and this one does not set."""
    for name in names:
        estimator.__dict__.pop(name, None)


FIT_METHODS = ("fit", "partial_fit", "fit_stream", "fit_transform", "fit_predict", "learn", "forget")


@overload
def all_or_nothing(method: Method) -> Method: ...
@overload
def all_or_nothing(*, copies: tuple[str, ...]) -> Callable[[Method], Method]: ...


def all_or_nothing(method: Method | None = None, *, copies: tuple[str, ...] = ()) -> Any:
    """A ``fit`` that leaves the estimator as it was if it raises.

    It is also where a Ctrl-C that stopped the solver becomes a :class:`~maxmargin.FitInterrupted`, with the best model
    so far on the estimator.

    method: one of :data:`FIT_METHODS`
    copies: attributes whose content the method changes in place
    """
    if method is None:
        return functools.partial(all_or_nothing, copies=copies)
    wrapped = method

    @functools.wraps(wrapped)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(type(self), wrapped.__name__):  # SVC.fit(X, y)
            raise TypeError(
                f"{wrapped.__name__} was called on the class, with {type(self).__name__} in place of an estimator: "
                f"create an estimator first, with parentheses, such as SVC().{wrapped.__name__}(X, y)."
            )
        before, kind = self.__dict__.copy(), type(self)
        outer = current_scope()
        scope = FitScope(self) if outer is None else outer
        done = False
        try:
            for name in copies:
                if name in before:
                    self.__dict__[name] = copy.deepcopy(before[name])
            if outer is None:
                result = run_in_scope(scope, wrapped, self, *args, **kwargs)
            else:
                result = wrapped(self, *args, **kwargs)
            done = True
        except Exception as error:
            if outer is None and scope.requested and current_policy() == "raise":
                raise KeyboardInterrupt("Ctrl-C during a fit that then failed.") from error
            raise
        finally:
            # Assignments only: no call, during which another Ctrl-C could raise.
            if not (done or (scope.kept and scope.estimator is self)):
                self.__dict__ = before
                self.__class__ = kind
        if scope.requested and scope.estimator is self and current_policy() == "raise":
            raise interrupted(scope)
        return result

    guarded.all_or_nothing = True  # type: ignore[attr-defined]
    return cast(Method, guarded)
