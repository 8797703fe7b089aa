"""Questions that a program can answer, too: forms, prompts for its model, and its folders."""

from nanocoder_kit_ui.questions.kinds import (
    DECLINE,
    FOLDERS,
    REPLY,
    Folders,
    Form,
    Prompt,
    Several,
    ask_all,
    object_of,
)

__all__ = [
    "DECLINE",
    "FOLDERS",
    "REPLY",
    "Folders",
    "Form",
    "Prompt",
    "Several",
    "ask_all",
    "object_of",
]
