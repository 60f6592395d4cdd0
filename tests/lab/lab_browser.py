"""The lab in a real browser, for the tests of its tabs: a server, Chromium, watched pages, tabs as users see them.

A test file takes over the fixtures (``FIXTURES``), and so has one browser and one server of its own.
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")
sync_api = pytest.importorskip("playwright.sync_api")

from maxmargin.lab.connection import Connection  # noqa: E402
from maxmargin.lab.server import _listener, create_app  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
TOKEN = "a-token-for-the-tests"
WAIT_MAX_SECONDS = 20.0  # seconds
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}

# How far things jumped on the page, how many requests are under way, and since when there is none.
WATCHED = """
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifts += entry.value;
}).observe({ type: "layout-shift", buffered: true });
Object.assign(window, { flying: 0, landed: 0, send: window.fetch });
window.fetch = async (...given) => {
  window.flying += 1;
  try {
    return await window.send(...given);
  } finally {
    window.flying -= 1;
    window.landed = performance.now();
  }
};
"""

# The page reads a link that it is led to, and marks when it has written the address that follows from it.
GO = """(state) => import('/static/js/state.js').then(async ({ encode }) => {
    const link = await encode(state);
    if (location.hash === `#${link}`) return;
    document.documentElement.dataset.saved = "false";
    location.hash = link;
})"""


# ---- waiting --------------------------------------------------------------------------------------------------------


class expect:
    """Playwright's ``expect``, which looks again after 0.1, 0.35, 0.85 seconds and then every second; this one looks
    again at once."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __getattr__(self, name: str) -> Callable[..., None]:
        check = getattr(sync_api.expect(self.target), name)

        def soon(*arguments: Any, **options: Any) -> None:
            end = time.monotonic() + WAIT_MAX_SECONDS
            while time.monotonic() < end:
                try:
                    check(*arguments, **options, timeout=1)
                    return
                except AssertionError:
                    self.target.page.wait_for_timeout(25)
            check(*arguments, **options, timeout=1)

        return soon


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Waits for what no element of the page tells."""
    end = time.monotonic() + WAIT_MAX_SECONDS
    while not holds():
        assert time.monotonic() < end, "it never came"
        page.wait_for_timeout(20)


def painted(page: Any, times: int = 2) -> None:
    """Waits for so many pictures of the screen."""
    beat = "const beat = () => (n-- ? requestAnimationFrame(beat) : done()); beat();"
    page.evaluate(f"(n) => new Promise((done) => {{ {beat} }})", times)


def idle(page: Any, milliseconds: int = 250) -> None:
    """Waits until nothing has been asked for so long."""
    until(page, lambda: page.evaluate("(n) => !flying && performance.now() - landed > n", milliseconds))


def saved(page: Any) -> None:
    """Waits until the address holds what is on the screen."""
    page.locator("html[data-saved=true]").wait_for()


def written_link(page: Any) -> str:
    """The part of the page's address that holds its state, once it has been written."""
    saved(page)
    return str(page.evaluate("location.hash"))


def ready(page: Any) -> None:
    page.locator("html[data-ready=true]").wait_for()


# ---- server and pages -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(port: int = 0, token: str = TOKEN, **options: Any) -> Iterator[SimpleNamespace]:
    """The lab in a thread, on a free port if none is given; ``stop`` ends it as Ctrl-C would."""
    listener = _listener(port)
    port = listener.getsockname()[1]
    config = uvicorn.Config(create_app(token, port, **options), http=Connection, log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)

    def stop() -> None:
        server.should_exit = server.force_exit = True
        thread.join(10)
        listener.close()

    link = f"http://127.0.0.1:{port}/?token={token}"
    yield SimpleNamespace(home=f"http://127.0.0.1:{port}/", link=link, port=port, stop=stop)
    stop()


@pytest.fixture(scope="module")
def lab() -> Iterator[SimpleNamespace]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        except sync_api.Error as error:
            if "Executable doesn't exist" in str(error):
                pytest.skip("there is no Chromium on this computer")
            raise
        yield found
        found.close()


@pytest.fixture(scope="module")
def watch() -> SimpleNamespace:
    """What pages complained about, and whom they asked."""
    return SimpleNamespace(complaints=[], strangers=[])


