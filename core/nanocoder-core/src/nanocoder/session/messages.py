"""Messages as JSON-ready dictionaries; fields that say nothing are left out."""

from functools import cache
from typing import Any, get_args

from attrs import AttrsInstance, fields, has

from nanocoder.values import Attachment, Message


def encode_message(message: Message) -> dict[str, Any]:
    """Return *message* ready for JSON, its attachments as base64."""
    # What was typed comes before the text: lists of sessions read no further.
    encoded = {"role": message.role, "typed": message.typed, **encode(message)}
    if message.typed is None or message.typed == message.text:
        del encoded["typed"]
    return encoded


def encode(value: AttrsInstance) -> dict[str, Any]:
    """Return the fields of *value* that say something, ready for JSON."""
    if isinstance(value, Attachment):
        return _encode_attachment(value)
    encoded = {}
    for field in fields(type(value)):
        item = getattr(value, field.name)
        if item or (field.type is Any and item is not None):
            is_plain = not _holds_values(field.type)
            encoded[field.name] = item if is_plain else [encode(part) for part in item]
    return encoded


@cache
def _holds_values(kind: Any) -> bool:
    """Tell whether a type is that of a tuple of values."""
    return any(map(has, get_args(kind)))


def _encode_attachment(attachment: Attachment) -> dict[str, Any]:
    from base64 import b64encode  # most sessions have no attachment

    encoded = b64encode(attachment.data).decode("ascii")
    return {"media_type": attachment.media_type, "name": attachment.name, "base64": encoded}


def spoken(message: Message) -> tuple[str, str]:
    """Return what a person, or the model, said, and what the program added for the model."""
    if message.typed is None or message.typed == message.text:
        return message.text, ""
    if not message.typed:
        return "", message.text
    before, _, after = message.text.rpartition(message.typed)
    return message.typed, f"{before.strip()}\n\n{after.strip()}".strip()
