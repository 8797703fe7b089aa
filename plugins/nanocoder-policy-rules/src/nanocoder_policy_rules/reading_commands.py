"""Programs that only read, and the options with which they only read: lists of what is allowed."""

import os
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from nanocoder_policy_rules import git_reading, interpreters
from nanocoder_policy_rules.reach import HERE, Reading
from nanocoder_policy_rules.shell import Simple, compile_once


class Program(NamedTuple):
    """The options and operands with which a program only reads.

    *flags* are short options without a value, *valued* those with one. *long* are options as
    `--name`; `--name=` takes a value, behind it or as the next word. *operands*: "paths" to read,
    "text", "none", "pattern" and paths, at most "one" path, or the name of a check below. *number*:
    `-20` is an option, too. No listed option may follow links below an operand.
    """

    flags: str = ""
    valued: str = ""
    long: tuple[str, ...] = ()
    operands: str = "paths"
    number: bool = False


PROGRAMS: Final = {
    "basename": Program("az", "s", operands="text"),
    "cat": Program("AbEnsTtv", long=("--number",)),
    "cmp": Program("bls"),
    "column": Program("t", "s"),
    "cut": Program("sz", "bcdf", ("--complement", "--output-delimiter=")),
    "date": Program("uRI", operands="date"),
    "df": Program("hTiPkm"),
    "dirname": Program("z", operands="text"),
    "du": Program("abchkms", "d", ("--max-depth=",)),
    "echo": Program("neE", operands="echo"),
    "egrep": Program("ivclLwxohHsqn", "ABCme", operands="pattern", number=True),
    "false": Program(operands="none"),
    "fgrep": Program("ivclLwxohHsqn", "ABCme", operands="pattern", number=True),
    "file": Program("bi", long=("--mime-type", "--brief")),
    "find": Program(operands="find"),
    "grep": Program(
        "ivclLwxEFGPohHsqnarZ",
        "ABCme",
        ("--color", "--count", "--include=", "--exclude=", "--exclude-dir=", "--recursive"),
        operands="pattern",
        number=True,
    ),
    "head": Program("qvz", "nc", ("--lines=", "--bytes="), number=True),
    "id": Program("ugnGr", operands="none"),
    "jq": Program("acCejMrsS", operands="jq"),
    "ls": Program(
        "1aAbBcCdfFghiklmnNopqQrRsStuUvxX", long=("--all", "--color", "--group-directories-first")
    ),
    "md5sum": Program("b"),
    "nl": Program("p", "bdfhinsvw"),
    "pwd": Program("LP", operands="none"),
    "realpath": Program("emsz"),
    "rg": Program(
        "ivclwxFSsoHNnUP",
        "ABCmetTg",
        (
            "--files",
            "--glob=",
            "--type-not=",
            "--ignore-case",
            "--line-number",
            "--count",
            "--no-heading",
            "--heading",
            "--color=",
            "--type=",
            "--json",
        ),
        operands="pattern",
    ),
    "sed": Program("nErs", operands="sed"),
    "seq": Program("w", operands="numbers"),
    "sha256sum": Program("b"),
    "sort": Program("bdfghinrsuVz", "kt", ("--numeric-sort", "--reverse", "--unique")),
    "stat": Program("Lt", "c", ("--format=", "--printf=")),
    "tac": Program("b"),
    "tail": Program("qvz", "nc", ("--lines=", "--bytes="), number=True),
    "tr": Program("cCdst", operands="text"),
    "tree": Program("adfFhpsuDC", "LI", ("--noreport", "--dirsfirst")),
    "true": Program(operands="none"),
    "uname": Program("asnrvmpio", operands="none"),
    "uniq": Program("cdiuz", "fsw", operands="one"),
    "wc": Program("clLmw", long=("--lines", "--words", "--bytes", "--chars")),
    "which": Program("a", operands="text"),
    "whoami": Program(operands="none"),
}

