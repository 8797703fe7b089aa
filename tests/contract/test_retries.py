"""The page on retries, time limits and fallbacks says what the settings and the tools say."""

import pytest
import retries

TEXT = retries.PAGE.read_text(encoding="utf-8")


@pytest.mark.contract("NT-79")
@pytest.mark.parametrize("name", ["providers", "tools"])
def test_the_tables_of_retries_are_what_the_code_says(name):
    (section,) = [section for section in retries.sections() if section.name == name]
    assert section.placed() == TEXT, "write it with `nox -s reference`"


@pytest.mark.contract("NT-79")
def test_every_provider_that_asks_a_server_has_all_timers():
    asking = {
        plugin
        for plugin, settings in retries.providers().items()
        if "max_retries" in fields(settings)
    }
    assert asking >= {f"provider-{name}" for name in ("anthropic", "google", "ollama", "openai")}
    for plugin, settings in retries.providers().items():
        assert not fields(settings) & {*retries.TIMERS} or fields(settings) >= {*retries.TIMERS}, (
            plugin
        )


def fields(settings):
    return {attribute.name for attribute in settings.__attrs_attrs__} if settings else set()


@pytest.mark.contract("NT-79")
def test_the_numbers_in_the_words_are_those_of_the_code():
    from nanocoder.session.reply import MAX_REPLIES
    from nanocoder_kit_llm.http import Retry
    from nanocoder_kit_llm.http.breaker import BUDGET_S, OPEN_AFTER, OPEN_S, RETRIES

    plain = " ".join(TEXT.split())
    retry = Retry()
    assert f"from {retry.first_s:g} s to {retry.cap_s:g} s" in plain
    assert f"up to {retry.longest_wait_s:g} s" in plain
    assert f"{RETRIES} repetitions to one server in five minutes" in plain
    assert BUDGET_S == 300
    assert f"after {OPEN_AFTER} failures in a row a stop of {OPEN_S:g} s" in plain
    assert MAX_REPLIES == 3
    assert "at most twice" in plain
