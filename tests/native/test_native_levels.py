"""Which instruction level is used, and how a user forces one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin
from maxmargin import _native


def child(value):
    # The extension module alone: what the package imports besides it takes long, and is not what is tested.
    code = f"import importlib.util as u; s = u.spec_from_file_location('maxmargin._native', {_native.__file__!r})\n"
    code += "m = u.module_from_spec(s); s.loader.exec_module(m); print(m.cpu_level())"
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "MAXMARGIN_CPU": value}, capture_output=True, text=True
    )


def test_best_level_is_chosen():
    assert child("").stdout.split() == _native.available_levels()[-1:]


@pytest.mark.parametrize("name", _native.available_levels())
def test_forced_level(name):
    assert child(name).stdout.split() == [name]


@pytest.mark.parametrize("name", ["v9", "avx2", "V3", " v2"])
def test_unknown_level_is_refused_at_import(name):
    done = child(name)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert "MAXMARGIN_CPU" in last
    assert f"'{name}'" in last
    assert ", ".join(_native.available_levels()) in last


def test_a_missing_extension_says_what_to_do(tmp_path):
    package = tmp_path / "maxmargin"
    package.mkdir()
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(Path(maxmargin.__file__).with_name(name), package / name)
    # an editable installation finds the package by an object of its own, before the path is searched
    code = "import sys; sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]\n"
    code += f"sys.path.insert(0, {str(tmp_path)!r}); import maxmargin"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: maxmargin._native, the compiled core, is missing")
    assert "pip install" in last


def test_unknown_level_in_a_process():
    before = _native.cpu_level()
    with pytest.raises(ValueError, match="allowed values"):
        _native._use_level("v1")
    assert _native.cpu_level() == before
