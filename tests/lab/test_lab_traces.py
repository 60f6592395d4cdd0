"""The step-by-step solvers of the lab: each ends where the production solver does, and says what it did."""

from __future__ import annotations

import base64
import itertools
import json
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxmargin import SVC, LinearSVC, Perceptron
from maxmargin.kernels import RBF
from maxmargin.lab import drawn_digits, lifting, regress
from maxmargin.lab.jobs import Cancelled, Run
from maxmargin.lab.recording import recording
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces import SOLVERS, script, trace, trace_values
from maxmargin.lab.traces.answers import encoded, listed, significant
from maxmargin.lab.traces.lesson import FIRST_STEPS, STRIDE_FRAMES, Lesson, Step, Thinned
from maxmargin.lab.traces.subgradient import slackest

EXACT = ("smo", "coordinate_descent", "active_set", "barrier", "newton")
KERNELS = [{"name": "linear"}, {"name": "rbf", "gamma": 0.7}, {"name": "poly", "degree": 2, "coef0": 1}]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def cloud(n=24, apart=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + np.where(np.arange(n) % 2, apart, -apart)[:, None]
    return [[float(x), float(y), int(i % 2)] for i, (x, y) in enumerate(X)]


def split(points):
    table = np.array(points, float)
    return table[:, :2], np.where(table[:, 2] == table[:, 2].max(), 1.0, -1.0)


def values_of(answer):
    return np.frombuffer(base64.b64decode(answer["values"]), "<f4").reshape(answer["grid"][::-1])


def kernel_matrix(kernel, A, B):
    """k(a, b), by the definition and two loops."""
    out = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            out[i, j] = {
                "linear": lambda a, b: a @ b,
                "rbf": lambda a, b: math.exp(-kernel.get("gamma", 1) * ((a - b) @ (a - b))),
                "poly": lambda a, b: (kernel.get("gamma", 1) * (a @ b) + kernel["coef0"]) ** kernel["degree"],
            }[kernel["name"]](a, b)
    return out


def objective(points, kernel, C, a, b, power=1):
    """1/2 |w|^2 + C sum slack^power, from the definition."""
    X, y = split(points)
    K = kernel_matrix(kernel, X, X)
    return 0.5 * a @ K @ a + C * np.sum(np.maximum(0, 1 - y * (K @ a + b)) ** power)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["name"])
def test_an_exact_method_ends_at_the_production_solution(solver, C, kernel):
    points = cloud()
    X, y = split(points)
    answer = trace({"points": points, "kernel": kernel, "C": C, "solver": solver, "tol": 1e-6})
    last = answer["frames"][-1]
    a = y * np.array(last["alpha"])
    power = 2 if solver == "newton" else 1
    reached = objective(points, kernel, C, a, last["b"], power)
    K = kernel_matrix(kernel, X, X)
    if solver == "newton" and kernel["name"] == "linear":
        model = LinearSVC(loss="squared_hinge", C=C, solver="newton", tol=1e-10).fit(X, y)
        w = model.coef_[0]
        slack = np.maximum(0, 1 - y * model.decision_function(X))
        best = 0.5 * w @ w + C * slack @ slack
    elif solver == "newton":
        best = (
            SVC(C=math.inf, kernel="precomputed", tol=1e-9).fit(K + np.eye(len(y)) / (2 * C), y).report_.dual_objective
        )
    else:
        model = SVC(C=C, kernel="precomputed", tol=1e-9, fit_intercept=solver != "coordinate_descent").fit(K, y)
        best = model.report_.dual_objective
    assert answer["converged"], answer["ended"]
    assert last["dual"] == pytest.approx(best, rel=1e-5)
    assert last["primal"] == pytest.approx(best, rel=5e-4)
    assert reached == pytest.approx(last["primal"], rel=5e-4)  # alpha is rounded to six digits on its way
    assert answer["final"]["primal"] == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("solver", ["smo", "perceptron"])
def test_errors_of_the_exact_solution(solver):
    points = cloud(apart=0.3)
    X, y = split(points)
    answer = trace({"points": points, "kernel": "linear", "C": 1, "solver": solver})
    assert answer["final"]["errors"] == np.count_nonzero(SVC(kernel="linear", C=1.0).fit(X, y).predict(X) != y) > 0


@pytest.mark.parametrize("solver", ["smo", "active_set", "barrier"])
def test_hard_margin(solver):
    points = cloud(apart=3.0)
    X, y = split(points)
    answer = trace({"points": points, "kernel": "linear", "C": "inf", "solver": solver, "tol": 1e-7})
    model = SVC(kernel="linear", C=math.inf, tol=1e-8).fit(X, y)
    assert answer["frames"][-1]["w"] == pytest.approx(model.coef_[0].tolist(), abs=1e-5)
    assert answer["frames"][-1]["b"] == pytest.approx(model.intercept_[0], abs=1e-5)
    assert answer["final"]["margin"] == pytest.approx(model.report_.margin, rel=1e-5)


