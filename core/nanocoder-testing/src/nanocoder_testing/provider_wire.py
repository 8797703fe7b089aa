"""The interface that the conformance suite needs of a provider's author: replies in a protocol."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

from attrs import frozen
from nanocoder.provider import Provider

Lack = Literal["thinking", "refusal", "cut-arguments", "bad-arguments", "cached-usage", "call-ids"]
"""Something that a protocol cannot express."""


@frozen
class WireCall:
    """A call as a model makes it; *arguments* is the JSON text, which may be damaged."""

    name: str
    arguments: str = "{}"
    call_id: str = ""


@frozen
class WireReply:
    """A reply to encode in a protocol: thinking, then text, then calls, then its end.

    *text* has the pieces. With the end "length" the token limit cut the last call's arguments,
    which are not marked as complete. *input_tokens* are all tokens sent, *cached_tokens* those of
    them that came from a cache.
    """

    text: Sequence[str] = ()
    thinking: str = ""
    calls: Sequence[WireCall] = ()
    end: Literal["done", "length", "refusal"] = "done"
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


@frozen
class VendorReply:
    """A reply as the vendor's own library reads it: text, and each call's name and JSON."""

    text: str = ""
    calls: Sequence[tuple[str, str]] = ()
    input_tokens: int = 0
    output_tokens: int = 0


class ProviderWire(Protocol):
    """One provider's protocol, for the suite; the fixture `provider_wire` returns one."""

    lacks: frozenset[Lack]
    """Things that the protocol cannot express; their tests are skipped."""

    def open(self, address: str, retries: int) -> Provider:
        """Open the provider on a server at *address*, with at most *retries* per request."""
        ...

    def pieces(self, reply: WireReply) -> Sequence[bytes]:
        """Return the bytes of each event that a server sends for *reply*."""
        ...

    def side_answer(self, path: str) -> Any:
        """Return the JSON for a side request at *path*; None for a request to the model."""
        ...

    def vendor_reply(self, address: str) -> VendorReply | None:
        """Return the reply that the vendor's library reads at *address*; None without a library."""
        ...


class Wire:
    """A base class for authors: nothing is lacking, and there are no side requests."""

    def __init__(self, lacks: Iterable[Lack] = ()) -> None:
        self.lacks = frozenset(lacks)

    def side_answer(self, path: str) -> Any:
        """Return None: *path* is a request to the model."""
        del path

    def vendor_reply(self, address: str) -> VendorReply | None:
        """Return None: no library of the vendor judges this protocol."""
        del address
        return None
