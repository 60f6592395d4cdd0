"""A failure as a test that can be pasted into a file of ``tests/attack``."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np

from attack.case import Case
from attack.kinds import KINDS

HEADER = """import numpy as np
from attack.case import Case, Trial
from attack.trial import run
"""


def test_of(case: Case, check: str, message: str, seed: int) -> str:
    """The source of a test that fails as the case did."""
    law = next((c.__doc__ for c in KINDS[case.kind].checks if c.__name__ == check), None)
    fields = [
        f"        {name}={written(getattr(case, name))}," for name in vars(case) if getattr(case, name) is not None
    ]
    docstring = " ".join((law or "The case is fitted without an error.").split())
    lines = [
        f"def test_{case.kind}_{check}_{seed}():",
        textwrap.indent(f'"""{textwrap.fill(docstring, 112)}"""', "    "),
        *(f"    # {line}" for line in textwrap.wrap(message, 114)),
        "    case = Case(",
        *fields,
        "    )",
        f"    assert not run(case{'' if check == 'fit' else f', only={check!r}'}).failures",
    ]
    return "\n".join(lines)


def written(value: Any) -> str:
    """A value as Python reads it."""
    if isinstance(value, np.ndarray):
        entries = written(value.tolist())
        kind = f", dtype=np.{value.dtype}" if value.dtype == np.float32 else ""
        return f"np.array({entries}{kind})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
