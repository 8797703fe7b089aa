"""The settings of the Google provider."""

from typing import Final, Literal

from attrs import field, frozen
from nanocoder_kit_llm.http import HttpSettings
from nanocoder_kit_llm.models import MODELS_SETTING

KEY_VARIABLES: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


@frozen(kw_only=True)
class Settings(HttpSettings):
    """`[plugins.provider-google]`: the common HTTP settings and these."""

    api_key_env: str = field(
        default="",
        metadata={
            "description": "Environment variable that holds the key; empty: GEMINI_API_KEY, then"
            " GOOGLE_API_KEY.",
            "user_only": True,
        },
    )
    thinking_level: Literal["", "minimal", "low", "medium", "high"] = field(
        default="", metadata={"description": "How much a model from Gemini 3 on thinks."}
    )
    thinking_budget_tokens: int = field(
        default=0,
        metadata={"description": "Tokens for thinking, for Gemini 2.5; 0 leaves it to the model."},
    )
    models: dict[str, dict[str, float]] = field(factory=dict, metadata=MODELS_SETTING)
