"""Registries: names of solvers, kernels and others, each imported when it is first used.

A program that fits one estimator does not wait for the modules of all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")


class Registry(MutableMapping[str, Entry], Generic[Entry]):
    """A mapping whose values are given as they are, or as ``"module:name"`` to be imported.

    Parameters
    ----------
    entries : mapping of str to value or str
        The values by name; a str is the place to import the value from.
    make : callable, optional
        What makes an entry from the imported object, such as a call of a class without arguments.

    Examples
    --------
    >>> from maxmargin.runtime.registry import Registry
    >>> registry = Registry({"pi": "math:pi"})
    >>> list(registry), round(registry["pi"], 2)
    (['pi'], 3.14)
    """

    def __init__(self, entries: Mapping[str, Entry | str], make: Callable[[Any], Entry] = lambda found: found) -> None:
        self._entries = dict(entries)
        self._make = make

    def __getitem__(self, name: str) -> Entry:
        entry = self._entries[name]
        if isinstance(entry, str):
            module, found = entry.split(":")
            entry = self._entries[name] = self._make(getattr(import_module(module), found))
        return entry

    def __setitem__(self, name: str, entry: Entry) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
