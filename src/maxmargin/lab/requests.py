"""What the page asks for, checked: every refusal is one sentence that names the cause and the remedy.

points      [[x, y, class], ...], at most ``MAX_POINTS`` of them, coordinates finite and at most ``MAX_COORDINATE`` away
class       0, 1, ..., ``MAX_CLASSES`` - 1
C           a number > 0, or "inf"
kernel      {"name": ..., "gamma": ..., "degree": ..., "coef0": ...}
view        {"x0", "x1", "y0", "y1"}, the rectangle on the screen
grid        [nx, ny], the cells to compute in it
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from maxmargin.kernels import KERNELS
from maxmargin.runtime.validation import Array, check_choice
from maxmargin.solvers import solvers_for

MAX_POINTS = 5_000
MAX_CLASSES = 6
MAX_COORDINATE = 1e6
GRID_MAX_CELLS = 320  # cells of a grid along a side
# kernels of points in the plane; the others are about histograms, strings and sets
PLANE_KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid")
MULTICLASS = ("ovo", "ovr", "crammer_singer")
# parameter -> smallest, largest, and what it is unless said otherwise
RANGES: dict[str, tuple[float, float, float]] = {
    "gamma": (1e-9, 1e9, 1.0),
    "degree": (0.1, 20.0, 3.0),
    "coef0": (-1e6, 1e6, 1.0),
}
SMALLEST_C, LARGEST_C = 1e-9, 1e9


class RequestError(ValueError):
    """A request that cannot be answered; the message is for the user.

    message: one sentence: cause and remedy
    field: the part of the request that is wrong, for the page to point at
    status: of HTTP
    """

    def __init__(self, message: str, field: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.field, self.status = field, status


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; numbers that JSON has not are refused."""

    def constant(name: str) -> Any:
        raise RequestError(f"The request has {name}, which is not a number: leave out what has no value.")

    try:
        request = json.loads(body, parse_constant=constant)
    except RequestError:
        raise
    except (ValueError, RecursionError) as error:
        raise RequestError("The request is not JSON: send one object in UTF-8.") from error
    if not isinstance(request, dict):
        raise RequestError(f"The request is a JSON {_kind(request)}: send an object, {{...}}.")
    return request


def encode(answer: Any) -> bytes:
    """An answer as JSON; nan and inf, which JSON has not, become null, and arrays lists."""
    try:
        text = json.dumps(answer, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        text = json.dumps(_plain(answer), allow_nan=False, separators=(",", ":"))
    return text.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def number(
    request: Mapping[str, Any],
    name: str,
    default: float | None = None,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    integer: bool = False,
) -> float:
    """A finite number inside its bounds."""
    value = request.get(name, default)
    if value is None:
        raise RequestError(f"{name} is missing: give a number.", name)
    kind = "a whole number" if integer else "a number"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestError(f"{name} must be {kind}; it is {_short(value)}.", name)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found) or (integer and found != int(found)):
        raise RequestError(f"{name} must be {kind}; it is {_short(value)}.", name)
    if not least <= found <= most:
        raise RequestError(f"{name} must be between {least:g} and {most:g}; it is {found:g}.", name)
    return found


def choice(request: Mapping[str, Any], name: str, choices: Iterable[str], default: str) -> str:
    """One of a few names."""
    value = request.get(name, default)
    try:
        return check_choice(name, value, choices)
    except ValueError as error:
        if not isinstance(value, str) or len(value) > 40:
            raise RequestError(f"{name} must be one of {', '.join(sorted(choices))}.", name) from error
        raise RequestError(str(error), name) from error


def flag(request: Mapping[str, Any], name: str, default: bool) -> bool:
    """True or false."""
    value = request.get(name, default)
    if not isinstance(value, bool):
        raise RequestError(f"{name} must be true or false; it is {_short(value)}.", name)
    return value


