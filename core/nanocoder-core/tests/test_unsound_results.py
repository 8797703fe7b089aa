"""Results that nobody could work with, and messages that quote anything, stop at the border."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve
from nanocoder import Attachment, Decision, ToolError, ToolResult, Verdict, hookimpl, tool
from nanocoder_kit_sessions import testing
from nanocoder_testing import opened
from nanocoder_testing.playing import called

SOUND = ToolResult("fine", attachments=(Attachment("image/png", b"x"),))
CYCLE: dict[str, object] = {}
CYCLE["again"] = CYCLE
UNSOUND = [
    ({"output": 5}, "ToolResult.output is int, not str"),
    ({"output": None}, "ToolResult.output is NoneType, not str"),
    ({"title": b"x"}, "ToolResult.title is bytes, not str"),
    ({"metadata": None}, "ToolResult.metadata is NoneType, not Mapping"),
    ({"attachments": (b"x",)}, "ToolResult.attachments holds bytes, not Attachment"),
    ({"is_error": "yes"}, "ToolResult.is_error is str, not bool"),
    ({"error_class": 5}, "ToolResult.error_class is int, not str"),
    ({"artifact": 5}, "ToolResult.artifact is int, not str"),
    ({"metadata": CYCLE}, "ToolResult.metadata cannot be JSON: nested deeper than 64 levels"),
    ({"metadata": {"path": Path("a")}}, "metadata cannot be JSON: PosixPath is not a JSON value"),
    ({"data": {("a", 1): 2}}, "ToolResult.data cannot be JSON: the keys of an object"),
    ({"data": [{"at": float("nan")}]}, "ToolResult.data cannot be JSON: nan is not a JSON number"),
    ({"data": 10**5_000}, "ToolResult.data cannot be JSON: the number has too many digits"),
    ({"data": {1}}, "ToolResult.data cannot be JSON: set is not a JSON value"),
]


class UnspeakableError(Exception):
    def __str__(self):
        raise ValueError("not even this")


class UnspeakableToolError(ToolError):
    def __str__(self):
        return self.details  # its author never set them


class NamelessToolError(ToolError):
    @property
    def error_class(self):
        raise ValueError("not even this")


def returning(value):
    @tool(risk="safe", effects={"read"})
    def odd() -> object:
        """Return something, or raise it, for tests."""
        if isinstance(value, Exception):
            raise value
        return value

    return SimpleNamespace(nanocoder_tools=hookimpl(lambda: [odd]))


def result_of(cwd, **plugins):
    with opened(cwd, plugins=plugins, mode="auto") as (session, _):
        result, _ = called(session, "odd", {})
        return result, session.plugins.reports


# PLUG-030
@pytest.mark.parametrize(("changes", "problem"), UNSOUND)
def test_a_tool_that_returns_an_unsound_result_is_broken_and_told_why(tmp_path, changes, problem):
    result, _ = result_of(tmp_path, odd=returning(evolve(SOUND, **changes)))
    assert result.error_class == "tool_broken"
    assert problem in result.output
    assert "odd" in result.output


@pytest.mark.parametrize(("changes", "problem"), UNSOUND)
def test_an_unsound_result_of_a_hook_withholds_the_result(tmp_path, changes, problem):
    hook = hookimpl(lambda result: evolve(result, **changes))
    spoiling = SimpleNamespace(nanocoder_after_execute=hook)
    result, reports = result_of(tmp_path, odd=returning(SOUND), spoiling=spoiling)
    assert result.error_class == "withheld"
    assert "spoiling" in result.output
    assert problem in str(reports[0])


@pytest.mark.parametrize("value", [{1: 2}, [CYCLE], (float("inf"),), {"a", "b"}])
def test_a_tool_that_returns_a_value_that_is_no_json_is_broken_and_told_so(tmp_path, value):
    result, _ = result_of(tmp_path, odd=returning(value))
    assert result.error_class == "tool_broken"
    assert "what it returned cannot be JSON" in result.output


def test_the_words_of_an_error_outlive_data_that_cannot_be_json(tmp_path):
    error = ToolError("paused", error_class="queue_paused", data=CYCLE)
    result, _ = result_of(tmp_path, odd=returning(error))
    assert (result.error_class, result.output, result.data) == ("queue_paused", "paused", None)
    assert "64 levels" in result.metadata["unwritable"]


def test_the_journal_knows_how_every_such_call_ended(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    kept = {"persist": True, "environment": {"HOME": str(tmp_path / "home")}}
    for value in (evolve(SOUND, data=CYCLE), {(1, 2): 3}, ToolError("no", data={1: CYCLE})):
        plugins = {"odd": returning(value), "files": testing}
        with opened(work, [[("odd", {})], "Done."], plugins=plugins, **kept) as (one, _):
            list(one.run("go"))
    journals = [path.read_text() for path in (tmp_path / "home").rglob("*.jsonl")]
    assert len(journals) == 3
    assert all('"error_class"' in text for text in journals)
    assert not any('"data":{"unwritable"' in text for text in journals)


def test_a_sound_result_passes(tmp_path):
    result, reports = result_of(tmp_path, odd=returning(SOUND))
    assert (result.output, result.attachments, reports) == ("fine", SOUND.attachments, [])


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (UnspeakableError(), "UnspeakableError"),
        (UnspeakableToolError("x"), "no attribute 'details'"),
        (NamelessToolError("x"), "not even this"),
    ],
)
def test_an_exception_without_words_breaks_its_tool_and_nothing_else(tmp_path, error, named):
    result, _ = result_of(tmp_path, odd=returning(error))
    assert result.error_class == "tool_broken"
    assert named in result.output


@pytest.mark.parametrize("error", [UnspeakableToolError("x"), NamelessToolError("x")])
def test_an_obstacle_without_words_is_reported_and_the_person_is_asked(tmp_path, error):
    asked = []

    def approve(request):
        asked.append(request)

    def render(result):
        if result is None:
            raise error

    odd = returning("well")
    odd.nanocoder_render = hookimpl(render)
    odd.nanocoder_before_execute = hookimpl(lambda: Verdict(Decision.ASK, "sure?"))
    with opened(tmp_path, plugins={"odd": odd}, approve=approve) as (session, _):
        called(session, "odd", {})
        assert "'odd': nanocoder_render failed: " in str(session.plugins.reports)
    assert len(asked) == 1


@pytest.mark.parametrize("hook", ["nanocoder_prompt", "nanocoder_before_execute"])
def test_an_exception_without_words_in_a_hook_is_reported(tmp_path, hook):
    def fail():
        raise UnspeakableError

    failing = SimpleNamespace(**{hook: hookimpl(fail)})
    plugins = {"odd": returning("well"), "failing": failing}
    with opened(tmp_path, plugins=plugins, mode="auto") as (session, _):
        called(session, "odd", {})
        assert session.system
        assert "UnspeakableError" in str(session.plugins.reports[0])


def test_what_a_message_quotes_reaches_the_model_clean_and_no_longer_than_it_should(tmp_path):
    error = ToolError("no file 'a\x1b[2Jb\u202e" + "x" * 1_000_000 + "'")
    result, _ = result_of(tmp_path, odd=returning(error))
    assert result.output.startswith("no file 'ab")
    assert "removed]" in result.output
    assert "\x1b" not in result.output
    assert len(result.output) < 20_000
