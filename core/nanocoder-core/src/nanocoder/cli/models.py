"""`nanocoder models`: what can be asked, and what is missing."""

import argparse
import os

from attrs import asdict, evolve
from nanocoder_schema import did_you_mean

from nanocoder.cli.command_host import CommandHost
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.errors import PersonError, UsageError
from nanocoder.provider import ModelInfo
from nanocoder.session.models import (
    NO_MODEL,
    Chosen,
    choose_model,
    first_usable,
    open_provider,
    ways_to_a_model,
)
from nanocoder.tools.session_info import SessionInfo


def run(arguments: argparse.Namespace) -> int:
    """List the providers, or with a provider's name the models that it offers."""
    host = CommandHost(arguments.cwd)
    if arguments.provider:
        return _of_provider(host, arguments.provider, arguments.output)
    default_model, problem = _default_model(host)
    if host.config.core.model:
        _warn_of_no_provider(host)
    rows = []
    for entry, offer in host.plugins.offers("providers"):
        keys = [name for name in offer["key_variables"] if os.environ.get(name)]
        is_default = offer["name"] == default_model.partition("/")[0]
        status = "default" if is_default else "ready" if keys else ""
        default = f"{offer['name']}/{offer['default_model']}" if offer["default_model"] else ""
        if is_default and "/" in default_model:
            default = default_model
        needs = " or ".join(offer["key_variables"]) or offer["hint"]
        rows.append((offer["name"], default, entry.name, status, needs))
    if arguments.output == "json":
        names = ("provider", "default", "plugin", "status", "needs")
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return 0
    hints = {offer["name"]: offer["hint"] for _, offer in host.plugins.offers("providers")}
    # A provider that is ready needs nothing; for the others their authors' hints say most.
    cells = [(*row[:4], "" if row[3] else hints[row[0]] or row[4]) for row in rows]
    print_table(("provider", "default model", "plugin", "status", "needs"), cells)
    print_line()
    if default_model:
        print_line("--model PROVIDER/MODEL takes another; `nanocoder models PROVIDER` lists them.")
    elif problem:
        print_line(problem)
    else:
        print_line("No model is configured. Any of these gives you one:")
        for line in ways_to_a_model(host.plugins).splitlines():
            print_line(line)
    return 0


def _default_model(host: CommandHost) -> tuple[str, str]:
    """Return the model that is the default, or why a person has to name one first."""
    if host.config.core.model:
        return host.config.core.model, ""
    try:
        return str(first_usable(host.plugins)), ""
    except PersonError as error:
        is_none = str(error).startswith(NO_MODEL.partition("{")[0])
        return "", "" if is_none else str(error)


def _warn_of_no_provider(host: CommandHost) -> None:
    info = SessionInfo("models", host.cwd)
    try:
        choose_model(host.plugins, host.config.core.model, info, config=host.config)
    except PersonError as error:
        host.say(str(error))


def _of_provider(host: CommandHost, name: str, output: str) -> int:
    names = [offer["name"] for _, offer in host.plugins.offers("providers")]
    if name not in names:
        hint = did_you_mean(name, names, ".")
        have = ", ".join(names) or "none"
        raise UsageError(f"there is no provider {name!r}{hint} Providers: {have}")
    provider = open_provider(host.plugins, Chosen(name, ""))
    try:
        models = list(provider.models())
    finally:
        provider.close()
    if output == "json":
        print_json([asdict(evolve(model, name=f"{name}/{model.name}")) for model in models])
    else:
        rows = [
            (
                f"{name}/{model.name}",
                model.context or "",
                *_prices(model),
                ", ".join(model.abilities),
                model.description,
            )
            for model in models
        ]
        print_table(("model", "context", "$/M in", "$/M out", "abilities", "description"), rows)
    return 0


def _prices(model: ModelInfo) -> list[str]:
    prices = (model.input_price, model.output_price)
    return ["" if price is None else f"{price:g}" for price in prices]
