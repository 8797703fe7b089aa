r"""Escape and unescape paths, and turn the system's errors about them into our own.

Inside, names that are not UTF-8 carry Python's lone surrogates, as everywhere in `os`. Outside no
such character appears, since JSON and terminals reject it: a byte 0xFF is escaped as `\xff`. Nor
does a line break, an escape or a character that changes the direction of text, with which a name
could pass for another name or for a line of output: they are escaped as `\x0a`, `\x1b`, `\u202e`.
`unescape_path` is the inverse of `escape_path`.
"""

import errno
import os
import re
from collections.abc import Sequence
from itertools import accumulate

from nanocoder_schema import ToolError, is_hidden

MAX_PATH_BYTES = 4_096

# `re` compiles them at their first use and caches them; most starts use none.
_REFUSED = "[\0\ud800-\udfff]"
# A run of bytes above 0x7f is one match: together they may be UTF-8.
_ESCAPED = (
    r"(?:\\x[89a-f][0-9a-f])+|\\x(?:0[1-9a-f]|1[0-9a-f]|5c|7f)"
    r"|\\u(?!d[89a-f])[0-9a-f]{4}|\\U00(?:0[0-9a-f]|10)[0-9a-f]{4}"
)
_DROPPED = frozenset(("", "."))

_CLASSES = {
    errno.ENOENT: ("file_not_found", "there is no file '{path}'"),
    errno.ENOTDIR: ("not_a_directory", "'{path}', or what should hold it, is not a directory"),
    errno.EISDIR: ("is_a_directory", "'{path}' is a directory, not a file"),
    errno.EEXIST: ("file_exists", "'{path}' exists already"),
    errno.ENOTEMPTY: ("file_exists", "'{path}' is a directory that is not empty"),
    errno.EACCES: ("permission_denied", "permission to use '{path}' is denied"),
    errno.EPERM: ("permission_denied", "permission to use '{path}' is denied"),
    errno.EROFS: ("permission_denied", "'{path}' is on a file system that is read-only"),
    errno.ENOSPC: ("disk_full", "no space is left for '{path}'; what was there is unchanged"),
    errno.EDQUOT: ("disk_full", "the quota is used up by '{path}'; what was there is unchanged"),
    errno.EFBIG: ("disk_full", "'{path}' would be too large; what was there is unchanged"),
    errno.ELOOP: ("symlink_loop", "'{path}' leads through too many links"),
    errno.ENAMETOOLONG: ("invalid_path", "a name in '{path}' is too long"),
    errno.ENXIO: ("not_a_regular_file", "'{path}' is a socket or a device, not a file"),
    errno.ENODEV: ("not_a_regular_file", "'{path}' is a device, not a file"),
}


class WorkspaceError(ToolError):
    """A path may not, or cannot, be used.

    error_class is one of path_outside_workspace, symlink_loop, file_not_found, not_a_regular_file,
    is_a_directory, not_a_directory, file_exists, too_large, stale_read, binary_file,
    permission_denied, read_denied, disk_full, invalid_path, protected_path, io_error.
    """

    error_class = "path_outside_workspace"


def problem(error: OSError, path: str, near: Sequence[str] = ()) -> WorkspaceError:
    """Translate *error*; *near* are existing paths that resemble a missing one."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    error_class, text = _CLASSES.get(error.errno or 0, ("io_error", f"'{{path}}': {reason}"))
    message = text.format(path=path)
    if error_class != "file_not_found":
        return WorkspaceError(message, error_class=error_class)
    message += f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return WorkspaceError(message, error_class=error_class, data={"nearest": list(near)})


def not_changed(path: str, why: str, error: OSError) -> WorkspaceError:
    """Return the error for a change that was not begun, because the backup failed."""
    is_full = problem(error, path).error_class == "disk_full"
    return WorkspaceError(
        f"{escape_path(path)!r} was not changed, because {why}: {error}",
        error_class="disk_full" if is_full else "io_error",
    )


def check_path(path: str) -> None:
    """Refuse a path that is not valid for any file.

    Raises: WorkspaceError (invalid_path).
    """
    if not path:
        raise _invalid("the path is empty; use '.' for the workspace itself")
    if (not path.isascii() or "\0" in path) and (match := re.search(_REFUSED, path)):
        raise _invalid(f"the path contains U+{ord(match[0]):04X}, which no file name can hold")
    # A character takes at most four bytes, so that most paths need not be encoded to be measured.
    if len(path) * 4 > MAX_PATH_BYTES and len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise _invalid(f"the path is longer than {MAX_PATH_BYTES} bytes")


def tidy_path(path: str) -> str:
    """Remove empty and "." components; ".." stays, because a link may precede it."""
    if path[:2] not in {".", "./"} and _DROPPED.isdisjoint(path.split("/")[1:]):
        return path
    return "/".join(part for part in path.split("/") if part not in _DROPPED) or "."


def climbs(raw: str) -> bool:
    """Return True if the ".." in *raw* lead above the root, with all links ignored."""
    steps = (-1 if part == ".." else 1 for part in raw.split("/"))
    return min(accumulate(steps)) < 0


def escape_path(raw: str) -> str:
    r"""Return *raw* with escapes for bytes that are not UTF-8 and for hidden characters.

    A backslash that could begin an escape becomes `\x5c`.
    """
    if "\\" not in raw and raw.isprintable():
        return raw
    raw = re.sub(_ESCAPED, lambda match: match[0].replace("\\", "\\x5c"), raw)
    return raw if raw.isprintable() else "".join(map(_escape_letter, raw))


def unescape_path(path: str) -> str:
    r"""Return the name that `escape_path` has escaped as *path*; its inverse.

    An escape that it never produces is left unchanged: `\x41`, and bytes that are valid UTF-8
    together, such as `\xc3\xa9`.
    """
    return re.sub(_ESCAPED, _unescape_run, path) if "\\" in path else path


def _escape_letter(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":  # Python's surrogate for a byte that is not UTF-8
        return f"\\x{os.fsencode(letter)[0]:02x}"
    if letter.isprintable() or not is_hidden(letter):
        return letter
    if letter.isascii():
        return f"\\x{ord(letter):02x}"
    # Any other character is more than one byte: `\x80` is a byte alone.
    return f"\\u{ord(letter):04x}" if letter <= "\uffff" else f"\\U{ord(letter):08x}"


def _unescape_run(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] == "x":
        name = os.fsdecode(bytes.fromhex(escape.replace("\\x", "")))
    else:
        name = chr(int(f"0x{escape[2:]}", 0))
    # Other escapes than those of `escape_path` stay unchanged.
    is_ours = name == "\\" or "".join(map(_escape_letter, name)) == escape
    return name if is_ours else escape


def _invalid(message: str) -> WorkspaceError:
    return WorkspaceError(message, error_class="invalid_path")
