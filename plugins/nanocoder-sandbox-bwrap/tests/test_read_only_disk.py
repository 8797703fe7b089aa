"""Commands in bubblewrap where the workspace is on a disk that is read-only."""

import json
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, CommandLine

pytestmark = pytest.mark.needs("bwrap", "unshare")

READ_ONLY = 'mount --bind . . && mount -o remount,bind,ro . && cd "$PWD" && exec "$@"'


@pytest.fixture
def place(tmp_path: Path) -> CommandLine:
    """Provide a new repository, whose disk is read-only for what `call` starts."""
    place = CommandLine(tmp_path)
    subprocess.run(["git", "init", "-q", place.cwd], check=True)
    (place.cwd / "file").write_text("text\n")
    return place


def call(place: CommandLine, tool: str, **arguments: str) -> str:
    """Run a call that fails, and return what is said of it."""
    words = (COMMAND, "call", "--mode", "auto", tool, json.dumps(arguments))
    environment = {"NANOCODER_SANDBOX": "bwrap"}
    done = place("-rm", "sh", "-c", READ_ONLY, "sh", *words, command="unshare", env=environment)
    assert done.returncode == 1
    return done.stderr


def test_a_new_repository_that_cannot_be_written_can_be_read(place):
    said = call(place, "bash", command="cat file; git status --short; touch other")
    assert said.startswith("text\n?? file\n")
    assert "Read-only file system" in said
    assert not (place.cwd / "other").exists()


def test_a_change_says_that_the_disk_is_read_only(place):
    said = call(place, "edit_file", path="file", old_string="text", new_string="other")
    assert "'file' is on a file system that is read-only" in said
    patch = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"
    assert call(place, "apply_patch", patch=patch).splitlines() == [
        "nanocoder: 'new' is on a file system that is read-only"
    ]
