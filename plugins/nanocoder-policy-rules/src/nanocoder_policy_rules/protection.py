"""The step about files that decide what runs: only a person agrees to a change of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanocoder import Decision, Mode, Verdict

from nanocoder_policy_rules import paths, rule_matching
from nanocoder_policy_rules.call_context import CallContext
from nanocoder_policy_rules.rule_matching import Match
from nanocoder_policy_rules.shell_text import clip_line
from nanocoder_policy_rules.shell_words import Word
from nanocoder_policy_rules.unasked import only_reads

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

_PROTECTED: Final = "protected names"
_GIT: Final = "git may start the program that it names"
_OURS: Final = Word("nanocoder", ("nanocoder",))
_ENTERS: Final = frozenset(("cd", "pushd"))


def ask_about_protected(context: CallContext) -> Verdict | None:
    """Ask a person about files that decide what runs, even if a rule allows the call."""
    if context.tool.is_read_only:
        return None
    for path in context.paths:
        if path.protection is not None:
            return _ask_person(context, _with_end(path), path.protection.reason)
    return _of_command(context) if context.started and not context.is_held else None


def _of_command(context: CallContext) -> Verdict | None:
    if only_reads(context):
        return None
    word, why = _protected_word(context)
    if word:
        return _ask_person(context, repr(word), why)
    for command in context.script.commands:
        for words in command.started:
            if why := paths.OURS if _loosens(words) else _GIT if _sets_program(words) else "":
                return _ask_person(context, repr(clip_line(command.text)), why)
    return None


def _loosens(words: Sequence[Word]) -> bool:
    """Tell whether a command may be one of ours that changes what may run."""
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        is_module = text == "-mnanocoder" or texts[max(0, at - 1) : at + 1] == ["-m", "nanocoder"]
        if not is_module and text.rpartition("/")[2] != "nanocoder":
            continue
        # Behind another program, as in `uv run nanocoder`, it may also be just a word.
        least = Match.MAYBE if is_module or not at else Match.YES
        called = (_OURS, *words[at + 1 :])
        if any(rule_matching.match_words(each, called) >= least for each in paths.LOOSENING):
            return True
    return False


def _sets_program(words: Sequence[Word]) -> bool:
    """Tell whether `git config` sets what may start a program; what it is set to may be unknown."""
    if rule_matching.match_words(("git", "config"), words) is not Match.YES:
        return False
    from nanocoder_kit_git import setting_that_starts  # few commands set one

    at = [word.text for word in words].index("config")
    operands = [word for word in words[at + 1 :] if not word.text.startswith("-")]
    # Before the key there may be a verb, or the value of an option: a key has a dot.
    while operands and operands[0].is_literal and "." not in operands[0].text:
        operands = operands[1:]
    key, *values = operands or (_OURS,)
    if not key.is_literal:
        return bool(values)
    section, _, name = key.text.rpartition(".")
    group, dot, member = section.partition(".")
    header = f'[{group} "{member}"]' if dot else f"[{group}]"
    lines = (f"{header}\n{name} = {value.text}" for value in values)
    return any(setting_that_starts(line.encode(errors="replace")) for line in lines)


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
        joined = word[2:] if word.startswith("-") and "/" in word else ""
        for part in dict.fromkeys((word, word.rpartition("=")[2], joined)):
            why = paths.protection_of_word(part, context.operand(part)) if part else ""
            if why:
                return part, why
    return "", ""
