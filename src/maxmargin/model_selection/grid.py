"""What a grid search tries: axes of parameters, the kernels among them, cells, and a finer grid around the best cell.

An axis is a parameter and its values. A cell is one choice from every axis; cells are listed as scikit-learn's
``ParameterGrid`` lists them, with the last name of the alphabet running fastest. C and the widths of kernels act by
their ratios, so ranges are even on a logarithmic scale, and a finer grid divides the ratio of neighbouring values.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.kernels import Kernel
from maxmargin.runtime.validation import check_choice, check_number
from maxmargin.svm.kernel_input import kernel_of

FINER_STEPS = 3  # parts into which a refinement divides the step between two values
BY_RATIO = ("C", "gamma", "epsilon")  # axes that are refined


@dataclass(frozen=True)
class Range:
    """A geometric sequence of values from ``low`` to ``high``.

    Parameters
    ----------
    low, high : float
        The ends, 0 < low < high.
    count : int, default=6
        Number of values, at least 2.

    Examples
    --------
    >>> from maxmargin.model_selection import Range
    >>> Range(0.01, 100, 5).values()
    [0.01, 0.1, 1.0, 10.0, 100.0]
    """

    low: float
    high: float
    count: int = 6

    def values(self) -> list[float]:
        """The values, smallest first."""
        low = check_number("low", self.low, above=0)
        high = check_number("high", self.high, above=low, remedy="A range needs high > low.")
        count = int(check_number("count", self.count, least=2, integer=True))
        return [float(f"{value:.12g}") for value in np.geomspace(low, high, count)]


def axis(name: str, values: Any, *, strings: Sequence[str] = (), **limits: Any) -> list[Any]:
    """The values of one numeric axis, each once; ``limits`` are those of ``check_number``."""
    if isinstance(values, Range):
        try:
            values = values.values()
        except (ValueError, TypeError) as error:
            raise type(error)(f"{name}: {error}") from None
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        if isinstance(values, numbers.Real) or values in strings:
            raise TypeError(f"{name} must be a list of values or a Range; got {values!r}: write {name}=[{values!r}].")
        raise TypeError(f"{name} must be a list of values or a Range; got {values!r}.")
    listed = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not listed:
        raise ValueError(f"{name} is empty: give at least one value to try.")
    for i, value in enumerate(listed):
        if isinstance(value, str) and strings:
            check_choice(f"{name}[{i}]", value, strings, " or a number")
        else:
            check_number(f"{name}[{i}]", value, **limits)
    return list(dict.fromkeys(listed))


@dataclass(frozen=True)
class Axis:
    """A hyperparameter of the estimator: the search's parameter that lists its values, and what is tried by default."""

    name: str
    listed_by: str
    default: tuple[float, ...]
    limits: dict[str, Any]  # those of ``check_number``

    def values(self, search: Any) -> list[Any]:
        given = getattr(search, self.listed_by)
        return list(self.default) if given is None else axis(self.listed_by, given, **self.limits)


C_AXIS = Axis("C", "Cs", (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0), {"above": 0, "infinite": True})
EPSILON_AXIS = Axis("epsilon", "epsilons", (0.1,), {"least": 0})


@dataclass(frozen=True)
class Variant:
    """One kernel of the search, and the values of the axes that made it."""

    params: dict[str, Any]
    kernel: Kernel


@dataclass(frozen=True)
class Cell:
    """One choice of all parameters: the place of its kernel among the variants, and the estimator's own parameters."""

    params: dict[str, Any]
    variant: int
    hyperparameters: dict[str, Any]


