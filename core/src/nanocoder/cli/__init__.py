"""The command line. `--version` is answered before anything else is imported."""

import sys


def main() -> None:
    """Run the command line and leave at once with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from nanocoder.version import VERSION

        sys.stdout.write(f"nanocoder {VERSION}\n")
        return
    from nanocoder.cli.command_line import leave, run

    leave(run(sys.argv[1:]))
