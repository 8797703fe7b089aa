"""The conformance suite of providers."""

import json

import pytest
from nanocoder_provider_ollama import nanocoder_settings, open_provider
from nanocoder_testing.provider_contract import *  # noqa: F403
from nanocoder_testing.provider_wire import Wire


class Chat(Wire):
    def open(self, address, retries):
        settings = nanocoder_settings()(base_url=address, max_retries=retries)
        return open_provider("m", settings)

    def side_answer(self, path):
        return {"capabilities": ["tools", "thinking"]} if path == "/api/show" else None

    def pieces(self, reply):
        messages = [{"thinking": reply.thinking, "content": ""}] if reply.thinking else []
        messages += [{"content": piece} for piece in reply.text]
        for call in reply.calls:
            function = {"name": call.name, "arguments": json.loads(call.arguments)}
            messages.append(
                {"content": "", "tool_calls": [{"id": call.call_id, "function": function}]}
            )
        lines = [
            {"message": {"role": "assistant", **message}, "done": False} for message in messages
        ]
        end = {"message": {"role": "assistant", "content": ""}, "done": True}
        end["done_reason"] = "length" if reply.end == "length" else "stop"
        end |= {"prompt_eval_count": reply.input_tokens, "eval_count": reply.output_tokens}
        return [json.dumps(line).encode() + b"\n" for line in [*lines, end]]


@pytest.fixture
def provider_wire(monkeypatch):
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    # Arguments come whole with each call; nothing is declined, and no cache is counted.
    return Chat(lacks=["refusal", "cut-arguments", "bad-arguments", "cached-usage"])
