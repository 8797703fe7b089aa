"""Commands that the reference never runs.

A reminder to the model, not a security boundary: a command can be written in a thousand ways.
Policies and sandboxes prevent harm.
"""

import re

from nanocoder import Denied

_START = r"(?:^|[;&|(`\n]|\$\()\s*"
_DANGEROUS = re.compile(
    rf"{_START}(?:sudo|shutdown|reboot)\b"
    # Recursive deletion of the root, whatever the order of its options.
    r"|\brm\s+(?:-\S+\s+)*-\w*[rR]\w*\s+(?:-\S+\s+)*/\*?(?=\s|$|[;&|])"
    r"|\brm\s+(?:-\S+\s+)*--recursive\s+(?:-\S+\s+)*/\*?(?=\s|$|[;&|])"
    r"|>\s*/dev/(?!null\b|zero\b|stdout\b|stderr\b|tty\b|fd/)"
)


def refuse_dangerous(command: str) -> None:
    """Raise Denied for a command on the list."""
    if _DANGEROUS.search(command):
        raise Denied("Dangerous command blocked")
