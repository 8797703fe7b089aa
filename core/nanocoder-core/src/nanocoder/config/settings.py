"""The core's own settings.

Field metadata drives the documentation, the environment, trust and the checks.

Metadata keys, for the core's fields and for those of plugins alike:

* description   what it does, one sentence
* tighten       how an untrusted project may still change it: "min" (only lower), "mode" (only
                towards plan), "union" (entries are added, also when trusted), "true" (only switch
                on); without it, not at all
* unlimited     the number that means "no limit", where there is one ("min" takes it as the largest)
* place         for a list: a function of an item, and of a function that returns the item's origin,
                that returns the item as it is to be kept
* user_only     a project's file never sets it, trusted or not: addresses, keys, whatever decides
                where data goes
* secret        masked wherever settings are shown

* minimum       the least number, 0 without it (or the default, where that is less)

and for the core alone choices, values (the pattern of a table's).
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from attrs import Attribute, Factory, field, fields
from nanocoder_schema import Value, lazy_frozen

from nanocoder.values import Mode


def setting(default: Any, description: str, *, converter: Any = None, **metadata: Any) -> Any:
    """Return a field of a settings class: its default, one sentence, and the metadata above."""
    return field(
        default=default, converter=converter, metadata={"description": description, **metadata}
    )


def variable_of(key: str) -> str:
    """Return the environment variable that sets a key of the core."""
    return f"NANOCODER_{key.upper()}"


@lazy_frozen
class CoreSettings(Value):
    """The top-level keys of config.toml."""

    model: str = setting("", "The model, as provider/model; empty: the first usable provider.")
    mode: Mode = setting(
        Mode.ASK,
        "How much a session may do without asking: plan, ask, edits or auto.",
        converter=Mode,
        tighten="mode",
        choices=tuple(Mode),
    )
    context: int = setting(
        0,
        "The model's context window, in tokens; 0: what its provider says.",
        tighten="min",
        unlimited=0,
    )
    max_turns: int = setting(
        50, "How many turns a run may have; one more asks for the answer.", tighten="min", minimum=1
    )
    max_cost_usd: float = setting(
        0.0, "What one run may cost in US dollars; 0: no limit.", tighten="min", unlimited=0
    )
    max_tokens: int = setting(
        0, "How many tokens one run may use, in and out; 0: no limit.", tighten="min", unlimited=0
    )
    max_seconds: float = setting(
        0.0, "How many seconds one run may take; 0: no limit.", tighten="min", unlimited=0
    )
    call_timeout_s: float = setting(
        120.0,
        "How long one tool call may take, in seconds; 0: no limit.",
        tighten="min",
        unlimited=0,
    )
    concurrency: int = setting(8, "How many calls work at once.", tighten="min", minimum=1)
    max_waiting_calls: int = setting(
        128,
        "How many calls may wait for others; further ones fail as busy.",
        tighten="min",
        minimum=0,
    )
    approval_timeout_s: float = setting(
        300.0,
        "How long a person may take to approve a call, in seconds; 0: no limit.",
        tighten="min",
        unlimited=0,
    )
    durability: Literal["normal", "power"] = setting(
        "normal",
        "power: the journal survives a power cut, not just a crash.",
        choices=("normal", "power"),
    )
    store: str = setting(
        "files",
        'Where sessions are kept, by the name of a store; "memory" keeps nothing of them.',
        user_only=True,
    )
    sandbox: str = setting("none", "The sandbox that tools run processes in.", user_only=True)
    dialect: str = setting("", "The dialect in which tools are offered; empty: their own names.")
    keep_tmp: bool = setting(
        False,
        "Keep the private directories of calls, to see what a tool did there.",
        user_only=True,
    )
    keep_backups: int = setting(
        10,
        "How many earlier copies of each changed file a session keeps.",
        user_only=True,
        minimum=1,
    )
    keep_sessions_days: int = setting(
        30, "How long sessions are kept, in days; 0: forever.", user_only=True
    )


@lazy_frozen
class PluginsTable(Value):
    """The keys of `[plugins]` that are not a plugin's table."""

    disable: tuple[str, ...] = setting((), "Plugins that are not loaded.")
    strict: bool = setting(False, "Load only what the lock file names.", tighten="true")


