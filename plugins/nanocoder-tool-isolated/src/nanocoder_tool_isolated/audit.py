"""An audit hook of Python that enforces capabilities."""

import os
import sys
from pathlib import Path
from typing import Any, Final

from nanocoder import ToolError
from nanocoder_kit_process.capabilities import Capabilities

STARTS: Final = frozenset(
    {
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork"),
        *("os.forkpty", "pty.spawn"),
    }
)
REACHES: Final = frozenset(
    {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
)
CHANGES: Final = frozenset(
    {
        *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod"),
        *("os.chown", "os.truncate", "os.utime", "shutil.rmtree", "shutil.move"),
    }
)
WRITE_FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OWN_FOLDERS: Final = ("/tmp", "/dev")  # noqa: S108 - its own, in the sandbox


class CapabilityDenied(ToolError):
    """Code of a plugin used a capability that the plugin does not declare."""

    error_class = "capability_denied"


def watch(capabilities: Capabilities, workspace: Path) -> None:
    """Enforce *capabilities* in this process from now on; this cannot be undone.

    A violation raises CapabilityDenied; a change outside of the workspace is always one.
    """
    root = os.path.realpath(workspace)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        needed = _needed(event, arguments, root)
        if needed and needed not in capabilities:
            deed = f"{event} {arguments[0]!r:.120}" if arguments else event
            raise CapabilityDenied(f"the plugin does not declare {needed}, which {deed} needs")

    sys.addaudithook(hook)


def _needed(event: str, arguments: tuple[Any, ...], root: str) -> str:
    """Return the capability that an event of Python needs, "" for none."""
    if event in STARTS or event == "ctypes.dlopen":
        return "exec"
    if event in REACHES:
        return f"net:{_host(arguments)}"
    if event in CHANGES:
        return _to_change(arguments[0], root)
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & WRITE_FLAGS:
            return _to_change(path, root)
        return "fs.read" if _is_below(path, root) else ""
    return ""


def _to_change(path: Any, root: str) -> str:
    """Return the capability to change *path*; raises ToolError if there is none."""
    if _is_below(path, root):
        return "fs.write"
    if isinstance(path, int) or any(_is_below(path, folder) for folder in OWN_FOLDERS):
        return ""
    raise ToolError(
        f"{path!r:.120} is not in the workspace, and a plugin in a process of its own may change"
        " nothing else",
        error_class="path_outside_workspace",
    )


def _host(arguments: tuple[Any, ...]) -> str:
    address = arguments[1] if len(arguments) > 1 else None
    host = address[0] if isinstance(address, tuple) else arguments[0]
    return host.lower() if isinstance(host, str) and host else "*"


def _is_below(path: Any, root: str) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    real = os.path.realpath(os.fsdecode(path))
    return real == root or real.startswith(f"{root}/")
