"""Dialects: the model speaks its own names, everything behind them is canonical."""

import attrs
import pytest
from nanocoder import (
    Decision,
    Effect,
    Resource,
    ToolCall,
    ToolResult,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_testing import Tools, play


@tool(risk="safe", effects={Effect.READ})
def look() -> ToolResult:
    """Look around."""
    return ToolResult("canonical", data={"text": "the key is 1234"})


class Loud:
    """A dialect with one tool, LOOK, whose text is made of the data."""

    name = "loud"

    def __init__(self, text="{call.name}: {result.data}"):
        self.text = text

    def offer(self, tools):
        return [{"name": "LOOK", "description": "Look.", "parameters": {}} for _ in tools]

    def canonical(self, call):
        return ToolCall(call.id, call.name.lower(), {})

    def render(self, call, result):
        return self.text.format(call=call, result=result)

    @hookimpl
    def nanocoder_dialects(self):
        return [self]


def outputs(tmp_path, dialect, **plugins):
    together = {"tools": Tools(look), "loud": dialect, **plugins}
    turns = [[("LOOK", {"loudly": True})], "Done."]
    return [one.output for one in play(tmp_path, turns, plugins=together, dialect="loud").results]


def test_a_dialect_words_the_result_for_the_call_that_the_model_made(tmp_path):
    said = outputs(tmp_path, Loud("{call.name} {call.arguments}: {result.data[text]}"))
    assert said == ["LOOK {'loudly': True}: the key is 1234"]


def test_what_a_dialect_says_is_cleaned_and_cut_like_every_result(tmp_path):
    assert outputs(tmp_path, Loud("\x1b[31mred"))[0].startswith("red\n[1 control")
    (long,) = outputs(tmp_path, Loud("x" * 60_000))
    assert "[10,000 characters left out]" in long


@pytest.mark.parametrize("by", ["text", "both"])
def test_what_a_plugin_takes_out_of_a_text_is_not_in_the_data_of_a_dialect(tmp_path, by):
    class Redacts:
        @hookimpl
        def nanocoder_after_execute(self, result):
            if by == "text":
                return attrs.evolve(result, output="[redacted]")
            return attrs.evolve(result, output="[redacted]", data={"text": "none"})

    class Notes:
        @hookimpl
        def nanocoder_after_execute(self, result):
            return attrs.evolve(result, metadata={"seen": True})

    expected = {"text": "LOOK: None", "both": "LOOK: {'text': 'none'}"}
    assert outputs(tmp_path, Loud(), redacts=Redacts(), zz=Notes()) == [expected[by]]


def test_a_policy_sees_the_canonical_call(tmp_path):
    seen = []

    class Watches:
        @hookimpl
        def nanocoder_before_execute(self, call):
            seen.append(call.name)
            return Verdict(Decision.DENY, "no looking")

    (said,) = outputs(tmp_path, Loud("{result.error_class}"), watches=Watches())
    assert (seen, said) == (["look"], "denied")


@tool(risk="medium", effects={Effect.WRITE})
def put(ctx) -> ToolResult:
    """Put a file there."""
    ctx.workspace.write_text("a.txt", "x")
    return ToolResult("put", data={}, metadata={"path": "a.txt"})


class Both:
    @hookimpl
    def nanocoder_tools(self):
        return [look, put]

    @hookimpl
    def nanocoder_before_execute(self):
        return Verdict(Decision.ALLOW, "a test")


def test_the_report_knows_a_call_by_its_canonical_name(tmp_path):
    turns = [[("PUT", {})], *[[("LOOK", {"at": n})] for n in range(3)], "Done."]
    plugins = {"tools": Both(), "loud": Loud("{result.output}")}
    played = play(tmp_path, turns, plugins=plugins, dialect="loud", mode="auto")
    assert played.report["files_changed"] == ["a.txt"]
    assert [one["tool"] for one in played.report["tool_calls"]] == ["put", *["look"] * 3]
    outputs = [one.output.split(":")[0] for one in played.results]
    assert outputs == ["put", *["canonical"] * 3]


class Agents:
    """A tool with a resource that has news for the model."""

    def __init__(self):
        self.news = ["[a1 has finished: task_results of it; task_result reads its answer]"]

    def news_for_model(self, _cancel):
        news, self.news = self.news, []
        return news

    @hookimpl
    def nanocoder_tools(self):
        @tool(risk="safe", effects={Effect.READ})
        def look(ctx) -> str:
            """Start it."""
            ctx.resource("agents")
            return "started"

        return [look]

    @hookimpl
    def nanocoder_resources(self):
        return [Resource("agents", lambda _session, _settings: self)]


@pytest.mark.parametrize("has_words", [True, False])
def test_the_model_reads_of_the_end_of_a_job_in_the_words_of_its_dialect(tmp_path, has_words):
    dialect, agents = Loud("started"), Agents()
    if has_words:
        dialect.reword = lambda line: line.replace("task_result ", "RESULT ")
    (line,) = agents.news
    turns = [[("LOOK", {})], "Started.", "Done."]
    played = play(tmp_path, turns, plugins={"a": agents, "loud": dialect}, dialect="loud")
    announced = line.replace("task_result ", "RESULT ") if has_words else line
    assert played.model.requests[1].messages[-1].text == announced
