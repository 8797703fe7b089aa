"""From the chunks of generateContent to one reply."""

import json
from collections.abc import Mapping
from typing import Any, Final

from nanocoder import Finished, ProviderError, TextDelta, ThinkingDelta, ToolCall, Usage
from nanocoder_kit_http import (
    CallParts,
    Reply,
    ReplyContext,
    SseEvent,
    as_int,
    as_mapping,
    as_str,
    decode_json,
    replace_surrogates,
)

from nanocoder_provider_google.contents import NATIVE

_ENDED: Final = frozenset({"STOP", "MAX_TOKENS"})
# The model made something that is no answer; another try often comes to one.
_FAILED: Final = frozenset(
    {
        "FINISH_REASON_UNSPECIFIED",
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
    }
)


class ContentReply(Reply):
    """Decode one reply; it is complete with a finish reason."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._parts: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        self._calls: list[ToolCall] = []
        self._finish = ""
        self._blocked = ""
        self._usage: Mapping[str, Any] = {}

    @property
    def begun(self) -> bool:
        """Tell whether a part of the answer has arrived."""
        return bool(self._parts or self._pieces) or bool(self.partial) or self.is_complete

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when no finish reason came."""
        if not self.is_complete:
            raise self._cut("without a finish reason")
        if self._finish in _FAILED:
            host, end = self._context.host, self._finish
            raise ProviderError(
                f"the model of {host} ended with {end} in place of an answer", kind="protocol"
            )
        refusal = self._refusal()
        self._keep()
        return Finished(
            self._text(refusal),
            () if refusal else tuple(self._calls),
            self._context.priced(_usage(self._usage)),
            native={NATIVE: self._parts} if self._parts and not refusal else None,
            truncated=self._finish == "MAX_TOKENS",
            refusal=refusal,
        )

    def _refusal(self) -> str:
        if self._blocked:
            return f"{self._context.host} refused the request: {self._blocked}"
        if self._finish not in _ENDED:
            return f"{self._context.host} stopped the reply: {self._finish}"
        return ""

    def _take(self, event: SseEvent) -> None:
        chunks = decode_json(event.data)
        for chunk in chunks if isinstance(chunks, list) else [chunks]:
            if isinstance(chunk, dict) and not self.is_complete:
                self._take_object(chunk, event.event)

    def _take_object(self, chunk: Mapping[str, Any], _kind: str) -> None:
        if chunk.get("error"):
            raise self._context.failure(chunk["error"])
        if isinstance(chunk.get("usageMetadata"), dict):
            self._usage = chunk["usageMetadata"]  # every chunk has it, and the last one counts
        self._blocked = as_str(as_mapping(chunk.get("promptFeedback")).get("blockReason"))
        candidates = chunk.get("candidates")
        if candidates and isinstance(candidates, list) and isinstance(candidates[0], dict):
            self._take_candidate(candidates[0])
        self.is_complete = bool(self._finish or self._blocked)

    def _take_candidate(self, candidate: Mapping[str, Any]) -> None:
        parts = as_mapping(candidate.get("content")).get("parts")
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict):
                self._take_part(part)
        self._finish = as_str(candidate.get("finishReason"))

    def _take_part(self, part: dict[str, Any]) -> None:
        text = as_str(part.get("text"))
        if text:
            self._deltas.add(ThinkingDelta if part.get("thought") else TextDelta, text)
        if isinstance(part.get("functionCall"), dict):
            self._take_call(part, part["functionCall"])
        elif part.get("thoughtSignature") or (text and not part.get("thought")):
            self._echo(part, text)

    def _echo(self, part: dict[str, Any], text: str) -> None:
        """Keep a part to send back: pieces of plain text as one, signed ones as they came."""
        if part.keys() == {"text"}:
            self._pieces.append(text)
        else:
            self._keep(dict(part))

    def _keep(self, *parts: dict[str, Any]) -> None:
        """Add to what is sent back, behind the plain text so far."""
        text = replace_surrogates("".join(self._pieces))
        self._pieces = []
        self._parts += [{"text": text}, *parts] if text else parts

    def _take_call(self, part: dict[str, Any], function: dict[str, Any]) -> None:
        parts = CallParts(as_str(function.get("id")), as_str(function.get("name")))
        if function.get("args") is not None:
            parts.pieces.append(json.dumps(function["args"]))
        call = parts.close(self._context.used_ids)
        self._calls.append(call)
        echoed = {**function, "name": call.name, "args": dict(call.arguments)}
        self._keep({**part, "functionCall": echoed})


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached = as_int(usage.get("cachedContentTokenCount"))
    sent = as_int(usage.get("promptTokenCount")) + as_int(usage.get("toolUsePromptTokenCount"))
    answered = as_int(usage.get("candidatesTokenCount"))
    return Usage(
        input_tokens=max(0, sent - cached),
        output_tokens=answered + as_int(usage.get("thoughtsTokenCount")),
        cache_read_tokens=cached,
    )
