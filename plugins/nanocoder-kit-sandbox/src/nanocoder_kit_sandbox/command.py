"""The last steps of a process before it becomes a command inside Landlock."""

from __future__ import annotations

import os
import resource

from nanocoder_kit_sandbox import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Final, NoReturn
else:
    import _signal as signal

NOT_FOUND: Final = 127
_NOT_IGNORED: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""An interpreter ignores them, which a command must not inherit."""

Environment = dict[str, str]


def stay_with_parent() -> None:
    """End with the process that started this one, and be reached by no signal for its group."""
    kernel.end_with_parent(signal.SIGKILL)
    os.setsid()


def restrict(limits: dict[int, int], ruleset: int) -> None:
    """Give up all that *limits* and a ruleset do not leave; raises OSError."""
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))
    kernel.restrict(ruleset)


def resolve(
    variables: dict[str, str | None], argv: list[str], environment: Environment
) -> tuple[str, list[str], Environment]:
    """Return the path of the program of *argv*, *argv*, and its environment with *variables*."""
    path = _readable_path(environment.get("PATH", os.defpath))
    merged = {**environment, "PATH": path, **variables}
    environment = {name: value for name, value in merged.items() if value is not None}
    return _find(argv[0], path), argv, environment


def run(program: str, argv: list[str], environment: Environment) -> NoReturn:
    """Become the command; raises OSError."""
    for number in _NOT_IGNORED:
        signal.signal(number, signal.SIG_DFL)
    os.execve(program, argv, env=environment)  # noqa: S606 - no shell reads the words


def rehearse(environment: Environment) -> None:
    """Do what changes little: after a fork, a page of memory is copied when it is first touched."""
    program, argv, environment = resolve({}, ["sh"], {**environment, "PATH": os.defpath})
    try:
        run(f"/dev/null/{program}", argv, environment)
    except OSError:  # there is no such program, and all but its start is done
        return


def say_failed(argv: list[str], error: OSError) -> None:
    """Say on standard error why the program of *argv* did not start."""
    os.write(2, f"nanocoder: {argv[0]}: {error.strerror}\n".encode())


def _readable_path(path: str) -> str:
    """Return *path* without virtual environments that the rules hide.

    The links in them lead to a Python that starts, and then fails for want of `pyvenv.cfg`.
    """
    return ":".join(folder for folder in path.split(":") if not _is_hidden_environment(folder))


def _is_hidden_environment(folder: str) -> bool:
    try:
        os.close(os.open(f"{os.path.dirname(folder.rstrip('/'))}/pyvenv.cfg", os.O_RDONLY))
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _find(name: str, path: str) -> str:
    folders = [""] if "/" in name else path.split(":")
    paths = [os.path.join(folder, name) for folder in folders]
    return next((path for path in paths if os.access(path, os.X_OK)), paths[0])
