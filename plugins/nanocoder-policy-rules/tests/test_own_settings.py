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
    "true; python3 -m nanocoder config trust",
    ".venv/bin/nanocoder plugins install evil",
    "n'a'nocoder config tr\\ust",
]


@pytest.mark.parametrize("command", OWN)
def test_conf_010_no_command_changes_what_nanocoder_may_do(command, judge):
    trusting = ["bash(echo *)", "bash(tee *)", "bash(cp *)", "bash(sed *)", "bash(nanocoder *)"]
    assert str(judge("bash", {"command": command}, "auto", allow=trusting).decision) == "deny"
    assert str(judge("bash", {"command": command}, "edits", allow=trusting).decision) == "ask"


@pytest.mark.parametrize(
    "command", ["nanocoder doctor", "git log nanocoder", "cat .config/x", "make -C nanocoder/state"]
)
def test_what_only_mentions_nanocoder_runs_in_mode_auto(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"
