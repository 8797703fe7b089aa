"""The installed sets, which tasks may name."""

import sys
from typing import Final

from nanocoder_kit_process.capabilities import readable_distributions

SET: Final = "nanocoder-set-"


def names_of_sets() -> list[str]:
    """Return the names of the plugin sets that are installed."""
    names = readable_distributions(sys.path)
    return sorted(name.removeprefix(SET) for name in names if name.startswith(SET))
