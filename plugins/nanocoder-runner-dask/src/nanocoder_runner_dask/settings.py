"""The settings of the runner."""

from typing import Any

from attrs import field, frozen
from nanocoder_kit_batch.limits import LimitSettings


@frozen
class Settings(LimitSettings):
    """The table [plugins.runner-dask]."""

    workers: int = field(
        default=0,
        metadata={"description": "How many processes a local cluster has; 0: one for each core."},
    )
    threads: int = field(
        default=1,
        metadata={"description": "How many tasks a local process works on at once.", "minimum": 1},
    )
    retries: int = field(
        default=3,
        metadata={
            "description": "How often a task begins again whose worker died, in a local cluster."
        },
    )
    resources: dict[str, Any] = field(
        factory=dict,
        metadata={"description": "What a worker must have for a task, such as { gpu = 1 }."},
    )
