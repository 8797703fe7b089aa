"""Commands that go through whole folders: they read what no word of theirs names."""

import os
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from nanocoder_policy_rules import git_words, reading_commands
from nanocoder_policy_rules.command_search import Text
from nanocoder_policy_rules.reach import HERE
from nanocoder_policy_rules.removal import is_recursive
from nanocoder_policy_rules.segment import Segment, program
from nanocoder_policy_rules.shell import compile_once

_SEARCHES: Final = frozenset(("grep", "egrep", "fgrep", "rg"))
# With one of these letters a program goes through folders; with "" it always does.
_LETTERS: Final = {
    "cp": "rRa",
    "scp": "r",
    "diff": "r",
    "zip": "r",
    "tar": "cru",
    "bsdtar": "cru",
    "rsync": "",
    "mv": "",
    "ln": "",
    "docker": "",
    "podman": "",
    "7z": "",
    "7za": "",
    "git": "",
}
_PAIR: Final = 2
_WITH_TARGET: Final = frozenset(("cp", "scp", "rsync", "mv", "ln"))
_USES_FOUND: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir", "-files0-from"))
_BUILTINS: Final = frozenset(("read", "mapfile", "readarray"))
_READS_NAMES: Final = _BUILTINS | {"xargs", "parallel", "cpio"}
# No pipe, no redirection, and nothing that could stand for one: what a command prints goes nowhere.
_UNCONNECTED: Final = r"[A-Za-z0-9_\s;&./,:=+~@%-]*"
PROGRAMS: Final = _SEARCHES | {"find", "ls"} | _LETTERS.keys()


class Descent(NamedTuple):
    """A *program* that goes through *folders*, words of its command, and dot files if *hidden*.

    With *lists* it puts out names alone, and another command opens what they name.
    """

    program: str
    folders: Sequence[str]
    hidden: bool = True
    lists: bool = False


def descents(text: Text) -> Iterator[Descent]:
    """Yield what the commands of *text* go through, as far as their words show it."""
    if PROGRAMS.isdisjoint(text.words):
        return
    uses_names = _uses_names(text)
    # Another command of the text may show the files that git keeps.
    shows = "git" in text.words and any(
        git_words.shows_content(each.words) for each in text.segments
    )
    uses_listed = uses_names or "$(" in text.text or "`" in text.text
    for segment in text.segments:
        for at, name in _programs(segment):
            # Ripgrep searches what a pipe gives it, and a folder only if it is named.
            piped = ["-"] if segment.join == "|" and name == "rg" else []
            words = [*segment.words[at:], *piped]
            descent = _of_listing(name, words) if uses_listed else None
            descent = descent or _descent(name, words, uses_names=uses_names, shows=shows)
            if descent is not None:
                yield descent


def _uses_names(text: Text) -> bool:
    """Tell whether a command of *text* may open the files whose names another one puts out."""
    readers = _READS_NAMES & text.words.keys()
    # `read` has its input from the text itself: without a pipe, `read x; ls /` reads no listing.
    is_apart = readers <= _BUILTINS and "coproc" not in text.words
    return bool(readers) and not (is_apart and compile_once(_UNCONNECTED).fullmatch(text.text))


def _programs(segment: Segment) -> Iterator[tuple[int, str]]:
    words = segment.words[:1] if segment.sure else segment.words
    first = dict.fromkeys(program(word) for word in words)
    for name in first:
        if name in PROGRAMS:
            yield next(at for at, word in enumerate(words) if program(word) == name), name


def _descent(name: str, words: Sequence[str], *, uses_names: bool, shows: bool) -> Descent | None:
    if name in _SEARCHES:
        searched = reading_commands.searched_folders([name, *words[1:]])
        return Descent(name, *searched) if searched else None
    if name == "find":
        return _of_find(words, uses_names=uses_names)
    if name == "git":
        return _of_git(words, shows=shows)
    if name == "ls":
        return None
    copies = _of_copies(name, words[1:])
    if name != "ln" or copies is None:
        return copies
    return copies._replace(folders=[*copies.folders, *linked_places(words)])


