"""Kinds of trials: which estimators are drawn, with which parameters, and which laws they must obey.

``KINDS`` is the list that the loop and the short tests go by; a family of estimators is a file of this folder.
"""

from __future__ import annotations

from attack.kinds.base import Kind
from attack.kinds.kernel_methods import KERNEL_METHODS
from attack.kinds.kernel_models import KERNEL_MODELS
from attack.kinds.linear_models import LINEAR_MODELS

KINDS: dict[str, Kind] = {**KERNEL_MODELS, **LINEAR_MODELS, **KERNEL_METHODS}
