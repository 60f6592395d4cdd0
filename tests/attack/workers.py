"""Trials in processes of their own: one that crashes or hangs is a failure with its seed, and is replaced.

A worker reads a line of JSON for each trial and answers with one. Its standard error goes to a file, where
``faulthandler`` leaves the stack of a process that ended by a signal.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WATCHDOG_CPU_SECONDS = 240.0  # a trial takes a tenth of a second: this is a hang
WATCHDOG_SECONDS = 1800.0  # without any computing: it waits for something that never comes
STACK_LINES = 14  # of a process that had to be ended


class Worker:
    """One process that runs trials."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the worker lives
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.attack", "--serve"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.job: dict[str, Any] | None = None
        self.began = self.cpu_before = 0.0
        self.computed, self.last_computed = 0.0, 0.0  # processor time so far, and when it last grew

    def start(self, job: dict[str, Any]) -> None:
        """Hand over a trial."""
        assert self.process.stdin is not None
        self.job, self.began, self.cpu_before = job, time.monotonic(), self._cpu_seconds()
        self.computed, self.last_computed = self.cpu_before, self.began
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """The answer if there is one; a crash or a hang is answered for the worker."""
        assert self.process.stdout is not None
        assert self.job is not None
        if select.select([self.process.stdout], [], [], 0)[0]:
            line = self.process.stdout.readline()
            if line:
                return {**json.loads(line), "job": self.job}
            self.process.wait()
            return self._broken("crash", f"the process ended with {_ending(self.process.returncode)}")
        now, computed = time.monotonic(), self._cpu_seconds()
        if computed > self.computed:  # slowly, where other processes leave it little
            self.computed, self.last_computed = computed, now
        seconds, cpu = now - self.began, computed - self.cpu_before
        if now - self.last_computed > WATCHDOG_SECONDS or cpu > WATCHDOG_CPU_SECONDS:
            self.process.send_signal(signal.SIGABRT)  # faulthandler writes where it was
            self.process.wait()
            return self._broken("hang", f"no answer after {seconds:.0f} s, {cpu:.0f} s of them computing")
        return None

    def _cpu_seconds(self) -> float:
        """Processor time of the process so far; 0 where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _broken(self, check: str, message: str) -> dict[str, Any]:
        self.errors.seek(0)
        stack = self.errors.read().decode(errors="replace").splitlines()
        where = [line.strip() for line in stack if "File" in line or "Error" in line][:STACK_LINES]
        failure = {"check": check, "message": f"{message}: {' | '.join(where)}"}
        return {"job": self.job, "failures": [failure], "held": [], "outcome": check, "broken": True}

    def close(self) -> None:
        """End the process."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def waiting(workers: list[Worker], seconds: float) -> None:
    """Wait until a worker has something to say."""
    outputs = [worker.process.stdout for worker in workers if worker.process.stdout is not None]
    select.select(outputs, [], [], seconds)


def nice() -> None:
    """Leave the processor to others."""
    os.nice(5)
