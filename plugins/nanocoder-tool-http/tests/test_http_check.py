"""What http_check tests, follows and refuses."""

import time

import nanocoder_tool_http
import pytest
from nanocoder import BadArguments, ToolError
from nanocoder_testing import opened
from nanocoder_testing.playing import called
from nanocoder_tool_http import Settings, http_check


@pytest.fixture
def check(ctx):
    def run(url, **more):
        return http_check.invoke(ctx, http_check.signature.check({"url": url, **more}))

    return run


def refusal(check, url, **more):
    with pytest.raises(ToolError) as caught:
        check(url, **more)
    return caught.value.error_class


@pytest.mark.contract("MA-98")
@pytest.mark.contract("MA-101")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1"])
def test_a_server_of_this_machine_is_checked(check, server, host):
    result = check(f"http://{host}:{server.port}/")
    assert result.output.startswith(f"PASS GET http://{host}:{server.port}/ -> 200, 11 bytes, ")
    assert result.output.endswith("\n- status is 200: ok")
    assert result.data["passed"]
    assert not result.is_error


@pytest.mark.contract("MA-99")
def test_texts_that_have_to_be_there_and_texts_that_may_not(check, server):
    server.pages["/"] = server.text("<h1>Welcome</h1>")
    result = check(
        server.url, expected_content=["Welcome", "Goodbye"], not_expected_content=["error", "<h1>"]
    )
    assert result.error_class == "check_failed"
    assert result.output.splitlines()[0].startswith("FAIL GET ")
    assert result.data["checks"] == [
        {"check": "status is 200", "passed": True},
        {"check": "has 'Welcome'", "passed": True},
        {"check": "has 'Goodbye'", "passed": False},
        {"check": "lacks 'error'", "passed": True},
        {"check": "lacks '<h1>'", "passed": False},
    ]
    assert "the body begins with:\n<h1>Welcome</h1>" in result.output


@pytest.mark.contract("MA-98")
@pytest.mark.parametrize(("status", "expected", "passed"), [(404, 404, True), (500, 200, False)])
def test_the_status_is_compared(check, server, status, expected, passed):
    server.pages["/"] = server.text("x", status)
    result = check(server.url, expected_status=expected)
    assert result.data["passed"] is passed


@pytest.mark.contract("MA-98")
@pytest.mark.parametrize("method", ["HEAD", "POST", "GET"])
def test_the_method_is_sent(check, server, method):
    check(server.url, method=method)
    assert server.hits[0][0] == method


@pytest.mark.contract("MA-100")
def test_ten_redirects_are_followed_and_not_eleven(check, server):
    for number in range(11):
        server.pages[f"/{number}"] = server.redirect(f"/{number + 1}")
    server.pages["/11"] = server.text("here")
    result = check(f"{server.url}/1", expected_content=["here"])
    assert result.data["passed"]
    assert len(result.metadata["redirects"]) == 10
    assert "redirected from" in result.output
    assert refusal(check, f"{server.url}/0") == "too_many_redirects"


def test_a_redirect_that_is_expected_is_not_followed(check, server):
    server.pages["/old"] = server.redirect("http://elsewhere.test/", 301)
    assert check(f"{server.url}/old", expected_status=301).data["passed"]


@pytest.mark.contract("MA-100")
def test_a_long_body_is_looked_at_up_to_the_limit(check, server):
    server.pages["/"] = server.text("a" * 1_048_576 + "needle")
    result = check(server.url, expected_content=["needle"])
    assert (result.metadata["bytes"], result.metadata["truncated"]) == (1_048_576, True)
    assert "only that much was looked at" in result.output
    assert not result.data["passed"]
    assert check(server.url, max_body_bytes=10).metadata["bytes"] == 10


@pytest.mark.contract("MA-100")
@pytest.mark.parametrize("size", [0, -1, 1_048_577])
def test_a_limit_out_of_range_is_refused(size):
    with pytest.raises(BadArguments, match="max_body_bytes"):
        http_check.signature.check({"url": "http://localhost/", "max_body_bytes": size})


@pytest.mark.contract("MA-97")
def test_a_server_that_does_not_answer_in_time_is_a_timeout(check, server, monkeypatch):
    monkeypatch.setattr(nanocoder_tool_http, "TIMEOUT_S", 0.3)
    server.pages["/"] = lambda handler: time.sleep(1)
    assert refusal(check, server.url) == "timeout"


@pytest.mark.contract("MA-97")
def test_the_limit_is_fifteen_seconds():
    assert nanocoder_tool_http.TIMEOUT_S == 15


def test_nothing_that_listens_is_said_so(check, server):
    port = server.port
    server.close()
    server.close = lambda: None
    assert refusal(check, f"http://127.0.0.1:{port}/") == "connect_failed"


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[fd00::1]", "192.168.0.1", "0"])
def test_other_private_addresses_are_refused(check, host):
    assert refusal(check, f"http://{host}/") == "private_address"


def test_a_setting_narrows_this_machine_to_a_port(ctx, check, server, other):
    ctx.settings = Settings(allow=(f"127.0.0.1:{server.port}",))
    assert check(server.url).data["passed"]
    server.pages["/go"] = server.redirect(other.url)
    assert refusal(check, other.url) == "private_address"
    assert refusal(check, f"{server.url}/go") == "private_address"
    assert other.hits == []


def test_an_ambiguous_setting_is_refused():
    with pytest.raises(ValueError, match="is not a rule"):
        Settings(allow=("::1:443",))


@pytest.mark.contract("MA-101")
@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        ({"url": "http://localhost:3000/"}, False),
        ({"url": "http://127.0.0.1/", "method": "HEAD"}, False),
        ({"url": "http://[::1]:3000/"}, False),
        ({"url": "http://127.0.0.1/", "method": "DELETE"}, True),
        ({"url": "http://example.org/"}, True),
        ({"url": "http://localhost.example.org/"}, True),
        ({"url": "http://127.0.0.1@example.org/"}, True),
        ({"url": "nonsense"}, True),
        ({}, True),
    ],
)
def test_a_person_agrees_to_what_leaves_this_machine_or_changes_something(arguments, asks):
    assert http_check.confirm(arguments) is asks
    assert http_check.risk == "safe"


@pytest.mark.contract("MA-101")
def test_a_redirect_does_not_leave_this_machine_without_consent(check, server):
    server.pages["/away"] = server.redirect("http://198.51.100.1/?secret")
    assert refusal(check, f"{server.url}/away") == "redirected_away"
    assert check(f"{server.url}/away", expected_status=302).data["passed"]


def test_polling_is_no_loop(server, tmp_path):
    assert http_check.repeatable
    with opened(tmp_path, plugins=[nanocoder_tool_http]) as (session, _):
        outputs = [called(session, "http_check", {"url": server.url})[0] for _ in range(4)]
    assert [result.is_error for result in outputs] == [False] * 4
