"""Commands that run code, or read names, that no rule can look into.

A program that is started by its own name, with a file, does what that file says. Code in a word, in
a pipe or in a setting is something else: it computes the names of files, so nothing shows them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from nanocoder_policy_rules import candidates, git_words, reading_commands, runners
from nanocoder_policy_rules.computed_words import LEADING
from nanocoder_policy_rules.shell import ASSIGNMENT, compile_once, remember
from nanocoder_policy_rules.spellings import leaves_braces
from nanocoder_policy_rules.stream_programs import is_plain_awk, is_plain_sed

SHELLS: Final = frozenset(
    ("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "source", ".")
)
_SOURCING: Final = frozenset(("source", "."))
# Without one of these signs a shell gets code from its own words and from files alone.
_FEEDING: Final = frozenset("|<\\{")
_LANGUAGE = r"python[\d.]*|pypy\d?|perl|ruby|node|deno|bun|php|lua|osascript|tclsh|expect"
_MAX_DEPTH: Final = 3
_MOST_WORDS: Final = 200
"""A command of more words that starts another one is not searched, but asked about."""
_TOO_LONG: Final = "a command of so many words"
_ALWAYS: Final = frozenset(
    (
        *("vi", "vim", "nvim", "view", "ex", "ed", "emacs", "gdb", "lldb", "busybox", "toybox"),
        _TOO_LONG,
        *("ssh", "m4", "dc", "script", "parallel", "xargs", "sqlite3"),
    )
)
_AWKS: Final = frozenset(("awk", "gawk", "mawk", "nawk"))
# These take what a pipe gives them for data.
_TAKES_DATA: Final = reading_commands.PROGRAMS.keys() | {
    *("tee", "jq", "yq", "xxd", "od", "hexdump", "base64", "gzip", "gunzip", "zcat", "rev", "fmt"),
    *("paste", "join", "comm", "fold", "expand", "shuf", "split", "less", "more", "diff", "zstd"),
    *("bzip2", "xz", "sha1sum", "strings", "iconv", "pbcopy", "xclip", "cat", "curl", "tar"),
    *("while", "do", "read", "printf", "test", "[", "true", "openssl", "sponge", "ts"),
}
_HARMLESS_OPTIONS: Final = frozenset(
    ("-u", "-B", "-O", "-OO", "-I", "-w", "-q", "-l", "-x", "-i", "-v", "-V", "-h", "--login")
)
_SHOWN: Final = frozenset(("--version", "--help", "-V", "-v", "-h", "--versions"))
_CODE_MODULES: Final = frozenset(("timeit", "pdb", "code"))
_FROM_INPUT = r"-|/dev/(?:stdin|fd/.*)|/proc/.*/fd/.*"
_NAMES_FROM = r"--?files0?-from(?:=.*)?|--?file-list(?:=.*)?|--from-file(?:=.*)?|--pathspec-fr.*"
_SPLIT = r"-[a-zA-Z0]*S.*|--s(?:p.*)?"
_WORDS_OF_LISTS: Final = {
    **dict.fromkeys(("tar", "bsdtar", "gtar"), r"-?[A-Za-z]*T.*|--files.*"),
    **dict.fromkeys(("7z", "7za", "7zr", "rar"), r"@.+|-i[r0-9-]*@.+"),
    **dict.fromkeys(("zip", "gcc", "cc", "g++", "clang", "ar", "ld", "javac"), r"-@|@.+"),
    "curl": r"-[a-zA-Z]*K.*|--conf.*|--proto-d.*",
    "wget": r"-[a-zA-Z]*i.*|--input.*",
    "wc": r"--f.*",
    "du": r"--files.*|--fi.*",
    "sort": r"--fi.*|--comp.*",
    "cpio": r".*",
    "git": r"--stdin.*|--batch.*",
}
_LISTS: Final = {name: f"{_NAMES_FROM}|{words}" for name, words in _WORDS_OF_LISTS.items()}
# With these options they start programs, or get code from elsewhere.
STARTERS: Final = {
    "make": r"-[a-zA-Z]*f-?|-[a-zA-Z]*E.*|--eval.*|--file=?-?|--makefile=?-?",
    "rsync": r"-[a-zA-Z]*e.*|--rsh.*|--rsync-path.*",
    "scp": r"-[a-zA-Z]*[So].*",
    "rg": r"--pre(?:=.*)?",
    "man": r"-[a-zA-Z]*[PH].*|--pager.*",
}
_FILE_URL = r"(?i).*\bfile:.*[%\[\]{}*?\\].*"
_RUNS_FOUND: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_WRAPPERS: Final = frozenset(("flock", "ltrace", "script", "su", "catchsegv", "chrt", "xvfb-run"))
_TEXT: Final = frozenset(("echo", "printf", "grep", "egrep", "fgrep", "rg"))
_SHOWING: Final = frozenset(("echo", "cat", "tee", "true", ":", "set", "cd", "if", "then", "fi"))
NAMES: Final = frozenset(
    (*_ALWAYS, *_AWKS, *SHELLS, *_LISTS, "env", "expect", "find", "sed", "tar")
)
"""Other programs, but interpreters and those in STARTERS, take code or names of files from no word
without "file" or "pathspec" in it."""


def unknown_names(text: str) -> str:
    """Say which part of *text* names files that no word shows, or ""."""
    if leaves_braces(text):
        return "its braces stand for too many names to check each"
    for programs, _ in _programs(text):
        for name, rest in programs:
            if name == _TOO_LONG:
                return f"{name} could start any program"
            if any(":" in word and compile_once(_FILE_URL).fullmatch(word) for word in rest):
                return "an address of a file has signs that stand for others"
            if name == "env" and any(map(compile_once(_SPLIT).fullmatch, rest)):
                return "env -S builds a command of its own"
            pattern = _LISTS.get(name, _NAMES_FROM)
            if word := next(filter(compile_once(pattern).fullmatch, rest), ""):
                return f"{name} {word} reads the names of files from elsewhere"
    return ""


def code_runner(text: str) -> str:
    """Return the program of *text* that gets code no rule can look into, or ""."""
    for programs, is_piped in _programs(text):
        if is_piped and programs and not _takes_data(*programs[0]):
            return programs[0][0]
        for name, rest in programs:
            if _runs_code(name, rest):
                return name
    return ""


@remember
def _programs(text: str) -> list[tuple[list[tuple[str, Sequence[str]]], bool]]:
    """Return the programs that each command may start, and whether it reads from a pipe."""
    return [(list(_started(words)), is_piped) for words, is_piped in _commands(text)]


@remember
def gets_unseen_code(text: str) -> bool:
    """Tell whether a shell gets code that the words of *text* do not show, and no file holds."""
    if _FEEDING.isdisjoint(text) or not any(shell in text for shell in SHELLS):
        return False
    return any(map(_has_unseen_code, _texts(text)))


def _texts(text: str, depth: int = 0) -> Iterator[str]:
    yield text
    words = (word for words, _ in candidates.commands_in(text) for word in words[1:])
    for word in dict.fromkeys(word for word in words if " " in word) if depth < _MAX_DEPTH else ():
        yield from _texts(word, depth + 1)


def _has_unseen_code(text: str) -> bool:
    commands = list(candidates.commands_in(text))
    takes_all = "<(" in text or "{" in text or "(" in text
    sources: list[Sequence[str]] = [words for words, _ in commands] if takes_all else []
    for words, is_piped in commands:
        if not takes_all:
            sources = sources if is_piped else []
        for name, rest in _started(words) if words[0] not in _TEXT else ():
            if name in SHELLS and _takes_code(name, rest, text, sources, is_piped=is_piped):
                return True
        if not takes_all:
            sources.append(words)
    return False


def _takes_code(
    name: str, rest: Sequence[str], text: str, sources: Iterable[Sequence[str]], *, is_piped: bool
) -> bool:
    """Tell whether a shell takes code from a pipe or a substitution that is not plain text."""
    if not rest and name in _SOURCING and "<(" not in text:
        return False  # the folder `.`: without a file they do nothing
    if "<<<" in text and any(map(_is_computed, rest)):
        return True
    is_fed = is_piped or "<(" in text
    return is_fed and _runs_input(name, rest) and not all(map(_shows, sources))


def _shows(words: Sequence[str]) -> bool:
    """Tell whether what a command puts out stands in its words, or in a file."""
    name = words[0].rpartition("/")[2]
    return name in SHELLS or (name in _SHOWING and not any(map(_is_computed, words)))


def _is_computed(word: str) -> bool:
    return not {"$", "`"}.isdisjoint(word)


def _commands(text: str, depth: int = 0) -> Iterator[tuple[list[str], bool]]:
    for words, is_piped in candidates.commands_in(text):
        yield words, is_piped
        if depth == _MAX_DEPTH or words[0] in _TEXT or words[:2] == ["git", "commit"]:
            continue
        is_script = words[0] in _AWKS | {"sed"}
        for word in () if is_script else words[1:]:
            if " " in word or "|" in word or ";" in word:
                yield from _commands(word, depth + 1)


def _started(words: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the program, and those that a wrapper or `find` may start, with their arguments."""
    names = [word.rpartition("/")[2] or word for word in words]
    first, is_assignment = 0, compile_once(ASSIGNMENT).fullmatch
    while first < len(words) and is_assignment(words[first]):
        first += 1
    if first == len(words):
        return
    yield names[first], words[first + 1 :]
    if names[first] == "find":
        starts = [at + 1 for at, word in enumerate(words[:-1]) if word in _RUNS_FOUND]
    else:
        starts = [first]
    for start in starts if len(words) <= _MOST_WORDS else ():
        if start > first:
            yield names[start], words[start + 1 :]
        if names[start] in LEADING or names[start] in _WRAPPERS:
            for at in range(start + 1, len(words)):
                yield names[at], words[at + 1 :]
    is_starter = names[first] in LEADING or names[first] in _WRAPPERS
    if len(words) > _MOST_WORDS and starts and (is_starter or names[first] == "find"):
        yield _TOO_LONG, ()


