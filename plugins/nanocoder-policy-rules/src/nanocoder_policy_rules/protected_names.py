"""The step of judging for protected names: files that decide what runs later."""

import os
from typing import TYPE_CHECKING, Final

from nanocoder import Decision, Mode, Verdict

from nanocoder_policy_rules import (
    expansion,
    git_settings,
    paths,
    shell,
    written_files,
)
from nanocoder_policy_rules.named_places import MAX_PLACES

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.case import Case

_RULE: Final = "protected names"
_DEFAULT: Final = "default"


def needs_person(case: "Case") -> Verdict | None:
    """Ask a person about files that decide what runs, even if a rule allows the call."""
    if case.tool.is_read_only:
        return None
    for path in case.paths:
        if path.protection is not None:
            return _ask_person(case, _with_end(path), path.protection.reason)
    if not case.started or case.is_safe:
        return None
    return (
        _protected_word(case)
        or _protected_target(case)
        or _brought_along(case)
        or _loosening_command(case)
        or _setting_of_git(case)
    )


def _with_end(path: "ResolvedPath") -> str:
    """Return a path as it is spelled, and the end of the links in it."""
    spelled = repr(path.names[0])
    return spelled if path.path == path.names[0] else f"{spelled}, which leads to {path.path!r},"


def _protected_word(case: "Case") -> Verdict | None:
    words = case.words
    options = [word for word in words if word[:1] == "-"]
    values = [value for word in options for value in written_files.attached_values(word)]
    values += written_files.written_by_sed(case.text)
    for number, (word, path) in enumerate(case.places.of([*words, *values])):
        if number > MAX_PLACES:
            text = shell.clip_line(case.started)
            return _ask_person(case, repr(text), "it names too many files to check each")
        if not case.reach.is_output(path) and (why := paths.protection_of_word(word, path)):
            # A command that is known to read no more than it may has passed before.
            unproven = f"and `{shell.clip_line(case.started)}` is not known to leave it unchanged"
            return _ask_person(case, repr(word), f"{why}, {unproven}")
    return None


def _protected_target(case: "Case") -> Verdict | None:
    """Look for a command that changes git's directory, or a program that is installed."""
    entered = case.places.directories
    for number, target in enumerate(written_files.targets(case.text)):
        if number > MAX_PLACES:
            text = shell.clip_line(case.started)
            return _ask_person(case, repr(text), "it changes too many files to check each")
        names = [target.word, *expansion.expand([target.word], case.reach.folder, entered)]
        for name in (os.path.join(folder, name) for folder in ("", *entered) for name in names):
            why = paths.protection_of_target(case.reach.operand(name), starts=target.may_start)
            if why:
                return _ask_person(case, repr(target.word), why)
    return _unpacking_command(case)


def _brought_along(case: "Case") -> Verdict | None:
    brought = case.brought
    return _ask_person(case, repr(brought.path), brought.reason) if brought.path else None


def _unpacking_command(case: "Case") -> Verdict | None:
    """Look for a command that unpacks files in a protected directory that it has entered."""
    if written_files.UNPACKING.isdisjoint(case.text.words):
        return None
    if not any(
        name in written_files.UNPACKING
        for each in case.text.segments
        for name, _ in written_files.writers(each)
    ):
        return None
    for folder in case.places.directories:
        if why := paths.protection_of_target(case.reach.operand(folder), starts=True):
            return _ask_person(case, repr(folder), why)
    return None


def _loosening_command(case: "Case") -> Verdict | None:
    """Look for a command that lets nanocoder itself do more."""
    if "nanocoder" not in case.text.words:
        return None
    loosening = next(filter(case.text.match, paths.LOOSENING), None)
    return _ask_person(case, repr(" ".join(loosening)), paths.OURS) if loosening else None


def _setting_of_git(case: "Case") -> Verdict | None:
    """Look for a command that sets which programs git starts later."""
    words = case.text.words
    if "git" not in words or not git_settings.SUBCOMMANDS & words.keys():
        return None
    setting = next(filter(None, map(git_settings.setting_of_program, case.text.segments)), "")
    setting = setting or git_settings.unseen_setting(case.text)
    return _ask_person(case, repr(setting), git_settings.STARTS) if setting else None


def _ask_person(case: "Case", what: str, why: str) -> Verdict:
    reason = f"{what} is protected: {why}"
    if case.mode == Mode.AUTO:
        reason = f"{reason}; only a person can approve it, and mode auto does not ask"
        return Verdict(Decision.DENY, reason, _RULE, _DEFAULT)
    return Verdict(Decision.ASK, reason, _RULE, _DEFAULT)
