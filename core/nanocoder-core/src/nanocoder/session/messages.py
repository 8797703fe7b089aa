"""Messages as JSON-ready dictionaries and back; fields with their default value are left out."""

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import AttrsInstance, fields
from nanocoder_files import open_private

from nanocoder.values import Attachment, Message, ToolCall, ToolResult, Usage

Keep = Callable[[str, bytes], str]
"""Keeps bytes as an artifact and returns its path, or nothing when it cannot."""

INLINE_BYTES: Final = 65_536
MAX_ARTIFACT_BYTES: Final = 268_435_456

JSON_TYPES: Final[Mapping[Any, Any]] = {
    str: str,
    bool: bool,
    int: int,
    float: int | float,
    float | None: int | float,
    Mapping[str, Any]: dict,
    Any: object,
}
"""What JSON holds for a field of a declared type; other fields are coded by themselves."""


def encode_message(message: Message, keep: Keep | None = None) -> dict[str, Any]:
    """Return *message* ready for JSON; *keep* takes large attachments, base64 the others."""
    found: dict[str, Any] = {"role": message.role}
    if message.typed is not None and message.typed != message.text:
        found["typed"] = message.typed  # before the text: lists of sessions read no further
    if message.text:
        found["text"] = message.text
    if message.calls:
        found["calls"] = [encode_call(call) for call in message.calls]
    if message.results:
        found["results"] = [encode_result(result, keep) for result in message.results]
    if message.attachments:
        found["attachments"] = [_encode_attachment(one, keep) for one in message.attachments]
    if message.native is not None:
        found["native"] = message.native
    return found


def encode_call(call: ToolCall) -> dict[str, Any]:
    """Return *call* ready for JSON."""
    return _encode(call)


def encode_result(result: ToolResult, keep: Keep | None = None) -> dict[str, Any]:
    """Return *result* ready for JSON."""
    found = _encode(result)
    if result.attachments:
        found["attachments"] = [_encode_attachment(one, keep) for one in result.attachments]
    return found


def encode_usage(usage: Usage) -> dict[str, Any]:
    """Return *usage* ready for JSON."""
    return _encode(usage)


def decode_message(data: object, artifacts: Path | None = None) -> Message:
    """Make the message that *data* describes.

    *artifacts* is where its session keeps large attachments.

    Raises: ValueError when it describes none. Parts that make no sense are left out.
    """
    if not isinstance(data, dict) or data.get("role") not in {"user", "assistant", "tool"}:
        raise ValueError("this is no message")
    text, typed = data.get("text", ""), data.get("typed")
    return Message(
        role=data["role"],
        text=text if isinstance(text, str) else "",
        calls=tuple(decode_call(call) for call in _dicts(data.get("calls"))),
        results=tuple(decode_result(one, artifacts) for one in _dicts(data.get("results"))),
        attachments=_decode_attachments(data, artifacts),
        native=data.get("native"),
        typed=typed if isinstance(typed, str) else None,
    )


def spoken(message: Message) -> tuple[str, str]:
    """Return what a person, or the model, said, and what the program added for the model."""
    if message.typed is None or message.typed == message.text:
        return message.text, ""
    if not message.typed:
        return "", message.text
    before, _, after = message.text.rpartition(message.typed)
    return message.typed, f"{before.strip()}\n\n{after.strip()}".strip()


def decode_call(data: Mapping[str, Any]) -> ToolCall:
    """Make the call that *data* describes."""
    return ToolCall(**{"id": "", "name": "", **_decode(data, ToolCall)})


def decode_result(data: Mapping[str, Any], artifacts: Path | None = None) -> ToolResult:
    """Make the result that *data* describes."""
    known = {"output": "", **_decode(data, ToolResult)}
    return ToolResult(**known, attachments=_decode_attachments(data, artifacts))


def decode_usage(data: object) -> Usage:
    """Make the usage that *data* describes."""
    return Usage(**_decode(data, Usage)) if isinstance(data, dict) else Usage()


def _encode(value: AttrsInstance) -> dict[str, Any]:
    """Return the fields of *value* that JSON can hold and that say something."""
    items = {name: getattr(value, name) for name in _json_fields(type(value))}
    return {
        name: item for name, item in items.items() if item is not None and (item or name == "data")
    }


def _decode(data: Mapping[str, Any], cls: type[AttrsInstance]) -> dict[str, Any]:
    """Return those of *data* that are fields of *cls* and of the right type."""
    return {
        name: data[name]
        for name, expected in _json_fields(cls).items()
        if name in data and isinstance(data[name], expected)
    }


@cache
def _json_fields(cls: type[AttrsInstance]) -> dict[str, Any]:
    return {
        attribute.name: JSON_TYPES[attribute.type]
        for attribute in fields(cls)
        if attribute.type in JSON_TYPES
    }


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _encode_attachment(attachment: Attachment, keep: Keep | None) -> dict[str, Any]:
    found = {"media_type": attachment.media_type, "name": attachment.name}
    if keep is not None and len(attachment.data) > INLINE_BYTES:
        kept = keep(attachment.name or "attachment", attachment.data)
        if kept:
            return {**found, "artifact": Path(kept).name}
    return {**found, "base64": base64.b64encode(attachment.data).decode("ascii")}


def _decode_attachments(data: Mapping[str, Any], artifacts: Path | None) -> tuple[Attachment, ...]:
    found = (_decode_attachment(one, artifacts) for one in _dicts(data.get("attachments")))
    return tuple(one for one in found if one is not None)


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
    path = artifacts / Path(data["artifact"]).name
    with os.fdopen(open_private(path), "rb") as file:
        return file.read(MAX_ARTIFACT_BYTES)
