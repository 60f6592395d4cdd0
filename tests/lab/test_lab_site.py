"""The exported site: its solver against the library, and the file in a browser without a server or a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lab_browser
import numpy as np
import pytest
from click.testing import CliRunner
from lab_browser import expect, painted, ready, until

from maxmargin import SVC, CountErrorsSVC, InseparableError
from maxmargin.cli import main
from maxmargin.lab import export, show
from maxmargin.lab.lifting import AXES, lift
from maxmargin.lab.recording import recording
from maxmargin.lab.site import TRACES
from maxmargin.lab.traces import SOLVERS, trace

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

KERNELS = [
    {"name": "linear"},
    {"name": "rbf", "gamma": 1.5},
    {"name": "rbf", "gamma": 20.0},
    {"name": "poly", "gamma": 0.7, "degree": 3, "coef0": 1.0},
    {"name": "laplacian", "gamma": 0.8},
]
SOLVE = """(problems) => Promise.all([import('/static/js/local/smo.js'), import('/static/js/local/kernels.js')]).then(
    ([{ solve }, { kernelFunction, kernelMatrix }]) => problems.map(({ X, y, kernel, C }) => {
        const K = kernelMatrix(kernelFunction(kernel), X);
        const { dual, primal, converged } = solve({ K, y, C, tol: 1e-9 });
        return { dual, primal, converged };
    }))"""


def problems(count: int) -> list[dict[str, Any]]:
    found = []
    for seed in range(count):
        random = np.random.default_rng(seed)
        n = int(random.integers(4, 60))
        X = random.normal(size=(n, 2)).round(3)
        y = np.where(X[:, 0] + 0.6 * random.normal(size=n) > 0, 1, -1)
        y[:2] = [-1, 1]
        C = float(10.0 ** random.uniform(-2, 2))
        found.append({"X": X.tolist(), "y": y.tolist(), "kernel": KERNELS[seed % len(KERNELS)], "C": C})
    return found


def test_the_page_s_solver_finds_the_objective_of_the_library(modules: Any) -> None:
    asked = problems(200)
    for problem, found in zip(asked, modules.evaluate(SOLVE, asked), strict=True):
        kernel = dict(problem["kernel"])
        model = SVC(kernel=kernel.pop("name"), C=problem["C"], tol=1e-8, **kernel).fit(problem["X"], problem["y"])
        best = model.report_.dual_objective
        assert found["converged"]
        assert found["dual"] == pytest.approx(best, rel=1e-6)
        assert found["primal"] == pytest.approx(best, rel=1e-6)


NUMBER = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?(?:e[+−-]\d+)?")
TRACE = "(given) => import('/static/js/local/traces.js').then((m) => given.map((one) => m.trace(one)))"


def words_and_numbers(text: str) -> tuple[str, list[float]]:
    """A sentence without its numbers, and these."""
    found = [float(number.replace(",", "").replace("−", "-")) for number in NUMBER.findall(text)]
    return NUMBER.sub("#", text), found


@pytest.mark.parametrize("solver", ["smo", "coordinate_descent", "perceptron"])
def test_steps_are_those_of_the_server(modules: Any, solver: str) -> None:
    """The first steps' coefficients, objectives and sentences (later ones part by rounding), and the solution."""
    asked = []
    for problem in problems(15):
        points = [[*x, int(sign > 0)] for x, sign in zip(problem["X"], problem["y"], strict=True)]
        asked.append({"points": points, "kernel": problem["kernel"], "C": min(problem["C"], 5.0), "solver": solver})
    easy = [[-1.0, 0.2, 0], [-0.6, -0.5, 0], [0.5, 0.4, 1], [0.9, -0.3, 1]]
    asked += [{"points": easy, "kernel": {"name": "linear"}, "C": C, "solver": solver} for C in ("inf", 0.5, 100)]
    for request, found in zip(asked, modules.evaluate(TRACE, asked), strict=True):
        other = trace(request)
        for here, there in zip(found["frames"][:12], other["frames"][:12], strict=True):
            assert here["iteration"] == there["iteration"]
            for name in ("alpha", "violation", "b" if solver == "perceptron" else "dual"):
                assert here[name] == pytest.approx(there[name], rel=1e-4, abs=1e-6), name
            if request["C"] != "inf":
                assert here["primal"] == pytest.approx(there["primal"], rel=1e-4, abs=1e-6)
            words, numbers = words_and_numbers(here["note"])
            other_words, other_numbers = words_and_numbers(there["note"])
            assert words == other_words
            assert numbers == pytest.approx(other_numbers, rel=0.06, abs=1e-6)
        if solver != "perceptron":
            assert found["final"]["primal"] == pytest.approx(other["final"]["primal"], rel=2e-4)
            assert found["ended"].split(",")[0].split("after")[0] == other["ended"].split(",")[0].split("after")[0]


