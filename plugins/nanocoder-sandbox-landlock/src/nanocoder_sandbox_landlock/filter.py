"""The filter of calls inside Landlock: what Landlock does not know is refused, or asked about."""

import errno
import os
from collections.abc import Iterator
from functools import cache
from typing import Final

from nanocoder_kit_sandbox.filter import (
    CONTROL,
    SOCKETS,
    Instruction,
    answer,
    any_bit,
    filter_program,
    none_of,
    numbers,
    one_of,
    refuse,
)

_ASK: Final = 0x7FC0_0000
_OPEN: Final = "open 2 -"
_OPENAT: Final = "openat 257 56"
# The other calls that are asked about; each name is a method of Broker, or made one there.
_ASKED: Final = """
    creat 85 - mkdir 83 - mkdirat 258 34 rmdir 84 - unlink 87 - unlinkat 263 35 rename 82 -
    renameat 264 38 renameat2 316 276 symlink 88 - symlinkat 266 36 truncate 76 45 chmod 90 -
    fchmod 91 52 fchmodat 268 53 fchmodat2 452 452 chown 92 - fchown 93 55 lchown 94 -
    fchownat 260 54 utimensat 280 88 link 86 - linkat 265 37 mknod 133 - mknodat 259 33
"""
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_ATTRIBUTES: Final = """
    setxattr 188 5 lsetxattr 189 6 fsetxattr 190 7 setxattrat 463 463
    removexattr 197 14 lremovexattr 198 15 fremovexattr 199 16 removexattrat 466 466
"""
# Memory, semaphores and messages of System V, which processes find by a number.
_SHARED: Final = """
    shmget 29 194 shmat 30 196 shmctl 31 195 shmdt 67 197 semget 64 190 semop 65 193 semctl 66 191
    semtimedop 220 192 msgget 68 186 msgsnd 69 189 msgrcv 70 188 msgctl 71 187
"""
# These set something of a process, their first argument: 0 is the one that calls.
_OF_PROCESS: Final = """
    prlimit64 302 261 sched_setparam 142 118 sched_setscheduler 144 119 sched_setaffinity 203 122
    sched_setattr 314 274 migrate_pages 256 238 move_pages 279 239
"""
# These do so of their second argument, or of all processes of a user, if the first says so.
_OF_OWNER: Final = {"setpriority 141 140": 2, "ioprio_set 251 30": 3}
# No filter sees the arguments of these, or newer ones do the same; programs do without them.
_ABSENT: Final = "clone3 435 435 file_setattr 469 469 utime 132 - utimes 235 - futimesat 261 -"
_UNSHARE: Final = "unshare 272 97"
_CLONE: Final = "clone 56 220"
_CONNECT: Final = "connect 42 203"
_NAMESPACES: Final = 0x7E02_0000  # CLONE_NEW…
_SET_FLAGS: Final = (0x4008_6602, 0x401C_5820)  # FS_IOC_SET_FLAGS, FS_IOC_FSSETXATTR
_LOCAL: Final = 1  # AF_UNIX
_STREAMS: Final = (1, 5)  # SOCK_STREAM and SOCK_SEQPACKET, which have to connect
_TYPE: Final = 0xF


@cache
def asked_calls() -> dict[int, str]:
    """Return the names by number; nothing for a processor that is not known."""
    table = numbers(f"{_OPEN} {_OPENAT} {_ASKED}")
    return {number: name for name, number in table.items()}


@cache
def landlock_filter(*, network: bool, reads: bool) -> bytes:
    """Return the filter; b"" for a processor that is not known.

    *reads*: whether it is also asked about files that are opened only to be read.
    """
    return filter_program(_instructions(network=network, reads=reads))


def _instructions(*, network: bool, reads: bool) -> Iterator[Instruction]:
    yield from answer(_OPEN, _ASK, *(() if reads else (any_bit(1, _WRITING),)))
    yield from answer(_OPENAT, _ASK, *(() if reads else (any_bit(2, _WRITING),)))
    yield from answer(_ASKED, _ASK)
    yield from refuse(_ATTRIBUTES, errno.EOPNOTSUPP)
    yield from refuse(_SHARED, errno.EPERM)
    yield from refuse(_OF_PROCESS, errno.EPERM, none_of(0, 0))
    for call, user in _OF_OWNER.items():
        yield from refuse(call, errno.EPERM, one_of(0, user))
        yield from refuse(call, errno.EPERM, none_of(1, 0))
    yield from refuse(_ABSENT, errno.ENOSYS)
    yield from refuse(_UNSHARE, errno.EPERM)
    yield from refuse(_CLONE, errno.EPERM, any_bit(0, _NAMESPACES))
    yield from refuse(CONTROL, errno.EPERM, one_of(1, *_SET_FLAGS))
    if not network:
        yield from refuse(_CONNECT, errno.ENETUNREACH)
        # Datagrams go to an address that no filter sees, and raw local sockets are of these.
        yield from refuse(SOCKETS, errno.ENETUNREACH, none_of(0, _LOCAL))
        yield from refuse(SOCKETS, errno.ENETUNREACH, none_of(1, *_STREAMS, mask=_TYPE))
