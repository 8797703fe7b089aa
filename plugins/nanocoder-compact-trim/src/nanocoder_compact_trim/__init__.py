"""Shortens a long conversation: old results first, then old steps. No model is asked."""

from collections.abc import Sequence
from typing import Any

from attrs import field, frozen, validators
from nanocoder import Message, hookimpl

from nanocoder_compact_trim.trimming import trim


@frozen
class Settings:
    """The table `[plugins.compact-trim]`; both are parts of the model's window.

    The conversation is cut down to *target*; the latest messages stay as they are while they take
    no more than *recent*.
    """

    target: float = field(
        default=0.5, validator=validators.and_(validators.ge(0.1), validators.le(0.7))
    )
    recent: float = field(
        default=0.25, validator=validators.and_(validators.ge(0.0), validators.le(0.5))
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.compact-trim]`."""
    return Settings


@hookimpl(rank=60)
def nanocoder_compact(
    messages: Sequence[Message], limit_tokens: int, settings: Any
) -> Sequence[Message] | None:
    """Leave out what is old, results first; after every plugin that keeps more of its meaning."""
    settings = settings or Settings()
    return trim(messages, limit_tokens, target=settings.target, recent=settings.recent)
