"""Who may talk to the lab: only the browser that opened the link of the terminal, and only from the lab's own page.

    token      drawn anew at every start; the link carries it once, and a cookie from then on
    Host       127.0.0.1:PORT or localhost:PORT, so that no other name can be made to point here (DNS rebinding)
    Origin     if there is one, the lab's own; what changes something (POST, DELETE) must prove that it has it
    body       at most ``BODY_MAX_BYTES`` bytes, of JSON
    headers    the page loads nothing from elsewhere and is in no frame; nothing is kept in a cache but the files of the
               page, which hold no secret

Cookies do not know ports: of several labs on one computer each adds its token to the same cookie.
"""

from __future__ import annotations

import asyncio
import html
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from maxmargin.lab.requests import RequestError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

COOKIE = "maxmargin_lab"
BODY_MAX_BYTES = 5_000_000
BODY_WAIT_SECONDS = 10.0  # until the next piece of a body must be here: the page is on this computer
COOKIE_MAX_LABS = 8  # labs whose tokens one cookie holds
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


class Guard:
    """The lab behind its checks, as an ASGI application.

    app: what is protected
    token: of this start
    port: where the server listens
    stop: ends all work; set by whoever makes the application
    """

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], token: str, port: int) -> None:
        self.app, self.token = app, token
        self.stop: Callable[[], None] = lambda: None
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            return
        answered = False

        async def protected(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                given = message.get("headers", [])
                found = scope["path"].startswith("/static/") and message["status"] in (200, 304)
                ours = {name.lower().encode(): value.encode() for name, value in HEADERS.items()}
                if found:  # the server says how long
                    ours |= {name: value for name, value in given if name == b"cache-control"}
                message["headers"] = [header for header in given if header[0].lower() not in ours] + list(ours.items())
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(protected, scope, *refusal)
            return
        offered = self._offered(scope)
        if offered is not None:
            await self._let_in(protected, scope, offered)
            return
        if not self._known(scope):
            sentence = (
                "This page is open only to the browser that was started with it: open the link that the terminal "
            )
            await _answer(protected, scope, 403, sentence + "printed (it starts with http://127.0.0.1).")
            return
        try:
            await self.app(scope, _limited(receive), protected)
        except Exception:
            if not answered:
                raise
            # The page and the terminal have been informed; there is nothing more to do.

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why this request is not ours to answer, whoever sent it."""
        host, origin = _header(scope, "host"), _header(scope, "origin")
        if host not in self.hosts:
            return 421, "This server answers to 127.0.0.1 only: open the link that the terminal printed."
        if origin and origin != f"http://{host}":
            return 403, "This request comes from another page, and the lab answers its own page only."
        if scope["method"] in ("GET", "HEAD"):
            return None
        if not origin and _header(scope, "sec-fetch-site") != "same-origin":
            return 403, "This request does not say that it comes from the lab's own page, and is refused."
        if scope["method"] == "POST" and _header(scope, "content-type").split(";")[0].strip() != "application/json":
            return 415, "Requests must be JSON: send Content-Type: application/json."
        length = _header(scope, "content-length")
        if length.isdigit() and int(length) > BODY_MAX_BYTES:
            return 413, TOO_LARGE
        return None

    def _offered(self, scope: Scope) -> str | None:
        """The token of a link, if this is one."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        return query["token"][0] if "token" in query else None

    async def _let_in(self, send: Send, scope: Scope, offered: str) -> None:
        if not _same(offered, self.token):
            await _answer(
                send, scope, 403, "This link is of an earlier start: open the one that the terminal printed last."
            )
            return
        others = [token for token in _tokens(scope) if not _same(token, self.token)]
        value = ".".join([self.token, *others][:COOKIE_MAX_LABS])
        headers = [
            (b"location", b"/"),
            (b"set-cookie", f"{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/".encode()),
            (b"content-length", b"0"),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _known(self, scope: Scope) -> bool:
        return max((_same(token, self.token) for token in _tokens(scope)), default=False)


TOO_LARGE = f"The request is larger than {BODY_MAX_BYTES // 1_000_000} MB: send fewer points, or a smaller picture."


def _same(a: str, b: str) -> bool:
    """Compared in a time that does not tell where they differ."""
    return secrets.compare_digest(a.encode(), b.encode())


def _header(scope: Scope, name: str) -> str:
    """A header; one that comes twice is no header, since the two sides of a proxy may choose differently."""
    found = [value for key, value in scope["headers"] if key == name.encode()]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def _tokens(scope: Scope) -> list[str]:
    """All tokens that the browser has."""
    try:
        cookie = SimpleCookie(_header(scope, "cookie")).get(COOKIE)
    except CookieError:
        return []
    return [] if cookie is None else cookie.value.split(".")[:COOKIE_MAX_LABS]


def _limited(receive: Receive) -> Receive:
    """The body, cut off where it is too large, whatever its header said, and given up where it stops arriving. What
    follows the body is the end of the connection, which may take as long as the answer."""
    seen, complete = 0, False

    async def limited() -> Message:
        nonlocal seen, complete
        if complete:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), BODY_WAIT_SECONDS)
        except TimeoutError as error:
            raise RequestError("The request did not arrive in time: send it again.", status=408) from error
        seen += len(message.get("body", b""))
        if seen > BODY_MAX_BYTES:
            raise RequestError(TOO_LARGE, status=413)
        complete = not message.get("more_body", False)
        return message

    return limited


async def _answer(send: Send, scope: Scope, status: int, sentence: str) -> None:
    """A refusal: JSON to the page's programs, a page to people."""
    if scope["path"].startswith("/api/"):
        kind, body = "application/json", json.dumps({"error": sentence}).encode()
    else:
        kind, body = "text/html; charset=utf-8", page(sentence)
    length = str(len(body)).encode()
    headers = [(b"content-type", kind.encode()), (b"content-length", length)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def page(sentence: str) -> bytes:
    """A sentence as a page of its own."""
    text = html.escape(sentence)
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>maxmargin lab</title><p>{text}</p></html>".encode()
