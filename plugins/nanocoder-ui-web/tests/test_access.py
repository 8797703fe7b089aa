"""Who may talk to the server: the browser with the link, and no other page, host or program."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import httpx
import pytest
from nanocoder_ui_web.access import HEADERS, LINK_S, POLICY, Access

pytestmark = pytest.mark.contract("D5")


# CONF-026
def test_only_a_browser_with_the_link_is_answered(web):
    server = web({"text": "Hi."})
    for path in ("entries", "prompt", "answer", "stop", "mode", "invite"):
        method = "GET" if path == "entries" else "POST"
        response = server.client.request(method, f"/api/{path}", json={})
        assert response.status_code == 401, path
        assert "new link" in response.json()["error"]
    server.client.headers["Authorization"] = "Bearer guessed"
    assert server.post("prompt", text="x").status_code == 401
    assert server.login("guessed").status_code == 401
    assert server.login().status_code == 200
    assert server.post("prompt", text="Say hi").status_code == 200


def test_a_link_works_once_and_the_page_can_make_another(web):
    server = web({"text": "Hi."})
    assert server.login().status_code == 200
    key = server.client.headers["Authorization"]
    again = server.login()
    assert (again.status_code, again.json()["error"]) == (
        401,
        "this link was used before; take a new one",
    )
    token = server.post("invite").json()["token"]
    assert server.login(token).status_code == 200
    assert server.client.headers["Authorization"] != key
    assert server.post("stop").status_code == 200


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": None}, 403),
        ({"Content-Length": "5000000"}, 413),
        ({"Transfer-Encoding": "chunked"}, 413),
    ],
)
def test_requests_of_other_pages_and_names_are_refused(web, headers, status):
    server = web({"text": "Hi."})
    assert server.login().status_code == 200
    request = server.client.build_request("POST", "/api/prompt", json={"text": "x"})
    for name, value in headers.items():
        request.headers.pop(name, None)
        if value is not None:
            request.headers[name] = value
    if "Content-Length" in headers or "Transfer-Encoding" in headers:
        assert raw(server, headers) == status
    else:
        assert server.client.send(request).status_code == status


def raw(server, headers):
    """Send a request by hand, whose body never comes; return the status of the answer."""
    lines = {
        "Host": server.origin.removeprefix("http://"),
        "Origin": server.origin,
        "Authorization": server.client.headers["Authorization"],
        **headers,
    }
    port = int(server.origin.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        connection.sendall(f"POST /api/prompt HTTP/1.1\r\n{head}\r\n".encode())
        return int(connection.recv(64).split()[1])


def test_the_page_loads_and_runs_nothing_but_its_own(web):
    server = web({"text": "Hi."})
    for path in ("/", "/app.js", "/app.css", "/conversation.css", "/nothing"):
        response = server.client.get(path)
        assert response.status_code == (404 if path == "/nothing" else 200)
        assert {name: response.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in POLICY
    assert server.token not in server.client.get("/").text


def test_the_server_listens_on_the_loopback_only(web):
    server = web({"text": "Hi."})
    port = int(server.origin.rpartition(":")[2])
    for family, address in ((socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")):
        with (
            socket.socket(family) as other,
            pytest.raises(OSError, match=r"refused|unreachable|assign"),
        ):
            other.connect((address, port))


def test_a_link_that_many_use_at_once_works_for_one():
    access = Access()
    for _ in range(20):
        token = access.invite()
        with ThreadPoolExecutor(8) as pool:
            keys = list(pool.map(access.exchange, [token] * 8))
        assert len([key for key in keys if key]) == 1


def test_a_link_that_was_not_used_in_time_works_no_more():
    now = [0.0]
    access = Access(now=lambda: now[0])
    early, late = access.invite(), access.invite()
    now[0] = LINK_S - 1
    assert access.exchange(early)
    now[0] = LINK_S + 1
    assert access.exchange(late) is None
    assert access.exchange(access.invite()), "a new link works"


def test_a_key_is_compared_as_a_whole():
    access = Access()
    key = access.exchange(access.invite())
    assert access.browser(key)
    assert not access.browser("")
    assert not access.browser(key[:-1])
    assert not access.browser(f"{key}\u00e9")


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "'text' is missing"),
        (b"[]", "the body is not a JSON object"),
        (b'{"text": 1}', "'text' is missing, or no text"),
        (b'{"text": " "}', "the prompt is empty"),
        (b'{"text": "a", "text": "b"}', ""),
        (b"\xff", ""),
    ],
)
def test_bad_input_is_an_error_in_words(web, body, error):
    server = web({"text": "Hi."})
    server.login()
    response = server.client.post("/api/prompt", content=body)
    assert response.status_code == 400
    assert error in response.json()["error"]
    assert httpx.codes.is_success(server.post("prompt", text="Say hi").status_code)


@pytest.mark.timeout(60)
def test_programs_that_send_half_a_request_cannot_keep_the_browser_away(web):
    server = web({"text": "Hi."})
    port = int(server.origin.rpartition(":")[2])
    head = f"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {server.origin}\r\n"
    waiting = []
    with ExitStack() as stack:
        beginnings = (b"", b"GET / HT", f"{head}Content-Length: 9\r\n\r\n{{".encode())
        for begun in (*beginnings, *beginnings[:2] * 33):
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            waiting.append(stack.enter_context(connection))
            connection.sendall(begun)
            if len(waiting) == 3:  # these are begun before there are too many
                assert server.client.get("/").status_code == 200
        for _ in range(20):  # with more of them than may be open
            assert server.client.get("/").status_code == 200
        for connection in waiting:
            with suppress(ConnectionError):
                assert connection.recv(1) == b"", "it is closed, though it never got an answer"
        assert server.login().status_code == 200


def test_no_request_of_a_stranger_writes_to_the_terminal(web, capfd):
    server = web({"text": "Hi."})
    assert server.login().status_code == 200
    port = int(server.origin.rpartition(":")[2])
    head = f"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {server.origin}\r\n"
    for sent in (
        "\x16\x03\x01\r\n\r\n",
        f"{head}Content-Length: 9\r\n\r\n{{",
        f"{head}Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(sent.encode("latin-1"))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    with server.client.stream(
        "GET", "/api/entries", headers={"Last-Event-ID": "9" * 5000}
    ) as response:
        assert response.status_code == 200, "a number that nobody has is none"
    assert server.leave() == 0
    assert capfd.readouterr().err == ""


@pytest.mark.rows(1)
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_strangers_who_only_connect_keep_the_person_out_at_no_time(web, sent):
    server = web({"text": "Hi."}, descriptors=256)
    place = ("127.0.0.1", httpx.URL(server.origin).port)
    with ExitStack() as stack:
        for _ in range(800):
            stranger = stack.enter_context(socket.create_connection(place, timeout=20))
            with suppress(OSError):  # it was turned away already
                stranger.sendall(sent)
        assert server.login().status_code == 200
        assert server.leave() == 0
