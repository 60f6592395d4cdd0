"""The training data of one fit, as every later step sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels.definition import DefinedValues
from maxmargin.kernels.gram.operator import Gram, precomputed_gram
from maxmargin.kernels.gram.tiled import make_gram
from maxmargin.runtime.canonical_rows import CanonicalRows
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array, Points

ABREAST = 8  # problems that are solved at a time, and have equal parts of the memory, whatever the number of threads


@dataclass(frozen=True)
class TrainingSet:
    """Canonical rows and their kernel.

    Attributes
    ----------
    X : array, CSR matrix or array of objects
        The canonical rows; for a precomputed kernel the user's matrix.
    target, weight : arrays
        One entry per canonical row.
    rows : CanonicalRows
        How canonical rows belong to the user's.
    kernel : Kernel
        With its parameters resolved.
    control : Control
    threads : int
    budget : float
        Bytes for kernel values.
    pairs : bool
        Whether pairs of classes will be solved.
    """

    X: Points
    target: Array
    weight: Array
    rows: CanonicalRows
    kernel: Kernel
    control: Control
    threads: int
    budget: float
    pairs: bool = False

    @property
    def n(self) -> int:
        """Number of canonical rows."""
        return len(self.weight)

    @property
    def merged(self) -> bool:
        """Whether some of the user's rows share a canonical row."""
        return self.n < int(np.count_nonzero(self.rows.member_of >= 0))

    @cached_property
    def gram(self) -> Gram:
        """The kernel matrix as an operator, made when a step asks for it."""
        gram: Gram
        if isinstance(self.kernel, Precomputed):
            gram = precomputed_gram(self.X, self.rows.representative)
        else:
            gram = make_gram(self.kernel, self.X, threads=self.threads, budget=self.budget, pairs=self.pairs)
        gram.budget = self.budget
        return gram

    @property
    def evaluations(self) -> int:
        """Kernel values computed by the operator so far."""
        return self.gram.evaluations if "gram" in self.__dict__ else 0

    def defined_values(self, rows: Array) -> DefinedValues:
        """Fitted values of some of the canonical rows, by definition: what certificates are computed from."""
        places = self.rows.representative[rows] if isinstance(self.kernel, Precomputed) else rows
        return DefinedValues(self.kernel, self.X, places, self.threads)
