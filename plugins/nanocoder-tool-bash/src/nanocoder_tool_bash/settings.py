"""The settings of bash, in the table [plugins.tool-bash]."""

from typing import Final

from attrs import field, frozen

MAX_TIMEOUT_S: Final = 1_800


@frozen
class Settings:
    """The table [plugins.tool-bash].

    *environment*: names of variables that commands get besides the usual ones, secrets included.
    *max_timeout_s*: the longest limit a call may ask for, in seconds. *output_chars*: how much of
    the output the model reads, in characters. *interrupt_grace_s* and *terminate_grace_s*: the time
    that a command gets to end after SIGINT and after SIGTERM, in seconds.
    """

    environment: tuple[str, ...] = field(default=(), metadata={"user_only": True})
    max_timeout_s: float = field(default=MAX_TIMEOUT_S, metadata={"tighten": "min"})
    output_chars: int = 8_000
    interrupt_grace_s: float = 2.0
    terminate_grace_s: float = 3.0
