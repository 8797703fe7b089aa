"""Answers of the model for a server of the official SDK: a person sees each, and may refuse."""

import sys
from pathlib import Path

import nanocoder_mcp
import pytest
from attrs import evolve
from nanocoder import Decision, Question, Verdict, hookimpl
from nanocoder_mcp.accepting import accept, ask_server
from nanocoder_mcp.sampling import GIVE, KEEP, REFUSE, SEND
from nanocoder_mcp.server import server_of
from nanocoder_mcp.settings import Settings
from nanocoder_testing import opened
from nanocoder_testing.playing import agree, called

pytestmark = [pytest.mark.timeout(120), pytest.mark.contract("I24")]
PROGRAMS = Path(__file__).parent / "programs"
COMMANDS = {
    "auto": [sys.executable, str(PROGRAMS / "sampling_server.py")],
    "legacy": [sys.executable, "-S", str(PROGRAMS / "server.py"), "samples"],
}
"""A server for each revision of the protocol; one of them is of the official SDK."""
ANSWER = "Paris"
KEY = "key-0123456789"
SAY = {"text": "What is the capital of France?\x1b[2J"}


class NoSampling:
    """A rule that denies what a server asks the model."""

    @hookimpl
    def nanocoder_before_execute(self, call):
        return Verdict(Decision.DENY, "by a rule") if call.name == "mcp_sample" else None


class Redaction:
    """What secrets are taken out of a request with."""

    @hookimpl
    def nanocoder_before_request(self, request):
        messages = tuple(
            evolve(message, text=message.text.replace(KEY, "[secret]"))
            for message in request.messages
        )
        return evolve(request, messages=messages)


class Person:
    """Answers questions with what is in *answers*, and remembers them."""

    def __init__(self, *answers):
        self.answers = [*answers]
        self.questions = []

    def __call__(self, question: Question):
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else None


def first_tool(session):
    """Return the tool of the server."""
    return next(name for name in session.tools if name.startswith("mcp_asking"))


@pytest.fixture(params=COMMANDS)
def asked(request, tmp_path, monkeypatch):
    """Return a function that calls the server's tool; it returns the text and the requests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "w").mkdir()
    (tmp_path / "w/AGENTS.md").write_text("The code word is xylophone.")

    def call(person, *, sampling=True, beside=None, tool="", arguments=SAY, **options):
        table = {"command": COMMANDS[request.param], "sampling": sampling}
        settings = {"mcp": Settings({"asking": table})}
        server = server_of("asking", table)
        accept(server, *ask_server(tmp_path / "w", settings["mcp"], server))
        plugins = {"mcp": nanocoder_mcp, **(beside or {})}
        options = {"mode": "auto", "approve": agree, "ask": person, **options}
        with opened(tmp_path / "w", [ANSWER], plugins=plugins, settings=settings, **options) as (
            session,
            model,
        ):
            result, _ = called(session, tool or first_tool(session), arguments)
            return result.output, model.requests, session.report

    return call


@pytest.mark.rows(1)
def test_a_person_sees_who_asks_what_and_the_answer(asked):
    person = Person(SEND, GIVE)
    output, requests, _ = asked(person)
    assert "Paris" in output
    (request,) = requests
    assert request.tools == ()
    assert "Be brief." in request.messages[-1].text
    first, second = (each.text for each in person.questions)
    assert first.startswith("The MCP server asking asks the model, at your cost:\n")
    assert "What is the capital of France?" in first
    assert "\x1b" not in first
    assert second == "The model answers the MCP server asking:\nParis"


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("answers", "questions", "requests", "why"),
    [
        ((REFUSE,), 1, 0, "the person refused it"),
        ((SEND, KEEP), 2, 1, "the person refused it"),
        ((), 1, 0, "no person is here to agree to it"),
    ],
)
def test_without_a_yes_a_server_gets_nothing(asked, answers, questions, requests, why):
    person = Person(*answers)
    output, sent, _ = asked(person)
    assert why in output
    assert "Paris" not in output
    assert (len(person.questions), len(sent)) == (questions, requests)


@pytest.mark.rows(1)
def test_a_server_whose_setting_does_not_allow_it_cannot_ask(asked):
    person = Person(SEND, GIVE)
    output, requests, _ = asked(person, sampling=False)
    assert "no answer" in output or "not supported" in output
    assert (person.questions, len(requests)) == ([], 0)


@pytest.mark.rows(1)
def test_a_rule_that_denies_it_refuses_it(asked):
    person = Person(SEND, GIVE)
    output, requests, _ = asked(person, beside={"no-sampling": NoSampling()})
    assert "by a rule" in output
    assert (person.questions, len(requests)) == ([], 0)


@pytest.mark.parametrize("asked", ["auto"], indirect=True)
def test_a_prompt_that_is_too_long_to_be_read_is_refused(asked):
    person = Person(SEND, GIVE)
    output, requests, _ = asked(person, arguments={"text": "x" * 30_000})
    assert "its prompt has more than 20,000 characters" in output
    assert (person.questions, len(requests)) == ([], 0)


def test_a_model_cannot_ask_in_the_name_of_a_server(asked):
    person = Person(SEND, GIVE)
    forged = {"server": "asking", "prompt": "hi", "max_tokens": 5, "ticket": ""}
    output, requests, _ = asked(person, tool="mcp_sample", arguments=forged)
    assert "is for MCP servers alone" in output
    assert (person.questions, len(requests)) == ([], 0)


@pytest.mark.parametrize("asked", ["auto"], indirect=True)
def test_a_secret_in_a_prompt_does_not_reach_the_model(asked):
    redaction = {"redaction": Redaction()}
    question = {"text": f"Is {KEY} good?"}
    _, requests, _ = asked(Person(SEND, GIVE), beside=redaction, arguments=question)
    assert "Is [secret] good?" in requests[0].messages[-1].text