COUNT = "(given) => import('/static/js/classify/counting.js').then((m) => given.map((one) => m.leastErrors(...one)))"


def test_errors_are_counted_as_the_library_counts_them(modules: Any) -> None:
    """Pairs and triples of the plane against branch and bound; from C = 0.01, where w = 0 is best, to hard margins."""
    asked = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        n = int(random.integers(2, 13))
        X = random.normal(size=(n, 2)).round(2)
        y = np.where(X[:, 0] + 0.7 * random.normal(size=n) > 0, 1, -1)
        y[:2] = [-1, 1]
        asked.append([X.tolist(), y.tolist(), float(10.0 ** random.uniform(-2, 3))])
    kinds = set()
    for (X, y, C), found in zip(asked, modules.evaluate(COUNT, asked), strict=True):
        best = CountErrorsSVC(C=C).fit(X, y)
        counted = np.count_nonzero(np.array(y) * (np.array(X) @ found["w"] + found["b"]) < 1 - 1e-6)
        assert found["objective"] == pytest.approx(best.objective_, rel=1e-5)
        assert found["objective"] == pytest.approx(np.dot(found["w"], found["w"]) + C * counted)
        kinds.add((found["w"] == [0, 0], counted > 0))
    assert len(kinds) == 3  # w = 0, with errors and without


def test_hulls_meet_where_no_line_separates(modules: Any) -> None:
    """The point in both hulls is the sum that its weights say; there is one where the library finds no margin."""
    asked = []
    for seed in range(80):
        random = np.random.default_rng(seed)
        sizes = random.integers(3, 9, 2)
        asked.append([(random.normal(size=(n, 2)) + k * random.uniform(0, 3)).tolist() for k, n in enumerate(sizes)])
    call = "(given) => import('/static/js/local/hulls.js').then((m) => given.map((one) => m.commonPoint(...one)))"
    met = 0
    for (A, B), found in zip(asked, modules.evaluate(call, asked), strict=True):
        try:
            SVC(kernel="linear", C=np.inf).fit(A + B, [0] * len(A) + [1] * len(B))
        except InseparableError:
            met += 1
            for own, terms in ((A, found["a"]), (B, found["b"])):
                weights = np.array(terms)[:, 2]
                assert weights.min() > 0
                assert weights.sum() == pytest.approx(1)
                assert weights @ np.array(terms)[:, :2] == pytest.approx(np.array(found["meet"]))
                assert all(term[:2] in own for term in terms)
        else:
            assert found is None
    assert 10 < met < 70


@pytest.mark.parametrize("which", AXES)
def test_lifted_as_the_server_lifts(modules: Any, which: str) -> None:
    random = np.random.default_rng(3)
    points = [[x, y, int(x * x + y * y > 0.5)] for x, y in random.uniform(-1, 1, (30, 2)).round(2).tolist()]
    view = {"x0": -1, "x1": 1, "y0": -1, "y1": 1}
    request = {"points": points, "map": which, "gamma": 2.0, "C": 5, "view": view, "grid": [9, 7]}
    found = modules.evaluate("(asked) => import('/static/js/local/lift.js').then((m) => m.lift(asked))", request)
    other = lift(request)
    np.testing.assert_allclose(found["f"], other["f"], atol=2e-4)
    np.testing.assert_allclose(found["coordinates"], other["coordinates"], atol=2e-4)
    np.testing.assert_allclose(found["box"], other["box"], atol=2e-4)
    assert found["support"] == sorted(other["support"])
    if other["plane"]:
        np.testing.assert_allclose(found["plane"]["normal"], other["plane"]["normal"], rtol=2e-3, atol=2e-3)
        for level, corners in other["plane"]["corners"].items():
            assert len(found["plane"]["corners"][level]) == len(corners)


