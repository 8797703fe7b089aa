"""The suite `repair`: published Python modules with one small fault each, and their own tests."""

from typing import Any

from attrs import field, frozen
from nanocoder import Resource, hookimpl

from nanocoder_eval_repair.catalogue import tasks


@frozen
class Settings:
    """The table [plugins.eval-repair]."""

    seed: int = field(
        default=1, metadata={"description": "Which faults are chosen; the same seed, the same."}
    )
    tasks: int = field(
        default=40, metadata={"description": "How many faults are chosen.", "minimum": 1}
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the settings."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the suite to `nanocoder eval`."""
    return [Resource("suite-repair", _tasks)]


def _tasks(_info: Any, settings: Settings | None) -> Any:
    chosen = settings or Settings()
    return tasks(chosen.seed, chosen.tasks)
