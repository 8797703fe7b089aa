"""The step about files that decide what runs: only a person agrees to a change of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanocoder import Decision, Mode, Verdict

from nanocoder_policy_rules import paths, rule_matching
from nanocoder_policy_rules.call_context import CallContext
from nanocoder_policy_rules.rule_matching import Match
from nanocoder_policy_rules.sandbox_access import is_held
from nanocoder_policy_rules.shell_text import clip_line
from nanocoder_policy_rules.shell_words import Word

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

_PROTECTED: Final = "protected names"
_ENTERS: Final = frozenset(("cd", "pushd"))


def ask_about_protected(context: CallContext) -> Verdict | None:
    """Ask a person about files that decide what runs, even if a rule allows the call."""
    if context.tool.is_read_only:
        return None
    for path in context.paths:
        if path.protection is not None:
            return _ask_person(context, _with_end(path), path.protection.reason)
    return _of_command(context) if context.started and not is_held(context) else None


def _of_command(context: CallContext) -> Verdict | None:
    from nanocoder_policy_rules.reading import only_reads  # in a sandbox nothing asks for it

    if only_reads(context):
        return None
    word, why = _protected_word(context)
    if word:
        return _ask_person(context, repr(word), why)
    for command in context.script.commands:
        if any(map(_loosens, command.started)):
            return _ask_person(context, repr(clip_line(command.text)), paths.OURS)
    return None


def _loosens(words: Sequence[Word]) -> bool:
    """Tell whether a command may be one of ours that changes what may run."""
    is_ours = any(word.text.rpartition("/")[2] == "nanocoder" for word in words[:1])
    return is_ours and any(
        rule_matching.match_words(each, words) is not Match.NO for each in paths.LOOSENING
    )


def _with_end(path: "ResolvedPath") -> str:
    """Return a path as it is spelled, and the end of the links in it."""
    spelled = repr(path.names[0])
    return spelled if path.path == path.names[0] else f"{spelled}, which leads to {path.path!r},"


def _ask_person(context: CallContext, what: str, why: str) -> Verdict:
    reason = f"{what} is protected: {why}"
    if context.mode == Mode.AUTO:
        reason = f"{reason}; only a person can approve it, and mode auto does not ask"
        return Verdict(Decision.DENY, reason, _PROTECTED, "default")
    return Verdict(Decision.ASK, reason, _PROTECTED, "default")


def _protected_word(context: "CallContext") -> tuple[str, str]:
    """Return the first word that names something protected, and why; "" where none does."""
    commands = context.script.commands
    # Later words name files of a directory that is entered without naming it.
    entered = [f"{each.words[-1].text}/config" for each in commands if each.program in _ENTERS]
    for word in (*context.operands, *entered):
        for part in dict.fromkeys((word, word.rpartition("=")[2])):
            why = paths.protection_of_word(part, context.operand(part)) if part else ""
            if why:
                return part, why
    return "", ""
