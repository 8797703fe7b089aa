"""Scan of a package's source for capabilities, without running it.

It finds uses that are written plainly. Obfuscated code evades it, so no sandbox depends on it.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

MAX_SOURCE_BYTES: Final = 2_000_000
MODULES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("subprocess", "pty", "multiprocessing", "nanocoder_kit_process"), "exec"),
    **dict.fromkeys(("ctypes", "cffi", "nanocoder_kit_process.git"), "exec"),
    **dict.fromkeys(("socket", "ssl", "ftplib", "smtplib", "telnetlib", "socketserver"), "net:*"),
    **dict.fromkeys(("httpx", "requests", "aiohttp", "websockets", "urllib3"), "net:*"),
    **dict.fromkeys(("http.client", "http.server", "urllib.request", "asyncio.streams"), "net:*"),
    **dict.fromkeys(("nanocoder_kit_llm.http", "nanocoder_kit_llm.net"), "net:*"),
    **dict.fromkeys(("shutil", "nanocoder_kit_process.temporary"), "fs.write"),
}
OS_FUNCTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp"), "exec"),
    **dict.fromkeys(("remove", "unlink", "rename", "replace", "rmdir", "removedirs"), "fs.write"),
    **dict.fromkeys(("mkdir", "makedirs", "link", "symlink", "truncate", "chmod"), "fs.write"),
    **dict.fromkeys(("listdir", "scandir", "walk", "fwalk"), "fs.read"),
}
METHODS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("write_text", "write_bytes", "unlink", "symlink_to"), "fs.write"),
    **dict.fromkeys(("read_text", "read_bytes", "iterdir", "rglob"), "fs.read"),
    **dict.fromkeys(("create_subprocess_exec", "create_subprocess_shell"), "exec"),
    **dict.fromkeys(("open_connection", "create_connection"), "net:*"),
}
"""Names of methods that are conclusive for any object."""
WRITING: Final = frozenset("wax+")


@frozen
class Use:
    """A location in the source that needs a capability."""

    capability: str
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} uses {self.text} ({self.capability})"


def scan(package: Path) -> list[Use]:
    """Return the uses of capabilities in the Python files of a package, in their order.

    A file that is too large or no Python is reported as `exec`, which permits anything.
    """
    uses: list[Use] = []
    for path in python_files(package):
        name = str(path.relative_to(package.parent))
        try:
            tree = ast.parse(_source(path))
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            uses.append(Use("exec", name, 1, "source that cannot be read"))
            continue
        uses += (Use(kind, name, line, text) for kind, line, text in _uses_of(tree))
    for path in sorted([*package.rglob("*.so"), *package.rglob("*.pyd")]):
        uses.append(Use("exec", str(path.relative_to(package.parent)), 1, "compiled code"))
    return uses


def python_files(package: Path) -> list[Path]:
    """Return the Python files of a package, which may be a folder or a single file."""
    return [package] if package.is_file() else sorted(package.rglob("*.py"))


def _source(path: Path) -> bytes:
    if path.stat().st_size > MAX_SOURCE_BYTES:
        raise ValueError("too large")
    return path.read_bytes()


def _uses_of(tree: ast.AST) -> Iterator[tuple[str, int, str]]:
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 1)
        for kind, text in _uses_at(node):
            yield kind, line, text


def _uses_at(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _imported(alias.name)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        module = node.module or ""
        for alias in node.names:
            yield from _imported_name(module, alias.name)
    elif isinstance(node, ast.Attribute):
        yield from _attribute(node)
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.Subscript) and _is_environ(node.value):
        yield _variable(node.slice), "os.environ"


def _imported(module: str) -> Iterator[tuple[str, str]]:
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if name in MODULES:
            yield MODULES[name], f"the module {name}"
            return


def _imported_name(module: str, name: str) -> Iterator[tuple[str, str]]:
    yield from _imported(f"{module}.{name}")
    if module == "os":
        if name in OS_FUNCTIONS or name.startswith(("exec", "spawn")):
            yield OS_FUNCTIONS.get(name, "exec"), f"os.{name}"
        elif name in {"environ", "getenv"}:
            yield "env:*", f"os.{name}"


def _attribute(node: ast.Attribute) -> Iterator[tuple[str, str]]:
    if isinstance(node.value, ast.Name) and node.value.id == "os":
        if node.attr in OS_FUNCTIONS:
            yield OS_FUNCTIONS[node.attr], f"os.{node.attr}"
        elif node.attr.startswith(("exec", "spawn")):
            yield "exec", f"os.{node.attr}"
    elif node.attr in METHODS:
        yield METHODS[node.attr], f".{node.attr}"


def _call(node: ast.Call) -> Iterator[tuple[str, str]]:
    function = node.func
    if isinstance(function, ast.Name) and function.id == "open":
        yield _opening(node), "open"
    elif isinstance(function, ast.Name) and function.id in {"eval", "exec", "__import__"}:
        yield "exec", f"{function.id}()"
    elif isinstance(function, ast.Attribute):
        first = node.args[0] if node.args else None
        if function.attr == "getenv" and isinstance(function.value, ast.Name):
            yield _variable(first), "os.getenv"
        elif function.attr == "get" and _is_environ(function.value):
            yield _variable(first), "os.environ"
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        if _is_environ(argument):
            yield "env:*", "os.environ as a whole"


def _opening(node: ast.Call) -> str:
    """Return the capability that `open(…)` needs; a computed mode may write."""
    modes = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
    mode = node.args[1] if len(node.args) > 1 else next(iter(modes), None)
    if mode is None:
        return "fs.read"
    text = mode.value if isinstance(mode, ast.Constant) else None
    return "fs.read" if isinstance(text, str) and WRITING.isdisjoint(text) else "fs.write"


def _is_environ(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr != "environ":
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "os"


def _variable(node: ast.AST | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return f"env:{node.value}"
    return "env:*"
