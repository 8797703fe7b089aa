"""Actions instead of tool calls, which small models use more reliably.

The schema of a reply allows one JSON object: a tool's action with its parameters, or an answer.
"""

from nanocoder_kit_llm.actions.action_reply import ActionReply
from nanocoder_kit_llm.actions.actions import Actions
from nanocoder_kit_llm.actions.answer_text import AnswerText
from nanocoder_kit_llm.actions.prompt import (
    Chat,
    chat,
    has_material,
    is_request,
    tool_texts,
    turn_text,
)
from nanocoder_kit_llm.actions.schemas import restrict

__all__ = [
    "ActionReply",
    "Actions",
    "AnswerText",
    "Chat",
    "chat",
    "has_material",
    "is_request",
    "restrict",
    "tool_texts",
    "turn_text",
]
