"""What a session hands to sandbox-exec, which is not here; what it starts is run without it."""

import os
import subprocess
import sys
from contextlib import closing

import pytest
from nanocoder import Access, PathFilter, Readable, SessionInfo, ToolError
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_seatbelt import in_force, nanocoder_sandboxes, open_sandbox
from nanocoder_sandbox_seatbelt.profile import profile


class NoSecrets(PathFilter):
    def refuses(self, path):
        return "a secret" if path == "a/.env" else ""

    def read_only(self, folder, names):
        return dict.fromkeys({"ledger"} & {*names}, "a rule forbids it")


@pytest.fixture
def session(tmp_path, monkeypatch):
    """Return a session in a workspace with a secret and a virtual environment."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.ssh").mkdir(parents=True)
    for folder in ("ws/a", "ws/env/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws/a/.env").write_text("secret")
    (tmp_path / "ws/env/pyvenv.cfg").touch()
    (tmp_path / "ws/.mcp.json").symlink_to("settings.json")
    (tmp_path / "ws/settings.json").touch()
    (tmp_path / "ws/a/ledger").mkdir()
    return SessionInfo("s", tmp_path / "ws", readable=Readable([("secrets", NoSecrets())]))


def test_a_boundary_is_what_the_workspace_holds_now(session, tmp_path):
    settings = Settings(writable=(".git", ".", "src", str(tmp_path / "cache")), hidden=("~/h",))
    (tmp_path / "home/h").mkdir()
    with closing(open_sandbox(session, settings)) as sandbox:
        boundary = sandbox.boundary(Access.WRITE)
        assert boundary.is_writable
        assert boundary.root == str(tmp_path / "ws")
        assert boundary.released == (f"{tmp_path}/ws/.git",)
        assert boundary.writable[1:] == (str(tmp_path / "cache"),)
        assert boundary.hidden == tuple(
            str(tmp_path / path) for path in ("home/.ssh", "home/h", "ws/a/.env")
        )
        kept = {path.removeprefix(f"{tmp_path}/ws/") for path in boundary.protected}
        assert {"env/bin", "env/pyvenv.cfg", ".mcp.json", "settings.json", "a/ledger"} <= kept
        rules = profile(boundary).splitlines()
        (rule,) = (rule for rule in rules if rule.startswith("(deny file-write* (subpath"))
        assert f'(subpath "{tmp_path}/ws/a/ledger")' in rule
        assert f'(literal "{tmp_path}/ws/a")' in rules[-2], "its folder cannot be moved away"
        assert not sandbox.boundary(Access.READ).is_writable
        (tmp_path / "ws/a/.env").unlink()
        assert len(sandbox.boundary(Access.WRITE).hidden) == 2


def test_a_command_line_is_the_profile_and_then_the_command(session):
    settings = Settings(open_files=64, processes=0)
    with closing(open_sandbox(session, settings)) as sandbox:
        program, option, rules, *rest = sandbox.wrap(["/bin/sh", "-c", "x"], [], Access.WRITE)
        assert (program, option) == ("/usr/bin/sandbox-exec", "-p")
        assert rules == profile(sandbox.boundary(Access.WRITE))
        script = 'echo "$TMPDIR"; echo "${DOCKER_HOST-gone}"; ulimit -n; echo "$0"'
        *_, argv = [sandbox.wrap(["/bin/sh", "-c", script, "it's"], [], Access.READ)]
        environment = {"DOCKER_HOST": "x", "PATH": os.defpath}
        done = subprocess.run(argv[3:], env=environment, capture_output=True, text=True, check=True)
        folder = done.stdout.split()[0]
        assert done.stdout == f"{folder}\ngone\n64\nit's\n"
        assert done.stderr == ""
        assert os.path.isdir(folder)
        assert sandbox.changes() == []
        assert rest[0] == "/usr/bin/env"
    assert not os.path.exists(folder)


@pytest.mark.skipif(sys.platform == "darwin", reason="it is macOS")
def test_elsewhere_it_says_why_it_cannot_be_used():
    with pytest.raises(ToolError, match="it is a part of macOS, and this system is") as error:
        in_force(Settings())
    assert error.value.error_class == "sandbox_unavailable"
    [offer] = nanocoder_sandboxes()
    assert (offer.rank, offer.system) == (30, "darwin")
