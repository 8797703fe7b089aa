"""Where two judgements of the same calls differ, and how that is shown."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen
from nanocoder import ToolCall
from nanocoder_kit_table import print_table

COLUMNS = 60
"""How much of a call a line of the table shows."""


@frozen
class Difference:
    """One call that is judged otherwise: *times* is how many equal calls there were."""

    call: ToolCall
    mode: str
    before: str
    after: str
    why: str
    times: int = 1

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        names = ("mode", "before", "after", "why", "times")
        call = {"tool": self.call.name, "arguments": dict(self.call.arguments)}
        return {**call, **{name: getattr(self, name) for name in names}}


def counted(differences: Iterable[Difference]) -> list[Difference]:
    """Return equal differences once, the most frequent first."""
    together = dict[tuple[str, ...], Difference]()
    for it in differences:
        key = (it.call.name, brief(it.call, 10_000), it.mode, it.before, it.after)
        times = together[key].times + 1 if key in together else 1
        together[key] = Difference(it.call, it.mode, it.before, it.after, it.why, times)
    return sorted(together.values(), key=lambda it: -it.times)


def brief(call: ToolCall, columns: int = COLUMNS) -> str:
    """Return a call's arguments in a few words."""
    values = list(call.arguments.values())
    text = values[0] if len(values) == 1 else json.dumps(dict(call.arguments), ensure_ascii=False)
    line = " ".join(str(text).split())
    return line if len(line) <= columns else f"{line[: columns - 1]}…"


def print_differences(differences: Iterable[Difference]) -> None:
    """Print a table of what changes."""
    head = ("tool", "call", "mode", "before", "now", "times", "because")
    rows = [
        (it.call.name, brief(it.call), it.mode, it.before, it.after, it.times, it.why)
        for it in differences
    ]
    print_table(head, rows)


def changed_settings(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield each setting that differs, with both values as text."""
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, tuple | list) and isinstance(after, tuple | list):
            gone = [item for item in before if item not in after]
            added = [item for item in after if item not in before]
            yield key, _listed("-", gone), _listed("+", added)
        else:
            yield key, str(before), str(after)


def _listed(sign: str, items: Iterable[Any]) -> str:
    return ", ".join(f"{sign}{item}" for item in items) or "(nothing)"
