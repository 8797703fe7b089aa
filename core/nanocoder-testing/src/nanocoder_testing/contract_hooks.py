"""The part of the contract suite for providers, policies and screens."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from nanocoder.errors import ProviderError
from nanocoder.plugins import Plugins
from nanocoder.provider import Provider, Request
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import Tool
from nanocoder.values import Decision, Event, Message, Mode, ToolCall, ToolResult, Verdict
from nanocoder_schema import ToolError, problem_of

from nanocoder_testing.contract_marks import NAME, fail_for, for_each_of, needs
from nanocoder_testing.playing import play
from nanocoder_testing.scripted import Turn
from nanocoder_testing.streams import stream_problems
from nanocoder_testing.subject import Subject, installed


@for_each_of("providers")
def test_a_provider_says_what_it_is(subject: Subject, part: str) -> None:
    """Describe the provider and the way to use it."""
    spec = subject.spec(part)
    problems = [] if NAME.fullmatch(part) else [f"{part!r}: use lower-case words with dashes"]
    if not spec.description:
        problems.append(f"{part}: say in `description` what it is")
    if not (spec.key_variables or spec.hint or spec.probe):
        problems.append(f"{part}: say in `key_variables` or `hint` how to get to use it")
    problems += [
        f"{part}: {name!r} is no name of an environment variable; use CAPITALS_AND_UNDERSCORES"
        for name in spec.key_variables
        if name != name.upper() or not name.isidentifier()
    ]
    fail_for(problems)


@for_each_of("providers")
@pytest.mark.usefixtures("home")
def test_a_provider_that_cannot_be_opened_says_so(
    subject: Subject, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open it without a key and with default settings: a provider, or ProviderError."""
    spec, plugins = subject.spec(part), subject.alone()
    for name in spec.key_variables:
        monkeypatch.delenv(name, raising=False)
    try:
        provider = spec.open(spec.default_model or "no-such-model", plugins.settings(subject.name))
    except ProviderError as error:
        fail_for([] if str(error) else [f"{part}: say in the ProviderError what to do"])
        return
    except Exception as error:  # noqa: BLE001 - this test reports every other exception
        fail_for([f"{part}: open raised {problem_of(error)}; raise ProviderError"])
    problems = (
        [] if isinstance(provider, Provider) else [f"{part}: {provider!r:.80} is no Provider"]
    )
    if provider.profile not in {"full", "small"}:
        problems.append(f"{part}: its profile is {provider.profile!r}; use 'full' or 'small'")
    provider.close()
    fail_for(problems)


@needs(lambda _, item: hasattr(item.module, "contract_provider"))
@pytest.mark.usefixtures("subject")
def test_a_provider_streams_as_it_has_to(request: pytest.FixtureRequest) -> None:
    """Send one request to the plugin's own server: pieces, one end, and an end after a cancel."""
    fail_for(stream_problems(request.getfixturevalue("contract_provider")))


# Policies and screens


@pytest.mark.timeout(60)
@needs(lambda subject, _: subject.implements("nanocoder_before_execute"))
def test_a_policy_answers_for_every_tool_in_every_mode(
    subject: Subject, contract_workspace: Path
) -> None:
    """Return a Verdict or None, never an exception: one would deny every such call."""
    problems = []
    for where, answer in _judgements(subject, contract_workspace):
        if isinstance(answer, Exception):
            problems.append(f"{where}: raised {problem_of(answer)}; return None where unsure")
        elif answer is not None and not (
            isinstance(answer, Verdict) and isinstance(answer.decision, Decision)
        ):
            problems.append(f"{where}: returned {answer!r:.80}; return a Verdict or None")
    fail_for(problems)


@pytest.mark.timeout(60)
@needs(lambda subject, _: subject.implements("nanocoder_before_execute"))
def test_a_policy_says_why(subject: Subject, contract_workspace: Path) -> None:
    """Give a reason with every verdict: a person reads it in a question, a model in a refusal."""
    fail_for(
        f"{where}: {answer.decision} without a reason"
        for where, answer in _judgements(subject, contract_workspace)
        if getattr(answer, "reason", "so") == ""
    )


@needs(lambda subject, _: subject.implements("nanocoder_after_execute"))
def test_a_result_stays_a_result(subject: Subject, contract_workspace: Path) -> None:
    """Return a ToolResult or None for every result of a tool; an exception withholds it."""
    see = subject.implementation("nanocoder_after_execute")
    samples = [
        ToolResult("output", data={"a": [1]}, metadata={"path": "x"}),
        ToolResult(""),
        ToolResult("odd \x1b[2J\0\ud800 " * 100),
        ToolResult("no", is_error=True, error_class="tool_failed"),
    ]
    problems = []
    for call, tool, context in _calls(subject, contract_workspace):
        for result in samples:
            answer = _answer(see, {**context, "call": call, "tool": tool, "result": result})
            if answer is not None and not isinstance(answer, ToolResult):
                problems.append(f"{call.name}: {answer!r:.80}; return a ToolResult or None")
    fail_for(problems)


