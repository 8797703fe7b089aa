"""The programs that install packages: pip, or uv where pip is missing."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from nanocoder import UsageError, one_line
from nanocoder_kit_process.capabilities import first_links

TIMEOUT_S: Final = 20.0
ASKED: Final = {
    "pip": (
        (("config", "list"), r"^(?:global|install|:env:)\.index-url='(.*)'$"),
        (("download", "--help"), r"--index-url[^(]*\(default\s+(\S+)\)"),
    ),
    "uv": (
        (
            ("compile", "-", "--emit-index-url", "--no-header", "--quiet"),
            r"^--index-url (\S+)$",
        ),
    ),
}
"""Commands of pip and uv that name the index they ask, and where in their answers.

The help of pip has its default, but no passwords.
"""
ONLY: Final = {"pip": ("--isolated", "--index-url"), "uv": ("--no-config", "--default-index")}
"""Options before the address of the only index to ask."""
SOURCES: Final = ("UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX", "UV_NO_INDEX")
"""Variables by which uv asks others, too; pip ignores its own in `--isolated`."""
CAUSE_CHARS: Final = 160
_NO_NETWORK: Final = re.compile(
    "dns error|failed to lookup address|name resolution|name or service not known"
    "|network is unreachable|connection refused|no route to host|NewConnectionError"
    "|error sending request|operation timed out",
    re.IGNORECASE,
)
"""Pattern of the output of pip and uv if the index cannot be reached."""


class Installer(NamedTuple):
    """The program that installs packages, "pip" or "uv", and its command line."""

    name: str
    command: list[str]

    def address(self) -> str:
        """Return the address of the index that it asks by default; "" if it does not say."""
        for words, pattern in ASKED[self.name]:
            command = [*self.command, *words]
            try:
                answer = subprocess.run(
                    command,
                    cwd="/",  # a version manager's uv obeys files of the folder it starts in
                    input="",
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return ""
            if addresses := re.findall(pattern, answer.stdout, flags=re.MULTILINE):
                return str(addresses[-1])
        return ""


class Ended(NamedTuple):
    """The installer that ran, its exit code, and its output *folder*.

    *is_offline* means that the index could not be reached, for the reason *cause*.
    """

    tool: str = ""
    code: int = 0
    folder: Path = Path()
    is_offline: bool = False
    cause: str = ""


def find_installer() -> Installer:
    """Return pip, or uv if pip is missing, for this environment; raises UsageError."""
    if importlib.util.find_spec("pip"):
        return Installer("pip", [sys.executable, "-P", "-m", "pip"])
    if uv := shutil.which("uv"):
        # A uv.toml or pyproject.toml of the folder here would choose another index.
        return Installer("uv", [uv, "--project", "/", "pip"])
    raise UsageError(
        f"neither pip nor uv is available to change the packages in {sys.prefix}:"
        " install one of them first"
    )


def run_installer(action: str, *packages: str, index: str = "") -> Ended:
    """Run pip, or uv if pip is missing, on this environment.

    "unpack" installs wheels in a folder, "take" installs them here; neither builds anything.
    "build" installs folders of sources in a folder. With *index*, no other index and no folder of
    wheels is asked.
    """
    tool, program = find_installer()
    only = [*ONLY[tool], index] if index else []
    verb = "install" if action in {"unpack", "take", "build"} else action
    if tool == "pip":
        built = ["--only-binary", ":all:"]
        quiet = ["--no-compile", "-q"]
        options = {"uninstall": ["-y"], "unpack": [*built, *quiet], "take": built, "build": quiet}
        command = [*program, verb, *options.get(action, []), *only, *packages]
    else:
        quiet = ["--quiet"]
        options = {"unpack": ["--no-build", *quiet], "take": ["--no-build"], "build": quiet}
        head = [*program, verb, "--python", sys.executable]
        links = first_links() if action != "uninstall" and not index else []
        command = [*head, *options.get(action, []), *only, *links, *packages]
    command = [command[0], *map(_absolute, command[1:])]
    if variables := _variables(index):
        command = ["/usr/bin/env", *variables, *command]
    stderr = subprocess.PIPE if action == "unpack" else None
    # A version manager's uv, and uv itself, obey files of the folder that they start in.
    process = subprocess.run(command, check=False, cwd="/", stderr=stderr)
    if action != "unpack":
        return Ended(tool, process.returncode)
    text = process.stderr.decode("utf-8", "replace")
    cause = _offline_cause(text) if process.returncode else ""
    if not cause and "--offline" not in packages:
        sys.stderr.write(text)
        sys.stderr.flush()
    return Ended(tool, process.returncode, is_offline=bool(cause), cause=cause)


def _variables(index: str) -> list[str]:
    """Return the words of `env` that set or remove the variables of sources for an installer."""
    if index:
        return [word for name in SOURCES for word in ("-u", name)]
    links = {
        "UV_FIND_LINKS": os.environ.get("UV_FIND_LINKS", ""),
        "PIP_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", ""),
    }
    return [f"{name}={_absolute_links(text)}" for name, text in links.items() if text]


def is_path(name: str) -> bool:
    """Return True if *name*, without extras, is a path and not the name of a package."""
    return name in {".", ".."} or "/" in name or name.endswith((".whl", ".tar.gz"))


def _absolute(word: str) -> str:
    """Return an argument in full if it is the path of something here; extras may follow it."""
    path, bracket, extras = word.partition("[")
    is_there = is_path(path) and Path(path).exists()
    return f"{Path(path).absolute()}{bracket}{extras}" if is_there else word


def _absolute_links(text: str) -> str:
    """Return the folders of wheels in *text*, separated by commas or spaces, in full."""
    return re.sub(r"[^\s,]+", lambda link: str(_here(link[0])), text)


def _here(link: str) -> str | Path:
    return Path(link).absolute() if Path(link).exists() else link


def _offline_cause(text: str) -> str:
    """Return the network error in the installer's output, or "" for other failures."""
    lines = [line.strip() for line in text.splitlines() if _NO_NETWORK.search(line)]
    return one_line(lines[-1].removeprefix("cause: "), CAUSE_CHARS) if lines else ""
