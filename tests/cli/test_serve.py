"""``maxmargin serve``: the same answers as predict, and no answer to strangers."""

import asyncio
import contextlib
import csv
import io
import json
import socket
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from click.testing import CliRunner

from maxmargin import SVC, save
from maxmargin.cli import main
from maxmargin.cli._model import load_model

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")

from maxmargin.cli import _server  # noqa: E402
from maxmargin.cli._server import create_app  # noqa: E402
from maxmargin.cli._server_rows import ROWS_MAX  # noqa: E402

HOST = "127.0.0.1:8754"
ROWS = [{"size": 1.5 + k / 10, "colour": ["red", "blue"][k % 2]} for k in range(40)]


class Client:
    """Requests to an application without a network."""

    def __init__(self, app, base_url=f"http://{HOST}"):
        self.transport, self.base_url = httpx.ASGITransport(app=app, raise_app_exceptions=False), base_url

    def request(self, method, path, **options):
        async def ask():
            async with httpx.AsyncClient(transport=self.transport, base_url=self.base_url) as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    lines = ["size,colour,kind"]
    lines += [f"{row['size']},{row['colour']},{'a' if row['colour'] == 'red' else 'b'}" for row in ROWS]
    (folder / "t.csv").write_text("\n".join(lines))
    arguments = ["train", folder / "t.csv", "-o", folder / "t.mm", "--probabilities"]
    assert CliRunner().invoke(main, list(map(str, arguments))).exit_code == 0
    return load_model(str(folder / "t.mm"))


@pytest.fixture
def client(model):
    return Client(create_app(model, {HOST}, 100_000))


def test_rows_as_json(client, model):
    answer = client.post("/predict?values=1&probabilities=1", json={"rows": ROWS}).json()
    assert answer["predictions"] == ["a" if row["colour"] == "red" else "b" for row in ROWS]
    assert answer["classes"] == ["a", "b"]
    assert len(answer["values"]) == answer["n"] == 40
    np.testing.assert_allclose(np.sum(answer["probabilities"], axis=1), 1)
    assert client.post("/predict", json=ROWS[:1]).json()["predictions"] == ["a"]
    one = client.post("/predict", json=[{"size": None, "colour": "pink"}]).json()
    assert one["unknown"] == {"colour": 1}
    one = client.post("/predict", json=[{"size": "huge", "colour": "red"}]).json()
    assert one["unknown"] == {"size": 1}


def test_rows_as_csv(client):
    text = "colour,size,other\nred,1.5,x\nblue,,y\n"
    answer = client.post("/predict", content=text, headers={"content-type": "text/csv", "accept": "text/csv"})
    assert list(csv.reader(io.StringIO(answer.text))) == [["prediction"], ["a"], ["b"]]
    more = client.post(
        "/predict?probabilities=1", content=text, headers={"content-type": "text/csv", "accept": "text/csv"}
    )
    assert more.text.splitlines()[0] == "prediction,probability a,probability b"


def test_what_the_server_says_of_itself(client):
    assert client.get("/health").json()["status"] == "ok"
    described = client.get("/openapi.json").json()
    schema = described["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    row = schema["properties"]["rows"]["items"]["properties"]
    assert row == {"size": {"type": ["number", "null"]}, "colour": {"type": ["string", "null"]}}
    page = client.get("/")
    assert "/predict" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("content", "kind", "status", "words"),
    [
        (b"{", "application/json", 400, "no JSON"),
        (b"[" * 50_000, "application/json", 400, "lists in lists"),
        (b"\xff", "application/json", 400, "no UTF-8"),
        (b"{}", "application/json", 400, "at least one row"),
        (b'[{"size": NaN, "colour": "red"}]', "application/json", 400, "no JSON number"),
        (b'[{"size": [1], "colour": "red"}]', "application/json", 400, "a value is a number, a text or null"),
        (b'[{"size": 1e999, "colour": "red"}]', "application/json", 400, "1e999 is too large a number"),
        (b'[{"size": ' + b"9" * 400 + b', "colour": "red"}]', "application/json", 400, "too large a number"),
        (b'[{"size": ' + b"9" * 9000 + b', "colour": "red"}]', "application/json", 400, "too large a number"),
        (b'[{"size": 1}]', "application/json", 400, "The rows lack 'colour'"),
        (b"size,colour\n1\n", "text/csv", 400, "Line 2 has 1 fields"),
        (b"size,colour,size\n1,red,2\n", "text/csv", 400, "names the column 'size' twice"),
        (b"size,colour\n", "text/csv", 400, "at least one row"),
        (b"size=1", "application/x-www-form-urlencoded", 415, "JSON or CSV"),
        (b"{}", "text/plain", 415, "JSON or CSV"),
        (b" " * 100_001, "application/json", 413, "larger than 0.1 MB"),
    ],
)
def test_bad_requests_get_one_sentence(client, content, kind, status, words):
    answer = client.post("/predict", content=content, headers={"content-type": kind})
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert "Traceback" not in answer.text


