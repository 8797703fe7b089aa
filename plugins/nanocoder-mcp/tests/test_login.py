"""Servers that want a login, with a real authorization server and what a browser would do."""

import http.server
import json
import os
import pty
import re
import select
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from command_line import COMMAND

pytestmark = pytest.mark.timeout(180)
PROGRAM = Path(__file__).parent / "programs" / "oauth_server.py"
CALL = ("call", "mcp_notes_read_note", '{"name": "x"}', "--mode", "auto")
ADDRESS = re.compile(r"^http://127\.0\.0\.1:\d+/authorize\?\S+$", re.MULTILINE)


class Notes:
    """A server that wants a login, and a person of their own who uses it."""

    def __init__(self, url, folder, nanocoder, tmp_path):
        self.url, self.folder = url, folder
        self.home, self.cwd = tmp_path / "person", tmp_path / "project"
        self.home.mkdir()
        self.cwd.mkdir()
        self._nanocoder = nanocoder

    def run(self, *words):
        return self._nanocoder(*words, cwd=self.cwd, env={"HOME": str(self.home)})

    def log_in(self, *words, browse=True):
        """Run `mcp login` and open the address that it prints."""
        environment = {**self._nanocoder.environment, "HOME": str(self.home)}
        with subprocess.Popen(
            [COMMAND, "mcp", "login", "notes", "--yes", *words],
            cwd=self.cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            shown = ""
            while browse and not ADDRESS.search(shown):
                line = process.stdout.readline()
                if not line:
                    break
                shown += line
            if browse and (address := ADDRESS.search(shown)):
                browsed(address[0])
            rest, errors = process.communicate(timeout=60)
            return process.returncode, shown + rest, errors

    @property
    def log(self):
        file = self.folder / "log"
        return file.read_text().split() if file.exists() else []

    @property
    def file(self):
        return next(self.home.glob(".local/state/nanocoder/mcp/logins/notes.json"))


def browsed(address):
    """Do what a browser does: follow the redirects to the page on the loopback interface."""
    with urllib.request.urlopen(address, timeout=20) as page:
        return page.read().decode()


@pytest.fixture
def notes(nanocoder, warm, tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    ) as process:
        person = Notes(process.stdout.readline().strip(), folder, nanocoder, tmp_path)
        warm(person.home)
        yield person
        process.kill()


@pytest.mark.contract("I24")
def test_a_person_logs_in_and_the_tokens_are_private(notes):
    added = notes.run("mcp", "add", "notes", notes.url)
    assert added.stdout == "notes is added and asks for a login: nanocoder mcp login notes\n"
    assert notes.log == []  # nobody registered us before a person wanted it
    code, shown, errors = notes.log_in()
    assert (code, errors) == (0, "")
    assert "notes: logged in.\n" in shown
    assert "1 tool of notes can be called now." in shown
    assert notes.log == ["register", "authorize", "exchange"]
    assert stat.S_IMODE(notes.file.stat().st_mode) == 0o600
    assert "the note x" in notes.run(*CALL).stdout
    tokens = json.loads(notes.file.read_text())["tokens"]
    for words in (("mcp", "list"), ("config", "show"), ("doctor",), ("mcp", "test", "notes")):
        done = notes.run(*words)
        assert tokens["access_token"] not in done.stdout + done.stderr
    again = notes.log_in(browse=False)
    assert "no login was needed" in again[1]
    assert notes.run("mcp", "logout", "notes").stdout == "notes: the login is forgotten here.\n"
    refused = notes.run(*CALL)
    assert refused.returncode != 0
    assert "asks for a login: nanocoder mcp login notes" in refused.stderr + refused.stdout


@pytest.mark.full
def test_a_token_is_renewed_when_it_expires_or_no_longer_counts(notes):
    (notes.folder / "seconds").write_text("1")  # expired before the next command
    notes.run("mcp", "add", "notes", notes.url)
    (notes.folder / "seconds").write_text("12")
    assert notes.log_in()[0] == 0
    data = json.loads(notes.file.read_text())
    notes.file.write_text(json.dumps({**data, "expires_at": 1.0}))
    assert "the note x" in notes.run(*CALL).stdout
    assert notes.log.count("renew") == 1
    (notes.folder / "seconds").write_text("3600")
    (notes.folder / "forgotten").touch()  # our clock says that it still counts
    assert "the note x" in notes.run(*CALL).stdout
    assert notes.log.count("renew") == 2
    assert notes.log.count("authorize") == 1


def test_a_login_that_was_revoked_ends_in_a_line_and_not_in_a_browser(notes):
    notes.run("mcp", "add", "notes", notes.url)
    assert notes.log_in()[0] == 0
    (notes.folder / "revoked").touch()
    done = notes.run(*CALL)
    text = done.stdout + done.stderr
    assert "no longer accepts the login: nanocoder mcp login notes" in text
    assert notes.log.count("authorize") == 1
    (row,) = json.loads(notes.run("mcp", "list", "--output", "json").stdout)["servers"]
    assert "no longer accepts the login" in row["problem"]
    (notes.folder / "revoked").unlink()
    notes.file.unlink()
    assert notes.log_in()[0] == 0
    (row,) = json.loads(notes.run("mcp", "list", "--output", "json").stdout)["servers"]
    assert (row["state"], row["problem"]) == ("ready", "")


def test_a_refusal_is_told_and_nothing_is_kept(notes):
    notes.run("mcp", "add", "notes", notes.url)
    (notes.folder / "deny").touch()
    code, shown, errors = notes.log_in()
    assert code == 1
    assert "'notes' refused the login: not" in errors
    assert "\x1b" not in shown + errors
    assert not json.loads(notes.file.read_text())["tokens"]


@pytest.mark.full
def test_the_page_hears_only_the_answer_to_its_own_question(notes):
    notes.run("mcp", "add", "notes", notes.url)
    environment = {**notes._nanocoder.environment, "HOME": str(notes.home)}
    with subprocess.Popen(
        [COMMAND, "mcp", "login", "notes", "--yes"],
        cwd=notes.cwd,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        address = process.stdout.readline().strip()
        port = re.search(r"127\.0\.0\.1%3A(\d+)%2Fcallback", address)[1]
        for target in ("callback?code=evil&state=guess", "callback?code=evil", "", "callback"):
            with pytest.raises(urllib.error.HTTPError, match="404") as refused:
                browsed(f"http://127.0.0.1:{port}/{target}")
            refused.value.close()  # it has the connection
        assert "You are logged in" in browsed(address)
        process.stdout.read()
        assert process.wait(60) == 0


def test_a_login_needs_an_address_that_nobody_reads_on_the_way(notes):
    program = [sys.executable, "-S", str(PROGRAM.parent / "server.py"), "good"]
    notes.run("mcp", "add", "good", "--yes", "--", *program)
    assert "only a server at an address has a login" in notes.run("mcp", "login", "good").stderr
    config = notes.home / ".config/nanocoder/config.toml"
    config.write_text(
        "[plugins.mcp.servers]\n"
        'far = { url = "http://example.org/mcp" }\n'
        'keyed = { url = "https://example.org/mcp", headers = { Authorization = "Bearer x" } }\n'
        'odd = { url = "https://example.org/mcp", oauth = { client_id = "a", port = "1" } }\n'
    )
    assert "oauth: unknown key 'port'" in notes.run("mcp", "list").stderr
    config.write_text("".join(config.read_text().splitlines(keepends=True)[:3]))
    assert "is not https" in notes.run("mcp", "login", "far").stderr
    assert "has a header Authorization" in notes.run("mcp", "login", "keyed").stderr


@pytest.mark.full
def test_the_address_of_a_browser_elsewhere_can_be_pasted(notes, nanocoder):
    notes.run("mcp", "add", "notes", notes.url)
    leader, follower = pty.openpty()
    environment = {**nanocoder.environment, "HOME": str(notes.home), "TERM": "xterm"}
    with subprocess.Popen(
        [COMMAND, "mcp", "login", "notes", "--yes"],
        cwd=notes.cwd,
        env=environment,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    ) as process:
        os.close(follower)
        shown = shown_until(leader, "paste that address here")
        os.write(leader, b"http://127.0.0.1:1/callback?state=wrong&code=x\n")
        shown_until(leader, "This is not the address")
        os.write(leader, redirect_of(ADDRESS.search(shown)[0]).encode() + b"\n")
        shown_until(leader, "can be called now.")
        assert process.wait(60) == 0
    os.close(leader)
    assert "the note x" in notes.run(*CALL).stdout


def shown_until(terminal, text):
    """Return what *terminal* shows up to *text*; fails after a minute without it."""
    shown = ""
    while text not in shown:
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 4096).decode().replace("\r\n", "\n")
    return shown


def redirect_of(address):
    """Return where a browser ends that cannot open the address it is sent to."""

    class Stop(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.build_opener(Stop).open(address, timeout=20)
    with refused.value as reply:  # it has the connection
        return reply.headers["Location"]


@pytest.mark.full
def test_a_server_with_a_token_and_no_login_says_how_to_give_it(notes):
    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(401 if self.path == "/mcp" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self):
            self.send_error(404)

        def log_message(self, *_):
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{page.server_port}/mcp"
        hint = f'nanocoder mcp add keyed {url} --header "Authorization: Bearer TOKEN"'
        assert hint in notes.run("mcp", "add", "keyed", url).stdout
        done = notes.run("mcp", "login", "keyed")
        page.shutdown()
    assert done.returncode == 1
    assert "it describes no login, so it may require a token: nanocoder mcp remove keyed" in (
        done.stderr
    )
    assert hint in done.stderr
