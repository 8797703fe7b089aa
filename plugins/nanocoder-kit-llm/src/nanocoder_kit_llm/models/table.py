"""The tables of models, one for each vendor, and how a name finds its row."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from nanocoder import ConfigError

from nanocoder_kit_llm.models.model import FREE, Model, Price

TABLES: Final = Path(__file__).with_name("vendors")
_PRICES: Final = ("input", "output", "cache_read", "cache_write")
_KEYS: Final = ("context", *_PRICES)
_WORD: Final = re.compile("[a-z]+")
_MAKERS: Final = ("anthropic", "openai", "google", "x-ai")
"""Vendors of models that a gateway buys from them; weights of others may run anywhere, free."""

# No project may set it: a false price would defeat a limit on costs.
MODELS_SETTING: Final[dict[str, Any]] = {
    "description": "Context and prices (input, output, cache_read, cache_write in dollars for a"
    " million tokens) by model, before those of the built-in table.",
    "user_only": True,
}
"""The metadata of the field `models` of a provider's settings, by the model's name."""


class Catalog:
    """The models of one vendor, with the user's overrides.

    *vendor* names a table, or is "" for any other server: a gateway's model has its maker's
    price. *is_free* is true for a server whose models cost nothing. *overrides* is the setting
    `models` of *plugin*.
    """

    def __init__(
        self,
        vendor: str,
        overrides: Mapping[str, Mapping[str, float]],
        *,
        plugin: str,
        is_free: bool = False,
    ) -> None:
        self._vendor = vendor
        self._is_free = is_free
        self._plugin = plugin
        self._overrides = {name: self._checked(name, row) for name, row in overrides.items()}
        self._models: dict[str, Model] = {}

    def find(self, name: str) -> Model:
        """Return the entry of the model *name*, an empty one for an unknown model."""
        model = self._models.get(name)
        if model is None:
            model = self._models[name] = self._look_up(name)
        return model

    def _look_up(self, name: str) -> Model:
        row = _row(self._vendor, name) if self._vendor else None
        model = _model(name, row) if row else Model(name)
        if not self._vendor and (sold := _row_of_maker(name)):
            # How much it reads, and whether it sees pictures, is the gateway's choice.
            model = model._replace(price=_price(_current(sold)))
        if self._is_free:
            model = model._replace(price=FREE)
        own = self._overrides.get(name)
        return model if own is None else _overridden(model, own)

    def _checked(self, name: str, row: Mapping[str, float]) -> Mapping[str, float]:
        where = f'[plugins.{self._plugin}.models."{name}"]'
        for key, value in row.items():
            if key not in _KEYS:
                raise ConfigError(f"{where}: {key!r} is not a setting; use {', '.join(_KEYS)}")
            if not 0 <= value < float("inf"):
                raise ConfigError(f"{where}: {key} is {value}; use a number of 0 or more")
        if ("input" in row) != ("output" in row):
            raise ConfigError(f"{where}: a price needs both input and output")
        return row


def source_of_table() -> str:
    """Return the source and the date of the tables."""
    table = _table(_MAKERS[0])
    return f"{table['source']}, {table['date']}"


def _overridden(model: Model, own: Mapping[str, float]) -> Model:
    price = model.price
    if "input" in own:
        price = _price(own)
    elif price is not None:
        cached: dict[str, Any] = {name: own[name] for name in _PRICES if name in own}
        price = price._replace(**cached)
    return model._replace(context=int(own.get("context", model.context)), price=price)


def _model(name: str, row: Mapping[str, Any]) -> Model:
    abilities = tuple(row.get("abilities", ()))
    return Model(name, row.get("context", 0), _price(_current(row)), abilities)


def _current(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the present prices: those of the row, or of the last change before today."""
    today = time.strftime("%Y-%m-%d", time.gmtime())
    changes = [change for change in row.get("later", ()) if change["from"] <= today]
    return changes[-1] if changes else row


def _price(row: Mapping[str, Any]) -> Price:
    """Return a row's price; without prices of the cache those of other input apply."""
    above = row.get("above")
    return Price(
        row["input"],
        row["output"],
        row.get("cache_read", row["input"]),
        row.get("cache_write", row["input"]),
        above["tokens"] if above else 0,
        _price(above) if above else None,
    )


def _row(vendor: str, name: str) -> Mapping[str, Any] | None:
    rows: Sequence[Mapping[str, Any]] = _table(vendor)["models"]
    lower = name.lower()
    exact = (row for row in rows if lower in row["names"])
    # Most names have no word of most patterns, and compiling one takes longer than that question.
    words = {*_WORD.findall(lower)}
    near = (row for row in rows if not words.isdisjoint(_WORD.findall(row.get("pattern", ""))))
    fitting = (row for row in near if re.search(row["pattern"], lower))
    return next(exact, None) or next(fitting, None)


def _row_of_maker(name: str) -> Mapping[str, Any] | None:
    """Return the row of a model by the name that gateways use, such as anthropic/claude-2."""
    own_name = name.rpartition("/")[2]
    return next(filter(None, (_row(maker, own_name) for maker in _MAKERS)), None)


@cache
def _table(vendor: str) -> Mapping[str, Any]:
    file = TABLES / f"{vendor}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {"models": ()}
