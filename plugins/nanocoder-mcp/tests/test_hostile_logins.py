"""Servers that send a login where it does not belong: to this machine, in the open, without end."""

import asyncio
import json
import socket

import httpx2
import pytest
from nanocoder import ToolError
from nanocoder_kit_llm.net.testing import PageServer
from nanocoder_mcp.guarded_auth import MAX_ANSWER_BYTES, GuardedAuth, judged
from nanocoder_mcp.server import server_of

FAR = {"url": "https://mcp.example.org/mcp"}
HERE = (
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "0"),
    *("localhost", "LOCALHOST.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]"),
    *("169.254.169.254", "10.0.0.1", "192.168.0.1", "172.16.3.4", "100.100.100.200", "[fe80::1]"),
    *("[fc00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "192.0.0.192", "224.0.0.1"),
)
ODD = ("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://example.org/", "x")


class Wants(httpx2.Auth):
    """A login that makes one request of its own before the one that it is for."""

    def __init__(self, url):
        self.url = url
        self.answer = b""

    async def async_auth_flow(self, request):
        response = yield httpx2.Request("GET", self.url)
        self.answer = await response.aread()
        yield request


def sent(table, url):
    """Send a request that needs a login at *url*; return what that answered."""
    login = Wants(url)

    async def send():
        auth = GuardedAuth(server_of("far", table), login)
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200))  # the server itself
        async with httpx2.AsyncClient(transport=transport, auth=auth) as client:
            await client.get(table["url"])

    asyncio.run(send())
    return login.answer


@pytest.fixture
def page():
    with PageServer() as server:
        yield server


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", HERE)
def test_no_server_elsewhere_sends_a_login_to_a_private_address(page, host, scheme):
    with pytest.raises(ToolError) as refused:
        sent(FAR, f"{scheme}://{host}:{page.port}/token")
    assert refused.value.error_class == "login_refused"
    assert "oauth.issuer" in str(refused.value) or "not https" in str(refused.value)
    assert page.hits == []


@pytest.mark.parametrize("url", [*ODD, "https://user:pw@example.org/", "https://a b/", "https://"])
def test_an_address_that_is_none_is_refused(url):
    for table in (FAR, {"url": "http://127.0.0.1:1/mcp"}):
        if "user" in url and table is not FAR:
            continue
        with pytest.raises(ToolError, match="sends its login to"):
            judged(server_of("far", table), url)


def test_a_name_that_changes_its_address_is_connected_to_where_it_was_judged(page, monkeypatch):
    addresses = iter(["93.184.216.34", "127.0.0.1"])
    resolved = []

    def changing(host, port, *_args, **_kwargs):
        resolved.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(addresses), port))]

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    monkeypatch.setattr("nanocoder_mcp.guarded_auth.REQUEST_S", 0.5)
    with pytest.raises((ToolError, httpx2.TransportError)):
        sent(FAR, f"https://rebind.example.org:{page.port}/token")
    assert resolved == ["rebind.example.org"]
    assert page.hits == []


def test_a_server_on_this_machine_and_a_named_issuer_may_be_here(page):
    here = {"url": "http://127.0.0.1:1/mcp"}
    assert sent(here, f"{page.url}/token") == b"CANARY-ssrf"
    named = {**FAR, "oauth": {"issuer": f"https://127.0.0.1:{page.port}"}}
    assert judged(server_of("far", named), f"https://127.0.0.1:{page.port}/token")
    with pytest.raises(ToolError, match="not public"):
        judged(server_of("far", named), "https://127.0.0.1:1/token")
    with pytest.raises(ToolError, match="not https"):
        judged(server_of("far", named), f"http://127.0.0.1:{page.port}/token")


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
def test_an_answer_without_end_is_given_up(page, media_type):
    page.pages["/big"] = page.text("x" * (MAX_ANSWER_BYTES + 1), content_type=media_type)
    page.pages["/packed"] = page.text("x", content_encoding="gzip")
    here = {"url": "http://127.0.0.1:1/mcp"}
    with pytest.raises(ToolError, match="more than 1,000,000 bytes"):
        sent(here, f"{page.url}/big")
    with pytest.raises(ToolError, match="packed"):
        sent(here, f"{page.url}/packed")


def test_a_redirect_is_judged_as_what_it_names(page):
    page.pages["/there"] = page.redirect("http://169.254.169.254/latest/meta-data")
    assert sent({"url": "http://127.0.0.1:1/mcp"}, f"{page.url}/there") == b""


def test_the_environment_s_proxy_does_not_open_a_private_address(page, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", page.url)
    monkeypatch.setenv("NO_PROXY", "localhost")
    for host in ("127.0.0.1", "169.254.169.254", "localhost"):
        with pytest.raises(ToolError, match="not public"):
            sent(FAR, f"https://{host}:{page.port}/token")
    assert page.hits == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_login_of_a_server_elsewhere_asks_nothing_of_this_machine(
    nanocoder, warm, tmp_path, page, scheme
):
    home = tmp_path / "person"
    home.mkdir()
    warm(home)
    config = home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[plugins.mcp.servers.far]\nurl = "https://mcp.invalid/mcp"\n')
    logins = home / ".local/state/nanocoder/mcp/logins"
    logins.mkdir(parents=True)
    metadata = f"{scheme}://127.0.0.1:{page.port}/metadata"
    challenge = [401, f'Bearer resource_metadata="{metadata}"']
    kept = {"tokens": {}, "expires_at": 0, "client": {}, "authorization": {}, "resource": {}}
    kept |= {"format": 1, "url": "https://mcp.invalid/mcp", "challenge": challenge}
    (logins / "far.json").write_text(json.dumps(kept))
    (logins / "far.json").chmod(0o600)
    done = nanocoder("mcp", "login", "far", "--yes", env={"HOME": str(home)})
    assert done.returncode == 1
    assert f"sends its login to '{metadata}'" in done.stderr
    assert page.hits == []
