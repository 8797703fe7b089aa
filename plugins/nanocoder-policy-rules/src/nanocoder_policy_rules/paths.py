"""Paths in arguments: where they are, and which names among them are secret or protected."""

import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

ARGUMENTS: Final = frozenset(
    {
        *("path", "paths", "file", "files", "file_path", "file_paths", "filename", "glob"),
        *("source", "destination", "target", "src", "dst", "old_path", "new_path", "include"),
        *("workdir", "cwd", "directory", "dir", "root"),
    }
)
PATTERNS: Final = frozenset({"glob", "include"})
PATCHES: Final = frozenset({"patch", "input", "diff"})

SECRETS: Final = (
    *(".env", ".env.*", ".envrc.local", "*.pem", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".npmrc", ".pypirc"),
    *(".pgpass", ".htpasswd", ".git-credentials", "credentials.json", "service-account*.json"),
    *(".ssh", ".aws", ".gnupg", ".kube"),
)
WHY_DENIED: Final = (
    "{!r} is the name of a secret; plugins.policy-rules.secrets and not_secrets set which names are"
)
NOT_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")

_NOTHING: Final = "/dev/null"
OURS = "nanocoder's own settings decide what may run"
# Where our own settings and trust are; variables have lost their sign in the words of a command.
_OWN_PLACES: Final = frozenset(
    (folder, "nanocoder")
    for folder in (".config", "state", ".cache", "xdg_config_home", "xdg_state_home")
)
# What git reads in its directory to know which programs to start.
_DECIDING: Final = ("hooks", "config", "config.worktree", "commondir")
LOOSENING: Final = (
    *(("nanocoder", "config", action) for action in ("trust", "set", "unset")),
    *(("nanocoder", "plugins", action) for action in ("install", "remove", "lock", "sync")),
)


def named(arguments: Mapping[str, Any]) -> list[str]:
    """Return every path among *arguments*, nested ones and those of patches included."""
    return [path for path, _ in _named(arguments)]


def only_path(arguments: Mapping[str, Any]) -> str:
    """Return the path among *arguments* when there is exactly one, and it is no pattern; or ""."""
    found = list(_named(arguments))
    return found[0][0] if len(found) == 1 and found[0][1] not in PATTERNS else ""


def _named(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the paths in *value* with the argument that each stands in."""
    if isinstance(value, str):
        if key in ARGUMENTS:
            yield value, key
        elif key in PATCHES:
            yield from ((path, key) for path in _in_patch(value))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            # What a path argument holds are paths, whatever it calls them.
            is_known = name in ARGUMENTS or name in PATCHES or key not in ARGUMENTS
            yield from _named(inner, name if is_known else key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _named(inner, key)


def _in_patch(patch: str) -> Iterator[str]:
    for old, new, other, whole in _patched().findall(patch):
        if whole:  # of a file that comes or goes without a hunk
            yield whole.partition("\t")[0].strip()
            continue
        sides = (old, new)
        # git's prefixes count only where both sides have theirs: a directory may be called "b".
        if _has_prefix(old, "a/") and _has_prefix(new, "b/"):
            sides = (old.removeprefix("a/"), new.removeprefix("b/"))
        # The old side of a new file is no path; the new side of a deleted one counts, and asks.
        was, becomes = (other or side for side in sides)
        if was.strip() != _NOTHING:
            yield was.strip()
        yield becomes.strip()


def _has_prefix(path: str, prefix: str) -> bool:
    return path.startswith(prefix) or path.strip().startswith(_NOTHING)


def globs(pattern: str) -> tuple[str, ...]:
    """Return an absolute glob as written, normal, and with the links before its first wildcard."""
    normal = "/" + os.path.normpath(pattern).lstrip("/")
    names = pattern.split("/")
    fixed = next((at for at, name in enumerate(names) if not {*"*?"}.isdisjoint(name)), len(names))
    real = _real("/".join(names[:fixed]) or "/").rstrip("/")
    return tuple({pattern: None, normal: None, "/".join([real, *names[fixed:]]): None})


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # too long, or with a NUL: no file is called so
        return path


def names(path: str) -> list[str]:
    """Return the components of *path* as the most forgiving file system compares them."""
    return [folded(name) for name in path.split("/")]


def folded(name: str) -> str:
    """Return *name* without what some file system ignores: case, Unicode forms, its end."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", _invisible().sub("", name))
    name = name.casefold()
    return name.partition(":")[0].rstrip(". ") or name


