"""The command line. `--version` is answered before anything else is imported."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave at once with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from nanocoder.version import VERSION

        sys.stdout.write(f"nanocoder {VERSION}\n")
        return
    import os

    try:
        _run_and_leave(os.environ.get("PYTHONPATH", ""))
    except KeyboardInterrupt:
        # Pressed while the rest was still being imported: no reason for a traceback.
        os._exit(INTERRUPTED)


def _run_and_leave(search_path: str) -> None:
    """Run the words of the command line; *search_path* is the environment's `PYTHONPATH`."""
    import gc

    from nanocoder.cli.search_path import drop_untrusted_paths

    # A start makes 40,000 objects that stay; looking for garbage among them takes a tenth of its
    # time. The collector is turned on again before the command runs.
    gc.disable()
    # First of all: whatever is imported from here on could come out of the workspace.
    drop_untrusted_paths(sys.path, search_path)
    from nanocoder.cli.command_line import leave, run

    leave(run(sys.argv[1:]))
