"""The models that each provider can name, asked all at the same time."""

import os
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen
from nanocoder import (
    Chosen,
    ModelInfo,
    NanocoderError,
    PersonError,
    Plugins,
    ProviderError,
    Session,
    open_provider,
    usable,
)

LIST_LIMIT_S: Final = 4.0
"""The time limit of all servers together, in seconds."""


@frozen
class ServedModels:
    """The *models* of one provider; *problem* says why there is none, or why these are not all.

    *is_usable* is False where a person has to do something first.
    """

    provider: str
    models: tuple[ModelInfo, ...] = ()
    problem: str = ""
    is_usable: bool = True


def served_models(session: Session, limit_s: float = LIST_LIMIT_S) -> list[ServedModels]:
    """Ask every provider that can be used, and the session's own, for its models; never raises.

    The list says of each that has not answered within *limit_s*.
    """
    plugins, current = session.plugins, _current(session)
    pairs = [(entry.name, offer) for entry, offer in plugins.offers("providers")]
    pairs.sort(key=lambda pair: (pair[1]["rank"], pair[1]["name"]))
    answers: dict[str, ServedModels] = {}

    def ask(plugin: str, offer: Mapping[str, Any]) -> None:
        answers[offer["name"]] = _ask_provider(plugins, plugin, offer, current)

    threads = [threading.Thread(target=ask, args=pair, daemon=True) for pair in pairs]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"no answer within {limit_s:g} s"
    names = [offer["name"] for _, offer in pairs]
    return [answers.get(name) or ServedModels(name, (), late) for name in names]


def _current(session: Session) -> Chosen | None:
    try:
        return session.chosen
    except PersonError:
        return None


def _ask_provider(
    plugins: Plugins, plugin: str, offer: Mapping[str, Any], current: Chosen | None
) -> ServedModels:
    name = str(offer["name"])
    try:
        chosen = usable(plugins, plugin, offer)
    except ProviderError:
        chosen = Chosen(name, "")  # its server has more than one, or does not answer
    if current is not None and current.provider == name:
        chosen = current
    if chosen is None:
        return ServedModels(name, (), _needs(offer), is_usable=False)
    try:
        provider = open_provider(plugins, chosen)
        try:
            return ServedModels(name, tuple(provider.models()))
        finally:
            provider.close()
    except NanocoderError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - a plugin's provider may raise anything
        problem = f"{type(error).__name__}: {error}"
    models = (ModelInfo(chosen.model),) if chosen.model else ()
    return ServedModels(name, models, problem)


def _needs(offer: Mapping[str, Any]) -> str:
    variables = [name for name in offer["key_variables"] if not os.environ.get(name)]
    return str(offer["hint"]) or (f"set {' or '.join(variables)}" if variables else "not ready")
