"""Import test of a package's plugins, in a child process after the installation."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from nanocoder import one_line

DEADLINE_S: Final = 30.0
MAX_CHARS: Final = 300
NOT_INSTALLED: Final = (
    "{name} cannot be imported: {problem}. It was not installed, and what was there before stays"
)
TRIES: Final = """\
import os, sys, traceback
from importlib.metadata import entry_points
out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
problem = ""
try:
    for point in entry_points(group="nanocoder", name=sys.argv[1]):
        point.load()
except BaseException as error:
    place = traceback.extract_tb(error.__traceback__)[-1]
    file = "/".join(place.filename.split("/")[-2:])
    problem = f"{type(error).__name__}: {error} ({file}:{place.lineno})"
os.write(out, b"\\n" + problem.encode("utf-8", "replace"))
os._exit(0)
"""


def broken_ones(plugins: Iterable[str], *folders: Path) -> Iterator[tuple[str, str]]:
    """Yield each of *plugins* that cannot be imported, and the reason.

    Packages in *folders* take precedence over installed ones.
    """
    for name in plugins:
        if problem := _problem(name, _environment(folders)):
            yield name, problem


def _problem(name: str, environment: Mapping[str, str]) -> str:
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", TRIES, name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            timeout=DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the import took over {DEADLINE_S:g} s"
    if child.stdout:
        return one_line(child.stdout.decode("utf-8", "replace"), MAX_CHARS)
    return f"the import ended the process ({_end_of(child.returncode)})"


def _environment(folders: Iterable[Path]) -> dict[str, str]:
    """Return our variables that an import may need; keys stay out."""
    search_path = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    ours = {
        "HOME": os.environ.get("HOME"),
        "LANG": os.environ.get("LANG"),
        "TMPDIR": os.environ.get("TMPDIR"),
        "PYTHONPATH": os.pathsep.join(search_path) or None,
        "PYTHONUSERBASE": os.environ.get("PYTHONUSERBASE"),
        "PATH": os.defpath,
    }
    return {name: text for name, text in ours.items() if text is not None}


def _end_of(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
