"""A fit goes one way: through few files, and never back into one that it has left.

The files that ``fit`` runs through are recorded with ``sys.setprofile``. What counts is a call into a file that is not
running already: a file's own helpers are no step. Attributes of values (properties) are no steps either, and neither
are ``runtime``, whose small helpers serve everybody, and ``kernels``: a kernel is a value that answers whenever it is
asked.
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
    """The files that ``fit`` enters, in order, each time that it does."""
    entered, skipped = [], accessors()

    def record(frame, event, _):
        if event != "call" or frame.f_code in skipped:
            return
        path = Path(frame.f_code.co_filename)
        if ROOT not in path.parents or path.relative_to(ROOT).parts[0] in SERVICES:
            return
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename != frame.f_code.co_filename:
            caller = caller.f_back
        if caller is None:
            entered.append(path.relative_to(ROOT).as_posix())

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        fit()
    finally:
        sys.setprofile(before)
    return [name for name, _ in groupby(entered)]


def test_svc_goes_one_way_through_at_most_twelve_files_which_the_architecture_page_lists():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=80) > 0
    estimator = SVC().fit(X, y)  # loads what is loaded when it is first used
    path = steps(lambda: estimator.fit(X, y))
    assert len(path) == len(set(path)) <= 12, path
    text = ARCHITECTURE.read_text()
    section = text[text.index("## The path of a fit") :]
    assert re.findall(r"^\d+\. `(svm/[\w/]+\.py)`", section, re.MULTILINE) == path
