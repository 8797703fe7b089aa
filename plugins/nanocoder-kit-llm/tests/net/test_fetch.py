"""What a request brings back, and what bounds it."""

import gzip
import socket
import threading
import time
import tracemalloc
import zlib
from contextlib import suppress

import pytest
from nanocoder import Cancel, Cancelled, ToolError
from nanocoder_kit_llm.net import Guard, Limits, RateLimit, fetch, parse_rules, parse_url

GUARD = Guard(parse_rules(["loopback"]))


def ask(url, *, cancel=None, on_hop=None, method="GET", **limits):
    return fetch(
        parse_url(url),
        GUARD,
        cancel=cancel or Cancel(),
        limits=Limits(**limits),
        method=method,
        on_hop=on_hop,
    )


def refusal(url, **more):
    with pytest.raises(ToolError) as caught:
        ask(url, **more)
    return caught.value


def test_an_answer_has_its_address_status_headers_and_text(server):
    server.pages["/a"] = server.text(
        "é".encode("latin-1"), 404, content_type="Text/HTML; Charset=latin-1"
    )
    answer = ask(f"{server.url}/a?x=é y".replace(" ", "%20"))
    assert (answer.status, answer.media_type, answer.text) == (404, "text/html", "é")
    assert answer.url == f"{server.url}/a?x=%C3%A9%20y"
    assert (answer.is_cut, answer.hops) == (False, ())


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        (b"\xff\xfeh\0i\0", "utf-8", "hi"),
        (b"\xef\xbb\xbfhi", "latin-1", "hi"),
        (b"h\xffi", "utf-8", "h\ufffdi"),
        (b"hi", "rot13", "hi"),
        (b"hi", "zlib_codec", "hi"),
        (b"a\\u0041", "unicode_escape", "a\\u0041"),
        (b"hi", "no-such", "hi"),
        (b"hi", "", "hi"),
    ],
)
def test_a_server_cannot_choose_an_odd_encoding(server, body, charset, text):
    server.pages["/a"] = server.text(body, content_type=f"text/plain; charset={charset}")
    assert ask(f"{server.url}/a").text == text


@pytest.mark.contract("MA-62")
def test_redirects_are_followed_up_to_a_limit(server):
    for number in range(8):
        server.pages[f"/{number}"] = server.redirect(f"{number + 1}?from=ü x")
    server.pages["/8"] = server.text("here")
    answer = ask(f"{server.url}/3")
    assert answer.text == "here"
    assert len(answer.hops) == 5
    assert answer.url == f"{server.url}/8?from=%C3%BC%20x"
    error = refusal(f"{server.url}/2")
    assert error.error_class == "too_many_redirects"
    assert len(error.data["hops"]) == 6


def test_a_redirect_can_be_the_answer(server):
    server.pages["/a"] = server.text("moved", 301, location="/b")
    answer = fetch(parse_url(f"{server.url}/a"), GUARD, cancel=Cancel(), follow=False)
    assert (answer.status, answer.text, answer.headers["location"]) == (301, "moved", "/b")


def test_a_post_that_is_redirected_becomes_a_get_but_for_307(server):
    server.pages["/a"] = server.redirect("/", 302)
    server.pages["/b"] = server.redirect("/", 307)
    ask(f"{server.url}/a", method="POST")
    ask(f"{server.url}/b", method="POST")
    assert [method for method, path, _ in server.hits if path == "/"] == ["GET", "POST"]


def test_no_cookie_goes_along_to_the_next_hop(server):
    server.pages["/a"] = server.text("", 302, location="/b", set_cookie="id=1; Path=/")
    assert ask(f"{server.url}/a").status == 200
    assert [path for _, path, headers in server.hits if "cookie" not in headers] == ["/a", "/b"]


def test_the_address_is_asked_letter_by_letter(server):
    path = "/%41/a|b?q=[1]&r=c%20d^"
    assert ask(f"{server.url}{path}").status == 200
    assert server.hits[0][1] == "/%41/a%7Cb?q=[1]&r=c%20d%5E"


