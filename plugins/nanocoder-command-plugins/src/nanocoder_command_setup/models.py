"""`nanocoder models`: the providers, and the models that one of them offers."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from attrs import asdict, evolve
from nanocoder import (
    Chosen,
    Host,
    ModelInfo,
    PersonError,
    ProviderError,
    SessionInfo,
    choose_model,
    find_offer,
    key_source,
    open_provider,
    usable,
)
from nanocoder_kit_files.table import print_table


def run(arguments: Namespace, host: Host) -> int:
    """List the providers, or with a provider's name the models that it offers."""
    if arguments.provider:
        return _models_of(host, arguments.provider, arguments.output)
    default_model, advice = _default_model(host)
    offers = list(host.plugins.offers("providers"))
    rows = [_provider_row(host, offer, entry.name, default_model) for entry, offer in offers]
    if arguments.output == "json":
        names = ("provider", "default", "plugin", "status", "needs")
        host.print_json([dict(zip(names, row, strict=True)) for row in rows])
        return 0
    print_table(("provider", "default model", "plugin", "status", "key, or what to do"), rows)
    host.print_line(f"\n{advice}")
    return 0


def _default_model(host: Host) -> tuple[str, str]:
    """Return the default model, or "", and advice for the next step."""
    model = host.config.core.model
    try:
        info = SessionInfo("models", host.cwd)
        chosen = choose_model(host.plugins, model, info, config=host.config)
    except PersonError as error:
        if not model:
            return "", str(error).partition("\nThen run the same command again")[0]
        host.say(str(error))
    else:
        model = model or str(chosen)
    return model, "--model PROVIDER/MODEL takes another; `nanocoder models PROVIDER` lists them."


def _provider_row(
    host: Host, offer: Mapping[str, Any], plugin: str, default_model: str
) -> tuple[str, ...]:
    """Return name, default model, plugin, status, and the requirements of a provider."""
    name = offer["name"]
    chosen, _, model = default_model.partition("/")
    model = (model if name == chosen else "") or offer["default_model"]
    key = key_source(offer["key_variables"])
    status = "default" if name == chosen else "ready" if is_ready(host, plugin, offer) else ""
    hint = "" if status else offer["hint"] or " or ".join(offer["key_variables"])
    return name, model and f"{name}/{model}", plugin, status, key or hint


def is_ready(host: Host, plugin: str, offer: Mapping[str, Any]) -> bool:
    """Return True if a provider has its key, its server answers, or its weights are installed."""
    try:
        return bool(key_source(offer["key_variables"]) or usable(host.plugins, plugin, offer))
    except ProviderError:  # its server answers, and offers several models
        return True


def _models_of(host: Host, name: str, form: str) -> int:
    """List the models of one provider; raises UsageError for an unknown one."""
    find_offer(host.plugins, "providers", "provider", name)
    provider = open_provider(host.plugins, Chosen(name, ""))
    try:
        offered = [evolve(model, name=f"{name}/{model.name}") for model in provider.models()]
    finally:
        provider.close()
    if form == "json":
        host.print_json([asdict(model) for model in offered])
    else:
        head = ("model", "context", "$/M in", "$/M out", "abilities", "description")
        print_table(head, [_model_row(model) for model in offered])
    return 0


def _model_row(model: ModelInfo) -> tuple[Any, ...]:
    prices = ["" if p is None else f"{p:g}" for p in (model.input_price, model.output_price)]
    abilities = ", ".join(model.abilities)
    return model.name, model.context or "", *prices, abilities, model.description
