"""Commands that name what decides what runs, where no sandbox keeps it from them."""

import pytest


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "XDG_STATE_HOME"])
@pytest.mark.parametrize("path", ["/data/Ours/nanocoder/x", "/data//ours/./b/../nanocoder"])
def test_conf_010_our_own_folders_are_known_wherever_they_were_put(
    variable, path, judge, monkeypatch
):
    monkeypatch.setenv(variable, "/data/ours/")
    for words in ("echo x > ", "cp x --target-directory=", "cp x -t"):
        assert str(judge("bash", {"command": words + path}, "auto").decision) == "deny"
    monkeypatch.setenv(variable, "/elsewhere")
    assert str(judge("bash", {"command": f"echo x > {path}"}, "auto").decision) == "allow"


@pytest.mark.parametrize("tool", ["dev_server", "stranger"])
@pytest.mark.parametrize("command", ["cat .env", "echo x > .git/hooks/pre-commit"])
def test_conf_010_no_other_tool_runs_what_the_shell_may_not(tool, command, judge):
    arguments = {"action": "start", "command": command}
    assert str(judge(tool, arguments, "auto").decision) == "deny"
    assert str(judge(tool, arguments, "edits").decision) in {"ask", "deny"}


def test_commands_of_other_tools_are_never_taken_for_harmless(judge):
    arguments = {"action": "start", "command": "ls"}
    assert str(judge("dev_server", arguments, "edits").decision) == "ask"
    assert str(judge("dev_server", arguments, "auto").decision) == "allow"
