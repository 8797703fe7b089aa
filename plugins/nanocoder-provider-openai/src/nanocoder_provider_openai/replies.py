"""What the decoders of both protocols share."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nanocoder import Usage


class ReplyContext(NamedTuple):
    """What a decoder needs to know: the server, the ids of the session, secrets, and the price."""

    host: str
    used_ids: set[str]
    secrets: Sequence[str] = ()
    priced: Callable[[Usage], Usage] = lambda usage: usage
