"""The proxy connects to the hosts on its list, at checked addresses, and to nothing else."""

import socket
from contextlib import closing

import pytest
from nanocoder_kit_llm.net.testing import PageServer
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.proxy import Proxy


@pytest.fixture
def ask(tmp_path):
    """Send one request to a proxy with rules, and return all that it answers."""
    opened = []

    def send(request, hosts=(), addresses=()):
        path = tmp_path / f"{len(opened)}.socket"
        opened.append(Proxy(path, hosts, addresses))
        with closing(socket.socket(socket.AF_UNIX)) as client:
            client.settimeout(20)
            client.connect(str(path))
            client.sendall(request)
            answer = b""
            while piece := client.recv(65_536):
                answer += piece
                if b"established" in answer and b"GET" not in request:
                    break
        return answer

    yield send
    for proxy in opened:
        proxy.close()


@pytest.fixture
def server():
    with PageServer() as pages:
        yield pages


def connect(authority):
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode("latin-1")


@pytest.mark.contract("E3")
@pytest.mark.parametrize(
    ("authority", "hosts"),
    [
        ("example.org:443", []),  # an empty list lets nothing by
        ("example.org:443", ["example.com"]),
        ("example.org.evil.test:443", ["example.org"]),
        ("notexample.org:443", ["example.org"]),
        ("notexample.org:443", ["*.example.org"]),
        ("example.org:443", ["*.example.org"]),
        ("example.org@evil.test:443", ["example.org"]),
        ("evil.test/@example.org:443", ["example.org"]),
        ("evil.test#.example.org:443", ["*.example.org"]),
        ("evil.test\x00.example.org:443", ["*.example.org"]),
        ("evil.test%00.example.org:443", ["*.example.org"]),
        ("evil.test\\.example.org:443", ["*.example.org"]),
        ("ex\u00e4mple.org:443", ["example.org"]),
        ("127.0.0.1:80", ["*.example.org"]),
        ("localhost:80", ["localhost"]),
        ("127.0.0.1:80", ["127.0.0.1"]),
        ("0x7f.1:80", ["0x7f.1"]),
        ("169.254.169.254:80", ["169.254.169.254"]),
        ("[::ffff:127.0.0.1]:80", ["localhost"]),
        ("example.org:99999", ["example.org"]),
        ("example.org:22", ["example.org"]),
        ("www.example.org:8443", ["*.example.org"]),
        ("example.org:443", ["example.org:8443"]),
        ("example.org:443 HTTP/1.1\r\nX: y", []),
        ("", ["example.org"]),
    ],
)
def test_a_host_that_is_not_allowed_is_refused(ask, authority, hosts):
    assert ask(connect(authority), hosts).startswith(b"HTTP/1.1 403 Forbidden\r\n")


@pytest.mark.parametrize(
    "request_line",
    ["", "GET / HTTP/1.1", "GET https://example.org/ HTTP/1.1", "GET ftp://example.org/ HTTP/1.1"],
)
def test_what_is_no_request_to_a_proxy_is_refused(ask, request_line):
    assert b" 403 " in ask(f"{request_line}\r\n\r\n".encode(), ["example.org"])


@pytest.mark.contract("E3")
def test_an_allowed_host_is_reached_at_an_allowed_address(ask, server):
    name = f"localhost:{server.port}"
    head = f"GET http://{name}/page HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: x\r\n\r\n"
    answer = ask(head.encode(), [name], ["loopback"])
    assert answer.startswith(b"HTTP/1.0 200 ")
    assert b"CANARY-ssrf" in answer
    method, path, headers = server.hits[0]
    assert (method, path, headers["host"]) == ("GET", "/page", name)
    assert "proxy-authorization" not in headers
    assert b" 200 " in ask(connect(name), [name], ["loopback"])
    refused = ask(connect(name), ["localhost"], ["loopback"])
    assert f"port {server.port} of 'localhost' is not among the hosts".encode() in refused


def test_a_wrong_rule_stops_the_start():
    with pytest.raises(ValueError, match="is not a host"):
        Settings(hosts=("https://example.org/",))
    for entry in ("a.test:0", "a.test:65536", "a.test:", "a:b:1", "a.test:\u0661"):
        with pytest.raises(ValueError, match="is not a host"):
            Settings(hosts=(entry,))
    with pytest.raises(ValueError, match="is not a rule"):
        Settings(addresses=("here",))
