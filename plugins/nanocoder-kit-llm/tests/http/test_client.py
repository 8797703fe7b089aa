import socket
import subprocess
import threading
import time
import zlib
from itertools import chain

import pytest
from nanocoder import Cancel, Cancelled, ConfigError, ProviderError
from nanocoder_kit_llm.http import WHOLE_REPLY, Client, FinalError, Key, Retry, SseEvent, Timeouts
from nanocoder_testing.server import FOREVER, Answer, ScriptedServer, data, events, refusal

SMALL = Timeouts(connect_s=0.5, header_s=0.5, idle_s=0.4, progress_s=2.0)


@pytest.fixture
def serve():
    servers = []

    def start(*answers):
        servers.append(ScriptedServer(*answers))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def connect():
    clients = []

    def make(server, **options):
        url = server if isinstance(server, str) else server.url
        clients.append(Client(url, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def ask(client, cancel=None):
    batches = client.stream_events("/x", b"{}", cancel or Cancel())
    return list(chain.from_iterable(batches))


def failure(client, cancel=None):
    with pytest.raises(ProviderError) as caught:
        ask(client, cancel)
    return caught.value


def test_events_arrive_whole_when_the_server_sends_one_byte_at_a_time(serve, connect):
    text = data({"text": "a\u2028b \u00e9 \U0001f600"}) + data(b"[DONE]")
    server = serve(Answer([bytes([byte]) for byte in text]))
    assert [event.data for event in ask(connect(server))] == [text[6:-16], b"[DONE]"]


def test_all_events_of_one_read_come_as_one_list(serve, connect):
    server = serve(Answer([b"".join(data(number) for number in range(5))]))
    batches = list(connect(server).stream_events("/x", b"{}", Cancel()))
    assert [len(batch) for batch in batches] == [5]


def test_the_request_carries_the_headers_and_asks_for_no_compression(serve, connect):
    server = serve(events(1))
    ask(connect(server.url + "/v9/", headers={"authorization": "Bearer k"}))
    (seen,) = server.seen
    assert (seen.method, seen.path, seen.body) == ("POST", "/v9/x", b"{}")
    assert seen.headers["accept-encoding"] == "identity"
    assert seen.headers["authorization"] == "Bearer k"
    assert seen.headers["content-type"] == "application/json"


def test_one_connection_serves_many_requests(serve, connect):
    server = serve(events(1))
    client = connect(server)
    for _ in range(3):
        ask(client)
    assert [seen.connection for seen in server.seen] == [1, 1, 1]


def test_a_reader_that_stops_at_the_end_mark_keeps_the_connection(serve, connect):
    server = serve(Answer([data(1), 0.05, data(b"[DONE]"), 0.05, b": trailing\n\n"]))
    client = connect(server)
    for _ in range(2):
        batches = client.stream_events("/x", b"{}", Cancel())
        assert next(batches) == [SseEvent("", b"1")]
        batches.close()
    assert [seen.connection for seen in server.seen] == [1, 1]


def test_a_server_that_talks_on_after_the_end_does_not_hold_the_reader(serve, connect):
    server = serve(Answer([data(1), *[b": more\n\n", 0.05] * 1000]))
    batches = connect(server).stream_events("/x", b"{}", Cancel())
    next(batches)
    begin = time.monotonic()
    batches.close()
    assert time.monotonic() - begin < 1  # the server goes on for 50 s


# PROV-065
def test_a_connection_that_was_dropped_between_turns_is_opened_again(serve, connect):
    # A chunk of length 0 is the end mark: the reply is whole, then the server hangs up.
    server = serve(Answer([data(1), b""], cut=True))
    client = connect(server)
    for _ in range(2):
        assert len(ask(client)) == 1
        time.sleep(0.05)
    assert [seen.connection for seen in server.seen] == [1, 2]


@pytest.mark.parametrize(
    "answer",
    [
        Answer([data(1), data(2)], cut=True),
        Answer([data(1), data(2)], headers={"content-length": "999"}, framing="close"),
    ],
    ids=["chunked", "with a length"],
)
def test_a_reply_that_is_cut_is_an_error_after_its_events(serve, connect, answer):
    got = []
    with pytest.raises(ProviderError, match="broke off") as caught:
        got.extend(chain.from_iterable(connect(serve(answer)).stream_events("/x", b"", Cancel())))
    assert caught.value.kind == "network"
    assert [event.data for event in got] == [b"1", b"2"]


# PROV-016
def test_a_server_that_never_answers_is_left_after_the_header_time(serve, connect):
    server = serve(Answer([FOREVER], framing="nothing"))
    error = failure(connect(server, timeouts=SMALL))
    assert "did not begin to answer within 0.5 s" in str(error)
    assert error.kind == "network"


def test_headers_one_byte_at_a_time_are_given_up_at_the_header_time(serve, connect):
    drip = [piece for byte in b"HTTP/1.1 200 OK\r\n" * 50 for piece in (bytes([byte]), 0.05)]
    begin = time.monotonic()
    error = failure(connect(serve(Answer(drip, framing="nothing")), timeouts=SMALL))
    assert "did not begin to answer" in str(error)
    assert time.monotonic() - begin < 2


# PROV-015
def test_silence_after_the_headers_ends_with_the_idle_time_and_is_worth_a_retry(serve, connect):
    error = failure(connect(serve(Answer([FOREVER])), timeouts=SMALL))
    assert "sent nothing for 0.4 s" in str(error)
    assert error.kind == "network"
    assert not isinstance(error, FinalError)


def test_pings_keep_a_slow_reply_alive(serve, connect):
    server = serve(Answer([data(1), *[0.2, b": ping\n\n"] * 4, data(2)]))
    assert len(ask(connect(server, timeouts=SMALL))) == 2


# PROV-009
def test_pings_for_ever_are_not_progress(serve, connect):
    server = serve(Answer([data(1), *[0.1, b": ping\n\n"] * 500]))
    error = failure(connect(server, timeouts=Timeouts(idle_s=0.4, progress_s=0.8)))
    assert "stalled" in str(error)
    assert isinstance(error, FinalError)


# PROV-014
def test_a_slow_drip_that_completes_no_event_is_given_up(serve, connect):
    server = serve(Answer([piece for _ in range(500) for piece in (b"x", 0.05)]))
    error = failure(connect(server, timeouts=Timeouts(idle_s=0.4, progress_s=0.8)))
    assert "sent nothing of the reply for 0.8 s" in str(error)


def test_a_total_limit_ends_a_reply_that_would_go_on(serve, connect):
    server = serve(Answer([piece for _ in range(500) for piece in (data(1), 0.05)]))
    begin = time.monotonic()
    error = failure(connect(server, timeouts=Timeouts(total_s=0.7)))
    assert "took longer than 0.7 s in all" in str(error)
    assert time.monotonic() - begin < 2


# PROV-013
def test_a_line_without_end_is_given_up(serve, connect):
    flood = [b"data: ", *[b"A" * 1_000_000] * 20]
    assert failure(connect(serve(Answer(flood)))).kind == "protocol"


def cancelled_after(delay_s, client):
    """Ask, cancel after *delay_s*, and return how long the reader took to come back then."""
    cancel = Cancel()
    at = []
    timer = threading.Timer(delay_s, lambda: (at.append(time.monotonic()), cancel.set()))
    timer.start()
    with pytest.raises(Cancelled):
        ask(client, cancel)
    back = time.monotonic()
    timer.join()
    return back - at[0]


@pytest.mark.parametrize(
    "answer",
    [
        Answer([FOREVER], framing="nothing"),
        Answer([FOREVER]),
        Answer([data(1), FOREVER]),
        Answer([data(1), FOREVER], framing="close"),
        Answer([data(1), 0.01] * 1000),
    ],
    ids=["no header", "no byte", "mid-reply", "mid-reply without length", "talking"],
)
def test_a_cancel_wakes_the_reader_at_once(serve, connect, answer):
    assert cancelled_after(0.2, connect(serve(answer))) < 5


def test_a_cancel_wakes_a_connect_that_hangs(connect):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        try:
            for filler in fillers:  # nobody accepts: the queue is full and the next one waits
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            assert cancelled_after(0.2, connect(f"http://127.0.0.1:{port}")) < 5
            error = failure(connect(f"http://127.0.0.1:{port}", timeouts=SMALL))
            assert error.kind == "network"
        finally:
            for filler in fillers:
                filler.close()


def test_a_cancel_wakes_the_sending_of_a_large_request(connect):
    with socket.create_server(("127.0.0.1", 0)) as listener:  # accepts and never reads
        client = connect(f"http://127.0.0.1:{listener.getsockname()[1]}")
        cancel = Cancel()
        timer = threading.Timer(0.3, cancel.set)
        timer.start()
        begin = time.monotonic()
        with pytest.raises(Cancelled):
            list(client.stream_events("/x", b"x" * 50_000_000, cancel))
        assert time.monotonic() - begin < 2
        timer.join()


def test_a_cancel_before_the_request_sends_nothing(serve, connect):
    server = serve(events(1))
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        ask(connect(server), cancel)
    assert server.seen == []


def test_a_client_works_on_after_a_cancel(serve, connect):
    server = serve(Answer([data(1), FOREVER]), events(2))
    client = connect(server)
    cancelled_after(0.1, client)
    assert ask(client) == [SseEvent("", b"2")]


# PROV-022
def test_429_with_retry_after_is_asked_again_after_that_time(serve, connect):
    server = serve(refusal(429, retry_after="1"), events(1))
    client = connect(server)
    retrying, event = Retry().run(lambda: client.stream_events("/x", b"{}", Cancel()), Cancel())
    assert (retrying.status, event) == (429, SseEvent("", b"1"))
    first, second = server.seen
    assert second.at - first.at >= 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_a_refusal_is_asked_once(serve, connect, status):
    server = serve(refusal(status, {"error": {"message": "never"}}))
    client = connect(server)
    with pytest.raises(ProviderError, match=f"answered {status}: never"):
        list(Retry().run(lambda: client.stream_events("/x", b"{}", Cancel()), Cancel()))
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_busy_server_is_asked_seven_times(serve, connect, status):
    server = serve(refusal(status))
    client = connect(server)
    retry = Retry(sleep=lambda _cancel, _seconds: None)
    with pytest.raises(ProviderError, match="tried 7 times"):
        list(retry.run(lambda: client.stream_events("/x", b"{}", Cancel()), Cancel()))
    assert len(server.seen) == 7


def test_a_wait_of_a_day_is_told_and_not_waited(serve, connect):
    server = serve(refusal(429, retry_after="86400"))
    client = connect(server)
    with pytest.raises(ProviderError, match=r"asks to wait 86,400 s") as caught:
        list(Retry().run(lambda: client.stream_events("/x", b"{}", Cancel()), Cancel()))
    assert (caught.value.kind, caught.value.retry_after_s) == ("rate_limit", 86400)
    assert len(server.seen) == 1


def test_the_key_is_in_no_error(serve, connect, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "sk-12345")
    server = serve(refusal(401, {"error": {"message": "wrong key sk-12345"}}))
    assert "sk-12345" not in str(failure(connect(server, key=Key("ACME_API_KEY"))))


def packing(encoding, *pieces):
    headers = {"content-type": "text/event-stream", "content-encoding": encoding}
    return Answer(pieces, headers=headers)


def test_an_answer_in_a_packing_that_is_not_known_is_refused(serve, connect):
    assert "compressed" in str(failure(connect(serve(packing("br", b"x")))))


@pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15)])
def test_a_packed_answer_is_unpacked_as_it_comes(serve, connect, encoding, wbits):
    packer = zlib.compressobj(wbits=wbits)
    pieces = [
        packer.compress(data(number)) + packer.flush(zlib.Z_SYNC_FLUSH) for number in range(3)
    ]
    pieces.append(packer.flush())
    server = serve(packing(encoding, *pieces))
    assert [event.data for event in ask(connect(server))] == [b"0", b"1", b"2"]


