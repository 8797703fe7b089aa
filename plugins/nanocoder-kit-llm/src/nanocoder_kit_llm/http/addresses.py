"""Server URLs: validation, whether a server is local, and the proxy to reach it."""

import os
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import urljoin, urlsplit

from nanocoder import ConfigError, without_password

from nanocoder_kit_llm.http.failures import one_line

_LOCAL_ENDINGS: Final = (".local", ".lan", ".internal", ".home.arpa")


def valid_url(base_url: str) -> tuple[str, str]:
    """Return a base URL without a slash at its end, and its host; raises ConfigError."""
    base_url = with_path(base_url.strip(), "")
    host = host_of(base_url)
    if not (base_url.startswith(("http://", "https://")) and host) or "@" in base_url:
        raise ConfigError(
            f"the base URL {without_password(one_line(base_url))!r} is not of the form"
            " http(s)://host[:port][/path]; a user or password in it is refused"
        )
    return base_url, host


def with_path(url: str, path: str, *, without: Sequence[str] = ()) -> str:
    """Return *url* with *path* behind its own, whose ends *without* are dropped one by one.

    A query stays behind.
    """
    base, mark, query = url.partition("?")
    for end in ("", *without):
        base = base.rstrip("/").removesuffix(end)
    return f"{base.rstrip('/')}{path}{mark}{query}"


def full_url(base_url: str, path: str) -> str:
    """Return the URL of *path*, which may have a query, below *base_url*, which may, too."""
    plain, mark, query = path.partition("?")
    url = with_path(base_url, plain)
    return f"{url}{'&' if '?' in url else '?'}{query}" if mark else url


def host_of(address: str, base_url: str = "") -> str:
    """Return host and port of *address*, which may be relative to *base_url*; "" for neither."""
    try:
        parts = urlsplit(urljoin(base_url, address))
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    name = parts.hostname or ""
    return (f"[{name}]" if ":" in name else name) + port


def is_this_machine(base_url: str) -> bool:
    """Return True if the server is on this machine."""
    name = urlsplit(base_url).hostname or ""
    return name in {"localhost", "::1"} or name.startswith("127.")


def is_nearby(base_url: str) -> bool:
    """Return True if the server is on this machine or in its network, and no vendor's."""
    name = urlsplit(base_url).hostname or ""
    if is_this_machine(base_url) or name.endswith(_LOCAL_ENDINGS):
        return True
    if not any(letter.isdigit() or letter == ":" for letter in name):
        return "." not in name

    try:
        return ip_address(name).is_private
    except ValueError:
        return "." not in name


def environment_proxy(base_url: str) -> tuple[str, str]:
    """Return the proxy for *base_url* and the variable that names it, "" for none."""
    from urllib.request import getproxies, proxy_bypass  # only servers elsewhere need it

    parts = urlsplit(base_url)
    if proxy_bypass(parts.netloc):
        return "", ""
    proxies = getproxies()
    kind = next((kind for kind in (parts.scheme, "all") if proxies.get(kind)), "")
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    return proxies.get(kind, ""), next((name for name in names if os.environ.get(name)), "")