def secret(paths: Iterable[str], secrets: tuple[str, ...], but: tuple[str, ...]) -> str:
    """Return the first name in *paths* that *secrets* have and *but* has not, or ""."""
    text = _joined(paths)
    for found in _any_of(secrets).finditer(text):
        if not _any_of(but).match(text, found.start()):
            return found[0].rstrip(". ")
    return ""


def _joined(paths: Iterable[str]) -> str:
    """Return all names in *paths*, one in a line: one search looks at them all."""
    text = "/".join(paths)
    if not text.isascii():
        text = unicodedata.normalize("NFC", _invisible().sub("", text))
    return text.casefold().replace("\n", " ").replace("/", "\n")


def protection_of_word(word: str, resolved: "ResolvedPath") -> str:
    """Return why a word of a command, *resolved*, names something protected, or "".

    Commands often name `.git`, to leave it out; only its programs and settings count here. Nor does
    it matter that they name installed programs: they run them.
    """
    from nanocoder import ProtectionKind

    components = names(word)
    if any(pair in _OWN_PLACES for pair in pairwise(components)) or _is_own(components):
        return OURS
    why = resolved.protection
    if why is None or why.kind in {ProtectionKind.PROGRAM, ProtectionKind.REPOSITORY}:
        return ""
    if why.kind is ProtectionKind.GIT and not any(map(_decides, resolved.names)):
        return ""
    return why.reason


def _decides(path: str) -> bool:
    """Tell whether git reads from *path* what to run."""
    components = names(path)
    if ".git" not in components:
        return True
    after = components[components.index(".git") + 1 :]
    return any(_fits_one_of(name, _DECIDING) for name in after if name.strip("*?"))


def _fits_one_of(name: str, wanted: Iterable[str]) -> bool:
    """Tell whether *name*, which a shell may expand, is one of the *wanted*."""
    return any(fnmatchcase(each, name) for each in wanted)


def _is_own(components: list[str]) -> bool:
    """Tell whether a path with these *components* leads to where we were told to keep our own."""
    if "nanocoder" not in components:
        return False
    path = f"{posixpath.normpath('/'.join(components))}/"
    told = filter(None, map(os.environ.get, ("XDG_CONFIG_HOME", "XDG_STATE_HOME")))
    places = ("/".join(names(os.path.join(each, "nanocoder"))) for each in told)
    return any(f"{posixpath.normpath(place)}/" in path for place in places)


@lru_cache(maxsize=32)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Make one expression for a line that is one of the names, with what file systems ignore."""
    bodies = map(_name_like, patterns)
    return re.compile(f"^(?:{'|'.join(bodies) or '(?!)'})[. ]*+(?::[^\n]*)?$", re.MULTILINE)


def _name_like(pattern: str) -> str:
    """Return an expression for names like *pattern*.

    What stands between two wildcards is taken where it comes first, and stays there: that is as
    good as any other place, and trying them all would not end with a dozen wildcards.
    """
    first, *rest = (re.escape(part) for part in folded(pattern).split("*"))
    if not rest:
        return first
    return first + "".join(f"(?>[^\n]*?{part})" for part in rest[:-1]) + f"[^\n]*?{rest[-1]}"


# Compiled at their first use: this module is imported at every start.


@cache
def _invisible() -> re.Pattern[str]:
    # Ignored inside names by macOS, so that ".g<U+200C>it" is ".git" there.
    return re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")


@cache
def _patched() -> re.Pattern[str]:
    return re.compile(
        r"^--- ([^\t\n]+).*\n\+\+\+ ([^\t\n]+)"
        r"|^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |rename (?:from|to) |\+\+\+ |--- )"
        r"([^\t\n]+)"
        r"|^diff --git a/([^\n]+) b/\4\r?$",
        re.MULTILINE,
    )
