"""The installed sets, which tasks may name."""

from importlib.metadata import distributions
from typing import Final

SET: Final = "nanocoder-set-"


def names_of_sets() -> list[str]:
    """Return the names of the plugin sets that are installed."""
    names = {str(each.metadata["Name"]) for each in distributions() if each.metadata["Name"]}
    return sorted(name.removeprefix(SET) for name in names if name.startswith(SET))
