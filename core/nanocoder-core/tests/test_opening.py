"""One call opens a session with everything that is installed, and reads its rules again."""

from pathlib import Path

import pytest
from nanocoder import ApprovalAnswer, ConfigError, open_session

DEFAULT_TOOLS = {"bash", "edit_file", "glob", "grep", "list_files", "read_file", "write_file"}


def agree(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


def write(session, path, content="new\n"):
    events = list(session.call("write_file", {"path": path, "content": content}))
    return events[-1].data


@pytest.fixture
def configure(nanocoder):
    """Return a function that writes the user's configuration."""

    def save(text: str) -> Path:
        path = nanocoder.home / ".config/nanocoder/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return save


@pytest.mark.timeout(60)
@pytest.mark.contract("MA-102")
def test_one_call_gives_the_default_tools_with_backups_journal_and_rules(nanocoder, configure):
    configure('[plugins.policy-rules]\ndeny = ["write_file(secret/**)"]\n')
    (nanocoder.cwd / "a.txt").write_text("old\n")
    environment = nanocoder.environment
    with open_session(nanocoder.cwd, approve=agree, environment=environment) as session:
        assert set(session.tools) >= DEFAULT_TOOLS
        written = write(session, "a.txt")
        assert write(session, "secret/a.txt")["status"] == "denied"
        state = nanocoder.home / ".local/state/nanocoder"
        assert list(state.glob(f"sessions/**/{session.id}*"))
    assert written["status"] == "ok"
    assert (nanocoder.cwd / "a.txt").read_text() == "new\n"
    backup = Path(written["metadata"]["backup"])
    assert backup.is_relative_to(state)
    assert backup.read_text() == "old\n"
    assert not (nanocoder.cwd / "secret").exists()


@pytest.mark.timeout(60)
@pytest.mark.contract("MA-118")
def test_rules_that_change_hold_from_the_next_call_on_once_they_are_read_again(
    nanocoder, configure
):
    environment = nanocoder.environment
    with open_session(nanocoder.cwd, approve=agree, environment=environment) as session:
        assert write(session, "a.txt")["status"] == "ok"
        configure('[plugins.policy-rules]\ndeny = ["write_file"]\n\n[tools]\ndisable = ["bash"]\n')
        assert write(session, "b.txt")["status"] == "ok"
        session.reload()
        assert write(session, "c.txt")["status"] == "denied"
        assert "bash" not in session.tools
        configure("")
        session.reload()
        assert write(session, "d.txt")["status"] == "ok"
        assert "bash" in session.tools


@pytest.mark.timeout(60)
@pytest.mark.contract("MA-118")
@pytest.mark.parametrize(
    "wrong",
    ["[plugins.policy-rules", '[plugins.policy-rules]\ndeny = ["("]\n', "[plugins.policy-rule]\n"],
)
def test_rules_that_cannot_be_read_again_stay_as_they_were(nanocoder, configure, wrong):
    configure('[plugins.policy-rules]\ndeny = ["write_file(a.txt)"]\n')
    environment = nanocoder.environment
    with open_session(nanocoder.cwd, approve=agree, environment=environment) as session:
        configure(wrong)
        with pytest.raises(ConfigError):
            session.reload()
        assert write(session, "a.txt")["status"] == "denied"
        assert write(session, "b.txt")["status"] == "ok"


@pytest.mark.timeout(60)
def test_a_project_that_nobody_trusts_gains_nothing_when_rules_are_read_again(nanocoder):
    environment = nanocoder.environment
    with open_session(nanocoder.cwd, environment=environment) as session:
        assert write(session, "a.txt")["error_class"] == "approval_needed"
        project = nanocoder.cwd / ".nanocoder/config.toml"
        project.parent.mkdir()
        project.write_text('[plugins.policy-rules]\nallow = ["write_file"]\n')
        session.reload()
        assert write(session, "a.txt")["error_class"] == "approval_needed"
        assert "not trusted" in " ".join(session.config.notices)
