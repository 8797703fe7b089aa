"""From the chunks of generateContent to one reply."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from nanocoder import Finished, ProviderError, TextDelta, ThinkingDelta, ToolCall, Usage
from nanocoder_kit_http import (
    CallParts,
    Deltas,
    SseEvent,
    as_int,
    as_str,
    decode_json,
    failure_in_stream,
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


class ContentReply:
    """Decode one reply; it is complete with a finish reason."""

    def __init__(
        self,
        host: str,
        used_ids: set[str],
        secrets: Sequence[str] = (),
        priced: Callable[[Usage], Usage] = lambda usage: usage,
    ) -> None:
        self.is_complete = False
        self._host = host
        self._used_ids = used_ids
        self._secrets = secrets
        self._priced = priced
        self._deltas = Deltas()
        self._parts: list[dict[str, Any]] = []
        self._calls: list[ToolCall] = []
        self._finish = ""
        self._blocked = ""
        self._usage = Usage()

    @property
    def begun(self) -> bool:
        """Tell whether a part of the answer has arrived."""
        return bool(self._parts) or bool(self.partial) or self.is_complete

    @property
    def partial(self) -> str:
        """Return the text so far."""
        return self._deltas.text_of(TextDelta)

    def feed(self, events: Sequence[SseEvent]) -> list[TextDelta | ThinkingDelta]:
        """Take the events of one read; raises ProviderError for errors and damaged chunks."""
        for event in events:
            chunks = decode_json(event.data)
            for chunk in chunks if isinstance(chunks, list) else [chunks]:
                if isinstance(chunk, dict) and not self.is_complete:
                    self._take(chunk)
        return self._deltas.take()

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when no finish reason came."""
        if not self.is_complete:
            raise ProviderError(
                f"{self._host} ended the reply without a finish reason: it was cut", kind="network"
            )
        if self._finish in _FAILED:
            raise ProviderError(
                f"the model of {self._host} ended with {self._finish} in place of an answer",
                kind="protocol",
            )
        text = self.partial
        refusal = self._refusal()
        return Finished(
            text or (f"({refusal})" if refusal else ""),
            () if refusal else tuple(self._calls),
            self._priced(self._usage),
            native={NATIVE: self._parts} if self._parts and not refusal else None,
            truncated=self._finish == "MAX_TOKENS",
            refusal=refusal,
        )

    def _refusal(self) -> str:
        if self._blocked:
            return f"{self._host} refused the request: {self._blocked}"
        if self._finish not in _ENDED:
            return f"{self._host} stopped the reply: {self._finish}"
        return ""

    def _take(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("error"):
            raise failure_in_stream(chunk["error"], host=self._host, secrets=self._secrets)
        if isinstance(chunk.get("usageMetadata"), dict):
            self._usage = _usage(chunk["usageMetadata"])
        feedback = chunk.get("promptFeedback")
        self._blocked = as_str(feedback.get("blockReason")) if isinstance(feedback, dict) else ""
        candidates = chunk.get("candidates")
        if candidates and isinstance(candidates, list) and isinstance(candidates[0], dict):
            self._take_candidate(candidates[0])
        self.is_complete = bool(self._finish or self._blocked)

    def _take_candidate(self, candidate: Mapping[str, Any]) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
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
        last = self._parts[-1] if self._parts else {}
        if set(part) == {"text"} and set(last) == {"text"}:
            last["text"] = replace_surrogates(last["text"] + text)
        else:
            self._parts.append(dict(part))

    def _take_call(self, part: dict[str, Any], function: dict[str, Any]) -> None:
        parts = CallParts(as_str(function.get("id")), as_str(function.get("name")))
        if function.get("args") is not None:
            parts.pieces.append(json.dumps(function["args"]))
        call = parts.close(self._used_ids)
        self._calls.append(call)
        echoed = {**function, "name": call.name, "args": dict(call.arguments)}
        self._parts.append({**part, "functionCall": echoed})


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached = as_int(usage.get("cachedContentTokenCount"))
    sent = as_int(usage.get("promptTokenCount")) + as_int(usage.get("toolUsePromptTokenCount"))
    answered = as_int(usage.get("candidatesTokenCount"))
    return Usage(
        input_tokens=max(0, sent - cached),
        output_tokens=answered + as_int(usage.get("thoughtsTokenCount")),
        cache_read_tokens=cached,
    )
