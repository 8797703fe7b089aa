"""From the chunks of generateContent to one reply."""

import json
from collections.abc import Mapping
from typing import Any

from nanocoder import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from nanocoder_kit_llm.http import (
    CallParts,
    End,
    Reply,
    ReplyContext,
    as_int,
    as_mapping,
    as_str,
    end_of,
    replace_surrogates,
)

from nanocoder_provider_google.contents import NATIVE


class ContentReply(Reply):
    """Decode one reply; it is complete with a finish reason and the end of the stream.

    Some models and servers name the reason in every chunk.
    """

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
        """Return True if a part of the answer has arrived."""
        return bool(self._parts or self._pieces) or bool(self.partial) or bool(self._ending)

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when no finish reason came."""
        if not self._ending:
            raise self._cut("without a finish reason")
        # The model made something that is no answer; another try often comes to one.
        self._refuse_failed(self._finish)
        refusal = self._refusal()
        self._store_parts()
        return Finished(
            self._text(refusal),
            () if refusal else tuple(self._calls),
            self._context.priced(_usage(self._usage)),
            native=self._native() if self._parts and not refusal else None,
            truncated=end_of(self._finish) is End.CUT,
            refusal=refusal,
        )

    def _native(self) -> dict[str, Any]:
        return {NATIVE: self._parts, "host": self._context.host}

    def _refusal(self) -> str:
        if self._blocked:
            return f"{self._context.host} refused the request: {self._blocked}"
        if end_of(self._finish) is End.DONE and self._finish.upper() != "STOP":
            return f"{self._context.host} stopped the reply: {self._finish}"
        return self._refusal_by(self._finish)

    @property
    def _ending(self) -> str:
        return self._finish or self._blocked

    def _decode_value(self, value: Any, kind: str) -> None:
        for chunk in value if isinstance(value, list) else [value]:
            if isinstance(chunk, dict):
                self._decode_object(chunk, kind)

    def _decode_object(self, chunk: Mapping[str, Any], _kind: str) -> None:
        if chunk.get("error"):
            raise self._context.failure(chunk["error"])
        if isinstance(chunk.get("usageMetadata"), dict):
            self._usage = chunk["usageMetadata"]  # every chunk has it; the last one is final
        blocked = as_str(as_mapping(chunk.get("promptFeedback")).get("blockReason"))
        self._blocked = blocked or self._blocked
        candidates = chunk.get("candidates")
        if candidates and isinstance(candidates, list) and isinstance(candidates[0], dict):
            self._decode_candidate(candidates[0])

    def _decode_candidate(self, candidate: Mapping[str, Any]) -> None:
        finish = as_str(candidate.get("finishReason"))
        if self._finish and self.begun and not finish:
            return  # behind a real end comes no part of a reply
        parts = as_mapping(candidate.get("content")).get("parts")
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict):
                self._decode_part(part)
        self._finish = finish or self._finish

    def _decode_part(self, part: dict[str, Any]) -> None:
        text = as_str(part.get("text"))
        if text:
            self._deltas.add(ThinkingDelta if part.get("thought") else TextDelta, text)
        if isinstance(part.get("functionCall"), dict):
            self._decode_call(part, part["functionCall"])
        elif part.get("thoughtSignature") or (text and not part.get("thought")):
            self._echo(part, text)

    def _echo(self, part: dict[str, Any], text: str) -> None:
        """Store a part to send back: pieces of plain text joined, signed ones unchanged."""
        if part.keys() == {"text"}:
            self._pieces.append(text)
        else:
            self._store_parts(dict(part))

    def _store_parts(self, *parts: dict[str, Any]) -> None:
        """Add *parts* to send back, after the plain text so far."""
        text = replace_surrogates("".join(self._pieces))
        self._pieces = []
        self._parts += [{"text": text}, *parts] if text else parts

    def _decode_call(self, part: dict[str, Any], function: dict[str, Any]) -> None:
        parts = CallParts(as_str(function.get("id")), as_str(function.get("name")))
        if function.get("args") is not None:
            parts.pieces.append(json.dumps(function["args"]))
        if self._is_repeat(parts):
            return
        call = parts.close(self._context.used_ids)
        self._calls.append(call)
        echoed = {**function, "name": call.name, "args": dict(call.arguments)}
        self._store_parts({**part, "functionCall": echoed})


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached = as_int(usage.get("cachedContentTokenCount"))
    sent = as_int(usage.get("promptTokenCount")) + as_int(usage.get("toolUsePromptTokenCount"))
    answered = as_int(usage.get("candidatesTokenCount"))
    return Usage(
        input_tokens=max(0, sent - cached),
        output_tokens=answered + as_int(usage.get("thoughtsTokenCount")),
        cache_read_tokens=cached,
    )