def kernel_axes(kernel: Any, gammas: Any, kernel_params: Any, default_gammas: list[float] | None) -> dict[str, Any]:
    """The axes that make kernels: the kernel itself where several are given, gamma, and ``kernel_params``."""
    axes: dict[str, Any] = {}
    several = isinstance(kernel, (list, tuple))
    if several:
        if len(kernel) == 0:
            raise ValueError("kernel is an empty list: give at least one kernel.")
        axes["kernel"] = list(kernel)
    if kernel_params is not None:
        if not isinstance(kernel_params, Mapping):
            raise TypeError(
                f"kernel_params must be a dict of lists, such as {{'degree': [2, 3]}}; got {kernel_params!r}."
            )
        for name, values in kernel_params.items():
            if isinstance(values, Range):
                axes[name] = values.values()
                continue
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                raise TypeError(f"kernel_params[{name!r}] must be a list of values; got {values!r}.")
            axes[name] = [value.item() if isinstance(value, np.generic) else value for value in values]
            if not axes[name]:
                raise ValueError(f"kernel_params[{name!r}] is empty: give at least one value to try.")
    if gammas is not None:
        if "gamma" in axes:
            raise ValueError("gamma is given twice, by gammas and by kernel_params: give one of them.")
        axes["gamma"] = axis("gammas", gammas, strings=("scale", "auto"), above=0)
    elif default_gammas is not None and "gamma" not in axes and not several:
        axes["gamma"] = default_gammas
    return axes


def variants(kernel: Any, axes: Mapping[str, Any], *, degree: float, coef0: float) -> list[Variant]:
    """Every kernel of the search. A kernel that lacks a parameter ignores its axis only if another kernel has it."""
    names = sorted(axes)
    found: list[Variant] = []
    used: set[str] = set()
    for values in itertools.product(*(axes[name] for name in names)):
        params = dict(zip(names, values, strict=True))
        spec = params.get("kernel", kernel)
        if isinstance(spec, Kernel):
            made = clone(spec)
        else:
            given = {"degree": degree, "coef0": coef0, "gamma": "scale"}
            made = kernel_of(spec, **{**given, **{k: v for k, v in params.items() if k in given}})
        known = made.get_params(deep=True)
        mine = {name: value for name, value in params.items() if name in known or name == "kernel"}
        used.update(mine)
        made.set_params(**{name: value for name, value in mine.items() if name != "kernel"})
        variant = Variant(mine, made)
        if not any(_same(mine, other.params) for other in found):
            found.append(variant)
    for name in names:
        if name not in used:
            raise ValueError(f"kernel={kernel!r} has no parameter {name!r}: leave it out of the search.")
    return found


def _same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two choices are one; kernels are compared by identity."""
    return a.keys() == b.keys() and all(a[name] is b[name] or (name != "kernel" and a[name] == b[name]) for name in a)


def cells(kernels: Sequence[Variant], estimator_axes: Mapping[str, Sequence[Any]], first: int = 0) -> list[Cell]:
    """Every cell of the grid; ``first`` is the place of the first kernel among all of the search."""
    names = sorted(estimator_axes)
    made = []
    for v, variant in enumerate(kernels):
        for values in itertools.product(*(estimator_axes[name] for name in names)):
            hyperparameters = dict(zip(names, values, strict=True))
            made.append(Cell(dict(sorted({**variant.params, **hyperparameters}.items())), first + v, hyperparameters))
    # ParameterGrid's order: names by the alphabet, values in the order given.
    listed: dict[str, list[Any]] = {name: list(values) for name, values in estimator_axes.items()}
    for variant in kernels:
        for name, value in variant.params.items():
            if not any(value is other for other in listed.setdefault(name, [])):
                listed[name].append(value)
    every = sorted(listed)

    def order(cell: Cell) -> list[int]:
        return [
            next((i for i, other in enumerate(listed[name]) if other is cell.params[name]), 0)
            if name in cell.params
            else -1
            for name in every
        ]

    return sorted(made, key=order)


def finer(values: Sequence[Any], best: float, most: float = math.inf) -> list[float]:
    """Values around the best, inside the steps to its neighbours; outside the ends the last step goes on,
    up to ``most``."""
    known = sorted({float(v) for v in values if isinstance(v, numbers.Real) and 0 < float(v) < math.inf})
    if best not in known or best <= 0:
        return [best]
    at = known.index(best)
    if len(known) == 1:
        below = above = 10.0
    else:
        below = best / known[at - 1] if at > 0 else known[1] / best
        above = known[at + 1] / best if at < len(known) - 1 else below
    steps = range(1, FINER_STEPS)
    made = [best * below ** (-k / FINER_STEPS) for k in reversed(steps)] + [best]
    made += [best * above ** (k / FINER_STEPS) for k in steps]
    return [value if value == best else float(f"{value:.6g}") for value in made if value <= most]
