"""Repositories that start a program when git only reads, each shown with the real git."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from attrs import frozen
from nanocoder import ToolError
from nanocoder_kit_process.git import find_repository, git, reason_not_plain

READING = (
    ("status",),
    ("diff",),
    ("diff", "HEAD"),
    ("log", "-p"),
    ("show",),
    ("blame", "file"),
    ("grep", "x"),
    ("ls-files", "-m"),
)


@frozen
class Place:
    """A repository with one commit, and a program that leaves a mark."""

    top: Path
    mark: Path
    program: Path

    def git(self, *words: str, folder: Path | None = None) -> str:
        """Run git as a person does."""
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        env = {"PATH": os.environ["PATH"], "HOME": str(self.top.parent), "GIT_PAGER": "cat"}
        done = subprocess.run(
            ["git", *names, *words],
            cwd=folder or self.top,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def change(self) -> None:
        """Change the file, so that git has to look at it."""
        (self.top / "file").write_text("y\n")
        os.utime(self.top / "file", (1, 1))


@pytest.fixture
def place(tmp_path):
    program, top = tmp_path / "program", tmp_path / "ws"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/mark\ncat 2>/dev/null\n")
    program.chmod(0o755)
    top.mkdir()
    made = Place(top, tmp_path / "mark", program)
    made.git("init", "-q", "-b", "main")
    (top / "file").write_text("x\n")
    made.git("add", "file")
    made.git("commit", "-qm", "first")
    return made


def monitor(place):
    place.git("config", "core.fsmonitor", str(place.program))


def monitor_in_an_included_file(place):
    (place.top / "more").write_text(f"[core]\nfsmonitor = {place.program}\n")
    place.git("config", "include.path", "../more")


def monitor_on_one_line(place):
    with (place.top / ".git/config").open("a") as config:
        config.write(f"[core] fsmonitor = {place.program}\n")


def monitor_behind_a_continued_line(place):
    with (place.top / ".git/config").open("a") as config:
        config.write(f'[user]\nname = "a\\\n"\n[core]\nfsmonitor = {place.program}\n')


def monitor_of_a_worktree(place):
    place.git("config", "extensions.worktreeConfig", "true")
    (place.top / ".git/config.worktree").write_text(f"[core]\nfsmonitor = {place.program}\n")


def filter_of_an_attribute(place):
    place.git("config", "filter.evil.clean", str(place.program))
    (place.top / ".gitattributes").write_text("* filter=evil\n")
    place.change()


def text_conversion(place):
    place.git("config", "diff.evil.textconv", str(place.program))
    (place.top / ".gitattributes").write_text("* diff=evil\n")
    place.change()


def external_diff(place):
    place.git("config", "diff.external", str(place.program))
    place.change()


def hook_that_reading_runs(place):
    hook = place.top / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(place.program.read_text())
    hook.chmod(0o755)
    os.utime(place.top / "file", (5, 5))


def _hostile_repository(place, folder):
    folder.mkdir()
    place.git("init", "-q", folder=folder)
    place.git("commit", "-q", "--allow-empty", "-m", "inner", folder=folder)
    place.git("config", "core.fsmonitor", str(place.program), folder=folder)


def repository_in_the_index(place, version="2"):
    _hostile_repository(place, place.top / "neu")
    commit = place.git("rev-parse", "HEAD", folder=place.top / "neu").strip()
    place.git("update-index", "--index-version", version)
    place.git("update-index", "--add", "--cacheinfo", f"160000,{commit},neu")


def repository_in_a_compressed_index(place):
    for name in ("a" * 200, "neu-before"):
        (place.top / name).write_text("x")
    place.git("add", ".")
    repository_in_the_index(place, "4")


def bare_repository_beside_a_broken_one(place):
    for name in ("HEAD", "config", "objects", "refs"):
        os.rename(place.top / ".git" / name, place.top / name)
    (place.top / ".git/HEAD").write_text("broken")
    with (place.top / "config").open("a") as config:
        config.write(f"[core]\nbare = false\nworktree = .\nfsmonitor = {place.program}\n")


def link_to_another_repository(place):
    _hostile_repository(place, place.top / "evil")
    os.rename(place.top / ".git", place.top / "old")
    (place.top / ".git").write_text("gitdir: evil/.git\n")


def shared_settings_elsewhere(place):
    (place.top / "e").mkdir()
    for name in ("objects", "refs"):
        (place.top / "e" / name).symlink_to(place.top / ".git" / name)
    (place.top / "e/config").write_text(f"[core]\nfsmonitor = {place.program}\n")
    (place.top / ".git/commondir").write_text("../e\n")


ATTACKS = (
    monitor,
    monitor_in_an_included_file,
    monitor_on_one_line,
    monitor_behind_a_continued_line,
    monitor_of_a_worktree,
    filter_of_an_attribute,
    text_conversion,
    external_diff,
    hook_that_reading_runs,
    repository_in_the_index,
    repository_in_a_compressed_index,
    bare_repository_beside_a_broken_one,
    link_to_another_repository,
    shared_settings_elsewhere,
)


def is_started(place, run):
    for words in READING:
        run(*words)
    return place.mark.exists()


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_starts_a_program_is_not_plain(place, attack):
    assert reason_not_plain(place.top) is None
    attack(place)
    place.mark.unlink(missing_ok=True)
    assert reason_not_plain(place.top)
    # The case is real: git as a person runs it starts the program.
    assert is_started(place, place.git)


@pytest.mark.parametrize("attack", ATTACKS)
def test_our_git_starts_nothing(place, attack):
    attack(place)
    place.mark.unlink(missing_ok=True)

    def run(*words):
        with suppress(ToolError):  # git refuses some of these repositories
            git(place.top, *words)

    assert not is_started(place, run)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("objects/info/alternates", "/elsewhere\n"),
        ("sharedindex.0123", "x"),
        ("index", "no index"),
        ("config", '[remote "o"]\npromisor = true\n'),
        ("config", '[remote "o"]\nurl = ext::sh -c x\n'),
        ("config", "[core]\nworktree = ..\n"),
        ("config", "[unknown]\nkey = x\n"),
        ("config", "[core]\nbare\n"),
        ("config", "[core]\0\nbare = false\n"),
        ("config", "[core]\n\rfsmonitor = x\n"),
        ("config", "[extensions]\nobjectformat = sha256\n"),
        ("config", "#" * 300_000),
    ],
)  # fmt: skip
def test_what_leads_elsewhere_is_not_plain(place, path, content):
    (place.top / ".git" / path).write_text(content)
    reason = reason_not_plain(place.top)
    assert reason is not None
    assert str(place.top / ".git") in reason


def test_everyday_repositories_are_plain(place, tmp_path):
    place.git("clone", "-q", str(place.top), str(tmp_path / "clone"))
    place.git("worktree", "add", "-q", str(tmp_path / "tree"))
    place.git("config", "user.name", 'A "B" \\ C # D')
    place.git("config", "branch.feature/a.vscode-merge-base", "origin/main")
    place.git("sparse-checkout", "set", "dir")
    (place.top / "dir/inner").mkdir(parents=True)
    for folder in (place.top, place.top / "dir/inner", tmp_path / "clone", tmp_path / "tree"):
        assert reason_not_plain(folder) is None


def test_where_there_is_no_repository_nothing_is_started(tmp_path):
    assert find_repository(tmp_path) is None
    assert reason_not_plain(tmp_path) is None


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_long_name_is_read_as_git_reads_it(place, version):
    blob = place.git("hash-object", "-w", "file").strip()
    place.git("update-index", "--index-version", version)
    place.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{'d/' * 2_500}f")
    assert place.git("ls-files", "-s").count("100644") == 2
    assert reason_not_plain(place.top) is None
    repository_in_the_index(place, version)
    assert "'neu'" in (reason_not_plain(place.top) or "")


def test_a_way_through_a_link_is_followed_as_the_system_does(place, tmp_path):
    _hostile_repository(place, tmp_path / "far")
    (tmp_path / "far/sub").mkdir()
    os.rename(place.top / ".git", place.top / "good")
    (place.top / "link").symlink_to(tmp_path / "far/sub")
    (place.top / ".git").write_text("gitdir: link/../.git\n")
    assert "core.fsmonitor" in (reason_not_plain(place.top) or "")
