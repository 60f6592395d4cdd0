"""The lab's server: routes, and how to start it.

GET    /                       the page                     GET  /static/...      its modules
POST   /api/<name>             computes, see ``ENDPOINTS``  GET  /api/presets     data sets to begin with
POST   /api/fits               begins a fit that is watched GET  /api/options     what can be chosen
GET    /api/fits/<id>/events   server-sent events of it     DELETE /api/fits/<id> cancels it
GET    /api/tours              guided tours
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import os
import socket
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from maxmargin.lab.bundle import style_sheets
from maxmargin.lab.jobs import REQUEST_MAX_SECONDS, Cancelled, Function, Jobs, Run, mistake
from maxmargin.lab.requests import RequestError, encode, parse
from maxmargin.lab.security import Guard, new_token, page
from maxmargin.lab.tabs import ENDPOINTS, TABS, with_tabs

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    from maxmargin.lab.connection import Connection
except ImportError as error:
    raise ImportError('the lab needs Starlette and uvicorn: pip install "maxmargin[lab]"') from error

PREFERRED_PORT = 8753
STATIC = Path(__file__).parent / "static"
# Said here, since a computer's own table may be wrong, and browsers refuse modules of another type.
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}


def create_app(token: str, port: int, *, static: Path = STATIC, warm: bool = False) -> Guard:
    """The lab as an ASGI application.

    token: what the link must carry
    port: where the server listens; requests for another one are refused
    static: the folder of the page
    warm: whether to load and compile everything in the background when the server starts, so that the first click is
        answered as fast as the second
    Returns the application behind its checks.
    """
    jobs = Jobs()
    version = ""  # of the page that was sent last

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(warm_up)) if warm else None
        yield
        jobs.stop()
        if warming is not None:
            warming.cancel()

    async def index(request: Request) -> Response:
        if not (static / "index.html").is_file():
            return _page("The lab's page is missing from this installation: install maxmargin again.", 500)
        nonlocal version
        version = _version(static)
        return Response(_front(static, version), media_type="text/html")

    async def file(request: Request) -> Response:
        return _file(static, version, request.path_params["name"], request.headers.get("if-none-match"))

    async def compute(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ENDPOINTS:
            raise RequestError(f"There is nothing at /api/{name}.", status=404)
        asked = parse(await request.body())
        run = Run(max_seconds=REQUEST_MAX_SECONDS)
        work = jobs.compute(_page_of(request), name, _function(name), asked, run)
        return _json(await _while_waiting(request, run, work))

    async def start(request: Request) -> Response:
        asked = parse(await request.body())
        return _json(encode({"id": jobs.start(_page_of(request), _function("classify"), asked)}))

    async def events(request: Request) -> Response:
        jobs.fit(request.path_params["id"])
        return StreamingResponse(jobs.events(request.path_params["id"]), media_type="text/event-stream")

    async def cancel(request: Request) -> Response:
        jobs.cancel(request.path_params["id"])
        return _json(encode({"cancelled": True}))

    async def presets(request: Request) -> Response:
        return _json(await asyncio.to_thread(lambda: encode(_named("maxmargin.lab.presets:presets")())))

    async def options(request: Request) -> Response:
        return _json(await asyncio.to_thread(lambda: encode(_named("maxmargin.lab.presets:options")())))

    async def tours(request: Request) -> Response:
        return _json(await asyncio.to_thread(lambda: encode(_named("maxmargin.lab.presets:tours")())))

    app = Starlette(
        routes=[
            Route("/", index),
            Route("/api/presets", presets),
            Route("/api/options", options),
            Route("/api/tours", tours),
            Route("/api/fits", start, methods=["POST"]),
            Route("/api/fits/{id}/events", events),
            Route("/api/fits/{id}", cancel, methods=["DELETE"]),
            Route("/api/{name}", compute, methods=["POST"]),
            Route("/static/{name:path}", file),
        ],
        exception_handlers={
            HTTPException: _refused,
            ValueError: _wrong,
            Cancelled: _superseded,
            ClientDisconnect: _superseded,
            Exception: _unforeseen,
        },
        lifespan=lifespan,
    )
    guard = Guard(app, token, port)
    guard.stop = jobs.stop
    return guard


def launch(port: int | None = None, *, browser: bool = True, say: Callable[[str], None] = print) -> None:
    """Start the lab on this computer and serve until Ctrl-C.

    port: where to listen, on 127.0.0.1 only; 0 means any free port. By default always the same one if it is free, since
        a browser keeps a page's points by its port, else any other.
    browser: whether to open the page in the browser
    say: gets the lines for the user
    Raises OSError if the port is in use.
    """
    listener = _listener(port) if port is not None else _preferred()
    if port is None and listener.getsockname()[1] != PREFERRED_PORT:
        say(f"Port {PREFERRED_PORT} is in use: the lab has another address; pages opened earlier do not follow there.")
    port, token = listener.getsockname()[1], new_token()
    link = f"http://127.0.0.1:{port}/?token={token}"
    app = create_app(token, port, warm=True)
    config = uvicorn.Config(
        app, http=Connection, log_level="critical", access_log=False, ws="none", server_header=False, date_header=False
    )
    server = _Server(config, app.stop)
    say(f"The lab is open at {link}")
    say("Ctrl-C closes it.")
    if browser:
        server.opened = link
    loop = asyncio.new_event_loop()  # asyncio.run would wait for the worker threads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # to the end: a thread that is still at work then has nothing to tell either
        try:
            loop.run_until_complete(server.serve(sockets=[listener]))
            waiting = asyncio.all_tasks(loop)
            for task in waiting:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*waiting, return_exceptions=True))
        finally:
            loop.close()
            listener.close()
        say("The lab is closed.")


class _Server(uvicorn.Server):
    """Ends at the first Ctrl-C, whoever is still connected, and opens the browser once it answers."""

    opened: str | None = None
    opening: asyncio.Task[bool] | None = None

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self.stop_work = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.opened is not None:
            import webbrowser

            # Not waited for: where there is no window system, this may be a browser in the terminal.
            self.opening = asyncio.create_task(asyncio.to_thread(webbrowser.open, self.opened))

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.stop_work()
        self.should_exit = self.force_exit = True


def _preferred() -> socket.socket:
    try:
        return _listener(PREFERRED_PORT)
    except OSError:
        return _listener(0)


def _listener(port: int) -> socket.socket:
    # The protocol is named because asyncio sends small packets at once (TCP_NODELAY) only where it is.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # at once after a stop, while its last connections linger; Windows would share the port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # from now on: another lab cannot take the port too, and an early request waits
    except OSError as error:
        listener.close()
        raise OSError(
            f"Port {port} cannot be used ({(error.strerror or 'refused').lower()}): leave out --port for any free one, "
            "or choose another."
        ) from error
    return listener


def warm_up() -> None:
    """Load and compile what the first clicks need. What fails here fails again, and is reported, when it is needed."""
    for module in dict.fromkeys(where.split(":")[0] for where in ENDPOINTS.values()):
        with suppress(Exception):
            getattr(importlib.import_module(module), "warm_up", lambda: None)()


@functools.cache
def _named(where: str) -> Any:
    module, function = where.split(":")
    return getattr(importlib.import_module(module), function)


def _function(name: str) -> Function:
    """The function of an endpoint; its module is loaded in the worker thread, as that may take a second."""

    def call(request: dict[str, Any], run: Run) -> dict[str, Any]:
        return _named(ENDPOINTS[name])(request, run)

    return call


async def _while_waiting(request: Request, run: Run, work: Awaitable[bytes]) -> bytes:
    """The answer, unless the page goes away: then the work is cancelled."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        run.cancel()

    leaving = asyncio.create_task(gone())
    try:
        return await work
    finally:
        leaving.cancel()


