"""Files that a command changes: words that programs write to, and redirected output."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from nanocoder_policy_rules.command_search import Text
from nanocoder_policy_rules.segment import Segment, program
from nanocoder_policy_rules.shell import compile_once
from nanocoder_policy_rules.spellings import spellings

# These write to their last operand, or to the value of an option such as `-t`.
_TO_LAST: Final = frozenset(("cp", "install", "ln", "rsync", "scp"))
_ARCHIVERS: Final = frozenset(("tar", "bsdtar", "gtar"))
# These write below the directory where they start, and need not name it.
UNPACKING: Final = _ARCHIVERS | {"unzip", "cpio", "7z", "7za", "patch"}
# These change every file among their arguments.
_TO_ALL: Final = UNPACKING | {"mv", "tee", "truncate", "dd", "sed", "wget", "curl"}
# These start nothing, except by making or removing git's directory.
_ONLY_GIT: Final = frozenset(("mkdir", "rmdir", "rm", "unlink", "touch"))
_WRITERS: Final = _TO_LAST | _TO_ALL | _ONLY_GIT
# After these, `install` is a subcommand.
_INSTALLERS: Final = frozenset(
    (
        *("pip", "pip3", "uv", "npm", "pnpm", "yarn", "make", "cargo", "go", "apt", "apt-get"),
        *("brew", "gem", "poetry", "bundle", "conda", "pipx", "pre-commit", "dnf", "just"),
    )
)
_LEAVES_OUT: Final = frozenset(("--exclude", "--exclude-dir"))
_UNPACKS = r"--(?:ext|get|rem).*|-[A-Za-z]*x.*|[A-Za-z]*x[A-Za-z]*"
_IN_PLACE = r"-[A-Za-z]*i.*|--in-place.*"
_SCRIPT = r"[sy][^\w\s].*"
_SED_READS = r"(?<![A-Za-z_.-])[rR]([./~][^\s;}'\"]*)"
_OPTION_OF_TARGET = r"--t.*|-[A-Za-z]*t"
_SED_WRITES = r"w([./~][^\s;}'\"]*)"
# `2>&1` sends output to where another output goes, and to no file called 1.
_OUTPUT = r">(?!&\d+(?:[\s;&|]|\Z))[>|&]?\s*([^\s;&|<>(){}`]+)"
_LITTER = r"\\\n|[\\'\"]"
_MOST_LETTERS: Final = 4


class Target(NamedTuple):
    """A word whose file *program* changes; "" means that the shell sends output there.

    With *is_end* the program writes there; otherwise it may only remove something.
    """

    word: str
    program: str
    is_end: bool = True

    @property
    def may_start(self) -> bool:
        """Tell whether a program may start later from what is written there."""
        return self.program not in _ONLY_GIT and (self.program != "mv" or self.is_end)


def targets(text: Text) -> tuple[Target, ...]:
    """Return what the commands of *text* change, as far as their words show it, each once."""
    return text.once(_targets)


def _targets(text: Text) -> tuple[Target, ...]:
    return tuple(dict.fromkeys(_each_target(text)))


def _each_target(text: Text) -> Iterator[Target]:
    if ">" in text.text:
        yield from (Target(word, "") for word in _outputs(text.text))
    if _WRITERS.isdisjoint(text.words):
        return
    for segment in text.segments:
        for name, arguments in writers(segment):
            yield from _targets_of_program(name, arguments)


def written_by_sed(text: Text) -> Sequence[str]:
    """Return the files that a script of sed writes without a space before their names."""
    return _in_scripts(text, _SED_WRITES) if "sed" in text.words else ()


def read_by_sed(text: Text) -> Sequence[str]:
    """Return the files that a script of sed reads without a space before their names."""
    return _in_scripts(text, _SED_READS) if "sed" in text.words else ()


def _in_scripts(text: Text, expression: str) -> list[str]:
    matches = map(compile_once(expression).finditer, spellings(text.text))
    return [match[1] for several in matches for match in several]


def writers(segment: Segment) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the programs of *segment* that change files, each with all that follows it."""
    words = segment.words
    first: dict[str, int] = {}
    for at, word in enumerate(words[:1] if segment.sure else words):
        name = program(word)
        if name in _WRITERS and not (name == "install" and _is_subcommand(words, at)):
            first.setdefault(name, at)
    for name, at in first.items():
        arguments = [part for each in words[at + 1 :] for part in each.split("=", 1) if part]
        if _writes(name, arguments):
            yield name, arguments


def _outputs(text: str) -> Iterator[str]:
    for spelling in spellings(text):
        bare = compile_once(_LITTER).sub("", spelling)
        yield from (match[1] for match in compile_once(_OUTPUT).finditer(bare))


def _is_subcommand(words: Sequence[str], at: int) -> bool:
    return at > 0 and program(words[at - 1]) in _INSTALLERS


def _writes(name: str, arguments: Sequence[str]) -> bool:
    """Tell whether a program changes files; archivers do if they unpack, or remove their input."""
    if name == "sed":
        return any(map(compile_once(_IN_PLACE).fullmatch, arguments))
    if name not in _ARCHIVERS:
        return True
    pairs = pairwise([name, *arguments])
    options = (word for before, word in pairs if word[:1] == "-" or program(before) == name)
    return any(map(compile_once(_UNPACKS).fullmatch, options))


def _targets_of_program(name: str, arguments: Sequence[str]) -> Iterator[Target]:
    # A word is certainly an operand if no option is before it.
    certain = [
        at
        for at, word in enumerate(arguments)
        if word[:1] != "-" and (at == 0 or arguments[at - 1][:1] != "-")
    ]
    last = certain[-1] if certain else 0
    for at, word in enumerate(arguments):
        before = arguments[at - 1] if at else ""
        if before in _LEAVES_OUT or (name == "sed" and compile_once(_SCRIPT).fullmatch(word)):
            continue
        if word[:1] == "-":
            yield from (Target(part, name) for part in attached_values(word))
            continue
        is_end = at >= last or compile_once(_OPTION_OF_TARGET).fullmatch(before) is not None
        # Later writes to a link change the file that it leads to.
        if is_end or name == "ln" or name not in _TO_LAST:
            yield Target(word, name, is_end)


def attached_values(word: str) -> Iterator[str]:
    """Yield possible values of a short option in *word*: `-tDIR`, `-rtDIR`."""
    if word[:1] == "-" and word[:2] != "--":
        for at in range(2, min(len(word), 2 + _MOST_LETTERS)):
            yield word[at:]
            if not word[at].isalpha():
                return
