"""A question to the person at the terminal."""

from typing import Final

from nanocoder.cli.output import print_line

NEEDS_PERSON: Final = 3
"""The exit code where nobody is there to be asked."""


def is_agreed(question: str) -> bool:
    """Ask for a yes; anything else is a no, an end of input too."""
    try:
        return input(f"{question} [y/N] ").strip().casefold() in {"y", "yes"}
    except EOFError:
        print_line()  # what comes next would stand behind the question
        return False
    except KeyboardInterrupt:
        print_line()
        raise
