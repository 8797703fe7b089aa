"""Messages as journals store them: large attachments are files beside the journal."""

import os
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from attrs import NOTHING, AttrsInstance, fields, has
from nanocoder import Attachment, Message, encode_message
from nanocoder_files import open_private
from nanocoder_schema import field_types

Keep = Callable[[str, bytes], str]
"""Stores bytes as an artifact, and returns its path, or "" on failure."""
AttrsT = TypeVar("AttrsT", bound=AttrsInstance)

INLINE_BYTES: Final = 65_536
MAX_ARTIFACT_BYTES: Final = 268_435_456
ROLES: Final = get_args(fields(Message).role.type)


def store_message(message: Message, keep: Keep) -> dict[str, Any]:
    """Return *message* as JSON for a journal; *keep* stores large attachments."""
    encoded = encode_message(message)
    _store_large(encoded.get("attachments", ()), message.attachments, keep)
    for result, data in zip(message.results, encoded.get("results", ()), strict=True):
        _store_large(data.get("attachments", ()), result.attachments, keep)
    return encoded


def _store_large(
    encoded: Sequence[dict[str, Any]], attachments: Sequence[Attachment], keep: Keep
) -> None:
    for data, attachment in zip(encoded, attachments, strict=True):
        if len(attachment.data) <= INLINE_BYTES:
            continue
        if path := keep(attachment.name or "attachment", attachment.data):
            del data["base64"]
            data["artifact"] = Path(path).name


def decode_message(data: object, artifacts: Path | None = None) -> Message:
    """Decode a message from *data*; raises ValueError if it is none.

    *artifacts* is the directory of its session's large attachments.
    """
    if not isinstance(data, dict) or data.get("role") not in ROLES:
        raise ValueError("this is no message")
    return decode(Message, data, artifacts)


def decode(cls: type[AttrsT], data: Mapping[str, Any], artifacts: Path | None = None) -> AttrsT:
    """Decode a value of *cls* from *data*; invalid parts are left out."""
    values: dict[str, Any] = {}
    for field in fields(cls):
        item = data.get(field.name)
        if item_class := _item_class(field.type):
            values[field.name] = _decode_items(item_class, item, artifacts)
        elif isinstance(item, field_types(field.type)):
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


def _decode_attachment(data: Mapping[str, Any], artifacts: Path | None) -> Attachment | None:
    try:
        content = _content(data, artifacts)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return Attachment(str(data.get("media_type", "")), content, str(data.get("name", "")))


def _content(data: Mapping[str, Any], artifacts: Path | None) -> bytes:
    if "artifact" not in data:
        return b64decode(data["base64"], validate=True)
    if artifacts is None:
        raise KeyError("artifact")
    # Only the name, and no link: a manipulated journal must not reach other files.
    path = artifacts / Path(data["artifact"]).name
    with os.fdopen(open_private(path), "rb") as file:
        return file.read(MAX_ARTIFACT_BYTES)
