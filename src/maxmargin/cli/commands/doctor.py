"""``maxmargin doctor``: what is installed, and whether it works."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
import time
from typing import Any

import click

from maxmargin import __version__
from maxmargin.cli._options import Voice, json_option

NEEDED = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "click", "rich", "safetensors")
EXTRAS = {  # extra -> its packages, and what for
    "plot": (("matplotlib",), "pictures and reports"),
    "parquet": (("pyarrow",), "Parquet, and large CSV files faster"),
    "excel": (("openpyxl",), ".xlsx workbooks"),
    "onnx": (("onnx",), "models for ONNX runtimes"),
    "lab": (("starlette", "uvicorn"), "maxmargin lab and maxmargin serve"),
    "qp": (("clarabel",), "the interior-point reference solver"),
    "images": (("Pillow",), "pictures of digits"),
    "dask": (("dask", "distributed"), "fits on a cluster"),
}


@click.command(name="doctor", short_help="Check what is installed and whether it works.")
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show versions, extras, BLAS, threads and the CPU level, and fit a small problem whose certificate is checked."""
    voice = Voice(as_json)
    facts = {**versions(), **self_test()}
    voice.say(f"{'maxmargin':<16}{facts['maxmargin']}, compiled for {facts['cpu_level']}")
    voice.say(f"{'Python':<16}{facts['python']} on {facts['platform']}")
    voice.say(f"{'BLAS':<16}{', '.join(facts['blas']) or 'unknown'}")
    voice.say(f"{'threads':<16}{facts['threads']}")
    for name, version in facts["packages"].items():
        voice.say(f"{name:<16}{version or 'MISSING: pip install maxmargin again'}")
    voice.say("\nExtras")
    for name, extra in facts["extras"].items():
        state = ", ".join(extra["versions"]) if extra["installed"] else f'missing: pip install "maxmargin[{name}]"'
        voice.say(f"{name:<16}{state} ({extra['for']})")
    voice.say(
        f"\nSelf-test: {facts['test_rows']} rows in {facts['test_seconds']:.2g} s, duality gap "
        f"{abs(facts['test_gap']):.1e} relative: {'all is well' if facts['healthy'] else 'WRONG'}."
    )
    voice.finish(facts)
    if not facts["healthy"]:
        ctx.exit(1)


def versions() -> dict[str, Any]:
    """What is installed."""
    import numpy as np  # noqa: F401  loads the BLAS

    from maxmargin import _native
    from maxmargin.runtime.threads import blas_libraries, effective_threads

    extras = {}
    for name, (packages, use) in EXTRAS.items():
        found = [_version(package) for package in packages]
        listed = [f"{package} {version}" for package, version in zip(packages, found, strict=True) if version]
        extras[name] = {"installed": all(found), "versions": listed, "for": use}
    return {
        "maxmargin": __version__,
        "cpu_level": _native.cpu_level(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "executable": sys.executable,
        "blas": blas_libraries(),
        "threads": effective_threads(None),
        "packages": {name: _version(name) for name in NEEDED},
        "extras": extras,
    }


def self_test() -> dict[str, Any]:
    """A fit whose answer is known to be right: its certificate is computed apart from the solver."""
    import numpy as np

    from maxmargin.svm import SVC

    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    begin = time.perf_counter()
    model = SVC(C=10.0).fit(X, y)
    seconds = time.perf_counter() - begin
    report = model.report_
    right = report.converged and abs(report.relative_gap) < 1e-2 and model.score(X, y) > 0.9
    return {"healthy": bool(right), "test_rows": 400, "test_seconds": seconds, "test_gap": float(report.relative_gap)}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