@needs(lambda subject, _: subject.implements("nanocoder_before_request"))
def test_a_request_stays_a_request(subject: Subject, contract_workspace: Path) -> None:
    """Return a Request or None in every mode; an exception ends the run."""
    see = subject.implementation("nanocoder_before_request")
    request = Request("model", "system", (Message("user", "odd \x1b[2J\0\ud800"),))
    contexts = _hook_contexts(subject, contract_workspace)
    answers = [_answer(see, {**context, "request": request}) for context in contexts]
    fail_for(
        f"nanocoder_before_request: {answer!r:.80}; return a Request or None"
        for answer in answers
        if answer is not None and not isinstance(answer, Request)
    )


@needs(lambda subject, _: subject.implements("nanocoder_render"))
def test_a_rendering_is_text(subject: Subject, contract_workspace: Path) -> None:
    """Return text or None for every installed tool; a ToolError before its call is an answer."""
    render = subject.implementation("nanocoder_render")
    problems = []
    for call, tool, context in _calls(subject, contract_workspace):
        for result in (
            None,
            ToolResult("output"),
            ToolResult("no", is_error=True, error_class="x"),
        ):
            answer = _answer(render, {**context, "call": call, "tool": tool, "result": result})
            sound = str if result is not None else (str, ToolError)
            if answer is not None and not isinstance(answer, sound):
                problems.append(f"{call.name}: {answer!r:.80}; return text or None")
    fail_for(problems)


@needs(lambda subject, _: subject.implements("nanocoder_prompt"))
def test_additions_to_the_prompt_are_text(subject: Subject, contract_workspace: Path) -> None:
    """Return text or None in every mode."""
    add = subject.implementation("nanocoder_prompt")
    answers = [_answer(add, context) for context in _hook_contexts(subject, contract_workspace)]
    fail_for(
        f"nanocoder_prompt: {answer!r:.80}; return text or None"
        for answer in answers
        if answer is not None and not isinstance(answer, str)
    )


@for_each_of("screens")
@pytest.mark.usefixtures("capsys")
def test_a_screen_shows_every_event(subject: Subject, part: str, contract_workspace: Path) -> None:
    """Show a whole session with odd text and unknown events in it, and close."""
    turns: list[Turn] = [
        [("no_such_tool", {"x": "\x1b[2J\ud800\0"})],
        "odd \x1b]0;x\x07 \ud800",
        ProviderError("no"),
    ]
    events = [*play(contract_workspace, turns).events, Event("kind.of.tomorrow", {"new": [1]})]
    plugins = subject.alone()
    screen = plugins.offered("screens", part)
    info = SessionInfo("s", contract_workspace, output=part)
    display = screen[1].open(info, plugins.settings(subject.name)) if screen else None
    for event in [*events, Event("session.finished", {})]:
        try:
            display.show(event)  # type: ignore[union-attr]
        except Exception as error:  # noqa: BLE001 - whatever is raised is what this test is about
            fail_for([f"{part}: {event.kind} {dict(event.data)!r:.200}: {problem_of(error)}"])
    display.close()  # type: ignore[union-attr]


def _judgements(subject: Subject, cwd: Path) -> Iterator[tuple[str, Any]]:
    judge = subject.implementation("nanocoder_before_execute")
    for call, tool, context in _calls(subject, cwd):
        where = f"{call.name} in mode {context['session'].mode}"
        yield where, _answer(judge, {**context, "call": call, "tool": tool})


def _answer(implementation: Any, arguments: Any) -> Any:
    try:
        return implementation(arguments)
    except Exception as error:  # noqa: BLE001 - the caller reports every exception
        return error


def _calls(subject: Subject, cwd: Path) -> Iterator[tuple[Any, Tool[..., Any], dict[str, Any]]]:
    """Yield calls of every installed tool in every mode: its examples, and unusual ones."""
    for context in _hook_contexts(subject, cwd):
        for tool in installed().tools().values():
            for example in tool.examples:
                odd = {
                    key: "\0\ud800" if isinstance(value, str) else value
                    for key, value in example.items()
                }
                for arguments in (dict(example), odd):
                    yield ToolCall("call", tool.name, arguments), tool, context


def _hook_contexts(subject: Subject, cwd: Path) -> Iterator[dict[str, Any]]:
    """Yield the arguments of hooks for a session of each mode, with and without a person."""
    plugins = subject.alone()
    for mode in Mode:
        for interactive in (False, True):
            session = SessionInfo("session", cwd, mode=mode, interactive=interactive)
            resource = partial(_resource_opener, plugins, session)
            yield {"session": session, "settings": plugins.settings, "resource": resource}


def _resource_opener(
    plugins: "Plugins", session: "SessionInfo", plugin: str
) -> Callable[[str], Any]:
    """Return a function that opens a new resource of *plugin* by its name."""
    return lambda name: plugins.real(plugin, "resources", name).open(
        session, plugins.settings(plugin)
    )