def test_the_command_writes_a_page_that_needs_no_server(browser: Any, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["lab", "--export", str(tmp_path / "site")])
    assert result.exit_code == 0
    file = tmp_path / "site" / "index.html"
    context = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce", offline=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    ready(page)
    comment = page.locator("#panel-classify .comment")
    expect(comment).to_contain_text("3 of 40 points")
    expect(comment).to_contain_text("0.54325")
    assert page.get_by_role("tab").all_inner_texts() == ["Classify", "Step by step", "Lift"]
    page.locator("[data-example=three]").click()
    expect(comment).to_contain_text("of 42 points")
    page.locator("[data-example=moons]").click()
    expect(comment).to_contain_text("13 of 80 points")
    page.locator("html[data-saved=true]").wait_for()
    link = page.url
    page.get_by_role("tab", name="Step by step").click()
    place = page.locator("#panel-step .place").first
    expect(place).to_contain_text("step 0 of")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    expect(place).to_contain_text("step 1 of")
    for solver in ("pegasos", "perceptron", "coordinate_descent"):
        page.locator("#panel-step").get_by_label("Solver", exact=True).select_option(solver)
        until(page, lambda: "step" in place.inner_text())
    offered = page.locator("#panel-step").get_by_label("Solver", exact=True).locator("option")
    assert offered.evaluate_all("(list) => list.map((item) => item.value)") == list(TRACES)
    page.get_by_role("tab", name="Lift").click()
    expect(page.locator("#panel-lift .sentences")).to_contain_text("separates the classes")
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="The margin").click()
    expect(page.locator("#tour .text")).to_contain_text("Which w is the best?")
    go_on = page.get_by_role("button", name="Next")
    for _ in range(3):
        go_on.click()
    expect(comment).to_contain_text("one point is in the hulls of class 1 and of class 2")
    go_on.click()
    go_on.click()
    expect(page.locator("#panel-classify .caption").last).to_contain_text(
        "B: counts errors, C = 10: margin 0.214, 17 points"
    )
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="How solvers think").click()
    expect(page.locator("#tour b")).to_have_text("How solvers think, 1 of 5")  # without that of solvers elsewhere
    page.goto("about:blank")
    page.goto(link)
    ready(page)
    expect(comment).to_contain_text("13 of 80 points")
    painted(page)
    assert complaints == []
    context.close()


def test_recorded_runs_open_in_the_exported_page(browser: Any, tmp_path: Path) -> None:
    """Those of solvers that the page itself has not, too; a file of another kind changes nothing."""
    page = browser.new_page(offline=True, reduced_motion="reduce")
    page.goto(export(tmp_path).as_uri())
    ready(page)
    page.get_by_role("tab", name="Step by step").click()
    panel = page.locator("#panel-step")
    expect(panel.get_by_role("button", name="Web page")).to_have_count(0)  # only a server can make one
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("button", name="Python script")).to_have_count(0)
    page.keyboard.press("Escape")

    def open_run(name: str, text: str) -> None:
        with page.expect_file_chooser() as found:
            panel.get_by_role("button", name="Open …").click()
        found.value.set_files({"name": name, "mimeType": "text/html", "buffer": text.encode()})

    points = [[x, y, int(x + 0.3 * y > 0)] for x, y in np.random.default_rng(0).normal(size=(12, 2)).tolist()]
    for solver in SOLVERS:
        state = {"points": points, "kernel": {"name": "rbf", "gamma": 0.5}, "C": 2, "solver": solver}
        state |= {"kernel": {"name": "linear"}} if solver == "newton" else {}
        saved = recording({"tab": "step", "state": state | {"second": "smo" if solver == "barrier" else ""}})
        open_run(saved["name"], saved["html"])
        last = json.loads(saved["html"].split('id="data">')[1].split("</script>")[0])["runs"][0]["answer"]
        expect(panel.locator(".place").first).to_contain_text(f"step 0 of {last['steps']:,}")
        expect(panel.locator(".sentence").first).to_contain_text(last["frames"][0]["note"])
        expect(panel.locator(".pane").nth(1)).to_be_visible(visible=solver == "barrier")
        panel.get_by_label("To the end (End)").click()
        expect(panel.locator(".sentence").first).to_contain_text(last["ended"])
    before, data = saved["html"].split('id="data">')
    run = json.loads(data.split("</script>")[0])

    def damaged(change: Callable[[dict[str, Any]], None]) -> str:
        broken = json.loads(json.dumps(run))
        change(broken["runs"][0])
        return f'{before}id="data">{json.dumps(broken)}</script>'

    damages: list[Callable[[dict[str, Any]], None]] = [
        lambda one: one["answer"].pop("curves"),
        lambda one: one["answer"].pop("steps"),
        lambda one: one["answer"]["frames"][0].update(chosen=None),
        lambda one: one["answer"]["frames"][0].update(chosen=[99]),
        lambda one: one["answer"]["frames"][0].update(iteration=5),
        lambda one: one["request"].update(kernel={"name": "rbf", "gamma": "x"}),
        lambda one: one["request"]["points"].__setitem__(0, ["x", 0, 0]),
    ]
    for name, text in [
        ("other", "<html><p>No run.</p></html>"),
        *((f"damaged {k}", damaged(d)) for k, d in enumerate(damages)),
    ]:
        page.locator("#toast").evaluate("(node) => (node.textContent = '')")
        open_run(f"{name}.html", text)
        expect(page.locator("#toast")).to_have_text(
            "This file holds no run: choose a page that Step by step has saved."
        )
        expect(panel.locator(".sentence").first).to_contain_text(last["ended"])
    page.close()


