"""The settings, and the log that they name."""

from pathlib import Path
from typing import Final

from attrs import field, frozen, validators
from nanocoder import state_dir

from nanocoder_policy_audit.log import AuditLog, default_folder

MEGABYTE: Final = 1_000_000


@frozen
class Settings:
    """The table [plugins.policy-audit]."""

    folder: str = field(
        default="",
        metadata={
            "description": "Directory of the log; empty: audit, in the directory of the state.",
            "user_only": True,
        },
    )
    max_mb: int = field(
        default=100,
        validator=validators.ge(0),
        metadata={
            "description": "From how many megabytes on the log goes on in a new file; 0: never.",
            "user_only": True,
        },
    )
    required: bool = field(
        default=False,
        metadata={
            "description": "Whether a call is refused that cannot be written to the log first.",
            "tighten": "true",
        },
    )

    def open_log(self) -> AuditLog:
        """Return the log; raises ConfigError without a home directory."""
        folder = Path(self.folder).expanduser() if self.folder else default_folder(state_dir())
        return AuditLog(folder, self.max_mb * MEGABYTE)
