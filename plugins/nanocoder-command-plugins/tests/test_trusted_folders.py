"""Which folders are trusted, and what ends trust."""

import json
import os
import subprocess
import sys

import pytest
from nanocoder import Config, ConfigError, Mode
from nanocoder_command_setup.trusted_folders import trust, untrust


def is_trusted(folder, *, environment):
    return Config.load(folder, environment=environment).trusted


class Place:
    """A home and a workspace beside it."""

    def __init__(self, folder):
        self.home, self.workspace = folder / "home", folder / "ws"
        self.environment = {"HOME": str(self.home)}
        self.user_file = self.home / ".config" / "nanocoder" / "config.toml"
        self.project_file = self.workspace / ".nanocoder" / "config.toml"
        for file in (self.user_file, self.project_file):
            file.parent.mkdir(parents=True)

    def load(self, *, user="", project="", flags=None, environment=None, trusted=None):
        self.user_file.write_text(user)
        self.project_file.write_text(project)
        return self.reload(flags=flags, environment=environment, trusted=trusted)

    def reload(self, *, flags=None, environment=None, trusted=None):
        return Config.load(
            self.workspace,
            environment={**self.environment, **(environment or {})},
            flags=flags,
            trusted=trusted,
        )


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_trust_is_kept_and_taken_back(place):
    place.load(project='mode = "auto"\n')
    trust(place.workspace, environment=place.environment)
    assert place.reload().core.mode is Mode.AUTO
    untrust(place.workspace, environment=place.environment)
    assert place.reload().core.mode is Mode.ASK


# CONF-007
def test_a_changed_file_has_to_be_trusted_again(place):
    place.load(project='mode = "edits"\n')
    trust(place.workspace, environment=place.environment)
    assert place.load(project='mode = "auto"\n').core.mode is Mode.ASK
    assert place.load(project='mode = "edits"\n').core.mode is Mode.EDITS


def test_a_folder_that_takes_the_place_of_a_trusted_one_is_not_trusted(place, tmp_path):
    place.load(project='mode = "edits"\n')
    trust(place.workspace, environment=place.environment)
    place.workspace.rename(tmp_path / "moved")
    place.project_file.parent.mkdir(parents=True)
    assert place.load(project='mode = "edits"\n').core.mode is Mode.ASK


# CONF-008
def test_trust_covers_what_is_below_and_neither_parents_nor_neighbours(place):
    for name in ("a/b", "a2", "a/own/.nanocoder"):
        (place.workspace / name).mkdir(parents=True)
    (place.workspace / "a/own/.nanocoder/config.toml").write_text('mode = "auto"\n')
    trust(place.workspace / "a", environment=place.environment)
    trusted = {
        name: is_trusted(place.workspace / name, environment=place.environment)
        for name in (".", "a", "a/b", "a2", "a/own")
    }
    assert trusted == {".": False, "a": True, "a/b": True, "a2": False, "a/own": False}


def test_a_link_to_a_trusted_folder_is_that_folder(place, tmp_path):
    (tmp_path / "link").symlink_to(place.workspace)
    trust(tmp_path / "link", environment=place.environment)
    assert is_trusted(place.workspace, environment=place.environment)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"folders": 3}', b"\xff", b'{"folders": {"/": 1}}']
)
def test_a_damaged_trust_file_trusts_nothing_and_can_be_written_again(place, content):
    file = place.home / ".local/state/nanocoder/trusted.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert not is_trusted(place.workspace, environment=place.environment)
    trust(place.workspace, environment=place.environment)
    assert is_trusted(place.workspace, environment=place.environment)


@pytest.mark.timeout(60)
def test_two_programs_that_trust_at_once_lose_nothing(place):
    program = """
import sys
from pathlib import Path
from nanocoder_command_setup.trusted_folders import trust
for number in range(25):
    folder = Path(sys.argv[1], sys.argv[2] + str(number))
    folder.mkdir()
    trust(folder)
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, place.workspace, name],
            env={**os.environ, **place.environment, "XDG_STATE_HOME": ""},
        )
        for name in "ab"
    ]
    assert [process.wait() for process in running] == [0, 0]
    file = place.home / ".local/state/nanocoder/trusted.json"
    assert len(json.loads(file.read_text())["folders"]) == 50
    assert file.stat().st_mode & 0o777 == 0o600


def test_trust_that_cannot_be_written_is_an_error(place):
    (place.home / ".local").write_text("in the way")
    with pytest.raises(ConfigError, match="cannot write"):
        trust(place.workspace, environment=place.environment)
    assert not is_trusted(place.workspace, environment=place.environment)


def test_a_file_that_changes_while_it_is_shown_is_not_trusted(nanocoder):
    file = nanocoder.cwd / ".nanocoder/config.toml"
    file.parent.mkdir()
    file.write_text('mode = "auto"\n')
    with pytest.raises(ConfigError, match="changed while it was shown"):
        trust(nanocoder.cwd, reviewed=b"else", environment={"HOME": str(nanocoder.home)})
