"""`nanocoder completion SHELL`: a static completion script."""

import argparse
import sys

from nanocoder.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Print the script; evaluate it, or save it where the shell looks."""
    try:
        import shtab
    except ImportError as error:
        raise UsageError(
            "completion needs the package shtab beside nanocoder: pip install shtab"
        ) from error
    from nanocoder.cli.parser import build

    sys.stdout.write(shtab.complete(build(), shell=arguments.shell) + "\n")
    return 0
