"""Commands that destroy a machine or a home, which an agent must not run in any mode.

Like every rule that forbids, this searches for what the text could be hiding, and prefers a false
alarm. It cannot find what a command computes when it runs.
"""

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Final

from nanocoder_policy_rules.command_search import Text
from nanocoder_policy_rules.computed_words import LEADING
from nanocoder_policy_rules.removal import Removal, may_remove
from nanocoder_policy_rules.segment import Segment, program
from nanocoder_policy_rules.shell import compile_once

_LITTER = r"\\\n|[\\'\"]"
_FORMATTING: Final = ("mkfs.", "newfs_")
"""The beginnings of programs that format a disk."""
_FUNCTION = r"(?<![\w:.])([\w:.]{1,64})\(\)\{"
_DISK = r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|dm-\d|mapper/)\w*+/?\S*+"
_ONTO_DISK = rf">[>|&]?\s*+{_DISK}"
_MAX_FUNCTIONS: Final = 200
_SIGNS: Final = frozenset(">{")

_DISK_TOOLS: Final = frozenset(
    (
        *("tee", "shred", "wipefs", "blkdiscard", "mkswap", "mkfs", "mke2fs", "newfs"),
        *("cfdisk", "sfdisk", "gdisk", "sgdisk", "parted"),
    )
)
_POWER: Final = frozenset(("shutdown", "reboot", "halt", "poweroff"))
_POWER_WORDS: Final = frozenset((*_POWER, "kexec", "0", "6"))
_POWER_TIMES = r"now|-[hrPHfp]+|\+\d+|\d{1,2}:\d\d"
_EXPECTS_PROGRAM: Final = LEADING | {"-c", "-e", "-exec", "--exec", "-S", "busybox"}
_SCRIPTS: Final = frozenset(("npm", "yarn", "pnpm", "bun", "deno", "composer"))


def may_damage(parsed: Text) -> bool:
    """Tell whether a command has a word or a sign without which it destroys nothing."""
    if not _SIGNS.isdisjoint(parsed.text) or not _DAMAGING.isdisjoint(parsed.words):
        return True
    bare = compile_once(_LITTER).sub("", parsed.text)
    return parsed.once(may_remove) or any(map(bare.__contains__, _FORMATTING))


def describe_damage(parsed: Text, removal: Removal) -> str:
    """Describe what a command would destroy, or return ""."""
    return parsed.once(_damage_to_machine) or removal.destroys(parsed) or parsed.once(_other_damage)


def _damage_to_machine(parsed: Text) -> str:
    bare = compile_once(_LITTER).sub("", parsed.text)
    if "{" in bare and _is_bomb("".join(bare.split())):
        return "starts itself again and again"
    disk = compile_once(_ONTO_DISK).search(bare) if ">" in bare else None
    return f"overwrites the disk {disk[0].lstrip('>|& ')}" if disk else ""


def _other_damage(parsed: Text) -> str:
    bare = compile_once(_LITTER).sub("", parsed.text)
    if _DAMAGING.isdisjoint(parsed.words) and not any(map(bare.__contains__, _FORMATTING)):
        return ""
    return next(filter(None, map(_describe_segment, parsed.segments)), "")


def _is_bomb(text: str) -> bool:
    """Tell whether a function starts itself twice: `name(){ name|name& }`."""
    functions = islice(compile_once(_FUNCTION).finditer(text), _MAX_FUNCTIONS)
    return any(text.find(f"{name[1]}|{name[1]}&", name.end()) >= 0 for name in functions)


def _describe_segment(segment: Segment) -> str:
    words = segment.words
    for at, word in enumerate(words[:1] if segment.sure else words):
        if deed := _describe_program(program(word), words, at):
            return deed
    return ""


def _describe_program(name: str, words: Sequence[str], at: int) -> str:
    if name not in _DAMAGING and not name.startswith(_FORMATTING):
        return ""
    arguments = words[at + 1 :]
    if name == "kill":
        return "ends every process of the user" if "-1" in arguments[1:] else ""
    operands = [word for word in arguments if not word.startswith("-")]
    disks = filter(compile_once(_DISK).fullmatch, _write_operands(name, operands))
    if disk := next(disks, ""):
        return f"overwrites the disk {disk}"
    return _describe_power_off(name, arguments, words[:at])


def _write_operands(name: str, operands: Sequence[str]) -> Sequence[str]:
    """Return the operands that a program writes to."""
    if name == "dd":  # "=" may have ended a word
        split = [word for before, word in pairwise(operands) if before == "of"]
        return [*split, *(word[len("of=") :] for word in operands if word.startswith("of="))]
    if name == "cp":
        return operands[-1:]
    formats = name in _DISK_TOOLS or name.startswith(_FORMATTING)
    return operands if formats else ()


def _describe_power_off(name: str, arguments: Sequence[str], before: Sequence[str]) -> str:
    # These are ordinary words, so they count only where a program is expected, or with a time.
    is_run = "run" in before and _SCRIPTS.isdisjoint(before)
    is_expected = is_run or not before or not _EXPECTS_PROGRAM.isdisjoint(before)
    has_time = bool(arguments) and compile_once(_POWER_TIMES).fullmatch(arguments[0]) is not None
    if name in _POWER and (is_expected or has_time):
        return "switches the machine off"
    operands = [word for word in arguments if not word.startswith("-")]
    switches = name in _SWITCHES and not _POWER_WORDS.isdisjoint(operands[:1])
    return "switches the machine off" if switches and is_expected else ""


_SWITCHES: Final = frozenset(("init", "telinit", "systemctl"))
_DAMAGING: Final = _DISK_TOOLS | _POWER | _SWITCHES | {"kill", "dd", "cp"}
