"""Commands that would let nanocoder itself do more from the next start on."""

import pytest

OWN = [
    "echo x > ~/.config/nanocoder/config.toml",
    "echo x | tee $HOME/.config/nanocoder/config.toml",
    'cp x "$XDG_CONFIG_HOME/nanocoder/config.toml"',
    "sed -i s/a/b/ ~/.local/state/nanocoder/trusted.json",
    "rm -rf /home/me/.Config/nanocoder",
    "nanocoder config trust",
    "nanocoder --cwd . config trust",
    "nanocoder config set mode auto",
    "env -u NANOCODER_CALL nanocoder config unset plugins.policy-rules.deny",
    "n=config; NANOCODER_CALL= nanocoder $n set mode auto",
    ".venv/bin/nanocoder plugins install evil",
    "nanocoder plugins remove policy-rules",
    "nanocoder plugins sync",
    "n'a'nocoder config tr\\ust",
    "python3 -m nanocoder config trust",
    ".venv/bin/python -P -m nanocoder --cwd . config set mode auto",
    "python3 -mnanocoder plugins lock",
    "python3 -m nanocoder $x $y",
    "uv run nanocoder config trust",
    "pipx run nanocoder config set mode auto",
    "git config core.hooksPath x",
    "git config --global core.pager 'touch x'",
    "git -C . config set --type path core.fsmonitor ./x",
    "git config alias.x '!touch x'",
    "git config --add include.path ../x",
    "git config filter.a.b.clean ./x",
    "git config remote.x.url 'ext::sh -c x'",
    "git config $key ./x",
    "git config core.editor $program",
]


@pytest.mark.parametrize("command", OWN)
def test_conf_010_no_command_changes_what_nanocoder_may_do(command, judge):
    trusting = ["bash(echo *)", "bash(tee *)", "bash(cp *)", "bash"]
    assert str(judge("bash", {"command": command}, "auto", allow=trusting).decision) == "deny"
    assert str(judge("bash", {"command": command}, "edits", allow=trusting).decision) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "nanocoder config show",
        "nanocoder plugins list",
        "nanocoder doctor",
        "git log nanocoder",
        "python3 -m nanocoder config show",
        "rg nanocoder $a $b",
        "git config --list",
        "git config get core.pager",
        "git config --unset core.pager",
        'git config user.email "$USER@x.test"',
        "git config set core.autocrlf input",
        "git config branch.a/b.c.merge refs/heads/x",
        "git config $key",
        "cat .config/x",
        "make -C nanocoder/state",
    ],
)
def test_what_only_mentions_nanocoder_runs_in_mode_auto(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


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
@pytest.mark.parametrize("command", [*OWN, "cat .env", "echo x > .git/hooks/pre-commit"])
def test_conf_010_no_other_tool_runs_what_the_shell_may_not(tool, command, judge):
    arguments = {"action": "start", "command": command}
    assert str(judge(tool, arguments, "auto").decision) == "deny"
    assert str(judge(tool, arguments, "edits").decision) in {"ask", "deny"}


def test_commands_of_other_tools_are_never_taken_for_harmless(judge):
    arguments = {"action": "start", "command": "ls"}
    assert str(judge("dev_server", arguments, "edits").decision) == "ask"
    assert str(judge("dev_server", arguments, "auto").decision) == "allow"
