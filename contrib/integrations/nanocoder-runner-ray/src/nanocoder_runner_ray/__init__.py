"""The runner `ray`: the tasks of a batch on a Ray cluster, or on processes of this machine."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen
from nanocoder import Cancel, Runner, hookimpl
from nanocoder_kit_batch.processes import ProcessSettings

Job = Mapping[str, Any]


@frozen
class Settings(ProcessSettings):
    """The table [plugins.runner-ray]."""


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the settings."""
    return Settings


@hookimpl
def nanocoder_runners() -> list[Runner]:
    """Offer the runner."""
    return [Runner("ray", _run)]


def _run(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    cancel: Cancel,
    options: Mapping[str, Any],
    settings: Settings,
) -> Iterator[tuple[Job, Any]]:
    # Ray would print to standard output that a worker died; the results of a batch are there.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    from nanocoder_runner_ray.cluster import run_on_cluster  # Ray takes a third of a second

    return run_on_cluster(work, jobs, cancel, options, settings)
