"""What web_search asks, and what it makes of the answer."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from nanocoder import BadArguments, ToolError
from nanocoder_tool_web import Settings, web_search

RESULTS = [
    {"title": f"Title\n {number}", "url": f"https://example.org/{number}", "content": "a\n snippet"}
    for number in range(12)
]


@pytest.fixture
def look(ctx, server):
    server.pages["/search"] = server.text(json.dumps({"results": RESULTS}))
    ctx.settings = Settings(instance=server.url)

    def run(query="python", **more):
        return web_search.invoke(ctx, web_search.signature.check({"query": query, **more}))

    return run


def refusal(look):
    with pytest.raises(ToolError) as caught:
        look()
    return caught.value


@pytest.mark.contract("MA-68")
@pytest.mark.contract("MA-71")
def test_title_address_and_snippet_of_five_results(look):
    result = look()
    assert result.output.splitlines()[:3] == [
        "1. Title 0",
        "   https://example.org/0",
        "   a snippet",
    ]
    assert len(result.data["results"]) == 5
    assert result.data["results"][4]["title"] == "Title 4"


@pytest.mark.contract("MA-68")
@pytest.mark.contract("MA-69")
@pytest.mark.contract("MA-70")
@pytest.mark.parametrize("path", ["", "/", "/searx", "/searx/search", "/?x=1"])
def test_the_instance_is_asked_for_json_without_a_key(look, ctx, server, path):
    server.pages["/searx/search"] = server.pages["/search"]
    ctx.settings = Settings(instance=server.url + path)
    look("rust & go?", count=10)
    [(method, target, headers)] = server.hits
    parts = urlsplit(target)
    assert (method, parts.path) == ("GET", "/searx/search" if "searx" in path else "/search")
    assert parse_qs(parts.query) == {"q": ["rust & go?"], "format": ["json"]}
    assert "authorization" not in headers


@pytest.mark.contract("MA-70")
def test_without_an_instance_the_answer_says_how_to_get_one(look, ctx):
    ctx.settings = Settings()
    error = refusal(look)
    assert error.error_class == "not_configured"
    assert "[plugins.tool-web]" in str(error)


@pytest.mark.contract("MA-71")
@pytest.mark.parametrize(
    "arguments", [{"count": 0}, {"count": 11}, {"query": ""}, {"query": "x" * 501}]
)
def test_limits_are_kept(look, arguments):
    with pytest.raises(BadArguments):
        look(**arguments)
    assert len(look(count=10).data["results"]) == 10


def test_nothing_found_is_no_error(look, server):
    server.pages["/search"] = server.text('{"results": []}')
    assert look("xyzzy").output == "No results for 'xyzzy'."


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ("<html>", 200, "is not a SearXNG"),
        ("[]", 200, "is not a SearXNG"),
        ('{"results": {}}', 200, "is not a SearXNG"),
        ("[" * 100_000, 200, "is not a SearXNG"),
        ("", 403, "search.formats"),
        ("", 500, "status 500"),
    ],
)
def test_an_instance_that_answers_oddly_is_named(look, server, body, status, problem):
    server.pages["/search"] = server.text(body, status)
    error = refusal(look)
    assert error.error_class == "search_failed"
    assert problem in str(error)


def test_odd_results_are_passed_over(look, server):
    odd = [1, None, {}, {"url": "https://a.test/", "title": 5, "content": None}, {"title": "x"}]
    server.pages["/search"] = server.text(json.dumps({"results": odd}))
    assert look().output == "1. (no title)\n   https://a.test/"


def test_an_instance_cannot_redirect_to_another_server_of_this_machine(look, server, other):
    server.pages["/search"] = server.redirect(f"{other.url}/search")
    assert refusal(look).error_class == "private_address"
    assert other.hits == []


def test_searching_is_safe():
    assert web_search.risk == "safe"


def test_nobody_is_asked_about_a_search_where_none_is_set_up(nanocoder):
    turns = [{"calls": [{"name": "web_search", "arguments": {"query": "x"}}]}, {"text": "Done."}]
    words = ["run", "--mode", "ask", "--model", nanocoder.script(*turns), "go"]
    done = nanocoder(*words)
    assert done.returncode == 0, "a call that nobody can approve ends with 3"
    assert "`instance` in [plugins.tool-web]" in done.stderr
