"""The settings of the OpenAI provider."""

from typing import Literal

from attrs import field
from nanocoder import value
from nanocoder_kit_llm.http import HttpSettings
from nanocoder_kit_llm.models import MODELS_SETTING


@value(kw_only=True)
class Settings(HttpSettings):
    """`[plugins.provider-openai]`: the common HTTP settings and these."""

    api_key_env: str = field(
        default="OPENAI_API_KEY",
        metadata={"description": "Environment variable that holds the key.", "user_only": True},
    )
    api: Literal["", "chat", "responses"] = field(
        default="",
        metadata={"description": "Empty: Responses for OpenAI itself, Chat Completions elsewhere."},
    )
    max_tokens_field: Literal["", "max_tokens", "max_completion_tokens"] = field(
        default="",
        metadata={"description": "Name of the limit; empty: the newer one for OpenAI itself only."},
    )
    reasoning_effort: str = field(
        default="", metadata={"description": "Sent as it is, such as 'low'; empty sends none."}
    )
    reasoning_summary: Literal["", "auto", "concise", "detailed"] = field(
        default="",
        metadata={"description": "Ask for a summary of the reasoning, with Responses only."},
    )
    strict_tools: bool = field(
        default=False,
        metadata={"description": "Let the server hold the model to the tools' schemas."},
    )
    models: dict[str, dict[str, float]] = field(factory=dict, metadata=MODELS_SETTING)
    stream_usage: bool = field(
        default=True,
        metadata={"description": "Ask for token counts; off for servers that refuse the option."},
    )
