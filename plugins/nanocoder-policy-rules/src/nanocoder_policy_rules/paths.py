"""Paths in arguments: where they are, and which names among them are secret or protected."""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Any, Final

ARGUMENTS: Final = frozenset(
    {
        *("path", "paths", "file", "files", "file_path", "file_paths", "filename", "glob"),
        *("source", "destination", "target", "src", "dst", "old_path", "new_path", "include"),
        *("workdir", "cwd", "directory", "dir", "root"),
    }
)
PATCHES: Final = frozenset({"patch", "input", "diff"})
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |\+\+\+ (?:b/)?|--- (?:a/)?)([^\t\n]+)",
    re.MULTILINE,
)

SECRETS: Final = (
    *(".env", ".env.*", ".envrc.local", "*.pem", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".npmrc", ".pypirc"),
    *(".pgpass", ".htpasswd", ".git-credentials", "credentials.json", "service-account*.json"),
    *(".ssh", ".aws", ".gnupg", ".kube"),
)
NOT_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")

_GIT = "git's own files decide which programs git starts"
_OURS = "nanocoder's own settings decide what may run"
_AGENT = "the settings of a coding agent decide what may run"
_EDITOR = "the settings of an editor can start programs"
_SHELL = "shells run it when they start"
PROTECTED: Final = {
    **dict.fromkeys((".git", "git~1", ".gitconfig", ".gitattributes", ".gitmodules"), _GIT),
    **dict.fromkeys((".nanocoder",), _OURS),
    **dict.fromkeys((".claude", ".codex", ".cursor", ".gemini", ".mcp.json"), _AGENT),
    **dict.fromkeys((".vscode", ".idea", ".devcontainer", ".devcontainer.json"), _EDITOR),
    **dict.fromkeys((".bashrc", ".bash_profile", ".bash_login", ".bash_logout"), _SHELL),
    **dict.fromkeys((".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile"), _SHELL),
    **dict.fromkeys((".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".inputrc"), _SHELL),
    ".envrc": "direnv runs it when a shell enters the directory",
    ".pre-commit-config.yaml": "it lists programs that run at each commit",
    ".ripgreprc": "its options can make ripgrep start programs",
    "site-packages": "installed packages run with every program that imports them",
    "dist-packages": "installed packages run with every program that imports them",
}
# Ignored inside names by macOS, so that ".g<U+200C>it" is ".git" there.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")


def named(arguments: Mapping[str, Any]) -> list[str]:
    """Return every path among *arguments*, nested ones and those of patches included."""
    return list(_named(arguments, is_path=False))


def _named(value: Any, *, is_path: bool) -> Iterator[str]:
    if isinstance(value, str):
        if is_path:
            yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key in PATCHES and isinstance(inner, str):
                yield from (path.strip() for path in _PATCHED.findall(inner))
            yield from _named(inner, is_path=key in ARGUMENTS)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _named(inner, is_path=is_path)


def spellings(path: str, root: str) -> tuple[str, ...]:
    """Return *path* relative to *root*, as written and with its links resolved; ".." is outside."""
    written = os.path.normpath(os.path.join(root, path))
    try:
        real = os.path.realpath(written)
    except (OSError, ValueError):  # too long, or with a NUL; the tool will refuse it
        real = written
    if real == written:
        return (relative(written, root),)
    return relative(written, root), relative(real, os.path.realpath(root))


def relative(path: str, root: str) -> str:
    """Return absolute, normal *path* relative to *root* when it lies below; else as it is."""
    if path == root:
        return "."
    return path[len(root) :].lstrip("/") if path.startswith(root.rstrip("/") + "/") else path


def is_inside(path: str, root: str) -> bool:
    """Tell whether *path* and what it links to lie in *root*."""
    return not any(spelling.startswith("/") for spelling in spellings(path, root))


def names(path: str) -> list[str]:
    """Return the components of *path* as the most forgiving file system compares them."""
    return [folded(name) for name in path.split("/")]


def folded(name: str) -> str:
    """Return *name* without what some file system ignores: case, Unicode forms, its end."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    name = name.casefold()
    return name.partition(":")[0].rstrip(". ") or name


def secret(components: Iterable[str], secrets: tuple[str, ...], but: tuple[str, ...]) -> str:
    """Return the first of *components* that *secrets* name and *but* does not, or ""."""
    wanted = _any_of(secrets)
    for name in components:
        if wanted.match(name) and not _any_of(but).match(name):
            return name
    return ""


def protection(components: list[str]) -> str:
    """Return why a path with these *components* is protected, or ""."""
    for index, name in enumerate(components):
        if name in PROTECTED:
            return PROTECTED[name]
        if name == ".github" and components[index + 1 : index + 2] == ["workflows"]:
            return "a build server runs its workflows"
    # A directory with a HEAD is a repository for git, which then reads its config.
    return _GIT if components[-1] == "head" else ""


def protection_of_word(word: str) -> str:
    """Return why a word of a command names something protected, or "".

    Commands often name `.git`, to leave it out; only its programs and settings count here.
    """
    components = names(word)
    if ".git" in components:
        after = components[components.index(".git") + 1 :]
        return _GIT if after[:1] in (["hooks"], ["config"]) else ""
    found = (PROTECTED.get(name, "") for name in components if not name.endswith("-packages"))
    return next(filter(None, found), "")


@lru_cache(maxsize=32)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(folded(pattern)) for pattern in patterns) or "(?!)")
