"""Names of files that control programs: of git, editors, shells, build servers, nanocoder.

This is the only list: the workspace, its tools and every policy use it.
"""

import enum
import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise

from nanocoder_schema import value

from nanocoder_files.paths import WorkspaceError


class ProtectionKind(enum.StrEnum):
    """The kind of a protected file, by the program or rule that a change of it would affect."""

    GIT = "git"
    REPOSITORY = "repository"
    HOOK = "hook"
    NANOCODER = "nanocoder"
    STATE = "state"
    AGENT = "agent"
    EDITOR = "editor"
    SHELL = "shell"
    BUILD = "build"
    TOOL = "tool"
    PROGRAM = "program"


@value
class Protection:
    """The protection of a file from changes without approval, with its *reason*, a clause.

    GIT are git's own files, REPOSITORY a name that makes its directory a repository, NANOCODER
    settings by name, STATE nanocoder's directories of settings, sessions and caches, PROGRAM
    installed files.
    """

    kind: ProtectionKind
    reason: str


_GIT = Protection(ProtectionKind.GIT, "git's own files decide which programs git starts")
_REPOSITORY = Protection(
    ProtectionKind.REPOSITORY, "a file of that name can make its directory a git repository"
)
_HOOK = Protection(ProtectionKind.HOOK, "it decides which programs run at each commit")
_OURS = Protection(ProtectionKind.NANOCODER, "nanocoder's own settings decide what may run")
_AGENT = Protection(ProtectionKind.AGENT, "the settings of a coding agent decide what may run")
_EDITOR = Protection(ProtectionKind.EDITOR, "the settings of an editor can start programs")
_SHELL = Protection(ProtectionKind.SHELL, "shells run it when they start")
_DIRENV = Protection(ProtectionKind.SHELL, "direnv runs it when a shell enters the directory")
_LOGIN = Protection(ProtectionKind.SHELL, "it decides which programs start automatically")
_BUILD = Protection(ProtectionKind.BUILD, "a build server runs its commands")
_TOOL = Protection(ProtectionKind.TOOL, "the settings of a tool can start programs")
_WRAPPER = Protection(ProtectionKind.PROGRAM, "builds run it")
_PACKAGES = Protection(
    ProtectionKind.PROGRAM, "installed packages run with every program that imports them"
)
PROGRAM = Protection(ProtectionKind.PROGRAM, "installed programs run without approval")
STATE = Protection(ProtectionKind.STATE, "nanocoder keeps its settings, sessions and caches there")

