"""Targets of protected names, and git's directories of hooks: both decide what runs."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from nanocoder_files import ProtectionKind, protection_of
from nanocoder_kit_process.git import Repository, read_start

from nanocoder_kit_sandbox.unchanged import listed

HOOKS: Final = "hooks"
_SETTING: Final = re.compile(
    r"(?:^|])[ \t]*(hooks|)path[ \t]*=[ \t]*([^\n]+)", re.IGNORECASE | re.MULTILINE
)
_OF_PERSON: Final = ("~/.gitconfig", "~/.config/git/config", "/etc/gitconfig")
_OF_VARIABLES: Final = {"GIT_CONFIG_GLOBAL": "", "XDG_CONFIG_HOME": "/git/config"}
MAX_FILES: Final = 100


def named_by_settings(root: str, repository: Repository | None) -> list[str]:
    """Return the paths below the workspace *root* that git's settings name, relative to it.

    These are the folders of `core.hooksPath`, and the files of `include.path`, with what these
    name. Other settings called `path` are programs that git starts. *repository* is that of *root*.
    """
    if repository is None:
        return []
    variables = (f"{os.environ.get(name, '')}{end}" for name, end in _OF_VARIABLES.items())
    files = [f"{repository.common}/config", f"{repository.own}/config.worktree"]
    files += map(os.path.expanduser, (*_OF_PERSON, *variables))
    named = list[str]()
    for file in files:  # it grows meanwhile
        text = read_start(file).decode("utf-8", "surrogateescape").replace("\\\n", "")
        for kind, value in _SETTING.findall(text):
            folder = root if kind else os.path.dirname(os.path.realpath(file))
            path = os.path.join(folder, _plain_path(value))
            named.append(path)
            if not kind and path not in files and len(files) < MAX_FILES:
                files.append(path)
    return list(_within(root, named))


def targets_of(
    root: str, protected: Iterable[str], others: Iterable[str], repository: Repository | None
) -> list[str]:
    """Return the targets of *protected* paths, of hooks and of links in both, in the workspace.

    Those of *others* count, too, but not of links in them. Paths are relative to *root*, and
    *repository* is the one there.
    """
    # Installed programs are links to each other, and too many.
    folders = [f"{root}/{path}" for path in protected if not is_program(path)]
    if repository is not None:
        folders.append(f"{repository.common}/{HOOKS}")
    named = [*folders, *[f"{root}/{path}" for path in others]]
    links = [path for path in named if os.path.islink(path)]
    links += [each.path for folder in folders for each in listed(folder) if each.is_symlink()]
    return list(_within(root, links))


def target_of(root: str, link: str) -> str | None:
    """Return the path that *link* leads to, both relative to *root*; None for one outside."""
    path = os.path.realpath(f"{root}/{link}")
    return f"{path}/"[len(root) + 1 : -1] if f"{path}/".startswith(f"{root}/") else None


def is_program(path: str) -> bool:
    """Tell whether an installation makes *path*, or it is in what one makes."""
    protection = protection_of(path)
    return protection is not None and protection.kind is ProtectionKind.PROGRAM


def _plain_path(value: str) -> str:
    bare = re.sub(r"\s[#;].*", "", value).strip().replace('"', "")
    return str(Path(bare).expanduser()) if bare.startswith("~") else bare


def _within(root: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the targets of *paths* in the workspace, relative to it, each once."""
    real = dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path))
    for path in real:
        if path.startswith(f"{root}/"):
            yield path.removeprefix(f"{root}/")