@pytest.mark.parametrize("solver", ["pegasos", "subgradient"])
@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel["name"])
def test_a_sub_gradient_method_comes_close(solver, kernel):
    points = cloud()
    X, y = split(points)
    answer = trace({"points": points, "kernel": kernel, "C": 0.5, "solver": solver, "max_iterations": 4000})
    best = SVC(C=0.5, kernel="precomputed", tol=1e-9).fit(kernel_matrix(kernel, X, X), y).report_.dual_objective
    last = answer["frames"][-1]
    reached = objective(points, kernel, 0.5, y * np.array(last["alpha"]), last["b"])
    assert best * (1 - 1e-9) <= reached <= 1.02 * best
    assert answer["converged"]
    assert max(frame["dual"] for frame in answer["frames"]) <= best * (1 + 1e-6)


def test_pegasos_depends_on_its_seed_only():
    request = {"points": cloud(), "C": 1, "solver": "pegasos", "max_iterations": 50}
    one, same, other = (trace({**request, "seed": seed}) for seed in (1, 1, 2))
    assert one["frames"] == same["frames"] != other["frames"]


def test_the_perceptron_is_the_production_one():
    points = cloud(apart=2.5, seed=3)
    X, y = split(points)
    answer = trace({"points": points, "kernel": "linear", "solver": "perceptron"})
    model = Perceptron(shuffle=False).fit(X, y)
    last = answer["frames"][-1]
    assert last["w"] == pytest.approx(model.coef_[0].tolist(), rel=2e-6)
    assert last["b"] == pytest.approx(model.intercept_[0])
    assert last["mistakes"] == model.mistakes_[0] == sum(answer["frames"][-1]["alpha"])
    assert answer["converged"]
    assert last["errors"] == 0


def test_the_perceptron_gives_up_where_nothing_separates():
    points = [[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]]
    answer = trace({"points": points, "kernel": "linear", "solver": "perceptron", "max_iterations": 200})
    assert not answer["converged"]
    assert "perhaps" in answer["ended"]
    assert trace({"points": points, "kernel": "rbf", "solver": "perceptron"})["converged"]


@pytest.mark.parametrize("solver", ["smo", "coordinate_descent", "active_set"])
def test_every_step_raises_the_dual_and_stays_feasible(solver):
    points, C = cloud(), 2.0
    _, y = split(points)
    answer = trace({"points": points, "C": C, "solver": solver})
    dual = [frame["dual"] for frame in answer["frames"]]
    assert all(after >= before - 1e-6 for before, after in itertools.pairwise(dual))
    for frame in answer["frames"]:
        alpha = np.array(frame["alpha"])
        assert alpha.min() >= 0
        assert alpha.max() <= C
        if solver != "coordinate_descent":
            assert y @ alpha == pytest.approx(0, abs=1e-4)


def test_smo_changes_the_two_points_it_names():
    answer = trace({"points": cloud(), "C": 2, "solver": "smo"})
    for before, frame in zip(answer["frames"], answer["frames"][1:], strict=False):
        changed = np.flatnonzero(np.array(before["alpha"]) != np.array(frame["alpha"]))
        assert set(changed) <= set(frame["chosen"])
        assert len(frame["chosen"]) == 2
        i, j = frame["chosen"]
        assert f"points {i + 1} and {j + 1}" in frame["note"]
        for k in (i, j):
            told = re.search(rf"of point {k + 1} (rose|fell) from ([\d.e-]*\d) to ([\d.e-]*\d)", frame["note"])
            start, end = float(told[2]), float(told[3])
            assert [start, end] == pytest.approx([before["alpha"][k], frame["alpha"][k]], rel=6e-3, abs=1e-9)
            assert (end > start) == (told[1] == "rose")  # however small the step, it can be seen
        assert before["violation"] == pytest.approx(_violation(before, answer["signs"], 2.0), rel=1e-3, abs=1e-3)


def _violation(frame, signs, C):
    """LIBSVM's m - M from the frame's own gradient, y_i f_i - 1."""
    y, alpha = np.array(signs), np.array(frame["alpha"])
    g = y * np.array(frame["gradient"])  # f - y
    up = np.where(y > 0, alpha < C, alpha > 0)
    down = np.where(y > 0, alpha > 0, alpha < C)
    return max(0.0, g[down].max() - g[up].min())


def test_barrier_follows_the_path():
    answer = trace({"points": cloud(), "C": 1, "solver": "barrier"})
    mu = [frame["mu"] for frame in answer["frames"]]
    assert mu == sorted(mu, reverse=True)
    assert mu[-1] == 0
    for frame in answer["frames"][:-1]:
        assert min(frame["alpha"]) > 0
        assert max(frame["alpha"]) < 1


