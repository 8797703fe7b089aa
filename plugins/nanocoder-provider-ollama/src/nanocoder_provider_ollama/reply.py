"""From the lines of Ollama's /api/chat to one reply."""

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
)

from nanocoder_provider_ollama.messages import NATIVE


class ChatReply(Reply):
    """Decode one reply; it is complete with a line that is `done` and the end of the stream."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._calls: list[ToolCall] = []
        self._reason = ""
        self._is_done = False
        self._usage = Usage()

    @property
    def begun(self) -> bool:
        """Return True if a part of the answer has arrived."""
        has_thinking = bool(self._deltas.text_of(ThinkingDelta))
        return self._is_done or has_thinking or bool(self.partial or self._calls)

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when its last line did not come."""
        if not self._is_done:
            raise self._cut("before its last line")
        self._refuse_failed(self._reason)
        refusal = self._refusal_by(self._reason)
        thinking = self._deltas.text_of(ThinkingDelta)
        return Finished(
            self._text(refusal, has_calls=bool(self._calls)),
            tuple(self._calls),
            self._usage,
            native={NATIVE: {"thinking": thinking}} if thinking and self._calls else None,
            truncated=end_of(self._reason) is End.CUT,
            refusal=refusal,
        )

    def _decode_object(self, line: Mapping[str, Any], _kind: str) -> None:
        if line.get("error"):
            raise self._context.failure(line["error"])
        is_done = line.get("done") is True
        if is_done or not self._is_done:  # behind a real end comes no part of a reply
            self._decode_message(as_mapping(line.get("message")))
        if is_done:
            self._is_done = True
            self._reason = as_str(line.get("done_reason"))
            sent, answered = as_int(line.get("prompt_eval_count")), as_int(line.get("eval_count"))
            self._usage = Usage(sent, answered, cost=0.0)

    def _decode_message(self, message: Mapping[str, Any]) -> None:
        for kind, name in ((ThinkingDelta, "thinking"), (TextDelta, "content")):
            piece = as_str(message.get(name))
            if piece:
                self._deltas.add(kind, piece)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                self._decode_call(as_str(call.get("id")), function)

    def _decode_call(self, call_id: str, function: Mapping[str, Any]) -> None:
        parts = CallParts(call_id, as_str(function.get("name")))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            parts.pieces.append(arguments)
        elif arguments is not None:
            parts.pieces.append(json.dumps(arguments))
        if not self._is_repeat(parts):
            self._calls.append(parts.close(self._context.used_ids))
