"""What a person asks of an undo, and what it came to."""

from collections.abc import Sequence

from attrs import frozen
from nanocoder_schema import Value


@frozen(eq=False, repr=False)
class UndoRequest(Value):
    """What to undo: the last run, one *call*, *everything*, or with *redo* the last undo.

    With *file* only what was done to that file; with *force* also what was changed since.
    """

    call: str = ""
    everything: bool = False
    redo: bool = False
    file: str = ""
    force: bool = False


@frozen(eq=False, repr=False)
class Undone(Value):
    """The session and the *files* that an undo restored, None where the person did not agree."""

    session_id: str
    files: Sequence[str] | None
