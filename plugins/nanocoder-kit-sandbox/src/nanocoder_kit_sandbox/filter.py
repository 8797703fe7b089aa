"""The filter of system calls inside, as the kernel's own program: what no command needs.

A call of another kind of processor (32 bits) fails, too: its numbers are other ones.
"""

import errno
import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

_LOAD: Final = 0x20  # the word at an offset of the call's data
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF_0000
_FAIL: Final = 0x0005_0000
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24
_X32: Final = 0x4000_0000
_NO_CALL: Final = _FAIL | errno.ENOSYS
_FORBIDDEN: Final = _FAIL | errno.EPERM
_ATTACHING: Final = (16, 0x4206)  # PTRACE_ATTACH, PTRACE_SEIZE
_TYPING: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_INIT: Final = 1
"""The process of bubblewrap itself, which is the first inside."""


class _Machine(NamedTuple):
    """The numbers of one kind of processor; *forbidden* calls fail, *absent* ones seem not to be.

    *trace* and *control* fail with some arguments, *memory* where they are about bubblewrap itself.
    """

    architecture: int
    forbidden: tuple[int, ...]
    absent: tuple[int, ...]
    trace: int
    control: int
    memory: tuple[int, ...]


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
_RINGS: Final = (425, 426, 427)
"""io_uring, whose work no filter sees; programs do without it."""
_MACHINES: Final = {
    "x86_64": _Machine(0xC000_003E, _OF_X86, _RINGS, 101, 16, (310, 311)),
    "aarch64": _Machine(0xC000_00B7, _OF_ARM, _RINGS, 117, 29, (270, 271)),
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
    yield from more
    yield from _unless(machine.trace, ((_FIRST, _ATTACHING), (_SECOND, (_INIT,))))
    yield from _unless(machine.control, ((_SECOND, _TYPING),))
    for number in machine.memory:
        yield from _unless(number, ((_FIRST, (_INIT,)),))
    yield (_RETURN, 0, 0, _ALLOW)


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
