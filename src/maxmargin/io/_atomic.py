"""Atomic writes: a file has its old content or its new content, and never something in between.

The new content goes into a temporary file in the same folder, which then takes the name of the target in one step. The
bytes are on the disk before the name changes, and the change of name before the call returns. Whoever can check the new
content does so before the name changes.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable
from typing import Any


def write_atomically(
    path: str | os.PathLike[str], pieces: Iterable[Any], check: Callable[[str], None] | None = None
) -> None:
    """Write bytes under a name. An existing file keeps its permissions; one that must not be written is refused.

    ``check`` is called with the name of the complete temporary file; what it raises leaves the target as it was. Errors
    of the system name the target."""
    try:
        _write(os.path.realpath(path), pieces, check)  # a link stays a link
    except OSError as error:
        if error.errno is not None:
            error.filename = os.fspath(path)
        raise


def _write(target: str, pieces: Iterable[Any], check: Callable[[str], None] | None) -> None:
    mode = _mode_of(target)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"{target} cannot be written: there is no folder {folder}. Create it, or give another name."
        )
    while True:
        # short, and not made of the target's name, which may be as long as the file system allows
        temporary = os.path.join(folder, f".{secrets.token_hex(6)}.tmp")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            break
        except FileExistsError:
            continue
    try:
        with open(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if check is not None:
            check(temporary)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    if os.name == "posix":
        folder_descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(folder_descriptor)
        finally:
            os.close(folder_descriptor)


def _mode_of(target: str) -> int | None:
    """The permissions of the existing file, or None."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{target} is a folder: give the name of a file.")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{target} is not a regular file, and would be replaced by one: give another name.")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{target} must not be written: change its permissions, or give another name.")
    return stat.S_IMODE(status.st_mode)
