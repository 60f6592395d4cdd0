"""The lab's classifier against the definitions: f from the multipliers, KKT, slack, hulls; and its data sets."""

from __future__ import annotations

import base64
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import SVC
from maxmargin.kernels import KERNELS
from maxmargin.lab.classify import TOL, classify, warm_up
from maxmargin.lab.jobs import Run
from maxmargin.lab.paste import paste
from maxmargin.lab.presets import options, presets
from maxmargin.lab.requests import MAX_POINTS, PLANE_KERNELS, RequestError, encode
from maxmargin.solvers import SOLVERS

KERNEL_FUNCTIONS = {
    "linear": lambda x, z: x @ z,
    "poly": lambda x, z: (0.7 * (x @ z) + 0.5) ** 3,
    "rbf": lambda x, z: math.exp(-0.7 * ((x - z) @ (x - z))),
    "laplacian": lambda x, z: math.exp(-0.7 * np.abs(x - z).sum()),
    "sigmoid": lambda x, z: math.tanh(0.7 * (x @ z) + 0.5),
}
VIEW = {"x0": -1.0, "x1": 2.0, "y0": -3.0, "y1": 1.0}


def ask(points, name="rbf", C=1.0, **more):
    kernel = {"name": name, "gamma": 0.7, "degree": 3, "coef0": 0.5}
    request = {"points": points, "kernel": kernel, "C": C, "view": VIEW, "grid": [7, 5], **more}
    answer = classify(request, Run())
    encode(answer).decode()
    return answer


def cloud(n, classes=2, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = random.normal(0, 0.7, (n, 2)) + np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    return [[*x, int(k)] for x, k in zip(X.tolist(), y, strict=True)]


def planes(answer):
    nx, ny = answer["grid"]
    return np.frombuffer(base64.b64decode(answer["values"]), "<f4").reshape(-1, ny, nx)


def labels(answer):
    nx, ny = answer["grid"]
    return np.frombuffer(base64.b64decode(answer["labels"]), np.uint8).reshape(ny, nx)


def column(answer, name):
    return np.array([point[name] for point in answer["points"]])


def gram(name, A, B):
    return np.array([[KERNEL_FUNCTIONS[name](a, b) for b in B] for a in A])


# Two classes


@pytest.mark.parametrize("name", KERNEL_FUNCTIONS)
def test_the_picture_is_the_sum_over_the_support_vectors(name):
    """f = sum_i y_i alpha_i k(x_i, x) + b in every cell, rows from y0 up and columns from x0 on."""
    points = cloud(30)
    answer = ask(points, name)
    X, y = np.array(points)[:, :2], np.where(np.array(points)[:, 2] == 1, 1.0, -1.0)
    xs, ys = np.linspace(-1, 2, 7), np.linspace(-3, 1, 5)
    weights = y * column(answer, "alpha")
    for j, i in itertools.product(range(5), range(7)):
        f = weights @ gram(name, X, [np.array([xs[i], ys[j]])])[:, 0] + answer["intercept"]
        assert planes(answer)[0, j, i] == pytest.approx(f, rel=1e-5, abs=1e-5)
    np.testing.assert_array_equal(labels(answer), planes(answer)[0] > 0)
    np.testing.assert_allclose(column(answer, "f"), gram(name, X, X) @ weights + answer["intercept"], atol=1e-8)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian"])
@pytest.mark.parametrize("solver", ["auto", "smo", "barrier", "active_set"])
def test_every_solver_is_optimal(name, solver):
    check_optimality(cloud(40, seed=3), name, 2.0, solver)


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 1)), min_size=2, max_size=14),
    st.sampled_from(["linear", "rbf", "poly"]),
    st.sampled_from([0.01, 1.0, 30.0]),
)
@settings(max_examples=25, deadline=None)
def test_any_points_are_optimal(points, name, C):
    points = [[x / 2, y / 2, k] for x, y, k in points]
    if len({k for _, _, k in points}) < 2:
        assert ask(points, name, C)["kind"] == "empty"
        return
    check_optimality(points, name, C)


