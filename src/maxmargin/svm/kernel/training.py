"""The training data of one fit, as every later step sees it."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels.definition import DefinedValues
from maxmargin.kernels.gram.operator import Gram
from maxmargin.runtime.canonical_rows import CanonicalRows
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array, Points

ABREAST = 8  # problems that are solved at a time, and have equal parts of the memory, whatever the number of threads


@dataclass(frozen=True)
class TrainingSet:
    """Canonical rows and their kernel values."""

    X: Points
    target: Array
    weight: Array
    rows: CanonicalRows
    kernel: Kernel
    gram: Gram
    control: Control
    threads: int

    def defined_values(self, rows: Array) -> DefinedValues:
        """Fitted values of some of the canonical rows, by definition: what certificates are computed from."""
        places = self.rows.representative[rows] if isinstance(self.kernel, Precomputed) else rows
        return DefinedValues(self.kernel, self.X, places, self.threads)
