"""The settings: isolated plugins and programs, and the limits of each."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from nanocoder_kit_sandbox.bubblewrap import problem

_ONLY_USER: Final = {"user_only": True}


def _at_least_zero(_: object, attribute: Any, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError(f"{attribute.name}: expected a number of at least 0")


@frozen
class Settings:
    """The table [plugins.tool-isolated]; only your own configuration may set it.

    *process*: installed plugins whose tools run in a process. *folders*: folders with a tools.toml,
    each of which makes tools of a program. *sandbox*: whether such a process requires bubblewrap.
    The rest are limits of each in a session: *timeout_s* seconds for a call, *output_kb* kilobytes
    for its answer, *memory_mb* of memory, *calls* in all, and *failures* before it is disabled for
    the session. 0: no limit.
    """

    process: tuple[str, ...] = field(default=(), metadata=_ONLY_USER)
    folders: tuple[str, ...] = field(default=(), metadata=_ONLY_USER)
    sandbox: bool = field(default=True, metadata=_ONLY_USER)
    timeout_s: float = field(default=120.0, validator=_at_least_zero, metadata=_ONLY_USER)
    output_kb: int = field(default=1_024, validator=_at_least_zero, metadata=_ONLY_USER)
    memory_mb: int = field(default=2_048, validator=_at_least_zero, metadata=_ONLY_USER)
    calls: int = field(default=1_000, validator=_at_least_zero, metadata=_ONLY_USER)
    failures: int = field(default=3, validator=_at_least_zero, metadata=_ONLY_USER)

    def checks(self, _trusted_folder: Path | None) -> Iterator[tuple[str, str, str]]:
        """Yield for `nanocoder doctor` why calls of isolated tools are refused."""
        if not self.sandbox or not (self.process or self.folders):
            return
        if why := problem():
            yield "plugin tool-isolated", "wrong", f"each call of its tools is refused: {why}"
