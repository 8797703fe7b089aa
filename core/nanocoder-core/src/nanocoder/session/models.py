"""Choose the model of a session, open its provider, and list the usable ones."""

import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanocoder_schema import UsageError, did_you_mean, problem_of, value

from nanocoder.config import Config, CoreSettings
from nanocoder.errors import PluginError, ProviderError
from nanocoder.hooks import dispatch
from nanocoder.plugins import Entry, Plugins
from nanocoder.provider import Provider
from nanocoder.session.setup import find_offer, why_not_offered
from nanocoder.tools.session_info import SessionInfo

NO_MODEL: Final = "No model is configured. Any of these gives you one:"
# The similarity from which a provider's name is suggested; "nope" is no typo of "openai".
LIKELY_MEANT: Final = 0.7
NEXT_STEP: Final = """Then run the same command again; --model PROVIDER/MODEL chooses a model.
`nanocoder models` lists what each provider needs."""
FOR_TESTS: Final = 100
"""Providers of this rank and above are for tests, and not offered to people."""
MESSAGE_COLUMNS: Final = 76


@value
class Chosen:
    """The names of a provider and of one of its models."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}" if self.model else self.provider


def choose_model(
    plugins: Plugins, model_name: str, session: SessionInfo, config: Config | None = None
) -> Chosen:
    """Return the model to use: *model_name*, a plugin's choice, or the first usable provider's.

    *config* has the origin of the name. Raises: UsageError for an unknown provider, ProviderError
    if none is usable; both list usable ones.
    """
    named = model_name or selected_by_plugin(plugins, session)
    if not named:
        return first_usable(plugins)
    name, _, model = named.partition("/")
    offers = {offer["name"]: (entry, offer) for entry, offer in plugins.offers("providers")}
    if name not in offers:
        by_whom = _named_by(model_name, config) if model_name else "chosen by a plugin"
        why = why_not_offered(plugins, "providers", name)
        instead = f": {why}" if why else _instead(named, {k: it for k, (_, it) in offers.items()})
        raise UsageError(f"there is no provider {name!r} ({by_whom}){instead}")
    entry, offer = offers[name]
    ready = None if model else usable(plugins, entry.name, offer)
    return ready or Chosen(name, model or str(offer["default_model"]))


def _named_by(model_name: str, config: Config | None) -> str:
    """Return the setting that names the model: a flag, a variable, or a file and its line."""
    if config is None or config.core.model != model_name:
        return f"model {model_name!r}"
    origin = config.where("model")
    return f"model {model_name!r} in {origin}" if origin.file else f"{origin} {model_name!r}"


def _instead(model_name: str, offers: Mapping[str, Mapping[str, Any]]) -> str:
    name, slash, model = model_name.partition("/")
    for provider, offer in offers.items():
        if setting := offer["servers"].get(name.lower()):
            flag = f"--model {provider}/{model or 'MODEL'}"
            return f": {name} is a server that {provider!r} talks to; set {setting} and use {flag}"
    have = f" Providers: {', '.join(sorted(offers)) or 'none'}"
    otherwise = "." if slash else ". A model is written PROVIDER/MODEL."
    return did_you_mean(name, offers, otherwise, cutoff=LIKELY_MEANT) + have


def first_usable(plugins: Plugins) -> Chosen:
    """Return the first provider by rank that has a key, or whose probe reports it usable.

    Raises: ProviderError if there is none.
    """
    for entry, offer in _by_rank(plugins):
        if chosen := usable(plugins, entry.name, offer):
            return chosen
    raise ProviderError(f"{NO_MODEL}\n{ways_to_a_model(plugins)}\n{NEXT_STEP}", kind="unavailable")


def _by_rank(plugins: Plugins) -> list[tuple[Entry, Mapping[str, Any]]]:
    """Return every provider's plugin and description, by rank."""
    return sorted(plugins.offers("providers"), key=lambda pair: (pair[1]["rank"], pair[1]["name"]))


