"""The model of a server when the person names none: its only one, or a question."""

import os
from typing import Final

from nanocoder import ProviderError

from nanocoder_provider_openai.provider import OpenAIProvider, located
from nanocoder_provider_openai.settings import Settings
from nanocoder_provider_openai.vendors import Vendor

NAMED: Final = 4
"""The number of models that a message names."""


def model_of(vendor: Vendor, settings: Settings) -> str:
    """Return the vendor's default model if the server has it, or its only model.

    Returns "" for a server with a key that lists no models. Raises ProviderError without an
    answer, or if there are several models to choose from.
    """
    _, address, key_from = located(vendor, settings)
    default = vendor.default_model
    provider = OpenAIProvider(default, settings.impatient(), vendor)
    try:
        names = [model.name for model in provider.models()]
    except ProviderError as error:
        if os.environ.get(key_from):
            return ""  # with a key the server is probably usable; the first request will show it
        raise ProviderError(
            f"the server at {address} does not list its models ({error}); start it, name a model:"
            f" --model {vendor.name}/MODEL, or unset {vendor.address_variable}",
            kind=error.kind,
        ) from error
    finally:
        provider.close()
    if default in names or len(names) == 1:
        return default if default in names else names[0]
    if not names:
        raise ProviderError(f"the server at {address} is there, but it has no model to ask")
    raise ProviderError(_question(vendor.name, address, names))


def _question(vendor: str, address: str, names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    listed = ", ".join(f"{vendor}/{name}" for name in names[:NAMED])
    return (
        f"the server at {address} is there; name a model: --model {listed}{more}"
        f" (`nanocoder models {vendor}` lists all)"
    )