def test_a_damaged_packed_answer_is_an_error(serve, connect):
    assert "damaged" in str(failure(connect(serve(packing("gzip", b"no gzip")))))


@pytest.mark.parametrize(
    ("body", "words", "kind"),
    [
        (b"Invalid API key provided.", "Invalid API key provided; check the key", "auth"),
        (b"upstream connect error", "upstream connect error", "protocol"),
    ],
)
def test_words_in_place_of_a_stream_are_told_and_not_asked_for_again(
    serve, connect, body, words, kind
):
    error = failure(connect(serve(Answer([body], headers={"content-type": "text/plain"}))))
    assert (words in str(error), error.kind) == (True, kind)


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream"])
def test_a_page_instead_of_a_stream_is_an_error(serve, connect, kind):
    page = Answer([b"\n<html>welcome</html>"], headers={"content-type": kind})
    assert "page instead of a reply" in str(failure(connect(serve(page))))


# PROV-018
def test_a_body_of_json_is_one_reply(serve, connect):
    server = serve(refusal(200, {"choices": []}))
    assert ask(connect(server)) == [SseEvent(WHOLE_REPLY, b'{"choices": []}', True)]


@pytest.mark.parametrize(
    "kind", ["", "application/octet-stream", "text/event-stream;charset=utf-16"]
)
def test_a_stream_is_known_by_its_bytes(serve, connect, kind):
    server = serve(Answer([data(1)], headers={"content-type": kind}))
    assert ask(connect(server)) == [SseEvent("", b"1")]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(serve, connect, status):
    other = serve(events(1))
    server = serve(refusal(status, location=other.url + "/x"))
    client = connect(server, headers={"authorization": "Bearer k"})
    assert f"redirects to 127.0.0.1:{other.port}" in str(failure(client))
    assert other.seen == []


