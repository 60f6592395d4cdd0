"""One fit in a process of its own: ``python -m benchmarks._child TASK`` prints its seconds and peak memory as JSON.

Linux keeps the peak of a process's resident memory (``VmHWM``) and forgets it when 5 is written to
``/proc/self/clear_refs``; the difference to what was resident just before the fit is what the fit needed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import resource
import statistics
import sys
import time
import warnings
from pathlib import Path

from ._data import load
from ._libraries import Options, Work, estimator
from ._runner import warm_up


def resident(field: str) -> float:
    """A field of /proc/self/status in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise OSError(f"/proc/self/status has no {field}")


class PeakMemory:
    """Extra megabytes at the peak of what happens inside the block; nan where the system does not tell."""

    extra = float("nan")

    def __enter__(self) -> PeakMemory:
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # not glibc
            ctypes.CDLL(None).malloc_trim(0)  # memory that was freed but kept would hide what the fit takes
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.before = resident("VmRSS")
        except OSError:
            self.before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.extra = resident("VmHWM") - self.before
        except OSError:
            self.extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6 - self.before


def main() -> None:
    task = json.loads(sys.argv[1])
    library, work, options = task["library"], Work(**task["work"]), Options(**task["options"])
    data = load(work.data, Path(task["folder"]), rows=work.rows, dtype=options.dtype, most=options.most)
    warm_up(library, work, data, options)
    warnings.simplefilter("ignore")
    seconds, peaks = [], []
    for _ in range(task["repeats"]):
        model = estimator(library, work, options)
        with PeakMemory() as peak:
            start = time.perf_counter()
            model.fit(data.X, data.y)
            seconds.append(time.perf_counter() - start)
        peaks.append(peak.extra)
    answer = {"seconds": statistics.median(seconds), "memory": max(peaks), "n_support": len(model.support_)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
