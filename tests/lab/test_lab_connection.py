"""Connections that send nothing, half of their headers, or one letter at a time are ended; others are not."""

from __future__ import annotations

import socket
import time

import pytest
from lab_browser import serving

from maxmargin.lab.connection import Connection
from maxmargin.lab.server import _listener


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(Connection, "headers_max_seconds", 0.4)
    with serving() as found:
        yield found.port


def ended(connection: socket.socket) -> bool:
    """Whether the server closes the connection (and does not merely wait)."""
    connection.settimeout(20)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127"], ids=["nothing", "half"])
def test_headers_that_never_come(port, sent):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(sent)
        assert ended(connection)


def test_headers_letter_by_letter(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for letter in b"GET /" + b"x" * 100:
            try:
                connection.sendall(bytes([letter]))
            except OSError:
                break
            time.sleep(0.05)
        assert ended(connection)


def test_requests_one_after_the_other_on_one_connection(port):
    request = f"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(20)
        for _ in range(3):
            connection.sendall(request)
            answer = b""
            while b"</html>" not in answer:
                piece = connection.recv(65536)
                assert piece
                answer += piece
            assert answer.startswith(b"HTTP/1.1 403")
            time.sleep(0.6)  # longer than headers may take: between requests there are none


def test_a_port_is_taken_at_once() -> None:
    """Not when the server answers: until then another lab would get the same port, and early requests be refused."""
    listener = _listener(0)
    port = listener.getsockname()[1]
    with (
        listener,
        socket.create_connection(("127.0.0.1", port), timeout=5),
        pytest.raises(OSError, match=f"Port {port} cannot be used"),
    ):
        _listener(port)