def part(request: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object inside the request; empty where there is none."""
    value = request.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RequestError(f"{name} must be an object, {{...}}; it is {_short(value)}.", name)
    return value


def points(request: Mapping[str, Any], classes: int = MAX_CLASSES) -> tuple[Array, Array]:
    """The coordinates, shape (n, 2), and the classes of the points."""
    table = rows(request, "points", 3, "x, y and class")
    X, y = np.ascontiguousarray(table[:, :2]), table[:, 2]
    wrong = (y != np.floor(y)) | (y < 0) | (y >= classes)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise RequestError(f"Point {at + 1} has class {y[at]:g}: classes are 0 to {classes - 1}.", "points")
    return X, y.astype(np.int64)


def rows(request: Mapping[str, Any], name: str, width: int, columns: str) -> Array:
    """A list of rows of ``width`` finite numbers as an array of shape (n, width)."""
    given, far = request.get(name, []), MAX_COORDINATE
    if not isinstance(given, list):
        raise RequestError(f"{name} must be a list of rows; it is {_short(given)}.", name)
    if len(given) > MAX_POINTS:
        raise RequestError(
            f"{len(given):,} points are more than this page can take: {MAX_POINTS:,} is the limit. Leave some out, or "
            "use the library itself, which has no such limit.",
            name,
        )
    for i, row in enumerate(given):
        if not isinstance(row, list) or len(row) != width:
            raise RequestError(
                f"Point {i + 1} must be a list of {width} numbers ({columns}); it is {_short(row)}.", name
            )
        for value in row:
            if isinstance(value, bool) or not isinstance(value, int | float) or not -far <= value <= far:
                raise RequestError(
                    f"Point {i + 1} has {_short(value)} among {columns}: give numbers from -{far:,.0f} to {far:,.0f}.",
                    name,
                )
    return np.array(given, dtype=np.float64).reshape(-1, width)


def penalty(request: Mapping[str, Any], default: float = 1.0) -> float:
    """C: a number, or "inf" for a hard margin."""
    if request.get("C") == "inf":
        return math.inf
    if isinstance(request.get("C"), str):
        raise RequestError(f'C must be a number, or "inf" for a hard margin; it is {_short(request["C"])}.', "C")
    found = number(request, "C", default)
    if found <= 0:
        raise RequestError(
            f"C weighs the errors and must be above 0; it is {found:g}. With C = 0 errors cost nothing, and w = 0 "
            "is the best: choose a small C instead.",
            "C",
        )
    return number(request, "C", default, least=SMALLEST_C, most=LARGEST_C)


def kernel(request: Mapping[str, Any], kernels: Iterable[str] = PLANE_KERNELS) -> dict[str, Any]:
    """The kernel as parameters of an estimator: its name and those of gamma, degree and coef0 that it has."""
    given = request.get("kernel", {})
    given = {"name": given} if isinstance(given, str) else part(request, "kernel")
    name = choice({"kernel": given.get("name", "rbf")}, "kernel", kernels, "rbf")
    found: dict[str, Any] = {"kernel": name}
    for parameter in parameters_of(name):
        least, most, default = RANGES[parameter]
        if parameter == "gamma" and given.get("gamma") in ("scale", "auto"):
            found["gamma"] = given["gamma"]
        else:
            value = given.get(parameter)
            found[parameter] = number(
                {parameter: default if value is None else value}, parameter, least=least, most=most
            )
    return found


def parameters_of(name: str) -> list[str]:
    """Those of gamma, degree and coef0 that a kernel has."""
    has = KERNELS[name]._get_param_names()
    return [parameter for parameter in RANGES if parameter in has]


def solver(request: Mapping[str, Any]) -> str:
    """``"auto"``, or the name of a solver."""
    return choice(request, "solver", ["auto", *solvers_for("kernel")], "auto")


def view(request: Mapping[str, Any]) -> tuple[Array, Array]:
    """The coordinates of the grid's columns and rows: from x0 to x1 and from y0 to y1, ends included."""
    frame = {"x0": -1.0, "x1": 1.0, "y0": -1.0, "y1": 1.0, **part(request, "view")}
    x0, x1, y0, y1 = (
        number(frame, name, least=-2 * MAX_COORDINATE, most=2 * MAX_COORDINATE) for name in ("x0", "x1", "y0", "y1")
    )
    if not (x0 < x1 and y0 < y1):
        raise RequestError("The view is empty: x0 must be below x1, and y0 below y1.", "view")
    cells = request.get("grid", [80, 80])
    if not isinstance(cells, list) or len(cells) != 2:
        raise RequestError(f"grid must be two whole numbers, [nx, ny]; it is {_short(cells)}.", "grid")
    nx, ny = (int(number({"grid": n}, "grid", least=2, most=GRID_MAX_CELLS, integer=True)) for n in cells)
    return np.linspace(x0, x1, nx), np.linspace(y0, y1, ny)


def _kind(value: Any) -> str:
    names = {list: "list", str: "text", bool: "truth value", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), "object")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
