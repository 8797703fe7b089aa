"""URLs, read strictly: one host is checked, shown and connected to."""

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import quote

from attrs import frozen
from nanocoder import ToolError

MAX_URL_CHARS: Final = 8_000
SCHEMES: Final = {"http": 80, "https": 443}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_CONTROLS = re.compile("[\0- \x7f-\x9f\ud800-\udfff]")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_PORT = re.compile(r"[0-9]{1,5}")
_MAX_PORT: Final = 65_535
_SAFE: Final = "!#$%&'()*+,/:;=?@[]~"  # unescaped characters in a path and a query


@frozen
class Target:
    """A parsed URL. *host* is a lower-case name, an IPv4 or an IPv6 address, without brackets.

    *path* is the target in the request line; *has_user* means that the URL had credentials, which
    are dropped; *is_plain* that it named no port.
    """

    scheme: str
    host: str
    port: int
    path: str
    has_user: bool = False
    is_plain: bool = False

    @property
    def authority(self) -> str:
        """Host and port as in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == SCHEMES[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address, as it is asked."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(url: str) -> Target:
    """Read an http or https URL; raises ToolError (invalid_url, scheme_not_allowed)."""
    if len(url) > MAX_URL_CHARS:
        raise invalid_url(url, f"is longer than {MAX_URL_CHARS:,} characters")
    if _CONTROLS.search(url):
        raise invalid_url(url, "has a space or a control character; escape it as in %20")
    match = _URL.fullmatch(url)
    if not match:
        raise invalid_url(url, "is not an address of the form https://host/path")
    scheme = match[1].lower()
    if scheme not in SCHEMES:
        raise ToolError(
            f"{url[:200]!r}: only http and https are allowed, not {scheme!r}",
            error_class="scheme_not_allowed",
        )
    if not match[2].startswith("//"):
        raise invalid_url(url, "has no // after its scheme")
    authority, path = _split(match[2][2:])
    user, _, host_and_port = authority.rpartition("@")
    host, port = _host_and_port(url, host_and_port)
    return Target(
        scheme,
        host,
        port or SCHEMES[scheme],
        quote(path, safe=_SAFE) or "/",
        has_user=bool(user) or "@" in authority,
        is_plain=not port,
    )


def invalid_url(url: str, problem: str) -> ToolError:
    """Return the error for an invalid URL."""
    return ToolError(f"{url[:200]!r} {problem}", error_class="invalid_url")


def _split(rest: str) -> tuple[str, str]:
    """Split the part after // into the authority and the path with query, without fragment."""
    end = min((offset for mark in "/?#" if (offset := rest.find(mark)) >= 0), default=len(rest))
    authority, path = rest[:end], rest[end:].partition("#")[0]
    return authority, path if path.startswith("/") or not path else f"/{path}"


def _host_and_port(url: str, text: str) -> tuple[str, int]:
    if text.startswith("["):
        inside, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise invalid_url(url, "has an address in brackets that does not end")
        return _version_6(url, inside), _port(url, rest[1:]) if rest else 0
    host, colon, port = text.partition(":")
    return _name(url, host), _port(url, port) if colon and port else 0


def _version_6(url: str, text: str) -> str:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        raise invalid_url(
            url, f"has {text[:60]!r} in brackets, which is not an IPv6 address"
        ) from None
    if address.scope_id:
        raise invalid_url(url, "names a network interface")
    return str(address)


def is_port(text: str) -> bool:
    """Return True if *text* is the number of a port."""
    return bool(_PORT.fullmatch(text)) and 0 < int(text) <= _MAX_PORT


def _port(url: str, text: str) -> int:
    if not is_port(text):
        raise invalid_url(url, f"has no port between 1 and {_MAX_PORT:,} after its host")
    return int(text)


def _name(url: str, text: str) -> str:
    host = text
    if not text.isascii():
        try:
            host = text.encode("idna").decode("ascii")
        except UnicodeError:
            raise invalid_url(url, "has an invalid host name") from None
    host = host.lower().removesuffix(".")
    if not _HOST.fullmatch(host):
        raise invalid_url(
            url, "has an invalid host name; only letters, digits, - and . are allowed"
        )
    return host
