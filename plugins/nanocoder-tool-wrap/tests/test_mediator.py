"""All tools behind a mediating program: it passes, answers or refuses each call."""

import json
import sys
from pathlib import Path

import nanocoder_tool_wrap
import pytest
from nanocoder import Effect, hookimpl, tool
from nanocoder_testing.playing import called, opened
from nanocoder_tool_wrap import Settings, with_mediator

MEDIATOR = """
import json, sys
request = json.loads(sys.stdin.readline())
open({log!r}, "a").write(json.dumps(request) + "\\n")
word = request["arguments"].get("word", "")
answers = {{"no": {{"refuse": "not\\nthis word"}}, "mine": {{"output": "from the mediator"}},
           "odd": {{"pass": "yes"}}, "list": []}}
print("broken" if word == "broken" else json.dumps(answers.get(word, {{"pass": True}})))
sys.exit(3 if word == "exit" else 0)
"""


class Words:
    """Offers two tools and counts what reaches them."""

    def __init__(self) -> None:
        self.words: list[str] = []

    @hookimpl
    def nanocoder_tools(self):
        @tool(risk="safe", effects={Effect.READ})
        def look(word: str) -> str:
            """Look a word up."""
            self.words.append(word)
            return f"looked at {word}"

        @tool(risk="safe", effects={Effect.READ})
        def count(word: str) -> str:
            """Count a word."""
            self.words.append(word)
            return f"counted {word}"

        return [look, count]


@pytest.fixture
def mediator(tmp_path: Path) -> tuple[tuple[str, ...], Path]:
    """Return a mediating program, and the file in which it writes what it sees."""
    log = tmp_path / "log"
    program = tmp_path / "mediator.py"
    program.write_text(MEDIATOR.format(log=str(log)))
    return (sys.executable, str(program)), log


def answers(tmp_path, settings, *calls):
    """Return the results of calls in a session, and what reached the tools."""
    words, workspace = Words(), tmp_path / "ws"
    workspace.mkdir(exist_ok=True)
    plugins = {"words": words, "tool-wrap": nanocoder_tool_wrap}
    with opened(workspace, plugins=plugins, settings={"tool-wrap": settings}) as (session, _):
        results = [called(session, name, {"word": word})[0] for name, word in calls]
    return results, words.words


@pytest.mark.contract("NT-59")
def test_every_call_goes_through_the_mediator(tmp_path, mediator):
    command, log = mediator
    calls = [("look", "tea"), ("count", "tea"), ("look", "no"), ("count", "mine")]
    results, reached = answers(tmp_path, Settings(mediator=command), *calls)
    assert [result.output for result in results[:2]] == ["looked at tea", "counted tea"]
    assert results[2].error_class == "denied"
    assert "the mediator refused it: not this word" in results[2].output
    assert results[3].output == "from the mediator"
    assert reached == ["tea", "tea"]
    seen = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(each["tool"], each["arguments"]["word"]) for each in seen] == calls
    assert seen[0]["workspace"] == str(tmp_path / "ws")
    assert seen[0]["session"]


@pytest.mark.contract("NT-59")
def test_without_a_mediator_tools_are_used_directly(tmp_path, mediator):
    _, log = mediator
    results, reached = answers(tmp_path, Settings(), ("look", "no"))
    assert (results[0].output, reached) == ("looked at no", ["no"])
    assert not log.exists()


@pytest.mark.parametrize("word", ["broken", "list", "odd", "exit"])
def test_a_call_does_not_run_without_a_clear_answer(word, tmp_path, mediator):
    results, reached = answers(tmp_path, Settings(mediator=mediator[0]), ("look", word))
    assert (results[0].error_class, reached) == ("mediator_failed", [])


def test_a_missing_or_late_mediator_lets_nothing_pass(tmp_path):
    missing = Settings(mediator=(str(tmp_path / "none"),))
    results, reached = answers(tmp_path, missing, ("look", "tea"))
    assert (results[0].error_class, reached) == ("mediator_failed", [])
    words = Words()
    late = with_mediator(words.nanocoder_tools()[0], ["sleep", "5"], timeout_s=0.1)
    with opened(tmp_path / "ws", plugins={"late": Late(late)}) as (session, _):
        result, _ = called(session, "look", {"word": "tea"})
    assert (result.error_class, words.words) == ("mediator_failed", [])
    assert "no answer within 0.1 s" in result.output


class Late:
    """Offers one tool."""

    def __init__(self, offered) -> None:
        self.offered = offered

    @hookimpl
    def nanocoder_tools(self):
        return [self.offered]


def test_the_mediator_gets_no_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_TOKEN", "hunter2")
    code = "import os, json; print(json.dumps({'output': str('ACME_TOKEN' in os.environ)}))"
    settings = Settings(mediator=(sys.executable, "-c", code))
    results, _ = answers(tmp_path, settings, ("look", "tea"))
    assert results[0].output == "False"


def test_a_program_in_the_workspace_is_no_mediator(tmp_path, monkeypatch):
    workspace = tmp_path / "ws"
    workspace.mkdir()
    program = workspace / "gateway"
    program.write_text("#!/bin/sh\ntouch ran; echo '{\"pass\": true}'\n")
    program.chmod(0o755)
    monkeypatch.chdir(workspace)
    results, reached = answers(tmp_path, Settings(mediator=("./gateway",)), ("look", "tea"))
    assert (results[0].error_class, reached) == ("mediator_failed", [])
    assert not (workspace / "ran").exists()
