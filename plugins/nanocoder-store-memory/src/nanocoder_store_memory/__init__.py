"""The store `memory`: a session exists only while it runs."""

from collections.abc import Callable, Mapping

from nanocoder import Sessions, Store, hookimpl

from nanocoder_store_memory.sessions import MemorySessions


@hookimpl
def nanocoder_stores() -> list[Store]:
    """Offer the store "memory"."""
    return [Store("memory", _open)]


def _open(
    _environment: Mapping[str, str], _settings: object, warn: Callable[[str], None]
) -> Sessions:
    return MemorySessions(warn=warn)