def check_optimality(points, name, C, solver="auto"):
    """The KKT conditions, slack, category and distance, and the gap that the certificate states."""
    answer = ask(points, name, C, solver=solver)
    assert answer["kind"] == "binary"
    table = np.array(points, dtype=float)
    X, y = table[:, :2], np.where(table[:, 2] == 1, 1.0, -1.0)
    alpha, f, slack = (column(answer, part) for part in ("alpha", "f", "slack"))
    K = gram(name, X, X)
    room = 1e-6 * C * len(y)
    assert alpha.min() >= 0
    assert alpha.max() <= C * (1 + 1e-12)
    assert abs(alpha @ y) <= room
    margin = y * f
    tol = 2 * TOL
    assert (margin[alpha < 1e-9 * C] >= 1 - tol).all()
    assert (margin[alpha > C * (1 - 1e-9)] <= 1 + tol).all()
    inner = (alpha > 1e-9 * C) & (alpha < C * (1 - 1e-9))
    np.testing.assert_allclose(margin[inner], 1.0, atol=tol)
    np.testing.assert_allclose(slack, np.maximum(0, 1 - margin), atol=1e-12)
    np.testing.assert_array_equal(column(answer, "support"), alpha > 0)
    np.testing.assert_array_equal(column(answer, "predicted"), f > 0)
    square = (alpha * y) @ K @ (alpha * y)
    primal, dual = 0.5 * square + C * slack.sum(), alpha.sum() - 0.5 * square
    report = answer["report"]
    assert report["primal"] == pytest.approx(primal, rel=1e-6, abs=1e-9)
    assert report["dual"] == pytest.approx(dual, rel=1e-6, abs=1e-9)
    if square > 1e-6:  # where w is zero, its length is rounding
        assert answer["margin"] == pytest.approx(2 / math.sqrt(square), rel=1e-4)
        np.testing.assert_allclose(
            column(answer, "distance").astype(float), f / math.sqrt(square), rtol=1e-4, atol=1e-9
        )
    for m, category in zip(margin, column(answer, "category"), strict=True):
        if abs(m - 1) > tol:
            assert category == ("outside" if m > 1 else "inside" if m >= 0 else "misclassified")
        elif abs(m - 1) < TOL / 2:
            assert category == "on"


def test_a_hard_margin_by_hand():
    """Two points at distance 2: f = x, margin 2, both multipliers 1/2."""
    answer = ask([[-1, 0, 0], [1, 0, 1], [3, 1, 1]], "linear", "inf")
    assert answer["margin"] == pytest.approx(2, rel=1e-4)
    np.testing.assert_allclose(answer["coef"], [[1, 0]], atol=1e-4)
    assert answer["intercept"] == pytest.approx(0, abs=1e-4)
    np.testing.assert_allclose(column(answer, "alpha"), [0.5, 0.5, 0], atol=1e-4)
    assert column(answer, "category").tolist() == ["on", "on", "outside"]
    assert answer["n_support"] == 2
    text = "\n".join(answer["comment"])
    for words in (
        "kernel                Linear",
        "C                     inf",
        "2 of 3 points (class 1: 1, class 2: 1)",
        "errors       0 of 3",
    ):
        assert words in text
    assert answer["certificate"].startswith("The objective is within")


def test_class_numbers_are_kept():
    """Classes 2 and 5: f > 0 is class 5."""
    answer = ask([[-1, 0, 5], [1, 0, 2]], "linear")
    assert answer["classes"] == [2, 5]
    assert column(answer, "predicted").tolist() == [5, 2]
    assert set(labels(answer).ravel()) == {2, 5}
    assert column(answer, "f")[0] > 0


def test_the_certificate_of_an_indefinite_kernel_claims_nothing():
    answer = ask(cloud(20), "sigmoid")
    assert "not positive semidefinite" in answer["certificate"]
    assert "within" not in answer["certificate"]


# More classes


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
@pytest.mark.parametrize("classes", [3, 6])
def test_more_classes(multiclass, classes):
    points = cloud(10 * classes, classes, seed=1)
    answer = ask(points, "rbf", 5.0, multiclass=multiclass)
    assert answer["kind"] == "multiclass"
    assert planes(answer).shape == (classes, 5, 7)
    np.testing.assert_array_equal(labels(answer), planes(answer).argmax(axis=0))
    X, y = np.array(points)[:, :2], np.array(points)[:, 2].astype(int)
    f = column(answer, "f").astype(float)
    np.testing.assert_allclose(f, expected_margins(X, y, multiclass), atol=1e-3)
    np.testing.assert_allclose(column(answer, "slack"), np.maximum(0, 1 - f), atol=1e-12)
    np.testing.assert_array_equal(column(answer, "support"), column(answer, "alpha") > 0)
    if multiclass == "crammer_singer":
        np.testing.assert_array_equal(column(answer, "predicted") == y, f > 0)
    if multiclass == "ovo":
        assert (column(answer, "predicted")[f > 0] == y[f > 0]).all()


