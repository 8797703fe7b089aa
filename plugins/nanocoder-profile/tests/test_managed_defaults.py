"""What the managed defaults ask about, without any policy file."""

import nanocoder_profile_managed_defaults
import pytest
from nanocoder import Decision, Effect, Verdict, hookimpl, tool
from nanocoder_testing import opened
from nanocoder_testing.playing import called


@tool(risk="safe", effects={Effect.NETWORK})
def fetch(url: str) -> str:
    """Fetch an address."""
    return url


@tool(risk="destructive", effects={Effect.WRITE})
def wipe(path: str) -> str:
    """Remove everything."""
    return path


@tool(risk="dangerous", effects={Effect.EXECUTE})
def shell(command: str) -> str:
    """Run a command."""
    return command


@tool(risk="medium", effects={Effect.WRITE})
def note(text: str) -> str:
    """Note something."""
    return text


class Lenient:
    """Tools, and a policy that allows everything."""

    @hookimpl
    def nanocoder_tools(self):
        return [fetch, wipe, shell, note]

    @hookimpl
    def nanocoder_before_execute(self):
        return Verdict(Decision.ALLOW, "anything goes")


@pytest.mark.contract("NT-57")
@pytest.mark.parametrize(
    ("name", "argument", "reason"),
    [
        ("fetch", "url", "fetch reaches the network"),
        ("wipe", "path", "wipe may destroy what cannot be restored"),
        ("shell", "command", "shell would run outside of any sandbox"),
        ("note", "text", ""),
    ],
)
def test_it_asks_in_mode_auto_whatever_another_policy_allows(tmp_path, name, argument, reason):
    plugins = {"lenient": Lenient(), "profile": nanocoder_profile_managed_defaults}
    settings = {"profile": nanocoder_profile_managed_defaults.Settings(active=True)}
    with opened(tmp_path, plugins=plugins, settings=settings, mode="auto") as (session, _):
        result, _ = called(session, name, {argument: "x"})
    assert result.error_class == ("approval_needed" if reason else "")
    assert reason in result.output


def test_it_says_nothing_until_it_is_switched_on(tmp_path):
    plugins = {"lenient": Lenient(), "profile": nanocoder_profile_managed_defaults}
    with opened(tmp_path, plugins=plugins, mode="auto") as (session, _):
        assert called(session, "fetch", {"url": "x"})[0].output == "x"
