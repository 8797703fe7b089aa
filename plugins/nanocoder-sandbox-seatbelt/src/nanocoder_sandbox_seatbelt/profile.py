"""The profile of a command, in the language of Seatbelt, made of plain data.

The last rule that matches an operation counts, so all that denies comes after all that allows.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from attrs import frozen

BASE: Final = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow user-preference-read ipc-posix-sem mach-host* pseudo-tty)
(allow file-read* file-map-executable)
(allow file-write-data file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper")
  (literal "/dev/stdout") (literal "/dev/stderr") (subpath "/dev/fd"))
(allow file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-write* file-ioctl
  (require-all (regex "^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.PowerManagement.control"))
(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))
(allow sysctl-read
  (sysctl-name-prefix "hw.") (sysctl-name-prefix "machdep.cpu.") (sysctl-name-prefix "vm.")
  (sysctl-name-prefix "kern.os") (sysctl-name-prefix "kern.proc.pgrp.")
  (sysctl-name-prefix "kern.proc.pid.") (sysctl-name-prefix "net.routetable.")
  (sysctl-name "kern.argmax") (sysctl-name "kern.boottime") (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfilesperproc") (sysctl-name "kern.maxproc") (sysctl-name "kern.ngroups")
  (sysctl-name "kern.secure_kernel") (sysctl-name "kern.usrstack64") (sysctl-name "kern.version")
  (sysctl-name "sysctl.proc_cputype"))
"""
"""Rules that each program needs to start.

Left out are kern.procargs2, which shows the environments of other processes, and links and clones
of files: by another name, the rules on paths would not hold.
"""
NETWORK: Final = """\
(allow network* system-socket)
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd.agent"))
(deny network-outbound (require-all (remote unix-socket)
  (require-not (literal "/private/var/run/mDNSResponder"))))
"""
"""Every host. The agents and services behind sockets of the file system stay out of reach."""
ANY_FOLDER: Final = "(/[^/]+)*"


@frozen
class Boundary:
    """The rights of a command; each path is absolute, without links, and includes all below.

    *root* is the workspace, changed only where it *is_writable*; *writable* may be changed always.
    In the workspace *protected* stays as it is, and nothing with one of *names* can be made
    ("a/b": b directly in a; "*": any letters), except for *released*. *hidden* cannot be read.
    """

    root: str
    is_writable: bool
    writable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    has_network: bool = False


def profile(boundary: Boundary) -> str:
    """Return the profile that holds a command to *boundary*."""
    return BASE + "".join(f"{rule}\n" for rule in _rules(boundary))


def _rules(boundary: Boundary) -> Iterator[str]:
    roots = [*boundary.writable, *([boundary.root] if boundary.is_writable else [])]
    if boundary.has_network:
        yield NETWORK.rstrip("\n")
    yield f"(allow file-write* {_below(roots)})" if roots else "(deny file-write*)"
    if boundary.is_writable:
        yield from _protecting_rules(boundary)
    # Read-only where it lies, it could be moved away together with a folder above it.
    pinned = sorted({*roots, *_ancestors((*boundary.protected, *boundary.hidden), roots)})
    yield f"(deny file-write-unlink {' '.join(f'(literal {quote(path)})' for path in pinned)})"
    if boundary.hidden:
        yield f"(deny file-read* file-write* process-exec {_below(boundary.hidden)})"


def _protecting_rules(boundary: Boundary) -> Iterator[str]:
    """Yield the rules that keep protected names of the workspace as they are."""
    besides = f" (require-not (require-any {_below(boundary.released)}))"
    end = besides if boundary.released else ""
    for name in boundary.names:
        yield f"(deny file-write* (require-all {_named(boundary.root, name)}{end}))"
    if boundary.protected:
        yield f"(deny file-write* {_below(boundary.protected)})"
    # A file of this name makes its folder a repository, with settings that git obeys.
    head = f"^{_escaped(boundary.root.rstrip('/'))}/{_any_case('HEAD')}$"
    yield f"(deny file-write* (regex {quote(head)}))"


def quote(text: str) -> str:
    r"""Return *text* as a string of a profile: only \ and " mean something in one."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _below(paths: tuple[str, ...] | list[str]) -> str:
    return " ".join(f"(subpath {quote(path)})" for path in paths)


def _named(root: str, name: str) -> str:
    """Return the filter for *name*, in any case, wherever it is below *root*, and all in it."""
    # [^/] rather than a dot, which need not stand for a line break.
    letters = "[^/]*".join(map(_any_case, name.split("*")))
    above = _escaped(root.rstrip("/")) + ANY_FOLDER
    return f"(regex {quote(f'^{above}/{letters}(/|$)')})"


def _any_case(name: str) -> str:
    return "".join(
        f"[{letter.lower()}{letter.upper()}]" if letter.isalpha() else _escaped(letter)
        for letter in name
    )


def _escaped(text: str) -> str:
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", text)


def _ancestors(paths: tuple[str, ...], roots: list[str]) -> Iterator[str]:
    """Yield the folders above *paths* that lie in one of *roots*."""
    for path in paths:
        for above in PurePosixPath(path).parents:
            if any(above.is_relative_to(root) for root in roots):
                yield str(above)
