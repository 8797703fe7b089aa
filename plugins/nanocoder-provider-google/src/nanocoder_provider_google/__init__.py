"""Google's Gemini API as a provider.

The HTTP client is imported when the provider is opened, not to describe the plugin.
"""

import os
from typing import TYPE_CHECKING

from nanocoder import ProviderSpec, hookimpl

from nanocoder_provider_google.provider import GoogleProvider
from nanocoder_provider_google.settings import KEY_VARIABLES, Settings

if TYPE_CHECKING:
    from nanocoder import Provider


@hookimpl
def nanocoder_settings() -> type:
    """Return the settings class."""
    return Settings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer `google/MODEL`."""
    return [
        ProviderSpec(
            name="google",
            open=open_provider,
            description="Google's Gemini API.",
            default_model="gemini-4-argon",
            key_variables=KEY_VARIABLES,
            rank=12,
            hint="set GEMINI_API_KEY",
            probe=has_key_command,
        )
    ]


def has_key_command(settings: Settings | None) -> bool:
    """Return True if a configured program prints the key, without running it."""
    return settings is not None and bool(settings.key_command)


def open_provider(model: str, settings: Settings | None) -> "Provider":
    """Open *model*; raises ProviderError without a key, ConfigError for a bad address."""
    settings = settings or Settings()
    base_url = settings.base_url or os.environ.get("GEMINI_BASE_URL", "")
    return GoogleProvider(model, settings, base_url)
