"""The runner `dask`: the tasks of a batch on many processes, here or on other machines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nanocoder import Cancel, Runner, hookimpl

from nanocoder_runner_dask.settings import Settings


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the settings."""
    return Settings


@hookimpl
def nanocoder_runners() -> list[Runner]:
    """Offer the runner."""
    return [Runner("dask", _run)]


def _run(
    work: Callable[..., Any],
    jobs: Sequence[Mapping[str, Any]],
    cancel: Cancel,
    options: Mapping[str, Any],
    settings: Settings,
) -> Iterator[tuple[Mapping[str, Any], Any]]:
    from nanocoder_runner_dask.cluster import run_on_cluster  # it takes half a second to import

    return run_on_cluster(work, jobs, cancel, options, settings)
