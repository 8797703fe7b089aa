"""The numbers of the calls that are asked about inside Landlock, on each kind of processor."""

import os
from typing import Final

_CALLS: Final = {
    "x86_64": {
        2: "open",
        257: "openat",
        85: "creat",
        83: "mkdir",
        258: "mkdirat",
        84: "rmdir",
        87: "unlink",
        263: "unlinkat",
        82: "rename",
        264: "renameat",
        316: "renameat2",
        88: "symlink",
        266: "symlinkat",
        76: "truncate",
        90: "chmod",
        91: "fchmod",
        268: "fchmodat",
        452: "fchmodat2",
        92: "chown",
        93: "chown",
        94: "chown",
        260: "fchownat",
        132: "utime",
        235: "utimes",
        261: "futimesat",
        280: "utimensat",
        86: "link",
        265: "link",
        133: "link",
        259: "link",
    },
    "aarch64": {
        56: "openat",
        34: "mkdirat",
        35: "unlinkat",
        38: "renameat",
        276: "renameat2",
        36: "symlinkat",
        45: "truncate",
        52: "fchmod",
        53: "fchmodat",
        452: "fchmodat2",
        54: "fchownat",
        55: "chown",
        88: "utimensat",
        37: "link",
        33: "link",
    },
}
"""A "link" is also a pipe or another special file: Landlock judges them while we are there."""
FLAGS: Final = {"open": 1, "openat": 2}
"""Which argument of a call says whether it writes: it is asked about only then."""


def asked_calls() -> dict[int, str]:
    """Return the names by number; nothing for a processor that is not known."""
    return _CALLS.get(os.uname().machine, {})
