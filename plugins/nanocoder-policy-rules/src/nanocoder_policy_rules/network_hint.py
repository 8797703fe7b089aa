"""A hint when a command fails because its sandbox lets it reach no host, or not this one."""

import re
from typing import Final

from attrs import evolve
from nanocoder import SessionInfo, ToolResult

_FAILURES: Final = re.compile(
    r"Could not resolve host|[Nn]ame resolution|Name or service not known|getaddrinfo|EAI_AGAIN"
    r"|Network is unreachable|ENETUNREACH|No address associated|failed to lookup address"
    r"|dns error|lookup .* on .*: (?:dial|read) udp|is not among the hosts that the settings allow"
)
_HOST: Final = re.compile(
    r"(?:host: |host='|host=\"|https?://(?:[^/@\s]*@)?|getaddrinfo \w+ |lookup |')"
    r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)",
    re.IGNORECASE,
)


def with_network_hint(result: ToolResult, session: SessionInfo) -> ToolResult | None:
    """Return the result of a failed command with a hint that names its host; None without one."""
    if not _FAILURES.search(result.output):
        return None
    host = _HOST.search(result.output)
    table = f"[plugins.sandbox-{session.sandbox.split()[0]}]"
    change = f'`hosts = ["{host[1] if host else "HOST"}"]`, or `network = true` for every host'
    hint = (
        f"[commands run in a sandbox ({session.sandbox}), which keeps them from the network;"
        f" only the user can allow it: {change}, in {table} of their configuration]"
    )
    output = f"{result.output.rstrip()}\n{hint}"
    return evolve(result, output=output, data=dict(result.data))  # a new text drops the old data
