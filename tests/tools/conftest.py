"""Sessions with every installed plugin, in a home of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nanocoder
import pytest


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder to work in; settings, state and caches go to a home beside it."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "NANOCODER_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def session(project: Path, request: pytest.FixtureRequest) -> Iterator[nanocoder.Session]:
    """Open a session in the project, in mode auto unless the test is given another."""
    with nanocoder.open_session(project, mode=getattr(request, "param", "auto")) as opened:
        yield opened


@pytest.fixture
def call(session: nanocoder.Session) -> Callable[..., dict[str, Any]]:
    """Return a function that makes one call and returns its result as data."""

    def made(name: str, **arguments: Any) -> dict[str, Any]:
        *_, last = session.call(name, arguments)
        return dict(last.data)

    return made
