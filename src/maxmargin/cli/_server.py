"""The HTTP side of ``maxmargin serve``: rows in, predictions out.

Host      where the server is bound to this computer only, 127.0.0.1 or localhost, so that no other name can be made
          to point here (DNS rebinding)
Origin    if there is one, the server's own: pages of other sites get no answer
body      JSON or CSV, said so by its Content-Type, which a page of another site cannot send unasked; of a limited
          size, counted while it arrives
time      a connection that does not send its request in time is closed, so that slow ones cannot take all places
work      predictions run in threads, a few at a time; the others wait in their order, and one that waits too long is
          refused with 503 and Retry-After
places    connections beyond the limit get the same answer, but not at once: a client that tries again in a loop would
          take the time of those that have a place. Where half as many again wait so, others are refused at once
memory    bodies of all requests together are limited, too
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from maxmargin.cli import UserError
from maxmargin.cli._model import Model
from maxmargin.cli._options import as_json_value
from maxmargin.cli._server_rows import Refused, answer_of, column_names, in_csv
from maxmargin.lab.security import HEADERS

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise ImportError('serve needs Starlette and uvicorn: pip install "maxmargin[lab]"') from error

WORKERS = 2  # predictions that are computed at a time
WAITING_SECONDS = 30.0  # for a worker
HEAD_SECONDS = 10.0  # for the head of a request to arrive
BODY_SECONDS = 60.0  # for its body: 10 MB at 1.4 Mbit/s
IDLE_SECONDS = 60  # between two requests of one connection
CONNECTIONS_MAX = 4096  # or half of the files that the process may have open; those beyond are refused
REFUSAL_SECONDS = 1.0  # that a refused connection is kept waiting
BACKLOG_MAX = 2048  # connections that asyncio accepts at a time, before it serves any
RETRY_SECONDS = 2  # after which a refused client should try again
BODIES_MAX = 16  # largest bodies that are held in memory at a time
CONTENT_LENGTH_MAX_DIGITS = 15  # a petabyte
LOCAL = ("127.0.0.1", "localhost", "::1")


def create_app(model: Model, hosts: set[str] | None, max_bytes: int) -> Starlette:
    """The endpoint as an ASGI application; ``hosts`` are the names that it answers to, None for all."""
    gate = asyncio.Semaphore(WORKERS)
    bodies = _Bodies(max_bytes)

    async def predict(request: Request) -> Response:
        kind = _own_header(request, "content-type").split(";")[0].strip().lower()
        if kind not in ("application/json", "text/csv"):
            raise Refused(415, "Send rows as JSON or CSV: Content-Type: application/json or text/csv.")
        wanted = {name: _flag(request, name) for name in ("values", "probabilities")}
        async with bodies.received(request) as body:
            try:
                await asyncio.wait_for(gate.acquire(), WAITING_SECONDS)
            except TimeoutError:
                raise Refused(503, BUSY) from None
            try:
                if await request.is_disconnected():  # nobody waits for the answer any more
                    return Response(status_code=503)
                answer = await asyncio.to_thread(answer_of, model, kind, body, wanted)
            finally:
                gate.release()
        if "text/csv" in request.headers.get("accept", ""):
            return Response(in_csv(answer), media_type="text/csv")
        return _json(answer)

    async def health(request: Request) -> Response:
        return _json({"status": "ok", "model": type(model.svm).__name__, "task": model.task})

    async def description(request: Request) -> Response:
        return _json(openapi(model))

    async def index(request: Request) -> Response:
        return Response(_page(model), media_type="text/html")

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        answer = _json({"error": error.sentence}, error.status)
        if error.status in (408, 413, 503):  # the rest of the body is not waited for
            answer.headers["Connection"] = "close"
        if error.status == 503:
            answer.headers["Retry-After"] = str(RETRY_SECONDS)
        return answer

    def unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _json({"error": f"{request.method} {request.url.path[:80]}: {error.detail}."}, error.status_code)

    def failed(request: Request, error: Exception) -> Response:
        return _json({"error": "The model could not answer: this is a bug in maxmargin."}, 500)

    routes = [
        Route("/predict", predict, methods=["POST"]),
        Route("/health", health),
        Route("/openapi.json", description),
        Route("/", index),
    ]
    app = Starlette(routes=routes, exception_handlers={Refused: refused, HTTPException: unknown, 500: failed})
    app.add_middleware(_Guard, hosts=hosts)
    return app


class _Guard:
    """Refuses requests for other names and from other pages, and adds the headers that all answers have."""

    def __init__(self, app: Any, hosts: set[str] | None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def protected(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *PROTECTION]
            await send(message)

        found = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        origins = [value.decode("latin-1") for key, value in scope["headers"] if key == b"origin"]
        host = found[0] if len(found) == 1 else ""
        if self.hosts is not None and host not in self.hosts:
            answer = _json({"error": "This server answers to its own address only."}, 421)
        elif origins and origins != [f"http://{host}"]:
            answer = _json({"error": "This request comes from a page of another site, and is refused."}, 403)
        else:
            await self.app(scope, receive, protected)
            return
        await answer(scope, receive, protected)


PROTECTION = [
    (
        name.lower().encode(),
        ("default-src 'none'; style-src 'unsafe-inline'" if "Content" in name and "Policy" in name else value).encode(),
    )
    for name, value in HEADERS.items()
]


BUSY = "The server is busy: try again later."
BUSY_BODY = json.dumps({"error": BUSY}).encode()
BUSY_ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\nretry-after: %d\r\n"
    b"content-length: %d\r\n\r\n%s" % (RETRY_SECONDS, len(BUSY_BODY), BUSY_BODY)
)


class _Bodies:
    """The bodies of requests, from their arrival to the answer: each of a limited size, and all together."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.held = max_bytes, 0

    @asynccontextmanager
    async def received(self, request: Request) -> AsyncIterator[bytes]:
        announced = _own_header(request, "content-length")
        too_large = Refused(413, f"The request is larger than {self.max_bytes / 1e6:g} MB: send fewer rows at a time.")
        if announced.isdecimal() and (len(announced) > CONTENT_LENGTH_MAX_DIGITS or int(announced) > self.max_bytes):
            raise too_large
        parts: list[bytes] = []
        size = 0
        try:
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    async for part in request.stream():
                        size += len(part)
                        self.held += len(part)
                        if size > self.max_bytes:
                            raise too_large
                        if self.held > BODIES_MAX * self.max_bytes:
                            raise Refused(503, BUSY)
                        parts.append(part)
            except TimeoutError:
                raise Refused(
                    408, f"The request did not arrive within {BODY_SECONDS:g} s: send fewer rows at a time."
                ) from None
            yield b"".join(parts)
        finally:
            self.held -= size


