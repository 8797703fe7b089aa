"""The settings of the Anthropic provider."""

from typing import Literal

from attrs import field, frozen
from nanocoder_kit_llm.http import HttpSettings
from nanocoder_kit_llm.models import MODELS_SETTING


@frozen(kw_only=True, eq=False, repr=False)
class Settings(HttpSettings):
    """`[plugins.provider-anthropic]`: the common HTTP settings and these."""

    api_key_env: str = field(
        default="ANTHROPIC_API_KEY",
        metadata={"description": "Environment variable that holds the key.", "user_only": True},
    )
    max_tokens: int = field(
        default=8000, metadata={"description": "Limit of one reply where the request has none."}
    )
    thinking_budget_tokens: int = field(
        default=0,
        metadata={"description": "Tokens for extended thinking, at least 1024; 0 is off."},
    )
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = field(
        default="",
        metadata={
            "description": "How much the model thinks, where it decides itself; empty: as usual."
        },
    )
    betas: tuple[str, ...] = field(
        default=(),
        metadata={"description": "Names for the header anthropic-beta, for functions on trial."},
    )
    models: dict[str, dict[str, float]] = field(factory=dict, metadata=MODELS_SETTING)
    structured_outputs: bool = field(
        default=True,
        metadata={"description": "Send the schema of --schema; false for models that refuse it."},
    )
    prompt_caching: bool = field(
        default=True,
        metadata={"description": "Mark the unchanging beginning of each request for the cache."},
    )
