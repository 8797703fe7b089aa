"""The rules of vendors and models for requests: a model's rules apply on any server."""

import re
from typing import Final

from nanocoder_kit_http import HistoryRules

from nanocoder_provider_openai.vendors import Vendor
from nanocoder_provider_openai.wire import ChatRules

_MISTRAL: Final = re.compile(
    r"mi[sx]tral|(?:code|dev|magi|mini)stral|(?:pix|vox)tral", re.IGNORECASE
)
_SIGNING: Final = re.compile(r"gemini-(?:[3-9]|\d\d)", re.IGNORECASE)
_REASONING: Final = re.compile(r"kimi|deepseek", re.IGNORECASE)
_CLAUDE: Final = re.compile(r"claude", re.IGNORECASE)


def history_rules(vendor: Vendor, model: str) -> HistoryRules:
    """Return the rules of the history that *vendor* gets for *model*."""
    if vendor.short_ids or _MISTRAL.search(model):
        return HistoryRules(
            call_ids="[a-zA-Z0-9]{9}",
            id_prefix="",
            id_chars=9,
            speaks_before_user=True,
            has_text_results=True,
        )
    if vendor.name == "bedrock" or _CLAUDE.search(model):
        return HistoryRules(call_ids="[a-zA-Z0-9_-]{1,64}", has_text_results=True)
    longest = 40 if vendor.limit_field == "max_completion_tokens" else 64
    return HistoryRules(call_ids=rf"[\x21-\x7e]{{1,{longest}}}", has_text_results=True)


def chat_rules(vendor: Vendor, origin: str, model: str) -> ChatRules:
    """Return the rules of the messages that *vendor* gets for *model*, an *origin* of replies."""
    return ChatRules(
        origin,
        wants_reasoning=vendor.reasoning != "refused" and bool(_REASONING.search(model)),
        refuses_reasoning=vendor.reasoning == "refused",
        wants_signatures=bool(_SIGNING.search(model)),
    )
