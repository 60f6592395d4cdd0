"""The state of an estimator as plain values, to compare two of them bit by bit."""

from __future__ import annotations

import enum
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import History

DEEPEST = 12  # levels of nested objects
PLAIN = (np.generic, float, int, str, bytes, type(None), type, enum.Enum)


def state_of(thing: Any, *, private: bool = True, depth: int = 0) -> Any:
    """All attributes as a tree of dicts, lists and texts; without ``private``, those of the interface only."""

    def inner(part: Any) -> Any:
        return state_of(part, private=private, depth=depth + 1)

    if depth > DEEPEST:
        return "..."
    if isinstance(thing, PLAIN):
        return repr(thing)
    if isinstance(thing, np.ndarray):
        if thing.dtype == object:
            return [inner(part) for part in thing.tolist()]
        return (str(thing.dtype), thing.shape, thing.tobytes())
    if sp.issparse(thing):
        csr = thing.tocsr()
        return {name: inner(getattr(csr, name)) for name in ("data", "indices", "indptr", "shape")}
    if isinstance(thing, History):
        return {name: inner(getattr(thing, name)) for name in thing.names}
    if isinstance(thing, dict):
        return {str(key): inner(value) for key, value in thing.items()}
    if isinstance(thing, (set, frozenset)):
        return sorted(map(repr, thing))
    if isinstance(thing, (list, tuple)):
        return [inner(part) for part in thing]
    if is_dataclass(thing):  # by its fields: a report fills them in when one is first read
        return {
            "class": type(thing).__name__,
            **{field.name: inner(getattr(thing, field.name)) for field in fields(thing)},
        }
    if hasattr(thing, "__dict__"):
        names = [name for name in vars(thing) if private or not name.startswith("_")]
        return {"class": type(thing).__name__, **{name: inner(getattr(thing, name)) for name in names}}
    return type(thing).__name__


def public(model: Any) -> Any:
    """What a user sees of a model."""
    return state_of(model, private=False)


def differences(one: Any, other: Any, ignore: tuple[str, ...] = (), path: str = "") -> list[str]:
    """Where two states differ, as paths; names in ``ignore`` are left out."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for name in sorted((set(one) | set(other)) - set(ignore)):
            where = f"{path}.{name}" if path else name
            if name not in one or name not in other:
                found.append(f"{where} ({'new' if name not in one else 'gone'})")
            else:
                found.extend(differences(one[name], other[name], ignore, where))
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        parts = enumerate(zip(one, other, strict=True))
        return [place for i, (a, b) in parts for place in differences(a, b, ignore, f"{path}[{i}]")]
    return [] if one == other else [path]
