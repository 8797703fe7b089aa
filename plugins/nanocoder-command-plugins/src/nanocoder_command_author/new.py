"""`nanocoder plugins new`: a package whose tests pass at once."""

import ast
import json
import os
import re
import shlex
import shutil
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from string import Template

from nanocoder import STYLES, Host, UsageError, __version__
from nanocoder_kit_process.capabilities import scan

TEMPLATES = Path(__file__).resolve().parent / "template"
SUFFIX = ".template"
"""Suffix that hides the templates from linters and test runners."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME_CHARS = 40
RULE = "lower-case letters and digits, words joined by dashes, a letter first"
NO_HOOK = (
    "{0} has no hook, so nothing of it would be used: a plugin has functions with @hookimpl, such"
    " as nanocoder_tools for tools; `nanocoder plugins new tool example` makes one to look at."
    " Nothing was written"
)
NO_TOOLS_OFFERED = (
    "{0} has a tool, but no hook that offers it: add a function nanocoder_tools with @hookimpl"
    " that returns a list of its tools. Nothing was written"
)
CONTRACT = "tests/test_contract.py"
README = """# {distribution}

{description} `nanocoder plugins install ./{distribution}` installs it.
"""
"""The first page of a package around a file that a person wrote."""
DESCRIPTIONS = {
    "tool": "The tool {identifier} for nanocoder.",
    "policy": "A policy for nanocoder: {name}.",
    "provider": "The provider {name} for nanocoder.",
    "ui": "The screen {name} for nanocoder.",
}


def run(arguments: Namespace, host: Host) -> int:
    """Create the package, and print the commands that test and install it."""
    folder = make_package(arguments.kind, arguments.name, arguments.into, arguments.code)
    quoted = shlex.quote(str(folder))
    host.print_line(f"{folder} is ready. Next:")
    # The kit has pytest; the other Pythons of the machine may have neither it nor nanocoder.
    for action in ("install testing", f"test {quoted}", f"install {os.path.join('.', quoted)}"):
        host.print_line(f"  nanocoder plugins {action}")
    return 0


def make_package(
    kind: str, name: str, into: str | os.PathLike[str] = ".", code: str | None = None
) -> Path:
    """Write a plugin package below *into*, with the file *code* as its module; return its folder.

    Raises: UsageError for a name that breaks the rule, a folder that is there already, a file that
    cannot be read, and a directory that cannot be written; nothing half-written is left behind.
    """
    check_name(kind, name)
    words = words_of(kind, name)
    files = dict(rendered(kind, words))
    if code is not None:
        files = _around(code, words, files)
    parent = Path(into)
    folder = parent / words["distribution"]
    if not parent.is_dir():
        raise UsageError(f"there is no directory {str(parent)!r} to put {folder.name} into")
    if os.path.lexists(folder):
        raise UsageError(f"{str(folder)!r} already exists; choose another name or --into DIR")
    try:
        _write(files, folder)
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be written: {error.strerror}") from error
    return folder


def check_name(kind: str, name: str) -> None:
    """Raise UsageError, with the nearest valid name, for an invalid one."""
    better = _better(kind, name)
    fits = NAME.fullmatch(better) is not None and len(better) <= MAX_NAME_CHARS
    if fits and name == better:
        return
    hint = f"; did you mean {better!r}?" if fits else ""
    rule = f"{RULE}, {MAX_NAME_CHARS} characters at most"
    raise UsageError(f"{name!r:.80} is not a plugin name: {rule}{hint}")


def words_of(kind: str, name: str) -> dict[str, str]:
    """Return the values of the templates' placeholders."""
    distribution = f"nanocoder-{kind}-{name}"
    identifier = name.replace("-", "_")
    return {
        "name": name,
        "identifier": identifier,
        "plugin": f"{kind}-{name}",
        "distribution": distribution,
        "module": distribution.replace("-", "_"),
        "description": DESCRIPTIONS[kind].format(name=name, identifier=identifier),
        "range": _compatible(__version__),
    }


def _compatible(version: str) -> str:
    """Return the requirement of this minor version: `>=0.1,<0.2` for 0.1.5."""
    major, minor = version.split(".")[:2]
    return f">={major}.{minor},<{major}.{int(minor) + 1}"


def _better(kind: str, name: str) -> str:
    """Return *name* changed to follow the naming rule."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    plain = re.sub(r"[^a-z0-9]+", "-", parted.lower()).strip("-").lstrip("0123456789-")
    plain = plain.removeprefix("nanocoder-").removeprefix(f"{kind}-")
    return f"my-{plain}" if iskeyword(plain) else plain


def _around(code: str, words: dict[str, str], files: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a package whose module is the file *code*."""
    try:
        text = Path(code).read_text(encoding="utf-8")
        module = ast.parse(text)
    except OSError as error:
        raise UsageError(f"{code!r} cannot be read: {error.strerror}") from error
    except SyntaxError as error:
        raise UsageError(f"{code}:{error.lineno}: {error.msg}") from error
    except ValueError as error:  # as for text that is not UTF-8
        raise UsageError(f"{code!r} is no Python: {error}") from error
    tools = list(_tools_of(module))
    if not _has_hook(module):
        raise UsageError(NO_TOOLS_OFFERED.format(code) if tools else NO_HOOK.format(code))
    source, distribution = f"src/{words['module']}", words["distribution"]
    first = README.format(distribution=distribution, description=words["description"])
    return {
        "README.md": "\n".join([first, *tools]),
        "pyproject.toml": files["pyproject.toml"],
        CONTRACT: files[CONTRACT],
        f"{source}/__init__.py": text,
        f"{source}/nanocoder-plugin.toml": _manifest(text),
        f"{source}/py.typed": "",
    }


def _manifest(text: str) -> str:
    """Return the declaration of the capabilities that the code *text* uses."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "code.py").write_text(text, encoding="utf-8")
        used = sorted({use.capability for use in scan(Path(folder))})
    return f"api = 1\ncapabilities = {json.dumps(used)}\n"


def _tools_of(module: ast.Module) -> Iterator[str]:
    """Yield a line about each function with the decorator `tool`."""
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [ast.unparse(each).partition("(")[0] for each in node.decorator_list]
            if {"tool", "nanocoder.tool"}.intersection(names):
                first_line = (ast.get_docstring(node) or "").partition("\n")[0]
                yield f"- `{node.name}`: {first_line}\n"


def _has_hook(module: ast.Module) -> bool:
    """Return True if *module* has something with the name of a hook: its own, or imported."""
    names = set[str]()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return not names.isdisjoint(STYLES)


def _write(files: Mapping[str, str], folder: Path) -> None:
    """Write into a folder beside *folder*, then give it its name in one step."""
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for relative, text in files.items():
            path = draft / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        draft.chmod(0o755)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def rendered(kind: str, words: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each file of a package: its path below the package's folder, and its text."""
    root = TEMPLATES / kind
    for path in sorted(root.rglob(f"*{SUFFIX}")):
        relative = str(path.relative_to(root)).removesuffix(SUFFIX)
        text = Template(path.read_text(encoding="utf-8")).substitute(words)
        yield relative.replace("MODULE", words["module"]), text
