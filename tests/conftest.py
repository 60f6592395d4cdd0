"""Oracles in ``tests/reference`` and the fuzzer in ``tests/fuzz`` are imported by tests, and are no tests themselves.

Property tests draw new examples at every run, except where ``CI`` is set: there a change is judged by the same ones.
A shell starts its background jobs with Ctrl-C ignored; tests of Ctrl-C need it to be what it is elsewhere.
"""

import os
import signal

import pytest
from hypothesis import settings

collect_ignore = ["reference", "fuzz"]

settings.register_profile("untimed", deadline=None)  # a busy computer is no failure
settings.register_profile("same examples", settings.get_profile("untimed"), derandomize=True)
settings.load_profile("same examples" if os.environ.get("CI") else "untimed")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests that drive a browser, kill worker processes or send signals at random moments depend on when the system gives
# them time. On a machine with other work one of them may be late: it is retried, twice at most.
TIMED = {"test_lab_server", "test_dask_estimators", "test_dask_recovery", "test_tuning_interrupts"}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in TIMED or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=2))
