"""A server whose circuit breaker is open costs no request: the next model answers at once."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import nanocoder_kit_llm.http.client
import nanocoder_provider_fallback
import pytest
from attrs import define, field
from nanocoder import ProviderSpec, Session, hookimpl, open_session
from nanocoder_kit_llm.http.breaker import OPEN_AFTER, OPEN_S, Breaker
from nanocoder_provider_fallback import Settings
from nanocoder_testing.playing import gathered
from nanocoder_testing.scripted import Scripted
from nanocoder_testing.server import Answer, ScriptedServer, events, refusal

OWN, NEXT = "openai/m", "spare/m"
WORKING = events(
    {"choices": [{"index": 0, "delta": {"content": "I am back."}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    b"[DONE]",
)


class Spare:
    """Offers a model that always answers."""

    def __init__(self) -> None:
        self.model = Scripted(["Here I am."] * (OPEN_AFTER + 9))

    @hookimpl
    def nanocoder_providers(self) -> list[ProviderSpec]:
        return [ProviderSpec("spare", lambda _model, _settings: self.model)]


@define
class Place:
    """A session whose own model is behind a server that fails, and the time of its breaker."""

    session: Session
    server: ScriptedServer
    clock: list[float]
    notices: list[str] = field(factory=list)

    def ask(self) -> str:
        """Return which model answered a prompt, and keep what the person was told."""
        happened = list(self.session.run("go"))
        self.notices = [event.data["text"] for event in happened if event.kind == "notice"]
        assert self.session.report.stop_reason == "done"
        return self.session.info.model

    def answer(self, answer: Answer) -> None:
        """Let the server answer with *answer* from now on."""
        self.server.answers[:] = [answer]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    clock = [0.0]
    breaker = Breaker(lambda: clock[0])  # half a minute must not pass
    monkeypatch.setattr(nanocoder_kit_llm.http.client, "breaker_of", lambda _url: breaker)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (entry,) = entry_points(group="nanocoder", name="provider-openai")
    openai = entry.load()
    plugins = gathered(
        {
            "provider-fallback": nanocoder_provider_fallback,
            "provider-openai": openai,
            "spare": Spare(),
        }
    )
    with ScriptedServer(refusal(503)) as server:
        settings = {
            "provider-fallback": Settings((OWN, NEXT)),
            "provider-openai": openai.Settings(base_url=f"{server.url}/v1", max_retries=0),
        }
        plugins.configure(lambda name, cls: settings.get(name) or cls())
        options = {"persist": False, "environment": {"HOME": str(tmp_path)}}
        with open_session(tmp_path, plugins=plugins, model=OWN, **options) as session:
            yield Place(session, server, clock)


def open_breaker(place: Place) -> None:
    for number in range(OPEN_AFTER):
        assert place.ask() == NEXT
        assert len(place.server.seen) == number + 1


@pytest.mark.contract("F6")
def test_a_server_that_is_left_alone_gets_no_request_and_the_next_model_answers(
    place: Place,
) -> None:
    open_breaker(place)
    for _ in range(3):
        assert place.ask() == NEXT
        assert place.session.report.text == "Here I am."
        [notice] = place.notices
        assert notice.startswith(f"{OWN} could not answer (127.0.0.1")
        assert "failed 14 times in a row and is left alone for 30 s more" in notice
        assert notice.endswith(f"{NEXT} answers instead")
    assert len(place.server.seen) == OPEN_AFTER


@pytest.mark.contract("F6")
def test_after_the_pause_one_request_tries_the_server_and_a_failure_leaves_it_alone_again(
    place: Place,
) -> None:
    open_breaker(place)
    place.clock[0] += OPEN_S
    assert [place.ask(), place.ask()] == [NEXT, NEXT]
    assert len(place.server.seen) == OPEN_AFTER + 1, "the first of both tried it"
    assert "is left alone" in place.notices[0]


@pytest.mark.contract("F6")
def test_a_server_that_answers_the_trial_has_the_session_back(place: Place) -> None:
    open_breaker(place)
    place.answer(WORKING)
    place.clock[0] += OPEN_S
    assert place.ask() == OWN
    assert (place.session.report.text, place.notices) == ("I am back.", [])
    assert place.ask() == OWN
    assert len(place.server.seen) == OPEN_AFTER + 2
