"""One provider and one scripted server, for the tests of a single provider."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from attrs import evolve
from nanocoder.cancel import Cancel
from nanocoder.errors import ProviderError
from nanocoder.provider import Finished, Piece, Provider, Request, TextDelta, ThinkingDelta
from nanocoder.values import Message

from nanocoder_testing.server import Answer, ScriptedServer

Opened = tuple[Provider, ScriptedServer]


def opener(
    stack: ExitStack, open_provider: Callable[..., Provider], settings: type, **usual: Any
) -> Callable[..., Opened]:
    """Return `start(*answers, model="m", **settings)`: it opens a server and a provider for it.

    *settings* is the provider's settings class, with `base_url` and `max_retries`; *usual* are
    other settings of all tests. Leaving *stack* closes both.
    """

    def start(*answers: Answer, model: str = "m", **changed: Any) -> Opened:
        server = stack.enter_context(ScriptedServer(*answers))
        values = {"base_url": server.url, "max_retries": 0, **usual, **changed}
        provider = open_provider(model, settings(**values))
        stack.callback(provider.close)
        return provider, server

    return start


def reply(
    provider: Provider,
    *messages: Message,
    system: str = "be brief",
    cancel: Cancel | None = None,
    **request: Any,
) -> list[Piece | Finished]:
    """Return the reply of *provider* to *messages*, or to a short greeting.

    Neighbouring pieces of one kind are joined: how a reply is cut depends on the network.
    """
    question = Request("", system, messages or (Message("user", "hi"),), **request)
    pieces: list[Piece | Finished] = []
    for piece in provider.stream(question, cancel or Cancel()):
        if (
            isinstance(piece, TextDelta | ThinkingDelta)
            and pieces
            and type(pieces[-1]) is type(piece)
        ):
            pieces[-1] = evolve(piece, text=pieces[-1].text + piece.text)
        else:
            pieces.append(piece)
    return pieces


def failure(provider: Provider, **request: Any) -> ProviderError:
    """Return the error that *provider* raises in place of a reply."""
    with pytest.raises(ProviderError) as caught:
        reply(provider, **request)
    return caught.value
