"""Commands that extend what a session may do are for a person, not for a call of a session."""

import os
from typing import Final

from nanocoder.errors import UsageError

CALL: Final = "NANOCODER_CALL"
"""Set in the environment of every process that a tool starts."""
IN_CALL: Final = "a tool call may not change nanocoder's configuration; run this yourself"


def refuse_in_a_call() -> None:
    """Raise UsageError in a process of a tool: a session must not loosen its own rules."""
    if os.environ.get(CALL):
        raise UsageError(IN_CALL)
