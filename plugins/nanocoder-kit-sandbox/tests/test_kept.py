"""What is kept from one command for the next one holds only while the disk says the same."""

import os
import subprocess
from pathlib import Path

import pytest
from nanocoder_kit_process.git import find_repository
from nanocoder_kit_sandbox import unchanged
from nanocoder_kit_sandbox.landlock_rules import SystemRules
from nanocoder_kit_sandbox.targets import named_by_settings, targets_of

SETTINGS = "[core]\n\thooksPath = {}\n"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return the repository of a workspace with two folders that could be of hooks."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "workspace"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name in ("aa", "bb"):
        (root / name).mkdir()
    (root / ".git/config").write_text(SETTINGS.format("aa"))
    return root


def hooks_of(root):
    return named_by_settings(str(root), find_repository(root))


def test_a_folder_of_hooks_is_that_of_the_settings_now(repository):
    config = repository / ".git/config"
    assert hooks_of(repository) == ["aa"]
    times = config.stat()
    config.write_text(SETTINGS.format("bb"))
    os.utime(config, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a program could
    assert hooks_of(repository) == ["bb"]
    config.unlink()
    assert hooks_of(repository) == []
    beside = config.with_name("beside")
    beside.write_text(SETTINGS.format("aa"))
    beside.replace(config)
    assert hooks_of(repository) == ["aa"]


@pytest.mark.parametrize("clock_ns", [0, unchanged.CLOCK_NS])
def test_what_is_read_again_is_what_is_there_now(tmp_path, monkeypatch, clock_ns):
    # Without the time in which two changes may look the same, the first one is kept at once.
    monkeypatch.setattr(unchanged, "CLOCK_NS", clock_ns)
    file, other, reads = tmp_path / "file", tmp_path / "other", []
    kept = unchanged.Unchanged(lambda path: reads.append(path) or Path(path).read_text())
    file.write_text("a")
    assert [kept.of(str(file)), kept.of(str(file))] == ["a", "a"]
    assert len(reads) == (2 if clock_ns else 1)
    times = file.stat()
    file.write_text("b")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a program could
    assert kept.of(str(file)) == "b"
    other.write_text("c")
    other.replace(file)
    assert kept.of(str(file)) == "c"
    file.unlink()
    with pytest.raises(FileNotFoundError):
        kept.of(str(file))


def test_links_among_hooks_lead_to_what_is_protected(repository):
    (repository / "aa/real").write_text("x")
    (repository / ".git/hooks/pre-commit").symlink_to("../../aa/real")
    assert targets_of(str(repository), [], find_repository(repository)) == ["aa/real"]


def test_what_appears_in_a_folder_of_the_system_is_in_the_next_rules(tmp_path):
    kept = SystemRules()
    secret = str(tmp_path / "secret")
    # Above the secret each folder is listed; EMPTY_PLACES are not, and tmp_path is in /tmp.
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        rules = dict(kept._surroundings(str(tmp_path), frozenset((secret,))))
        assert str(tmp_path / name) in rules
    (tmp_path / "secret").mkdir()
    assert secret not in dict(kept._surroundings(str(tmp_path), frozenset((secret,))))
    (tmp_path / "first").rmdir()
    (tmp_path / "first").write_text("a file now")
    rules = dict(kept._surroundings(str(tmp_path), frozenset((secret,))))
    assert rules[str(tmp_path / "first")] != rules[str(tmp_path / "second")]
