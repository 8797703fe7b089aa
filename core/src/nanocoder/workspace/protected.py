"""Names whose files decide what runs: git's, editors', shells', our own."""

import re
import unicodedata
from collections.abc import Iterable

from nanocoder.errors import WorkspaceError

_OURS = "nanocoder's own settings"
_AGENT = "the settings of a coding agent, which decide what may run"
_EDITOR = "the settings of an editor, which can start programs"
_SHELL = "read by a shell when it starts"

# Names of files and directories that are protected wherever they lie, with everything below them.
_NAMES = {
    ".git": "git's own files, which decide which programs git starts",
    ".gitconfig": "git's settings, which decide which programs git starts",
    ".gitattributes": "git's settings, which decide which programs git starts",
    ".gitmodules": "git's settings, which decide what git fetches",
    ".nanocoder": _OURS,
    ".claude": _AGENT,
    ".codex": _AGENT,
    ".cursor": _AGENT,
    ".gemini": _AGENT,
    ".mcp.json": _AGENT,
    ".vscode": _EDITOR,
    ".idea": _EDITOR,
    ".devcontainer": _EDITOR,
    ".devcontainer.json": _EDITOR,
    ".envrc": "run by direnv when a shell enters the directory",
    ".pre-commit-config.yaml": "a list of programs that run at each commit",
    ".ripgreprc": "options that can make ripgrep start programs",
    "site-packages": "installed packages",
    "dist-packages": "installed packages",
} | dict.fromkeys(
    (
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
        *(".login", ".logout", ".inputrc"),
    ),
    _SHELL,
)
_GIT_NAMES = {".git", "git~1"}
# Ignored inside names by macOS (HFS+), so that ".g<U+200C>it" is ".git" there.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")


def protection(path: str) -> str:
    """Say why *path*, relative to the workspace, is protected; "" when it is not.

    Only names are looked at, so that files which do not exist yet are protected, too.
    """
    names = [folded(name) for name in path.split("/")]
    for index, name in enumerate(names):
        if name in _GIT_NAMES:
            return _NAMES[".git"]
        if name in _NAMES:
            return _NAMES[name]
        # A directory that is moved to .github brings its workflows along.
        if name == ".github" and names[index + 1 : index + 2] in ([], ["workflows"]):
            return "a workflow that runs on a build server"
    # A directory with a HEAD is a repository for git, which then reads its config.
    if names[-1] == "head":
        return "a name that can make its directory a git repository"
    return ""


def is_git_name(name: str) -> bool:
    """Tell whether some file system takes *name* for git's directory."""
    return folded(name) in _GIT_NAMES


def folded(name: str) -> str:
    """Return *name* as the most forgiving file system compares it: case, Unicode, ends."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    name = name.casefold()
    # Windows drops trailing dots and spaces, and takes what follows a colon for a stream's name.
    return name.partition(":")[0].rstrip(". ") or name


def git_refused(path: str) -> WorkspaceError:
    """Return the error for a change of git's directory itself."""
    return WorkspaceError(
        f"{path!r} belongs to git and cannot be made, moved or deleted here",
        error_class="protected_path",
    )


def own_refused(path: str) -> WorkspaceError:
    """Return the error for a change of what nanocoder itself keeps."""
    return WorkspaceError(
        f"{path!r} holds settings or state of nanocoder and cannot be changed by its tools",
        error_class="protected_path",
    )


def touches(path: str, folders: Iterable[str]) -> bool:
    """Tell whether absolute *path* is one of *folders*, lies in one, or holds one; any case."""
    wanted = _folded_path(path) + "/"
    return any(
        wanted.startswith(folder + "/") or (folder + "/").startswith(wanted) for folder in folders
    )


def folded_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Prepare absolute paths for `touches`."""
    return tuple(_folded_path(path) for path in paths)


def _folded_path(path: str) -> str:
    return "/".join(folded(part) for part in path.split("/") if part) or "/"
