"""The Lift tab: maps, planes and curves against their definitions."""

from __future__ import annotations

import base64
import json
import math

import numpy as np
import pytest

from maxmargin import SVC
from maxmargin.lab.lifting import AXES, lift, mapped, script
from maxmargin.lab.requests import RequestError

VIEW = {"x0": -2.5, "x1": 2.5, "y0": -2.0, "y1": 2.0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def ring(n=40, seed=0, centre=(0.0, 0.0)):
    rng = np.random.default_rng(seed)
    r = np.where(np.arange(n) % 2, rng.uniform(1.3, 2, n), rng.uniform(0, 0.8, n))
    t = rng.uniform(-math.pi, math.pi, n)
    points = np.column_stack((centre[0] + r * np.cos(t), centre[1] + r * np.sin(t)))
    return [[float(x), float(y), int(i % 2)] for i, (x, y) in enumerate(points)]


def values_of(answer):
    return np.frombuffer(base64.b64decode(answer["values"]), "<f4").reshape(answer["grid"][::-1])


FORMULAS = {
    "quadratic": lambda x, y, gamma: (x * x, math.sqrt(2) * x * y, y * y),
    "radial": lambda x, y, gamma: (x, y, x * x + y * y),
    "bump": lambda x, y, gamma: (x, y, math.exp(-gamma * (x * x + y * y))),
    "polar": lambda x, y, gamma: (math.hypot(x, y), math.atan2(y, x)),
}


@pytest.mark.parametrize("which", sorted(FORMULAS))
def test_coordinates_are_those_of_the_formula(which):
    points = ring()
    answer = lift({"points": points, "map": which, "gamma": 0.7, "C": 10})
    expected = [FORMULAS[which](x, y, 0.7) for x, y, _ in points]
    assert np.array(answer["coordinates"]) == pytest.approx(np.array(expected), rel=1e-5, abs=1e-5)
    assert len(answer["axes"]) == len(expected[0])


@pytest.mark.parametrize("which", sorted(FORMULAS))
def test_the_plane_is_the_model_of_the_lifted_points(which):
    points = ring()
    y = np.where(np.array(points)[:, 2] == 1, 1.0, -1.0)
    Z = np.array([FORMULAS[which](u, v, 0.7) for u, v, _ in points])
    model = SVC(kernel="linear", C=10, tol=1e-9).fit(Z, y)
    answer = lift({"points": points, "map": which, "gamma": 0.7, "C": 10, "view": VIEW, "grid": [9, 7]})
    plane = answer["plane"]
    assert plane["normal"] == pytest.approx(model.coef_[0].tolist(), rel=1e-3, abs=1e-4)
    assert plane["margin"] == pytest.approx(2 / np.linalg.norm(model.coef_[0]), rel=1e-4)
    found = values_of(answer)
    for j, v in enumerate(np.linspace(-2, 2, 7)):
        for i, u in enumerate(np.linspace(-2.5, 2.5, 9)):
            f = np.dot(plane["normal"], FORMULAS[which](u, v, 0.7)) + plane["offset"]
            assert found[j, i] == pytest.approx(f, abs=1e-4)


@pytest.mark.parametrize("which", sorted(FORMULAS))
def test_corners_are_on_the_plane_inside_the_box(which):
    answer = lift({"points": ring(), "map": which, "C": 1})
    w, b = np.array(answer["plane"]["normal"]), answer["plane"]["offset"]
    low, high = np.array(answer["box"]).T
    for level, corners in answer["plane"]["corners"].items():
        for corner in np.array(corners).reshape(-1, len(w)):
            assert corner @ w + b == pytest.approx(float(level), abs=1e-3 * (1 + np.abs(w).max()))
            assert (corner >= low - 1e-4).all()
            assert (corner <= high + 1e-4).all()
    assert len(answer["plane"]["corners"]["0"]) >= (2 if which == "polar" else 3)


def test_corners_go_round_the_polygon():
    """Every turn of a convex polygon has the same sense."""
    corners = np.array(lift({"points": ring(), "map": "quadratic", "C": 1})["plane"]["corners"]["0"])
    sides = np.roll(corners, -1, axis=0) - corners
    turns = np.cross(sides, np.roll(sides, -1, axis=0))
    assert (turns @ turns[0] > 0).all()


def test_a_circle_is_found_again():
    points = ring(200, centre=(0.5, -0.25))
    answer = lift({"points": points, "map": "radial", "C": 1000})
    w, b = answer["plane"]["normal"], answer["plane"]["offset"]
    centre = -np.array(w[:2]) / (2 * w[2])
    radius = math.sqrt(centre @ centre - b / w[2])
    assert centre == pytest.approx([0.5, -0.25], abs=0.15)
    assert 0.8 < radius < 1.3
    assert f"radius {radius:.3g}" in answer["comment"][1]
    assert answer["errors"] == 0


@pytest.mark.parametrize(
    ("points", "kind"),
    [
        (ring(), "an ellipse"),
        ([[0, 2, 0], [0, -2, 0], [0.5, 2, 0], [2, 0, 1], [-2, 0, 1], [2, 0.5, 1]], "a hyperbola"),
    ],
    ids=["ring", "cross"],
)
def test_conics_are_named(points, kind):
    assert kind in lift({"points": points, "map": "quadratic", "C": 10})["comment"][1]


def test_the_surface_has_the_heights_of_the_model():
    points = ring()
    X, y = np.array(points)[:, :2], np.where(np.array(points)[:, 2] == 1, 1.0, -1.0)
    model = SVC(kernel="rbf", gamma=2.0, C=5, tol=1e-8).fit(X, y)
    answer = lift({"points": points, "map": "rbf_surface", "gamma": 2.0, "C": 5, "view": VIEW, "grid": [5, 4]})
    assert [row[2] for row in answer["coordinates"]] == pytest.approx(model.decision_function(X).tolist(), abs=1e-4)
    grid = [[u, v] for v in np.linspace(-2, 2, 4) for u in np.linspace(-2.5, 2.5, 5)]
    assert values_of(answer).ravel() == pytest.approx(model.decision_function(grid), abs=1e-4)
    low, high = answer["box"][2]
    assert low <= min(answer["f"])
    assert max(answer["f"]) <= high
    assert answer["plane"] is None


def test_the_sheet_is_the_view_lifted():
    answer = lift({"points": ring(), "map": "radial", "view": VIEW})
    sheet = np.frombuffer(base64.b64decode(answer["sheet"]), "<f4").reshape(-1, 3)
    assert len(sheet) == math.prod(answer["sheet_grid"])
    assert sheet[0] == pytest.approx([-2.5, -2.0, 2.5**2 + 4])
    assert sheet[-1] == pytest.approx([2.5, 2.0, 2.5**2 + 4])


def test_radial_with_a_bump_is_the_bump():
    assert lift({"points": ring(), "map": "radial", "height": "bump"})["map"] == "bump"


@pytest.mark.parametrize("which", sorted(AXES))
def test_the_script_reproduces_the_numbers(which, capsys):
    state = {"points": ring(16), "map": which, "gamma": 0.5, "C": 3}
    answer, names = lift(state), {}
    exec(script(state), names)
    assert names["model"].decision_function(names["Z"]) == pytest.approx(np.array(answer["f"]), rel=1e-4, abs=1e-5)
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"points": []}, "points"),
        ({"points": [[0, 0, 1]]}, "points"),
        ({"points": "ring"}, "points"),
        ({"points": [[0.0, float(i), i % 2] for i in range(2001)]}, "points"),
        ({"map": "cubic"}, "map"),
        ({"C": -1}, "C"),
        ({"C": "inf", "points": [[0, 0, 0], [0, 0, 1]]}, "C"),
        ({"gamma": math.nan}, "gamma"),
        ({"gamma": 0}, "gamma"),
        ({"view": {"x0": 1, "x1": 1}}, "view"),
        ({"grid": [1000, 1000]}, "grid"),
        ({"map": "radial", "height": 3}, "height"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_refusals_name_the_field(change, field):
    with pytest.raises(RequestError) as caught:
        lift({"points": ring(), "map": "quadratic", **change})
    assert caught.value.field == field
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("which", sorted(AXES))
@pytest.mark.parametrize(
    "points",
    [
        [[0, 0, 0], [0, 0, 1]],
        [[1, 1, 0]] * 4 + [[2, 2, 1]],
        [[1e6, 1e6, 0], [-1e6, 1e6, 1], [0, 1, 0]],
        [[0, 0, 0], [1e-200, 0, 1]],
    ],
    ids=["same place", "repeated", "far", "near"],
)
def test_strange_points_end_in_numbers(which, points):
    json.dumps(lift({"points": points, "map": which, "C": 1.0, "grid": [4, 4]}), allow_nan=False)


def test_bump_far_away_is_flat():
    assert mapped("bump", np.array([[1e6, 0.0]]), 1e9)[0, 2] == 0.0
