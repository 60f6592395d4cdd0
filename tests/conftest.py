"""Oracles in ``tests/reference`` and the fuzzer in ``tests/fuzz`` are imported by tests, and are no tests themselves.

Property tests draw new examples at every run, except where ``CI`` is set: there a change is judged by the same ones.
A shell starts its background jobs with Ctrl-C ignored; tests of Ctrl-C need it to be what it is elsewhere.
"""

import os
import signal

from hypothesis import settings

collect_ignore = ["reference", "fuzz"]

settings.register_profile("same examples", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("same examples")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
