"""The Regression tab: curves, tubes and blends against the formulas."""

from __future__ import annotations

import json
import math

import matplotlib
import numpy as np
import pytest

from maxmargin import SVR
from maxmargin.lab.regress import MODELS, blend, regress, script
from maxmargin.lab.requests import RequestError

RIDGES = ("ridge_poly", "ridge_gauss", "kernel_ridge")

pytestmark = [
    pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def wave(n=20, seed=0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, n))
    return np.column_stack((x, np.sin(2 * x) + 0.2 * rng.normal(size=n))).tolist()


def prediction(model, points, at, degree=4, sigma=0.8, penalty=0.3):
    """f(at), by the formulas of the lecture and an explicit inverse."""
    x, y = np.array(points).T
    at = np.asarray(at)
    if model == "kernel_ridge":
        k = lambda a, b: np.exp(-((a[:, None] - b) ** 2) / (2 * sigma**2))  # noqa: E731
        return k(at, x) @ np.linalg.inv(k(x, x) + penalty * np.eye(len(x))) @ y
    if model == "ridge_poly":
        phi = lambda a: np.vander(a, degree + 1, increasing=True)  # noqa: E731
    else:
        phi = lambda a: np.exp(-((a[:, None] - x) ** 2) / (2 * sigma**2))  # noqa: E731
    P = phi(x)
    return phi(at) @ np.linalg.inv(P.T @ P + penalty * np.eye(P.shape[1])) @ P.T @ y


