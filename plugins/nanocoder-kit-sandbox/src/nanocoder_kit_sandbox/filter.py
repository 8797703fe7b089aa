"""The filter of system calls inside, as the kernel's own program: what no command needs.

A call of another kind of processor (32 bits) fails, too: its numbers are other ones.
"""

import errno
import os
import stat
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

_LOAD: Final = 0x20  # the word at an offset of the call's data
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF_0000
_FAIL: Final = 0x0005_0000
_NUMBER, _MACHINE, _FIRST, _SECOND, _THIRD, _FOURTH = 0, 4, 16, 24, 32, 40
_X32: Final = 0x4000_0000
_NO_CALL: Final = _FAIL | errno.ENOSYS
_FORBIDDEN: Final = _FAIL | errno.EPERM
_ATTACHING: Final = (16, 0x4206)  # PTRACE_ATTACH, PTRACE_SEIZE
_TYPING: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_NO_FAMILY: Final = _FAIL | errno.EAFNOSUPPORT
_FAMILIES: Final = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_OWNERS: Final = stat.S_ISUID | stat.S_ISGID
_NEW_FILE: Final = os.O_CREAT | 0x40_0000  # or without a name, as O_TMPFILE
_INIT: Final = 1
"""The process of bubblewrap itself, which is the first inside."""


class _Machine(NamedTuple):
    """The numbers of one kind of processor; *forbidden* calls fail, *absent* ones seem not to be.

    *trace* and *control* fail with some arguments, *memory* where they are about bubblewrap itself.
    *sockets* fail but for the families that programs use. *modes* are calls with where their mode
    is, *openings* those with where their flags and mode are; they make no program that runs as its
    owner.
    """

    architecture: int
    forbidden: tuple[int, ...]
    absent: tuple[int, ...]
    trace: int
    control: int
    memory: tuple[int, ...]
    sockets: tuple[int, ...]
    modes: tuple[tuple[int, int], ...]
    openings: tuple[tuple[int, int, int], ...]


# Both lists name the same calls in the same order. They add and ask for keys, load code into the
# kernel, mount, enter namespaces, open files by a handle, take a file that another process has
# open, and change the machine as a whole.
_OF_X86: Final = (
    *(248, 249, 250, 321, 298, 304, 175, 313, 176, 246, 320, 165, 166, 155, 308, 167, 168),
    *(163, 179, 169, 164, 428, 429, 430, 431, 432, 433, 442, 323, 438),
)
_OF_ARM: Final = (
    *(217, 218, 219, 280, 241, 265, 105, 273, 106, 104, 294, 40, 39, 41, 268, 224, 225),
    *(89, 60, 142, 170, 428, 429, 430, 431, 432, 433, 442, 282, 438),
)
_ABSENT: Final = (425, 426, 427, 437)
"""io_uring and openat2, of which no filter sees enough; programs do without them."""
# chmod, fchmod, fchmodat, fchmodat2, creat, mknod and mknodat: mkdir takes no such bits.
_MODES_OF_X86: Final = (
    *((90, _SECOND), (91, _SECOND), (268, _THIRD), (452, _THIRD)),
    *((85, _SECOND), (133, _SECOND), (259, _THIRD)),
)
_MODES_OF_ARM: Final = ((52, _SECOND), (53, _THIRD), (452, _THIRD), (33, _THIRD))
_OPENINGS_OF_X86: Final = ((2, _SECOND, _THIRD), (257, _THIRD, _FOURTH))
_OPENINGS_OF_ARM: Final = ((56, _THIRD, _FOURTH),)
_MACHINES: Final = {
    "x86_64": _Machine(
        *(0xC000_003E, _OF_X86, _ABSENT, 101, 16, (310, 311)),
        sockets=(41, 53),
        modes=_MODES_OF_X86,
        openings=_OPENINGS_OF_X86,
    ),
    "aarch64": _Machine(
        *(0xC000_00B7, _OF_ARM, _ABSENT, 117, 29, (270, 271)),
        sockets=(198, 199),
        modes=_MODES_OF_ARM,
        openings=_OPENINGS_OF_ARM,
    ),
}


