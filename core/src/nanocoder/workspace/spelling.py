r"""How paths are written: what a model may send, and how names that are not UTF-8 are shown.

Inside, names that are not UTF-8 carry Python's lone surrogates, as everywhere in `os`. Outside no
such character appears, since JSON and terminals choke on it: a byte 0xFF is written `\xff`, and
read back so.
"""

import os
import re

from nanocoder.errors import WorkspaceError

MAX_PATH_BYTES = 4_096

_REFUSED = re.compile("[\0\ud800-\udfff]")
_UNDECODABLE = re.compile("[\udc80-\udcff]")
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")
_UNTIDY = re.compile(r"//|(?:^|/)\.{1,2}(?:/|$)|/$")


def check(path: str) -> None:
    """Refuse what no file can be called.

    Raises: WorkspaceError (invalid_path).
    """
    if not path:
        raise _invalid("the path is empty; use '.' for the workspace itself")
    if not path.isascii() or "\0" in path:
        found = _REFUSED.search(path)
        if found:
            raise _invalid(f"the path contains U+{ord(found[0]):04X}, which no file name can hold")
    # A character takes at most four bytes, so that most paths need not be encoded to be measured.
    if len(path) * 4 > MAX_PATH_BYTES and len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise _invalid(f"the path is longer than {MAX_PATH_BYTES} bytes")


def tidy(path: str) -> str:
    """Drop empty and "." components; ".." stays, because a link may stand before it."""
    if not _UNTIDY.search(path):
        return path
    return "/".join(part for part in path.split("/") if part not in {"", "."}) or "."


def shown(raw: str) -> str:
    r"""Return *raw* with each byte that is not UTF-8 as `\xff`."""
    if raw.isascii():
        return raw
    return _UNDECODABLE.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", raw)


def has_escapes(path: str) -> bool:
    r"""Tell whether *path* could be one that `shown` has written."""
    return "\\x" in path and _ESCAPED.search(path) is not None


def unescaped(path: str) -> str:
    r"""Return *path* with each `\xff` as the byte that it stands for; the reverse of `shown`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16) + 0xDC00), path)


def _invalid(message: str) -> WorkspaceError:
    return WorkspaceError(message, error_class="invalid_path")
