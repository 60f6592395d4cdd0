"""The memory that a process may still allocate."""

import subprocess
import sys

import pytest

from maxmargin.runtime.memory import available_memory

resource = pytest.importorskip("resource")


def test_a_limit_of_the_address_space_counts():
    program = (
        "import resource\n"
        "from maxmargin.runtime.memory import available_memory\n"
        "before = available_memory()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "with_limit = available_memory()\n"
        "block = bytearray(1 << 30)\n"
        "assert available_memory() <= with_limit - (1 << 29)\n"
        "assert 0 < with_limit <= min(before * 1.1, 8 << 30)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_there_is_some():
    assert available_memory() > 1e6
