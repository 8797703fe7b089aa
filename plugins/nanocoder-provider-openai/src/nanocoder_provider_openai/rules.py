"""The rules of vendors and models for requests: a model's rules apply on any server."""

import re
from typing import Final

from nanocoder_kit_llm.http import HistoryRules

from nanocoder_provider_openai.vendors import Vendor
from nanocoder_provider_openai.wire import ChatRules

_MISTRAL: Final = (
    *("mistral", "mixtral", "codestral", "devstral", "magistral", "ministral"),
    *("pixtral", "voxtral"),
)
_REASONING: Final = ("kimi", "deepseek")


def history_rules(vendor: Vendor, model: str) -> HistoryRules:
    """Return the rules of the history that *vendor* gets for *model*."""
    name = model.lower()
    if vendor.short_ids or any(family in name for family in _MISTRAL):
        return HistoryRules(
            call_ids="[a-zA-Z0-9]{9}",
            id_prefix="",
            id_chars=9,
            speaks_before_user=True,
            has_text_results=True,
        )
    if vendor.name == "bedrock" or "claude" in name:
        return HistoryRules(call_ids="[a-zA-Z0-9_-]{1,64}", has_text_results=True)
    longest = 40 if vendor.limit_field == "max_completion_tokens" else 64
    return HistoryRules(call_ids=rf"[\x21-\x7e]{{1,{longest}}}", has_text_results=True)


def chat_rules(vendor: Vendor, origin: str, model: str) -> ChatRules:
    """Return the rules of the messages that *vendor* gets for *model*, an *origin* of replies."""
    name = model.lower()
    return ChatRules(
        origin,
        wants_reasoning=vendor.reasoning != "refused" and any(it in name for it in _REASONING),
        refuses_reasoning=vendor.reasoning == "refused",
        wants_signatures="gemini" in name and bool(re.search(r"gemini-(?:[3-9]|\d\d)", name)),
    )
