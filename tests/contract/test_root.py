"""The root of the repository holds what is listed here, each name for a reason, and no more."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import repository

NAMES: Final = {
    ".ci": "what a machine runs before a change lands",
    ".github": "what the forge runs for a release",
    ".gitignore": "what git leaves out",
    "CHANGELOG.md": "what changed, for users",
    "CONTRIBUTING.md": "how to change something; hosts of repositories link to it",
    "LICENSE": "the terms; tools look for it under this name",
    "README.md": "the front page",
    "RELEASING.md": "how a release is made",
    "SECURITY.md": "how to report a hole; hosts of repositories link to it",
    "conftest.py": "what pytest reads before any test of any package",
    "contrib": "dialects, evaluation suites, examples and integrations",
    "core": "the distributions that plugins stand on",
    "docs": "the pages for readers",
    "noxfile.py": "the sessions",
    "plugins": "first-party plugins, kits and sets",
    "pyproject.toml": "the workspace, and the settings of the tools",
    "requirements.lock": "the tested versions with their hashes",
    "tests": "what no single package can test",
}


def strangers(names: Iterable[str]) -> set[str]:
    """Return the names that are not listed."""
    return set(names) - NAMES.keys()


def names_at_the_root(repository_folder: Path = repository.ROOT) -> set[str]:
    """Return the first part of each path that is committed or staged; the rest does not count."""
    command = ["git", "ls-files", "--cached", "-z"]
    listed = subprocess.run(
        command, cwd=repository_folder, check=True, capture_output=True, text=True
    ).stdout
    return {path.split("/")[0] for path in listed.split("\0") if path}


def test_nothing_lies_at_the_root_but_what_is_listed():
    assert strangers(names_at_the_root()) == set(), "delete it, move it, or list it with a reason"


def test_each_listed_name_is_there_and_has_a_reason():
    assert NAMES.keys() - names_at_the_root() == set(), "a name is no longer needed: drop it"
    assert all(NAMES.values())


def test_a_stray_file_and_a_stray_folder_are_refused():
    assert strangers([*NAMES, "notes.txt", "scratch"]) == {"notes.txt", "scratch"}


def test_what_is_staged_counts_and_what_just_lies_there_does_not(tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for name in ("README.md", "notes.txt", "unstaged.txt"):
        (tmp_path / name).touch()
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch/link").symlink_to("../notes.txt")
    subprocess.run(
        ["git", "add", "README.md", "notes.txt", "scratch/link"], cwd=tmp_path, check=True
    )
    assert strangers(names_at_the_root(tmp_path)) == {"notes.txt", "scratch"}
