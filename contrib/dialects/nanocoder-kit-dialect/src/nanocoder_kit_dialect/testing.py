"""Fixtures for the tests of dialects: calls by a scripted model, run by the installed tools.

A dialect's conftest.py imports them and defines a fixture `dialect_name`, for the session, that
returns it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nanocoder import ApprovalAnswer, ApprovalRequest, Plugins
from nanocoder_testing import Played, play
from nanocoder_testing.scripted import Scripted

__all__ = ["answer_to_edited", "answers", "golden", "manifest", "offers", "play_calls"]


@pytest.fixture(scope="session")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a manifest of all installed plugins, made once for all tests."""
    return tmp_path_factory.mktemp("manifest") / "plugins.json"


@pytest.fixture
def play_calls(tmp_path: Path, manifest: Path, dialect_name: str) -> Callable[..., Played]:
    """Play calls in one turn, in mode "auto".

    *with_plugins* are added by name; the installed tool *without* is removed.
    """

    def run(
        *calls: Any, with_plugins: dict[str, Any] | None = None, without: str = "", **options: Any
    ) -> Played:
        plugins = Plugins.installed(manifest)
        for entry, offer in list(plugins.offers("tools")):
            if offer["name"] == without:
                plugins.remove(entry.name)
        for name, plugin in (with_plugins or {}).items():
            plugins.add(plugin, name)
        # The window is larger than the longest output, which would be shortened otherwise.
        model = Scripted([list(calls), "Done."], context=1_000_000)
        options = {"mode": "auto", "dialect": dialect_name, "model": model, **options}
        return play(tmp_path, [], plugins=plugins, **options)

    return run


@pytest.fixture
def answers(play_calls: Callable[..., Played]) -> Callable[..., list[str]]:
    """Return the function that plays calls and returns the output of each."""
    return lambda *calls, **options: [
        result.output for result in play_calls(*calls, **options).results
    ]


@pytest.fixture
def answer_to_edited(
    tmp_path: Path, answers: Callable[..., list[str]]
) -> Callable[..., tuple[str, str, str]]:
    """Write a.txt with a call whose `content` a person edits.

    The result is the first line that the model reads, the rest, and the answer to an equal call
    that was not edited.
    """

    def run(name: str, **arguments: Any) -> tuple[str, str, str]:
        changed = {"content": "a person's"}

        def change(request: ApprovalRequest) -> ApprovalAnswer:
            edited = {**request.call.arguments, **changed}
            return ApprovalAnswer(request.id, request.digest, approved=True, arguments=edited)

        (text,) = answers((name, arguments), mode="ask", interactive=True, approve=change)
        note, _, rest = text.partition("\n")
        (tmp_path / "a.txt").unlink()
        return note, rest, answers((name, {**arguments, **changed}))[0]

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """Return a JSON file beside the tests."""
    folder = request.path.parent
    return lambda name: json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.fixture
def offers(manifest: Path, dialect_name: str) -> dict[str, dict[str, Any]]:
    """Return the definitions of the tools, as the reference sends them, by name."""
    plugins = Plugins.installed(manifest)
    entry = plugins.offered("dialects", dialect_name)
    assert entry is not None, f"the dialect {dialect_name!r} is not installed"  # noqa: S101 - in tests
    definitions = entry[1].offer(list(plugins.tools().values()))
    return {offer["name"]: dict(entry[1].wire(offer)) for offer in definitions}
