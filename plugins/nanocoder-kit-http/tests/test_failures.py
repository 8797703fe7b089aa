import time
from email.utils import formatdate

import pytest
from nanocoder_kit_http import failure_in_stream, failure_of_status
from nanocoder_kit_http.failures import retry_after_s
from nanocoder_kit_redact import remember


def failure(status, body=b"{}", **more):
    return failure_of_status(status, body, host="example.test", **more)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b'{"error": {"message": "bad"}}', "bad_request"),
        (
            400,
            b'{"error": {"code": "context_length_exceeded", "message": "x"}}',
            "context_overflow",
        ),
        (
            400,
            (
                b'{"type": "error", "error": {"type": "invalid_request_error",'
                b' "message": "prompt is too long: 210000 tokens > 200000"}}'
            ),
            "context_overflow",
        ),
        (400, b'{"error": {"message": "Your credit balance is too low"}}', "quota"),
        (401, b"", "auth"),
        (402, b"", "quota"),
        (403, b"", "auth"),
        (404, b'{"detail": "no such model"}', "not_found"),
        (408, b"", "unavailable"),
        (409, b"", "unavailable"),
        (413, b"", "context_overflow"),
        (418, b"", "bad_request"),
        (422, b'[{"error": {"message": "x"}}]', "bad_request"),
        (429, b'{"error": {"message": "slow down"}}', "rate_limit"),
        (429, b'{"error": {"code": "insufficient_quota", "message": "pay"}}', "quota"),
        (500, b"<html>oops</html>", "unavailable"),
        (503, b"", "overloaded"),
        (529, b"", "overloaded"),
    ],
)
def test_status_and_body_say_what_kind_of_failure_it_is(status, body, kind):
    error = failure(status, body)
    assert (error.kind, error.status) == (kind, status)
    assert str(error).startswith(f"example.test answered {status}: ")
    assert ("`nanocoder models PROVIDER` lists all" in str(error)) == (kind == "not_found")


def test_advice_follows_the_servers_sentence_without_two_stops():
    body = b'{"error": {"message": "Incorrect API key."}}'
    start = "example.test answered 401: Incorrect API key; the key in ACME_API_KEY is not accepted"
    assert str(failure(401, body, key_from="ACME_API_KEY")).startswith(start)
    assert str(failure(418, body)) == "example.test answered 418: Incorrect API key."


def test_the_servers_words_are_one_clean_line_without_the_key():
    remember("my-own-key", "ACME_API_KEY")
    body = b'{"error": {"message": "bad key my-own-key\\u001b[31m\\n\\u202e %s"}}' % (b"x" * 900)
    text = str(failure(401, body))
    assert "bad key [secret: ACME_API_KEY] [31m" in text
    assert text.isprintable()
    assert len(text) < 600


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limit"),
        ("api_error", "unavailable"),
        ("invalid_request_error", "bad_request"),
        ("something_new", "unavailable"),
    ],
)
def test_an_error_inside_a_stream_is_sorted_by_its_type(code, kind):
    error = failure_in_stream({"type": code, "message": "m"}, host="h")
    assert error.kind == kind
    assert str(error) == "h broke off the reply: m"


def test_an_error_inside_a_stream_may_be_a_number_or_a_text():
    assert failure_in_stream({"code": 429, "message": "m"}, host="h").kind == "rate_limit"
    assert "gone" in str(failure_in_stream("gone", host="h"))


def test_retry_after_is_seconds_milliseconds_or_a_date():
    now = time.time()
    assert retry_after_s({"retry-after": "2"}, now) == 2
    assert retry_after_s({"retry-after-ms": "1500", "retry-after": "9"}, now) == 1.5
    later = retry_after_s({"retry-after": formatdate(now + 30, usegmt=True)}, now)
    assert later == pytest.approx(30, abs=1.1)
    assert retry_after_s({"retry-after": formatdate(now - 30, usegmt=True)}, now) == 0
    for nonsense in ("-5", "soon", "inf", "nan", "", "Mon, 99 Foo"):
        assert retry_after_s({"retry-after": nonsense}, now) is None
    assert retry_after_s({"retry-after": "1e9"}, now) == 1e9
