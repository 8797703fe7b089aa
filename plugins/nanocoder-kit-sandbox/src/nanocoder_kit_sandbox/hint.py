"""A hint when a command fails because the sandbox lets it reach no host, or not this one."""

import re
from typing import Any, Final

from attrs import evolve
from nanocoder import Effect, SessionInfo, Tool, ToolResult

_FAILURES: Final = re.compile(
    r"Could not resolve host|[Nn]ame resolution|Name or service not known|getaddrinfo|EAI_AGAIN"
    r"|Network is unreachable|ENETUNREACH|No address associated|failed to lookup address"
    r"|dns error|lookup .* on .*: (?:dial|read) udp|is not among the hosts that the settings allow"
)
_HOSTS: Final = re.compile(
    r"(?:host: |host='|host=\"|https?://(?:[^/@\s]*@)?|getaddrinfo \w+ |lookup |')"
    r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)",
    re.IGNORECASE,
)
_ASK: Final = "ask the user to allow it"


def with_network_hint(
    result: ToolResult, tool: Tool[..., Any], session: SessionInfo, settings: Any, table: str
) -> ToolResult | None:
    """Return the result of a failed command with a hint, None where none fits.

    *table* is the name of the settings, such as "sandbox-x". Where those know a list of hosts it
    names the host, if the output does.
    """
    if not result.is_error or Effect.EXECUTE not in tool.effects or not session.sandbox:
        return None
    if (settings is not None and settings.network) or not _FAILURES.search(result.output):
        return None
    host = _HOSTS.search(result.output)
    if session.sandbox.startswith("landlock"):
        change = f"`network = true` in [plugins.{table}] of the user's configuration opens it"
    else:
        listed = [*(settings.hosts if settings is not None else ()), host[1] if host else "HOST"]
        hosts = ", ".join(f'"{name}"' for name in listed)
        change = f"`hosts = [{hosts}]` in [plugins.{table}] of the user's configuration allows it"
    hint = f"[the sandbox keeps commands from the network; {_ASK}: {change}]"
    output = f"{result.output.rstrip(chr(10))}\n{hint}"
    # A new text alone would drop the data.
    return evolve(result, output=output, data=dict(result.data))
