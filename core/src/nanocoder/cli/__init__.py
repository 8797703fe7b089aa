"""The command line. `--version` is answered before anything else is imported."""

import sys


def main() -> None:
    """Run the command line and leave at once with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from nanocoder.version import VERSION

        sys.stdout.write(f"nanocoder {VERSION}\n")
        return
    import os

    from nanocoder.cli.search_path import drop_untrusted_paths

    # First of all: whatever is imported from here on could come out of the workspace.
    drop_untrusted_paths(sys.path, os.environ.get("PYTHONPATH", ""))
    from nanocoder.cli.command_line import leave, run

    leave(run(sys.argv[1:]))
