"""The settings of the runner."""

from attrs import field, frozen
from nanocoder_kit_batch.processes import ProcessSettings


@frozen
class Settings(ProcessSettings):
    """The table [plugins.runner-dask]."""

    threads: int = field(
        default=1,
        metadata={"description": "How many tasks a local process works on at once.", "minimum": 1},
    )
