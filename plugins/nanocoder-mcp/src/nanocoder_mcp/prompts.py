"""Records of a server's prompts and resources, as far as a user can type their names."""

import re
from collections.abc import Mapping
from typing import Any, Final

from nanocoder import one_line

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
URI: Final = re.compile(r"[!-~]{1,500}")
"""The URI of a resource: printable ASCII without blanks."""
MEANING_CHARS: Final = 80
MAX_ARGUMENTS: Final = 20


def prompt_of(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the record of a prompt, or None for a name that cannot be typed."""
    name = str(raw.get("name", ""))
    arguments = [
        {"name": str(each.get("name", "")), "required": each.get("required") is True}
        for each in raw.get("arguments") or ()
    ][:MAX_ARGUMENTS]
    if not all(NAME.fullmatch(each) for each in (name, *(str(it["name"]) for it in arguments))):
        return None
    return {"name": name, "meaning": _meaning(raw), "arguments": arguments}


def resource_of(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the record of a resource, or None for a URI that cannot be typed."""
    uri = str(raw.get("uri", ""))
    return {"uri": uri, "meaning": _meaning(raw)} if URI.fullmatch(uri) else None


def _meaning(raw: Mapping[str, Any]) -> str:
    text = raw.get("description") or raw.get("title") or raw.get("name") or ""
    return one_line(str(text), MEANING_CHARS)
