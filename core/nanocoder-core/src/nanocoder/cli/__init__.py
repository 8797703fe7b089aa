"""The command line. `--version` is answered before anything else is imported.

Nothing but `gc`, `os` and `sys`, which are built in or loaded by Python itself, is imported before
the search path is clean: any other import could already be answered by the workspace.
"""

import gc
import os
import sys


def main() -> None:
    """Run the command line and exit with its exit code, skipping the interpreter's shutdown."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from nanocoder.version import VERSION

        sys.stdout.write(f"nanocoder {VERSION}\n")
        return
    # A start creates 40,000 objects that stay; collecting garbage among them takes a tenth of its
    # time. The collector is enabled again before the command runs.
    gc.disable()
    try:
        # Before any other import, which could load a module from the workspace.
        drop_untrusted_paths(sys.path, os.environ.get("PYTHONPATH", ""))
        from nanocoder.cli.command_line import leave, run

        leave(run(sys.argv[1:]))
    except KeyboardInterrupt:
        # Ctrl-C during the imports is no reason for a traceback.
        os._exit(130)


def drop_untrusted_paths(path: list[str], variable: str = "") -> None:
    """Remove from *path* (`sys.path`) the entries by which a workspace could supply modules.

    These are the current directory, relative entries, and entries of *variable* (`PYTHONPATH`)
    below the current directory. An empty entry, as by a trailing colon, means that directory.
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
    # An editable installation may add folders below the current directory; those stay.
    return real != here and not (real in named and _is_below(real, here))


def _is_below(real: str, folder: str) -> bool:
    return bool(folder) and real.startswith(folder.rstrip(os.sep) + os.sep)
