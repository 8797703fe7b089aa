"""A tool asks the person: who answers, on which thread, and what happens when nobody does."""

import threading
from types import SimpleNamespace

import pytest
from nanocoder import Question, hookimpl, tool
from nanocoder_testing import opened
from nanocoder_testing.playing import called


@tool(risk="safe", effects={"read"}, timeout_s=0)
def wonder(ctx, text: str) -> str:
    """Ask the person."""
    answer = ctx.ask(Question(text, choices=("red", "blue")))
    return f"answer: {answer}"


def offering(*tools, **hooks):
    plugin = SimpleNamespace(nanocoder_tools=hookimpl(lambda: list(tools)))
    for name, function in hooks.items():
        setattr(plugin, name, hookimpl(function))
    return plugin


def ask(cwd, *others, **options):
    plugins = {"asking": offering(wonder)} | {f"ui-{n}": one for n, one in enumerate(others)}
    with opened(cwd, plugins=plugins, mode="auto", **options) as (session, _):
        result, _ = called(session, "wonder", {"text": "Which?"})
        return result.output, session.plugins.reports


def test_the_callback_of_the_session_answers(tmp_path):
    asked = []

    def answer(question):
        asked.append((question, threading.current_thread()))
        return "red"

    output, _ = ask(tmp_path, ask=answer)
    assert output == "answer: red"
    [(question, thread)] = asked
    assert question == Question("Which?", ("red", "blue"), call_id="call-1")
    assert thread is threading.main_thread()


def test_the_first_plugin_that_answers_wins_and_one_that_breaks_is_reported(tmp_path):
    def broken(question):
        raise OSError("no terminal")

    ways = [
        offering(nanocoder_ask=broken),
        offering(nanocoder_ask=lambda question: None),
        offering(nanocoder_ask=lambda question, session: f"{question.text} {session.interactive}"),
        offering(nanocoder_ask=lambda: "too late"),
    ]
    output, reports = ask(tmp_path, *ways, interactive=True)
    assert output == "answer: Which? True"
    assert "no terminal" in str(reports[0])


def test_without_a_person_no_plugin_is_asked(tmp_path):
    def never(question):
        pytest.fail("nobody is there")

    output, reports = ask(tmp_path, offering(nanocoder_ask=never))
    assert (output, reports) == ("answer: None", [])


def test_an_answer_that_is_no_text_counts_as_none(tmp_path):
    output, reports = ask(tmp_path, offering(nanocoder_ask=lambda: 7), interactive=True)
    assert output == "answer: None"
    assert "returned int, expected str" in str(reports[0])


@tool(risk="safe", effects={"read"}, composed_of=("*",))
def anything(ctx, name: str) -> str:
    """Call any tool."""
    result = ctx.call(name, {"text": "x"} if name == "wonder" else {"name": "wonder"})
    return f"{result.error_class or 'ok'}: {result.output}"


@tool(risk="safe", effects={"read"}, composed_of=("wonder",))
def one_thing(ctx, name: str) -> str:
    """Call one tool."""
    return ctx.call(name, {"text": "x"}).output


@pytest.mark.parametrize(
    ("outer", "inner", "output"),
    [
        ("anything", "wonder", "ok: answer: None"),
        ("anything", "no_such", "unknown_tool: Unknown tool: no_such."),
        ("anything", "anything", "anything may not call 'anything', which calls"),
        ("anything", "one_thing", "ok: answer: None"),
        ("one_thing", "wonder", "answer: None"),
        ("one_thing", "anything", "one_thing may not call 'anything'; it declares: wonder"),
    ],
)
def test_a_tool_calls_what_it_declares_and_a_star_is_any_but_another_star(
    tmp_path, outer, inner, output
):
    plugins = {"p": offering(wonder, anything, one_thing)}
    with opened(tmp_path, plugins=plugins, mode="auto", approve=yes) as (session, _):
        assert called(session, outer, {"name": inner})[0].output.startswith(output)


def yes(request):
    from nanocoder import ApprovalAnswer

    return ApprovalAnswer(request.id, request.digest, approved=True)


@tool(risk="safe", effects={"read"}, confirm=lambda arguments: arguments["text"] == "far")
def look(text: str) -> str:
    """Look at something."""
    return text


@pytest.mark.parametrize(("text", "error_class"), [("near", ""), ("far", "approval_needed")])
def test_without_a_policy_a_tool_that_wants_consent_gets_it_asked_for(tmp_path, text, error_class):
    with opened(tmp_path, plugins={"p": offering(look)}) as (session, _):
        assert called(session, "look", {"text": text})[0].error_class == error_class