class PromptProtocol(H11Protocol):
    """Connections that are closed if the head of a request does not arrive in time, for which uvicorn would wait for
    ever, or if there are too many; uvicorn's own limit would then refuse the requests of all of them."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        limit = connections_max()
        if len(self.connections) > limit:
            transport.pause_reading()
            waiting = len(self.connections) - limit <= limit // 2  # others would take the last files that may be open
            self._head_timer = self.loop.call_later(REFUSAL_SECONDS if waiting else 0.0, self._refuse)
            return
        self._wait_for_head()

    def _refuse(self) -> None:
        self.transport.write(BUSY_ANSWER)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def connections_max() -> int:
    """Connections that are served at a time. Refused ones are open for a moment, too, and so are other files."""
    try:
        import resource
    except ImportError:  # Windows, where sockets do not count as files
        return CONNECTIONS_MAX
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS_MAX if soft == resource.RLIM_INFINITY else min(CONNECTIONS_MAX, soft // 2)


def _allow_open_files() -> None:
    """Room for all connections, where the system allows it: shells often start programs with 1,024 files."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * CONNECTIONS_MAX if hard == resource.RLIM_INFINITY else min(2 * CONNECTIONS_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _own_header(request: Request, name: str) -> str:
    found = request.headers.getlist(name)
    return found[0] if len(found) == 1 else ""


