"""The HTTP side of ``maxmargin serve``: rows in, predictions out.

Host      where the server is bound to this computer only, 127.0.0.1 or localhost, so that no other name can be made
          to point here (DNS rebinding)
Origin    if there is one, the server's own: pages of other sites get no answer
body      JSON or CSV, said so by its Content-Type, which a page of another site cannot send unasked; of a limited
          size, counted while it arrives
work      predictions run in threads, a few at a time; a request that waits too long is refused
"""

from __future__ import annotations

import asyncio
import csv
import html
import io
import json
import socket
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.cli import UserError, one_line
from maxmargin.cli._model import Model
from maxmargin.cli._options import as_json_value
from maxmargin.cli.predict import by_kind, predictions
from maxmargin.data.forms import GAPS
from maxmargin.data.table import Table
from maxmargin.lab.security import HEADERS

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
except ImportError as error:
    raise ImportError('serve needs Starlette and uvicorn: pip install "maxmargin[lab]"') from error

ROWS_MAX = 100_000  # of one request
WORKERS = 2  # predictions that are computed at a time
WAITING_SECONDS = 30.0  # for a worker
CONNECTIONS_MAX = 256
LOCAL = ("127.0.0.1", "localhost", "::1")


class Refused(Exception):
    """A request that is not answered: the status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status, self.sentence = status, sentence


def create_app(model: Model, hosts: set[str] | None, max_bytes: int) -> Starlette:
    """The endpoint as an ASGI application; ``hosts`` are the names that it answers to, None for all."""
    gate = asyncio.Semaphore(WORKERS)

    async def predict(request: Request) -> Response:
        kind = _own_header(request, "content-type").split(";")[0].strip().lower()
        if kind not in ("application/json", "text/csv"):
            raise Refused(415, "Send rows as JSON or CSV: Content-Type: application/json or text/csv.")
        body = await _body(request, max_bytes)
        wanted = {name: _flag(request, name) for name in ("values", "probabilities")}
        try:
            await asyncio.wait_for(gate.acquire(), WAITING_SECONDS)
        except TimeoutError:
            raise Refused(503, "The server is busy: try again later.") from None
        try:
            answer = await asyncio.to_thread(_answer, model, kind, body, wanted)
        finally:
            gate.release()
        if "text/csv" in request.headers.get("accept", ""):
            return Response(_as_csv(answer), media_type="text/csv")
        return _json(answer)

    async def health(request: Request) -> Response:
        return _json({"status": "ok", "model": type(model.svm).__name__, "task": model.task})

    async def description(request: Request) -> Response:
        return _json(openapi(model))

    async def index(request: Request) -> Response:
        return Response(_page(model), media_type="text/html")

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return _json({"error": error.sentence}, error.status)

    def unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _json({"error": f"{request.method} {request.url.path[:80]}: {error.detail}."}, error.status_code)

    routes = [
        Route("/predict", predict, methods=["POST"]),
        Route("/health", health),
        Route("/openapi.json", description),
        Route("/", index),
    ]
    app = Starlette(routes=routes, exception_handlers={Refused: refused, HTTPException: unknown})
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


async def _body(request: Request, max_bytes: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise Refused(413, f"The request is larger than {max_bytes / 1e6:g} MB: send fewer rows at a time.")
        parts.append(part)
    return b"".join(parts)


def _own_header(request: Request, name: str) -> str:
    found = request.headers.getlist(name)
    return found[0] if len(found) == 1 else ""


def _flag(request: Request, name: str) -> bool:
    value = request.query_params.get(name, "0").lower()
    if value not in ("0", "1", "true", "false", ""):
        raise Refused(400, f"{name} must be 0 or 1; got {value[:20]!r}.")
    return value in ("1", "true", "")


def _answer(model: Model, kind: str, body: bytes, wanted: dict[str, bool]) -> dict[str, Any]:
    """Predictions for the rows of a request."""
    try:
        rows = _rows_of_csv(body) if kind == "text/csv" else _rows_of_json(body)
        X, unknown = _points(model, rows)
        answers = predictions(model, X, wanted["values"], wanted["probabilities"], None)
    except Refused:
        raise
    except (ValueError, TypeError, RecursionError, UserError, csv.Error) as error:
        sentence = error.message if isinstance(error, UserError) else one_line(error)
        raise Refused(400, sentence.replace("--", "")[:500]) from error
    found = {"n": len(rows), **{name: array.tolist() for name, array in by_kind(answers).items()}}
    if hasattr(model.svm, "classes_"):
        found["classes"] = model.svm.classes_.tolist()
    if unknown:
        found["unknown"] = unknown
    return found


def _rows_of_json(body: bytes) -> list[dict[str, Any]]:
    def no_number(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number: leave the value out, or write null.")

    try:
        given = json.loads(body.decode("utf-8"), parse_constant=no_number)
    except UnicodeDecodeError:
        raise Refused(400, "The body is no UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Refused(400, f"The body is no JSON: {error}.") from None
    rows = given.get("rows") if isinstance(given, dict) else given
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise Refused(400, 'Send {"rows": [{"column": value, ...}, ...]} with at least one row.')
    if len(rows) > ROWS_MAX:
        raise Refused(413, f"{len(rows):,} rows are more than {ROWS_MAX:,}: send fewer at a time.")
    for i, row in enumerate(rows):
        for name, value in row.items():
            if not (value is None or isinstance(value, str | int | float)):
                raise Refused(400, f"Row {i + 1}, column {name[:60]!r}: a value is a number, a text or null.")
    return rows


def _rows_of_csv(body: bytes) -> list[dict[str, Any]]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(400, "The body is no UTF-8.") from None
    reader = csv.reader(io.StringIO(text), strict=True)
    head = next(reader, [])
    rows = []
    for fields in reader:
        if not fields:
            continue
        if len(fields) != len(head):
            raise Refused(400, f"Line {reader.line_num} has {len(fields)} fields where the first has {len(head)}.")
        rows.append(dict(zip(head, fields, strict=True)))
        if len(rows) > ROWS_MAX:
            raise Refused(413, f"There are more than {ROWS_MAX:,} rows: send fewer at a time.")
    if not rows:
        raise Refused(400, "Send a line with the names of the columns, and at least one row.")
    return rows


def _points(model: Model, rows: list[dict[str, Any]]) -> tuple[Any, dict[str, int]]:
    """The rows as the model takes them, and how many values of each column it does not know."""
    names = model.columns or [f"column {j + 1}" for j in range(model.n_features)]
    absent = [name for name in names if not any(name in row for row in rows)]
    if absent:
        listed = ", ".join(repr(name) for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise Refused(400, f"The rows lack {listed}: the model needs {len(names)} columns, see /openapi.json.")
    table = Table(names, [_column([row.get(name) for row in rows]) for name in names])
    if model.encoder is None:
        for name, array in zip(names, table.arrays, strict=True):
            if array.dtype == object or np.isnan(array).any():
                raise Refused(400, f"Column {name!r}: the model takes numbers only, and none may be missing.")
        return np.column_stack(table.arrays), {}
    unknown = {} if model.encoder.handle_unknown != "ignore" else model.encoder.unknown_categories(table)
    unreadable = {name: words for name, (words, _) in model.encoder.unreadable_values(table).items()}
    return table, {name: words.total() for name, words in (unreadable | unknown).items()}


def _column(values: list[Any]) -> Any:
    """Numbers where all values are; else words, as a text file would have them."""
    words = [None if isinstance(v, str) and v.strip().lower() in GAPS else v for v in values]
    if all(v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in words):
        return np.array([np.nan if v is None else float(v) for v in words])
    texts = [
        v if v is None or isinstance(v, str) else str(v).lower() if isinstance(v, bool) else f"{v:.17g}" for v in words
    ]
    return np.array(texts, object)


def openapi(model: Model) -> dict[str, Any]:
    """The description of the endpoint in OpenAPI 3.1."""
    from maxmargin import __version__

    names = model.columns or [f"column {j + 1}" for j in range(model.n_features)]
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
                "post": {**post, "responses": {"200": fine, **dict.fromkeys(("400", "413", "415", "503"), wrong)}}
            },
            "/health": {"get": {"summary": "whether the server is up", "responses": {"200": {"description": "it is"}}}},
        },
    }


def _page(model: Model) -> str:
    names = model.columns or [f"column {j + 1}" for j in range(model.n_features)]
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


def _as_csv(answer: dict[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names: list[str] = [name for name in ("predictions", "values", "probabilities") if name in answer]
    writer.writerow(_heads(answer, names))
    for i in range(answer["n"]):
        cells = [answer[name][i] for name in names]
        writer.writerow([value for cell in cells for value in (cell if isinstance(cell, list) else [cell])])
    return text.getvalue()


def _heads(answer: dict[str, Any], names: list[str]) -> list[str]:
    heads = ["prediction"]
    for name in names[1:]:
        first, one = answer[name][0], {"values": "value", "probabilities": "probability"}[name]
        count = len(first) if isinstance(first, list) else 1
        labels = answer.get("classes", []) if count == len(answer.get("classes", [])) else range(1, count + 1)
        heads += [one] if count == 1 else [f"{one} {label}" for label in labels]
    return heads


def _json(content: Any, status: int = 200) -> Response:
    text = json.dumps(as_json_value(content), allow_nan=False, ensure_ascii=False)
    return Response(text, status, media_type="application/json")


def launch(model: Model, host: str, port: int, max_bytes: int, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C."""
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UserError(
            f"{host}:{port} cannot be served ({error.strerror or error}): choose another --port."
        ) from error
    port = listener.getsockname()[1]
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")} if host in LOCAL else None
    if hosts is not None and port == 80:
        hosts |= {"127.0.0.1", "localhost", "[::1]"}
    app = create_app(model, hosts, max_bytes)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        ws="none",
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=2,
    )
    say(f"{type(model.svm).__name__} of {model.path} is served at http://{host}:{port}/ (Ctrl-C ends it)")
    if hosts is None:
        say("Warning: every computer that reaches this address can ask the model, there is no login.")
    with listener:
        uvicorn.Server(config).run(sockets=[listener])
