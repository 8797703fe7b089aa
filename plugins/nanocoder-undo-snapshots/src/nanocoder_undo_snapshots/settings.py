"""The settings, and the recorders of the sessions that go by them."""

from typing import Any

from attrs import field, validators
from nanocoder import value


def _limit(default: int, description: str) -> Any:
    metadata = {"description": description}
    return field(default=default, validator=validators.ge(0), metadata=metadata)


@value
class Settings:
    """The table `[plugins.undo-snapshots]`.

    *recorders* is no setting but state that lives as long as these.
    """

    max_files: int = _limit(20_000, "In a folder with more files nothing is recorded.")
    max_file_bytes: int = _limit(2_000_000, "The content of a larger file is not stored.")
    max_total_bytes: int = _limit(100_000_000, "With more content nothing is recorded.")
    max_kept_bytes: int = _limit(
        500_000_000, "The oldest sessions' snapshots of a folder go beyond this."
    )
    recorders: dict[str, Any] = field(factory=dict, init=False, repr=False, eq=False)
