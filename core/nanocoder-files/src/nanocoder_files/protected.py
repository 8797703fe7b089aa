"""Names whose files decide what runs: git's, editors', shells', build servers', our own.

This is the only list: the workspace, its tools and every policy ask it.
"""

import enum
import re
import unicodedata
from collections.abc import Iterable

from nanocoder_schema import value

from nanocoder_files.paths import WorkspaceError


class ProtectionKind(enum.StrEnum):
    """What would run, or be loosened, by a change of a protected file."""

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
    """Why a file changes only when a person agrees; *reason* is a sentence without its full stop.

    The kind GIT is git's own files, REPOSITORY a name that makes its directory a repository,
    NANOCODER settings by name, STATE the folders where nanocoder keeps settings, sessions and
    caches, PROGRAM what is installed.
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
_LOGIN = Protection(ProtectionKind.SHELL, "it decides which programs start by themselves")
_BUILD = Protection(ProtectionKind.BUILD, "a build server runs what it says")
_TOOL = Protection(ProtectionKind.TOOL, "the settings of a tool can start programs")
_WRAPPER = Protection(ProtectionKind.PROGRAM, "builds start it")
_PACKAGES = Protection(
    ProtectionKind.PROGRAM, "installed packages run with every program that imports them"
)
PROGRAM = Protection(ProtectionKind.PROGRAM, "installed programs run outside of any question")
STATE = Protection(ProtectionKind.STATE, "nanocoder keeps its settings, sessions and caches there")

# Names of files and directories that are protected wherever they are, with everything below them.
_PROTECTED: dict[Protection, str] = {
    _GIT: ".git git~1 .gitconfig .gitattributes .gitmodules",
    _HOOK: """
        .husky .githooks .lefthook .overcommit.yml
        lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml
    """,
    _OURS: ".nanocoder .nanocoderignore",
    _AGENT: """
        .claude .codex .cursor .gemini .mcp.json .opencode
        .aider.conf.yml .continue .kiro .roo .windsurf
    """,
    _EDITOR: """
        .vscode .idea .devcontainer .devcontainer.json .zed .fleet .vs .helix .sublime-project
        .dir-locals.el .dir-locals-2.el .emacs .emacs.d
        .exrc .vimrc .gvimrc .nvimrc .lvimrc .nvim.lua .vim
    """,
    _SHELL: """
        .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv
        .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .logout .inputrc
        .tmux.conf .screenrc
    """,
    _DIRENV: ".envrc .direnv",
    _LOGIN: ".xinitrc .xprofile .xsession",
    _BUILD: """
        .github .gitlab .gitlab-ci.yml .circleci .buildkite .travis.yml .drone.yml .cirrus.yml
        .appveyor.yml appveyor.yml .forgejo .gitea .semaphore .teamcity .woodpecker .woodpecker.yml
        .woodpecker.yaml azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile
    """,
    _TOOL: """
        .gdbinit .lldbinit .pdbrc .ripgreprc .curlrc .wgetrc .npmrc .pnp.cjs .pylintrc .bazelrc
        .yarnrc .yarnrc.yml .pnpmfile.cjs .mise .mise.toml mise.toml mise.local.toml
    """,
    _WRAPPER: "gradlew gradlew.bat mvnw mvnw.bat mvnw.cmd",
    _PACKAGES: "site-packages dist-packages",
    PROGRAM: "pyvenv.cfg",
}
_NAMES = {name: why for why, names in _PROTECTED.items() for name in names.split()}
_PRE_COMMIT = ".pre-commit"
_EDITOR_ENDS = (".code-workspace", ".sublime-project")
_VENV = dict.fromkeys(("bin", "lib", "lib64", "pyvenv.cfg", "scripts"), PROGRAM)
# The names that are protected in a directory of some name. That directory is protected, too: one
# that is moved to its place brings them along.
_PAIRS: dict[str, dict[str, Protection]] = {
    ".cargo": dict.fromkeys(("bin", "config", "config.toml", "env"), _TOOL),
    ".yarn": dict.fromkeys(("plugins", "releases"), _TOOL),
    ".config": {
        **dict.fromkeys(("git", "mise", "pip"), _TOOL),
        **dict.fromkeys(("autostart", "environment.d", "fish", "nvim", "systemd"), _LOGIN),
    },
    ".hg": {"hgrc": _TOOL},
    ".local": {"bin": PROGRAM},
    "node_modules": {".bin": PROGRAM},
    ".venv": _VENV,
    "venv": _VENV,
}
_GIT_NAMES = {".git", "git~1"}
# Ignored inside names by macOS (HFS+), so that ".g<U+200C>it" is ".git" there.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")


def protection_of(path: str) -> Protection | None:
    """Return why *path* is protected by its names; None when it is not.

    Only names are looked at, so that files which do not exist yet are protected, too.
    """
    names = [fold_name(name) for name in path.split("/")]
    for index, name in enumerate(names):
        protection = _NAMES.get(name) or _paired(names, index)
        if protection is None and name.startswith(_PRE_COMMIT):
            protection = _HOOK
        if protection is None and name.endswith(_EDITOR_ENDS):
            protection = _EDITOR
        if protection is not None:
            return protection
    # A directory with a HEAD is a repository for git, which then reads its config.
    return _REPOSITORY if names[-1] == "head" else None


def _paired(names: list[str], index: int) -> Protection | None:
    children, below = _PAIRS.get(names[index], {}), names[index + 1 : index + 2]
    return children.get(below[0]) if below else next(iter(children.values()), None)


def is_in_venv(name: str) -> bool:
    """Tell whether *name* in a virtual environment is a part of what is installed."""
    return fold_name(name) in _VENV


def is_git_name(name: str) -> bool:
    """Tell whether some file system takes *name* for git's directory."""
    return fold_name(name) in _GIT_NAMES


def fold_name(name: str) -> str:
    """Return *name* as the most forgiving file system compares it: case, Unicode, ends."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    name = name.casefold()
    # Windows drops trailing dots and spaces, and takes what follows a colon for a stream's name.
    return name.partition(":")[0].rstrip(". ") or name


def git_refused(path: str) -> WorkspaceError:
    """Return the error for a change of git's directory itself."""
    problem = f"'{path}' belongs to git and cannot be made, moved or deleted here"
    return WorkspaceError(problem, error_class="protected_path")


def own_refused(path: str) -> WorkspaceError:
    """Return the error for a change of what nanocoder itself keeps."""
    problem = f"'{path}' holds settings or state of nanocoder and cannot be changed by its tools"
    return WorkspaceError(problem, error_class="protected_path")


def touches(path: str, folders: Iterable[str]) -> bool:
    """Tell whether absolute *path* is one of *folders*, lies in one, or holds one; any case."""
    place = _folded_path(path) + "/"
    return is_in(path, folders) or any((folder + "/").startswith(place) for folder in folders)


def is_in(path: str, folders: Iterable[str]) -> bool:
    """Tell whether absolute *path* is one of *folders* or lies in one; any case."""
    place = _folded_path(path) + "/"
    return any(place.startswith(folder + "/") for folder in folders)


def folded_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Prepare absolute paths for `touches`."""
    return tuple(_folded_path(path) for path in paths)


def _folded_path(path: str) -> str:
    return "/".join(fold_name(part) for part in path.split("/") if part) or "/"
