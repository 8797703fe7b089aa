"""The filter of system calls inside, as the kernel's own program: what no command needs.

A call of another kind of processor (32 bits) fails, too: its numbers are other ones.
"""

import errno
import os
import stat
import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

Instruction = tuple[int, int, int, int]
_LOAD: Final = 0x20  # the word at an offset of the call's data
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_ANY_BIT: Final = 0x45
_AND: Final = 0x54
_RETURN: Final = 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
_ARGUMENT_BYTES: Final = 8
ALLOW: Final = 0x7FFF_0000
_FAIL: Final = 0x0005_0000
_X32: Final = 0x4000_0000
_ARCHITECTURES: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}

# A table has each call's name, and its number on each of these processors: "-" where it has none.
# These add and ask for keys, load code into the kernel, mount, enter namespaces, open files by a
# handle, take a file that another process has open, and change the machine as a whole.
_FORBIDDEN: Final = """
    add_key 248 217 request_key 249 218 keyctl 250 219 bpf 321 280 perf_event_open 298 241
    open_by_handle_at 304 265 init_module 175 105 finit_module 313 273 delete_module 176 106
    kexec_load 246 104 kexec_file_load 320 294 mount 165 40 umount2 166 39 pivot_root 155 41
    setns 308 268 swapon 167 224 swapoff 168 225 acct 163 89 quotactl 179 60 reboot 169 142
    settimeofday 164 170 open_tree 428 428 move_mount 429 429 fsopen 430 430 fsconfig 431 431
    fsmount 432 432 fspick 433 433 mount_setattr 442 442 userfaultfd 323 282 pidfd_getfd 438 438
"""
# No filter sees enough of these; programs do without them.
_ABSENT: Final = """
    io_uring_setup 425 425 io_uring_enter 426 426 io_uring_register 427 427 openat2 437 437
"""
SOCKETS: Final = "socket 41 198 socketpair 53 199"
# Where the mode is in the second argument, and where in the third: mkdir takes no such bits.
_MODE_SECOND: Final = "chmod 90 - fchmod 91 52 creat 85 - mknod 133 -"
_MODE_THIRD: Final = "fchmodat 268 53 fchmodat2 452 452 mknodat 259 33"
_OPEN: Final = "open 2 -"
_OPENAT: Final = "openat 257 56"
_TRACE: Final = "ptrace 101 117"
CONTROL: Final = "ioctl 16 29"
_MEMORY: Final = "process_vm_readv 310 270 process_vm_writev 311 271"

_FAMILIES: Final = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_OWNERS: Final = stat.S_ISUID | stat.S_ISGID  # no program that runs as its owner is made
_NEW_FILE: Final = os.O_CREAT | 0x40_0000  # or without a name, as O_TMPFILE
_ATTACHING: Final = (16, 0x4206)  # PTRACE_ATTACH, PTRACE_SEIZE
_TYPING: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_INIT: Final = 1
"""The process of bubblewrap itself, which is the first inside."""


def filter_program(more: Iterable[Instruction] = ()) -> bytes:
    """Return the filter for this machine's processor; b"" for one that is not known.

    *more* is judged after what is refused always, with the call's number loaded.
    """
    architecture = _ARCHITECTURES.get(os.uname().machine)
    if architecture is None:
        return b""
    instructions = (*_of_machine(architecture), *_refusals(), *more, *_of_init())
    allow = (_RETURN, 0, 0, ALLOW)
    return b"".join(struct.pack("<HBBI", *each) for each in (*instructions, allow))


def numbers(table: str) -> dict[str, int]:
    """Return the numbers of a *table* of calls on this machine's processor, by name."""
    words = table.split()
    machines = list(_ARCHITECTURES)
    if (machine := os.uname().machine) not in machines:
        return {}
    calls = zip(words[::3], words[machines.index(machine) + 1 :: 3], strict=True)
    return {name: int(number) for name, number in calls if number != "-"}


class Condition(NamedTuple):
    """A test of an *argument*, counted from 0: it is one of *values*, or has their bits.

    *mask* are the bits that count, *code* how it is compared, and with *is_negated* it is none.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = 0
    code: int = _EQUAL
    is_negated: bool = False

    def before(self, rest: list[Instruction]) -> Iterator[Instruction]:
        """Yield *rest* behind what leads past it where the condition does not hold."""
        yield (_LOAD, 0, 0, _ARGUMENTS + _ARGUMENT_BYTES * self.argument)
        if self.mask:
            yield (_AND, 0, 0, self.mask)
        for index, value in enumerate(self.values, start=1):
            to_rest = len(self.values) - index
            past = to_rest + len(rest)
            yes, no = (past, 0) if self.is_negated else (to_rest, 0 if to_rest else past)
            yield (self.code, yes, no, value)
        yield from rest


def one_of(argument: int, *values: int, mask: int = 0) -> Condition:
    """Return the condition that an argument is one of *values*."""
    return Condition(argument, values, mask)


def none_of(argument: int, *values: int, mask: int = 0) -> Condition:
    """Return the condition that an argument is none of *values*."""
    return Condition(argument, values, mask, is_negated=True)


def any_bit(argument: int, bits: int) -> Condition:
    """Return the condition that an argument has one of *bits*."""
    return Condition(argument, (bits,), code=_ANY_BIT)


def answer(table: str, answer: int, *conditions: Condition) -> Iterator[Instruction]:
    """Yield instructions that *answer* the calls of a *table* that meet all *conditions*."""
    for number in numbers(table).values():
        body: list[Instruction] = [(_RETURN, 0, 0, answer)]
        for condition in reversed(conditions):
            body = list(condition.before(body))
        yield (_EQUAL, 0, len(body) + 1, number)
        yield from body
        yield (_LOAD, 0, 0, _NUMBER)  # otherwise it is judged by what follows, with its number


def refuse(table: str, error: int, *conditions: Condition) -> Iterator[Instruction]:
    """Yield instructions that fail the calls of a *table* that meet all *conditions*."""
    return answer(table, _FAIL | error, *conditions)


def _of_machine(architecture: int) -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _MACHINE)
    yield (_EQUAL, 1, 0, architecture)
    yield (_RETURN, 0, 0, _FAIL | errno.ENOSYS)
    yield (_LOAD, 0, 0, _NUMBER)
    yield (_AT_LEAST, 0, 1, _X32)
    yield (_RETURN, 0, 0, _FAIL | errno.ENOSYS)


def _refusals() -> Iterator[Instruction]:
    yield from refuse(_FORBIDDEN, errno.EPERM)
    yield from refuse(_ABSENT, errno.ENOSYS)
    yield from refuse(SOCKETS, errno.EAFNOSUPPORT, none_of(0, *_FAMILIES))
    yield from refuse(_MODE_SECOND, errno.EPERM, any_bit(1, _OWNERS))
    yield from refuse(_MODE_THIRD, errno.EPERM, any_bit(2, _OWNERS))
    yield from refuse(_OPEN, errno.EPERM, any_bit(1, _NEW_FILE), any_bit(2, _OWNERS))
    yield from refuse(_OPENAT, errno.EPERM, any_bit(2, _NEW_FILE), any_bit(3, _OWNERS))


def _of_init() -> Iterator[Instruction]:
    yield from refuse(_TRACE, errno.EPERM, one_of(0, *_ATTACHING), one_of(1, _INIT))
    yield from refuse(CONTROL, errno.EPERM, one_of(1, *_TYPING))
    yield from refuse(_MEMORY, errno.EPERM, one_of(0, _INIT))
