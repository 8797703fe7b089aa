"""Anthropic's Messages API as a provider.

The wire is imported when the provider is opened; describing the plugin imports no HTTP client.
"""

import os
from typing import TYPE_CHECKING

from nanocoder import ProviderSpec, hookimpl

from nanocoder_provider_anthropic.messages import AnthropicProvider
from nanocoder_provider_anthropic.settings import Settings

if TYPE_CHECKING:
    from nanocoder import Provider


@hookimpl
def nanocoder_settings() -> type:
    """Return the settings class."""
    return Settings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer `anthropic/MODEL`."""
    return [
        ProviderSpec(
            name="anthropic",
            open=open_provider,
            description="Anthropic, or any server that speaks its Messages API.",
            default_model="claude-sonnet-5-5",
            key_variables=("ANTHROPIC_API_KEY",),
            rank=10,
            hint="set ANTHROPIC_API_KEY",
            probe=has_key_command,
        )
    ]


def has_key_command(settings: Settings | None) -> bool:
    """Return True if a configured program prints the key, without running it."""
    return settings is not None and bool(settings.key_command)


def open_provider(model: str, settings: Settings | None) -> "Provider":
    """Open *model*; raises ProviderError without a key, ConfigError for a bad address."""
    settings = settings or Settings()
    base_url = settings.base_url or os.environ.get("ANTHROPIC_BASE_URL", "")
    return AnthropicProvider(model, settings, base_url)
