"""Oracles in ``tests/reference`` and the fuzzer in ``tests/fuzz`` are imported by tests, and are no tests themselves.

Property tests draw new examples at every run, except where ``CI`` is set: there a change is judged by the same ones.
"""

import os

from hypothesis import settings

collect_ignore = ["reference", "fuzz"]

settings.register_profile("same examples", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("same examples")