@pytest.mark.parametrize("model", RIDGES)
def test_the_curve_is_that_of_the_formula(model):
    points = wave()
    answer = regress({"points": points, "model": model, "degree": 4, "sigma": 0.8, "lambda": 0.3, "samples": 50})
    at, f = np.array(answer["curve"]).T
    assert f == pytest.approx(prediction(model, points, at), rel=1e-4, abs=1e-5)
    x, y = np.array(points).T
    assert answer["residuals"] == pytest.approx((y - prediction(model, points, x)).tolist(), rel=1e-4, abs=1e-5)
    assert answer["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(answer["residuals"]))), rel=1e-4)
    assert answer["tube"] is None


@pytest.mark.parametrize("model", RIDGES)
@pytest.mark.parametrize("at", [-2.0, 0.3, 5.0])
def test_blends_are_exact(model, at):
    """f(x) = sum b_i(x) y_i for these targets, and the same weights for any others."""
    points = wave()
    request = {"model": model, "degree": 4, "sigma": 0.8, "lambda": 0.3, "at": at}
    answer = blend({"points": points, **request})
    b, y = np.array(answer["weights"]), np.array(points)[:, 1]
    assert b @ y == pytest.approx(answer["value"], rel=1e-4, abs=1e-5)
    assert answer["value"] == pytest.approx(prediction(model, points, [at])[0], rel=1e-4, abs=1e-5)
    other = [[x, x**2] for x, _ in points]
    assert blend({"points": other, **request})["weights"] == pytest.approx(b.tolist(), rel=1e-4, abs=1e-6)
    unit = [[x, float(i == 3)] for i, (x, _) in enumerate(points)]  # f of a unit vector of targets is its weight
    assert prediction(model, unit, [at])[0] == pytest.approx(b[3], rel=1e-4, abs=1e-5)
    assert answer["exact"]
    assert answer["sentence"].startswith("f(")


def test_svr_has_terms_instead_of_a_blend():
    points = wave()
    answer = blend({"points": points, "model": "svr", "sigma": 0.8, "C": 3, "epsilon": 0.1, "at": 0.4})
    x, y = np.array(points).T
    model = SVR(kernel="rbf", gamma=1 / (2 * 0.8**2), C=3, epsilon=0.1, tol=1e-8).fit(x[:, None], y)
    assert not answer["exact"]
    assert "does not blend" in answer["sentence"]
    assert sum(answer["weights"]) + answer["intercept"] == pytest.approx(model.predict([[0.4]])[0], abs=1e-4)


def test_the_tube_and_its_support_vectors():
    points = wave(30)
    answer = regress({"points": points, "model": "svr", "sigma": 0.8, "C": 5, "epsilon": 0.15})
    f = np.array(answer["curve"])[:, 1]
    assert np.array(answer["tube"]["upper"]) - f == pytest.approx(0.15, abs=1e-4)
    assert f - np.array(answer["tube"]["lower"]) == pytest.approx(0.15, abs=1e-4)
    size = np.abs(answer["residuals"])
    support = np.array(answer["support"])
    inside = np.setdiff1d(np.arange(30), support)
    assert (size[support] >= 0.15 - 1e-4).all()
    assert (size[inside] <= 0.15 + 1e-4).all()
    coefficients = np.array(answer["coefficients"])
    assert (coefficients[inside] == 0).all()
    assert np.abs(coefficients).max() <= 5
    assert coefficients.sum() == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("model", RIDGES)
def test_the_condition_number(model):
    points, penalty = wave(12), 0.3
    answer = regress({"points": points, "model": model, "degree": 4, "sigma": 0.8, "lambda": penalty})
    x = np.array(points)[:, 0]
    if model == "kernel_ridge":
        A = np.exp(-((x[:, None] - x) ** 2) / (2 * 0.8**2))
    else:
        P = np.vander(x, 5) if model == "ridge_poly" else np.exp(-((x[:, None] - x) ** 2) / (2 * 0.8**2))
        A = P.T @ P
    assert answer["condition"] == pytest.approx(np.linalg.cond(A + penalty * np.eye(len(A))), rel=1e-4)


def test_an_ill_conditioned_system_is_named():
    answer = regress({"points": wave(10), "model": "ridge_poly", "degree": 20, "lambda": 0})
    assert "condition" in answer["comment"][-1] or "singular" in answer["comment"][-1]
    assert "conditioned" not in " ".join(regress({"points": wave(10), "model": "ridge_poly", "degree": 2})["comment"])


def test_centres():
    points = wave()
    few = regress({"points": points, "model": "ridge_gauss", "centres": 5})
    same = regress(
        {"points": points, "model": "ridge_gauss", "centres": np.linspace(points[0][0], points[-1][0], 5).tolist()}
    )
    assert len(few["coefficients"]) == 5
    assert few["coefficients"] == same["coefficients"]
    assert len(regress({"points": points, "model": "ridge_gauss"})["coefficients"]) == len(points)


def test_degree_zero_is_the_mean():
    answer = regress({"points": [[0, 1], [1, 2], [5, 6]], "model": "ridge_poly", "degree": 0, "lambda": 0})
    assert [f for _, f in answer["curve"]] == pytest.approx([3.0] * len(answer["curve"]))


def test_one_point_is_enough_for_ridge():
    answer = regress({"points": [[1, 2]], "model": "kernel_ridge", "lambda": 1})
    assert answer["residuals"] == pytest.approx([1.0])  # c = 2 / (1 + 1)


def test_the_view_bounds_the_curve():
    view = {"x0": -7, "x1": 9, "y0": 0, "y1": 1}
    curve = regress({"points": wave(), "model": "svr", "view": view, "samples": 33})["curve"]
    assert len(curve) == 33
    assert curve[0][0] == -7
    assert curve[-1][0] == 9


@pytest.mark.parametrize("model", MODELS)
def test_the_script_reproduces_the_curve(model, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    state = {"points": wave(), "model": model, "degree": 3, "sigma": 0.7, "lambda": 0.1, "C": 2, "epsilon": 0.05}
    answer, names = regress(state), {}
    exec(answer["script"], names)
    assert answer["script"] == script(state)
    assert np.array(answer["curve"])[:, 1] == pytest.approx(names["f"], rel=1e-5, abs=1e-5)
    assert (tmp_path / "maxmargin-lab.png").exists()
    assert "residuals" in capsys.readouterr().out
    names["plt"].close("all")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"points": []}, "points"),
        ({"points": None}, "points"),
        ({"points": [[0, 0, 0]]}, "points"),
        ({"points": [[math.inf, 0]]}, "points"),
        ({"points": [[0, 1]] * 1001}, "points"),
        ({"points": [[0, 1]], "model": "svr"}, "points"),
        ({"model": "spline"}, "model"),
        ({"degree": 31}, "degree"),
        ({"degree": 2.5}, "degree"),
        ({"lambda": -1}, "lambda"),
        ({"lambda": "much"}, "lambda"),
        ({"model": "ridge_gauss", "sigma": 0}, "sigma"),
        ({"model": "ridge_gauss", "centres": "everywhere"}, "centres"),
        ({"model": "ridge_gauss", "centres": []}, "centres"),
        ({"model": "ridge_gauss", "centres": [None]}, "centres"),
        ({"model": "svr", "C": 0}, "C"),
        ({"model": "svr", "epsilon": -0.1}, "epsilon"),
        ({"samples": 401}, "samples"),
        ({"view": {"x0": 2, "x1": 1}}, "view"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_refusals_name_the_field(change, field):
    with pytest.raises(RequestError) as caught:
        regress({"points": wave(), "model": "ridge_poly", **change})
    assert caught.value.field == field
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("at", [None, "here", math.nan, 1e300], ids=lambda value: str(value)[:50])
def test_a_blend_needs_a_place(at):
    with pytest.raises(RequestError) as caught:
        blend({"points": wave(), "at": at})
    assert caught.value.field == "at"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "points",
    [[[0, 0], [0, 1]], [[1, 2]] * 5, [[1e6, -1e6], [-1e6, 1e6], [0, 0]], [[0, 1], [1e-12, -1]]],
    ids=["same place", "repeated", "far", "near"],
)
@pytest.mark.parametrize("penalty", [0, 1.0])
def test_strange_points_end_in_numbers(model, points, penalty):
    request = {"points": points, "model": model, "lambda": penalty, "degree": 30, "C": 1e6, "epsilon": 0}
    if model == "ridge_poly" and abs(points[0][0]) > 1e3:
        request["degree"] = 10  # a million to the power of 30 is refused, or not, by its digits
    json.dumps([regress(request), blend({**request, "at": 0.5})], allow_nan=False)
