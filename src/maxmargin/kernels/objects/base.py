"""What kernels on things that are not vectors share: points are a one-dimensional array of objects of one kind."""

from __future__ import annotations

from typing import Any, ClassVar

from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Points


class ObjectKernel(Kernel):
    """A kernel on objects of one kind. It is an inner product of features, so it is positive semidefinite."""

    takes_objects = True
    takes_vectors = False
    kind: ClassVar[type]  # what it compares, as a type and in words
    kinds: ClassVar[str]

    psd = True

    def check_points(self, A: Points) -> None:
        """Raise TypeError for anything else than a list of the right kind of objects.

        Parameters
        ----------
        A : ndarray of dtype object, one-dimensional
            The objects.
        """
        name = type(self).__name__
        if A.dtype != object or A.ndim != 1:
            raise TypeError(f"{name} compares {self.kinds}, not vectors: give a list of {self.kinds}, one per sample.")
        for index, thing in enumerate(A):
            if not isinstance(thing, self.kind):
                remedy = "Leave missing samples out." if _missing(thing) else self._remedy(thing)
                raise TypeError(
                    f"X[{index}] is of type {type(thing).__name__}, but {name} compares {self.kinds}. {remedy}"
                )

    def _remedy(self, thing: Any) -> str:
        """What to do with a thing of the wrong kind."""
        return f"Give {self.kinds} only."


def _missing(thing: Any) -> bool:
    """Whether this is None, NaN or the missing value of a table."""
    return (
        thing is None or type(thing).__name__ in ("NAType", "NaTType") or (isinstance(thing, float) and thing != thing)
    )
