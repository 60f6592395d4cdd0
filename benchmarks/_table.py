"""Results as Markdown."""

from __future__ import annotations

import datetime
import math
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ._libraries import TITLES, Options, installed, version


def markdown(head: Sequence[str], rows: Iterable[Sequence[Any]], words: Iterable[int] = (0,)) -> str:
    """A Markdown table; the columns of ``words`` are aligned to the left, those of figures to the right."""
    rule = ["---" if column in words else "---:" for column in range(len(head))]
    lines = [list(map(str, head)), rule, *(list(map(str, row)) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def seconds(value: float) -> str:
    """Three digits, in seconds; nothing for what was not measured."""
    if math.isnan(value):
        return "-"
    return f"{value:.5f}" if value < 0.0095 else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def ratio(value: float) -> str:
    return (
        "-"
        if math.isnan(value)
        else f"{value:.2f} x"
        if value < 10
        else f"{value:.1f} x"
        if value < 100
        else f"{value:.0f} x"
    )


def small(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.1e}"


def geometric_mean(values: Sequence[float]) -> float:
    """nan if there is none, or one of them is nan."""
    return (
        math.exp(sum(map(math.log, values)) / len(values)) if len(values) and all(v > 0 for v in values) else math.nan
    )


def say(text: str) -> None:
    """A line of progress, apart from the tables on standard output."""
    print(text, file=sys.stderr, flush=True)


def computer(options: Options) -> str:
    """Where and with what the figures were measured."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    versions = ", ".join(f"{TITLES[name]} {version(name)}" for name in installed())
    below = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy"))
    caches = {
        "maxmargin": options.cache_size,
        "scikit-learn": options.sklearn_cache,
        "scikit-learn-intelex": options.sklearnex_cache,
    }
    sizes = ", ".join(f"{name} {'default' if size is None else f'{size:g} MB'}" for name, size in caches.items())
    return (
        f"{datetime.date.today()}, {_processor()}, {cores} cores, {options.threads or cores} threads, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}.\n"
        f"{versions}; {below}.\n"
        f"tol {options.tol:g}, {options.dtype} input; caches: {sizes}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    simd = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else ""
    return (
        " ".join(filter(None, [names[0] if names else platform.processor(), simd and f"({simd})"]))
        or "unknown processor"
    )