Instruction = tuple[int, int, int, int]


def filter_program(more: tuple[Instruction, ...] = ()) -> bytes:
    """Return the filter for this machine's processor; b"" for one that is not known.

    *more* is judged after what is refused always, with the call's number loaded.
    """
    machine = _MACHINES.get(os.uname().machine)
    if machine is None:
        return b""
    instructions = _instructions(machine, more)
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def answer_call(number: int, answer: int) -> tuple[Instruction, ...]:
    """Return what gives the call *number* the *answer*."""
    return ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer))


def fail(error: int) -> int:
    """Return the answer by which a call fails with *error*."""
    return _FAIL | error


def goes_on() -> Instruction:
    """Return what lets a call through."""
    return (_RETURN, 0, 0, _ALLOW)


def _instructions(machine: _Machine, more: tuple[Instruction, ...]) -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _MACHINE)
    yield (_EQUAL, 1, 0, machine.architecture)
    yield (_RETURN, 0, 0, _NO_CALL)
    yield (_LOAD, 0, 0, _NUMBER)
    yield (_AT_LEAST, 0, 1, _X32)
    yield (_RETURN, 0, 0, _NO_CALL)
    for numbers, answer in ((machine.forbidden, _FORBIDDEN), (machine.absent, _NO_CALL)):
        for number in numbers:
            yield from answer_call(number, answer)
    for number in machine.sockets:
        yield from _other_families(number)
    for number, mode in machine.modes:
        yield from _if_bits(number, ((mode, _OWNERS),))
    for number, flags, mode in machine.openings:
        yield from _if_bits(number, ((flags, _NEW_FILE), (mode, _OWNERS)))
    yield from more
    yield from _unless(machine.trace, ((_FIRST, _ATTACHING), (_SECOND, (_INIT,))))
    yield from _unless(machine.control, ((_SECOND, _TYPING),))
    for number in machine.memory:
        yield from _unless(number, ((_FIRST, (_INIT,)),))
    yield (_RETURN, 0, 0, _ALLOW)


def _other_families(number: int) -> Iterator[Instruction]:
    """Yield what lets a call fail for a family of sockets that programs do not use."""
    count = len(_FAMILIES)
    yield (_EQUAL, 0, count + 3, number)
    yield (_LOAD, 0, 0, _FIRST)
    for at, family in enumerate(_FAMILIES):
        yield (_EQUAL, count - at, 0, family)
    yield (_RETURN, 0, 0, _NO_FAMILY)
    yield (_LOAD, 0, 0, _NUMBER)


def _if_bits(number: int, conditions: tuple[tuple[int, int], ...]) -> Iterator[Instruction]:
    """Yield what lets a call fail when each argument, at its offset, has one of its bits."""
    size = 2 * len(conditions)
    yield (_EQUAL, 0, size + 2, number)
    for at, (offset, bits) in enumerate(conditions):
        yield (_LOAD, 0, 0, offset)
        yield (_ANY_BIT, 0, size - 2 * at - 1, bits)
    yield (_RETURN, 0, 0, _FORBIDDEN)
    yield (_LOAD, 0, 0, _NUMBER)


def _unless(
    number: int, conditions: tuple[tuple[int, tuple[int, ...]], ...]
) -> Iterator[Instruction]:
    """Yield what lets a call fail when each argument, at its offset, is one of its values."""
    body: list[Instruction] = []
    for offset, values in conditions:
        body.append((_LOAD, 0, 0, offset))
        body += [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
        body.append((_RETURN, 0, 0, _ALLOW))
    body.append((_RETURN, 0, 0, _FORBIDDEN))
    yield (_EQUAL, 0, len(body), number)
    yield from body
