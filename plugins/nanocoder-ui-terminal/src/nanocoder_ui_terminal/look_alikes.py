"""Names of hosts that look like another: their ASCII form, for the person who approves a call."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

MAX_HOSTS: Final = 10
LATIN: Final = "LATIN"
ENDINGS: Final = frozenset(
    [
        *("ai", "app", "biz", "ca", "cc", "ch", "cn", "co", "com", "de", "dev", "edu", "eu", "fr"),
        *("gov", "info", "int", "io", "me", "mil", "net", "online", "org", "ru", "sh", "shop"),
        *("site", "store", "tech", "top", "tv", "uk", "us", "xyz"),
    ]
)
"""A word in another script's letters counts as a host if it ends in a dot and one of these."""


def look_alikes(text: str) -> list[str]:
    """Return a line for each host in *text* whose letters are not what they seem to be."""
    notes: dict[str, str] = {}
    for host, is_address in _hosts(text):
        if host not in notes and (note := _note(host, is_address=is_address)):
            notes[host] = note
            if len(notes) == MAX_HOSTS:
                break
    return list(notes.values())


def _hosts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each possible host, and whether it is in a place where only a host can be."""
    if text.isascii() and "xn--" not in text.casefold():
        return
    for match in _candidate().finditer(text):
        host = match[2].strip(".\u3002\uff0e\uff61-")
        if not host.isascii() or "xn--" in host.casefold():
            yield host, bool(match[1])


def _note(host: str, *, is_address: bool) -> str:
    labels = re.split("[.\u3002\uff0e\uff61]", unicodedata.normalize("NFKC", host).casefold())
    if host.isascii():
        decoded = ".".join(map(_decoded, labels))
        return (
            f"[{host} is shown as {decoded} by some programs]" if decoded != host.casefold() else ""
        )
    scripts = sorted({script for label in labels[:-1] or labels for script in _scripts(label)})
    is_mixed = any(len(_scripts(label)) > 1 for label in labels)
    is_posing = labels[-1] in ENDINGS and scripts != [LATIN]
    if not (is_address or is_mixed or is_posing):
        return ""
    letters = " and ".join(script.capitalize() for script in scripts)
    return f"[the host {host} is {'.'.join(map(_encoded, labels))}: {letters} letters]"


def _encoded(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _scripts(label: str) -> set[str]:
    """Return the scripts of the letters, by the first words of their names."""
    names = (unicodedata.name(letter, "unknown") for letter in label if letter.isalpha())
    return {name.split(" ", 1)[0] for name in names}


@cache
def _candidate() -> re.Pattern[str]:
    # After "//" or "@" comes a host; elsewhere only words with dots between them are taken for one.
    dot = "[.\u3002\uff0e\uff61]"
    return re.compile(rf"(//(?:[^/@\s]*@)?|@)?((?:[\w-]+{dot})+[\w-]+|(?<=//)[\w-]+)")