def expected_margins(X, y, multiclass):
    """The smallest y f of a point, from models that were fitted one by one."""
    one = {"kernel": "rbf", "gamma": 0.7, "C": 5.0, "tol": TOL}
    if multiclass == "crammer_singer":
        scores = SVC(**one, multiclass="crammer_singer").fit(X, y).decision_function(X)
        return np.array([row[k] - max(np.delete(row, k)) for row, k in zip(scores, y, strict=True)])
    if multiclass == "ovr":
        models = {k: SVC(**one).fit(X, y == k) for k in set(y)}
        return np.array([models[k].decision_function([x])[0] for x, k in zip(X, y, strict=True)])
    found = np.full(len(y), np.inf)
    for a, b in itertools.combinations(sorted(set(y)), 2):
        rows = (y == a) | (y == b)
        values = SVC(**one).fit(X[rows], y[rows] == a).decision_function(X[rows])
        found[rows] = np.minimum(found[rows], np.where(y[rows] == a, values, -values))
    return found


@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer"])
def test_a_scheme_for_several_classes_has_no_effect_on_two(multiclass):
    """The page does not show the control then: two classes are one binary problem, whatever was chosen before."""
    points = cloud(30)
    answer, plain = ask(points, "rbf", multiclass=multiclass), ask(points, "rbf")
    assert answer["kind"] == "binary"
    np.testing.assert_array_equal(planes(answer), planes(plain))
    assert answer["margin"] == plain["margin"]


# No hard margin


def test_the_proof_of_inseparability_is_one():
    """Two mixtures of points, one of each class, that are the same point."""
    answer = ask([[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]], "linear", "inf")
    proof = answer["proof"]
    assert answer["kind"] == "inseparable"
    assert proof["proved"]
    for side in ("a", "b"):
        terms = np.array(proof[side])
        assert terms[:, 2].min() > 0
        assert terms[:, 2].sum() == pytest.approx(1)
        np.testing.assert_allclose(terms[:, 2] @ terms[:, :2], proof["meet"], atol=1e-12)
    assert {(x, y) for x, y, _ in proof["a"]} == {(0, 1), (1, 0)}
    assert proof["classes"] == [1, 0]
    assert "No hard margin exists" in proof["sentence"]
    assert planes(answer).shape == (1, 5, 7)
    assert answer["soft_C"] == 100


def test_a_proof_in_feature_space():
    points = [[x, y, (x + y) % 2] for x in range(4) for y in range(4)]
    proof = ask(points, "poly", "inf")["proof"]
    assert proof["meet"] is None
    assert "feature space" in proof["sentence"]
    a, b = np.array(proof["a"]), np.array(proof["b"])
    w = np.concatenate([a[:, 2], -b[:, 2]])
    P = np.vstack([a[:, :2], b[:, :2]])
    K = gram("poly", P, P)
    assert w @ K @ w <= 1e-9 * K.diagonal().max()


def test_equal_points_of_two_classes():
    for name, C in itertools.product(PLANE_KERNELS, (1.0, "inf")):
        answer = ask([[0.5, 0.5, k] for k in (0, 1, 0, 1)], name, C)
        assert answer["kind"] == ("inseparable" if C == "inf" else "binary")
        assert np.isfinite(planes(answer)).all()
        np.testing.assert_allclose(planes(answer), 0, atol=1e-6)


def test_gamma_by_name_on_equal_points():
    request = {"points": [[0, 0, 0], [0, 0, 1]], "kernel": {"name": "rbf", "gamma": "scale"}, "grid": [2, 2]}
    assert classify(request, Run())["kind"] == "binary"


def test_a_hard_margin_that_is_not_found_in_time_claims_no_proof():
    random = np.random.default_rng(0)
    points = [[*x, i % 2] for i, x in enumerate(random.normal(0, 0.5, (300, 2)).tolist())]
    request = {"points": points, "kernel": {"name": "rbf", "gamma": 0.5}, "C": "inf", "grid": [4, 4]}
    with pytest.warns(UserWarning, match="did not converge"):
        answer = classify(request, Run(max_seconds=1.0))
    assert answer["kind"] == "inseparable"
    assert not answer["proof"]["proved"]
    assert "exists" not in answer["proof"]["sentence"]


def dragging(C, steps=4):
    """Requests while the first of 120 points is dragged, which overlap, and the one at rest."""
    random = np.random.default_rng(1)
    points = [[*x, i % 2] for i, x in enumerate((random.normal(0, 0.4, (120, 2)) + 0.2).tolist())]
    asked = {"kernel": {"name": "rbf", "gamma": 2}, "C": C, "grid": [6, 6]}
    for k in range(steps + 1):
        points[0] = [points[0][0] + 0.02, *points[0][1:]]
        yield {**asked, "points": [*points], "live": k < steps}