@lazy_frozen
class ToolsTable(Value):
    """The keys of `[tools]`."""

    disable: tuple[str, ...] = setting((), "Tools that are not offered.", tighten="union")
    owner: dict[str, str] = setting(
        Factory(dict), "Which plugin provides a tool that several plugins offer."
    )
    rename: dict[str, str] = setting(
        Factory(dict),
        "Other names for tools, old name to new name.",
        values="[a-z_][a-z0-9_]{0,63}",
    )


TABLES: Final[Mapping[tuple[str, ...], type]] = {
    (): CoreSettings,
    ("plugins",): PluginsTable,
    ("tools",): ToolsTable,
}
"""The core's own tables; `[plugins]` has those of plugins, too."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


EXPECTED: Final[Mapping[Any, tuple[str, Callable[[Any], bool]]]] = {
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    float: ("a number", _is_number),
    tuple[str, ...]: (
        "a list of texts",
        lambda value: isinstance(value, list | tuple) and all(isinstance(i, str) for i in value),
    ),
    dict[str, Any]: ("a table", lambda value: isinstance(value, dict)),
    dict[str, str]: (
        "a table of texts",
        lambda value: isinstance(value, dict) and all(isinstance(i, str) for i in value.values()),
    ),
}

# The words of a variable for a field that is true or false.
SWITCHES: Final[Mapping[str, bool]] = {"1": True, "true": True, "0": False, "false": False}


def checked(attribute: "Attribute[Any]", value: object) -> Any:
    """Return *value* as the core's field wants it; raises ValueError that says what was expected.

    By hand, because cattrs takes longer to import than everything else that `nanocoder run` does
    before the request.
    """
    choices = attribute.metadata.get("choices")
    if choices is not None:
        if isinstance(value, str) and value in list(choices):
            return value
        raise ValueError(f"expected one of {', '.join(choices)}, got {value!r}")
    expected, fits = EXPECTED[attribute.type]
    if not fits(value):
        raise ValueError(f"expected {expected}, got {value!r}")
    pattern = attribute.metadata.get("values")
    if pattern is not None and isinstance(value, dict):
        for name in value.values():
            if not re.fullmatch(pattern, name):
                raise ValueError(f"{name!r} is no name; use lower-case letters, digits and _")
    check_minimum(attribute, value, expected)
    return tuple(value) if isinstance(value, list) else value


def is_plain(attribute: "Attribute[Any]", value: object) -> bool:
    """Tell whether *value* surely fits a field of a simple type that checks nothing by itself."""
    is_free = not (attribute.validator or attribute.converter or _is_number(value))
    return is_free and attribute.type in EXPECTED and EXPECTED[attribute.type][1](value)


def check_minimum(attribute: "Attribute[Any]", value: object, expected: str = "a number") -> None:
    """Raise ValueError for a number below the least one, which is 0 unless the field says else."""
    default = attribute.default if isinstance(attribute.default, int | float) else 0
    minimum = attribute.metadata.get("minimum", min(0, default))
    if isinstance(value, int | float) and not (value >= minimum and math.isfinite(value)):
        raise ValueError(f"expected {expected} of at least {minimum}, got {value!r}")


def from_text(attribute: "Attribute[Any]", text: str) -> Any:
    """Return what an environment variable's *text* means for a core field; raises ValueError."""
    kind: Any = attribute.type
    if kind is bool:
        return checked(attribute, SWITCHES.get(text.lower(), text))
    if kind not in (int, float):
        return checked(attribute, text)
    try:
        value = kind(text)
    except (ValueError, OverflowError):
        raise ValueError(f"expected {EXPECTED[kind][0]}, got {text!r}") from None
    return checked(attribute, value)


def keys_of(settings_class: type) -> "dict[str, Attribute[Any]]":
    """Return the keys that a settings class knows, with their fields."""
    settings = (attribute for attribute in fields(settings_class) if attribute.init)
    return {attribute.alias or attribute.name: attribute for attribute in settings}
