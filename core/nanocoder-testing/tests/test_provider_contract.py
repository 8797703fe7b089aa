"""The conformance suite passes a provider that does everything right, and no other."""

import json
from http.client import HTTPConnection, HTTPException

import nanocoder_testing.provider_contract as suite
import pytest
from nanocoder import Finished, ProviderError, TextDelta, ToolCall, Usage
from nanocoder_testing.provider_wire import Wire


class Lines:
    """A provider of JSON lines: text, calls, and a last line that is true."""

    profile = "full"

    def __init__(self, address):
        self._address = address.removeprefix("http://")

    def stream(self, request, cancel):
        cancel.check()
        connection = HTTPConnection(self._address, timeout=10)
        forget = cancel.on_set(lambda: connection.sock and connection.sock.shutdown(2))
        try:
            connection.request("POST", "/", json.dumps(self.body(request)))
            response = connection.getresponse()
            yield from self.read(response, cancel)
        except (OSError, HTTPException, ValueError) as error:
            cancel.check()
            raise ProviderError(f"it broke off: {error}") from error
        finally:
            forget()
            connection.close()

    def body(self, request):
        results = [result.output for message in request.messages for result in message.results]
        return [[(tool.name, tool.description) for tool in request.tools], results]

    def read(self, response, cancel):
        if response.status != 200 or response.headers["content-type"] == "text/html":
            raise ProviderError(f"answered {response.status}", status=response.status)
        texts, calls, ended = [], [], False
        for line in response:
            value = json.loads(line)
            if isinstance(value, str):
                texts.append(value)
                yield TextDelta(value)
            elif isinstance(value, list):
                calls.append(ToolCall(f"id{len(calls)}", *value))
            else:
                ended = value["usage"]
        cancel.check()
        if not ended:
            raise ProviderError("it was cut")
        yield Finished("".join(texts), tuple(calls), Usage(*ended))

    def models(self):
        return []

    def close(self):
        pass


class LinesWire(Wire):
    def __init__(self, provider=Lines):
        super().__init__()
        self._provider = provider

    def open(self, address, retries):
        return self._provider(address)

    def pieces(self, reply):
        calls = [[call.name, json.loads(call.arguments)] for call in reply.calls]
        end = {"usage": [reply.input_tokens, reply.output_tokens]}
        return [json.dumps(value).encode() + b"\n" for value in [*reply.text, *calls, end]]


class Forgetful(Lines):
    """Takes the end of the connection for the end of the reply."""

    def read(self, response, cancel):
        try:
            yield from super().read(response, cancel)
        except (ProviderError, ValueError):
            yield Finished("")


class Impatient(Lines):
    """Asks the server again whatever it answered."""

    def stream(self, request, cancel):
        try:
            yield from super().stream(request, cancel)
        except ProviderError:
            yield from super().stream(request, cancel)


class Repeating(Lines):
    """Gives every call the same id."""

    def read(self, response, cancel):
        for piece in super().read(response, cancel):
            calls = [
                ToolCall("same", call.name, call.arguments) for call in getattr(piece, "calls", ())
            ]
            yield Finished(piece.text, tuple(calls), piece.usage) if calls else piece


@pytest.mark.parametrize(
    "test",
    [
        suite.test_text_comes_in_pieces_and_whole,
        suite.test_calls_come_in_order_with_ids_of_their_own,
        suite.test_a_reply_that_is_cut_is_an_error_or_whole,
        suite.test_bytes_may_come_in_any_pieces,
        suite.test_a_cancel_in_the_middle_ends_the_stream_within_a_second,
        suite.test_a_captive_portal_is_no_reply,
        suite.test_a_large_reply_arrives_whole,
        suite.test_tools_of_every_shape_can_be_sent,
    ],
    ids=lambda test: test.__name__,
)
def test_a_sound_provider_passes(test):
    test(LinesWire())


@pytest.mark.parametrize(
    ("provider", "test"),
    [
        (Forgetful, suite.test_a_reply_that_is_cut_is_an_error_or_whole),
        (Forgetful, suite.test_a_captive_portal_is_no_reply),
        (Impatient, suite.test_a_captive_portal_is_no_reply),
        (Repeating, suite.test_calls_come_in_order_with_ids_of_their_own),
    ],
)
def test_a_careless_provider_fails(provider, test):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(LinesWire(provider))


def test_every_test_of_the_suite_is_exported():
    tests = {name for name in vars(suite) if name.startswith("test_")}
    assert tests == set(suite.__all__)
