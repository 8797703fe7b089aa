"""Questions that a program can answer, too: a form as a whole, and a prompt for its model."""

from nanocoder_kit_questions.kinds import DECLINE, REPLY, Form, Prompt, object_of

__all__ = ["DECLINE", "REPLY", "Form", "Prompt", "object_of"]
