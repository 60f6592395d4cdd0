"""A lecture with the lab, from the hard margin to drawn digits, and what happens to it in an unkind world.

What the page says is compared with scikit-learn, with the definitions, and with the script that it exports.
"""

from __future__ import annotations

import contextlib
import http.server
import io
import itertools
import math
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lab_browser
import numpy as np
import pytest
from lab_browser import Requests, excused, expect, link, ready, serving, until
from sklearn.svm import SVC as Other
from test_lab_page import Classify, number, paste

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


class Lecture(Classify):
    """Classify as a lecturer uses it, with all answers of the server."""

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self.fits = Requests(page, "/api/classify")

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is, in parts of the canvas: the box of the link is in its middle, in true proportions."""
        view, box = self.state["view"], self.canvas.bounding_box()
        scale = min(box["width"] / (view["x1"] - view["x0"]), box["height"] / (view["y1"] - view["y0"]))
        u = 0.5 + (x - (view["x0"] + view["x1"]) / 2) * scale / box["width"]
        return u, 0.5 - (y - (view["y0"] + view["y1"]) / 2) * scale / box["height"]

    def move(self, index: int, by: tuple[float, float], steps: int = 5) -> None:
        x, y, _ = self.points[index]
        self.drag(self.place(x, y), self.place(x + by[0], y + by[1]), steps=steps)

    def last(self) -> dict[str, Any]:
        """The answer for what is on the screen, at rest, once the comment window has its lines."""
        asked = {key: self.state[key] for key in ("points", "kernel", "C")}

        def current() -> bool:
            sent = self.fits.responses[-1].request.post_data_json if self.fits.responses else {}
            return sent.get("live") is False and asked == {key: sent[key] for key in asked}

        self.fits.rest(current)
        answer = self.fits.responses[-1].json()
        for line in answer["comment"]:
            name, value = re.match(r"(\S.*?) {2,}(.*)", line).groups()
            value = value.replace("sigma", "σ").replace("gamma", "γ")
            value = "∞ (hard margin)" if (name, value) == ("C", "inf") else value
            self.says(name, "^" + re.escape(value).replace(r"\ ", r"\s") + "$")
        return answer

    @property
    def margin(self) -> float:
        return number(self.comment("margin 2/|w|"))

    def tab(self, name: str) -> Any:
        self.page.get_by_role("tab", name=name).click()
        return self.page.get_by_role("tabpanel", name=name)


def hard_margin(points: list[list[float]]) -> float:
    table = np.array(points)
    return float(2 / np.linalg.norm(Other(kernel="linear", C=1e9, tol=1e-6).fit(table[:, :2], table[:, 2]).coef_))


def test_ten_minutes(opened: Callable[..., Any], tmp_path: Path) -> None:
    page = opened(reduced_motion="reduce")
    page.evaluate(VIOLATIONS)
    lecture = Lecture(page)

    # the widest street between two classes
    lecture.example("separable")
    lecture.says("C", r"^∞ \(hard margin\)$")
    lecture.says("support vectors", r"^3 of 40 points \(class\s1:\s1, class\s2:\s2\)$")
    widest = lecture.margin
    assert widest == pytest.approx(hard_margin(lecture.points), rel=1e-4)
    records = lecture.last()["points"]
    assert sum(record["support"] for record in records) == 3
    far = max(range(20), key=lambda i: abs(records[i]["f"]))
    lecture.move(far, (-0.03, -0.02))
    moved = lecture.last()
    assert not moved["points"][far]["support"]
    assert lecture.margin == pytest.approx(widest, rel=1e-4)
    held = next(i for i in range(20) if records[i]["support"])
    lecture.move(held, (0.06, 0.05))
    lecture.last()
    assert lecture.margin < 0.95 * widest
    assert lecture.margin == pytest.approx(hard_margin(lecture.points), rel=1e-4)

    # one point makes it narrow, until slack has a penalty
    lecture.example("outlier")
    lecture.says("support vectors", "of 41")
    narrow = lecture.margin
    assert narrow < 0.4 * widest
    lecture.type("C", "1")
    lecture.says("C", "^1$")
    lecture.says("training errors", "^1 of 41")
    assert lecture.margin > widest
    expect(page.locator(".legend span", has_text="on the wrong side").first).to_contain_text("1")

    # no street at all, and the proof of it
    lecture.example("overlapping")
    lecture.says("C", "^1$")
    lecture.type("C", "inf")
    alarm = page.locator(".comment .alarm")
    expect(alarm).to_contain_text(
        re.compile(r"No hard margin exists: .* of class [12] .* of class [12], and no boundary")
    )
    proof = lecture.last()["proof"]
    for side in ("a", "b"):
        x, y, weight = np.array(proof[side]).T
        assert [weight @ x, weight @ y, weight.sum()] == pytest.approx([*proof["meet"], 1], abs=1e-9)

    # a line is hopeless here: f is the same everywhere
    lecture.example("circles")
    lecture.panel.get_by_label("Kernel", exact=True).select_option("linear")
    lecture.says("training errors", "^30 of 70")
    expect(page.locator(".comment")).to_contain_text("w = 0: f is the same everywhere")
    expect(alarm).to_be_hidden()
    points = np.array(lecture.points)
    lift = lecture.tab("Lift")
    lift.get_by_role("button", name="From Classify").click()
    lift.get_by_label("Map").select_option("radial")
    sentences = lift.locator(".sentences")
    expect(sentences).to_contain_text("all points are classified correctly")
    other = Other(kernel="linear", C=10, tol=1e-6).fit(np.c_[points[:, :2], (points[:, :2] ** 2).sum(1)], points[:, 2])
    (a, b, c), d = other.coef_[0], other.intercept_[0]
    radius = math.sqrt((a * a + b * b) / (4 * c * c) - d / c)
    found = float(re.search(r"radius\s+([\d.]+\d)", sentences.inner_text())[1])
    assert found == pytest.approx(radius, rel=5e-3)

    # the same without lifting; narrower Gaussians
    lecture.tab("Classify")
    lecture.panel.get_by_label("Kernel", exact=True).select_option("rbf")
    lecture.says("training errors", "^0 of 70")
    counts = []
    for gamma, sigma in (("0.5", "1"), ("8", "0.25"), ("50", "0.1"), ("100", "0.07071")):
        lecture.type("Sigma σ", sigma)
        lecture.says("kernel", rf"^Gaussian, σ = {sigma}\b.* \(γ = {gamma}\b")
        counts.append(int(number(lecture.comment("support vectors"))))
    assert counts[1] < counts[2] < counts[3]
    script_says_the_same(lecture, tmp_path)

    # two multipliers at a time
    step = lecture.tab("Step by step")
    with page.expect_response(lambda response: response.url.endswith("/api/trace")) as answer:
        step.get_by_label("Example").select_option("mixed")
    steps = answer.value.json()["steps"]
    expect(step.locator(".place").first).to_have_text(re.compile(f"^step 0 of {steps}"))
    page.evaluate("document.activeElement.blur()")
    chosen = re.compile(r"^SMO chose points \d+ and \d+")

    def one_step() -> bool:  # the run may replace the one before it, and begin anew, just after the first key
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        return bool(chosen.match(step.locator(".sentence").first.inner_text()))

    until(page, one_step)
    expect(step.locator(".sentence").first).to_contain_text(chosen)
    page.keyboard.press("End")
    expect(step.locator(".sentence").first).to_contain_text("SMO converged after")
    reached, exact = step.locator(".figures tr", has_text="primal objective").locator("td").all_inner_texts()
    assert float(reached) == pytest.approx(float(exact), rel=2e-3)

    expect(lecture.tab("Regression").locator("canvas").first).to_be_visible()

    # a seven, then crossed
    digits = lecture.tab("Digits")
    paper = digits.locator(".paper canvas").bounding_box()

    def draw(*places: tuple[float, float]) -> None:
        seen = [(paper["x"] + u * paper["width"], paper["y"] + v * paper["height"]) for u, v in places]
        page.mouse.move(*seen[0])
        page.mouse.down()
        for place in seen[1:]:
            page.mouse.move(*place, steps=4)
        page.mouse.up()

    draw((0.25, 0.15), (0.75, 0.15), (0.42, 0.88))
    comment = digits.locator(".comment")  # answers to half a drawing, of which it is less sure, come before the last
    expect(comment).to_contain_text("This looks like 7")
    expect(digits.locator(".digit")).to_have_text("7")
    said = comment.inner_text()
    draw((0.35, 0.5), (0.78, 0.5))
    expect(comment).not_to_contain_text(re.search(r"scores [\d. and]+\d", said)[0])
    expect(digits.locator(".digit")).to_have_text("7")
    assert page.evaluate("window.violations") == []


def script_says_the_same(lecture: Lecture, folder: Path) -> None:
    """Every line of the comment window but the seconds is among what the exported script prints."""
    lecture.last()
    names = lecture.panel.locator(".comment dt").all_text_contents()
    shown = {name: " ".join(lecture.comment(name).split()) for name in names if name != "seconds"}
    lecture.page.get_by_role("button", name="Share").click()
    lecture.page.get_by_role("button", name="Python script").click()
    dialog = lecture.page.get_by_role("dialog")
    expect(dialog.locator("pre")).to_contain_text("from maxmargin import SVC")
    script = dialog.locator("pre").inner_text()
    lecture.page.keyboard.press("Escape")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as said:  # it saves a picture
        exec(script, {})
    text = said.getvalue().replace("sigma", "σ").replace("gamma", "γ")
    printed = dict(re.findall(r"^(\S.*?) {2,}(.*)$", text, re.MULTILINE))
    assert len(shown) == 10
    assert {name: printed.get(name) for name in shown} == shown


def table(n: int) -> str:
    rows = [f"{math.sin(k):.4f},{0.9 * math.cos(3 * k):.4f},{int(math.sin(k) > 0.2)}" for k in range(n)]
    return "\n".join(["x,y,class", *rows])


def test_dragging_among_two_hundred_points(opened: Callable[..., Any]) -> None:
    """One request at a time, each answered, and the last of them about where the point was left."""
    lecture = Lecture(opened())
    lecture.panel.get_by_label("Kernel", exact=True).select_option("rbf")
    paste(lecture.page, table(200))
    lecture.says("support vectors", "of 200")
    lecture.last()
    fits = lecture.fits = Requests(lecture.page, "/api/classify")
    lecture.move(0, (0.4, 0.3), steps=40)
    last = lecture.last()
    assert fits.most == 1
    answers = [response.json() for response in fits.responses]
    assert 2 <= len(answers) <= 41
    assert all(response.status == 200 for response in fits.responses)
    assert all(answer["seconds"] > 0 for answer in answers)
    asked = fits.responses[-1].request.post_data_json["points"]
    assert asked == lecture.points
    assert len(last["points"]) == 200
    fits = [answer["points"][0]["f"] for answer in answers]
    assert any(a != b for a, b in itertools.pairwise(fits))  # they followed the point


def noted(watch: SimpleNamespace, status: str) -> None:
    """The browser notes a refusal by itself, and nothing else."""
    assert [status in text for text in watch.complaints] == [True]
    watch.complaints.clear()


def test_five_thousand_pasted_points(opened: Callable[..., Any], watch: SimpleNamespace) -> None:
    lecture = Lecture(opened())
    paste(lecture.page, table(5001))
    expect(lecture.page.locator("#toast")).to_contain_text("5,000")
    assert lecture.points == []
    noted(watch, "400")
    paste(lecture.page, table(5000))
    lecture.says("support vectors", "of 5000 points")
    assert len(lecture.points) == 5000


def test_pasted_gaps_are_left_out_and_told(opened: Callable[..., Any], watch: SimpleNamespace) -> None:
    lecture = Lecture(opened())
    paste(lecture.page, "x,y,class\n0,0,0\nnan,1,1\n1,inf,1\n1,1,1\n,2,0\n-1,NA,0")
    expect(lecture.page.locator("#toast")).to_contain_text("row")
    lecture.says("support vectors", "^2 of 2 points")
    assert lecture.points == [[0, 0, 0], [1, 1, 1]]
    paste(lecture.page, "nan,nan,nan\nnan,nan,nan")
    expect(lecture.page.locator("#toast")).to_contain_text("No row could be read")
    noted(watch, "400")
    assert lecture.points == [[0, 0, 0], [1, 1, 1]]


def test_two_tabs_of_the_browser(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    """Neither cancels what the other asks for; the newer takes over the points, and they part from there."""
    first = Lecture(opened())
    first.example("moons")
    first.says("support vectors", "of 80")
    page = first.page.context.new_page()
    page.goto(lab.home)
    ready(page)
    second = Lecture(page)
    second.says("support vectors", "of 80")
    second.example("xor")
    first.panel.get_by_label("Kernel", exact=True).select_option("linear")
    second.says("support vectors", "of 40")
    first.says("kernel", "^Linear")
    first.says("support vectors", "of 80")
    assert len(first.points) == 80
    assert len(second.points) == 40
    assert [response.status for response in (*first.fits.responses, *second.fits.responses)].count(409) == 0


def test_server_stops_while_dragging(opened: Callable[..., Any], watch: SimpleNamespace) -> None:
    with serving() as server:
        lecture = Lecture(opened(link(server, "classify", {"points": []})))
        lecture.example("moons")
        lecture.says("support vectors", "of 80")
        before = lecture.points
        page = lecture.page
        page.mouse.move(*lecture.at(*lecture.place(*before[0][:2])))
        page.mouse.down()
        page.mouse.move(*lecture.at(0.5, 0.5), steps=4)
        server.stop()
        page.mouse.move(*lecture.at(0.6, 0.3), steps=4)
        page.mouse.up()
        expect(page.get_by_role("alert")).to_contain_text("The lab has stopped")
        after = lecture.points
        assert after[1:] == before[1:]
        assert after[0] != before[0]
    excused(watch, "ERR_CONNECTION")


FORGED = """<!doctype html><title>stranger</title>
<form id="form" method="post" enctype="text/plain"><input name='{"points": [], "x": "' value='"}'></form>
<iframe></iframe>"""


@contextlib.contextmanager
def stranger() -> Iterator[str]:
    """A page on another port: to a browser the same site, but another origin."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(FORGED.encode())

        def log_message(self, *told: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_pages_of_strangers_are_refused(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    """Even in the browser that holds the cookie: requests, forms, and the lab inside a frame."""
    context = opened().context
    with stranger() as address:
        page = context.new_page()
        page.goto(address)
        wire = context.new_cdp_session(page)  # tells the status of answers too that the browser keeps from the page
        statuses: list[int] = []

        def answered(told: dict[str, Any]) -> None:
            if "content-security-policy" in map(str.lower, told["headers"]):  # of the lab
                statuses.append(told["statusCode"])

        wire.on("Network.responseReceivedExtraInfo", answered)
        wire.send("Network.enable")
        send = """([url, mode]) => fetch(url, { method: "POST", mode, credentials: "include", body: '{"points": []}' })
            .then((answer) => answer.type, () => "failed")"""
        target = f"{lab.home}api/classify"
        for mode in ("cors", "no-cors"):
            assert page.evaluate(send, [target, mode]) == "failed"
        until(page, lambda: len(statuses) == 2)
        assert statuses == [403, 403]
        page.evaluate("(url) => { document.querySelector('iframe').src = url; }", lab.home)
        until(page, lambda: len(page.frames) == 2 and page.frames[1].url != "about:blank")
        assert "lab" not in page.frames[1].title()
        statuses.clear()
        page.evaluate("(url) => { form.action = url; form.target = '_self'; form.submit(); }", target)
        until(page, lambda: 403 in statuses)
        page.close()
