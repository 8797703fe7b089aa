"""The conformance suite of providers."""

import json

import pytest
from google import genai
from google.genai import types
from nanocoder_provider_google import nanocoder_settings, open_provider
from nanocoder_testing.provider_contract import *  # noqa: F403
from nanocoder_testing.provider_wire import VendorReply, Wire
from nanocoder_testing.server import data

STOPS = {"done": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}


class GenerateContent(Wire):
    def open(self, address, retries):
        settings = nanocoder_settings()(base_url=address, max_retries=retries)
        return open_provider("m", settings)

    def vendor_reply(self, address):
        text, calls, usage = "", [], None
        options = types.HttpOptions(base_url=address, api_version="v1beta")
        with genai.Client(api_key="AIza1", http_options=options) as client:
            for chunk in client.models.generate_content_stream(model="m", contents="hi"):
                usage = chunk.usage_metadata or usage
                content = chunk.candidates[0].content
                for part in (content and content.parts) or ():
                    text += "" if part.thought else part.text or ""
                    if function := part.function_call:
                        calls.append((function.name, json.dumps(function.args)))
        read = usage.prompt_token_count
        return VendorReply(text, calls, read, usage.candidates_token_count)

    def pieces(self, reply):
        parts = [{"text": reply.thinking, "thought": True}] if reply.thinking else []
        parts += [{"text": piece} for piece in reply.text]
        for call in reply.calls:
            function = {"id": call.call_id, "name": call.name, "args": json.loads(call.arguments)}
            parts.append({"functionCall": function})
        usage = {
            "promptTokenCount": reply.input_tokens,
            "cachedContentTokenCount": reply.cached_tokens,
            "candidatesTokenCount": reply.output_tokens,
        }
        chunks = [
            {"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts
        ]
        end = {"candidates": [{"finishReason": STOPS[reply.end]}], "usageMetadata": usage}
        return [data(chunk) for chunk in [*chunks, end]]


@pytest.fixture
def provider_wire(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "AIza1")
    # Arguments are JSON of the reply itself: they are never cut, and cannot be damaged alone.
    return GenerateContent(lacks=["cut-arguments", "bad-arguments"])
