"""The part of the contract suite for tools."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from nanocoder.tools.tool import Tool, ToolContext
from nanocoder.values import Effect, Risk
from nanocoder_files import Workspace
from nanocoder_schema import NanocoderError

from nanocoder_testing.contract_marks import fail_for, for_each_of, needs
from nanocoder_testing.definitions import definition_problems
from nanocoder_testing.playing import agree, called, first_choice, opened
from nanocoder_testing.subject import Subject
from nanocoder_testing.tree import tree_digest

MAX_DEFINITION_TOKENS = 350
"""The most tokens of a tool's definition, which each request carries."""
CANCELLED_S = 1.0
"""Seconds that a call may take that was cancelled before it began."""
MODEL_TURNS = 8
"""The most turns of the model in one example."""


@for_each_of("tools")
def test_a_model_understands_the_definition(subject: Subject, part: str) -> None:
    """Describe the tool and each parameter, beyond the words of its name."""
    fail_for(definition_problems(subject.tool(part)))


@for_each_of("tools")
def test_the_schema_is_closed(subject: Subject, part: str) -> None:
    """Refuse unknown parameters, on every level."""
    schema = subject.tool(part).parameters
    problems = [] if schema.get("type") == "object" else ["the schema is no object"]
    problems += [f"{place}: set additionalProperties to false" for place in _open_objects(schema)]
    fail_for(problems)


@for_each_of("tools")
def test_the_definition_is_affordable(
    subject: Subject, part: str, record_property: Callable[[str, object], None]
) -> None:
    """Limit the tokens that the tool adds to every request."""
    tokens = subject.alone().tools()[part].tokens
    record_property("definition_tokens", tokens)
    dear = tokens > MAX_DEFINITION_TOKENS
    problem = f"{part} costs {tokens} tokens in each request; shorten it to {MAX_DEFINITION_TOKENS}"
    fail_for([problem] if dear else [])


@for_each_of("tools")
def test_what_a_tool_does_is_declared(subject: Subject, part: str) -> None:
    """Declare consistent risk and effects, which control approvals and parallel calls."""
    fail_for(_declaration_problems(subject.tool(part)))


@for_each_of("tools")
def test_the_examples_fit_the_schema(subject: Subject, part: str) -> None:
    """Give at least one example, with valid arguments."""
    tool = subject.tool(part)
    if not tool.examples:
        fail_for([f"{part} has no example; give one: @tool(examples=[{{…}}])"])
    for example in tool.examples:
        tool.signature.check(dict(example))


@for_each_of("tools")
@needs(lambda subject, item: _is_runnable(subject.tool(item.callspec.params["part"])))
def test_the_examples_work(subject: Subject, part: str, contract_workspace: Path) -> None:
    """Run each example through the whole path, in a workspace of samples."""
    fail_for(
        f"{example}: {result.error_class}: {result.output}\n(the files it needs come from a fixture"
        " contract_workspace of yours)"
        for example, result in _example_results(subject, part, contract_workspace)
        if result.is_error
    )


@for_each_of("tools")
@needs(lambda subject, item: _is_safe(subject.tool(item.callspec.params["part"])))
def test_a_safe_tool_leaves_the_workspace_as_it_was(
    subject: Subject, part: str, contract_workspace: Path
) -> None:
    """Compare every byte of the workspace before and after the examples."""
    before = tree_digest(contract_workspace)
    ran = [example for example, _ in _example_results(subject, part, contract_workspace)]
    changed = tree_digest(contract_workspace) != before
    problem = f'{part} is "safe" and changed the workspace with one of {ran}; declare its risk'
    fail_for([problem] if changed else [])


@for_each_of("tools")
@needs(lambda subject, item: bool(subject.tool(item.callspec.params["part"]).examples))
def test_a_cancelled_call_ends_at_once(
    subject: Subject, part: str, contract_workspace: Path
) -> None:
    """Stop as soon as `ctx.cancelled` is set, here before the handler begins."""
    tool = subject.tool(part)
    arguments = tool.signature.check(dict(tool.examples[0]))
    with Workspace(contract_workspace) as workspace:
        ctx = ToolContext(
            "session", "call", workspace, workspace.root, make_tmp=lambda: workspace.root
        )
        ctx.cancelled.set()
        started = time.monotonic()
        # RuntimeError: this context has no other tools and no resources.
        with suppress(NanocoderError, RuntimeError):
            tool.invoke(ctx, arguments)
        took = time.monotonic() - started
    slow = took > CANCELLED_S
    fail_for([f"{part} took {took:.1f} s; look at ctx.cancelled while you wait"] if slow else [])


def _open_objects(schema: Any, place: str = "parameters") -> Iterator[str]:
    if isinstance(schema, list):
        for inner in schema:
            yield from _open_objects(inner, place)
    if not isinstance(schema, dict):
        return
    if "properties" in schema and schema.get("additionalProperties") is not False:
        yield place
    for key, inner in schema.items():
        yield from _open_objects(inner, f"{place}.{key}")


def _declaration_problems(tool: Tool[..., Any]) -> Iterator[str]:
    effects = tool.effects
    changing = sorted(effects & {Effect.WRITE, Effect.EXECUTE})
    if not effects - {Effect.IDEMPOTENT, Effect.REVERSIBLE}:
        yield f"{tool.name}: declare what it does: @tool(effects={{Effect.READ, …}})"
    elif not effects & {Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK}:
        yield f"{tool.name}: a tool that changes nothing reads; declare Effect.READ"
    if tool.risk is Risk.SAFE and changing:
        can = " and ".join(changing)
        yield f'{tool.name}: what can {can} is not "safe"; say risk="medium" or more'


def _is_runnable(tool: Tool[..., Any]) -> bool:
    """Return True if examples may run here: not those of a tool that only uses the network."""
    return Effect.NETWORK not in tool.effects or Effect.EXECUTE in tool.effects


def _is_safe(tool: Tool[..., Any]) -> bool:
    return tool.risk is Risk.SAFE and _is_runnable(tool)


def _example_results(subject: Subject, part: str, cwd: Path) -> Iterator[tuple[Any, Any]]:
    examples = subject.tool(part).examples
    # A tool may ask the model, as those with sub-agents do.
    turns = ["Hello."] * MODEL_TURNS * len(examples)
    plugins = subject.alone()
    with opened(cwd, turns, plugins=plugins, mode="auto", approve=agree, ask=first_choice) as (
        session,
        _,
    ):
        for example in examples:
            yield dict(example), called(session, part, example)[0]
