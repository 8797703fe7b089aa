"""A note about an incident: its description, its owner, and its expected end."""

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen
from nanocoder import UsageError, did_you_mean

from nanocoder_kit_batch.own_files import write_own

KEYS: Final = ("incident", "owner", "expected_end")
KEPT_AS: Final = "incident.json"


@frozen
class IncidentNote:
    """The note of one batch; *expected_end* has a time zone."""

    incident: str
    owner: str
    expected_end: datetime

    def rows(self, now: datetime) -> dict[str, str]:
        """Return the note for a page that is written *now*."""
        end = self.expected_end.isoformat(" ", "minutes")
        late = " (overdue: update it)" if self.expected_end < now else ""
        return {"incident": self.incident, "owner": self.owner, "expected end": end + late}

    def keep(self, folder: Path) -> None:
        """Write the note beside the results of its batch."""
        data = {**asdict(self), "expected_end": self.expected_end.isoformat()}
        write_own(folder, KEPT_AS, [json.dumps(data, indent=2).encode() + b"\n"])


def read_note(path: str) -> IncidentNote:
    """Return the note of a TOML file; raises UsageError that names the invalid key."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except RecursionError as error:
        raise UsageError(f"the note {path!r} is nested too deeply") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the note {path!r} cannot be read: {error}") from error
    for key in values:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS, ".")
            raise UsageError(f"{path}: there is no key {key!r}{hint} Keys: {', '.join(KEYS)}")
    incident, owner = (_text(path, key, values.get(key)) for key in KEYS[:2])
    return IncidentNote(incident, owner, _end(path, values.get("expected_end")))


def _text(path: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{path}: {key}: a text is needed")
    return value.strip()


def _end(path: str, value: Any) -> datetime:
    if not isinstance(value, datetime):
        example = f"{datetime.now(UTC):%Y-%m-%dT18:00:00Z}"
        raise UsageError(f"{path}: expected_end: a date and time is needed, such as {example}")
    try:
        return value.astimezone()
    except (OSError, OverflowError, ValueError) as error:
        raise UsageError(
            f"{path}: expected_end: {value} is outside of this machine's range of times"
        ) from error