# Names of files and directories that are protected anywhere, with everything below them; "a/b" is b
# directly in a, "*" any characters. A file belongs here if a program runs it when a person only
# opens the directory, starts a shell, an interpreter or an agent, or commits. Files that a build or
# a test runs do not: a person starts it, and models edit them all day.
_PROTECTED: dict[Protection, str] = {
    _GIT: ".git git~1 .gitconfig .gitattributes .gitmodules",
    _HOOK: ".husky .githooks .overcommit.yml .pre-commit* lefthook.* lefthook-local.* .lefthook*",
    _OURS: ".nanocoder .nanocoderignore",
    _AGENT: """
        .claude .codex .cursor .gemini .mcp.json .opencode opencode.json opencode.jsonc .crush
        .crush.json crush.json .qwen .aider.conf.yml .continue .goose .kilocode .kiro .roo .windsurf
    """,
    _EDITOR: """
        .vscode .idea .devcontainer .devcontainer.json .zed .fleet .vs .helix
        *.code-workspace *.sublime-project .dir-locals.el .dir-locals-2.el .emacs .emacs.d
        .exrc .vimrc .gvimrc .nvimrc .lvimrc .nvim.lua .vim
    """,
    _SHELL: """
        .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv
        .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .logout .inputrc
        .tmux.conf .screenrc
    """,
    _DIRENV: ".envrc .direnv",
    _LOGIN: """
        .xinitrc .xprofile .xsession .config/autostart .config/environment.d .config/fish
        .config/nvim .config/systemd
    """,
    _BUILD: """
        .github .gitlab .gitlab-ci.yml .circleci .buildkite .travis.yml .drone.yml .cirrus.yml
        .appveyor.yml appveyor.yml .forgejo .gitea .semaphore .teamcity .woodpecker .woodpecker.yml
        .woodpecker.yaml azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile
    """,
    _TOOL: """
        .gdbinit .lldbinit .pdbrc .irbrc .pryrc .rprofile .psqlrc .sqliterc .ripgreprc .curlrc
        .wgetrc .npmrc .pnp.cjs .pylintrc .bazelrc .yarnrc .yarnrc.yml .pnpmfile.cjs
        .mise mise.*toml .mise.*toml
        .cargo/bin .cargo/config .cargo/config.toml .cargo/env .yarn/plugins .yarn/releases
        .config/git .config/mise .config/pip .hg/hgrc
    """,
    _WRAPPER: "gradlew gradlew.bat mvnw mvnw.bat mvnw.cmd",
    _PACKAGES: "site-packages dist-packages",
    PROGRAM: """
        pyvenv.cfg .local/bin node_modules/.bin .venv/bin .venv/lib .venv/lib64 .venv/scripts
        venv/bin venv/lib venv/lib64 venv/scripts
    """,
}
_NAMES = {name: why for why, names in _PROTECTED.items() for name in names.split()}
PROTECTED_NAMES = tuple(_NAMES)
"""The names of `protection_of` for a sandbox with its own matching: "*" is any characters."""
_LIKE = [name for name in _NAMES if "*" in name]
_STARTS = tuple(filter(None, (name.partition("*")[0] for name in _LIKE)))
_ENDS = tuple(name[1:] for name in _LIKE if name.startswith("*"))
# A parent directory of such names is protected, too: one moved to its path brings them along.
_PARENTS = {name.partition("/")[0]: why for name, why in _NAMES.items() if "/" in name}
IN_VENV = {"bin", "lib", "lib64", "pyvenv.cfg", "scripts"}
"""Names of a virtual environment's own files and directories."""
_GIT_NAMES = {".git", "git~1"}
# HFS+ (macOS) ignores these inside names, so that ".g<U+200C>it" is ".git" there.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")


def protection_of(path: str) -> Protection | None:
    """Return the protection of *path* by its names; None if it has none.

    Only names are compared, so that files which do not exist yet are protected, too.
    """
    names = [fold_name(name) for name in path.split("/")]
    for name, below in pairwise([*names, ""]):
        if protection := _NAMES.get(name) or _NAMES.get(f"{name}/{below}"):
            return protection
        if name.startswith(_STARTS) or name.endswith(_ENDS):
            for like in (each for each in _LIKE if fnmatchcase(name, each)):
                return _NAMES[like]
    if names[-1] == "head":  # makes its directory a repository, whose config git reads
        return _REPOSITORY
    return _PARENTS.get(names[-1])


def is_git_name(name: str) -> bool:
    """Return True if *name* is git's directory on some file system."""
    return fold_name(name) in _GIT_NAMES


@lru_cache(maxsize=4_096)  # a path is judged name by name, and the same names come again
def fold_name(name: str) -> str:
    """Return *name* normalized as by the least strict file system: case, Unicode, ends."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    name = name.casefold()
    # Windows drops trailing dots and spaces, and the name of a stream follows a colon.
    return name.partition(":")[0].rstrip(". ") or name


IN_GIT = "belongs to git and cannot be made, moved or deleted here"
IN_STATE = "holds settings or state of nanocoder and cannot be changed by its tools"


def refused(path: str, reason: str) -> WorkspaceError:
    """Return the error for a change of *path*, with the *reason*."""
    return WorkspaceError(f"'{path}' {reason}", error_class="protected_path")


def touches(path: str, folders: Iterable[str]) -> bool:
    """Return True if absolute *path* is in, is, or contains one of *folders*, ignoring case."""
    place = _folded_path(path) + "/"
    return is_in(path, folders) or any((folder + "/").startswith(place) for folder in folders)


def is_in(path: str, folders: Iterable[str]) -> bool:
    """Return True if absolute *path* is one of *folders* or is in one, ignoring case."""
    place = _folded_path(path) + "/"
    return any(place.startswith(folder + "/") for folder in folders)


def folded_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Normalize absolute paths for `touches`."""
    return tuple(_folded_path(path) for path in paths)


def _folded_path(path: str) -> str:
    return "/".join(fold_name(part) for part in path.split("/") if part) or "/"
