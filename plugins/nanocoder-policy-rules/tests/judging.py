"""How long one call takes to be judged with many rules: `python …/judging.py [RULES]`.

The rules are a company's: for commands, paths, addresses and tools, most about other things than
the calls. It prints microseconds for each call, the fastest of several rounds.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nanocoder import Effect, Mode, Readable, Risk, SessionInfo, Tool, ToolCall, tool
from nanocoder_policy_rules import Settings, nanocoder_before_execute, nanocoder_readable
from nanocoder_policy_rules.shell_text import parse

ROUNDS = 7
CALLS: dict[str, dict[str, Any]] = {
    "read_file": {"path": "src/a.py"},
    "edit_file": {"path": "src/a.py", "old_string": "a", "new_string": "b"},
    "bash ls": {"command": "ls -la src"},
    "bash pytest": {"command": "pytest -q tests/test_{}.py"},
    "bash chain": {"command": "cd src && grep -n main{} a.py | head -5"},
    "bash log": {"command": "make test > log{} 2>&1; tail -5 log{}"},
}
"""The calls; `{}` is a part of a name that is new in each new command."""


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


@contextmanager
def prepared(count: int) -> Iterator[Callable[..., object]]:
    """Yield what judges one of CALLS, by its title and a new part of names, with *count* rules."""
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

        def judge_once(title: str, part: str = "a") -> object:
            name = title.split(maxsplit=1)[0]
            arguments = {key: text.replace("{}", part) for key, text in CALLS[title].items()}
            call = ToolCall("1", name, arguments)
            return nanocoder_before_execute(call, tools[name], session, settings)

        yield judge_once


def microseconds(count: int, repeat: int = 200, *, forget: bool = False) -> dict[str, float]:
    """Return how long each of CALLS takes to be judged with *count* rules.

    With *forget* each command is judged as if for the first time, with names that are new.
    """
    parts = map(str, itertools.count())
    with prepared(count) as judge_once:

        def judge_often(title: str) -> float:
            spent = 0.0
            for _ in range(repeat):
                if forget:
                    parse.cache_clear()
                part = next(parts) if forget else "a"
                began = time.process_time()
                judge_once(title, part)
                spent += time.process_time() - began
            return spent / repeat * 1e6

        for title in CALLS:
            judge_often(title)
        return {title: min(judge_often(title) for _ in range(ROUNDS)) for title in CALLS}


def main() -> None:
    """Print a line for each call."""
    count = int(sys.argv[1]) if sys.argv[1:] else 500
    first, again = microseconds(count, forget=True), microseconds(count)
    for title in CALLS:
        times = f"{first[title]:7.0f} µs the first time, {again[title]:6.0f} µs again"
        print(f"{title:12} {times}, with {count} rules")


if __name__ == "__main__":
    main()
