"""``python -m maxmargin``: an existing program with these estimators in ``sklearn.svm``, or the command line.

    python -m maxmargin script.py arguments ...        as python script.py arguments ...
    python -m maxmargin -m module arguments ...        as python -m module arguments ...
    python -m maxmargin -c "code" arguments ...        as python -c "code" arguments ...
    python -m maxmargin command arguments ...          as maxmargin command arguments ...

The program sees the arguments, the import path, the exit code and the traceback that Python itself would give it.
"""

from __future__ import annotations

import os
import runpy
import sys
import types
from collections.abc import Callable
from types import TracebackType
from typing import Any


def main(arguments: list[str]) -> None:
    """Run the script or module that the arguments name."""
    run = _program(arguments)
    if run is None:
        from maxmargin.cli import main as command_line

        command_line(arguments, prog_name="maxmargin")
        return
    from maxmargin.svm.patching import patch_sklearn

    patch_sklearn(verbose=True)
    try:
        run()
    except Exception as error:
        error.__traceback__ = _of_the_program(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def _program(arguments: list[str]) -> Callable[[], Any] | None:
    """What runs the program that is named, with ``sys.argv`` and ``sys.path`` set for it; None if none is named."""
    if not arguments:
        return None
    first, rest = arguments[0], arguments[1:]
    if first in ("-m", "-c"):
        if not rest:
            sys.stderr.write(f"Argument expected for the {first} option\n")
            sys.exit(2)
        sys.argv = [first, *rest[1:]]
        sys.path[0] = "" if first == "-c" else os.getcwd()
        return (lambda: _run_module(rest[0])) if first == "-m" else (lambda: _run_code(rest[0]))
    from maxmargin.cli import COMMANDS

    if first.startswith("-") or first in COMMANDS or not (os.path.exists(first) or first.endswith(".py")):
        return None
    if not os.path.exists(first):
        sys.stderr.write(
            f"{sys.executable}: can't open file {os.path.abspath(first)!r}: [Errno 2] No such file or directory\n"
        )
        sys.exit(2)
    sys.argv = arguments
    if os.path.isdir(first):  # with a __main__.py
        del sys.path[0]
        return lambda: runpy.run_path(first, run_name="__main__")
    sys.path[0] = os.path.dirname(os.path.realpath(first))
    return lambda: _run_file(os.path.abspath(first))


def _run_module(name: str) -> None:
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_file(path: str) -> None:
    """runpy.run_path would change ``sys.argv[0]`` or leave ``__file__`` relative, as Python does neither."""
    with open(path, "rb") as file:
        _run_code(file.read(), path, __file__=path, __cached__=None)


def _run_code(code: str | bytes, name: str = "<string>", **attributes: Any) -> None:
    module = types.ModuleType("__main__")
    module.__dict__.update(attributes)
    sys.modules["__main__"] = module  # where pickle looks for what the code defines
    exec(compile(code, name, "exec", dont_inherit=True), module.__dict__)


def _of_the_program(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames that led to the program."""
    own = (__file__, runpy.__file__, "<frozen runpy>")
    while trace is not None and trace.tb_frame.f_code.co_filename in own:
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    main(sys.argv[1:])