# PROV-063
def test_a_server_that_is_not_running_is_told_at_once(connect):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = failure(connect(f"http://127.0.0.1:{port}"))
    assert "is the server running?" in str(error)
    assert isinstance(error, FinalError)


def test_a_name_that_does_not_exist_is_a_network_error(connect):
    assert failure(connect("http://nobody.invalid")).kind == "network"


def test_tls_to_a_plain_port_is_a_network_error(serve, connect):
    server = serve(events(1))
    assert failure(connect(f"https://127.0.0.1:{server.port}", timeouts=SMALL)).kind == "network"


@pytest.mark.parametrize(
    "url", ["", "example.test", "ftp://x", "http://", "https://user:pw@example.test", "http://x:y"]
)
def test_an_address_that_is_none_is_a_configuration_error(url):
    with pytest.raises(ConfigError, match="is not of the form"):
        Client(url)


def test_a_proxy_gets_the_requests_and_loopback_needs_none(serve, connect, monkeypatch):
    proxy = serve(events(1))
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ask(connect("http://model.test", proxy="environment")) == [SseEvent("", b"1")]
    assert ask(connect("http://model.test", proxy=proxy.url)) == [SseEvent("", b"1")]
    assert [seen.path for seen in proxy.seen] == ["http://model.test/x"] * 2
    direct = serve(events(2))
    assert ask(connect(direct, proxy="environment")) == [SseEvent("", b"2")]


