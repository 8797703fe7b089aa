"""A real server, and the official client on both revisions of the protocol."""

import http.client
import os
import pty
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from contextlib import asynccontextmanager

import anyio
import mcp_types
import pytest
from command_line import COMMAND
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.timeout(120)
RULES = (
    '[plugins.policy-rules]\ndeny = ["write_file(secrets/**)"]\nallow = ["write_file(docs/**)"]\n'
)
MODES = ("legacy", "auto")
MORE_THAN_IS_TAKEN = 5_000_000
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture
def place(tmp_path, nanocoder, warm):
    """Make a home with rules, and a workspace."""
    home, cwd = tmp_path / "person", tmp_path / "project"
    (home / ".config/nanocoder").mkdir(parents=True)
    (home / ".config/nanocoder/config.toml").write_text(RULES)
    warm(home)
    cwd.mkdir()
    (cwd / "a.txt").write_text("hello\n")
    return cwd, {**nanocoder.environment, "HOME": str(home)}


class Person:
    """Answers elicitations, and remembers what was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.questions = []

    async def __call__(self, _context, params):
        self.questions.append(params.message)
        return self.answer


YES = mcp_types.ElicitResult(action="accept", content={"approve": True})
NO = mcp_types.ElicitResult(action="accept", content={"approve": False})
GONE = mcp_types.ElicitResult(action="cancel")


@asynccontextmanager
async def client(place, *, mode, person=None, words=()):
    cwd, environment = place
    start = StdioServerParameters(
        command=COMMAND, args=["mcp", "serve", *words], env=environment, cwd=cwd
    )
    async with Client(start, mode=mode, elicitation_callback=person) as opened:
        yield opened


@pytest.mark.contract("I25")
@pytest.mark.parametrize("mode", MODES)
def test_a_client_lists_the_tools_and_reads_a_file(place, mode):
    async def use():
        async with client(place, mode=mode, words=["--tools", "read_file,write_file"]) as opened:
            listed = (await opened.list_tools()).tools
            answer = await opened.call_tool("read_file", {"path": "a.txt"})
            wrong = await opened.call_tool("read_file", {"paht": "a.txt"})
            return listed, answer, wrong

    listed, answer, wrong = anyio.run(use)
    assert [tool.name for tool in listed] == ["read_file", "write_file"]
    assert [tool.annotations.read_only_hint for tool in listed] == [True, False]
    assert "hello" in answer.content[0].text
    assert (answer.is_error, wrong.is_error) == (False, True)


@pytest.mark.contract("I25")
@pytest.mark.rows(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("answer", "is_run"), [(YES, True), (NO, False), (GONE, False)])
def test_an_approval_is_an_elicitation(place, mode, answer, is_run):
    person = Person(answer)

    async def use():
        async with client(place, mode=mode, person=person) as opened:
            return await opened.call_tool("write_file", {"path": "b.txt", "content": "x\n"})

    result = anyio.run(use)
    assert result.is_error is not is_run
    assert (place[0] / "b.txt").exists() is is_run
    assert len(person.questions) == 1
    assert "write_file needs your approval" in person.questions[0]


@pytest.mark.contract("I25")
@pytest.mark.rows(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("lines", "is_run"), [(2_000, True), (60_000, False)])
def test_what_is_approved_is_shown_to_its_end_or_refused(place, mode, lines, is_run):
    person = Person(YES)
    content = "x\n" * lines + "the end\n"

    async def use():
        async with client(place, mode=mode, person=person) as opened:
            return await opened.call_tool("write_file", {"path": "b.txt", "content": content})

    result = anyio.run(use)
    assert (place[0] / "b.txt").exists() is is_run
    assert ["the end" in question for question in person.questions] == [True] * is_run
    assert ("too many to be shown" in result.content[0].text) is not is_run


@pytest.mark.contract("I25")
@pytest.mark.parametrize("mode", MODES)
def test_rules_hold_for_clients(place, mode):
    person = Person(YES)

    async def use(person):
        async with client(place, mode=mode, person=person) as opened:
            paths = ("secrets/a", "docs/a", "b.txt")
            calls = [{"path": path, "content": "x\n"} for path in paths]
            return [(await opened.call_tool("write_file", call)).is_error for call in calls]

    assert anyio.run(use, person) == [True, False, False]
    assert len(person.questions) == 1  # about b.txt alone
    assert anyio.run(use, None) == [True, False, True]  # a client that cannot be asked
    assert not (place[0] / "secrets").exists()


@pytest.mark.contract("I25")
def test_conf_026_http_needs_the_token_and_an_own_origin(place):
    cwd, environment = place
    with subprocess.Popen(
        [COMMAND, "mcp", "serve", "--http", "0", "--tools", "read_file"],
        cwd=cwd,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            line = ""
            while "serving at" not in line:
                line = process.stderr.readline()
            url, token = re.search(r"(http://127\.0\.0\.1:\d+/mcp), .* Bearer (\S+)", line).groups()
            bearer = {"Authorization": f"Bearer {token}"}
            for headers, body, code in (
                ({}, b"{}", 401),
                ({"Authorization": f"Bearer {token}x"}, b"{}", 401),
                ({"Authorization": token}, b"{}", 401),
                ({**bearer, "Origin": "http://evil.test"}, b"{}", 403),
                ({**bearer, "Origin": "null"}, b"{}", 403),
                ({**bearer, "Host": "evil.test"}, b"{}", 421),
                ({**bearer, "Host": "127.0.0.1.evil.test:80"}, b"{}", 421),
                ({**bearer, "Content-Type": "text/plain"}, b"{}", 400),
                (bearer, b"[" * 100_000, 400),
            ):
                assert status(url, headers, body) == code, headers
            assert status_of_long(url, {}) == 401
            assert status_of_long(url, bearer) == 413
            assert "hello" in anyio.run(read_over_http, url, bearer)
            break_off(url, token)
        finally:
            process.terminate()
            process.wait(20)
        written = process.stderr.read()
        assert "Invalid HTTP" not in written
        assert "Traceback" not in written


def status(url, headers, body):
    request = urllib.request.Request(url, body, {**JSON, **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:  # it has the connection
            return error.code


def break_off(url, token):
    """Send what is no request, and half of one."""
    place = urllib.parse.urlsplit(url)
    head = f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    for text in ("\x16\x03\r\n\r\n", f"{head}Content-Length: 99\r\n\r\n{{"):
        with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
            connection.sendall(text.encode())
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass


def status_of_long(url, headers):
    """Announce a long body and send nothing of it."""
    place = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=20)
    connection.putrequest("POST", place.path)
    for name, value in {**headers, **JSON, "Content-Length": str(MORE_THAN_IS_TAKEN)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse().status
    connection.close()
    return answer


async def read_over_http(url, headers):
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as opened,
    ):
        return (await opened.call_tool("read_file", {"path": "a.txt"})).content[0].text


def test_what_cannot_be_served_is_named(nanocoder, tmp_path):
    for words, problem in (
        (["--tools", "read_fil"], "there is no tool 'read_fil'; did you mean 'read_file'?"),
        (["--http", "x"], "--http takes a port"),
    ):
        done = nanocoder("mcp", "serve", *words, cwd=tmp_path)
        assert done.returncode == 2
        assert problem in done.stderr


def test_a_person_who_starts_it_at_a_terminal_reads_what_it_waits_for(nanocoder, tmp_path):
    leader, follower = pty.openpty()
    words = [COMMAND, "mcp", "serve"]
    ends = {"stdin": follower, "stdout": follower, "stderr": follower}
    environment = {**nanocoder.environment, "TERM": "xterm"}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, **ends) as process:
        os.close(follower)
        shown = b""
        while b"Ctrl-D ends it" not in shown:
            shown += os.read(leader, 4096)
        os.write(leader, b"\x04")
        assert process.wait(60) == 0
    os.close(leader)
