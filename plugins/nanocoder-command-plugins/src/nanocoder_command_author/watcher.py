"""Import plugins and record the acts of their code; runs in a process of its own."""

import atexit
import inspect
import json
import os
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, Final

CODE: Final = "import sys; from nanocoder_command_author.watcher import main; main(sys.argv[1:])"
GROUP: Final = "nanocoder"
END: Final = "end"
THREADS_S: Final = 1.0
"""Time for which threads started by an import are watched, in seconds."""

_IMPORTING: Final = "<frozen importlib"
_WRITE_FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

Place = tuple[str, int, bool]
"""A file, a line of it, and whether an import of another module lies behind it."""
LATER: Final[Place] = ("in a thread or at the end of the process", 0, True)


def main(plugins: list[str]) -> None:
    """Import the modules of *plugins*, and write a line for each deed, the last one at the end.

    Each line is JSON behind a word that standard input had, which only the starter knows.
    """
    sys.dont_write_bytecode = True
    modules = [point.module for name in plugins for point in _points(name)]
    _watch(modules)
    for module in modules:
        _import_all(module)
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(THREADS_S)


def _watch(modules: list[str]) -> None:
    """Report from now on; no frame that a plugin can inspect has access to the report."""
    nonce = sys.stdin.buffer.read()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    report = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a plugin's output is no report
    folders = tuple(filter(None, map(_folder_of, modules)))

    def write(line: object) -> None:
        os.write(report, nonce + json.dumps(line).encode() + b"\n")

    atexit.register(write, END)  # the first that is registered runs after all others
    sys.addaudithook(_hook(folders, write))


def _points(name: str) -> Iterator[Any]:
    return iter(entry_points(group=GROUP, name=name))


def _folder_of(module: str) -> str:
    """Return the folder of a module's package, or its file; nothing of it is imported."""
    spec = find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return ""
    return str(Path(spec.origin).parent) if spec.submodule_search_locations else spec.origin


def _import_all(name: str) -> None:
    """Import a module and its submodules; import errors are left to the contract suite."""
    try:
        module = import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001 - untrusted code
        return
    for below in pkgutil.iter_modules(getattr(module, "__path__", []), f"{name}."):
        if not below.name.endswith(".__main__"):
            _import_all(below.name)


def _hook(folders: tuple[str, ...], write: Callable[[object], None]) -> Callable[..., None]:
    reported: set[tuple[str, str, int]] = set()
    code_of_plugin = dict[str, Place]()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in NAMES_OF_CODE:
            _record_code(NAMES_OF_CODE[event](arguments), folders, code_of_plugin)
            return
        if (deed := DEEDS.get(event)) is None:
            return
        location = _location_of(inspect.currentframe(), folders, code_of_plugin)
        if location is None:
            return
        file, line, is_import = location
        capability, text = deed(arguments)
        # A library that a plugin imports reads its own files, and may load compiled code.
        is_its_own = is_import and (capability == "fs.read" or event.startswith("ctypes."))
        if not capability or is_its_own or (capability, file, line) in reported:
            return
        reported.add((capability, file, line))
        write([capability, file, line, text])

    return hook


def _record_code(name: str, folders: tuple[str, ...], code_of_plugin: dict[str, Place]) -> None:
    """Record the location at which a plugin creates code with the foreign file name *name*."""
    location = _location_of(inspect.currentframe(), folders, code_of_plugin)
    is_own = any(_is_below(name, each) for each in folders)
    if location is not None and not location[2] and not is_own:
        code_of_plugin.setdefault(name, location)


