"""A model that cannot answer is replaced for one prompt by the next of the list."""

from pathlib import Path
from typing import Any

import nanocoder_provider_fallback
import pytest
from nanocoder import Event, Mode, ProviderError, ProviderSpec, Session, hookimpl
from nanocoder_provider_fallback import Settings
from nanocoder_testing.playing import gathered, opened
from nanocoder_testing.scripted import Scripted


class Others:
    """Offers further scripted models as providers."""

    def __init__(self, **models: Scripted | Exception) -> None:
        self._models = models

    @hookimpl
    def nanocoder_providers(self) -> list[ProviderSpec]:
        return [ProviderSpec(name, self._opener(name)) for name in self._models]

    def _opener(self, name: str) -> Any:
        def open_model(_model: str, _settings: object) -> Scripted:
            model = self._models[name]
            if isinstance(model, Exception):
                raise model
            return model

        return open_model


def overloaded(kind: str = "overloaded") -> ProviderError:
    return ProviderError("come back later", kind=kind)


def ask(session: Session, prompt: str = "go") -> list[Event]:
    return list(session.run(prompt))


def notices(events: list[Event]) -> list[str]:
    return [str(event.data["text"]) for event in events if event.kind == "notice"]


def session_with(folder: Path, turns: list[Any], models: tuple[str, ...], **others: Any) -> Any:
    plugins = gathered({"provider-fallback": nanocoder_provider_fallback, "acme": Others(**others)})
    settings = {"provider-fallback": Settings(models)}
    return opened(folder, turns, plugins=plugins, settings=settings)


@pytest.mark.contract("F6")
@pytest.mark.contract("NT-79")
@pytest.mark.parametrize(
    "kind", ["rate_limit", "quota", "overloaded", "unavailable", "network", "context_overflow"]
)
def test_the_next_model_answers_and_the_person_is_told(kind: str, tmp_path: Path) -> None:
    second = Scripted(["Here I am."])
    models = ("script/play", "second/x")
    with session_with(tmp_path, [overloaded(kind)], models, second=second) as (session, _):
        events = ask(session)
        assert session.report.text == "Here I am."
        assert session.info.model == "second/x"
    [notice] = notices(events)
    assert notice == "script/play could not answer (come back later); second/x answers instead"


def test_the_next_prompt_goes_to_the_own_model_again(tmp_path: Path) -> None:
    second, turns = Scripted(["Here I am."]), [overloaded(), "Back again."]
    with session_with(tmp_path, turns, ("second/x",), second=second) as (session, own):
        ask(session)
        ask(session, "and now?")
        assert session.report.text == "Back again."
        assert session.info.model == "script/play"
    assert len(own.requests) == 2


def test_the_own_model_gets_its_own_form_of_request_again(tmp_path: Path) -> None:
    small, turns = Scripted(["Here I am."], profile="small"), [overloaded(), "Back again."]
    with session_with(tmp_path, turns, ("second/x",), second=small) as (session, own):
        ask(session)
        session.set_mode(Mode.PLAN)  # a small model is told at the end of each request
        ask(session, "and now?")
    assert own.requests[-1].messages[-1].text == "and now?"


def test_each_model_is_tried_once_and_the_last_error_ends_the_run(tmp_path: Path) -> None:
    models = ("script/play", "second/x", "third/x")
    others = {"second": Scripted([overloaded()]), "third": Scripted([overloaded("quota")])}
    with session_with(tmp_path, [overloaded()], models, **others) as (session, own):
        events = ask(session)
        assert session.report.stop_reason == "provider_error"
        assert session.report.data()["error"]["kind"] == "quota"
    assert len(notices(events)) == 2
    assert [len(model.requests) for model in (own, *others.values())] == [1, 1, 1]


def test_a_model_that_does_not_open_is_skipped(tmp_path: Path) -> None:
    closed, third = ProviderError("no key", kind="auth"), Scripted(["Here I am."])
    models = ("second/x", "third/x")
    others = {"second": closed, "third": third}
    with session_with(tmp_path, [overloaded()], models, **others) as (session, _):
        ask(session)
        assert session.report.text == "Here I am."


@pytest.mark.parametrize("kind", ["auth", "bad_request", "not_found"])
def test_an_error_that_no_other_model_mends_ends_the_run(kind: str, tmp_path: Path) -> None:
    second = Scripted(["Here I am."])
    with session_with(tmp_path, [overloaded(kind)], ("second/x",), second=second) as (session, _):
        ask(session)
        assert session.report.data()["error"]["kind"] == kind
    assert second.requests == []


def test_without_a_list_nothing_changes(tmp_path: Path) -> None:
    with session_with(tmp_path, [overloaded()], ()) as (session, _):
        assert notices(ask(session)) == []
        assert session.report.stop_reason == "provider_error"
