"""Servers that ask in the middle of a call."""

import pytest
from nanocoder_testing.playing import called

pytestmark = pytest.mark.timeout(90)
SAY = {"text": "hi"}


class Person:
    """Answers questions in their order, and remembers them."""

    def __init__(self, *answers):
        self.answers = [*answers]
        self.questions = []

    def __call__(self, question):
        self.questions.append((question.text, question.choices))
        return self.answers.pop(0) if self.answers else None


@pytest.mark.contract("I24")
def test_a_form_is_filled_by_a_person(place):
    place.add("asks")
    person = Person("answer", "Ada", "yes", "rice", "2")
    with place.session(ask=person, interactive=True) as session:
        output = called(session, "mcp_asks_echo", SAY)[0].output
    filled = '{"bags": 2, "meal": "rice", "name": "Ada", "window": true}'
    assert f'{{"action": "accept", "content": {filled}}}' in output
    assert person.questions == [
        ("The MCP server asks asks: Who travels?", ("answer", "decline")),
        ("name: The full name.", ("leave it empty",)),
        ("window", ("no", "yes")),
        ("meal", ("leave it empty", "fish", "rice")),
        ("bags", ("leave it empty",)),
    ]


@pytest.mark.contract("I24")
@pytest.mark.parametrize(
    ("answers", "action"),
    [((), "cancel"), (("decline",), "decline"), (("answer", "leave it empty"), "cancel")],
)
def test_nothing_is_answered_by_itself(place, answers, action):
    place.add("asks")
    with place.session(ask=Person(*answers), interactive=True) as session:
        assert f'{{"action": "{action}"}}' in called(session, "mcp_asks_echo", SAY)[0].output


def test_a_server_learns_the_workspace_and_no_other_folder(place):
    place.add("roots")
    with place.session() as session:
        output = called(session, "mcp_roots_echo", SAY)[0].output
    assert f'{{"roots": [{{"name": "workspace", "uri": "{place.workspace.as_uri()}"}}]}}' in output


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://bank.example@evil.test/",
        "https://bank.example\\@evil.test/",
        f"https://evil.test/{'a' * 3_000}",
    ],
)
def test_an_address_that_deceives_is_not_shown(place, address):
    place.add("lures", address)
    person = Person("done")
    with place.session(ask=person, interactive=True) as session:
        output = called(session, "mcp_lures_echo", SAY)[0].output
    assert ('{"action": "cancel"}' in output, person.questions) == (True, [])


def test_an_ordinary_address_is_shown_to_the_person(place):
    place.add("lures", "https://bank.example/login?next=a@b")
    person = Person("done")
    with place.session(ask=person, interactive=True) as session:
        output = called(session, "mcp_lures_echo", SAY)[0].output
    assert '{"action": "accept"}' in output
    assert (
        "Open this address yourself: https://bank.example/login?next=a@b"
        in (person.questions[0][0])
    )


def test_a_server_that_asks_without_end_reaches_the_person_a_few_times(place):
    place.add("nags")
    person = Person(*["decline"] * 200)
    with place.session(ask=person, interactive=True) as session:
        output = called(session, "mcp_nags_echo", SAY)[0].output
        assert output.endswith("\n20")
        assert len(person.questions) == 20
        called(session, "mcp_nags_echo", SAY)
    assert len(person.questions) == 40, "each call may ask"
