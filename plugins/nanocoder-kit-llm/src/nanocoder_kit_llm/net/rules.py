"""Rules of the settings: private addresses that are allowed, and the only hosts."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

from attrs import frozen

from nanocoder_kit_llm.net.target import is_port

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LOOPBACK: Final = "loopback"
_LOOPBACK: Final = ("127.0.0.0/8", "::1/128")
_RULE = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+(?:/\d+)?)\]|(?P<four>[0-9.]+(?:/\d+)?))(?::(?P<port>\d+))?"
)
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


@frozen
class Rule:
    """Addresses that may be connected to although they are not public; *port* 0 is any port."""

    network: Network
    port: int = 0

    def covers(self, address: Address, port: int) -> bool:
        """Return True if the rule is about *address* and *port*."""
        if self.port and self.port != port:
            return False
        return address.version == self.network.version and address in self.network


@frozen
class HostRule:
    """A host, or with *below* every host whose name ends with its own; on *ports*, () is any."""

    name: str
    below: bool = False
    ports: tuple[int, ...] = ()

    def covers(self, host: str, port: int) -> bool:
        """Return True if the rule is about *host*, compared label by label, and *port*."""
        if self.ports and port not in self.ports:
            return False
        return host.endswith(f".{self.name}") if self.below else host == self.name


def parse_rules(texts: Sequence[str]) -> tuple[Rule, ...]:
    """Read "loopback", "127.0.0.1:8000", "10.0.0.0/8", "[::1]:443"; raises ValueError."""
    return tuple(rule for text in texts for rule in _rules(text))


def parse_host_rules(texts: Sequence[str], ports: tuple[int, ...] = ()) -> tuple[HostRule, ...]:
    """Parse "example.org" and "*.example.org"; raises ValueError for others.

    With *ports* a rule covers only these, or the one that it names: "example.org:8443".
    """
    return tuple(_host_rule(text, ports) for text in texts)


def _rules(text: str) -> list[Rule]:
    if text == LOOPBACK:
        return [Rule(ip_network(network)) for network in _LOOPBACK]
    match = _RULE.fullmatch(text)
    if not match:
        raise ValueError(
            f"{text!r} is not a rule; write loopback, 127.0.0.1:8000, 10.0.0.0/8 or [::1]:443"
        )
    if not match["six"] and match["four"].count(".") != 3:  # noqa: PLR2004 - an address has four parts
        raise ValueError(f"{text!r} is ambiguous; write all four numbers, as in 127.0.0.1")
    return [Rule(ip_network(match["six"] or match["four"]), int(match["port"] or 0))]


def _host_rule(text: str, ports: tuple[int, ...]) -> HostRule:
    name, colon, port = text.partition(":") if ports else (text, "", "")
    name = name.lower().removesuffix(".")
    if not _HOST.fullmatch(name) or (colon and not is_port(port)):
        form = "*.example.org or example.org:8443" if ports else "*.example.org, without a port"
        raise ValueError(f"{text!r} is not a host; write example.org, {form}")
    return HostRule(
        name.removeprefix("*."), name.startswith("*."), (int(port),) if colon else ports
    )
