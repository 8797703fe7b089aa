"""How long one call takes to be judged with many rules: `python …/judging.py [RULES]`.

The rules are a company's: for commands, paths, addresses and tools, most about other things than
the calls. It prints microseconds for each call, the fastest of several rounds.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from nanocoder import Effect, Mode, Readable, Risk, SessionInfo, Tool, ToolCall, tool
from nanocoder_policy_rules import Settings, nanocoder_before_execute, nanocoder_readable

ROUNDS = 7
CALLS: dict[str, dict[str, Any]] = {
    "read_file": {"path": "src/a.py"},
    "edit_file": {"path": "src/a.py", "old_string": "a", "new_string": "b"},
    "bash ls": {"command": "ls -la src"},
    "bash pytest": {"command": "pytest -q tests/test_a.py"},
    "bash chain": {"command": "cd src && grep -n main a.py | head -5"},
    "bash log": {"command": "make test > log 2>&1; tail -5 log"},
}


def rules(count: int) -> dict[str, tuple[str, ...]]:
    """Return *count* rules, four fifths of which deny."""
    kinds = (
        "bash(deploy{0} *)",
        "read_file(private{0}/**)",
        "web_fetch(https://host{0}.example.org/*)",
        "write_file(generated{0}/*.py)",
        "mcp_tool{0}",
    )
    texts = [kinds[number % len(kinds)].format(number) for number in range(count)]
    asks = texts[:: len(kinds)]
    return {"deny": tuple(text for text in texts if text not in asks), "ask": tuple(asks)}


def a_tool(name: str, effects: set[str], risk: str) -> Tool[..., Any]:
    """Return a tool with a path."""

    def handler(path: str = "") -> str:
        return path

    made: Tool[..., Any] = tool(
        name=name, description=name, risk=Risk(risk), effects=map(Effect, effects)
    )(handler)
    return made


def microseconds(count: int, repeat: int = 200) -> dict[str, float]:
    """Return how long each of CALLS takes to be judged with *count* rules."""
    settings = Settings(**rules(count))
    tools = {
        "read_file": a_tool("read_file", {"read"}, "safe"),
        "edit_file": a_tool("edit_file", {"read", "write"}, "medium"),
        "bash": a_tool("bash", {"read", "write", "execute", "network"}, "dangerous"),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "src").mkdir()
        (folder / "src/a.py").write_text("def main(): ...\n")
        plain = SessionInfo("bench", folder, Mode.EDITS)
        filters = [("policy-rules", nanocoder_readable(tools, plain, settings))]
        session = SessionInfo("bench", folder, Mode.EDITS, readable=Readable(filters))

        def judge_often(title: str) -> float:
            tool_name, arguments = title.split(maxsplit=1)[0], CALLS[title]
            began = time.process_time()
            for _ in range(repeat):
                call = ToolCall("1", tool_name, arguments)
                nanocoder_before_execute(call, tools[tool_name], session, settings)
            return (time.process_time() - began) / repeat * 1e6

        for title in CALLS:
            judge_often(title)
        return {title: min(judge_often(title) for _ in range(ROUNDS)) for title in CALLS}


def main() -> None:
    """Print a line for each call."""
    count = int(sys.argv[1]) if sys.argv[1:] else 500
    for title, duration_us in microseconds(count).items():
        print(f"{title:12} {duration_us:7.0f} µs with {count} rules")


if __name__ == "__main__":
    main()