def usable(plugins: Plugins, plugin: str, offer: Mapping[str, Any]) -> Chosen | None:
    """Return a provider's default model; None if the provider is not usable.

    Raises: ProviderError if its server answers and a person has to name one of its models.
    """
    if not (offer["default_model"] or offer["probe"]):
        return None
    probed = _probed(plugins, plugin, offer["name"]) if offer["probe"] else False
    if not (probed or key_source(offer["key_variables"])):
        return None
    return Chosen(offer["name"], probed if isinstance(probed, str) else offer["default_model"])


def key_source(variables: Sequence[str]) -> str:
    """Return the first of *variables*, or of their `_FILE` forms, that is set; "" if none is."""
    files = [f"{variable}_FILE" for variable in variables]
    return next(filter(os.environ.get, (*variables, *files)), "")


def open_provider(plugins: Plugins, chosen: Chosen) -> Provider:
    """Open the provider of *chosen* with its plugin's settings; raises ProviderError."""
    plugin, spec = find_offer(plugins, "providers", "provider", chosen.provider)
    try:
        provider: Provider = spec.open(chosen.model, plugins.settings(plugin))
    except ProviderError:
        raise
    except Exception as error:
        raise ProviderError(f"{chosen} could not be opened: {problem_of(error)}") from error
    return provider


def refuse_unknown_price(core: CoreSettings, provider: Provider, model: str) -> None:
    """Raise UsageError if the cost is limited and the price of *model* is unknown."""
    if core.max_cost_usd and not getattr(provider, "has_price", False):
        raise UsageError(
            f"max_cost_usd (--max-cost) is set, but the price of {model} is unknown; set it (or 0)"
            " in `models` of its plugin's settings, or limit --max-tokens or --max-seconds"
        )


def ways_to_a_model(plugins: Plugins) -> str:
    """Return the ways to get a model, the easiest first, in lines that fit a small terminal."""
    from nanocoder.plugins.packages import known_hints  # only this message needs it

    offers = [offer for _, offer in _by_rank(plugins) if offer["rank"] < FOR_TESTS]
    # A provider without a default model needs more than a key.
    ready = [offer for offer in offers if offer["default_model"]]
    keys = [offer["key_variables"][0] for offer in ready if offer["key_variables"]]
    hints = [offer["hint"] for offer in ready if not offer["key_variables"]]
    others = [offer for offer in offers if not offer["default_model"]]
    servers = [offer["name"] for offer in others if not offer["key_variables"]]
    # If nothing works without a key, a package that is not installed may.
    hints = hints or known_hints()
    ways = [f"- without a key: {hint}" for hint in hints]
    ways += [f"- with a server on this machine: start {_any_of(servers)}"] if servers else []
    ways += [f"- with a key: set {_any_of(keys)}"] if keys else []
    return "\n".join(map(_wrapped, "\n".join(ways).splitlines()))


def _any_of(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _wrapped(line: str) -> str:
    indent = "" if line.startswith("- ") else "  "
    return textwrap.fill(
        line, MESSAGE_COLUMNS, initial_indent=indent, subsequent_indent="  ", break_on_hyphens=False
    )


def selected_by_plugin(plugins: Plugins, session: SessionInfo, failed: Sequence[str] = ()) -> str:
    """Return the model that a plugin chooses in place of those that *failed*, or ""."""
    answer = dispatch.choose(
        plugins.implementations("nanocoder_select_provider"),
        plugins.report,
        {"session": session, "settings": plugins.settings, "failed": tuple(failed)},
        str,
    )
    return "" if answer in failed else answer or ""


def _probed(plugins: Plugins, plugin: str, name: str) -> bool | str:
    spec = plugins.real(plugin, "providers", name)
    try:
        answer = spec.probe(plugins.settings(plugin))
        return answer if isinstance(answer, str) else bool(answer)
    except ProviderError:
        raise
    except Exception as error:  # noqa: BLE001 - after a failed probe the provider is not usable
        plugins.report(PluginError(plugin, f"probe failed: {error}"))
        return False
