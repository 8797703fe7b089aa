"""Messages as JSON-ready dictionaries and back; fields that say nothing are left out."""

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from attrs import NOTHING, AttrsInstance, fields, has
from nanocoder_files import open_private

from nanocoder.values import FIELD_TYPES, Attachment, Message

Keep = Callable[[str, bytes], str]
"""Keeps bytes as an artifact and returns its path, or nothing when it cannot."""
AttrsT = TypeVar("AttrsT", bound=AttrsInstance)

INLINE_BYTES: Final = 65_536
MAX_ARTIFACT_BYTES: Final = 268_435_456
ROLES: Final = get_args(fields(Message).role.type)


def encode_message(message: Message, keep: Keep | None = None) -> dict[str, Any]:
    """Return *message* ready for JSON; *keep* takes large attachments, base64 the others."""
    # What was typed comes before the text: lists of sessions read no further.
    encoded = {"role": message.role, "typed": message.typed, **encode(message, keep)}
    if message.typed is None or message.typed == message.text:
        del encoded["typed"]
    return encoded


def encode(value: AttrsInstance, keep: Keep | None = None) -> dict[str, Any]:
    """Return the fields of *value* that say something, ready for JSON."""
    if isinstance(value, Attachment):
        return _encode_attachment(value, keep)
    encoded = {}
    for field in fields(type(value)):
        item = getattr(value, field.name)
        if item or (field.type is Any and item is not None):
            is_plain = _item_class(field.type) is None
            encoded[field.name] = item if is_plain else [encode(part, keep) for part in item]
    return encoded


def decode_message(data: object, artifacts: Path | None = None) -> Message:
    """Make the message that *data* describes; raises ValueError when it describes none.

    *artifacts* is where its session keeps large attachments.
    """
    if not isinstance(data, dict) or data.get("role") not in ROLES:
        raise ValueError("this is no message")
    return decode(Message, data, artifacts)


def decode(cls: type[AttrsT], data: Mapping[str, Any], artifacts: Path | None = None) -> AttrsT:
    """Make the value that *data* describes; parts that make no sense are left out."""
    values: dict[str, Any] = {}
    for field in fields(cls):
        item = data.get(field.name)
        if item_class := _item_class(field.type):
            values[field.name] = _decode_items(item_class, item, artifacts)
        elif isinstance(item, FIELD_TYPES.get(field.type, object)):
            values[field.name] = item
        elif field.default is NOTHING:
            values[field.name] = ""
    return cls(**values)


def _decode_items(
    cls: type[AttrsInstance], items: object, artifacts: Path | None
) -> tuple[AttrsInstance, ...]:
    dicts = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    if cls is not Attachment:
        return tuple(decode(cls, item, artifacts) for item in dicts)
    attachments = (_decode_attachment(item, artifacts) for item in dicts)
    return tuple(attachment for attachment in attachments if attachment is not None)


@cache
def _item_class(kind: Any) -> type[AttrsInstance] | None:
    """Return the class of the items of a tuple of values, None for any other type."""
    return next(filter(has, get_args(kind)), None)


def spoken(message: Message) -> tuple[str, str]:
    """Return what a person, or the model, said, and what the program added for the model."""
    if message.typed is None or message.typed == message.text:
        return message.text, ""
    if not message.typed:
        return "", message.text
    before, _, after = message.text.rpartition(message.typed)
    return message.typed, f"{before.strip()}\n\n{after.strip()}".strip()


def _encode_attachment(attachment: Attachment, keep: Keep | None) -> dict[str, Any]:
    encoded = {"media_type": attachment.media_type, "name": attachment.name}
    if keep is not None and len(attachment.data) > INLINE_BYTES:
        path = keep(attachment.name or "attachment", attachment.data)
        if path:
            return {**encoded, "artifact": Path(path).name}
    return {**encoded, "base64": base64.b64encode(attachment.data).decode("ascii")}


def _decode_attachment(data: Mapping[str, Any], artifacts: Path | None) -> Attachment | None:
    try:
        content = _content(data, artifacts)
    except (OSError, binascii.Error, ValueError, TypeError, KeyError):
        return None
    return Attachment(str(data.get("media_type", "")), content, str(data.get("name", "")))


def _content(data: Mapping[str, Any], artifacts: Path | None) -> bytes:
    if "artifact" not in data:
        return base64.b64decode(data["base64"], validate=True)
    if artifacts is None:
        raise KeyError("artifact")
    # The name alone, and no link: a journal that was tampered with must not reach other files.
    with os.fdopen(open_private(artifacts / Path(data["artifact"]).name), "rb") as file:
        return file.read(MAX_ARTIFACT_BYTES)
