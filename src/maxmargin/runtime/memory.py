"""How much memory this process may still allocate."""

from __future__ import annotations

import math
import os


def available_memory() -> float:
    """Bytes of memory that this process may still allocate; infinite if the system does not report it."""
    return min(_of_the_machine(), _of_the_limit())


def _of_the_machine() -> float:
    try:
        with open("/proc/meminfo") as table:
            for line in table:
                if line.startswith("MemAvailable"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _of_the_limit() -> float:
    """What is left of the address space that ``ulimit -v`` allows."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return math.inf
        with open("/proc/self/statm") as table:
            return max(0.0, float(limit) - float(table.read().split()[0]) * resource.getpagesize())
    except (ImportError, OSError, ValueError):
        return math.inf
