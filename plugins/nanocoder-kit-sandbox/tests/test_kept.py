"""What is kept from one command for the next one holds only while the disk says the same."""

import os
import subprocess
from pathlib import Path

import pytest
from nanocoder_kit_process.git import find_repository
from nanocoder_kit_sandbox import unchanged
from nanocoder_kit_sandbox.kept_objects import PREFIX, KeptObjects
from nanocoder_kit_sandbox.repository import InnerRepository
from nanocoder_kit_sandbox.survey import objects_of, tracked_secrets
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
    assert targets_of(str(repository), [], [], find_repository(repository)) == ["aa/real"]


def git(root, *words):
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def test_objects_are_put_back_whatever_took_their_names(repository):
    objects = repository / ".git/objects"
    for number in range(4):
        (repository / f"f{number}").write_text(f"content {number}\n")
    git(repository, "add", "-A")
    files = sorted(path for path in objects.glob("??/*"))
    before = {path: path.read_bytes() for path in files}
    kept = KeptObjects("session")
    kept.keep(str(repository / ".git"))
    for path in files[:2]:  # a file in place of its folder
        path.unlink()
        path.parent.rmdir()
        path.parent.write_text("")
    files[2].unlink()  # a folder in its own place
    (files[2] / "below").mkdir(parents=True)
    files[3].unlink()
    files[3].parent.rmdir()
    files[3].parent.symlink_to(repository)  # and a link
    assert kept.put_back() == len(before)
    assert {path: path.read_bytes() for path in files} == before
    kept.close()
    assert not list((repository / ".git").glob(f"{PREFIX}*"))


def test_second_names_stay_while_an_object_cannot_be_put_back(repository):
    (repository / "f").write_text("content\n")
    git(repository, "add", "f")
    objects = repository / ".git/objects"
    (path,) = objects.glob("??/*")
    kept = KeptObjects("session")
    kept.keep(str(repository / ".git"))
    objects.rename(repository / "aside")
    objects.symlink_to(repository / "aside")
    (repository / "aside" / path.relative_to(objects)).unlink()
    with pytest.raises(OSError, match="objects"):
        kept.put_back()
    kept.close()
    assert list((repository / ".git").glob(f"{PREFIX}session/*/{path.name}"))


@pytest.mark.parametrize("link", ["objects", f"{PREFIX}evil"])
def test_what_a_strangers_repository_says_was_kept_changes_nothing_outside(
    repository, tmp_path, link
):
    victim, name = tmp_path / "victim", "0" * 38
    (victim / "ab").mkdir(parents=True)
    (victim / "ab" / name).write_text("mine")
    (tmp_path / "target").mkdir()
    evil = repository / f".git/{PREFIX}evil/ab"
    evil.mkdir(parents=True)
    (evil / name).write_text("theirs")
    path = repository / ".git" / link
    path.rename(repository / "aside")
    path.symlink_to(victim)
    KeptObjects("session").put_back_of_killed(str(repository / ".git"), lambda _: False)
    assert (victim / "ab" / name).read_text() == "mine"
    assert [each.name for each in victim.rglob("*")] == ["ab", name]


def test_no_lock_stays_of_a_file_that_cannot_be_written(repository, tmp_path):
    store = repository / ".git"
    (store / "COMMIT_EDITMSG").mkdir()
    inner = InnerRepository((str(store),), tmp_path / "inside", str(repository), lambda: True)
    inner.mounts(frozenset())
    (tmp_path / "inside/0/COMMIT_EDITMSG").rmdir()
    (tmp_path / "inside/0/COMMIT_EDITMSG").write_text("words\n")
    assert any("cannot be written" in problem for problem in inner.bring_back())
    assert not list(store.glob("*.lock"))


@pytest.mark.parametrize("form", ["plain", "compressed", "split", "sha256", "offsets"])
def test_the_object_of_an_added_secret_is_found_in_every_form_of_index(tmp_path, form):
    options = ["--object-format=sha256"] if form == "sha256" else []
    git(tmp_path, "init", "-q", *options)
    (tmp_path / ".env").write_text("KEY=hidden\n")
    (tmp_path / "IEOT").write_text("as the table of offsets is called\n")
    git(tmp_path, "add", "-f", ".env", *(["IEOT"] if form == "offsets" else []))
    if form in ("compressed", "split"):
        change = "--index-version=4" if form == "compressed" else "--split-index"
        git(tmp_path, "update-index", change)
    stores = (str(tmp_path / ".git"),)
    entries = tracked_secrets((".env",), stores)
    assert {entry.path for entry in entries} == {".env"}
    (found,) = objects_of(entries, stores)
    blob = "".join(Path(found).parts[-2:])
    shown = ["git", "-C", str(tmp_path), "cat-file", "-p", blob]
    assert subprocess.run(shown, check=True, capture_output=True).stdout == b"KEY=hidden\n"