def test_a_header_of_many_equal_names_is_refused_at_once(client):
    """Counting each name in all of the others would take minutes."""
    answer = client.post("/predict", content="," * 90_000 + "\n1", headers={"content-type": "text/csv"})
    assert (answer.status_code, "'' twice" in answer.json()["error"]) == (400, True)


def test_a_length_that_is_announced_is_refused_before_it_arrives(client):
    for length in ("100001", "9" * 5000):
        answer = client.post(
            "/predict", content=b"[]", headers={"content-type": "application/json", "content-length": length}
        )
        assert answer.status_code == 413


def test_a_mistake_of_ours_gets_one_sentence(client, monkeypatch):
    monkeypatch.setattr(_server, "answer_of", lambda *arguments: 1 / 0)
    answer = client.post("/predict", json=ROWS)
    assert answer.status_code == 500
    assert answer.json() == {"error": "The model could not answer: this is a bug in maxmargin."}


@contextmanager
def serving(model):
    """A server on this computer: its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = _server.make_server(create_app(model, {f"127.0.0.1:{port}"}, 100_000))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def port(model, monkeypatch):
    """Of a server that waits a short time only for requests."""
    monkeypatch.setattr(_server, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(_server, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(_server, "IDLE_SECONDS", 1)
    with serving(model) as port:
        yield port


def answered(port, *parts):
    """All that a server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        for part in parts:
            connection.sendall(part.replace(b"HOST", b"127.0.0.1:%d" % port))
        received = b""
        while more := connection.recv(10_000):
            received += more
    return received


def test_slow_requests_are_ended(port):
    assert answered(port, b"POST /predict HTTP/1.1\r\nHo") == b""
    body = json.dumps(ROWS[:1]).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    assert b"408 Request Timeout" in answered(port, head % (len(body) + 1), body)
    full = (head % len(body) + body).replace(b"\r\nHost", b"\r\nConnection: close\r\nHost")
    assert b'"predictions": ["a"]' in answered(port, full)
    kept = answered(port, head % len(body) + body, b"GET /health HTTP/1.1\r\nHo")  # the second head is not complete
    assert kept.count(b"200 OK") == 1


def test_too_many_connections_do_not_stop_those_that_are_open(model, monkeypatch):
    monkeypatch.setattr(_server, "CONNECTIONS_MAX", 2)

    def health(connection):
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
        received = b""
        while not received.endswith(b"}") and (more := connection.recv(10_000)):
            received += more
        return received

    with (
        serving(model) as port,
        socket.create_connection(("127.0.0.1", port), timeout=60) as first,
        socket.create_connection(("127.0.0.1", port), timeout=60) as second,
    ):
        assert b"200 OK" in health(first)
        assert b"200 OK" in health(second)
        refused = answered(port)
        assert b"503 Service Unavailable" in refused
        assert b"\r\nretry-after: 2\r\n" in refused
        assert json.loads(refused.partition(b"\r\n\r\n")[2])["error"] == "The server is busy: try again later."
        assert b"200 OK" in health(first)


