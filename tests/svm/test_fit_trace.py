"""A fit goes one way: through few files, and never back into one that it has left.

The files that ``fit`` runs through are recorded with ``sys.setprofile``. What counts is a call into a file that is not
running already: a file's own helpers are no step, and no other file calls back into one that is running. Attributes of
values (properties) are no steps either, and neither are ``runtime``, whose small helpers serve everybody, and
``kernels``: a kernel is a value that answers whenever it is asked.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np

import maxmargin
from maxmargin import SVC

ROOT = Path(maxmargin.__file__).parent
ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"
SERVICES = ("runtime", "kernels")


def accessors():
    """The code of all properties of our classes."""
    found = set()
    for name, module in list(sys.modules.items()):
        if not name.startswith("maxmargin."):
            continue
        for _, kind in inspect.getmembers(module, inspect.isclass):
            for value in vars(kind).values():
                if isinstance(value, property) and hasattr(value.fget, "__code__"):
                    found.add(value.fget.__code__)
                if isinstance(value, cached_property):
                    found.add(value.func.__code__)
    return found


def steps(fit):
    """The files that ``fit`` enters, in order, each time that it does; and the calls from one file back into another
    that is still running."""
    entered, back, skipped = [], [], accessors()

    def file_of(frame):
        """Where a frame's code stands, if that is a step."""
        path = Path(frame.f_code.co_filename)
        own = ROOT in path.parents and path.relative_to(ROOT).parts[0] not in SERVICES
        return path.relative_to(ROOT).as_posix() if own else None

    def record(frame, event, _):
        name = file_of(frame) if event == "call" and frame.f_code not in skipped else None
        if name is None:
            return
        callers, caller = [], frame.f_back
        while caller is not None:
            callers += filter(None, [file_of(caller)])
            caller = caller.f_back
        if name not in callers:
            entered.append(name)
        elif callers[0] != name:
            back.append((callers[0], name, frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        fit()
    finally:
        sys.setprofile(before)
    return [name for name, _ in groupby(entered)], back


def test_svc_goes_one_way_through_at_most_twelve_files_which_the_architecture_page_lists():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=80) > 0
    estimator = SVC().fit(X, y)  # loads what is loaded when it is first used
    path, back = steps(lambda: estimator.fit(X, y))
    assert len(path) == len(set(path)) <= 12, path
    assert not back
    text = ARCHITECTURE.read_text()
    section = text[text.index("## The path of a fit") :]
    assert re.findall(r"^\d+\. `(svm/[\w/]+\.py)`", section, re.MULTILINE) == path