_FIND_ALONE = frozenset(("-print", "-print0", "-not", "-o", "-or", "-a", "-and", "-empty", "-ls"))
_FIND_VALUED = frozenset(
    (
        *("-name", "-iname", "-path", "-ipath", "-type", "-maxdepth", "-mindepth"),
        *("-size", "-mtime", "-mmin", "-ctime", "-atime", "-user", "-perm", "-regex"),
    )
)
_SED_PRINT = r"(?:[0-9]+|\$)(?:,(?:[0-9]+|\$))?p"
# Places in the data alone: a filter can also print the environment, and read files as modules.
_JQ_PLACE = r"(?:\.|(?:\.[A-Za-z_][A-Za-z0-9_]*|\.?\[[0-9]{0,6}\])+)"
_JQ_FILTER = rf"{_JQ_PLACE}(?: ?\| ?{_JQ_PLACE})*"
_NUMBER = r"[0-9]{1,6}"
# With these options a search goes through folders, and follows the links in them.
_DESCENDING: Final = ("--recursive", "--dereference-recursive", "--directories=")
_FOLLOWING: Final = ("--follow", "--dereference-recursive")
_WIDER_LONG: Final = ("--follow", "--hidden", "--no-ignore", "--unrestricted")


def are_safe(simples: Sequence[Simple], reading: Reading) -> bool:
    """Tell whether all of these commands only read, and only what *reading* agrees to."""
    directory, rest = after_cd(simples, reading)
    for each in rest:
        if not is_safe(with_input(each), reading, directory):
            return False
    return bool(rest)


def with_input(simple: Simple) -> Sequence[str]:
    """Return the words of a command, with "-" added for ripgrep when it reads a pipe.

    Ripgrep then searches the pipe, and a folder only if it is named.
    """
    return (*simple.words, "-") if simple.join == "|" and simple.words[0] == "rg" else simple.words


def is_safe(words: Sequence[str], reading: Reading, directory: str = HERE) -> bool:
    """Tell whether one command only reads."""
    if words[0] == "git":
        return git_reading.is_safe(words, reading, directory)
    program = PROGRAMS.get(words[0])
    if program is None:
        return interpreters.asks_version(words) and reading.is_installed(words[0], directory)
    if program.operands == "find":
        return _is_safe_find(words[1:], reading, directory)
    if program.operands == "echo":
        return True
    operands = _operands(program, words[1:])
    return operands is not None and _may_take(program, words, operands, reading, directory)


def may_search_through(
    words: Sequence[str], reading: Reading, directory: str, named: Sequence[str] = ()
) -> bool:
    """Tell whether a search that a rule allows finds only what may be read.

    After an unknown option each word may be a folder to search, or no word may be one; then the
    search goes through the whole workspace. *named* are words of the rule: the person who wrote
    it meant what they name, even outside of the workspace.
    """
    program = PROGRAMS.get(words[0])
    if program is None or program.operands != "pattern":
        return True
    is_ripgrep = words[0] == "rg"
    if not is_ripgrep and not _goes_down(words):
        return True  # each file that it reads is named
    paths, hidden = _searched(program, words)
    follows = _has_flag(words, "L" if is_ripgrep else "R", *_FOLLOWING)
    return all(
        path == "-" or reading.may_search(path, directory, hidden=hidden, follows=follows)
        for path in paths
        if path not in named or reading.may_read(path, directory)
    )


def searched_folders(words: Sequence[str]) -> tuple[Sequence[str], bool] | None:
    """Return what a search may go through, and whether through dot files; None without folders."""
    program = PROGRAMS[words[0]]
    if words[0] != "rg" and not _goes_down(words):
        return None
    return _searched(program, words)


def _searched(program: Program, words: Sequence[str]) -> tuple[Sequence[str], bool]:
    hidden = _operands(program, words[1:]) is None or _looks_into_hidden(words)
    operands = _operands(_wider(program, is_ripgrep=words[0] == "rg"), words[1:])
    if operands is None:
        return [*(word for word in words[1:] if not word.startswith("-")), HERE], hidden
    return _after_patterns(operands) or [HERE], hidden


def _wider(program: Program, *, is_ripgrep: bool) -> Program:
    """Return *program* with more options that are certainly no operands; they read more."""
    flags = "abhLpquz." if is_ripgrep else "RTyUbz"
    long = _WIDER_LONG if is_ripgrep else _DESCENDING
    return program._replace(flags=program.flags + flags, long=(*program.long, *long))


