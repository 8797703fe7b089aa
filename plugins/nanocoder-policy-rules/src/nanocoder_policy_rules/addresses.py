"""Patterns for web addresses: scheme, labels of the host, port and path are compared one by one.

`https://docs.python.org/*`, `*://example.org/*`, `*.example.org`, `example.org:8080`. A pattern
without a scheme is for http and https, one without a path for the whole site. `*` at the beginning
of a host stands for one or more labels, inside it for one.
"""

import posixpath
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

_PATTERN = r"(?:([A-Za-z*][A-Za-z0-9+.*-]*)://)?(\[[^\]/?#]*\]|[^/?#:]*)(?::(\d+|\*))?([/?#].*)?"
_ODD = r"[\s\\\x00-\x20\x7f-\uffff]|%(?![0-9A-Fa-f]{2})"
_SCHEME = r"^([A-Za-z][A-Za-z0-9+.-]*):/*(?!\d+(?:/|$))"
_DOTS: Final = ".\u3002\uff0e\uff61"  # each of them ends a label
_PORTS: Final = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_WEB: Final = frozenset(("http", "https"))


class Address(NamedTuple):
    """A web address, normal: lower case, IDNA, no trailing dot, no default port."""

    scheme: str
    host: str
    port: str
    path: str


class Pattern(NamedTuple):
    """A pattern for addresses; *port* "" stands for the default one, *path* "" for every path."""

    scheme: str
    labels: tuple[str, ...]
    port: str
    path: str

    def denies(self, text: str) -> bool:
        """Return True if this may be about the address *text*; doubt counts as yes."""
        readings = list(_readings(text))
        both = ((each, each.path, _decode_path(each.path)) for each in readings)
        return not readings or any(self._is_about(*each) for each in both)

    def allows(self, text: str) -> bool:
        """Return True if *text* is certainly one of the addresses; doubt counts as no."""
        address = None if re.compile(_ODD).search(text) else address_of(text)
        if address is None or "@" in text.partition("://")[2].partition("/")[0]:
            return False
        is_of_scheme = address.scheme in (_WEB if self.scheme == "*" else {self.scheme})
        is_plain = ".." not in unquote(address.path).partition("?")[0].split("/")
        is_at_port = self.port in ("*", address.port)
        return is_of_scheme and is_plain and is_at_port and self._is_about(address, address.path)

    def _is_about(self, address: Address, *paths: str) -> bool:
        if self.labels == ("*",) and self.scheme not in ("*", address.scheme):
            return False
        if not self._is_host(address.host) or self.port not in ("", "*", address.port):
            return False
        return not self.path or any(fnmatchcase(path, self.path) for path in paths)

    def _is_host(self, host: str) -> bool:
        if self.labels == ("*",):
            return True
        labels = host.split(".")
        pattern = self.labels
        if pattern[0] == "*":
            pattern = pattern[1:]
            labels = labels[-len(pattern) :] if len(labels) > len(pattern) else []
        return len(labels) == len(pattern) and all(map(fnmatchcase, labels, pattern))


@lru_cache(maxsize=1_024)
def pattern(text: str) -> Pattern | None:
    """Read a pattern for addresses; None when *text* is a pattern for other texts."""
    match = re.compile(_PATTERN).fullmatch(text.strip())
    if match is None or not match[2]:
        return None
    if not (match[1] or match[3] or "." in match[2] or match[2].startswith("[")):
        return None
    scheme = (match[1] or "*").lower()
    port = match[3] or ""
    labels = tuple(_host(match[2]).split("."))
    path = "" if match[4] in (None, "/*", "/**") else match[4]
    return Pattern(scheme, labels, "" if port == _PORTS.get(scheme) else port, path)


def address_of(text: str) -> Address | None:
    """Return the parts of an address, None when it has no host."""
    try:
        parts = urlsplit(text.strip())
        port = str(parts.port or "")
    except ValueError:
        return None
    if not parts.hostname:
        return None
    port = "" if port == _PORTS.get(parts.scheme) else port
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme.lower(), _host(parts.hostname), port, path)


def _readings(text: str) -> Iterator[Address]:
    """Yield readings of an address: some programs take a backslash as `/` or need no scheme."""
    bare = re.compile(r"[\t\r\n]").sub("", text)
    slashes = bare.replace("\\", "/").strip()
    with_slashes = re.compile(_SCHEME).sub(r"\1://", slashes)
    for spelling in dict.fromkeys((bare, slashes, with_slashes, f"https://{bare.lstrip('/')}")):
        if address := address_of(spelling):
            yield address


def _decode_path(path: str) -> str:
    decoded, question, query = unquote(path).partition("?")
    return posixpath.normpath(decoded.replace("//", "/")) + question + query


def _host(host: str) -> str:
    """Return *host* as programs look it up: IDNA, lower case, one spelling for a number."""
    host = unquote(host).lower().strip("[]").rstrip(_DOTS)
    if not host.isascii():
        with suppress(UnicodeError):  # no host is called so
            host = host.encode("idna").decode("ascii")
    return _number(host)


def _number(host: str) -> str:
    """Return the usual spelling of an address of four bytes or of sixteen, else *host*."""
    with suppress(OSError, ValueError):  # it is a name
        if ":" in host:
            return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, host))
        return socket.inet_ntoa(socket.inet_aton(host))
    return host
