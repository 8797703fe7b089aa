"""The settings, and how arguments are named in the log."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from nanocoder import state_dir
from nanocoder_schema import canonical_json

if TYPE_CHECKING:
    from nanocoder_policy_audit.log import AuditLog


@frozen
class Settings:
    """The table [plugins.policy-audit].

    *logs* is no setting: it holds the open log.
    """

    folder: str = field(
        default="",
        metadata={
            "description": "Where the log is kept; empty: audit, in the directory of the state.",
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
    logs: dict[str, Any] = field(factory=dict, init=False, repr=False, eq=False)

    def log(self) -> "AuditLog":
        """Return the log; raises ConfigError without a home directory."""
        from nanocoder_policy_audit.log import AuditLog, default_folder  # commands list it first

        if self.folder not in self.logs:
            folder = Path(self.folder).expanduser() if self.folder else default_folder(state_dir())
            self.logs[self.folder] = AuditLog(folder)
        log: AuditLog = self.logs[self.folder]
        return log


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return the digest of *arguments* that an approval echoes: SHA-256 of canonical JSON."""
    return sha256(canonical_json(dict(arguments)).encode("utf-8", "replace")).hexdigest()