def test_while_dragging_a_fit_begins_where_the_last_one_ended():
    kept, fresh, iterations = {}, [], []
    for request in dragging(1e4):
        run = Run()
        run.kept = kept
        answer, other = classify(request, run), classify({**request, "live": False}, Run())
        iterations.append(answer["report"]["iterations"])
        fresh.append(other["report"]["iterations"])
        np.testing.assert_allclose(planes(answer), planes(other), rtol=1e-3, atol=1e-2)
    assert max(iterations[1:-1]) < 0.7 * min(fresh)
    # at rest the answer does not depend on the way there
    strip = {"seconds": 0, "comment": 0, "report": 0}
    assert {**answer, **strip} == {**other, **strip}


@pytest.mark.parametrize("C", [1e8, "inf"])
def test_while_dragging_there_is_an_answer_soon(monkeypatch, C):
    """What the solver had by then, and no claim beyond it."""
    monkeypatch.setattr("maxmargin.lab.classify.LIVE_MAX_SECONDS", 0.004)
    request = next(iter(dragging(C)))
    with pytest.warns(UserWarning, match="did not converge"):
        answer = classify(request, Run(max_seconds=15.0))
    assert np.isfinite(planes(answer)).all()
    if C == "inf":
        assert not answer["proof"]["proved"]
        assert "so far" in answer["proof"]["sentence"]
    else:
        assert answer["comment"][-1].startswith("so far")
        assert not answer["report"]["converged"]


def test_a_joint_hard_margin_without_proof():
    answer = ask(
        [[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1], [0.5, 0.5, 2]], "linear", "inf", multiclass="crammer_singer"
    )
    assert answer["kind"] == "inseparable"
    assert answer["proof"]["a"] == []


# Ends of what is possible


@pytest.mark.parametrize("points", [[], [[0, 0, 0]], [[0, 0, 3], [1, 1, 3]]], ids=["none", "one", "one class"])
def test_nothing_to_separate_is_no_error(points):
    answer = ask(points)
    assert answer["kind"] == "empty"
    assert "place" in answer["sentence"]


def test_as_many_points_as_there_may_be():
    answer = ask(cloud(MAX_POINTS))
    assert len(answer["points"]) == MAX_POINTS
    assert answer["report"]["converged"]


def test_far_and_narrow_points_are_answered():
    for scale in (1e6, 1e-6):
        for name in PLANE_KERNELS:
            answer = ask([[scale * x, scale * y, k] for x, y, k in [(0, 0, 0), (1, 0.5, 1), (0.2, 1, 0)]], name)
            assert answer["kind"] == "binary"


def test_what_the_library_refuses_is_a_sentence():
    with pytest.raises(RequestError, match="coordinate_descent"):
        ask(cloud(10), solver="coordinate_descent")
    with pytest.raises(RequestError, match="at most 500 points") as error:
        ask(cloud(501), solver="qp_dual")
    assert error.value.field == "solver"


def test_warm_up():
    warm_up()


# Presets, options, pasted text


def test_presets_show_what_they_say():
    found = {preset["id"]: preset for preset in presets()}
    assert len(found) == len(presets()) == 10
    assert presets() == presets()
    answers = {}
    for name, preset in found.items():
        X, view = np.array(preset["points"])[:, :2], preset["view"]
        assert (X[:, 0] >= view["x0"]).all()
        assert (X[:, 0] <= view["x1"]).all()
        assert (X[:, 1] >= view["y0"]).all()
        assert (X[:, 1] <= view["y1"]).all()
        answers[name] = classify({**preset, "grid": [10, 10]}, Run())
    errors = {name: answer["report"]["errors"] for name, answer in answers.items()}
    kinds = {name: answer["kind"] for name, answer in answers.items()}
    assert set(kinds.values()) == {"binary", "multiclass"}
    assert kinds["three"] == kinds["six"] == "multiclass"
    assert all(errors[name] == 0 for name in ("separable", "outlier", "xor", "circles", "spirals", "gaussian"))
    assert errors["overlapping"] > 0
    assert answers["outlier"]["margin"] < 0.5 * answers["separable"]["margin"]
    for name in ("overlapping", "xor", "circles", "moons", "spirals", "gaussian"):  # no straight line does it
        line = {**found[name], "kernel": {"name": "linear"}, "C": "inf", "grid": [2, 2]}
        assert classify(line, Run())["kind"] == "inseparable"


