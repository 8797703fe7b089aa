"""Differences between two judgements of the same calls, and their display."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder import ToolCall
from nanocoder_kit_files.table import print_table

COLUMNS = 60
"""Width of a call in a line of the table."""
LOOSER: Final = "looser"
STRICTER: Final = "stricter"
OTHER: Final = "other"
_ORDER: Final = ("allow", "ask", "deny", "error")
"""The decisions, the loosest first; an error is a call that does not run at all."""


@frozen
class Difference:
    """One call that is judged otherwise: *times* is how many equal calls there were."""

    call: ToolCall
    mode: str
    before: str
    after: str
    why: str
    times: int = 1

    @property
    def kind(self) -> str:
        """LOOSER, STRICTER, or OTHER for the same decision under other conditions."""
        before, after = _ORDER.index(self.before), _ORDER.index(self.after)
        return OTHER if before == after else LOOSER if after < before else STRICTER

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        names = ("kind", "mode", "before", "after", "why", "times")
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
    line = " ".join(str(text).strip().replace("\n", " ⏎ ").split())
    return line if len(line) <= columns else f"{line[: columns - 1]}…"


def print_differences(differences: Iterable[Difference], *, several_modes: bool = False) -> None:
    """Print a table of changes; with *several_modes* the modes of a call share a line."""
    if several_modes:
        differences = _with_modes(differences)
    head = ("tool", "call", "mode", "before", "now", "times", "because")
    rows = [
        (it.call.name, brief(it.call), it.mode, it.before, it.after, it.times, it.why)
        for it in differences
    ]
    print_table(head, rows)


def _with_modes(differences: Iterable[Difference]) -> list[Difference]:
    together = dict[tuple[str, ...], list[Difference]]()
    for it in differences:
        why = it.why.replace(f"mode {it.mode}", "mode")  # a reason may name its mode
        key = (it.call.name, brief(it.call, 10_000), it.before, it.after, why)
        together.setdefault(key, []).append(it)
    return [
        evolve(
            same[0],
            mode=" ".join(dict.fromkeys(it.mode for it in same)),
            times=sum(it.times for it in same),
        )
        for same in together.values()
    ]


def changed_settings(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield each setting that differs, with both values as text."""
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, tuple | list) and isinstance(after, tuple | list):
            removed = [item for item in before if item not in after]
            added = [item for item in after if item not in before]
            if removed or added:
                yield key, _listed("-", removed), _listed("+", added)
            else:
                yield key, "the same values", "in another order, or repeated"
        else:
            yield key, str(before), str(after)


def _listed(sign: str, items: Iterable[Any]) -> str:
    return ", ".join(f"{sign}{item}" for item in items) or "(nothing)"