def _page_of(request: Request) -> str:
    """The page that asks; two tabs are two pages."""
    return request.headers.get("x-page", "")[:64]


def _front(static: Path, version: str) -> str:
    """The page with its tabs and their styles, with the version of its files in their addresses, so that browsers may
    keep them until there is another, and with the names of all modules, so that they are asked for together, not import
    by import."""
    text = (static / "index.html").read_text(encoding="utf-8").replace('"/static/', f'"/static/{version}/')
    names = sorted(path.relative_to(static).as_posix() for path in (static / "js").rglob("*.js"))
    links = [f'  <link rel="stylesheet" href="/static/{version}/css/{path.name}">\n' for path in style_sheets(static)]
    links += [f'  <link rel="modulepreload" href="/static/{version}/{name}">\n' for name in names]
    return with_tabs(text, TABS).replace("</head>", f"{''.join(links)}</head>", 1)


def _version(static: Path) -> str:
    """A name for the files as they are now: another one whenever one of them has another time or size."""
    abouts = sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in static.rglob("*.*"))
    return "v-" + hashlib.sha256(repr(abouts).encode()).hexdigest()[:16]


def _file(static: Path, version: str, name: str, known: str | None) -> Response:
    """A file of the page: to be kept where its address has the present version; 304 if the browser's copy is the same.

    Read here and not in a thread: the files are small, and a page asks for all of them at once."""
    first, _, rest = name.partition("/")
    try:
        path = (static / (rest if first.startswith("v-") else name)).resolve()
        about = path.stat()
    except (OSError, ValueError) as error:  # there is none, or there cannot be one of such a name
        raise HTTPException(404) from error
    if not path.is_relative_to(static.resolve()) or path.suffix not in TYPES or not path.is_file():
        raise HTTPException(404)
    headers = {
        "ETag": f'"{about.st_mtime_ns:x}-{about.st_size:x}"',
        "Cache-Control": "private, max-age=31536000, immutable" if first == version else "no-cache",
    }
    if known == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers=headers)


def _json(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


def _page(sentence: str, status: int) -> Response:
    return Response(page(sentence), status, media_type="text/html")


def _error(request: Request, sentence: str, status: int, field: str | None = None) -> Response:
    if not request.url.path.startswith("/api/"):
        return _page(sentence, status)
    answer = {"error": sentence} if field is None else {"error": sentence, "field": field}
    return _json(encode(answer), status)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {404: "There is nothing at this address.", 405: "This address does not take such requests."}
    return _error(request, sentences.get(error.status_code, str(error.detail)), error.status_code)


async def _wrong(request: Request, error: Exception) -> Response:
    """A ValueError is about what was asked for: ours and the library's say what is wrong and what to do."""
    return _error(request, str(error), getattr(error, "status", 400), getattr(error, "field", None))


async def _superseded(request: Request, error: Exception) -> Response:
    return _error(request, "superseded", 409)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return _error(request, mistake(error), 500)
