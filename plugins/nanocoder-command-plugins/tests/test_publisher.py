"""What a person learns of a package that is not ours, before any file of it is downloaded."""

import contextlib
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from nanocoder_command_setup import publisher
from nanocoder_command_setup.installer import Installer
from nanocoder_command_setup.packages import _package
from package_index import WHEEL, Index, wheel

pytestmark = [pytest.mark.timeout(60), pytest.mark.contract("I35")]


@pytest.fixture
def index() -> Iterator[Index]:
    one = Index()
    yield one
    one.server.shutdown()
    one.server.server_close()


def asking(index: Index, address: str = "") -> dict[str, str]:
    url = address or index.url
    return {
        "UV_DEFAULT_INDEX": url,
        "PIP_INDEX_URL": url,
        "UV_NO_CACHE": "1",
        "UV_HTTP_RETRIES": "0",
    }


def test_owner_age_and_files_are_shown_before_a_file_is_downloaded(nanocoder, index) -> None:
    done = nanocoder("plugins", "install", "acme-thing", "--yes", env=asking(index))
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        f"acme-thing is not a package of nanocoder. {index.url} says of it:",
        r"  owner: acme, ada\x1b[2J",
        "  age: since 2020-03-01, newest of 2026-03-01; 2 files",
        f"  {WHEEL}, {len(wheel())} bytes",
    ]
    assert index.asked.index("/pypi/acme-thing/json") < index.asked.index(f"/{WHEEL}")
    assert "acme-thing is no plugin of nanocoder: nothing was installed" in done.stderr


def test_an_index_that_tells_no_owner_is_said_to(nanocoder, index) -> None:
    index.has_owners = False
    done = nanocoder("plugins", "install", "acme-thing", "--yes", env=asking(index))
    assert "  owner: not told by this index\n" in done.stdout


def test_a_package_of_ours_is_installed_without_such_a_question(nanocoder, index) -> None:
    done = nanocoder("plugins", "install", "tool-grep", "--yes", env=asking(index))
    assert "is not a package of nanocoder" not in done.stdout
    assert not [path for path in index.asked if path.startswith("/pypi/")]


def test_a_password_of_the_index_is_sent_and_not_shown(nanocoder, index) -> None:
    address = index.url.replace("://", "://me:hush%21@")
    done = nanocoder("plugins", "install", "acme-thing", "--yes", env=asking(index, address))
    assert f"{index.url} says of it" in done.stdout
    assert "hush" not in done.stdout + done.stderr
    assert f"Basic {b64encode(b'me:hush!').decode()}" in index.keys


def test_pip_tells_its_index_with_and_without_one_of_the_person(tmp_path, monkeypatch) -> None:
    """The environment of the tests has uv alone."""
    program = tmp_path / "pip"
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = config ]; then [ -z "$INDEX" ] || echo "global.index-url=\'$INDEX\'"\n'
        "else printf ' --index-url <url>  The index (default\\n https://a.test/simple). x'; fi\n"
    )
    program.chmod(0o755)
    pip = Installer("pip", [str(program)])
    assert pip.address() == "https://a.test/simple"
    monkeypatch.setenv("INDEX", "https://b.test/simple")
    assert pip.address() == "https://b.test/simple"


def test_the_installer_does_not_start_in_the_folder(nanocoder, tmp_path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uv").write_text('#!/bin/sh\npwd >> "$HOME/where"\nexit 1\n')
    (programs / "uv").chmod(0o755)
    variables = {"PATH": f"{programs}:/usr/bin:/bin"}
    nanocoder("plugins", "install", "acme-thing", "--yes", env=variables)
    assert {*(nanocoder.home / "where").read_text().split()} == {"/"}


def test_a_file_of_the_folder_does_not_choose_the_index(nanocoder, index) -> None:
    evil = Index()
    ours = nanocoder.home / ".config/uv/uv.toml"
    ours.parent.mkdir(parents=True)
    ours.write_text(f'index-url = "{index.url}"\n')
    (nanocoder.cwd / "uv.toml").write_text(f'index-url = "{evil.url}"\n')
    pip = {"PIP_INDEX_URL": index.url, "UV_NO_CACHE": "1", "UV_HTTP_RETRIES": "0"}
    nanocoder("plugins", "install", "acme-thing", "--yes", env=pip)
    evil.server.shutdown()
    evil.server.server_close()
    assert f"/{WHEEL}" in index.asked
    assert evil.asked == []


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("tool-acme", "nanocoder-tool-acme"),
        ("acme-thing>=1", "acme-thing>=1"),
        ("nanocoder-tool-acme", "nanocoder-tool-acme"),
        ("policy_acme", "nanocoder-policy_acme"),
    ],
)
def test_only_a_kind_gets_the_prefix(name: str, package: str) -> None:
    assert _package(name) == package


def test_a_folder_of_wheels_is_no_index(nanocoder, tmp_path: Path) -> None:
    (tmp_path / WHEEL).write_bytes(wheel())
    links = {"UV_FIND_LINKS": str(tmp_path), "PIP_FIND_LINKS": str(tmp_path)}
    index = "http://127.0.0.1:9/simple"
    done = nanocoder(
        "plugins",
        "install",
        "acme-thing",
        "--yes",
        env={**links, "UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index, "UV_OFFLINE": "1"},
    )
    assert "  nothing about its owner and age (" in done.stdout
    assert "acme-thing is no plugin" in done.stderr


BODY = b'{"files": [{"filename": "a", "size": 1e999}]}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"good morning\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300 + b"\r\n",
        HEAD % len(BODY) + BODY,
        HEAD % 200_000 + b"[" * 200_000,
        HEAD % 1_000 + b"{",  # and nothing more
    ],
)
def test_an_index_that_answers_badly_or_never_is_said_to_tell_nothing(monkeypatch, answer) -> None:
    monkeypatch.setattr(publisher, "TIMEOUT_S", 0.5)
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(answer)
            connection.recv(100_000)
            connection.recv(1)  # until the other end closes, or is closed

    threading.Thread(target=serve, daemon=True).start()
    address = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
    monkeypatch.setattr(Installer, "address", lambda _: address)
    lines = list(publisher.lines_about("acme-thing", Installer("uv", ["uv"]).address()))
    server.close()
    assert any(line.startswith("  nothing about its owner and age (") for line in lines), lines


ASKING = """\
import sys
from nanocoder_command_setup import publisher
publisher.TIMEOUT_S = 0.5
print(*publisher.lines_about("acme-thing", sys.argv[1]), sep="\\n")
"""


def test_an_index_that_never_ends_its_answer_does_not_hold_up_the_end() -> None:
    ended = threading.Event()

    def serve() -> None:
        with server.accept()[0] as connection, contextlib.suppress(OSError):
            connection.sendall(HEAD % 1_000_000)
            while not ended.wait(0.1):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
        try:
            done = subprocess.run(
                [sys.executable, "-c", ASKING, address], capture_output=True, timeout=20, check=True
            )
        finally:
            ended.set()
    assert b"does not answer within 0.5 s" in done.stdout
