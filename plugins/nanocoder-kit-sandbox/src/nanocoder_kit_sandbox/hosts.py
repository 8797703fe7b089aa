"""The hosts that programs inside reach, and on which ports."""

import re
from collections.abc import Sequence
from typing import Final

from attrs import frozen
from nanocoder import ToolError
from nanocoder_kit_net import HostRule, Target, parse_host_rules

WEB_PORTS: Final = (80, 443)
_HIGHEST_PORT: Final = 65_535


@frozen
class Reachable:
    """The hosts of *rule*, on each of *ports*."""

    rule: HostRule
    ports: tuple[int, ...] = WEB_PORTS

    def covers(self, target: Target) -> bool:
        """Tell whether *target* may be asked for."""
        return target.port in self.ports and self.rule.covers(target.host)


def parse_hosts(texts: Sequence[str]) -> tuple[Reachable, ...]:
    """Read "example.org" and "*.example.org", on ports 80 and 443, and "example.org:8443".

    Raises: ValueError for others.
    """
    return tuple(map(_reachable, texts))


def check_port(hosts: Sequence[Reachable], target: Target) -> None:
    """Refuse a port that no entry of *hosts* has; raises ToolError (not_allowlisted)."""
    if not any(each.covers(target) for each in hosts):
        raise ToolError(
            f"port {target.port} of {target.host!r} is not among those that the settings allow;"
            f' a person can add "{target.host}:{target.port}" to `hosts`',
            error_class="not_allowlisted",
        )


def _reachable(text: str) -> Reachable:
    name, colon, port = text.partition(":")
    if not colon:
        return Reachable(parse_host_rules([name])[0])
    if not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) <= _HIGHEST_PORT:
        raise ValueError(
            f"{text!r} is not a host; write example.org, *.example.org or example.org:8443"
        )
    return Reachable(parse_host_rules([name])[0], (int(port),))
