"""Let a model call functions alone and through nanocoder, and count the right calls of each.

    python tests/bench/bfcl.py [--each N] [--form FORM] [--kind KIND] [--model P/M] [--json FILE]

The tasks are those of the suite `eval-bfcl`. Alone, the embedded engine gets the question and the
functions as `tools` of a chat completion, so the model's own template presents them; what it
writes counts if the engine reads calls in it, or if it is JSON with a name and arguments, in a
block, in tags or bare. Through the agent, a session has the functions in place of its tools.
Both run at temperature 0. With `--json`, a run goes on where it was ended.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from forms import Outcome, add_options, measure, summary
from nanocoder import Cancel, Notice, Plugins, open_session
from nanocoder_kit_batch.functions import replace_tools


def plugin_module(name: str, part: str = "") -> Any:
    """Return the module of the plugin *name*, or a *part* of it."""
    (entry,) = entry_points(group="nanocoder", name=name)
    return import_module(f"{entry.module}.{part}" if part else entry.module)


KINDS: Final = ("simple", "multiple", "parallel", "irrelevance")
MAX_TOKENS: Final = 512
MAX_TURNS: Final = 10
LOADED: Final = ("call-meaning", "policy-repetition", "policy-rules", "provider-local")
"""Of the default set, what has to do with calls: other installed plugins do not count."""
START: Final = re.compile(r"[\[{]")

Calls = list[dict[str, Any]]
Solver = Callable[[Mapping[str, Any]], tuple[Calls, str]]
"""From a task to the calls that were made, and why the work on it ended."""


def alone(model: str) -> Solver:
    """Return what asks the embedded engine, without nanocoder's prompt, grammar or loop."""
    settings = plugin_module("provider-local", "settings").Settings()
    locate = plugin_module("provider-local", "locate").locate
    engine = plugin_module("provider-local", "engine").Engine(locate(model, settings), settings)

    def solve(row: Mapping[str, Any]) -> tuple[Calls, str]:
        tools = [{"type": "function", "function": function} for function in row["functions"]]
        body = {
            "messages": [{"role": "user", "content": row["question"]}],
            "tools": tools,
            "max_tokens": MAX_TOKENS,
            "temperature": 0.0,
            "stream": True,
        }
        pieces = engine.ask(body, None, Cancel())
        chunks = [piece for piece in pieces if not isinstance(piece, Notice)]
        return calls_of(chunks), next((str(c["error"]) for c in chunks if "error" in c), "done")

    return solve


def calls_of(chunks: Sequence[Mapping[str, Any]]) -> Calls:
    """Return the calls of a streamed reply: those of the engine, else those in the text."""
    deltas = [choice.get("delta", {}) for chunk in chunks for choice in chunk.get("choices", ())]
    native: dict[int, dict[str, str]] = {}
    for piece in (piece for delta in deltas for piece in delta.get("tool_calls") or ()):
        call = native.setdefault(piece["index"], {"name": "", "arguments": ""})
        for key, text in (piece.get("function") or {}).items():
            call[key] += text or ""
    if native:
        return [_call(call["name"], call["arguments"]) for call in native.values()]
    return list(calls_in("".join(delta.get("content") or "" for delta in deltas)))


def calls_in(text: str) -> Iterator[dict[str, Any]]:
    """Yield each JSON object of *text* that has a name and arguments, also those in a list."""
    decoder, place = json.JSONDecoder(), 0
    while found := START.search(text, place):
        try:
            value, place = decoder.raw_decode(text, found.start())
        except ValueError:
            place = found.end()
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict) and isinstance(each.get("name"), str):
                yield _call(each["name"], each.get("arguments", each.get("parameters", {})))


def _call(name: str, arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            arguments = None
    return {"name": name, "arguments": arguments}


def through_agent(model: str) -> Solver:
    """Return what runs the question in a session that has the task's functions as its tools."""
    entries = {name: entry for name, entry in Plugins.installed().entries.items() if name in LOADED}

    def solve(row: Mapping[str, Any]) -> tuple[Calls, str]:
        plugins = Plugins(entries)
        replace_tools(plugins, row["functions"])
        calls: Calls = []
        with (
            tempfile.TemporaryDirectory(prefix="bfcl-") as folder,
            open_session(
                folder,
                model=model,
                mode="auto",
                plugins=plugins,
                max_turns=MAX_TURNS,
                persist=False,
            ) as session,
        ):
            for event in session.run(row["question"]):
                if event.kind == "call.started":
                    data = event.data
                    calls.append({"name": data["tool"], "arguments": dict(data["arguments"])})
            return calls, str(session.report.stop_reason)

    return solve


def attempt(row: Mapping[str, Any], form: str, solve: Solver) -> Outcome:
    """Do one task in one form, and judge its calls."""
    began = time.monotonic()
    calls, stopped = solve(row)
    seconds = round(time.monotonic() - began, 1)
    is_right = plugin_module("eval-bfcl", "scoring").is_right
    return Outcome(row["id"], form, is_right(calls, row["expected"]), seconds, stopped)


def rows() -> list[dict[str, Any]]:
    """Return the tasks of the suite."""
    tasks: list[dict[str, Any]] = plugin_module("eval-bfcl").rows()
    return tasks


def chosen(kind: str, each: int) -> list[dict[str, Any]]:
    """Return the first *each* tasks of every kind, or of one."""
    tasks = rows()
    kinds = (kind,) if kind else KINDS
    return [row for name in kinds for row in [r for r in tasks if r["kind"] == name][:each]]


def tables(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the figures of each kind, and of all."""
    kinds = {row["id"]: row["kind"] for row in rows()}
    for kind in (*KINDS, ""):
        of_kind = [outcome for outcome in outcomes if kind in ("", kinds[outcome.task_id])]
        if of_kind:
            yield kind or "all"
            yield from summary(of_kind)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=100, help="so many tasks of each kind")
    parser.add_argument("--kind", choices=KINDS, default="")
    add_options(parser)
    options = parser.parse_args()
    solvers = {
        "model": alone(options.model.partition("/")[2]),
        "agent": through_agent(options.model),
    }
    outcomes = measure(
        {row["id"]: row for row in chosen(options.kind, options.each)},
        lambda row, form: attempt(row, form, solvers[form]),
        options,
    )
    print("\n".join(tables(outcomes)))


if __name__ == "__main__":
    main()
