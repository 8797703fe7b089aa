"""Requests to a model, its replies, and the interface of providers.

No HTTP client's type appears in any signature.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from attrs import Factory, field
from nanocoder_schema import value

from nanocoder.values import EMPTY, IN_MANIFEST, Message, ToolCall, Usage

if TYPE_CHECKING:
    from nanocoder.cancel import Cancel

Profile = Literal["full", "small"]


@value
class ToolDefinition:
    """A tool as a model reads it: *parameters* is a JSON Schema object without its bounds.

    *plugin* is the tool's plugin, *always_listed* a field of the tool; both are empty for the
    definition of a dialect.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    plugin: str = ""
    always_listed: bool = False


@value
class Request:
    """One request.

    *messages* only ever grows within a session and its members are compared by identity.

    A provider encodes each message once and caches the bytes (`EncodedMessages` of the HTTP kit).
    *tools* is the same object from turn to turn while the set does not change, and a tool that is
    added to the set comes last. *max_tokens* 0 leaves the limit to the provider. *answer_schema* is
    a JSON Schema for the answer; a provider that cannot enforce it ignores it.
    """

    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolDefinition] = ()
    max_tokens: int = 0
    temperature: float | None = None
    session_id: str = ""
    answer_schema: Mapping[str, Any] | None = None


@value
class Window:
    """The model's context window, into which *request* has to fit with the reply.

    *tokens* is its size, 0 if unknown; *usage* is the model's token count of the last request.
    """

    request: Request
    tokens: int
    usage: Usage


@value
class TextDelta:
    """A piece of the answer.

    Pieces that arrive together should be joined: one delta for one network read.
    """

    text: str


@value
class ThinkingDelta:
    """A piece of the model's reasoning, shown but never sent back as text."""

    text: str


@value
class Notice:
    """A notice for the person about this request, such as a part that had to be omitted.

    Shown at once, beside the answer; the model never reads it. With *is_passing* it is the model's
    progress, such as the processed part of a long prompt: the event `request.progress`, which a
    screen shows in place of its waiting line until the next event.
    """

    text: str
    is_passing: bool = False


@value
class Retrying:
    """A failed request is about to be repeated: try number *attempt* of *of*.

    *reason* names the failure for a person; *status* is the HTTP status if there was one,
    *delay_s* the pause before the next try, in seconds.
    """

    reason: str
    attempt: int
    of: int
    status: int = 0
    delay_s: float = 0.0


Piece = TextDelta | ThinkingDelta | Notice | Retrying


@value
class Finished:
    """The protocol's own end of the reply.

    A stream that ends without one was cut, and its calls must not run.

    *calls* are complete calls in the model's order, each with an id of its own; *native* has to be
    echoed unchanged; *truncated*: the token limit cut the reply. *refusal* is the reason if the
    reply was withheld or stopped by a filter: the run fails.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Factory(Usage)
    native: Any = None
    truncated: bool = False
    refusal: str = ""


@value
class ModelInfo:
    """A model that a provider knows of. *context* is in tokens, 0 when unknown.

    The prices are in US dollars for a million tokens, None when unknown; *abilities* are words such
    as "images", "pdf" and "thinking".
    """

    name: str
    context: int = 0
    description: str = ""
    input_price: float | None = None
    output_price: float | None = None
    abilities: tuple[str, ...] = ()


@runtime_checkable
class Provider(Protocol):
    """A connection to a model.

    One object serves one session; its methods are called from one thread at a time.

    *profile* "small" asks the core for short descriptions, a small tool set and the files named in
    the request. A true attribute `has_price` promises that `Finished.usage.cost` is known: without
    it a session with a limit on money does not start. An attribute `context` is the model's context
    window in tokens, 0 if unknown. A method `tool_texts(tools)` returns the texts that are sent in
    place of the tools' definitions, one for each and one for the end; nothing: these are sent.
    """

    profile: Profile

    def stream(self, request: Request, cancel: "Cancel") -> Iterator[Piece | Finished]:
        """Send the request and yield the pieces of the reply; the last is one `Finished`.

        Raises: ProviderError (after the provider's own retries, which end with the first piece of
        a reply; each yields a `Retrying`), and nanocoder.Cancelled when *cancel* is set; a blocked
        read must then return within a second (`cancel.on_set(close_socket)`). An error of kind
        network, overloaded, protocol or unavailable after the first piece means that the reply
        broke off: the request is repeated, unless the error's *retry* is False.
        """

    def models(self) -> Sequence[ModelInfo]:
        """Return the models on offer, from the network only if the list is not known.

        Raises: ProviderError.
        """

    def close(self) -> None:
        """Release sockets, threads and memory; called once, at the end of the session."""


@value
class ProviderSpec:
    """The specification of a provider that a plugin returns from `nanocoder_providers`.

    *name* is the part before the slash in `--model name/model`.

    *open* is called with the model's name and the plugin's settings at first use. *key_variables*
    are environment variables whose presence makes this provider usable, *default_model* the model
    chosen then, *rank* the order in which usable providers are preferred (keys 10, local servers
    50, embedded 90). *probe*, if set, tells without a key whether the provider is usable now (a
    local server that answers, installed weights): true, or the name of the model to choose. It
    raises ProviderError if a person has to do something first, such as to name one of several
    models. *servers* maps names of servers with this protocol to the settings that each needs.
    """

    name: str = field(metadata=IN_MANIFEST)
    open: Callable[[str, Any], Provider]
    description: str = field(default="", metadata=IN_MANIFEST)
    default_model: str = field(default="", metadata=IN_MANIFEST)
    key_variables: tuple[str, ...] = field(default=(), metadata=IN_MANIFEST)
    rank: int = field(default=10, metadata=IN_MANIFEST)
    probe: Callable[[Any], bool | str] | None = None
    hint: str = field(default="", metadata=IN_MANIFEST)
    servers: Mapping[str, str] = field(default=EMPTY, metadata=IN_MANIFEST)
