"""Real servers, and sessions that use them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nanocoder_mcp
import pytest
from nanocoder_mcp.accepting import accept, ask_server
from nanocoder_mcp.definitions import Listing
from nanocoder_mcp.server import Server, server_of
from nanocoder_mcp.settings import Settings
from nanocoder_testing import opened
from nanocoder_testing.playing import agree

PROGRAM = Path(__file__).parent / "programs" / "server.py"


class Place:
    """A workspace, and servers in it that are programs of their own."""

    def __init__(self, workspace: Path, state: Path) -> None:
        self.workspace = workspace
        self.state = state
        self.tables: dict[str, Any] = {}

    @property
    def settings(self) -> Settings:
        """The settings with all servers that were added."""
        return Settings(self.tables, start_timeout_s=20)

    def add(self, kind: str, *words: str, accepted: bool = True, **keys: Any) -> Server:
        """Configure a server of a *kind*, and accept what it offers as a person would."""
        command = [sys.executable, "-S", str(PROGRAM), kind, *words]
        self.tables[kind] = {"command": command, **keys}
        server = server_of(kind, self.tables[kind])
        if accepted:
            accept(server, *ask_server(self.workspace, self.settings, server))
        return server

    def listing(self, server: Server) -> Listing:
        """Return what a server offers now."""
        return ask_server(self.workspace, self.settings, server)[0]

    @contextmanager
    def session(self, **options: Any) -> Iterator[Any]:
        """Open a session that has the servers."""
        options = {"approve": agree, "mode": "ask", **options}
        chosen = {"mcp": self.settings, **options.pop("settings", {})}
        plugins = {"mcp": nanocoder_mcp, **options.pop("plugins", {})}
        with opened(self.workspace, plugins=plugins, settings=chosen, **options) as (session, _):
            yield session


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Make a workspace, with nanocoder's own state beside it."""
    workspace, state = tmp_path / "workspace", tmp_path / "state"
    workspace.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return Place(workspace, state / "nanocoder" / "mcp")
