"""Which models there are to choose from: those that each provider can name."""

import os
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen
from nanocoder_schema import Value

from nanocoder.errors import NanocoderError, ProviderError
from nanocoder.hooks import styles
from nanocoder.plugins import Plugins
from nanocoder.provider import ModelInfo
from nanocoder.session.models import Chosen, open_provider, usable

LIMIT_S: Final = 4.0
"""So long the servers have to answer, all at once."""


@frozen(eq=False, repr=False)
class Served(Value):
    """The *models* of one provider; *problem* says why there is none, or why these are not all.

    *is_usable* is False where a person has to do something first.
    """

    provider: str
    models: tuple[ModelInfo, ...] = ()
    problem: str = ""
    is_usable: bool = True


def served_models(
    plugins: Plugins, current: Chosen | None = None, limit_s: float = LIMIT_S
) -> list[Served]:
    """Ask every provider that can be used, and that of *current*, for its models; never raises.

    All are asked at the same time. One that does not answer within *limit_s* is left alone.
    """
    pairs = sorted(plugins.offers("providers"), key=lambda pair: (pair[1]["rank"], pair[1]["name"]))
    found: dict[str, Served] = {}

    def ask(plugin: str, offer: Mapping[str, Any]) -> None:
        found[offer["name"]] = _served(plugins, plugin, offer, current)

    threads = [
        threading.Thread(target=ask, args=(entry.name, offer), daemon=True)
        for entry, offer in pairs
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"no answer within {limit_s:g} s"
    return [found.get(offer["name"]) or Served(offer["name"], (), late) for _, offer in pairs]


def _served(
    plugins: Plugins, plugin: str, offer: Mapping[str, Any], current: Chosen | None
) -> Served:
    name = str(offer["name"])
    try:
        chosen = usable(plugins, plugin, offer)
    except ProviderError:
        chosen = Chosen(name, "")  # its server has more than one, or does not answer
    if current is not None and current.provider == name:
        chosen = current
    if chosen is None:
        return Served(name, (), _needs(offer), is_usable=False)
    try:
        provider = open_provider(plugins, chosen)
        try:
            return Served(name, tuple(provider.models()))
        finally:
            provider.close()
    except NanocoderError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - a plugin's provider may raise anything
        problem = styles.problem_of(error)
    known = (ModelInfo(chosen.model),) if chosen.model else ()
    return Served(name, known, problem)


def _needs(offer: Mapping[str, Any]) -> str:
    variables = [name for name in offer["key_variables"] if not os.environ.get(name)]
    return str(offer["hint"]) or (f"set {' or '.join(variables)}" if variables else "not ready")
