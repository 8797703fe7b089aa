"""Files that an instruction file names with an @, as in `@docs/rules.md`."""

import re
from collections.abc import Iterator

MOST_IMPORTS = 20
"""Limit of the files that one instruction file imports, directly or indirectly."""
SUFFIXES = (".md", ".mdc", ".txt", ".rst")
"""Suffixes that may be imported; other files are code and data, and no instructions."""
# As text: most folders have no such file, and compile nothing.
_CODE = r"(?ms)^(```|~~~).*?(?:^\1|\Z)|`[^`\n]*`"
_NAMED = r"(?:^|(?<=[\s(]))@([^\s@()]{1,300})"


def imported_names(text: str) -> Iterator[str]:
    """Yield the paths that *text* names outside of code, relative to its own folder."""
    for match in re.finditer(_NAMED, re.sub(_CODE, " ", text)):
        name = match[1].rstrip(".,;:!?").removeprefix("./")
        if name.endswith(SUFFIXES) and not name.startswith(("/", "~")):
            yield name
