import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import attrs
import pytest
from nanocoder import (
    Effect,
    Mode,
    Readable,
    Risk,
    SessionInfo,
    Tool,
    ToolCall,
    ToolError,
    Verdict,
    state_dir,
    tool,
    user_config_dir,
)
from nanocoder_policy_rules import Settings, nanocoder_before_execute, nanocoder_readable

Judge = Callable[..., Verdict]


def _tool(name: str, risk: str, effects: set[str], **more: Any) -> Tool[..., Any]:
    def handler(path: Annotated[str, "A path."] = "") -> str:
        return ""

    return tool(name=name, description=name, risk=Risk(risk), effects=map(Effect, effects), **more)(
        handler
    )


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the person's own state directory, which has no grants yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    return Path(os.environ["XDG_STATE_HOME"], "nanocoder")


@pytest.fixture
def tools() -> dict[str, Tool[..., Any]]:
    all_tools = [
        _tool("read_file", "safe", {"read"}),
        _tool("grep", "safe", {"read"}),
        _tool("glob", "safe", {"read"}),
        _tool("list_files", "safe", {"read"}),
        _tool("todo_read", "safe", {"read"}),
        _tool("todo_write", "safe", {"write"}),
        _tool("write_file", "medium", {"write"}),
        _tool("edit_file", "medium", {"read", "write"}),
        _tool("apply_patch", "dangerous", {"read", "write"}),
        _tool("move_file", "medium", {"write"}),
        _tool("http_check", "medium", {"read", "network"}),
        _tool("delete_file", "destructive", {"write"}),
        _tool("web_search", "safe", {"read", "network"}),
        _tool("web_fetch", "medium", {"read", "network"}),
        _tool("bash", "dangerous", {"read", "write", "execute", "network"}),
        _tool("dev_server", "medium", {"read", "write", "execute", "network"}),
        _tool("stranger", "safe", set()),
        _tool("served", "dangerous", {"read", "write", "execute", "network"}),
        _tool("served_removal", "destructive", {"read", "write", "execute", "network"}),
        _tool("batch", "medium", {"read", "write", "execute"}, composed_of=("*",)),
        _tool("careful", "safe", {"read"}, confirm=lambda arguments: bool(arguments.get("big"))),
    ]
    return {tool.name: tool for tool in all_tools}


@pytest.fixture
def judge(tmp_path: Path, tools: dict[str, Tool[..., Any]]) -> Judge:
    """Judge one call: judge("bash", {"command": "ls"}, mode="ask", deny=[...]).

    *sandbox* "" is that of a session that wants none, None where none works.
    """

    def find(name: str | None) -> str:
        if name is None:
            raise ToolError("no sandbox works", error_class="sandbox_unavailable")
        return name

    def ask(
        name: str,
        arguments: dict[str, Any],
        mode: str = "ask",
        agent: str = "",
        *,
        typed: bool = False,
        interactive: bool = False,
        sandbox: str | None = "",
        **settings: Any,
    ) -> Verdict:
        lists = {
            key: tuple(value)
            for key, value in settings.items()
            if not isinstance(value, bool | str)
        }
        parsed = Settings(**{**settings, **lists})
        session = SessionInfo(
            "s",
            tmp_path,
            Mode(mode),
            agent=agent,
            interactive=interactive,
            find_sandbox=lambda: find(sandbox),
            own_folders=(user_config_dir(), state_dir()),
        )
        reading = nanocoder_readable(tools, session, parsed)
        session = attrs.evolve(session, readable=Readable([("policy-rules", reading)]))
        return nanocoder_before_execute(
            ToolCall("1", name, arguments, typed=typed), tools[name], session, parsed
        )

    return ask
