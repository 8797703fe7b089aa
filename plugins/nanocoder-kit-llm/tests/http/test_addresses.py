"""Addresses of servers, and headers of a person's own."""

import pytest
from nanocoder import Cancel, ConfigError
from nanocoder_kit_llm.http import Client, Key
from nanocoder_kit_llm.http.addresses import full_url, is_nearby, with_path
from nanocoder_testing.server import ScriptedServer, events


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://h/v1", "/chat", "http://h/v1/chat"),
        ("http://h/v1/", "/chat", "http://h/v1/chat"),
        ("http://h/v1?api-version=1", "/chat", "http://h/v1/chat?api-version=1"),
        ("http://h/v1/?a=1&b=2", "/list?limit=3", "http://h/v1/list?a=1&b=2&limit=3"),
        ("http://h", "/list?limit=3", "http://h/list?limit=3"),
    ],
)
def test_the_query_of_a_base_url_stands_behind_the_path(base, path, url):
    assert full_url(base, path) == url


def test_an_end_of_the_path_is_found_before_a_query():
    assert with_path("http://h/v1/?a=1", "", without=["/v1"]) == "http://h?a=1"
    ends = ["/chat", "/openai/v1"]
    for base in ("http://h", "http://h/openai/v1", "http://h/openai/v1/chat/"):
        assert with_path(f"{base}?a=1", "/openai/v1", without=ends) == "http://h/openai/v1?a=1"


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("127.0.0.1:8080", True),
        ("localhost", True),
        ("[::1]:80", True),
        ("192.168.1.7:1234", True),
        ("10.0.0.2", True),
        ("gpu-box:8000", True),
        ("gpu7:8000", True),
        ("box.local", True),
        ("host.docker.internal:11434", True),
        ("api.openai.com", False),
        ("8.8.8.8", False),
        ("api2.example.com", False),
    ],
)
def test_a_server_in_ones_own_network_is_nearby(host, near):
    assert is_nearby(f"http://{host}/v1") is near


def sent_headers(own, **options):
    with ScriptedServer(events({"a": 1})) as server:
        client = Client(server.url, own=own, **options)
        list(client.stream_events("/x", b"{}", Cancel()))
        client.close()
        return server.seen[0].headers


def test_headers_of_ones_own_are_sent_and_secrets_come_from_variables(monkeypatch, tmp_path):
    secret = tmp_path / "token"
    secret.write_text("from-a-file\n")
    secret.chmod(0o600)
    monkeypatch.setenv("GATEWAY_TOKEN", "from-a-variable")
    monkeypatch.setenv("OTHER_TOKEN_FILE", str(secret))
    monkeypatch.setenv("ACME_KEY", "k")
    own = {
        "X-Team": "blue",
        "Authorization": "Basic $GATEWAY_TOKEN",
        "X-Token": "${OTHER_TOKEN}",
        "x-portkey-provider": "openai",
    }
    headers = sent_headers(own, key=Key("ACME_KEY"))
    assert {name: headers[name.lower()] for name in own} == {
        "X-Team": "blue",
        "Authorization": "Basic from-a-variable",
        "X-Token": "from-a-file",
        "x-portkey-provider": "openai",
    }


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"Authorization": "Bearer sk-123"}, "write $NAME_OF_A_VARIABLE"),
        ({"X-Api-Key": "sk-123"}, "write $NAME_OF_A_VARIABLE"),
        ({"X-Token": "$NOT_SET_ANYWHERE"}, "needs NOT_SET_ANYWHERE"),
        ({"Host": "h"}, "not a header that can be set"),
        ({"X Team": "h"}, "not a header that can be set"),
        ({"X-Team": "a\nb: c"}, "line end"),
    ],
)
def test_a_header_that_cannot_be_sent_is_told_without_its_value(own, words):
    with pytest.raises(ConfigError) as caught:
        Client("http://127.0.0.1:1", own=own)
    assert words in str(caught.value)
    assert "sk-123" not in str(caught.value)
