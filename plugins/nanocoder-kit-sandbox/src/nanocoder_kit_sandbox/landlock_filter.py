"""The filter of calls inside Landlock: what Landlock does not know is refused, or asked about."""

import errno
import os
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from nanocoder_kit_sandbox.filter import (
    Instruction,
    answer_call,
    fail,
    filter_program,
    goes_on,
)

_LOAD, _EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_NOT_ZERO: Final = (_EQUAL, 1, 0, 0)
_ASK: Final = 0x7FC0_0000
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NAMESPACES: Final = 0x7E02_0000  # CLONE_NEW…
_LOCAL: Final = 1  # AF_UNIX
_DATAGRAMS: Final = 2
_TYPE: Final = 0xF
_SET_FLAGS: Final = (0x4008_6602, 0x401C_5820)  # FS_IOC_SET_FLAGS, FS_IOC_FSSETXATTR


_CALLS: Final = {
    "x86_64": (
        "2 open 257 openat 85 creat 83 mkdir 258 mkdirat 84 rmdir 87 unlink 263 unlinkat "
        "82 rename 264 renameat 316 renameat2 88 symlink 266 symlinkat 76 truncate 90 "
        "chmod 91 fchmod 268 fchmodat 452 fchmodat2 92 chown 93 chown 94 chown 260 "
        "fchownat 132 utime 235 utimes 261 futimesat 280 utimensat 86 link 265 linkat 133 "
        "mknod 259 mknod"
    ),
    "aarch64": (
        "56 openat 34 mkdirat 35 unlinkat 38 renameat 276 renameat2 36 symlinkat 45 "
        "truncate 52 fchmod 53 fchmodat 452 fchmodat2 54 fchownat 55 chown 88 utimensat "
        "37 linkat 33 mknod"
    ),
}
"""The calls that are asked about, on each kind of processor: numbers, and methods of Broker."""
_FLAGS: Final = {"open": 1, "openat": 2}
"""Which argument of a call says whether it writes: it is asked about only then."""


class _Numbers(NamedTuple):
    """The numbers of calls on one kind of processor.

    *unsupported* and *shared* ones fail. *by_process* ones have a process as their first argument,
    *by_owner* ones as their second; they fail unless it is 0, the process that calls. Beside each
    of the latter stands what its first argument is for all processes of a user; then it fails, too.
    """

    unsupported: tuple[int, ...]
    shared: tuple[int, ...]
    by_process: tuple[int, ...]
    by_owner: tuple[tuple[int, int], ...]
    pair: int
    namespaces: int
    clone: int
    socket: int
    connect: int
    control: int


_ABSENT: Final = (435, 437, 469)
"""clone3, openat2 and file_setattr, whose arguments no filter sees; programs do without them."""
_NUMBERS: Final = {
    "x86_64": _Numbers(
        (188, 189, 190, 197, 198, 199, 463, 466),
        (29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71),
        (302, 142, 144, 203, 314, 256, 279),
        ((141, 2), (251, 3)),
        *(53, 272, 56, 41, 42, 16),
    ),
    "aarch64": _Numbers(
        (5, 6, 7, 14, 15, 16, 463, 466),
        (194, 195, 196, 197, 190, 191, 192, 193, 186, 187, 188, 189),
        (261, 118, 119, 122, 274, 238, 239),
        ((140, 2), (30, 3)),
        *(199, 97, 220, 198, 203, 29),
    ),
}
"""The unsupported ones set and remove extended attributes; the shared ones are those of System V:
memory, semaphores and messages. A process is what limits, priorities and processors are set of."""


@cache
def asked_calls() -> dict[int, str]:
    """Return the names by number; nothing for a processor that is not known."""
    words = _CALLS.get(os.uname().machine, "").split()
    return dict(zip(map(int, words[::2]), words[1::2], strict=True))


@cache
def landlock_filter(*, network: bool, reads: bool) -> bytes:
    """Return the filter; b"" for a processor that is not known.

    *reads*: whether it is also asked about files that are opened only to be read.
    """
    numbers = _NUMBERS.get(os.uname().machine)
    if numbers is None:
        return b""
    return filter_program(tuple(_instructions(numbers, network=network, reads=reads)))


def _instructions(numbers: _Numbers, *, network: bool, reads: bool) -> Iterator[Instruction]:
    refused = fail(errno.EPERM)
    for number, name in asked_calls().items():
        if name in _FLAGS and not reads:
            yield from _where(number, _FLAGS[name], _any_bit(_WRITING), _ASK)
        else:
            yield from answer_call(number, _ASK)
    for number in numbers.unsupported:
        yield from answer_call(number, fail(errno.EOPNOTSUPP))
    for number in numbers.shared:
        yield from answer_call(number, refused)
    for number in numbers.by_process:
        yield from _where(number, 0, _NOT_ZERO, refused)
    for number, user in numbers.by_owner:
        yield from _where(number, 0, _equals(user), refused)
        yield from _where(number, 1, _NOT_ZERO, refused)
    for number in _ABSENT:
        yield from answer_call(number, fail(errno.ENOSYS))
    yield from answer_call(numbers.namespaces, refused)
    yield from _where(numbers.clone, 0, _any_bit(_NAMESPACES), refused)
    for command in _SET_FLAGS:
        yield from _where(numbers.control, 1, _equals(command), refused)
    if not network:
        yield from answer_call(numbers.connect, fail(errno.ENETUNREACH))
        yield from _other_sockets(numbers.socket)
        yield from _other_sockets(numbers.pair)


def _other_sockets(number: int) -> Iterator[Instruction]:
    """Refuse each socket but a local stream: datagrams go to an address that no filter sees."""
    refusal = fail(errno.ENETUNREACH)
    body = (
        (_LOAD, 0, 0, _argument(0)),
        (_EQUAL, 1, 0, _LOCAL),
        (_RETURN, 0, 0, refusal),
        (_LOAD, 0, 0, _argument(1)),
        (_AND, 0, 0, _TYPE),
        (_EQUAL, 0, 1, _DATAGRAMS),
        (_RETURN, 0, 0, refusal),
        goes_on(),
    )
    yield (_EQUAL, 0, len(body), number)
    yield from body


def _where(number: int, at: int, test: Instruction, answer: int) -> Iterator[Instruction]:
    """Give a call the *answer* where its argument *at* passes a *test*."""
    yield (_EQUAL, 0, 4, number)
    yield (_LOAD, 0, 0, _argument(at))
    yield test
    yield (_RETURN, 0, 0, answer)
    yield (_LOAD, 0, 0, 0)  # otherwise it is judged by what follows, with its number


def _any_bit(bits: int) -> Instruction:
    return (_ANY_BIT, 0, 1, bits)


def _equals(value: int) -> Instruction:
    return (_EQUAL, 0, 1, value)


def _argument(at: int) -> int:
    return 16 + 8 * at