def test_the_body_of_a_redirect_is_not_read(server):
    def flood(handler):
        handler.send_response(302)
        handler.send_header("location", "/")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        with suppress(OSError):
            while True:
                handler.wfile.write(b"10000\r\n" + b"A" * 65_536 + b"\r\n")

    server.pages["/a"] = flood
    assert ask(f"{server.url}/a", seconds=5).text == "CANARY-ssrf"


@pytest.mark.parametrize(
    "location", ["http://a..b/", "http:x", "http://[::1", "http://x:y/", "http://999.1.1.1/"]
)
def test_a_redirect_to_no_address_is_refused(server, location):
    server.pages["/a"] = server.redirect(location)
    assert refusal(f"{server.url}/a").error_class == "invalid_url"


def test_an_address_that_only_looks_like_one_is_refused(server):
    assert refusal("http://999.1.1.1/").error_class == "invalid_url"


def test_each_hop_can_be_changed_before_it_is_asked(server):
    seen = []

    def on_hop(target):
        seen.append(target.path)
        return target

    server.pages["/a"] = server.redirect("/b")
    ask(f"{server.url}/a", on_hop=on_hop)
    assert seen == ["/a", "/b"]


def endless(handler):
    handler.send_response(200)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"10000\r\n" + b"A" * 65_536 + b"\r\n")
    except OSError:
        return


# SSRF-049
@pytest.mark.contract("MA-67")
def test_an_endless_body_is_cut(server):
    server.pages["/a"] = endless
    answer = ask(f"{server.url}/a", body_bytes=1_000_000)
    assert (len(answer.body), answer.is_cut) == (1_000_000, True)


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        zlib.compress,
        lambda data: zlib.compress(data)[2:-4],
    ],
    ids=["gzip", "deflate", "raw deflate"],
)
def test_packed_bodies_are_unpacked_up_to_the_limit(server, pack):
    encoding = "gzip" if pack is gzip.compress else "deflate"
    server.pages["/a"] = server.text(pack(b"x" * 50_000_000), content_encoding=encoding)
    server.pages["/b"] = server.text(pack(b"small"), content_encoding=encoding)
    answer = ask(f"{server.url}/a", body_bytes=100_000)
    assert (len(answer.body), answer.is_cut) == (100_000, True)
    assert ask(f"{server.url}/b").body == b"small"


def test_a_body_that_unpacks_to_much_is_never_unpacked_whole(server):
    packed = gzip.compress(bytes(200_000_000))
    server.pages["/a"] = server.text(packed, content_encoding="gzip")
    tracemalloc.start()
    try:
        answer = ask(f"{server.url}/a", body_bytes=100_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(answer.body), answer.is_cut) == (100_000, True)
    assert peak < 20_000_000


# SSRF-051
@pytest.mark.parametrize("encoding", ["gzip, gzip, gzip, gzip", "br", "zstd", "compress"])
def test_other_packings_are_refused(server, encoding):
    server.pages["/a"] = server.text(b"x", content_encoding=encoding)
    assert refusal(f"{server.url}/a").error_class == "unsupported_encoding"


def test_a_body_that_is_not_what_it_says_is_refused(server):
    server.pages["/a"] = server.text(b"no gzip", content_encoding="gzip")
    assert refusal(f"{server.url}/a").error_class == "broken_encoding"


def loris(handler):
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    try:
        for _ in range(1_000):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return


# SSRF-052
def test_a_byte_now_and_then_does_not_move_the_deadline(server):
    server.pages["/a"] = loris
    started = time.monotonic()
    error = refusal(f"{server.url}/a", seconds=0.5)
    assert error.error_class == "timeout"
    assert "0.5 s" in str(error)
    assert time.monotonic() - started < 2