def test_the_lecture_s_gaussian_picture():
    """The same points at sigma = 1, 0.25 and 0.1: all are separated, by more and more support vectors."""
    preset = next(preset for preset in presets() if preset["id"] == "gaussian")
    answers = []
    for sigma in (1.0, 0.25, 0.1):
        kernel = {"name": "rbf", "gamma": 1 / (2 * sigma**2)}
        answers.append(classify({**preset, "kernel": kernel, "C": "inf", "grid": [4, 4]}, Run()))
    assert [answer["kind"] for answer in answers] == ["binary"] * 3
    assert [answer["report"]["errors"] for answer in answers] == [0] * 3
    supports = [answer["n_support"] for answer in answers]
    assert supports == sorted(set(supports))


def test_options_come_from_the_registries():
    found = options()
    assert {kernel["name"] for kernel in found["kernels"]} <= set(KERNELS)
    assert {solver["name"] for solver in found["solvers"]} <= {"auto", *SOLVERS}
    for kernel in found["kernels"]:
        for end in ("least", "most", "default"):
            chosen = {name: slider[end] for name, slider in kernel["parameters"].items()}
            request = {"points": [[0, 0, 0], [1, 0, 1]], "kernel": {"name": kernel["name"], **chosen}, "grid": [2, 2]}
            assert classify(request, Run())["kind"] == "binary"
    for C in (found["C"]["least"], found["C"]["most"], found["C"]["infinite"]):
        assert classify({"points": [[0, 0, 0], [1, 0, 1]], "C": C, "grid": [2, 2]}, Run())["kind"] == "binary"


@pytest.mark.parametrize(
    ("text", "points", "words"),
    [
        ("1,2,0\n3,4,1", [[1, 2, 0], [3, 4, 1]], "2 points read."),
        ("x\ty\tclass\n1\t2\tb\n3\t4\ta", [[1, 2, 1], [3, 4, 0]], "2 points"),
        ("\ufeff1;2;0\r\n3;4;1\r\n", [[1, 2, 0], [3, 4, 1]], "2 points"),
        ("1,5;2,5;0\n-3;4;1", [[1.5, 2.5, 0], [-3, 4, 1]], "2 points"),
        ("1 2\n\n3 4\n", [[1, 2, 0], [3, 4, 0]], "2 points"),
        ("# a note\n1e-1, 2, 10\n.5,-2.,9\n", [[0.1, 2, 1], [0.5, -2, 0]], "2 points"),
        ('"1","2","cat"', [[1, 2, 0]], "1 point read."),
        ("1,2,0\n3,x,1\n5,6,1", [[1, 2, 0], [5, 6, 1]], "row 2 has no number in column 2; 1 row left out."),
        ("1,2,0\nnan,1,1\n1,inf,1\n7,,0", [[1, 2, 0]], "row 2 has no number in column 1, row 3"),
        ("1,2,0\n1,2,\n3,4", [[1, 2, 0], [3, 4, 0]], "row 2 has no class"),
        ("1,2,0\n1e300,2,0", [[1, 2, 0]], "further away"),
        ("1,2,0\n" + "a,b,c\n" * 5, [[1, 2, 0]], "...; 5 rows left out."),
        ("x,y,class\n,,\n1,2,1", [[1, 2, 0]], "row 2 has no number in column 1"),
    ],
    ids=range(13),
)
def test_pasted_text(text, points, words):
    answer = paste({"text": text}, Run())
    assert answer["points"] == points
    assert words in answer["sentence"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "text"),
        ("", "nothing"),
        (" \n# only a note", "nothing"),
        ("a,b,c", "No row"),
        ("a,b\nc,d", "No row could be read (row 2"),
        ("0,0,0\n" * (MAX_POINTS + 1), "5,001 rows"),
        ("\n".join(f"0,0,{k}" for k in range(7)), "7 different classes"),
        ("1,2,3,0\n4,5,6,1", "The table has 4 columns"),
    ],
    ids=range(8),
)
def test_pasted_text_that_is_none(text, words):
    with pytest.raises(RequestError) as error:
        paste({"text": text}, Run())
    assert words in str(error.value)
    assert error.value.field == "text"


def test_a_kernel_that_is_no_inner_product_has_no_margin() -> None:
    points = [[x, y, int(x * y > 0)] for x, y in np.random.default_rng(0).uniform(-1, 1, (30, 2)).tolist()]
    view = {"x0": -1, "x1": 1, "y0": -1, "y1": 1}
    kernel = {"name": "sigmoid", "gamma": 5, "coef0": 1}
    answer = classify({"points": points, "kernel": kernel, "C": 10, "view": view, "grid": [5, 5]}, Run())
    lines = "\n".join(answer["comment"])
    assert "margin 2/|w|          not defined: |w|² is negative with this kernel" in lines
    assert "\n|w| " not in lines
    assert "duality gap" not in lines
    assert "no dual to prove an optimum" in answer["certificate"]
