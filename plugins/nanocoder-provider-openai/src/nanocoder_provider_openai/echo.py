"""Fields that go back to the server that sent them: reasoning, signatures of thoughts and calls."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanocoder import Message, TextDelta, ThinkingDelta
from nanocoder_kit_llm.http import CallParts, Deltas, as_str

NATIVE: Final = "openai"
"""The key of our part in a message's native data."""
EXTRA_OF_CALLS: Final = ("extra_content", "provider_specific_fields", "thought_signature")
"""Fields of a call in which servers carry the signatures of thoughts."""
_REASONING: Final = ("reasoning_content", "reasoning")
_DETAILS: Final = "reasoning_details"
_EXTRA: Final = "extra_content"
_GROWING: Final = ("text", "summary")
_TAG: Final = "<think>"


class Echo:
    """Collects the fields of a reply that *origin*, a server and its model, requires back.

    Another server would reject them, since they are not standardized.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._extra: dict[str, Any] = {}

    def thinking_in(self, delta: Mapping[str, Any]) -> str:
        """Return the thinking in *delta*, and store the data to send back."""
        if isinstance(delta.get(_EXTRA), dict):
            self._extra |= delta[_EXTRA]
        details = delta.get(_DETAILS)
        for detail in details if isinstance(details, list) else []:
            if isinstance(detail, dict):
                self._add(detail)
        for name in _REASONING:
            if thinking := as_str(delta.get(name)):
                self._field = name
                return thinking
        return ""

    def native(self, calls: Sequence[CallParts], deltas: Deltas) -> dict[str, Any] | None:
        """Return the native data of the message; the text of thinking goes back beside calls."""
        fields: dict[str, Any] = {_DETAILS: self._details} if self._details else {}
        text = deltas.text_of(TextDelta)
        if calls and self._field and not self._details:
            fields[self._field] = deltas.text_of(ThinkingDelta)
        elif calls and text.lstrip().startswith(_TAG):
            fields["content"] = text
        if self._extra:
            fields[_EXTRA] = self._extra
        extras = [parts.extra for parts in calls]
        if not fields and not any(extras):
            return None
        return {NATIVE: {"origin": self._origin, "message": fields, "calls": extras}}

    def _add(self, detail: dict[str, Any]) -> None:
        """Add a piece of reasoning; pieces of one entry become that entry again."""
        latest = self._details[-1] if self._details else {}
        growing = next((name for name in _GROWING if as_str(detail.get(name))), "")
        is_same = all(latest.get(key) == detail.get(key) for key in ("type", "index"))
        is_signature = is_same and not growing and detail.get("signature") and "data" not in detail
        if not (is_same and growing and growing in latest) and not is_signature:
            self._details.append(dict(detail))
            return
        joined = {growing: latest[growing] + detail[growing]} if growing else {}
        present = {name: item for name, item in detail.items() if item is not None}
        latest.update({**present, **joined})


def echoed(message: Message, origin: str) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the fields that *origin* gets back with *message*, and with each of its calls."""
    native = message.native.get(NATIVE) if isinstance(message.native, dict) else None
    if not isinstance(native, dict) or native.get("origin") != origin:
        return {}, [{}] * len(message.calls)
    return native["message"], native["calls"] or [{}] * len(message.calls)