@pytest.fixture(scope="module")
def opening(browser: Any, lab: SimpleNamespace, watch: SimpleNamespace) -> Iterator[Callable[..., Any]]:
    """Opens a page that is watched."""
    contexts = []

    def complained(message: Any) -> None:
        if message.type in ("error", "warning"):
            watch.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def asked(request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "blob:", "data:")):
            watch.strangers.append(request.url)

    def open_page(url: str = "", *, width: int = 1280, height: int = 800, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.add_init_script(WATCHED)
        page = context.new_page()
        page.set_default_timeout(1000 * WAIT_MAX_SECONDS)
        page.on("console", complained)
        page.on("pageerror", lambda error: watch.complaints.append(str(error)))
        page.on("request", asked)
        page.goto(url or link(lab, "classify", {"points": []}))
        ready(page)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def quiet(watch: SimpleNamespace) -> Iterator[None]:
    """No page may complain, or ask anybody else."""
    yield
    complaints, watch.complaints = watch.complaints, []
    assert complaints == [], complaints
    assert watch.strangers == []


@pytest.fixture
def opened(opening: Callable[..., Any], quiet: None) -> Iterator[Callable[..., Any]]:
    """Opens pages of this test's own."""
    pages = []

    def open_page(*arguments: Any, **options: Any) -> Any:
        pages.append(opening(*arguments, **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def modules(browser: Any, lab: SimpleNamespace) -> Iterator[Any]:
    """A page whose modules are called directly."""
    page = browser.new_page()
    page.goto(lab.link)
    yield page
    page.close()


# for `browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES`
FIXTURES = (browser, lab, opening, opened, quiet, watch, modules)


def excused(watch: SimpleNamespace, *words: str) -> None:
    """Forgets what the browser notes by itself: refusals, lost connections."""
    watch.complaints = [text for text in watch.complaints if not any(word in text for word in words)]


# Pictures of a film at some shares of its length: their width and height, and how many colours areas of them have.
DECODED = """async ([film, shares, areas]) => {
    const video = document.createElement("video");
    const told = (name) => new Promise((done, failed) => {
        video.addEventListener(name, done, { once: true });
        video.addEventListener("error", () => failed(new Error(video.error.message)), { once: true });
    });
    const bytes = Uint8Array.from(atob(film), (c) => c.charCodeAt(0));
    video.src = URL.createObjectURL(new Blob([bytes], { type: "video/webm" }));
    await told("loadeddata");
    const g = new OffscreenCanvas(video.videoWidth, video.videoHeight).getContext("2d");
    const pictures = [];
    for (const share of shares) {
        video.currentTime = share * video.duration;
        await told("seeked");
        g.drawImage(video, 0, 0);
        pictures.push(areas.map(([x, y, w, h]) => {
            const { data } = g.getImageData(x, y, w, h);
            const colours = new Set();
            const rgb = [0, 0, 0];
            let sum = 0;
            for (let k = 0; k < data.length; k += 4) {
                colours.add((data[k] >> 5) * 64 + (data[k + 1] >> 5) * 8 + (data[k + 2] >> 5));
                sum += data[k] + data[k + 1] + data[k + 2];
                for (let c = 0; c < 3; c++) rgb[c] += (4 * data[k + c]) / data.length;
            }
            return { colours: colours.size, mean: sum / data.length, rgb };
        }));
    }
    return { width: video.videoWidth, height: video.videoHeight, seconds: video.duration, pictures };
}"""


def decoded(browser: Any, film: bytes, shares: list[float], areas: list[list[int]]) -> dict[str, Any]:
    """A film as a browser plays it: its size and length, and what areas [x, y, width, height] of its pictures hold."""
    page = browser.new_page()
    try:
        return page.evaluate(DECODED, [base64.b64encode(film).decode(), shares, areas])
    finally:
        page.close()


# ---- tabs -----------------------------------------------------------------------------------------------------------


def link(lab: SimpleNamespace, at: str, state: Any = None) -> str:
    """The address at which a tab is open, in this state."""
    tabs = {} if state is None else {at: state}
    state = base64.urlsafe_b64encode(json.dumps({"at": at, "tabs": tabs}).encode()).decode().rstrip("=")
    return f"{lab.link}#j.{state}"


class Tab:
    """A tab as a user sees it: places of its first canvas are parts of the width and height."""

    id = ""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel = page.locator(f"#panel-{self.id}")
        self.canvas = self.panel.locator("canvas").first

    def at(self, u: float, v: float) -> tuple[float, float]:
        box = self.canvas.bounding_box()
        return box["x"] + u * box["width"], box["y"] + v * box["height"]

    def click(self, u: float, v: float, **options: Any) -> None:
        self.page.mouse.click(*self.at(u, v), **options)

    def hover(self, u: float, v: float) -> None:
        self.page.mouse.move(*self.at(u, v))

    def drag(self, *places: tuple[float, float], steps: int = 8, lift: bool = True) -> None:
        self.hover(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*self.at(*place), steps=steps)
        if lift:
            self.page.mouse.up()

    def choose(self, label: str, value: str) -> None:
        self.panel.get_by_label(label, exact=True).select_option(value)

    def example(self, name: str) -> None:
        self.choose("Example", name)

    def type(self, label: str, text: str) -> None:
        field = self.panel.get_by_label(f"{label}, exact value", exact=True)
        field.fill(text)
        field.press("Enter")

    def go(self, state: Any) -> None:
        """Follows a link to this state of the tab."""
        saved(self.page)
        self.page.evaluate(GO, {"at": self.id, "tabs": {self.id: state}})
        saved(self.page)

    @property
    def state(self) -> dict[str, Any]:
        """What the address holds, once it has been written."""
        saved(self.page)
        found = self.page.evaluate("import('/static/js/state.js').then((m) => m.decode(location.hash))")
        return found["tabs"][self.id]

    @property
    def points(self) -> list[list[float]]:
        return self.state["points"]

    def nameless(self) -> list[str]:
        """Controls that a screen reader could not name."""
        return self.panel.evaluate("""(panel) => [...panel.querySelectorAll("button, input, select, textarea, canvas")]
            .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length))
            .map((node) => node.outerHTML)""")


class Requests:
    """Requests to one address: how many at once, what was asked, what was answered."""

    def __init__(self, page: Any, path: str) -> None:
        self.page, self.path = page, path
        self.flying: set[Any] = set()
        self.most, self.asked, self.responses = 0, [], []  # type: ignore[var-annotated]
        page.on("request", self._begins)
        page.on("requestfinished", self._ends)
        page.on("requestfailed", self._ends)
        page.on("response", lambda response: response.url.endswith(path) and self.responses.append(response))

    def _begins(self, request: Any) -> None:
        if request.url.endswith(self.path):
            self.asked.append(request.post_data_json)
            self.flying.add(request)
            self.most = max(self.most, len(self.flying))

    def _ends(self, request: Any) -> None:
        self.flying.discard(request)

    def rest(self, holds: Callable[[], bool] = lambda: True) -> None:
        """Waits until nothing is asked for any more."""
        until(self.page, lambda: not self.flying and holds())
