"""The command line. `--version` is answered before anything else is imported.

Nothing but `gc`, `os` and `sys`, which are built in or loaded by Python itself, is imported before
the search path is clean: any other import could already be answered by the workspace.
"""

import gc
import os
import sys


def main() -> None:
    """Run the command line and leave at once with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from nanocoder.version import VERSION

        sys.stdout.write(f"nanocoder {VERSION}\n")
        return
    # A start makes 40,000 objects that stay; looking for garbage among them takes a tenth of its
    # time. The collector is turned on again before the command runs.
    gc.disable()
    try:
        # First of all: whatever is imported from here on could come out of the workspace.
        drop_untrusted_paths(sys.path, os.environ.get("PYTHONPATH", ""))
        from nanocoder.cli.command_line import leave, run

        leave(run(sys.argv[1:]))
    except KeyboardInterrupt:
        # Pressed while the rest was still being imported: no reason for a traceback.
        os._exit(130)


def drop_untrusted_paths(path: list[str], variable: str = "") -> None:
    """Take what a workspace could supply modules by out of *path* (`sys.path`), in place.

    That is the current directory, relative entries, and entries of *variable* (`PYTHONPATH`) below
    the current directory: an empty one, as a trailing colon makes it, stands for that directory.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    own = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    named = {os.path.realpath(entry) for entry in variable.split(os.pathsep)} if variable else set()
    path[:] = [entry for entry in path if _is_trusted(entry, here, own, named)]


def _is_trusted(entry: str, here: str, own: set[str], named: set[str]) -> bool:
    if not os.path.isabs(entry):
        return False
    real = os.path.realpath(entry)
    if any(_is_below(real, prefix) for prefix in own):
        return True
    # An installation that can be edited may put folders below the current one here; those stay.
    return real != here and not (real in named and _is_below(real, here))


def _is_below(real: str, folder: str) -> bool:
    return bool(folder) and real.startswith(folder.rstrip(os.sep) + os.sep)