def test_a_notebook_shows_the_data_of_an_estimator(browser: Any, lab: Any) -> None:
    """In a page with an address, as notebooks have one: the frame has none, and must not write it, nor offer a link."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2)) * 5 + 20
    y = np.where(X[:, 0] > 20, "right", "left")
    shown = show(SVC(kernel="rbf", gamma=0.05, C=3.0), X, y)
    page = browser.new_page()
    page.set_default_timeout(60_000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.route(
        "**/notebook", lambda route: route.fulfill(content_type="text/html; charset=utf-8", body=shown._repr_html_())
    )
    page.goto(f"{lab.home}notebook")
    frame = page.frame_locator("iframe")
    frame.locator(".comment", has_text="of 40 points").first.wait_for()
    frame.locator(".comment", has_text="C").first.wait_for()
    frame.locator("#tab-step").click()
    expect(frame.locator(".place").first).to_contain_text("step 0")
    frame.locator(":root[data-saved=true]").wait_for()
    frame.get_by_role("button", name="Share").click()
    expect(frame.get_by_role("button", name="Save picture (PNG)")).to_be_visible()
    expect(frame.get_by_role("button", name="Copy link")).to_have_count(0)
    page.close()
    assert complaints == []


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.zeros((3, 3)), [0, 1, 0], "give two columns"),
        (np.zeros((301, 2)), np.arange(301) % 2, "at most 300 points"),
        (np.zeros((8, 2)), np.arange(8), "of 6 classes"),
    ],
)
def test_show_refuses_what_it_cannot_draw(X: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        show(SVC(), X, y)


def test_export_makes_the_folder(tmp_path: Path) -> None:
    assert export(tmp_path / "a" / "b").is_file()


def test_what_the_page_cannot_compute_is_not_offered(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page(offline=True, reduced_motion="reduce")
    page.goto(export(tmp_path).as_uri())
    ready(page)
    panel = page.locator("#panel-classify")
    comment = panel.locator(".comment")
    expect(comment).to_contain_text("3 of 40 points")
    panel.get_by_text("Training and test").click()
    expect(panel.get_by_text("hold out every third point")).to_be_visible()
    for label in ("Solver", "Classes", "colours show the probability of a class"):
        expect(panel.get_by_label(label, exact=True)).to_be_hidden()
    panel.get_by_label("Kernel", exact=True).select_option("sigmoid")  # |w|² may be negative: no margin, and no proof
    page.locator("[data-example=circles]").click()
    panel.get_by_label("Kernel", exact=True).select_option("sigmoid")
    expect(comment).to_contain_text("not defined: |w|² is negative with this kernel")
    expect(comment).not_to_contain_text("f is the same everywhere")
    panel.get_by_role("button", name="Paste").click()
    dialog = page.locator("dialog")
    for table, words in (
        ("x,y,class,note\n1,2,a,b", "The table has 4 columns: keep x, y and the class"),
        ("", "No row could be read"),
        ("a b c\n? ? ?", "No row could be read"),
        ("1,1e9,0", "No row could be read"),
        ("\n".join(f"{k},{k},{k}" for k in range(7)), "7 different classes"),
        ("1 1 0\n" * 301, "301 rows are more than this page can take"),
    ):
        dialog.get_by_label("Table").fill(table)
        dialog.get_by_role("button", name="Use these points").click()
        expect(dialog.get_by_role("alert")).to_contain_text(words)
    dialog.get_by_label("Table").fill("x;y;class\n1;2;10\n3;4;9\n5;;9")
    dialog.get_by_role("button", name="Use these points").click()
    expect(page.locator("#toast")).to_have_text("2 points read; 1 row left out.")
    page.close()
