"""Rules that have no effect: for tools and plugins that are not installed, expired, not counted."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from fnmatch import filter as matching
from typing import Final

from nanocoder import did_you_mean

from nanocoder_policy_rules.rules import Rule

_SURELY: Final = 0.8
"""How like a name has to be to one that exists for it to be a slip, from 0 to 1."""

Remark = tuple[object, str, bool]


def uncounted(allowing: Iterable[Rule], counted: Iterable[Rule]) -> Iterator[Remark]:
    """Yield the rules that allow and are not among those that are *counted*."""
    texts = {rule.text for rule in counted}
    for rule in allowing:
        if rule.text not in texts:
            line = f"the rule {rule.text!r} does not count: this file may not allow anything"
            yield rule.origin(), line, False


def remarks(
    rules: Iterable[Rule], tools: Collection[str], plugins: Collection[str]
) -> Iterator[Remark]:
    """Yield where each rule without an effect is, why it has none, and whether it is a slip."""
    now = datetime.now().astimezone()
    for rule in {rule.text: rule for rule in rules}.values():
        if rule.is_expired(now):
            line = f"the rule {rule.text!r} expired on {rule.expires} and no longer counts"
            yield rule.origin(), line, False
            continue
        for kind, name, names in (("tool", rule.tool, tools), ("plugin", rule.plugin, plugins)):
            if name and not matching(names, name):
                hint = did_you_mean(name, names, cutoff=_SURELY)
                line = f"{rule.text!r} is about the {kind} {name!r}, which is not installed{hint}"
                yield rule.origin(), line, bool(hint)
