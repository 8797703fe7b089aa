"""Trusting a project: what is shown, who is asked, and what is recorded."""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(60)
COMMAND = str(Path(sys.executable).with_name("nanocoder"))


def answered(nanocoder, answer):
    """Run `config trust` at a terminal, give the answer, and return what was printed."""
    import pexpect

    talk = pexpect.spawn(
        COMMAND,
        ["config", "trust"],
        cwd=str(nanocoder.cwd),
        env=nanocoder.environment,
        encoding="utf-8",
        dimensions=(40, 200),
        timeout=40,
    )
    talk.expect_exact("Trust these settings? [y/N] ")
    before = talk.before
    talk.send(f"{answer}\r")
    talk.expect(pexpect.EOF)
    talk.close()
    assert talk.exitstatus == 0
    return before, talk.before


@pytest.fixture
def project(nanocoder):
    file = nanocoder.cwd / ".nanocoder/config.toml"
    file.parent.mkdir()
    file.write_text('mode = "auto"\nmax_turns = 3\n[plugins.policy-rules]\nallow = ["bash"]\n')
    return file


def test_trust_shows_what_it_loosens_and_asks_at_a_terminal(nanocoder, project):
    printed, end = answered(nanocoder, "n")
    assert "Not trusted." in end
    assert 'mode = "auto"  (now "ask")' in printed
    assert 'plugins.policy-rules.allow = ["bash"]  (now [])' in printed
    assert "max_turns" not in printed  # it may lower that already
    assert '"ask"' in nanocoder("config", "where", "mode").stdout
    _, end = answered(nanocoder, "y")
    assert "Trusted. Its settings now apply" in end
    assert '"auto"' in nanocoder("config", "where", "mode").stdout
    assert "trusted already" in nanocoder("config", "trust").stdout


def test_trust_without_a_terminal_takes_yes(nanocoder, project):
    done = nanocoder("config", "trust")
    assert done.returncode == 3
    assert "Pass --yes" in done.stderr
    assert '"ask"' in nanocoder("config", "where", "mode").stdout
    done = nanocoder("config", "trust", "--yes", env={"NANOCODER_MODE": "auto"})
    assert done.returncode == 0
    assert 'mode = "auto"  (now "ask")' in done.stdout
    assert '"auto"' in nanocoder("config", "where", "mode").stdout


def test_a_folder_without_a_configuration_cannot_be_trusted(nanocoder):
    done = nanocoder("config", "trust")
    assert done.returncode == 2
    assert f"nothing to trust: {nanocoder.cwd}/.nanocoder/config.toml does not" in done.stderr
    assert not (nanocoder.home / ".local/state/nanocoder/trusted.json").exists()