def _of_find(words: Sequence[str], *, uses_names: bool) -> Descent | None:
    if not uses_names and _USES_FOUND.isdisjoint(words):
        return None
    end = next((at for at, word in enumerate(words[1:], 1) if word[:1] in "-!("), len(words))
    return Descent("find", words[1:end] or (".",))


def _of_listing(name: str, words: Sequence[str]) -> Descent | None:
    """Return the folders whose names a command puts out for another one that opens the files."""
    operands = [word for word in words[1:] if word[:1] != "-"]
    if name == "git":
        is_listing = "ls-files" in operands and _has_option(words, "o", "--others")
        return Descent("git ls-files", [HERE], lists=True) if is_listing else None
    if name != "ls":
        return None
    hidden = _has_option(words, "aAf", "--all", "--almost-all")
    return Descent(name, operands or [HERE], hidden, lists=True)


def _of_git(words: Sequence[str], *, shows: bool) -> Descent | None:
    if "grep" in words[1:3]:
        return Descent("git grep", (".",))
    operands = [word for word in words[1:] if word[:1] != "-"]
    if descent := _kept_by_git(words, operands, shows=shows):
        return descent
    if "diff" not in operands:
        return None
    compared = operands[operands.index("diff") + 1 :]
    is_plain = any(len(word) > len("--no-") and "--no-index".startswith(word) for word in words)
    # Outside of a repository git compares two folders even without the option.
    is_pair = len(compared) == _PAIR and not compared[0].startswith(("HEAD", "@"))
    return Descent("git diff", compared) if is_plain or is_pair else None


def _kept_by_git(words: Sequence[str], operands: Sequence[str], *, shows: bool) -> Descent | None:
    """Return what git copies into the repository though it ignores it: later commands show it."""
    if "add" in operands and (shows or _has_option(words, "f", "--force")):
        folders = operands[operands.index("add") + 1 :]
        return Descent("git add", [each.removeprefix(":/") or HERE for each in folders] or [HERE])
    after = operands[operands.index("stash") + 1 :] if "stash" in operands else ["list"]
    if (not after or after[0] in {"push", "save"}) and _has_option(words, "a", "--all"):
        return Descent("git stash", [HERE])
    return None


def linked_places(words: Sequence[str]) -> list[str]:
    """Return what the links that a command `ln` makes lead to: from the folder of the link."""
    operands = [word for word in words[1:] if word[:1] != "-"]
    folders = [HERE, *operands, *(os.path.dirname(word) or HERE for word in operands)]
    folders += [word.partition("=")[2] or word[2:] for word in words[1:] if word[:1] == "-"]
    targets = [word for word in operands if word[:1] not in "/~"]
    places = [os.path.join(folder, target) for folder in folders if folder for target in targets]
    # A link that is moved leads elsewhere.
    return list(dict.fromkeys([*places, *(each.replace("../", "") for each in targets)]))


def _has_option(words: Sequence[str], letters: str, *names: str) -> bool:
    return any(
        word.startswith("--") and any(name.startswith(word) for name in names)
        if word[:2] == "--" != word
        else word[:1] == "-" and not set(letters).isdisjoint(word)
        for word in words
    )


def _of_copies(name: str, arguments: Sequence[str]) -> Descent | None:
    operands = [word for word in arguments if word[:1] != "-"]
    letters = _LETTERS[name]
    if name in {"tar", "bsdtar"} and operands and not set(operands[0]).isdisjoint(letters):
        return Descent(name, operands)
    if letters and not is_recursive(arguments, letters) and "--archive" not in arguments:
        return None
    if name in {"docker", "podman"}:
        mounted = [word for word in arguments if ":" in word or "=" in word]
        parts = (part for word in mounted for part in word.replace("=", ":").split(":"))
        return Descent(name, [part.split(",")[0] for part in parts if part])
    has_target = any(word.startswith(("-t", "--target")) for word in arguments)
    if name in _WITH_TARGET and len(operands) > 1 and not has_target:
        operands.pop()
    return Descent(name, operands)
