"""scikit-build-core, with a compiler from PyPI (zig, which is Clang) where the machine has none."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as _core

get_requires_for_build_sdist = _core.get_requires_for_build_sdist
build_sdist = _core.build_sdist
prepare_metadata_for_build_wheel = _core.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _core.prepare_metadata_for_build_editable

ZIG = "ziglang>=0.13"


def _compiler_missing() -> bool:
    if sys.platform == "win32":
        return False  # CMake finds Visual Studio's clang-cl by itself
    return not (os.environ.get("CXX") or any(shutil.which(name) for name in ("c++", "g++", "clang++")))


def _use_zig() -> None:
    """Let CMake find small programs that pass their arguments on to ``python -m ziglang``."""
    folder = Path(tempfile.mkdtemp(prefix="maxmargin-zig-"))
    for variable, command in (("CC", "cc"), ("CXX", "c++"), ("AR", "ar"), ("RANLIB", "ranlib")):
        program = folder / command
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {command} "$@"\n')
        program.chmod(0o755)
        os.environ[variable] = str(program)


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    requires = _core.get_requires_for_build_wheel(config_settings)
    return [*requires, ZIG] if _compiler_missing() else requires


get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    if _compiler_missing():
        _use_zig()
    return _core.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    if _compiler_missing():
        _use_zig()
    return _core.build_editable(wheel_directory, config_settings, metadata_directory)
