"""The step of judging for commands that may read what is kept back, without naming it."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from nanocoder import Decision, Mode, Verdict

from nanocoder_policy_rules import candidates, code_runners, descending, git_words
from nanocoder_policy_rules.reach import HERE
from nanocoder_policy_rules.shell import clip_line, compile_once

if TYPE_CHECKING:
    from nanocoder_policy_rules.case import Case
    from nanocoder_policy_rules.command_search import Text

_RULE: Final = "paths"
_DEFAULT: Final = "default"
_INTERPRETER = r"python[\d.]*|pypy\d?|perl|ruby|node|deno|bun|php|lua|osascript|tclsh"
_CODE_OPTIONS: Final = frozenset(("-c", "-e", "-E", "-p", "-r", "-pe", "-ne", "--eval", "-"))
_UNKNOWN_INPUT: Final = frozenset(("xargs", "parallel"))
_MAX_SHOWN: Final = 200
"""A text of so many characters has few words."""


def ask_when_unproven(case: "Case") -> Verdict | None:
    """Ask where a command may read what a rule or the list of secrets keeps back."""
    if not case.started or case.is_safe:
        return None
    doubt = case.places.problem or _going_through(case) or _computed(case)
    doubt = doubt or in_git(case, only_index=True)
    if not doubt and case.brought.is_cut:
        doubt = "it copies too many files to look for protected names among them"
    if not doubt:
        return None
    command = clip_line(case.started)
    reason = f"`{command}` needs your approval: {doubt}"
    return Verdict(Decision.ASK, reason, _RULE, _DEFAULT)


def _going_through(case: "Case") -> str:
    """Say what is kept back below a folder that the command goes through."""
    for descent in descending.descents(case.text):
        for folder in _folders(case, descent):
            if case.is_masked(folder):
                continue
            if reason := case.reach.hidden_below(folder, hidden=descent.hidden):
                if descent.lists:
                    opened = f"what {descent.program} lists in {folder!r} may be opened"
                    return f"{opened}, and {reason}"
                return f"{descent.program} goes through {folder!r}, and {reason}"
    return ""


def ask_about_history(case: "Case") -> Verdict | None:
    """Ask where nothing else would ask, and git may show a file of an older commit."""
    if not case.started or case.is_safe or "git" not in case.text.words:
        return None
    if case.mode != Mode.AUTO and not case.session.sandbox:
        return None
    if not (doubt := in_git(case)):
        return None
    reason = f"`{clip_line(case.started)}` needs your approval: {doubt}"
    return Verdict(Decision.ASK, reason, _RULE, _DEFAULT)


def in_git(case: "Case", *, only_index: bool = False) -> str:
    """Say what git shows of a file that is kept back, though no word names it."""
    for segment in case.text.segments if "git" in case.text.words else ():
        words = segment.words
        at = next((at for at, word in enumerate(words) if word.rpartition("/")[2] == "git"), -1)
        if at < 0 or not git_words.shows_content(words[at:]):
            continue
        showing = git_words.showing_words(words[at:])
        for directory in (HERE, *case.places.directories):
            hidden = case.reach.hidden_in_git(directory, showing, only_index=only_index)
            if hidden:
                return hidden
    return ""


def _folders(case: "Case", descent: descending.Descent) -> Iterator[str]:
    words = dict.fromkeys(candidates.expand_home(word) for word in descent.folders if word != "-")
    places = {
        case.reach.operand(os.path.join(directory, word) if directory != HERE else word)
        for directory in (HERE, *case.places.directories)
        for word in words
    }
    yield from sorted({place.place for place in places if os.path.isdir(place.place)})


def _computed(case: "Case") -> str:
    """Say which part of the command is known only when it runs, if that could be kept back."""
    has_rules = case.keeps_paths
    for pattern in candidates.computed_paths(case.started):
        if has_rules or candidates.could_be(pattern, case.settings.all_secrets):
            return "" if case.is_masked() else f"{pattern!r} is known only when it runs"
    if case.text.once(_shows_all):
        return ""
    doubt = case.text.once(_unknown_names) or (has_rules and case.text.once(_running_code)) or ""
    return "" if doubt and case.is_masked() else doubt


def _shows_all(text: "Text") -> bool:
    """Tell whether no word or sign is there by which a command takes code or names from elsewhere.

    Most commands have none, and splitting one up takes ten times as long.
    """
    words, letters = text.words, text.text.casefold()
    if len(letters) > _MAX_SHOWN or not text.is_plain or not code_runners.NAMES.isdisjoint(words):
        return False
    if "file" in letters or "pathspec" in letters:  # an option may name a list of files
        return False
    if any(map(compile_once(_INTERPRETER).fullmatch, words)):
        return False
    starters = code_runners.STARTERS.keys() & words.keys()
    options = map(compile_once, [code_runners.STARTERS[name] for name in starters])
    return not any(any(map(option.fullmatch, words)) for option in options)


def _unknown_names(text: "Text") -> str:
    return code_runners.unknown_names(text.text)


def _running_code(text: "Text") -> str:
    """Say which program gets code or names that no rule can look into."""
    if not _UNKNOWN_INPUT.isdisjoint(text.words):
        return "the files that it names are known only when it runs"
    is_interpreter = compile_once(_INTERPRETER).fullmatch
    for segment in text.segments if any(map(is_interpreter, text.words)) else ():
        names = [word.rpartition("/")[2] for word in segment.words]
        interpreter = next(filter(is_interpreter, names), "")
        if interpreter and (not _CODE_OPTIONS.isdisjoint(names) or "<<" in text.text):
            return f"a rule keeps files back, and it cannot look into the code for {interpreter}"
    if name := code_runners.code_runner(text.text):
        return f"a rule keeps files back, and what {name} does with them is known only when it runs"
    return ""
