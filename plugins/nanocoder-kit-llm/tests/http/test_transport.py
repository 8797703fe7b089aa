"""Beneath the client: proxies, certificates, late connections, httpx's own fake."""

import socket
import threading
from itertools import chain

import httpcore
import httpx
import pytest
from nanocoder import Cancel, Cancelled, ConfigError, ProviderError
from nanocoder_kit_llm.http import Client, FinalError, SseEvent, transport
from nanocoder_testing.server import ScriptedServer, data, events


def ask(client):
    return list(chain.from_iterable(client.stream_events("/x", b"{}", Cancel())))


def test_a_test_can_answer_in_place_of_the_network():
    requests = []

    def answer(request):
        requests.append(request)
        return httpx.Response(200, stream=httpx.ByteStream(data(1)))

    client = Client(
        "https://model.test/v1", headers={"x-key": "k"}, transport=httpx.MockTransport(answer)
    )
    assert ask(client) == [SseEvent("", b"1")]
    (request,) = requests
    assert (request.method, str(request.url)) == ("POST", "https://model.test/v1/x")
    assert request.headers["x-key"] == "k"
    assert request.content == b"{}"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (httpx.ConnectError("refused"), "model.test cannot be reached: refused"),
        (httpx.ReadError("reset"), "the connection to model.test broke off: reset"),
        (httpx.ProxyError("407"), "asking model.test failed: 407"),
    ],
)
def test_a_failure_of_the_network_is_a_network_error(error, message):
    def fail(_request):
        raise error

    with pytest.raises(ProviderError, match=message) as caught:
        ask(Client("https://model.test", transport=httpx.MockTransport(fail)))
    assert caught.value.kind == "network"


@pytest.mark.parametrize("location", ["data:text/plain,x", "http:x", "http://[::1", "http://x:y/"])
def test_a_redirect_to_no_address_is_an_error_of_the_server(location):
    def redirect(_request):
        return httpx.Response(302, headers={"location": location})

    with pytest.raises(ProviderError):
        ask(Client("https://model.test", transport=httpx.MockTransport(redirect)))


def test_no_cookie_is_sent_back_and_nothing_is_sent_that_nobody_asked_for():
    received = []

    def answer(request):
        received.append(sorted(request.headers))
        headers = {"set-cookie": "id=1; Path=/"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(data(1)))

    client = Client("https://model.test", transport=httpx.MockTransport(answer))
    ask(client)
    ask(client)
    common = ["accept", "accept-encoding", "content-length", "content-type", "host", "user-agent"]
    assert received == [common, common]


@pytest.mark.parametrize("value", ["Bearer k\r\nx-evil: 1", "Bearer k\n", "Bearer \xe4"])
def test_a_header_that_would_begin_another_one_is_refused_and_not_shown(value):
    with pytest.raises(ProviderError, match="is the key right") as caught:
        Client("https://model.test", headers={"authorization": value})
    assert "Bearer" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["ftp://p.test", "p.test:3128", "http://u:secret@p.test:x"])
def test_a_proxy_that_is_none_is_a_configuration_error_without_its_password(proxy):
    with pytest.raises(ConfigError, match="is not an http://") as caught:
        ask(Client("http://model.test", proxy=proxy))
    assert "secret" not in str(caught.value)


def test_a_socks_proxy_without_its_package_says_which_one(monkeypatch):
    monkeypatch.setattr(transport, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"install nanocoder-kit-llm\[socks\]"):
        ask(Client("http://model.test", proxy="socks5://127.0.0.1:1080"))


def socks_proxy(listener, port, hosts):
    """Serve one SOCKS5 connection: note which host is asked for, and connect to *port* instead."""
    inner, _ = listener.accept()
    with inner, socket.create_connection(("127.0.0.1", port)) as outer:
        inner.recv(64)
        inner.sendall(b"\x05\x00")
        wish = inner.recv(256)
        hosts.append(wish[5 : 5 + wish[4]].decode())
        inner.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        request = b""
        while not request.endswith(b"{}"):
            request += inner.recv(65_536)
        outer.sendall(request)
        while piece := outer.recv(65_536):
            inner.sendall(piece)


def test_a_socks_proxy_looks_the_name_up_and_gets_the_request():
    hosts = []
    with (
        ScriptedServer(events(1)) as server,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        thread = threading.Thread(target=socks_proxy, args=(listener, server.port, hosts))
        thread.start()
        client = Client(
            "http://model.test", proxy=f"socks5://127.0.0.1:{listener.getsockname()[1]}"
        )
        assert ask(client) == [SseEvent("", b"1")]
        client.close()
        server.close()
        thread.join(5)
    assert hosts == ["model.test"]


def test_certificates_that_cannot_be_read_are_a_configuration_error(monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(ConfigError, match=r"none\.pem.* cannot be read"):
        ask(Client("https://model.test"))


def test_certificates_are_read_once_for_all_clients():
    assert transport.tls_context() is transport.tls_context()


def test_a_connection_that_comes_after_a_cancel_is_closed(monkeypatch):
    connecting, cancelled, closed = threading.Event(), threading.Event(), threading.Event()

    class Late(httpcore.MockStream):
        def close(self):
            closed.set()

    def connect(*_args):
        connecting.set()
        cancelled.wait(40)
        return Late([])

    # No other way makes a system call return late.
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    cancel = Cancel()
    threading.Thread(target=lambda: (connecting.wait(40), cancel.set())).start()
    with pytest.raises(Cancelled):
        list(Client("http://model.test").stream_events("/x", b"{}", cancel))
    cancelled.set()
    assert closed.wait(40)


def test_an_invalid_redirect_is_not_asked_again():
    answers = httpx.MockTransport(lambda _: httpx.Response(302, headers={"location": "data:x"}))
    with pytest.raises(FinalError, match="redirects to an invalid address"):
        ask(Client("https://model.test", transport=answers))


def test_a_redirect_within_the_server_names_it():
    answers = httpx.MockTransport(lambda _: httpx.Response(302, headers={"location": "/v2/x"}))
    with pytest.raises(FinalError, match=r"redirects to model\.test; that is not followed"):
        ask(Client("https://model.test", transport=answers))