def last_failure(client):
    """Return the failure that is left after all tries, which have no pauses."""
    retry = Retry(sleep=lambda *_: None)
    pieces = []
    with pytest.raises(ProviderError) as caught:
        pieces += retry.run(lambda: client.stream_events("/x", b"{}", Cancel()), Cancel())
    return str(caught.value)


def test_a_proxy_that_does_not_answer_is_named_and_not_the_vendor(connect, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@127.0.0.1:9")
    for name in ("https_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    text = last_failure(connect("https://model.test", proxy="environment"))
    assert text.startswith("the proxy http://")
    assert "127.0.0.1:9 (HTTPS_PROXY) cannot be reached: " in text
    assert "onnection refused" in text
    assert text.endswith("(tried 2 times)")
    assert "secret" not in text
    text = last_failure(connect("https://model.test", proxy="http://127.0.0.1:9"))
    assert text.startswith("the proxy http://127.0.0.1:9 cannot be reached: ")


def test_a_proxy_that_refuses_is_named(serve, connect):
    proxy = serve(*[refusal(502, {}) for _ in range(9)])
    text = str(failure(connect("https://model.test", proxy=proxy.url)))
    assert text.startswith(f"the proxy {proxy.url} does not connect to model.test: ")


def test_a_name_without_an_address_is_tried_twice_and_called_that(connect):
    text = last_failure(connect("https://nowhere.invalid"))
    assert text.startswith(
        "nowhere.invalid cannot be reached: there is no network, or the name is wrong: "
    )
    assert text.endswith("(tried 2 times)")


def test_get_json_returns_what_the_server_has(serve, connect):
    server = serve(refusal(200, {"data": [1]}))
    assert connect(server).get_json("/models") == {"data": [1]}
    assert server.seen[0].method == "GET"


@pytest.fixture
def tls_server(tmp_path, monkeypatch):
    """A TLS server that sends headers and one event, then nothing."""
    import ssl

    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-keyout",
            key,
            "-out",
            certificate,
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    listener = socket.create_server(("127.0.0.1", 0))

    def serve_one():
        with (
            listener,
            listener.accept()[0] as plain,
            context.wrap_socket(plain, server_side=True) as c,
        ):
            c.recv(65536)
            c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + data(1))
            while c.recv(65536):
                pass

    thread = threading.Thread(target=serve_one, daemon=True)
    thread.start()
    yield f"https://localhost:{listener.getsockname()[1]}"
    thread.join(5)


@pytest.mark.needs("openssl")
def test_tls_works_and_can_be_cancelled(tls_server, connect):
    cancel = Cancel()
    batches = connect(tls_server).stream_events("/x", b"{}", cancel)
    assert next(batches) == [SseEvent("", b"1")]
    threading.Timer(0.2, cancel.set).start()
    begin = time.monotonic()
    with pytest.raises(Cancelled):
        next(batches)
    assert time.monotonic() - begin < 1


def test_a_local_server_that_answered_before_is_waited_for(serve, connect):
    before = serve(events(1))
    client = connect(before)
    assert ask(client) == [SseEvent("", b"1")]
    port = before.port
    before.close()
    again = []

    def restart(_cancel, _seconds):
        if not again:
            again.append(ScriptedServer(events(2), port=port))

    retry = Retry(sleep=restart)
    pieces = list(retry.run(lambda: client.stream_events("/x", b"{}", Cancel()), Cancel()))
    again[0].close()
    assert pieces[-1] == SseEvent("", b"2")
    assert "cannot be reached" in pieces[0].reason or "broke off" in pieces[0].reason


def test_a_page_in_place_of_a_reply_shows_some_of_its_words(serve, connect):
    page = b"<html><head><style>p {color: red}</style><title>Sign in</title></head><p>to Acme Wi-Fi"
    server = serve(Answer([page], headers={"content-type": "text/html"}), refusal(502, page))
    client = connect(server)
    for error in (failure(client), failure(client)):
        assert "Sign in to Acme Wi-Fi" in str(error)
        assert "color" not in str(error)


@pytest.mark.parametrize(("status", "said", "asked"), [(500, "false", 1), (400, "true", 7)])
def test_x_should_retry_is_heeded(serve, connect, status, said, asked):
    server = serve(refusal(status, x_should_retry=said))
    client = connect(server)
    retry = Retry(sleep=lambda _cancel, _seconds: None)
    with pytest.raises(ProviderError):
        list(retry.run(lambda: client.stream_events("/x", b"{}", Cancel()), Cancel()))
    assert len(server.seen) == asked


@pytest.mark.contract("NT-64")
@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "the key in ACME_API_KEY is not accepted: is it expired, or for another server?"),
        (403, "the key in ACME_API_KEY is known, but it may not do this: check its permissions"),
    ],
)
def test_a_refused_key_is_said_with_the_variable_that_holds_it(serve, connect, status, advice):
    error = failure(connect(serve(refusal(status)), key=Key("ACME_API_KEY")))
    assert error.kind == "auth"
    assert advice in str(error)
