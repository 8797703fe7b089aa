"""One model behind a server that speaks one of OpenAI's protocols."""

import os
from collections.abc import Sequence
from typing import Any, Final, Protocol

from nanocoder import Cancel, ModelInfo, ProviderError, Request, ToolDefinition, evolve
from nanocoder_kit_llm.http import (
    Batches,
    HttpProvider,
    Key,
    Pieces,
    ReplyContext,
    ReplyDecoder,
    as_int,
    as_mapping,
    as_str,
    is_small,
    with_path,
)
from nanocoder_kit_llm.models import FREE, Catalog, Model

from nanocoder_provider_openai.chat import ChatWire
from nanocoder_provider_openai.settings import Settings
from nanocoder_provider_openai.strict import without_nulls
from nanocoder_provider_openai.vendors import OPENAI, Vendor, vendor_at

_CONTEXT_FIELDS: Final = ("context_length", "max_model_len", "context_window", "max_context_length")
_ENDPOINTS: Final = ("/chat/completions", "/responses")
"""Ends of addresses that people copy; requests add their own."""
_NO_COUNTS: Final = "set stream_usage = false in [plugins.provider-openai]"
_SERVED_FIELDS: Final = ("n_ctx", "n_ctx_train")  # llama.cpp's server, below "meta"


class Wire(Protocol):
    """One of the protocols: the path and body of a request, and the decoder of its reply."""

    path: str

    def body(self, request: Request, model: Model) -> bytes:
        """Return the body of one request."""
        ...

    def reply(self, context: ReplyContext) -> ReplyDecoder:
        """Return the decoder of one reply."""
        ...


class OpenAIProvider(HttpProvider):
    """Speaks to one server about one model; without a key it sends none."""

    def __init__(self, model: str, settings: Settings, vendor: Vendor = OPENAI) -> None:
        self._settings = settings
        # One vendor's key must not go to another: the settings are those of `openai/MODEL`.
        is_own = vendor is OPENAI
        command = settings.key_command if is_own else ()
        own = settings.headers if is_own else {}
        vendor, base_url, key_from = located(vendor, settings)
        key = Key(key_from, vendor.key_header, command)
        if vendor.address.startswith("https:") and not key.read():
            raise ProviderError(_missing_key(vendor, key_from), kind="auth")
        super().__init__(model, settings, base_url, key, own=own)
        # Behind any other address on this machine may be a gateway to models that cost.
        is_free = vendor.takes_schema and self._client.is_local
        self._catalog = Catalog(
            vendor.prices, settings.models, plugin="provider-openai", is_free=is_free
        )
        entry = self._catalog.find(model)
        is_counted = settings.stream_usage or vendor.counts_unasked
        self.has_price = entry.price == FREE or (entry.price is not None and is_counted)
        self._vendor = vendor
        self._context = entry.context
        self._has_looked = not vendor.takes_schema
        self._wire = open_wire(vendor, settings, self._client.host)
        self._actions_wire: Wire | None = None

    @property
    def context(self) -> int:
        """The model's window in tokens; a server on this machine is asked for it, once."""
        if not self._has_looked:
            self._has_looked = True
            info = self._served()
            self._context = info.context or self._context
            if is_small(info.description):
                self._take_as_small()
        return self._context

    def stream(self, request: Request, cancel: Cancel) -> Pieces:
        """Ask the model and yield its reply, `Finished` last; raises ProviderError, Cancelled."""
        request = evolve(request, model=request.model or self._model)
        model = self._catalog.find(request.model)
        wire = self._wire_for(request)
        body = wire.body(request, model)
        pieces = self._ask(
            request,
            cancel,
            lambda: self._send(wire.path, body, cancel),
            wire.reply,
            model.priced,
        )
        return without_nulls(pieces, request.tools) if self._settings.strict_tools else pieces

    def _send(self, path: str, body: bytes, cancel: Cancel) -> Batches:
        try:
            yield from self._client.stream_events(path, body, cancel)
        except ProviderError as error:
            if error.kind != "bad_request" or "stream_options" not in str(error):
                raise
            raise ProviderError(f"{error}; {_NO_COUNTS}", kind=error.kind) from error

    def _served(self) -> ModelInfo:
        """Return the server's metadata of the model, empty if it does not answer."""
        looking = OpenAIProvider(self._model, self._settings.impatient(), self._vendor)
        try:
            infos = looking.models()
        except ProviderError:
            return ModelInfo(self._model)  # the request itself will report the problem
        finally:
            looking.close()
        ours = (info for info in infos if info.name == self._model)
        return next(ours, ModelInfo(self._model))

    def _wire_for(self, request: Request) -> Wire:
        """Return the protocol for *request*: a small model acts under a schema where it can."""
        if not self._acts or not request.tools:
            return self._wire
        if self._actions_wire is None:
            from nanocoder_provider_openai.actions import ActionsWire  # few models need it

            self._actions_wire = ActionsWire(self._vendor, self._settings)
        return self._actions_wire

    @property
    def _acts(self) -> bool:
        """Return True if the model chooses actions instead of calling tools."""
        return self.profile == "small" and self._vendor.takes_schema and not self._settings.api

    def tool_texts(self, tools: Sequence[ToolDefinition]) -> Sequence[str]:
        """Return the texts that the model reads instead of the tools' definitions, if any."""
        if not self._acts:
            return ()
        from nanocoder_kit_llm.actions import tool_texts  # few models need it

        return tool_texts(tools)

    def models(self) -> Sequence[ModelInfo]:
        """Ask the server for its models; raises ProviderError."""
        infos = [info for info in map(_model_info, self._entries("/models", "data")) if info.name]
        completed = [self._catalog.find(info.name).info(info) for info in infos]
        return sorted(completed, key=lambda info: info.name)


