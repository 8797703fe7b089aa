"""The settings of glob."""

from attrs import frozen
from nanocoder_kit_files.glob import SKIPPED


@frozen
class Settings:
    """The settings of `[plugins.tool-glob]`.

    At most *max_results* files are returned, the newest of the matches; after *max_matches* files
    the search ends. Directories with a name in *skip* are not searched.
    """

    max_results: int = 1_000
    skip: tuple[str, ...] = tuple(sorted(SKIPPED))
    max_matches: int = 5_000