def _flag(request: Request, name: str) -> bool:
    value = request.query_params.get(name, "0").lower()
    if value not in ("0", "1", "true", "false", ""):
        raise Refused(400, f"{name} must be 0 or 1; got {value[:20]!r}.")
    return value in ("1", "true", "")


def openapi(model: Model) -> dict[str, Any]:
    """The description of the endpoint in OpenAPI 3.1."""
    from maxmargin import __version__

    names = column_names(model)
    texts = set(model.text_columns)
    row = {name: {"type": ["string" if name in texts else "number", "null"]} for name in names}
    rows = {
        "type": "object",
        "required": ["rows"],
        "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": row}}},
    }
    flags = [
        {"name": name, "in": "query", "schema": {"type": "boolean"}, "description": text}
        for name, text in (("values", "decision values, too"), ("probabilities", "probabilities, too"))
    ]
    content = {"application/json": {"schema": rows}, "text/csv": {"schema": {"type": "string"}}}
    fine = {
        "description": "predictions in the order of the rows",
        "content": {"application/json": {"schema": {"type": "object"}}, "text/csv": {"schema": {"type": "string"}}},
    }
    wrong = {"description": "what is wrong, as error"}
    post = {
        "summary": "predictions for rows",
        "parameters": flags,
        "requestBody": {"required": True, "content": content},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": f"{type(model.svm).__name__} of maxmargin", "version": __version__},
        "paths": {
            "/predict": {
                "post": {
                    **post,
                    "responses": {"200": fine, **dict.fromkeys(("400", "408", "413", "415", "503"), wrong)},
                }
            },
            "/health": {"get": {"summary": "whether the server is up", "responses": {"200": {"description": "it is"}}}},
        },
    }


def _page(model: Model) -> str:
    names = column_names(model)
    texts = set(model.text_columns)
    rows = "".join(f"<tr><td>{html.escape(n)}</td><td>{'text' if n in texts else 'number'}</td></tr>" for n in names)
    example = html.escape(json.dumps({"rows": [dict.fromkeys(names[:3])]}))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>maxmargin serve</title><style>body{font:16px/1.5 "
        "system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}td{padding:.1rem 1rem .1rem 0}code,pre"
        "{background:#f2f2f2;padding:.1rem .3rem}pre{padding:.6rem;overflow:auto}</style>"
        f"<h1>{html.escape(type(model.svm).__name__)}</h1><p>POST rows as JSON or CSV to <code>/predict</code>; add "
        "<code>?values=1</code> or <code>?probabilities=1</code> for more, and <code>Accept: text/csv</code> for CSV. "
        "<a href=/openapi.json>openapi.json</a> describes it for programs, <a href=/health>health</a> says whether it "
        f"is up.</p><pre>{example}</pre><h2>Columns</h2><table>{rows}</table></html>"
    )


def _json(content: Any, status: int = 200) -> Response:
    text = json.dumps(as_json_value(content), allow_nan=False, ensure_ascii=False)
    return Response(text, status, media_type="application/json")


def launch(model: Model, host: str, port: int, max_bytes: int, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C."""
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UserError(
            f"{host}:{port} cannot be served ({os.strerror(error.errno) if error.errno else error}): choose another "
            "--port."
        ) from error
    port = listener.getsockname()[1]
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")} if host in LOCAL else None
    if hosts is not None and port == 80:
        hosts |= {"127.0.0.1", "localhost", "[::1]"}
    say(f"{type(model.svm).__name__} of {model.path} is served at http://{host}:{port}/ (Ctrl-C ends it)")
    if hosts is None:
        say("Warning: every computer that reaches this address can ask the model, there is no login.")
    _allow_open_files()
    with listener:
        make_server(create_app(model, hosts, max_bytes)).run(sockets=[listener])


def make_server(app: Starlette) -> uvicorn.Server:
    """The server of an application, with its limits."""
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        ws="none",
        server_header=False,
        http=PromptProtocol,
        backlog=max(1, min(BACKLOG_MAX, connections_max() // 4)),
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)