def located(vendor: Vendor, settings: Settings) -> tuple[Vendor, str, str]:
    """Return the vendor that is really asked, its address, and the variable that has its key.

    The settings `base_url` and `api_key_env` are those of `openai/MODEL`. Raises ProviderError for
    a vendor without an address.
    """
    own = settings.base_url if vendor is OPENAI else ""
    named = os.environ.get(vendor.address_variable, "")
    named = named and with_path(named, vendor.suffix, without=(*_ENDPOINTS, vendor.suffix))
    address = with_path(own, "", without=_ENDPOINTS) or named or vendor.address
    if not address:
        raise ProviderError(
            f"no address for {vendor.name}: set {vendor.address_variable}", kind="unavailable"
        )
    if vendor is OPENAI:
        return vendor_at(address), address, settings.api_key_env
    moved = vendor._replace(address=address) if address != vendor.address else vendor
    return moved, address, vendor.key_variable


def open_wire(vendor: Vendor, settings: Settings, host: str) -> Wire:
    """Return the protocol for *host*: the user's choice, or the vendor's best."""
    if (settings.api or vendor.api) == "chat":
        return ChatWire(vendor, settings, host)
    from nanocoder_provider_openai.responses import ResponsesWire  # most servers speak the other

    return ResponsesWire(vendor, settings, host)


def _missing_key(vendor: Vendor, key_from: str) -> str:
    if vendor is OPENAI:
        return f"no key for OpenAI: set {key_from}, or OPENAI_BASE_URL for a server that needs none"
    return f"no key for {vendor.name}: set {key_from}"


def _model_info(entry: Any) -> ModelInfo:
    fields = as_mapping(entry)
    tables = [(fields, _CONTEXT_FIELDS), (as_mapping(fields.get("meta")), _SERVED_FIELDS)]
    sizes = (as_int(table.get(name)) for table, names in tables for name in names)
    context = next(filter(None, sizes), 0)
    size = as_int(as_mapping(fields.get("meta")).get("n_params"))
    words = [as_str(fields.get("owned_by")), f"{size / 1e9:.1f}B" if size else ""]
    return ModelInfo(as_str(fields.get("id")), context, " ".join(filter(None, words)))