def test_newton_needs_few_steps():
    answer = trace({"points": cloud(60), "C": 1, "solver": "newton"})
    assert answer["steps"] <= 12
    primal = [frame["primal"] for frame in answer["frames"]]
    assert primal == sorted(primal, reverse=True)


def test_active_set_reports_its_free_points():
    answer = trace({"points": cloud(), "C": 1, "solver": "active_set"})
    last = answer["frames"][-1]
    alpha = np.array(last["alpha"])
    assert set(np.flatnonzero((alpha > 0) & (alpha < 1))) <= set(last["free"])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_slackest_is_the_best_vertex(data):
    """Against a linear program: max sum s_i (1 - y_i f_i), 0 <= s <= 1, sum s_i y_i = 0."""
    from scipy.optimize import linprog

    n = data.draw(st.integers(2, 9))
    y = np.array([1.0, -1.0, *data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n - 2, max_size=n - 2))])
    f = np.array(data.draw(st.lists(st.floats(-3, 3, width=32), min_size=n, max_size=n)))
    s = slackest(f, y)
    best = -linprog(-(1 - y * f), A_eq=y[None], b_eq=[0], bounds=(0, 1)).fun
    assert s @ y == 0
    assert s @ (1 - y * f) == pytest.approx(best, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 1)), min_size=2, max_size=12),
    st.sampled_from(["smo", "active_set", "barrier"]),
    st.sampled_from(["linear", "rbf"]),
)
def test_methods_agree_on_random_points(points, solver, kernel):
    """Repeated points, opposite labels in one place, points on a line."""
    points = [*map(list, points), [0, 0, 0], [1, 0, 1]]
    answer = trace({"points": points, "kernel": kernel, "C": 1, "solver": solver, "tol": 1e-5})
    X, y = split(points)
    best = SVC(kernel=kernel, gamma=1.0, C=1, tol=1e-8).fit(X, y).report_.dual_objective
    assert answer["frames"][-1]["primal"] == pytest.approx(best, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("count", [1, 100, 1000, 50_000])
def test_thinning_keeps_the_first_steps_and_then_every_second_fourth_eighth(count):
    thinned = Thinned()
    for k in range(count):
        thinned.add(Step(np.full(2, float(k)), np.zeros(2), ""))
    found = [at for at, _ in thinned]
    assert found[: FIRST_STEPS + 1] == list(range(min(count, FIRST_STEPS + 1)))
    assert found[-1] == count - 1
    assert len(found) < 340
    strides = np.diff(found[FIRST_STEPS:-1]).tolist()
    assert strides == [2 ** (k // STRIDE_FRAMES + 1) for k in range(len(strides))]
    assert all(step.a[0] == at for at, step in thinned)


def test_small_runs_keep_every_step():
    answer = trace({"points": cloud(), "C": 1, "solver": "smo"})
    assert answer["curves"]["iteration"] == list(range(answer["steps"] + 1))


def test_a_lesson_has_the_dual_of_the_library():
    lesson = Lesson(np.zeros((2, 2)), np.array([-1.0, 1.0]), np.eye(2), 3.0, intercept=False)
    assert lesson.dual.upper.tolist() == [0.0, 3.0]
    assert (lesson.dual.group == -1).all()


def test_values_are_those_of_the_model():
    points = cloud()
    X, y = split(points)
    model = SVC(kernel="rbf", gamma=0.5, C=1).fit(X, y)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    view = {"x0": -2, "x1": 3, "y0": -1, "y1": 4}
    request = {"points": points, "kernel": {"name": "rbf", "gamma": 0.5}, "view": view, "grid": [7, 5]}
    answer = trace_values({**request, "alphas": a.tolist(), "intercept": float(model.intercept_[0])})
    found = values_of(answer)
    for j, v in enumerate(np.linspace(-1, 4, 5)):
        for i, u in enumerate(np.linspace(-2, 3, 7)):
            assert found[j, i] == pytest.approx(model.decision_function([[u, v]])[0], rel=1e-5, abs=1e-5)
    assert answer["low"] == pytest.approx(found.min(), rel=1e-5)


def test_gamma_scale_is_that_of_the_points():
    points = cloud()
    X, _ = split(points)
    a = np.linspace(-1, 1, len(X)).tolist()
    answer = trace_values({"points": points, "kernel": {"name": "rbf", "gamma": "scale"}, "alphas": a, "grid": [2, 2]})
    G = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], float)
    assert values_of(answer).ravel() == pytest.approx(RBF().resolve(X).matrix(G, X) @ a, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_the_script_reproduces_the_run(solver, capsys):
    state = {"points": cloud(12), "kernel": {"name": "rbf", "gamma": "scale"}, "C": 1.5, "solver": solver, "seed": 3}
    answer, names = trace(state), {}
    exec(script(state), names)
    assert names["run"] == answer
    assert answer["final"]["b"] == pytest.approx(names["model"].intercept_[0], abs=1e-5)
    assert answer["ended"] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"points": []}, "points"),
        ({"points": [[0, 0, 0], [1, 1, 0]]}, "points"),
        ({"points": [[0, 0, 0], [1, 1, 1], [2, 2, 2]]}, "points"),
        ({"points": [[float(i), 0.0, i % 2] for i in range(400)]}, "points"),
        ({"points": [[0, 0, 0], [math.nan, 0, 1]]}, "points"),
        ({"solver": "simplex"}, "solver"),
        ({"C": 0}, "C"),
        ({"C": "inf", "solver": "pegasos"}, "C"),
        ({"C": "inf", "points": [[0, 0, 0], [0, 0, 1]]}, "C"),
        ({"kernel": {"name": "poly", "degree": 20}, "points": [[1e6, 0, 0], [0, 1e6, 1]]}, "kernel"),
        ({"kernel": "sigmoid", "points": cloud(), "solver": "barrier"}, "kernel"),
        ({"max_iterations": 10**9}, "max_iterations"),
        ({"tol": "small"}, "tol"),
        ({"seed": -1}, "seed"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_refusals_name_the_field(change, field):
    with pytest.raises(RequestError) as caught:
        trace({"points": [[0, 0, 0], [1, 1, 1]], "kernel": "linear", "solver": "smo", **change})
    assert caught.value.field == field
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("alphas", [None, [1], ["a", 1], [math.inf, 1]], ids=lambda value: str(value)[:50])
def test_values_refuse_wrong_coefficients(alphas):
    with pytest.raises(RequestError) as caught:
        trace_values({"points": [[0, 0, 0], [1, 1, 1]], "alphas": alphas})
    assert caught.value.field == "alphas"


@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize(
    "points",
    [
        [[0, 0, 0], [0, 0, 1]],
        [[0, 0, 0]] * 3 + [[1, 0, 1]] * 3,
        [[1e6, -1e6, 0], [-1e6, 1e6, 1]],
        [[0, 0, 0], [1e-9, 0, 1]],
    ],
    ids=["same place", "repeated", "far", "near"],
)
def test_strange_points_end_in_numbers(solver, points):
    answer = trace({"points": points, "kernel": "linear", "C": 1.0, "solver": solver})
    json.dumps(answer, allow_nan=False)
    assert answer["frames"]


def test_a_run_that_nobody_wants_ends():
    run = Run()
    run.cancel()
    with pytest.raises(Cancelled):
        trace({"points": cloud(60), "C": 100, "solver": "coordinate_descent"}, run)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_significant_digits(values):
    found = significant(np.array(values), 6)
    assert found == pytest.approx(np.array([float(f"{value:.6g}") for value in values]), rel=2e-6, abs=1e-300)


def test_numbers_that_json_has_not():
    assert listed([1.0, math.nan, math.inf]) == [1.0, None, None]
    assert np.isfinite(np.frombuffer(base64.b64decode(encoded(np.array([math.nan, math.inf, 1e300]))), "<f4")).all()


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.floats(), max_size=3),
    st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=3), max_size=6),
    st.dictionaries(
        st.sampled_from(["name", "gamma", "x0", "kernel", "C"]), st.floats() | st.text(max_size=5), max_size=2
    ),
)
# fmt: off
FIELDS = [
    "points", "solver", "map", "model", "kernel", "C", "gamma", "view", "grid", "tol", "seed",
    "max_iterations", "alphas", "intercept", "degree", "centres", "sigma", "lambda", "epsilon", "samples", "at",
    "strokes", "image", "model", "state", "tab", "title", "height",
]
# fmt: on
FUNCTIONS = {
    "trace": trace,
    "trace_values": trace_values,
    "script": script,
    "recording": recording,
    "lift": lifting.lift,
    "lift script": lifting.script,
    "regress": regress.regress,
    "blend": regress.blend,
    "regress script": regress.script,
    "digits": drawn_digits.digits,
    "digits script": drawn_digits.script,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(FIELDS), JUNK, max_size=4), st.booleans())
def test_junk_gets_a_sentence(name, junk, whole):
    """Whatever a request holds, there is an answer that JSON can hold, or a refusal."""
    good = {"points": [[0, 0, 0], [1, 1, 1]], "alphas": [1, 2], "at": 1, "strokes": [[[0, 0], [1, 1]]]}
    good["points"] = (
        [row[:2] for row in good["points"]] if name in ("regress", "blend", "regress script") else good["points"]
    )
    try:
        answer = FUNCTIONS[name]({**(good if whole else {}), **junk})
    except RequestError as error:
        assert str(error)  # noqa: PT017
    else:
        json.dumps(answer, allow_nan=False)
