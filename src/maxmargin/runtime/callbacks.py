"""scikit-learn's callbacks (``estimator.set_callbacks(ProgressBar())``, from version 1.9 on) for our estimators.

A fit is a task, and every block of a solver that reports its progress is a task of it:

    fit                         on_fit_task_begin, on_fit_task_end; the latter with the fitted estimator
      solve #0, #1, ...         the same, with the block's ``Progress`` as ``context.progress``

How many blocks there will be is not known beforehand, so a bar pulses. The interface is experimental there, and loading
it takes longer than many a fit: it is loaded when callbacks are set, and only then is anything done here.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Self

from maxmargin.runtime.control import Progress, watching

TASK_SECONDS = 0.05  # between two tasks of a fit: a progress bar takes 0.2 ms per task, which is then below 1 %


class CallbackSupport:
    """An estimator whose ``fit`` is decorated with :func:`with_callbacks`. Where scikit-learn has no callbacks, nothing
    is added."""

    if find_spec("sklearn.callback") is not None:

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set callbacks of scikit-learn's, such as ``sklearn.callback.ProgressBar()``; without any, remove them.

            Parameters
            ----------
            *callbacks : callback objects
                Objects with the methods of :mod:`sklearn.callback`'s protocol.

            Returns
            -------
            self : object
            """
            from sklearn.callback import CallbackSupportMixin

            CallbackSupportMixin.set_callbacks(self, *callbacks)
            return self


def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A ``fit`` that reports its progress to the estimator's callbacks, if there are any."""

    @functools.wraps(fit)
    def reporting(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = vars(self)
        has_callbacks = "_skl_callbacks" in own or "_parent_callback_ctx" in own
        if not has_callbacks or "_callback_fit_ctx" in own:  # the latter: a derived class's fit reports
            return fit(self, *args, **kwargs)
        given = inspect.signature(fit).bind(self, *args, **kwargs).arguments
        return _with_context(self, lambda: fit(self, *args, **kwargs), given)

    return reporting


def _with_context(estimator: Any, fit: Callable[[], Any], given: dict[str, Any]) -> Any:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_teardown

    weights = given.get("sample_weight")
    data = {"X": given["X"], "y": given.get("y"), "metadata": None if weights is None else {"sample_weight": weights}}

    def run(estimator: Any) -> Any:
        context = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, **data)
        with watching(_Blocks(estimator, context)):
            fit()
        context.call_on_fit_task_end(estimator=estimator, **data, reconstruction_attributes={})
        return estimator

    return with_teardown(run)(estimator)  # whether or not the fit succeeds


class _Blocks:
    """Makes a task of a block of a solver, at most one each ``TASK_SECONDS``; blocks come from several threads."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator, self.context = estimator, context
        self.lock, self.last = threading.Lock(), -TASK_SECONDS

    def __call__(self, progress: Progress) -> None:
        with self.lock:
            if progress.seconds - self.last < TASK_SECONDS:
                return
            self.last = progress.seconds
            task = self.context.subcontext(task_name="solve")
            task.progress = progress
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)
