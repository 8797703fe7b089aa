"""The verdict on one command: a denial, a question about its length, or a remark."""

from collections.abc import Iterator
from typing import Any, Final

from nanocoder import Decision, Effect, Tool, ToolCall, Verdict

from nanocoder_policy_shell.kinds import ADVICE, MEANINGS
from nanocoder_policy_shell.parts import Part, hidden_parts, outermost, parts_of
from nanocoder_policy_shell.settings import Settings
from nanocoder_policy_shell.syntax import MAX_CHARS, TooLongError, parse

SHELL: Final = "bash"
SHOWN_PARTS: Final = 3
SHOWN_CHARS: Final = 40
_TABLE: Final = "plugins.policy-shell"


def commands_of(call: ToolCall, tool: "Tool[..., Any]") -> Iterator[str]:
    """Yield the arguments of a call that a shell would run."""
    effects = tool.effects
    is_run = call.name == SHELL or not effects or Effect.EXECUTE in effects
    for name in dict.fromkeys((*(["command"] if is_run else []), *tool.commands)):
        value = call.arguments.get(name)
        if value and isinstance(value, str):
            yield value


def judge(text: str, settings: Settings) -> Verdict | None:
    """Return the verdict on a command; None for one without any special part."""
    try:
        parts = parts_of(text, parse(text))
    except TooLongError:
        return _judge_unparsed(text, settings)
    if denied := next((part for part in parts if part.kind in settings.deny), None):
        return _deny(denied)
    remark = explain(parts) if settings.explain else ""
    return Verdict(Decision.ABSTAIN, remark, source=f"{_TABLE}.explain") if remark else None


def explain(parts: list[Part]) -> str:
    """Say which parts have no certain meaning, and why."""
    outer = outermost(parts)
    if not outer:
        return ""
    first_parts = "; ".join(map(describe, outer[:SHOWN_PARTS]))
    more = len(outer) - SHOWN_PARTS
    return f"not recognised: {first_parts}" + (f"; and {more} more" if more > 0 else "")


def describe(part: Part) -> str:
    """Return the text, the place and the meaning of a part."""
    line = " ".join(part.text.split())
    text = line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"
    quoted = f"`{text}` " if text else ""
    first, last = part.start + 1, max(part.start + 1, part.end)
    span = f"character {first}" if first == last else f"characters {first}-{last}"
    return f"{quoted}({span}), {MEANINGS[part.kind]}"


def _judge_unparsed(text: str, settings: Settings) -> Verdict:
    """Ask about a command that cannot be parsed in time; deny what is seen without a parser."""
    hidden = hidden_parts(text) if "hidden-characters" in settings.deny else iter(())
    if denied := next(hidden, None):
        return _deny(denied)
    length = f"it has {len(text):,} characters, and" if len(text) > MAX_CHARS else "it"
    reason = f"the command needs your approval: {length} is too tangled to be read in time"
    if len(text) > MAX_CHARS:
        reason = f"the command needs your approval: {length} at most {MAX_CHARS:,} are read"
    return Verdict(Decision.ASK, reason, rule="length", source="default")


def _deny(part: Part) -> Verdict:
    advice = f"; {ADVICE[part.kind]}" if part.kind in ADVICE else ""
    reason = f"{describe(part)} ({_TABLE}.deny){advice}"
    return Verdict(Decision.DENY, reason, rule=part.kind, source=f"{_TABLE}.deny")
