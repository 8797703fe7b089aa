"""Another model when one cannot answer: an ordered list of models."""

from collections.abc import Sequence

from attrs import field
from nanocoder import hookimpl, value


@value
class Settings:
    """The settings of `[plugins.provider-fallback]`.

    *models* are written "provider/model", in order of preference. A project cannot set them: they
    decide who reads its code.
    """

    models: tuple[str, ...] = field(default=(), metadata={"user_only": True})


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.provider-fallback]`."""
    return Settings


@hookimpl
def nanocoder_select_provider(settings: Settings | None, failed: Sequence[str]) -> str | None:
    """Return the first model of the list that has not failed."""
    models = (settings or Settings()).models
    return next((model for model in models if model not in failed), None)
