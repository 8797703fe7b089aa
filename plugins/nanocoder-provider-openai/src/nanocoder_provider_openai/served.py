"""The model of a server when the person names none: its only one, or a question."""

import os
from typing import Final

from attrs import evolve
from nanocoder import ProviderError

from nanocoder_provider_openai.chat import OpenAIProvider
from nanocoder_provider_openai.settings import Settings

WAIT_S: Final = 3.0
"""A running server lists its models at once; a start must not wait for an absent one."""
NAMED: Final = 4
"""The number of models that a message names."""


def model_at(base_url: str, settings: Settings, default: str) -> str:
    """Return *default* if the server has it, or its only model.

    "" stands for a server that has a key and lists no models. Raises ProviderError without an
    answer, or with several models to choose from.
    """
    impatient = evolve(
        settings, connect_timeout_s=WAIT_S, header_timeout_s=WAIT_S, idle_timeout_s=WAIT_S
    )
    provider = OpenAIProvider(default, impatient, base_url)
    try:
        names = [model.name for model in provider.models()]
    except ProviderError as error:
        if os.environ.get(settings.api_key_env):
            return ""  # with a key the server is probably usable; the first request will show it
        raise ProviderError(
            f"the server at {base_url} does not list its models ({error}); start it, name a model:"
            " --model openai/MODEL, or unset OPENAI_BASE_URL",
            kind=error.kind,
        ) from error
    finally:
        provider.close()
    if default in names or len(names) == 1:
        return default if default in names else names[0]
    if not names:
        raise ProviderError(f"the server at {base_url} is there, but it has no model to ask")
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    named = ", ".join(f"openai/{name}" for name in names[:NAMED])
    raise ProviderError(
        f"the server at {base_url} is there; name a model: --model {named}{more}"
        " (`nanocoder models openai` lists all)"
    )