def after_cd(simples: Sequence[Simple], reading: Reading) -> tuple[str, Sequence[Simple]]:
    """Split off a leading `cd DIR &&`, if nothing can run after it fails."""
    first = simples[0].words
    if first[0] != "cd" or not first[1:] or first[2:] or first[1].startswith("-"):
        return HERE, simples
    joins = [simple.join for simple in simples[1:]]
    if joins[:1] != ["&&"] or not {*joins} <= {"&&", "|"} or not reading.may_read(first[1], HERE):
        return HERE, ()
    return first[1], simples[1:]


def _operands(program: Program, words: Sequence[str]) -> list[str] | None:
    """Return the operands; None when an option is not on the list."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return operands + list(rest)
        if word == "-" or not word.startswith("-"):
            operands.append(word)
        elif not _is_listed(program, word, rest, operands):
            return None
    return operands


def _is_listed(program: Program, word: str, rest: Iterable[str], operands: list[str]) -> bool:
    if word.startswith("--"):
        name, is_joined, _ = word.partition("=")
        if f"{name}=" in program.long:
            return bool(is_joined) or next(iter(rest), None) is not None
        return name in program.long
    if program.number and word[1:].isdigit():
        return True
    for index, letter in enumerate(word[1:], 2):
        if letter in program.valued:
            value = word[index:] or next(iter(rest), None)
            if letter == "e":  # the value is the pattern, so all operands are paths
                operands.append("")
            return value is not None
        if letter not in program.flags:
            return False
    return True


def _may_take(
    program: Program, words: Sequence[str], operands: list[str], reading: Reading, directory: str
) -> bool:
    match program.operands:
        case "text":
            return True
        case "none":
            return not operands
        case "date":
            return all(operand.startswith("+") for operand in operands)
        case "numbers":  # a longer number would print too many lines
            return all(compile_once(_NUMBER).fullmatch(operand) for operand in operands)
        case "sed":
            is_print = (
                "-n" in words and operands and compile_once(_SED_PRINT).fullmatch(operands[0])
            )
            paths = operands[1:] if is_print else None
        case "jq":
            is_place = operands and compile_once(_JQ_FILTER).fullmatch(operands[0])
            paths = operands[1:] if is_place else None
        case "pattern" if [*words[1:2]] != ["--files"]:  # elsewhere it could be the pattern
            return _may_search(words, _after_patterns(operands), reading, directory)
        case "one":
            paths = operands if len(operands) <= 1 else None
        case _:
            paths = operands
    return paths is not None and all(
        path == "-" or reading.may_read(path, directory) for path in paths
    )


def _may_search(
    words: Sequence[str], paths: Sequence[str], reading: Reading, directory: str
) -> bool:
    """Tell whether a search may go through *paths* and everything below those that are folders."""
    if words[0] != "rg" and not _goes_down(words):
        return all(path == "-" or reading.may_read(path, directory) for path in paths)
    hidden = _looks_into_hidden(words)
    return all(
        path == "-" or reading.may_search(path, directory, hidden=hidden)
        for path in paths or [HERE]
    )


def _goes_down(words: Sequence[str]) -> bool:
    """Tell whether grep could go through folders."""
    return _has_flag(words, "rRd", *_DESCENDING)


def _looks_into_hidden(words: Sequence[str]) -> bool:
    """Tell whether a search reads hidden files; ripgrep's own settings may say so, too."""
    is_ripgrep = words[0] == "rg"
    return not is_ripgrep or "RIPGREP_CONFIG_PATH" in os.environ or _has_flag(words, "g", "--glob")


def _has_flag(words: Sequence[str], letters: str, *names: str) -> bool:
    """Tell whether one of *words* could be one of these options; a value that looks like it counts.

    A long option may be abbreviated.
    """
    return any(
        _abbreviates(word.partition("=")[0], names)
        if word[:2] == "--"
        else word[:1] == "-" and not set(letters).isdisjoint(word)
        for word in words[1:]
    )


def _abbreviates(name: str, names: Sequence[str]) -> bool:
    return len(name) > len("--") and any(each.startswith(name) for each in names)


def _after_patterns(operands: list[str]) -> list[str]:
    return [operand for operand in operands if operand] if "" in operands else operands[1:]


def _is_safe_find(words: Sequence[str], reading: Reading, directory: str) -> bool:
    rest = iter(words)
    for word in rest:
        if word in _FIND_VALUED:
            if next(rest, None) is None:
                return False
        elif word.startswith("-"):
            if word not in _FIND_ALONE:
                return False
        elif not reading.may_read(word, directory):
            return False
    return True