def _location_of(
    frame: FrameType | None, folders: tuple[str, ...], code_of_plugin: Mapping[str, Place]
) -> Place | None:
    """Return the location in the plugin's code that causes an event, or None for others' events.

    Without a frame of the plugin it is where the plugin created the running code. An event
    outside of an import comes from a thread, a signal handler or the exit, set up by the plugin.
    """
    is_import, made_at, is_later = False, None, True
    while frame is not None:
        file = frame.f_code.co_filename
        is_import = is_import or file.startswith(_IMPORTING)
        folder = next((each for each in folders if _is_below(file, each)), None)
        if folder is not None and file != __file__:
            return os.path.relpath(file, Path(folder).parent), frame.f_lineno, is_import
        made_at = made_at or code_of_plugin.get(file)
        is_later = is_later and frame.f_code is not _import_all.__code__
        frame = frame.f_back
    return made_at or (LATER if is_later and folders else None)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _start(arguments: tuple[Any, ...]) -> tuple[str, str]:
    words = arguments[1] if len(arguments) > 1 else arguments[0] if arguments else ""
    items = words if isinstance(words, list | tuple) else [words]
    return "exec", f"starts {' '.join(map(_text, items))}".rstrip()


def _load(arguments: tuple[Any, ...]) -> tuple[str, str]:
    return "exec", f"loads the library {_text(arguments[0])}"


def _call(arguments: tuple[Any, ...]) -> tuple[str, str]:
    return "exec", f"calls {_text(arguments[-1])} of a library"


def _reach(arguments: tuple[Any, ...]) -> tuple[str, str]:
    address = arguments[-1]  # a socket comes before it
    if not isinstance(address, tuple):
        return "exec", f"reaches the socket {_text(address)}"
    return f"net:{_text(address[0])}", f"reaches {_text(address[0])}"


def _look_up(arguments: tuple[Any, ...]) -> tuple[str, str]:
    host = _text(arguments[0])
    return f"net:{host}", f"looks up {host}"


def _change(arguments: tuple[Any, ...]) -> tuple[str, str]:
    return "fs.write", f"changes {_text(arguments[0])}"


def _list(arguments: tuple[Any, ...]) -> tuple[str, str]:
    return "fs.read" if _is_foreign(arguments[0]) else "", f"lists {_text(arguments[0])}"


def _open(arguments: tuple[Any, ...]) -> tuple[str, str]:
    path, _, flags = arguments
    if isinstance(path, int):
        return "", ""
    if isinstance(flags, int) and flags & _WRITE_FLAGS:
        return "" if path == os.devnull else "fs.write", f"changes {_text(path)}"
    return "fs.read" if _is_foreign(path) else "", f"reads {_text(path)}"


def _is_foreign(path: object) -> bool:
    """Return True if a path belongs neither to Python nor to its installed packages."""
    full = os.path.abspath(_text(path))  # links are not followed: an installation may be one
    return not any(_is_below(full, root) for root in ROOTS)


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, bytes) else str(value)


ROOTS: Final = tuple(
    {sys.prefix, sys.base_prefix, *(os.path.abspath(path) for path in sys.path if path)}
)
_STARTS: Final = ("os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "pty.spawn")
_CHANGES: Final = (
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod"),
    *("os.chown", "os.truncate", "os.utime"),
)
DEEDS: Final[Mapping[str, Callable[[tuple[Any, ...]], tuple[str, str]]]] = {
    **dict.fromkeys(("subprocess.Popen", "os.spawn", *_STARTS), _start),
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto"), _reach),
    **dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname"), _look_up),
    **dict.fromkeys(_CHANGES, _change),
    **dict.fromkeys(("os.listdir", "os.scandir"), _list),
    "ctypes.dlopen": _load,
    "ctypes.dlsym": _call,
    "open": _open,
}
"""A function for each event of Python: the capability that it needs ("" for none), and a text."""
NAMES_OF_CODE: Final[Mapping[str, Callable[[tuple[Any, ...]], str]]] = {
    "compile": lambda arguments: _text(arguments[1]),
    "exec": lambda arguments: arguments[0].co_filename,
    "code.__new__": lambda arguments: _text(arguments[1]),
}
"""The events that make or run code; each function returns the file that the code claims."""