def test_redirects_share_the_deadline(server):
    def slow(handler):
        time.sleep(0.3)
        server.redirect("/a")(handler)

    server.pages["/a"] = slow
    started = time.monotonic()
    assert refusal(f"{server.url}/a", seconds=0.7, redirects=50).error_class == "timeout"
    assert time.monotonic() - started < 2


def test_cancelling_ends_the_wait_at_once(server):
    server.pages["/a"] = loris
    cancel = Cancel()
    threading.Timer(0.3, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        ask(f"{server.url}/a", cancel=cancel)
    assert time.monotonic() - started < 1.3


def test_cancelling_ends_a_connect_that_hangs():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        try:
            for filler in fillers:  # nobody accepts: the queue is full and the next one waits
                filler.setblocking(False)
                filler.connect_ex(listener.getsockname())
            cancel = Cancel()
            threading.Timer(0.3, cancel.set).start()
            started = time.monotonic()
            with pytest.raises(Cancelled):
                ask(f"http://127.0.0.1:{listener.getsockname()[1]}/", cancel=cancel)
            assert time.monotonic() - started < 1.3
        finally:
            for filler in fillers:
                filler.close()


def test_an_answer_that_breaks_off_says_so(server):
    def cut(handler):
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")

    server.pages["/a"] = cut
    assert refusal(f"{server.url}/a").error_class == "broken_answer"


# SSRF-043
@pytest.mark.parametrize(
    ("url", "error_class"),
    [
        ("http://public.test/a%0d%0aX-Evil:%201\r\nX-Evil2: 1", "invalid_url"),
        ("http://public.test/a b", "invalid_url"),
        ("http://public.test/\0", "invalid_url"),
        ("http://", "invalid_url"),
        ("http:///path", "invalid_url"),
        ("http:example.org", "invalid_url"),
        ("example.org", "invalid_url"),
        ("http://exa%6dple.org/", "invalid_url"),
        ("http://a..b/", "invalid_url"),
        ("http://example.org:0/", "invalid_url"),
        ("http://example.org:70000/", "invalid_url"),
        ("http://example.org:\uff18\uff10/", "invalid_url"),
        ("http://[::1/", "invalid_url"),
        ("http://[::1%25lo]/", "invalid_url"),
        ("http://[::1]x/", "invalid_url"),
        ("http://exam\\ple.org/", "invalid_url"),
        ("http://\ud800.org/", "invalid_url"),
        ("http://" + "a" * 9_000, "invalid_url"),
        ("file:///etc/passwd", "scheme_not_allowed"),
        ("javascript:alert(1)", "scheme_not_allowed"),
        ("ftp://example.org/", "scheme_not_allowed"),
    ],
)
def test_what_is_no_web_address_is_refused(url, error_class):
    with pytest.raises(ToolError) as caught:
        parse_url(url)
    assert caught.value.error_class == error_class


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Example.ORG.:80", "http://example.org/"),
        ("https://example.org:443/a#b", "https://example.org/a"),
        ("https://example.org:8443?q=1", "https://example.org:8443/?q=1"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://example.org/%41?a=b%20c&d=[1]", "http://example.org/%41?a=b%20c&d=[1]"),
        ("http://example.org:/", "http://example.org/"),
    ],
)
def test_an_address_is_written_in_one_way(url, expected):
    assert parse_url(url).url == expected


# SSRF-057
def test_a_host_is_not_asked_more_often_than_agreed():
    now = [0.0]
    limit = RateLimit(3, clock=lambda: now[0])
    for _ in range(3):
        limit.take("a.test")
    limit.take("b.test")
    with pytest.raises(ToolError, match="wait 60 s") as caught:
        limit.take("a.test")
    assert caught.value.error_class == "rate_limited"
    now[0] = 60.1
    limit.take("a.test")


def test_importing_the_kit_imports_no_http_client():
    import subprocess
    import sys

    code = (
        "import sys, nanocoder_kit_llm.net; print({'httpx', 'httpcore', 'ssl'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
