"""The guard of network addresses: a host is resolved once, and all addresses are checked."""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from attrs import frozen
from nanocoder import ToolError

from nanocoder_kit_llm.net.rules import Address, HostRule, Rule
from nanocoder_kit_llm.net.target import Target

# Written out, since `ipaddress` calls some of these global, and others only in newer versions.
# Documentation networks are left in: nothing answers there.
_NOT_PUBLIC_4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers, and a cloud's metadata
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, and a cloud's metadata
        "192.88.99.0/24",  # relays from IPv6
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_PUBLIC_6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, tunnels among them
        "2002::/16",  # relays to IPv4
        "3fff::/20",  # documentation
    )
)
_TRANSLATED: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
_LAST_32_BITS: Final = 0xFFFF_FFFF


@frozen
class Guard:
    """Resolves hosts, and allows only those of which all addresses are permitted.

    *allow* are permitted addresses that are not public. *hosts* is the allowlist of names, or None
    for all. *trusted* is one (host, port) that a user configured.
    """

    allow: tuple[Rule, ...] = ()
    hosts: tuple[HostRule, ...] | None = None
    trusted: tuple[str, int] | None = None

    def check(self, target: Target) -> None:
        """Reject an invalid target before its name is resolved.

        Raises: ToolError (not_allowlisted, private_address, invalid_url).
        """
        if self.trusted == (target.host, target.port):
            return
        if self.hosts is not None:
            self._check_host(self.hosts, target)
        literal = _literal(target.host)
        if literal is not None:
            self._check_address(target.host, literal, target.port)
        if target.has_user:
            raise ToolError(
                f"the address of {target.host!r} has a user name or a password, which are not sent;"
                " leave them out",
                error_class="invalid_url",
            )

    def _check_host(self, rules: Sequence[HostRule], target: Target) -> None:
        if any(rule.covers(target.host, target.port) for rule in rules):
            return
        message = f"{target.host!r} is not among the hosts that the settings allow"
        if any(rule.covers(target.host, port) for rule in rules for port in rule.ports):
            address = f"{target.host}:{target.port}"
            message = f"port {target.port} of {message}; a person can add {address!r} to `hosts`"
        raise ToolError(message, error_class="not_allowlisted")

    def resolve(self, host: str, port: int) -> list[str]:
        """Resolve *host*, check every address, and return them all.

        Raises: ToolError (host_not_found, private_address).
        """
        addresses = _look_up(host, port)
        if not addresses:
            raise ToolError(f"there is no host {host!r}", error_class="host_not_found")
        if self.trusted != (host, port):
            for address in addresses:
                self._check_address(host, address, port)
        return [str(address) for address in addresses]

    def _check_address(self, host: str, address: Address, port: int) -> None:
        if is_public(address) or any(rule.covers(address, port) for rule in self.allow):
            return
        is_named = "" if str(address) == host else f" of {host!r}"
        raise ToolError(
            f"the address {address}{is_named}, port {port}, is not public; requests to this machine"
            " and to private networks are refused",
            error_class="private_address",
        )


def is_public(address: Address) -> bool:
    """Return True if *address* belongs to the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if any(address in network for network in _TRANSLATED):
        return is_public(IPv4Address(int(address) & _LAST_32_BITS))
    return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)


def _literal(host: str) -> Address | None:
    """Return *host* as an address, in every notation that the system accepts, such as 0x7f.1."""
    try:
        return _address(host) if ":" in host else IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _look_up(host: str, port: int) -> Sequence[Address]:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(_address(str(entry[4][0])) for entry in entries))


def _address(text: str) -> Address:
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address
