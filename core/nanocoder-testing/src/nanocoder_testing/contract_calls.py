"""The part of the contract suite that calls tools with invalid arguments."""

import contextlib
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from nanocoder.config import Config
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect
from nanocoder_config import Layer

from nanocoder_testing.arguments import bad_arguments
from nanocoder_testing.contract_marks import fail_for, for_each_of, needs
from nanocoder_testing.field import OUTSIDE, Field
from nanocoder_testing.playing import agree, called, first_choice, opened
from nanocoder_testing.plugin import USUAL_CALLS
from nanocoder_testing.subject import Subject

Call = Callable[[str, Mapping[str, Any]], None]

MAX_SHOWN = 5
PROCESSES_FOR_CALLS = 5
"""The number of calls is divided by this for a tool that may start processes."""
CALL_LIMIT_S = 1.0
"""Seconds that a call may take if its tool has no limit of its own."""
PATIENCE_S = 4.0
"""Seconds after which no more calls are generated, unless more than usual are wanted."""
PATIENCE_FOR_ALL_S = 30.0
"""Seconds after which a test of bad arguments makes no more calls."""


@pytest.fixture
def contract_field(
    contract_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Field:
    """Return a field around `contract_workspace`; calls run beside it, without a network."""
    around = tmp_path / "around"
    for name in ("home", "outside", "stands", "temporary"):
        (around / name).mkdir(parents=True)
    (around / "outside" / "secret.txt").write_text(OUTSIDE, encoding="utf-8")
    monkeypatch.setenv("HOME", str(around / "home"))
    monkeypatch.setenv("TMPDIR", str(around / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", str(around / "temporary"))
    _close_the_network(monkeypatch)
    return Field(contract_workspace, around, tmp_path / "copy")


@for_each_of("tools")
@pytest.mark.timeout(120)
def test_bad_arguments_become_results(subject: Subject, part: str, contract_field: Field) -> None:
    """Answer any arguments with a useful result, and access nothing outside."""
    tool = subject.tool(part)
    example = dict(tool.examples[0]) if tool.examples else {}
    bad = bad_arguments(tool.parameters, example, contract_field.secret)
    fail_for(_problems(subject, tool, contract_field, lambda call: _call_each(bad, call)))


@for_each_of("tools")
@needs(lambda *_: find_spec("hypothesis") is not None)
@pytest.mark.parametrize("attended", [True, False], ids=["agreed", "unattended"])
@pytest.mark.timeout(0)
def test_arguments_that_were_made_up_become_results(
    subject: Subject,
    part: str,
    attended: bool,  # noqa: FBT001 - pytest passes it by name
    contract_field: Field,
    pytestconfig: pytest.Config,
) -> None:
    """Generate arguments from the tool's own schema, for `--nanocoder-calls` calls."""
    from nanocoder_testing.made_up import made_up, try_each

    tool = subject.tool(part)
    count: int = pytestconfig.getoption("nanocoder_calls")
    seconds = PATIENCE_S * max(1, count / USUAL_CALLS)
    calls = max(1, count // PROCESSES_FOR_CALLS) if Effect.EXECUTE in tool.effects else count

    def each(call: Call) -> None:
        patient = _patient(call, seconds)
        try_each(made_up(tool), lambda arguments: patient(f"{arguments!r:.2000}", arguments), calls)

    fail_for(_problems(subject, tool, contract_field, each, attended=attended))


def _call_each(bad: Iterable[tuple[str, dict[str, Any]]], call: Call) -> None:
    patient = _patient(call, PATIENCE_FOR_ALL_S)
    for label, arguments in bad:
        patient(label, arguments)


def _patient(call: Call, seconds: float) -> Call:
    """Return a function that does *call* for some seconds, and nothing afterwards."""
    until = time.monotonic() + seconds

    def patient(label: str, arguments: Mapping[str, Any]) -> None:
        if time.monotonic() < until:
            call(label, arguments)

    return patient


def _problems(
    subject: Subject,
    tool: Tool[..., Any],
    field: Field,
    each: Callable[[Call], None],
    *,
    attended: bool = True,
) -> Iterator[str]:
    """Yield the problems of the calls that *each* makes, with all approved or none."""
    lines: list[str] = []
    flags = {"call_timeout_s": CALL_LIMIT_S, "mode": "auto" if attended else "plan"}
    answers: dict[str, Any] = {"approve": agree, "ask": first_choice} if attended else {}
    config = Config([Layer("flag", flags)])
    with opened(field.workspace, plugins=subject.alone(), config=config, **answers) as (session, _):

        def call(label: str, arguments: Mapping[str, Any]) -> None:
            # Not the whole test: hypothesis writes files in the working directory.
            with contextlib.chdir(field.around / "stands"):
                result, events = called(session, tool.name, arguments)
            problems = field.problems(tool, result, events, attended=attended)
            lines.extend(f"{tool.name}, {label}: {problem}" for problem in problems)

        each(call)
    yield from sorted(lines, key=len)[:MAX_SHOWN]
    yield from (f"{tool.name}: {problem}" for problem in field.problems_after())


def _close_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restrict this process to connections on this machine."""
    connect, find = socket.socket.connect, socket.getaddrinfo

    def is_here(host: Any) -> bool:
        return isinstance(host, str) and (host.startswith("127.") or host in {"::1", "localhost"})

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not is_here(address[0]):
            raise OSError("the network is closed")
        connect(self, address)

    def find_here(host: Any, *rest: Any, **options: Any) -> Any:
        if not is_here(host):
            options["flags"] = socket.AI_NUMERICHOST  # host names are not resolved
        return find(host, *rest, **options)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    monkeypatch.setattr(socket, "getaddrinfo", find_here)
