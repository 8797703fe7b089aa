"""Chat Completions for a small model: each reply is one action that a schema restricts."""

from typing import Any

from nanocoder import Request
from nanocoder_kit_llm.actions import ActionReply, Actions, chat, has_material
from nanocoder_kit_llm.http import ReplyContext, ReplyDecoder, encode_json
from nanocoder_kit_llm.models import Model

from nanocoder_provider_openai.reply import ChatReply
from nanocoder_provider_openai.settings import Settings
from nanocoder_provider_openai.vendors import Vendor

MAX_TOKENS = 1_536
"""The longest reply: a small model may go on without end."""


class ActionsWire:
    """Chat Completions with a JSON schema instead of tools."""

    path = "/chat/completions"

    def __init__(self, vendor: Vendor, settings: Settings) -> None:
        self._vendor = vendor
        self._settings = settings
        self._actions = Actions.of(())

    def body(self, request: Request, model: Model) -> bytes:
        """Return the body of one request."""
        if self._actions.tools != tuple(request.tools):
            self._actions = Actions.of(request.tools)
        bare = not has_material(request.messages)
        schema = self._actions.schema(bare=bare, has_separators=False)
        body: dict[str, Any] = {
            "model": model.name,
            "stream": True,
            "temperature": request.temperature or 0.0,
            self._settings.max_tokens_field or self._vendor.limit_field: (
                request.max_tokens or MAX_TOKENS
            ),
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "action", "strict": True, "schema": schema},
            },
            "messages": chat(request, self._actions, {}),
        }
        if self._settings.stream_usage:
            body["stream_options"] = {"include_usage": True}
        return encode_json(body)

    def reply(self, context: ReplyContext) -> ReplyDecoder:
        """Return the decoder of one reply."""
        return ActionReply(ChatReply(context), self._actions)
