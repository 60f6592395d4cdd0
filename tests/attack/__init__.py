"""A permanent adversary: random fits of every estimator, checked against laws that hold for all of them.

``make attack MINUTES=30``, or ``python -m tests.attack`` in the repository's root. A trial is a function of its kind
and its seed alone, so ``python -m tests.attack --kind svc --seed 12345`` repeats one. ``docs/attack.md`` describes what
is checked and how a failure is read.

    draws     random problems                     kinds     which estimators, with which parameters and checks
    checks    the laws, one function each         trial     one case: its fit, and the laws that it breaks
    shrink    a failing case made smaller         report    a failure as a test that can be pasted
    workers   processes, the watchdog, crashes    campaigns damaged files, Ctrl-C, processes killed while they save

Oracles are in ``tests/reference`` and use nothing of the library but public attributes.
"""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in sys.path:  # for the oracles, where pytest has not put it there
    sys.path.insert(0, TESTS)
