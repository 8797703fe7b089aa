"""Programs that only read, and the options with which they do: lists of what is allowed."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from nanocoder_policy_rules.shell import Simple

PathCheck = Callable[[str, str], bool]
"""Tells whether a path may be read from a directory, both as written; "." is the workspace."""


class Program(NamedTuple):
    """What a program may be given.

    *flags* are short options without a value, *valued* those with one, *long* options as `--name`,
    with or without `=value`. *operands*: "paths" to read, "text", "none", "pattern" and paths, at
    most "one" path, or the name of a check below. *number*: `-20` is an option, too.
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
    "cut": Program("sz", "bcdf", ("--complement", "--output-delimiter")),
    "date": Program("uRI", operands="date"),
    "df": Program("hTiPkm"),
    "dirname": Program("z", operands="text"),
    "du": Program("abchkms", "d", ("--max-depth",)),
    "echo": Program("neE", operands="echo"),
    "egrep": Program("ivclLwxohHsqn", "ABCme", operands="pattern", number=True),
    "false": Program(operands="none"),
    "fgrep": Program("ivclLwxohHsqn", "ABCme", operands="pattern", number=True),
    "file": Program("bi", long=("--mime-type", "--brief")),
    "find": Program(operands="find"),
    "grep": Program(
        "ivclLwxEFGPohHsqnaZ", "ABCme", ("--color", "--count"), operands="pattern", number=True
    ),
    "head": Program("qvz", "nc", ("--lines", "--bytes"), number=True),
    "id": Program("ugnGr", operands="none"),
    "ls": Program(
        "1aAbBcCdfFghiklLmnNopqQrRsStuUvxX", long=("--all", "--color", "--group-directories-first")
    ),
    "md5sum": Program("b"),
    "nl": Program("p", "bdfhinsvw"),
    "pwd": Program("LP", operands="none"),
    "realpath": Program("emsz"),
    "rg": Program(
        "ivclwxFSsoHNnUP",
        "ABCmetT",
        ("--files", "--count", "--no-heading", "--heading", "--color", "--type", "--json"),
        operands="pattern",
    ),
    "sed": Program("nErs", operands="sed"),
    "seq": Program("w", "fs", operands="text"),
    "sha256sum": Program("b"),
    "sort": Program("bdfghinrsuVz", "kt", ("--numeric-sort", "--reverse", "--unique")),
    "stat": Program("Lt", "c", ("--format", "--printf")),
    "tac": Program("b"),
    "tail": Program("qvz", "nc", ("--lines", "--bytes"), number=True),
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
_SED_PRINT = re.compile(r"(?:[0-9]+|\$)(?:,(?:[0-9]+|\$))?p")


def are_safe(found: Sequence[Simple], may_read: PathCheck) -> bool:
    """Tell whether all of these commands only read, and only what *may_read* agrees to."""
    directory, rest = after_cd(found, may_read)
    return bool(rest) and all(is_safe(simple.words, may_read, directory) for simple in rest)


def is_safe(words: Sequence[str], may_read: PathCheck, directory: str = ".") -> bool:
    """Tell whether one command only reads."""
    program = PROGRAMS.get(words[0])
    if program is None:
        return False
    if program.operands == "find":
        return _is_safe_find(words[1:], may_read, directory)
    if program.operands == "echo":
        return True
    operands = _operands(program, words[1:])
    return operands is not None and _are_fine(program, words, operands, may_read, directory)


def after_cd(found: Sequence[Simple], may_read: PathCheck) -> tuple[str, Sequence[Simple]]:
    """Take a leading `cd DIR &&` off, when nothing can run if it fails."""
    first = found[0].words
    if first[0] != "cd" or not first[1:] or first[2:] or first[1].startswith("-"):
        return ".", found
    joins = [simple.join for simple in found[1:]]
    if joins[:1] != ["&&"] or not {*joins} <= {"&&", "|"} or not may_read(first[1], "."):
        return ".", ()
    return first[1], found[1:]


def _operands(program: Program, words: Sequence[str]) -> list[str] | None:
    """Return what is no option; None when an option is not on the list."""
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
        return word.partition("=")[0] in program.long
    if program.number and word[1:].isdigit():
        return True
    for index, letter in enumerate(word[1:], 2):
        if letter in program.valued:
            value = word[index:] or next(iter(rest), None)
            if letter == "e":  # a pattern; the operands are all paths then
                operands.insert(0, "")
            return value is not None
        if letter not in program.flags:
            return False
    return True


def _are_fine(
    program: Program, words: Sequence[str], operands: list[str], may_read: PathCheck, directory: str
) -> bool:
    match program.operands:
        case "text":
            return True
        case "none":
            return not operands
        case "date":
            return all(operand.startswith("+") for operand in operands)
        case "sed":
            is_print = "-n" in words and operands and _SED_PRINT.fullmatch(operands[0])
            paths = operands[1:] if is_print else None
        case "pattern":
            paths = operands if "--files" in words else _after_patterns(operands)
        case "one":
            paths = operands if len(operands) <= 1 else None
        case _:
            paths = operands
    return paths is not None and all(path == "-" or may_read(path, directory) for path in paths)


def _after_patterns(operands: list[str]) -> list[str]:
    return [operand for operand in operands if operand] if "" in operands else operands[1:]


def _is_safe_find(words: Sequence[str], may_read: PathCheck, directory: str) -> bool:
    rest = iter(words)
    for word in rest:
        if word in _FIND_VALUED:
            if next(rest, None) is None:
                return False
        elif word.startswith("-"):
            if word not in _FIND_ALONE:
                return False
        elif not may_read(word, directory):
            return False
    return True
