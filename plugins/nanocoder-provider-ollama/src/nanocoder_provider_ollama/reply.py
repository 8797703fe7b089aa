"""From the lines of Ollama's /api/chat to one reply."""

import json
from collections.abc import Mapping
from typing import Any

from nanocoder import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from nanocoder_kit_http import (
    CallParts,
    Reply,
    ReplyContext,
    as_int,
    as_mapping,
    as_str,
)

from nanocoder_provider_ollama.messages import NATIVE


class ChatReply(Reply):
    """Decode one reply; it is complete with a line that is `done`."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._calls: list[ToolCall] = []
        self._reason = ""
        self._usage = Usage()

    @property
    def begun(self) -> bool:
        """Tell whether a part of the answer has arrived."""
        return bool(self.partial or self._calls or self._deltas.text_of(ThinkingDelta))

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when its last line did not come."""
        if not self.is_complete:
            raise self._cut("before its last line")
        thinking = self._deltas.text_of(ThinkingDelta)
        return Finished(
            self.partial,
            tuple(self._calls),
            self._usage,
            native={NATIVE: {"thinking": thinking}} if thinking and self._calls else None,
            truncated=self._reason == "length",
        )

    def _take_object(self, line: Mapping[str, Any], _kind: str) -> None:
        if line.get("error"):
            raise self._context.failure({"message": line["error"]})
        self._take_message(as_mapping(line.get("message")))
        if line.get("done") is True:
            self.is_complete = True
            self._reason = as_str(line.get("done_reason"))
            sent, answered = as_int(line.get("prompt_eval_count")), as_int(line.get("eval_count"))
            self._usage = Usage(sent, answered, cost=0.0)

    def _take_message(self, message: Mapping[str, Any]) -> None:
        for kind, name in ((ThinkingDelta, "thinking"), (TextDelta, "content")):
            piece = as_str(message.get(name))
            if piece:
                self._deltas.add(kind, piece)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                self._take_call(as_str(call.get("id")), function)

    def _take_call(self, call_id: str, function: Mapping[str, Any]) -> None:
        parts = CallParts(call_id, as_str(function.get("name")))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            parts.pieces.append(arguments)
        elif arguments is not None:
            parts.pieces.append(json.dumps(arguments))
        self._calls.append(parts.close(self._context.used_ids))
