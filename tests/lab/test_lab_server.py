"""The lab's server: who may talk to it, what it refuses and how, who is cancelled, and how it starts and ends."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
import types
import warnings

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")

from maxmargin.lab import ENDPOINTS  # noqa: E402
from maxmargin.lab.jobs import Cancelled, Run  # noqa: E402
from maxmargin.lab.requests import MAX_POINTS, RequestError, encode, parse  # noqa: E402
from maxmargin.lab.security import BODY_MAX_BYTES, COOKIE, HEADERS  # noqa: E402
from maxmargin.lab.server import create_app  # noqa: E402

TOKEN, PORT = "the-token-of-this-test", 8123
HERE = f"http://127.0.0.1:{PORT}"
TWO = {"points": [[-1, 0, 0], [1, 0, 1]], "kernel": {"name": "linear"}, "C": 10, "grid": [4, 4]}


@pytest.fixture
def static(tmp_path):
    folder = tmp_path / "static"
    (folder / "js").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>lab</title>")
    (folder / "js" / "main.js").write_text("export const one = 1;")
    (folder / "style.css").write_text("p { margin: 0 }")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


class Browser:
    """Requests to the application in this process; the methods are those of httpx, without await."""

    def __init__(self, static, **headers):
        self.app = create_app(TOKEN, PORT, static=static)
        self.headers = {"Origin": HERE, "X-Page": "one", **headers}
        self.cookies = {COOKIE: TOKEN}

    def client(self, **more):
        transport = httpx.ASGITransport(self.app)
        known = {"base_url": HERE, "headers": self.headers, "cookies": self.cookies, **more}
        return httpx.AsyncClient(transport=transport, **known)

    def request(self, method, path, **more):
        client = {name: more.pop(name) for name in ("cookies", "base_url") if name in more}

        async def call():
            async with self.client(**client) as it:
                return await it.request(method, path, **more)

        return asyncio.run(call())

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, json=body, **more)


@pytest.fixture
def browser(static):
    return Browser(static)


@pytest.fixture
def endpoint(monkeypatch):
    """Makes a function an endpoint of the server, under its own name."""

    def add(function):
        module = types.ModuleType(f"lab_{function.__name__}_{id(function)}")
        module.function = function
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(ENDPOINTS, function.__name__, f"{module.__name__}:function")
        return f"/api/{function.__name__}"

    return add


# The way in


def test_the_link_leaves_a_cookie_and_no_token_in_the_address(browser):
    answer = browser.get(f"/?token={TOKEN}", cookies={})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert name == f"{COOKIE}={TOKEN}"
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", "Path=/"}


def test_labs_on_other_ports_keep_their_tokens(browser):
    answer = browser.get(f"/?token={TOKEN}", cookies={COOKIE: "another.third"})
    assert answer.headers["set-cookie"].startswith(f"{COOKIE}={TOKEN}.another.third;")
    assert browser.get("/", cookies={COOKIE: f"another.{TOKEN}"}).status_code == 200
    many = ".".join(str(i) for i in range(50))
    cookie = browser.get(f"/?token={TOKEN}", cookies={COOKIE: many}).headers["set-cookie"]
    assert len(cookie.split(";")[0].split(".")) == 8


@pytest.mark.parametrize("path", ["/", "/static/js/main.js", "/api/options", "/api/presets", "/api/fits/x/events"])
@pytest.mark.parametrize("cookies", [{}, {COOKIE: "wrong"}, {COOKIE: ""}, {COOKIE: TOKEN[:-1]}, {"other": TOKEN}])
def test_strangers_are_sent_to_the_terminal(browser, path, cookies):
    answer = browser.get(path, cookies=cookies)
    assert answer.status_code == 403
    assert "open the link that the terminal printed" in answer.text
    kind = "application/json" if path.startswith("/api/") else "text/html"
    assert answer.headers["content-type"].startswith(kind)


def test_a_wrong_token_sets_no_cookie(browser):
    for query in ("token=wrong", "token=", f"token={TOKEN}x", "token=%ff%fe", "token=ä"):
        answer = browser.get(f"/?{query}", cookies={})
        assert answer.status_code == 403, query
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil.example:{PORT}", ""]
)
def test_other_names_of_this_computer_are_refused(browser, host):
    answer = browser.get("/", headers={"Host": host, "Origin": f"http://{host}"})
    assert answer.status_code == 421
    assert "127.0.0.1" in answer.text


def test_localhost_is_this_computer_too(browser):
    there = f"http://localhost:{PORT}"
    assert browser.get("/", base_url=there, headers={"Origin": there}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", f"http://localhost:{PORT}"],
)
def test_other_pages_are_refused(browser, origin):
    for method in ("GET", "POST", "DELETE"):
        answer = browser.request(method, "/api/options", headers={"Origin": origin}, json={})
        assert answer.status_code == 403
        assert "another page" in answer.json()["error"]


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("cross-site", 403), ("same-site", 403), ("none", 403)]
)
def test_without_an_origin_the_browser_must_vouch(static, site, status):
    browser = Browser(static)
    del browser.headers["Origin"]
    assert browser.post("/api/classify", TWO, headers={"Sec-Fetch-Site": site}).status_code == status
    assert browser.post("/api/classify", TWO).status_code == 403
    assert browser.request("DELETE", "/api/fits/x").status_code == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_taken(browser, kind):
    answer = browser.request("POST", "/api/classify", content=json.dumps(TWO), headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "cookies"),
    [
        ("GET", "/", None),
        ("GET", f"/?token={TOKEN}", {}),
        ("GET", "/", {}),
        ("GET", "/static/js/main.js", None),
        ("GET", "/static/none.js", None),
        ("GET", "/api/options", None),
        ("POST", "/api/none", None),
        ("PUT", "/api/classify", None),
    ],
)
def test_every_answer_is_protected(browser, method, path, cookies):
    more = {} if cookies is None else {"cookies": cookies}
    answer = browser.request(method, path, **more, **({"json": {}} if method == "POST" else {}))
    kept = path.startswith("/static/") and answer.status_code == 200  # the files of the page hold no secret
    for name, value in {**HEADERS, **({"Cache-Control": "no-cache"} if kept else {})}.items():
        assert answer.headers.get_list(name) == [value]
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'self'" in policy


# Files


def test_the_page_and_its_modules(browser):
    assert browser.get("/").headers["content-type"].startswith("text/html")
    assert browser.get("/static/js/main.js").headers["content-type"].startswith("text/javascript")
    assert browser.get("/static/style.css").headers["content-type"].startswith("text/css")


def test_files_are_asked_for_once(browser, static):
    """A file is sent again only if it is another one; where its address has its version nobody needs to ask."""
    first = browser.get("/static/js/main.js")
    assert first.headers["cache-control"] == "no-cache"
    known = {"If-None-Match": first.headers["etag"]}
    again = browser.get("/static/js/main.js", headers=known)
    assert (again.status_code, again.content) == (304, b"")
    (static / "index.html").write_text('<head><script type="module" src="/static/js/main.js"></script></head>')
    page = browser.get("/")
    assert page.headers["cache-control"] == "no-store"
    address, preload = re.findall(r'(?:src|href)="(.*?)"', page.text)
    assert address == preload
    versioned = browser.get(address)
    assert versioned.content == first.content
    assert "immutable" in versioned.headers["cache-control"]
    (static / "js" / "main.js").write_text("export const one = 2, two = 2;")
    other = browser.get("/static/js/main.js", headers=known)
    assert (other.status_code, other.text) == (200, "export const one = 2, two = 2;")
    assert address not in browser.get("/").text
    stale = browser.get(address)  # by a page that was open before
    assert stale.text == other.text
    assert stale.headers["cache-control"] == "no-cache"


def test_a_stranger_gets_no_file_and_keeps_no_refusal(browser):
    answer = browser.request("GET", "/static/js/main.js", cookies={})
    assert answer.status_code == 403
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/static/v-0/../../secret.txt",
        "/static/v-0/..%2f..%2fsecret.txt",
        "/static/v-0//etc/passwd",
        "/static/%00.js",
        pytest.param(f"/static/{'x' * 5000}.js", id="a name that is too long"),
        "/static/../secret.txt",
        "/static/%2e%2e/secret.txt",
        "/static/..%2fsecret.txt",
        "/static/js/..%5c..%5csecret.txt",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/",
        "/static/js",
        "/static/js/",
        "/static/none.js",
        "/secret.txt",
    ],
)
def test_nothing_but_its_files(browser, path):
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "secret" not in answer.text
    assert "main.js" not in answer.text


def test_a_link_out_of_the_folder_is_not_followed(browser, static):
    try:
        (static / "out.txt").symlink_to(static.parent / "secret.txt")
    except OSError:
        pytest.skip("no symbolic links here")
    assert browser.get("/static/out.txt").status_code == 404


def test_a_missing_page_says_so(browser, static):
    (static / "index.html").unlink()
    assert "missing from this installation" in browser.get("/").text


# Requests


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1, 2]", "send an object"),
        (b"3", "send an object"),
        (b'{"points": [[NaN, 0, 1]]}', "NaN"),
        (b'{"C": Infinity}', "Infinity"),
        (b'{"C": -Infinity}', "-Infinity"),
        (b'{"C": ' + b"9" * 5000 + b"}", "not JSON"),
    ],
    ids=["empty", "cut", "bytes", "deep", "list", "number", "nan", "inf", "-inf", "long"],
)
def test_bodies_that_are_no_request(browser, body, words):
    answer = browser.request("POST", "/api/classify", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"points": "many"}, "points"),
        ({"points": [[0, 0]]}, "points"),
        ({"points": [[0, 0, 0], 5]}, "points"),
        ({"points": [[0, "1", 0]]}, "points"),
        ({"points": [[0, None, 0]]}, "points"),
        ({"points": [[0, True, 0]]}, "points"),
        ({"points": [[0, 1e300, 0]]}, "points"),
        ({"points": [[0, 10**400, 0]]}, "points"),
        ({"points": [[0, 0, 6]]}, "points"),
        ({"points": [[0, 0, -1]]}, "points"),
        ({"points": [[0, 0, 0.5]]}, "points"),
        ({"points": [[0, 0, 0]] * (MAX_POINTS + 1)}, "points"),
        ({"C": 0}, "C"),
        ({"C": -1}, "C"),
        ({"C": 1e300}, "C"),
        ({"C": "infinite"}, "C"),
        ({"C": True}, "C"),
        ({"C": [1]}, "C"),
        ({"C": 10**400}, "C"),
        ({"kernel": {"name": "rfb"}}, "kernel"),
        ({"kernel": {"name": 3}}, "kernel"),
        ({"kernel": {"name": "precomputed"}}, "kernel"),
        ({"kernel": [1]}, "kernel"),
        ({"kernel": {"name": "rbf", "gamma": 0}}, "gamma"),
        ({"kernel": {"name": "rbf", "gamma": "wide"}}, "gamma"),
        ({"kernel": {"name": "rbf", "gamma": 1e300}}, "gamma"),
        ({"kernel": {"name": "poly", "degree": 1000}}, "degree"),
        ({"kernel": {"name": "poly", "degree": {}}}, "degree"),
        ({"kernel": {"name": "poly", "coef0": 1e99}}, "coef0"),
        ({"solver": "magic"}, "solver"),
        ({"solver": ["smo"]}, "solver"),
        ({"multiclass": "ovr2"}, "multiclass"),
        ({"view": 3}, "view"),
        ({"view": {"x0": 1, "x1": 1}}, "view"),
        ({"view": {"x0": "a"}}, "x0"),
        ({"grid": [80]}, "grid"),
        ({"grid": [321, 80]}, "grid"),
        ({"grid": [80, 1]}, "grid"),
        ({"grid": [80.5, 80]}, "grid"),
        ({"grid": 80}, "grid"),
    ],
    ids=lambda value: json.dumps(value)[:50] if isinstance(value, dict) else "",
)
def test_wrong_requests_get_one_sentence(browser, change, field):
    answer = browser.post("/api/classify", {**TWO, **change})
    assert answer.status_code == 400
    told = answer.json()
    assert told["field"] == field
    assert "\n" not in told["error"]
    assert "Traceback" not in told["error"]
    assert len(told["error"]) < 250


def test_the_limit_of_points_is_said_in_words(browser):
    told = browser.post("/api/classify", {"points": [[0, 0, 0]] * (MAX_POINTS + 1)}).json()["error"]
    assert "5,001 points" in told
    assert "5,000 is the limit" in told


def test_large_bodies(browser):
    big = b'{"text": "' + b" " * BODY_MAX_BYTES + b'"}'
    json_type = {"Content-Type": "application/json"}
    assert browser.request("POST", "/api/paste", content=big, headers=json_type).status_code == 413

    async def pieces():  # without a Content-Length
        for start in range(0, len(big), 100_000):
            yield big[start : start + 100_000]

    answer = browser.request("POST", "/api/paste", content=pieces(), headers=json_type)
    assert answer.status_code == 413
    assert "5 MB" in answer.json()["error"]


def test_a_body_that_stops_arriving_is_given_up(browser, monkeypatch):
    monkeypatch.setattr("maxmargin.lab.security.BODY_WAIT_SECONDS", 0.2)

    async def stalled():
        yield b'{"text": '
        await asyncio.sleep(5)
        yield b'"1,2,0"}'

    answer = browser.request("POST", "/api/paste", content=stalled(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 408
    assert "send it again" in answer.json()["error"]


def test_an_aborted_upload_leaves_no_traceback(capsys):
    app = create_app(TOKEN, PORT)
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    headers = {"host": f"127.0.0.1:{PORT}", "origin": f"http://127.0.0.1:{PORT}", "content-type": "application/json"}
    headers["cookie"] = f"{COOKIE}={TOKEN}"
    scope = {"type": "http", "method": "POST", "path": "/api/paste", "query_string": b"", "raw_path": b"/api/paste"}
    scope |= {"headers": [(key.encode(), value.encode()) for key, value in headers.items()], "http_version": "1.1"}
    asyncio.run(app(scope, receive, send))
    assert "Traceback" not in capsys.readouterr().err


def test_unknown_addresses(browser):
    assert browser.post("/api/none", {}).status_code == 404
    assert browser.get("/none").status_code == 404
    assert browser.get("/api/classify").status_code == 405
    assert browser.request("PUT", "/api/classify").json()["error"].endswith(".")
    assert browser.get("/api/fits/none/events").status_code == 404
    assert browser.request("DELETE", "/api/fits/none").status_code == 404


def test_a_mistake_of_ours_is_told_without_its_traceback(browser, endpoint, capsys):
    def broken(request, control):
        raise RuntimeError("in the engine room")

    answer = browser.post(endpoint(broken), {})
    assert answer.status_code == 500
    assert "a mistake of ours" in answer.json()["error"]
    assert "engine" not in answer.text
    assert "in the engine room" in capsys.readouterr().err


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        ["", "inf", "x", "linear", "rbf", "smo", "classify", 10**400, [], {}, [[]], [[0, 0, 0], [1, 1, 1]]]
    ),
    st.integers(-3, 300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.integers(-1, 3), max_size=4),
    st.dictionaries(st.sampled_from(["name", "gamma", "x0", "points", "C"]), st.integers(-1, 3), max_size=3),
)
FIELDS = [
    "points",
    "kernel",
    "C",
    "view",
    "grid",
    "solver",
    "multiclass",
    "text",
    "tab",
    "state",
    "x",
    "epsilon",
    "strokes",
]
FIELDS += [
    "alpha",
    "b",
    "map",
    "basis",
    "degree",
    "method",
    "lambda",
    "sigma",
    "picture",
    "pixels",
    "image",
    "digit",
    "seed",
]


@pytest.mark.parametrize("name", ENDPOINTS)
@given(st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=6))
@example({})
@example(TWO)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_makes_a_mistake_of_ours(name, asked):
    """Whatever is asked for, the answer is one, or a sentence; never an error that nobody foresaw."""
    module, function = ENDPOINTS[name].split(":")
    sentence, status = "answered", 400
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            encode(getattr(importlib.import_module(module), function)(asked, Run(max_seconds=2.0)))
        except RequestError as error:
            sentence, status = str(error), error.status
    assert sentence
    assert 400 <= status < 500


def test_errors_of_the_library_are_the_request_s(browser, endpoint):
    def refusing(request, control):
        raise RequestError("Choose less.", "C", status=422)

    def checking(request, control):
        raise ValueError("C must be > 0.")

    answer = browser.post(endpoint(refusing), {})
    assert (answer.status_code, answer.json()) == (422, {"error": "Choose less.", "field": "C"})
    answer = browser.post(endpoint(checking), {})
    assert (answer.status_code, answer.json()) == (400, {"error": "C must be > 0."})


def test_json_has_no_nan():
    assert encode({"a": [float("nan"), 1.0, (float("inf"),)]}) == b'{"a":[null,1.0,[null]]}'
    numpy = pytest.importorskip("numpy")
    given = {"a": numpy.array([1.5, numpy.nan]), "b": numpy.float32(0.5), 3: numpy.int64(2)}
    assert parse(encode(given)) == {"a": [1.5, None], "b": 0.5, "3": 2}


# Cancelling


def test_a_page_that_asks_again_gets_the_newer_answer(browser, endpoint):
    started = []

    def waiting(request, control):
        started.append(request["n"])
        while request["n"] == 1:
            control.check()
            time.sleep(0.005)
        return {"n": request["n"]}

    path = endpoint(waiting)

    async def two():
        async with browser.client() as it:
            first = asyncio.create_task(it.post(path, json={"n": 1}))
            while not started:
                await asyncio.sleep(0.01)
            return await it.post(path, json={"n": 2}), await first

    second, first = asyncio.run(two())
    assert second.json() == {"n": 2}
    assert (first.status_code, first.json()) == (409, {"error": "superseded"})


def test_other_pages_and_purposes_are_left_alone(browser, endpoint):
    running, go = [], []

    def patient(request, control):
        running.append(request["n"])
        while not go:
            control.check()
            time.sleep(0.005)
        return request

    def other(request, control):
        return request

    path, quick = endpoint(patient), endpoint(other)

    async def three():
        async with browser.client() as it:
            first = asyncio.create_task(it.post(path, json={"n": 1}))
            second = asyncio.create_task(it.post(path, json={"n": 2}, headers={"X-Page": "two"}))
            while len(running) < 2:
                await asyncio.sleep(0.01)
            between = await it.post(quick, json={"n": 3})
            go.append(True)
            return [answer.json()["n"] for answer in (await first, await second, between)]

    assert asyncio.run(three()) == [1, 2, 3]


def test_a_fit_ends_when_it_is_cancelled(browser, endpoint):
    """A solver that is far from done notices at its next report, and nothing is left running."""
    from maxmargin import SVC

    ended = []

    def fitting(request, control):
        import numpy as np

        X = np.random.default_rng(0).normal(size=(400, 2))
        try:
            for _ in range(10_000):
                SVC(C=1e6, gamma=50.0, solver="smo", max_seconds=control.seconds_left).fit(X, np.arange(400) % 2)
        except Cancelled:
            ended.append(True)
            raise

    path = endpoint(fitting)

    async def two():
        async with browser.client() as it:
            first = asyncio.create_task(it.post(path, json={}))
            await asyncio.sleep(0.3)
            first_gone = time.perf_counter()
            first.cancel()  # the page is closed
            await asyncio.gather(first, return_exceptions=True)
            while not ended:
                await asyncio.sleep(0.01)
                assert time.perf_counter() - first_gone < 30
            return True

    assert asyncio.run(two())


def test_a_page_that_goes_away_ends_its_work(browser, endpoint):
    """The server hears of it while it waits for the answer."""
    ended = []

    def lonely(request, control):
        try:
            while True:
                control.check()
                time.sleep(0.005)
        except Cancelled:
            ended.append(True)
            raise

    path = endpoint(lonely)
    headers = {"host": f"127.0.0.1:{PORT}", "origin": HERE, "cookie": f"{COOKIE}={TOKEN}", "x-page": "a"}
    headers |= {"content-type": "application/json"}
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "root_path": "", "scheme": "http"}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def call():
        messages = iter([{"type": "http.request", "body": b"{}"}, {"type": "http.disconnect"}])

        async def receive():
            await asyncio.sleep(0.05)
            return next(messages)

        async def send(message):
            pass

        await browser.app(scope, receive, send)

    asyncio.run(call())
    assert ended


def test_warnings_are_silenced_while_something_is_computed_and_no_longer(browser, endpoint):
    def warning(request, control):
        warnings.warn("not converged", UserWarning, stacklevel=1)
        return {}

    before = list(warnings.filters)
    assert browser.post(endpoint(warning), {}).status_code == 200
    assert warnings.filters == before


def test_a_run_is_a_control_for_solvers():
    run = Run(max_seconds=10.0)
    one = run.of_one()
    assert one.stop() is None
    assert 0 < run.seconds_left <= 10.0
    run.cancel()
    assert one.stop() is not None
    with pytest.raises(Cancelled):
        one.check()


# Fits that are watched


def events_of(text):
    blocks = [block.splitlines() for block in text.split("\n\n") if block and not block.startswith(":")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in blocks]


def watched(browser, request):
    async def run():
        async with browser.client() as it:
            name = (await it.post("/api/fits", json=request)).json()["id"]
            stream = await it.get(f"/api/fits/{name}/events")
            gone = await it.get(f"/api/fits/{name}/events")
            return stream, gone

    return asyncio.run(run())


def test_a_watched_fit_ends_in_the_answer_of_classify(browser):
    stream, gone = watched(browser, TWO)
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert gone.status_code == 404
    name, answer = events_of(stream.text)[-1]
    direct = browser.post("/api/classify", TWO).json()
    assert name == "done"
    assert {**answer, "seconds": 0, "comment": 0, "report": 0} == {**direct, "seconds": 0, "comment": 0, "report": 0}


def test_progress_is_reported(browser):
    import numpy as np

    X = np.random.default_rng(0).normal(size=(300, 2)).tolist()
    points = [[x, y, i % 2] for i, (x, y) in enumerate(X)]
    hard = {"points": points, "kernel": {"name": "rbf", "gamma": 5}, "C": 1e4, "solver": "smo", "grid": [4, 4]}
    *before, (last, answer) = events_of(watched(browser, hard)[0].text)
    assert last == "done"
    assert answer["kind"] == "binary"
    assert before
    for name, progress in before:
        assert name == "progress"
        assert set(progress) == {"iteration", "violation", "gap", "primal", "dual", "n_support", "seconds"}
    iterations = [progress["iteration"] for _, progress in before]
    assert iterations == sorted(iterations)
    assert len(before) <= 20 * (before[-1][1]["seconds"] + 1)


def test_a_watched_fit_of_a_wrong_request_says_so(browser):
    stream, _ = watched(browser, {**TWO, "C": 0})
    assert events_of(stream.text)[-1][0] == "error"
    assert events_of(stream.text)[-1][1]["field"] == "C"


def test_a_watched_fit_can_be_cancelled(browser, endpoint, monkeypatch):
    def endless(request, control):
        while True:
            control.check()
            time.sleep(0.005)

    endpoint(endless)
    monkeypatch.setitem(ENDPOINTS, "classify", ENDPOINTS["endless"])

    async def run():
        async with browser.client() as it:
            name = (await it.post("/api/fits", json={})).json()["id"]
            stream = asyncio.create_task(it.get(f"/api/fits/{name}/events"))
            await asyncio.sleep(0.2)
            assert (await it.delete(f"/api/fits/{name}")).json() == {"cancelled": True}
            return (await stream).text

    assert events_of(asyncio.run(run())) == [("error", {"error": "superseded"})]


# The command


COMMAND = "from maxmargin.cli.commands.lab import command; command(standalone_mode=False)"


def test_the_command_serves_streams_and_ends_at_ctrl_c():
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    line = [sys.executable, "-c", COMMAND, "--no-browser"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        link = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())[0]
        here = link.split("/?")[0]
        assert process.stdout.readline() == "Ctrl-C closes it.\n"
        with httpx.Client(base_url=here, headers={"Origin": here, "X-Page": "a"}, timeout=60) as client:
            for _ in range(200):
                try:
                    assert client.get(link).status_code == 303
                    break
                except httpx.ConnectError:
                    time.sleep(0.05)
            assert client.get("/api/options").json()["version"]
            answer = client.post("/api/classify", json=TWO)
            assert answer.json()["margin"] == pytest.approx(2.0, rel=1e-4)
            name = client.post("/api/fits", json=TWO).json()["id"]
            with client.stream("GET", f"/api/fits/{name}/events") as stream:
                assert events_of(stream.read().decode())[-1][0] == "done"
            assert httpx.get(here).status_code == 403
            points = [[math.sin(7 * k), math.cos(11 * k * k), k % 2] for k in range(300)]
            hard = {"points": points, "kernel": {"name": "rbf", "gamma": 5}, "C": 1e6, "solver": "smo"}
            client.post("/api/fits", json=hard)  # at work when the end comes: no warning from its thread
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=60)[0]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert rest == "The lab is closed.\n"


def test_the_options_of_the_command(monkeypatch):
    from click.testing import CliRunner

    from maxmargin.cli.commands.lab import command
    from maxmargin.lab import server

    asked = []
    monkeypatch.setattr(server, "launch", lambda port, browser, say: asked.append((port, browser)))
    monkeypatch.setattr(os, "_exit", lambda code: asked.append(code))
    assert CliRunner().invoke(command, []).exit_code == 0
    assert CliRunner().invoke(command, ["--port", "8765", "--no-browser"]).exit_code == 0
    assert asked == [(None, True), 0, (8765, False), 0]
    assert CliRunner().invoke(command, ["--port", "70000"]).exit_code == 2


def test_without_its_libraries_the_lab_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "maxmargin.lab.server")
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(ImportError, match=r'pip install "maxmargin\[lab\]"'):
        importlib.import_module("maxmargin.lab.server")


def test_only_this_computer_is_served():
    from maxmargin.lab import server

    with server._listener(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_one_friendly_line():
    from maxmargin.lab.server import launch

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"^Port {port} cannot be used .*choose another\.$"):
            launch(port, browser=False, say=lambda line: None)


def test_the_port_is_the_same_each_time_if_it_is_free():
    """A browser keeps what a page stores by its port."""
    from maxmargin.lab import server

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        server_port, server.PREFERRED_PORT = server.PREFERRED_PORT, other.getsockname()[1]
        try:
            with server._preferred() as second:
                assert second.getsockname()[1] != server.PREFERRED_PORT
            other.close()
            with server._preferred() as first:
                assert first.getsockname()[1] == server.PREFERRED_PORT
        finally:
            server.PREFERRED_PORT = server_port


def test_what_computes_can_be_warmed_up():
    """Mistakes in it are passed over when the server starts, so they are looked for here."""
    modules = {where.split(":")[0] for where in ENDPOINTS.values()}
    warmed = {name for name in modules if hasattr(importlib.import_module(name), "warm_up")}
    assert {name.rsplit(".", 1)[-1] for name in modules - warmed} == {"paste", "script", "recording"}
    for name in warmed:
        importlib.import_module(name).warm_up()
