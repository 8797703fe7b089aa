import json
import time
from email.utils import formatdate

import pytest
from nanocoder_kit_files.redact import remember
from nanocoder_kit_llm.http import failure_in_stream, failure_of_status
from nanocoder_kit_llm.http.failures import retry_after_s


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
    other = b'{"error": {"message": "I am a teapot."}}'
    assert str(failure(418, other)) == "example.test answered 418: I am a teapot."


@pytest.mark.parametrize(
    ("status", "advice"),
    [(403, "check the key and its permissions"), (405, "is the base URL right?"), (502, "")],
)
def test_a_page_in_place_of_an_error_gets_one_piece_of_advice(status, advice):
    """The page of a gateway says nothing about the address: the server behind it is down."""
    text = str(failure(status, b"<html><h1>nginx</h1></html>"))
    _, *advices = text.split("; ")
    assert advices == [advice] * bool(advice)


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


OVERFLOWS = (
    (400, "prompt is too long: 213462 tokens > 200000 maximum", ""),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", ""),
    (400, "Your input exceeds the context window of this model.", ""),
    (
        400,
        "This model's maximum prompt length is 131072 but the request contains 537812",
        "",
    ),
    (400, "The input token count (1196265) exceeds the maximum number of tokens allowed", ""),
    (413, "Please reduce the length of the messages or completion.", ""),
    (400, "Your request exceeded model token limit: 131072 (requested: 200000)", ""),
    (400, "Input is too long for requested model.", ""),
    (500, "This model's maximum model length is 4096, however you requested 5000 tokens", ""),
    (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens).", ""),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 and 100", ""),
    (400, "Prompt exceeds max length", "1261"),
    (400, "Range of input length should be [1, 98304]", "invalid_parameter_error"),
    (400, "x", "model_max_prompt_tokens_exceeded"),
    (400, "prompt token count of 130000 exceeds the limit of 128000", ""),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 128000", ""),
    (400, "x", "string_above_max_length"),
    (502, "upstream: maximum context length is 8192 tokens", ""),
    (500, "the request exceeds the available context size, try increasing it", ""),
)


@pytest.mark.parametrize(("status", "message", "code"), OVERFLOWS)
def test_an_overflow_is_known_however_it_is_worded(status, message, code):
    body = json.dumps({"error": {"message": message, "code": code}}).encode()
    assert failure(status, body).kind == "context_overflow"


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (413, "Request too large for model x on tokens per minute (TPM): Limit 6000", "rate_limit"),
        (429, "This request would exceed the maximum number of tokens allowed", "rate_limit"),
        (401, "no context length for you", "auth"),
        (500, "too many tokens per minute", "unavailable"),
    ],
)
def test_a_limit_of_tokens_in_a_time_is_none_of_the_context(status, message, kind):
    body = json.dumps({"error": {"message": message}}).encode()
    assert failure(status, body).kind == kind


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Could not process image"),
        (400, "unknown variant `image_url`, expected `text`"),
        (404, "No endpoints found that support image input"),
        (422, "this model is not multimodal"),
        (500, "image input is not supported"),
    ],
)
def test_a_refusal_of_pictures_is_known_at_any_status(status, message):
    assert failure(status, json.dumps({"error": {"message": message}}).encode()).kind == "media"


def test_the_name_of_a_model_is_no_word_about_pictures():
    body = b'{"error": {"message": "the model some-vision-7b does not exist"}}'
    assert failure(404, body).kind == "not_found"
