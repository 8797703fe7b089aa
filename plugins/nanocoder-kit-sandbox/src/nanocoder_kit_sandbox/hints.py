"""One line for a command that failed because of its sandbox: what a person can set."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import evolve
from nanocoder import ToolResult

from nanocoder_kit_sandbox.settings import Settings

END_CHARS: Final = 20_000
"""How much of the output is read: programs say at its end why they failed."""
_NO_NETWORK: Final = re.compile(
    r"could ?n[o']t resolve|name resolution|name or service not known|network is unreachable"
    r"|EAI_AGAIN|ENETUNREACH|ENOTFOUND|dns error|no address associated with hostname"
    r"|no such host|dial tcp|nodename nor servname|is not among the hosts that the settings allow",
    re.IGNORECASE,
)
_REFUSED: Final = re.compile(r"read-only file system|permission denied|EROFS|EACCES", re.IGNORECASE)
_CACHES: Final = re.compile(
    r"\.cache(?:/[\w.-]+)?|\.npm|\.cargo|\.rustup|\.gradle|\.m2|\.nuget|\.pub-cache|\.bun|\.deno"
    r"|go/pkg|\.local/share/(?:pnpm|uv|virtualenv)"
)


def with_hint(result: ToolResult, name: str, settings: Settings) -> ToolResult | None:
    """Return *result* with a line if its command failed for lack of the network or a cache.

    *name* is that of the plugin's table. None: there is nothing to say.
    """
    if not isinstance(result.data, Mapping) or not result.data.get("exit_code"):
        return None
    output = result.output[-END_CHARS:]
    hint = _network_hint(output, name, settings) or _cache_hint(output, name)
    return evolve(result, output=f"{result.output}\n[{hint}]", data=result.data) if hint else None


def _network_hint(output: str, name: str, settings: Settings) -> str:
    if settings.network or not _NO_NETWORK.search(output):
        return ""
    if settings.hosts:
        return f"commands reach only the `hosts` of [plugins.{name}]; a person can name more"
    way = "`network = true`" if "landlock" in name else "`hosts`, or `network = true`,"
    return (
        f"commands run in a sandbox without a network; a person can set {way} in [plugins.{name}]"
    )


def _cache_hint(output: str, name: str) -> str:
    home = re.escape(str(Path.home()))
    for line in filter(_REFUSED.search, output.splitlines()):
        if cache := re.search(f"{home}/({_CACHES.pattern})", line):
            path = f"~/{cache[1]}"
            return (
                f"the sandbox keeps {path} from being changed; a person can set"
                f' `writable = ["{path}"]` in [plugins.{name}]'
            )
    return ""