def _takes_data(name: str, rest: Sequence[str]) -> bool:
    if name in _AWKS or name == "sed":
        return True  # their code is in their words
    if compile_once(_LANGUAGE).fullmatch(name):
        return list(rest[:1]) == ["-m"] or any(word[:1] != "-" for word in rest[:1])
    if name == "git":
        return list(rest[:1]) in (["apply"], ["commit"])
    return name in _TAKES_DATA


def _runs_code(name: str, rest: Sequence[str]) -> bool:  # noqa: PLR0911
    if name in _ALWAYS:
        return not (rest and _SHOWN.issuperset(rest))
    if name == "sed":
        return not is_plain_sed(rest)
    if name in _AWKS:
        return not is_plain_awk(rest)
    if name == "git":
        return _git_runs(rest)
    if name == "tar" and runners.risky_option(["tar", *rest], ("-P", "--absolute-names")):
        return True
    if name == "find":
        return any(
            word in _RUNS_FOUND and program.rpartition("/")[2] in SHELLS
            for word, program in pairwise(rest)
        )
    if name in SHELLS or compile_once(_LANGUAGE).fullmatch(name):
        return _runs_input(name, rest)
    options = STARTERS.get(name)
    return options is not None and any(map(compile_once(options).fullmatch, rest))


def _runs_input(name: str, rest: Sequence[str]) -> bool:  # noqa: PLR0911
    """Tell whether an interpreter gets its program from a word, a pipe or nowhere that is known."""
    is_shell = name in SHELLS
    words = iter(enumerate(rest))
    for at, word in words:
        if compile_once(_FROM_INPUT).fullmatch(word):
            return True
        if word[:1] != "-" and not (is_shell and word[:1] == "+"):
            return False  # a program in a file
        if word == "-m" and not is_shell:
            return at + 1 == len(rest) or rest[at + 1] in _CODE_MODULES
        if word in _SHOWN:
            return False
        if is_shell and word[1:].isalpha() and "s" not in word:
            if "c" in word:  # the words of its code are searched, but not what xargs adds
                return at + 1 == len(rest)
            if word[-1] in "oO":  # bash -euo pipefail
                next(words, None)
        elif word not in _HARMLESS_OPTIONS:
            return True
    return True


def _git_runs(rest: Sequence[str]) -> bool:
    at = git_words.subcommand_at(["git", *rest])
    if not at:
        return bool(rest) and rest[-1] not in _SHOWN
    words = rest[at - 1 :]
    is_setting = words[0] == "config" and any("!" in word for word in words)
    return is_setting or bool(git_words.running_option(words))
