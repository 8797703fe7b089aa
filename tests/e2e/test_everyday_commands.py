"""Everyday commands work in each sandbox as the page says, in a small repository."""

import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import everyday_commands
import pytest
from everyday_commands import LISTING, READ, ROWS, Row
from nanocoder import (
    Access,
    ApprovalAnswer,
    ApprovalRequest,
    Config,
    Decision,
    Verdict,
    hookimpl,
    open_session,
)
from nanocoder.session.setup import installed_plugins

pytestmark = [pytest.mark.timeout(180), pytest.mark.needs("git", "node", "npm", "gcc", "make")]

NOTHING_CHANGED = "these files would have changed"
IN_BWRAP = [row for row in ROWS if "bwrap" in row.sandboxes]
IN_LANDLOCK = [row for row in ROWS if "landlock" in row.sandboxes]


def approve(request: ApprovalRequest) -> ApprovalAnswer:
    """Approve everything: what the sandbox does is looked at, not what is asked."""
    return ApprovalAnswer(request.id, request.digest, approved=True)


class Consent:
    """Allows commands, with the *access* that the row is about."""

    def __init__(self, access: Access) -> None:
        self.access = access

    @hookimpl
    def nanocoder_before_execute(self, call, tool, session):
        return Verdict(Decision.ALLOW, access=self.access)


class Shop:
    """The small repository, and sessions in it."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.home = folder / "shapes", folder / "home"
        everyday_commands.lay_out(self.workspace, self.home)

    def session(self, sandbox: str, access: Access) -> Any:
        environment = {name: os.environ[name] for name in ("HOME", "PATH", "LANG")}
        flags = {"sandbox": sandbox, "mode": "auto"}
        config = Config.load(self.workspace, flags=flags, environment=environment)
        plugins = installed_plugins(config, environment)
        plugins.add(Consent(access), "consent")
        return open_session(
            self.workspace,
            config=config,
            plugins=plugins,
            environment=environment,
            persist=False,
            approve=approve,
        )

    def names(self) -> set[str]:
        return set(os.listdir(self.workspace))

    def digest(self) -> str:
        """Return a hash of every path, its kind, permissions and content."""
        whole = hashlib.sha256()
        for path in sorted(self.workspace.rglob("*")):
            whole.update(f"{path} {path.lstat().st_mode}\n".encode())
            whole.update(path.read_bytes() if path.is_file() else b"")
        return whole.hexdigest()


@pytest.fixture
def shop(monkeypatch):
    """Make the repository, and be a person who works with it.

    Not in /tmp, as no home is: a sandbox has a /tmp of its own.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name).resolve()
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.setenv("LANG", "C.UTF-8")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        monkeypatch.setenv("PATH", path)
        yield Shop(folder)


def call(session: Any, command: str, **more: Any) -> Any:
    *_, last = session.call("bash", {"command": command, **more})
    assert last.kind == "call.returned"
    return last.data


def check(row: Row, shop: Shop, sandbox: str) -> None:
    """Run a row and compare what happens."""
    names, digest = shop.names(), shop.digest()
    with shop.session(sandbox, row.access) as session:
        if sandbox == "landlock" and row.landlock:
            refused = call(session, row.before or row.command)
            assert refused["status"] == "error"
            assert row.landlock in refused["output"]
            return
        if row.before:
            first = call(session, row.before, background=row.serves)
            assert first["status"] == "ok", first["output"]
        began = time.monotonic()
        data = call(session, row.command)
        seconds = time.monotonic() - began
    output, code = data["output"], data["data"].get("exit_code")
    if row.is_kept_out:
        assert code or NOTHING_CHANGED in output
    else:
        assert code == row.code if row.code is not None else code, output
    if row.prints == LISTING:
        assert set(output.splitlines()) == names
    else:
        assert row.prints in output
    assert not row.hides or row.hides not in output
    assert seconds < row.within_s
    assert shop.names() - names == row.adds, "names that the command did not make"
    if row.access is READ:
        assert shop.digest() == digest
    if row.outside:
        assert everyday_commands.run(shop.workspace, shop.home, row.outside) == row.shows


def titles(rows: list[Row]) -> list[str]:
    return [f"{row.access}-{row.command.split(' && ')[0]:.30}" for row in rows]


@pytest.mark.needs("bwrap")
@pytest.mark.rows(4)
@pytest.mark.parametrize("row", IN_BWRAP, ids=titles(IN_BWRAP))
def test_it_happens_in_bubblewrap(row, shop):
    check(row, shop, "bwrap")


@pytest.mark.rows(4)
@pytest.mark.parametrize("row", IN_LANDLOCK, ids=titles(IN_LANDLOCK))
def test_it_happens_in_landlock(row, shop):
    check(row, shop, "landlock")


def test_the_page_shows_the_rows():
    page = everyday_commands.PAGE.read_text(encoding="utf-8")
    assert page == everyday_commands.page(), "write it with `python tests/e2e/everyday_commands.py`"


def test_the_rows_are_of_both_kinds_of_access():
    assert len(ROWS) == 40
    assert {row.access for row in ROWS} == {Access.READ, Access.WRITE}
