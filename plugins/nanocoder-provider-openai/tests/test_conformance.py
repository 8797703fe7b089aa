"""The conformance suite of providers, for both protocols."""

import openai
import pytest
from nanocoder_provider_openai import nanocoder_settings, open_provider
from nanocoder_testing.provider_contract import *  # noqa: F403
from nanocoder_testing.provider_wire import VendorReply, Wire
from nanocoder_testing.server import data


class OpenAIWire(Wire):
    api = ""

    def open(self, address, retries):
        settings = nanocoder_settings()(base_url=address, max_retries=retries, api=self.api)
        return open_provider("m", settings)

    def vendor_reply(self, address):
        with openai.OpenAI(base_url=address, api_key="sk-1", max_retries=0) as client:
            return self.read(client)


class Chat(OpenAIWire):
    api = "chat"

    def read(self, client):
        text, calls, usage = "", {}, None
        question = [{"role": "user", "content": "hi"}]
        for chunk in client.chat.completions.create(model="m", messages=question, stream=True):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    name, arguments = calls.get(call.index, ("", ""))
                    name += call.function.name or ""
                    calls[call.index] = (name, arguments + (call.function.arguments or ""))
        return VendorReply(text, [*calls.values()], usage.prompt_tokens, usage.completion_tokens)

    def pieces(self, reply):
        ends = {"done": "tool_calls" if reply.calls else "stop", "length": "length"}
        texts = {"refusal": "refusal"}.get(reply.end, "content")
        deltas = [{"reasoning_content": reply.thinking}] if reply.thinking else []
        deltas += [{texts: piece} for piece in reply.text]
        for index, call in enumerate(reply.calls):
            function = {"name": call.name, "arguments": call.arguments}
            deltas.append(
                {"tool_calls": [{"index": index, "id": call.call_id, "function": function}]}
            )
        usage = {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        }
        values = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        end = {"index": 0, "delta": {}, "finish_reason": ends.get(reply.end, "stop")}
        return [
            *map(data, [*values, {"choices": [end]}, {"choices": [], "usage": usage}]),
            data(b"[DONE]"),
        ]


class Responses(OpenAIWire):
    api = "responses"

    def read(self, client):
        text, calls = "", {}
        for event in client.responses.create(model="m", input="hi", stream=True):
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                calls[event.output_index] = (event.item.name, "")
            elif event.type == "response.function_call_arguments.delta":
                name, arguments = calls[event.output_index]
                calls[event.output_index] = (name, arguments + event.delta)
            elif event.type in {"response.completed", "response.incomplete"}:
                usage = event.response.usage
        return VendorReply(text, [*calls.values()], usage.input_tokens, usage.output_tokens)

    def pieces(self, reply):
        events, index = [], 0
        if reply.thinking:
            thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}
            delta = {"type": "response.reasoning_summary_text.delta", "delta": reply.thinking}
            events += self._item(index, thought, [delta])
            index += 1
        if reply.text:
            kind = {"refusal": "refusal"}.get(reply.end, "output_text")
            deltas = [{"type": f"response.{kind}.delta", "delta": piece} for piece in reply.text]
            events += self._item(index, {"type": "message", "content": []}, deltas)
            index += 1
        for call in reply.calls:
            body = {"type": "function_call", "call_id": call.call_id, "name": call.name}
            half = len(call.arguments) // 2
            deltas = [
                {"type": "response.function_call_arguments.delta", "delta": piece}
                for piece in (call.arguments[:half], call.arguments[half:])
            ]
            is_cut = reply.end == "length" and call is reply.calls[-1]
            events += self._item(
                index, {**body, "arguments": call.arguments}, deltas, is_cut=is_cut
            )
            index += 1
        return [*map(data, [*events, self._end(reply)])]

    def _item(self, index, body, deltas, *, is_cut=False):
        start = {**body, **({"arguments": ""} if "arguments" in body else {})}
        events = [{"type": "response.output_item.added", "item": start}, *deltas]
        if not is_cut:
            events.append({"type": "response.output_item.done", "item": body})
        return [{**event, "output_index": index} for event in events]

    def _end(self, reply):
        status = "incomplete" if reply.end == "length" else "completed"
        usage = {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": reply.cached_tokens},
            "output_tokens": reply.output_tokens,
        }
        response = {"object": "response", "status": status, "usage": usage}
        if reply.end == "length":
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        return {"type": f"response.{status}", "response": response}


@pytest.fixture(params=[Chat, Responses])
def provider_wire(request, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return request.param()