def test_refused_connections_wait_so_that_the_others_are_served(model, monkeypatch):
    monkeypatch.setattr(_server, "CONNECTIONS_MAX", 6)
    monkeypatch.setattr(_server, "REFUSAL_SECONDS", 3600)
    with serving(model) as port, contextlib.ExitStack() as stack:

        def connected():
            return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))

        first, *_ = [connected() for _ in range(6)]
        waiting = [connected() for _ in range(3)]
        assert b"503 Service Unavailable" in answered(port)  # too many wait already
        first.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port)
        assert b"200 OK" in first.recv(10_000)
        for connection in waiting:
            connection.settimeout(0.1)
            with pytest.raises(TimeoutError):  # no answer yet
                connection.recv(10)


def test_nothing_is_computed_for_those_who_have_left(model, monkeypatch):
    """After a flood whose senders have gone the next request would wait for all of them."""
    begun, proceed, rows = threading.Semaphore(0), threading.Event(), []

    def slow(model, kind, body, wanted):
        rows.append(body)
        begun.release()
        assert proceed.wait(60)
        return {"n": 1, "predictions": ["a"]}

    monkeypatch.setattr(_server, "answer_of", slow)
    body = b'{"rows": []}'
    head = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    with serving(model) as port, contextlib.ExitStack() as stack:

        def sent():
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            connection.sendall(head % (port, len(body)) + b"\r\n" + body)
            return connection

        waiting = [sent() for _ in range(_server.WORKERS)]
        for _ in waiting:
            assert begun.acquire(timeout=60)
        for _ in range(20):
            sent().close()
        last = sent()
        last.settimeout(0.5)  # until then the server has heard of all of them
        with pytest.raises(TimeoutError):
            last.recv(10)
        last.settimeout(60)
        proceed.set()
        assert b"200 OK" in last.recv(10_000)
    assert len(rows) == _server.WORKERS + 1


def test_the_limit_follows_the_files_that_may_be_open(monkeypatch):
    resource = pytest.importorskip("resource")
    for soft, expected in ((1024, 512), (10**6, 4096), (resource.RLIM_INFINITY, 4096)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, soft=soft: (soft, soft))
        assert _server.connections_max() == expected
    allowed = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: allowed.append(limits))
    for soft, hard in ((1024, 4096), (1024, 10**6), (10**6, 10**6), (1024, resource.RLIM_INFINITY)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limits=(soft, hard): limits)
        _server._allow_open_files()
    assert allowed == [(4096, 4096), (8192, 10**6), (8192, resource.RLIM_INFINITY)]


def test_bodies_together_are_limited(model, monkeypatch):
    monkeypatch.setattr(_server, "BODIES_MAX", 0)
    client = Client(create_app(model, {HOST}, 100_000))
    answer = client.post("/predict", json=ROWS)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    monkeypatch.setattr(_server, "BODIES_MAX", 1)
    for _ in range(200):  # what was held is released after every answer
        assert client.post("/predict", json=ROWS).status_code == 200


def test_too_many_rows(model):
    client = Client(create_app(model, {HOST}, 10**8))
    body = json.dumps([{"size": 1, "colour": "red"}] * (ROWS_MAX + 1))
    assert client.post("/predict", content=body, headers={"content-type": "application/json"}).status_code == 413


def test_strangers(client):
    assert client.get("/health", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/health", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/predict", json=ROWS, headers={"origin": "null"}).status_code == 403
    assert client.post("/predict", json=ROWS, headers={"origin": f"http://{HOST}"}).status_code == 200
    assert "access-control-allow-origin" not in client.get("/health").headers
    assert client.get("/predict").status_code == 405
    assert client.get("/nothing").status_code == 404


def test_a_model_without_an_encoder(tmp_path):
    X = np.linspace(0, 1, 20)[:, None]
    save(SVC().fit(X, X.ravel() > 0.5), tmp_path / "m.mm")
    client = Client(create_app(load_model(str(tmp_path / "m.mm")), None, 1000), "http://any.where")
    assert client.post("/predict", json=[{"column 1": 0.9}]).json()["predictions"] == [True]
    assert "numbers only" in client.post("/predict", json=[{"column 1": "x"}]).json()["error"]


def test_a_port_in_use(model, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["serve", model.path, "--port", str(port)])
    assert result.exit_code == 2
    assert "choose another --port" in result.stderr
