"""`nanocoder policy test FILE`: compare the verdicts on calls with those that a file expects."""

import json
import tomllib
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml  # type: ignore[import-untyped]
from attrs import field, fields, frozen
from nanocoder import Host, UsageError, did_you_mean

from nanocoder_command_policy.judging import Judge, Ruled, call_of, judging

VERDICTS: Final = ("allow", "ask", "deny")
MAX_BYTES: Final = 4_194_304


@frozen
class Expected:
    """One call of the file: all fields but *tool* and *arguments* are expectations.

    A part of *rule* or *reason* is enough. *mode*, *agent* and *interactive* are the session's.
    """

    tool: str
    verdict: str
    arguments: Mapping[str, Any] = field(factory=dict)
    mode: str = ""
    agent: str = ""
    interactive: bool | None = None
    rule: str = ""
    reason: str = ""
    sandbox: bool | None = None
    persons: int | None = None
    rewritten: Mapping[str, Any] | None = None


def run(arguments: Namespace, host: Host) -> int:
    """Judge every call of the file; return 1 when a verdict is not the expected one."""
    expected = read_calls(Path(arguments.file))
    with judging(host) as judge:
        rows = [_row(judge, number, case) for number, case in enumerate(expected, 1)]
    failed = [row for row in rows if row["problems"]]
    if arguments.output == "json":
        host.print_json({"calls": len(rows), "failed": len(failed), "results": rows})
        return 1 if failed else 0
    for row in failed:
        host.print_line(f"call {row['number']}: {row['tool']} {json.dumps(row['arguments'])}")
        for problem in row["problems"]:
            host.print_line(f"  - expected {problem['name']}: {problem['expected']}")
            host.print_line(f"  + got {problem['name']}: {problem['got']}")
        host.print_line(f"  because {row['why']}")
    host.print_line(f"{len(rows) - len(failed)} of {len(rows)} calls are judged as expected")
    return 1 if failed else 0


def read_calls(path: Path) -> list[Expected]:
    """Read a file of calls; raises UsageError, naming the file and the call."""
    document = _parsed(path)
    calls = document.get("calls") if isinstance(document, dict) else document
    if not isinstance(calls, list) or not calls:
        raise UsageError(f"{path}: expected a list of calls, `[[calls]]` in TOML")
    common = (
        {name: value for name, value in document.items() if name != "calls"}
        if isinstance(document, dict)
        else {}
    )
    return [_expected(path, number, common, call) for number, call in enumerate(calls, 1)]


def _parsed(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None
    if path.suffix in {".yaml", ".yml"}:
        return _parse_yaml(path, text)

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: this is not valid TOML: {error}") from None


def _parse_yaml(path: Path, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"{path}: this is not valid YAML: {problem}") from None


def _expected(path: Path, number: int, common: Mapping[str, Any], call: Any) -> Expected:
    where = f"{path}: call {number}"
    if not isinstance(call, dict):
        raise UsageError(f"{where}: expected a table, got {call!r:.60}")
    names = [attribute.name for attribute in fields(Expected)]
    values = {**common, **call}
    for name in values:
        if name not in names:
            raise UsageError(f"{where}: unknown key {name!r}{did_you_mean(name, names)}")
    if missing := [name for name in ("tool", "verdict") if not isinstance(values.get(name), str)]:
        raise UsageError(f"{where}: {missing[0]!r} is missing, or no text")
    _refuse_unknown(where, "verdict", values["verdict"], VERDICTS)
    _refuse_unknown(where, "mode", values.get("mode", "ask"), ("plan", "ask", "edits", "auto"))
    if not isinstance(values.get("arguments", {}), dict):
        raise UsageError(f"{where}: 'arguments' is not a table")
    return Expected(**values)


def _refuse_unknown(where: str, name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        hint = did_you_mean(str(value), choices, f"; choose from {', '.join(choices)}")
        raise UsageError(f"{where}: there is no {name} {value!r}{hint}")


def _row(judge: Judge, number: int, case: Expected) -> dict[str, Any]:
    ruled = judge.judge(
        call_of(case.tool, case.arguments),
        mode=case.mode,
        agent=case.agent,
        interactive=case.interactive,
    )
    return {
        "number": number,
        "tool": case.tool,
        "arguments": dict(case.arguments),
        "verdict": ruled.decision,
        "why": ruled.why,
        "problems": _problems(case, ruled),
    }


def _problems(case: Expected, ruled: Ruled) -> list[dict[str, Any]]:
    """Return the expected and the actual value of each difference."""
    verdict = ruled.verdict
    pairs: list[tuple[str, Any, Any]] = [("verdict", case.verdict, ruled.decision)]
    for name, part in (("rule", verdict.rule), ("reason", verdict.reason)):
        fragment = getattr(case, name)
        pairs.append((name, fragment, fragment if fragment in part else part))
    for name in ("sandbox", "persons"):
        expected = getattr(case, name)
        got = getattr(verdict, name)
        pairs.append((name, got if expected is None else expected, got))
    if case.rewritten is not None:
        pairs.append(("arguments", dict(case.rewritten), dict(ruled.call.arguments)))
    return [
        {"name": name, "expected": expected, "got": got}
        for name, expected, got in pairs
        if expected != got
    ]
