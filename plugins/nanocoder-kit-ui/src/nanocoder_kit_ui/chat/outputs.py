"""The outputs of finished calls, to be shown in full: `/output`."""

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder import Event, UsageError

MAX_KEPT: Final = 20
MAX_BYTES: Final = 1_000_000
"""A longer output stays in its file, which the text names."""


@frozen
class Output:
    """The output of a call, and the files that hold all of it where that is more."""

    title: str
    text: str
    files: tuple[str, ...] = ()

    def read_all(self) -> str:
        """Return all of it, or what the model read where the rest is too long or gone."""
        try:
            if sum(Path(file).stat().st_size for file in self.files) <= MAX_BYTES:
                parts = [Path(file).read_text("utf-8", "replace") for file in self.files]
                return "\n".join(part.rstrip("\n") for part in parts) or self.text
        except OSError:
            pass
        return self.text


class Outputs:
    """The outputs of the latest calls, the last one first."""

    def __init__(self) -> None:
        self._outputs: deque[Output] = deque(maxlen=MAX_KEPT)

    def note(self, event: Event) -> None:
        """Keep the output of a call that has returned."""
        if event.kind == "call.returned" and event.data["output"]:
            self._outputs.appendleft(_output_of(event.data))

    def find(self, argument: str) -> Output:
        """Return the output of the last call, or of the one that has this number.

        The last call is number 1. Raises: UsageError.
        """
        if not self._outputs:
            raise UsageError("no call has had an output yet")
        place = int(argument or 1) if argument.isdecimal() or not argument else 0
        if not 1 <= place <= len(self._outputs):
            most = len(self._outputs)
            raise UsageError(f"/output takes a number from 1, the last call, to {most}")
        return self._outputs[place - 1]


def _output_of(data: Mapping[str, Any]) -> Output:
    files = data["metadata"].get("artifacts") or filter(None, [data["artifact"]])
    return Output(data["title"] or data["tool"], data["output"], tuple(map(str, files)))
