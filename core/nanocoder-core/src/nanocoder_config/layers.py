"""Merge layers into one value, with the limits on what each layer may set.

The managed layer limits all others: they may add to its lists and tighten a setting with an order,
but change nothing else of it.

The metadata of a field controls this, the documentation, the environment and the checks:

* description   its purpose, one sentence
* tighten       the change that an untrusted project may still make: "min" (only lower), "order"
                (only towards the first of the choices), "union" (entries are added, also when
                trusted), "true" (only switch on); without it, none
* unlimited     the number that means "no limit", if there is one ("min" takes it as the largest)
* place         for a list: a function of an item, and of a function that returns the item's
                origin; it returns the item to store
* user_only     a project's file never sets it, trusted or not: addresses, keys, destinations of
                data
* secret        masked in all output of settings
* minimum       the least number; by default 0, or the field's default if that is less

and for the program's own settings choices, values (the pattern of a table's values).
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from attrs import Attribute, field, fields
from nanocoder_schema import ConfigError, PersonError, UsageError, did_you_mean

from nanocoder_config.document import ConfigFile

MANY: Final = 8
"""The most keys that a message lists."""
_VENDORS_KEY: Final = r"(?i)(^|api|auth|access|secret)[_-]?(key|token)$"
NO_KEYS: Final = "; a vendor's key belongs in its variable, which `nanocoder models` names"

Check = Callable[["Attribute[Any]", Any], Any]
Key = tuple[str | int, ...]
"""The names of tables and of a key; a number at its end is an item of a list."""
LayerName = Literal["default", "managed", "user", "project", "environment", "flag"]


class Origin(NamedTuple):
    """One value's layer, with *file* and *line*, or the *name* of a variable or a flag."""

    layer: LayerName
    file: str = ""
    line: int = 0
    name: str = ""

    def __str__(self) -> str:
        """Return the form for messages: FILE:LINE, or the variable, or the flag."""
        place = f"{self.file}:{self.line}".removesuffix(":0") if self.file else self.name
        place = place or self.layer
        return f"{place} (managed)" if self.layer == "managed" else place


Managed = tuple[Any, Origin]


class Layer(NamedTuple):
    """One source of values: *data* is nested like the file, *document* is set for files."""

    name: LayerName
    data: Mapping[str, Any]
    document: ConfigFile | None = None
    trusted: bool = True
    names: Mapping[str, str] = {}

    def table(self, path: tuple[str, ...]) -> Mapping[str, Any]:
        """Return the table at *path*; empty if there is none or the value is no table."""
        value: Any = self.data
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def origin(self, key: Key) -> Origin:
        """Return the origin of *key* in this layer: its file and line, or its variable or flag."""
        if self.document is not None:
            return Origin(self.name, str(self.document.path), self.document.line(key))
        return Origin(self.name, name=self.names.get(str(key[-1]), ""))

    def fault(self, key: Key, problem: str) -> PersonError:
        """Return the error that names file, line, key and problem."""
        if self.document is None:
            kind = UsageError if self.name == "flag" else ConfigError
            return kind(f"{self.origin(key)}: {problem}")
        names = ".".join(name for name in key if isinstance(name, str))
        return ConfigError(f"{self.origin(key)}: {names}: {problem}")


class Resolved(NamedTuple):
    """The values that layers set, without defaults, their origins, and notices of ignored ones.

    *managed* has the values of the managed layer, which no other layer loosens, and *faults* the
    errors.
    """

    values: dict[str, Any]
    origins: dict[str, Origin]
    notices: list[str]
    managed: dict[str, Managed]
    faults: list[PersonError]


def resolve(
    settings_class: type,
    path: tuple[str, ...],
    layers: Sequence[Layer],
    check: Check,
    inner: Collection[str] = (),
) -> Resolved:
    """Merge the tables at *path*; raises ConfigError or UsageError with all problems.

    The tables called *inner*, and those of plugins in `[plugins]`, are skipped.
    """
    attributes = keys_of(settings_class)
    resolved = Resolved({}, {}, [], {}, [])
    for layer in layers:
        # A plugin's value that is no table is reported as an unknown key of `[plugins]`.
        table = layer.data.get(path[0], {}) if len(path) == 1 else {}
        if not isinstance(table, dict):
            _record_fault(layer, path, f"expected a table, got {table!r}", resolved)
        for key, entry in layer.table(path).items():
            if key in inner or (path == ("plugins",) and isinstance(entry, dict)):
                continue
            if key not in attributes:
                problem = f"unknown key{hint(key, [*attributes, *inner])}"
                _record_fault(layer, (*path, key), problem, resolved)
            else:
                _merge_value(layer, (*path, key), attributes[key], entry, resolved, check)
    if faults := resolved.faults:
        raise type(faults[0])("\n".join(map(str, faults)))
    return resolved


def _record_fault(layer: Layer, key: Key, problem: str, resolved: Resolved) -> None:
    """Record an invalid key or value as a fault; in an untrusted file, only as a notice.

    Such a file can only tighten: without the value the settings are those of an empty directory,
    and a file in a cloned repository must not prevent a start.
    """
    fault = layer.fault(key, problem)
    if layer.trusted:
        resolved.faults.append(fault)
    else:
        resolved.notices.append(f"{fault}; ignored")


def _merge_value(
    layer: Layer,
    key: Key,
    attribute: "Attribute[Any]",
    value: Any,
    resolved: Resolved,
    check: Check,
) -> None:
    name = str(key[-1])
    try:
        proposed = check(attribute, value)
    except ValueError as error:
        # The line of the item is more useful than that of the list.
        index = re.search(r"\[(\d+)\]", str(error).partition(":")[0])
        _record_fault(layer, (*key, int(index[1])) if index else key, str(error), resolved)
        return
    if place := attribute.metadata.get("place"):
        numbered = enumerate(proposed)
        proposed = tuple(place(item, partial(layer.origin, (*key, at))) for at, item in numbered)
    current = resolved.values.get(name, _default(attribute))
    managed = resolved.managed.get(name)
    if reason := _refusal(layer, attribute.metadata, current, managed, proposed):
        resolved.notices.append(f"{layer.fault(key, reason)}; ignored")
        return
    if layer.name == "managed":
        resolved.managed[name] = proposed, layer.origin(key)
    elif attribute.metadata.get("tighten") == "union":
        before = current if layer.name == "project" else managed[0] if managed else ()
        # Appended to the current items; an existing item keeps its position.
        proposed = (*before, *(item for item in proposed if item not in before))
    resolved.values[name] = proposed
    resolved.origins[name] = layer.origin(key)


def _default(attribute: "Attribute[Any]") -> Any:
    default: Any = attribute.default
    return default.factory() if hasattr(default, "factory") else default


def _refusal(
    layer: Layer, metadata: Mapping[Any, Any], current: Any, managed: Managed | None, proposed: Any
) -> str:
    """Return the reason why *layer* may not set a value, or "" if it may."""
    if layer.name == "project" and metadata.get("user_only"):
        return "only your own configuration, never a project's, may set this"
    if not layer.trusted:
        reason = _loosens(metadata, current, proposed, "its file may only tighten what you set")
        if reason:
            return f"this folder is not trusted (`nanocoder config trust`), so {reason}"
    return loosens_managed(metadata, managed, proposed)


def loosens_managed(metadata: Mapping[Any, Any], managed: Managed | None, proposed: Any) -> str:
    """Return the reason why *proposed* loosens a *managed* value, or ""."""
    if managed is None or managed[0] == proposed:
        return ""
    reason = _loosens(metadata, managed[0], proposed, "nothing else may")
    return reason and f"{managed[1]} sets it, so {reason}"


def _loosens(metadata: Mapping[Any, Any], current: Any, proposed: Any, otherwise: str) -> str:
    """Return the reason why *proposed* loosens *current*, *otherwise* without an order, or ""."""
    if not metadata.get("tighten"):
        return otherwise
    if metadata["tighten"] == "union" or not _is_looser(metadata, current, proposed):
        return ""
    return f"{proposed!s} cannot replace the stricter {current!s}"


def _is_looser(metadata: Mapping[Any, Any], current: Any, proposed: Any) -> bool:
    tighten, unlimited = metadata["tighten"], metadata.get("unlimited")
    if tighten == "min":
        # 0 may mean "no limit", which is looser than every number.
        if unlimited is not None and unlimited in (current, proposed):
            return bool(proposed == unlimited and current != unlimited)
        return bool(proposed > current)
    if tighten == "order":
        order = list(metadata["choices"])
        return order.index(proposed) > order.index(current)
    return bool(current and not proposed)


def hint(word: str, names: Collection[str]) -> str:
    """Return "; did you mean X?" for the name nearest to *word*, else a short list of *names*.

    A key of a table is nearest to its own last part: `deny` to `plugins.policy-rules.deny`.
    """
    if re.search(_VENDORS_KEY, word):
        return NO_KEYS
    last = word.rpartition(".")[2]
    if 0 < len(same := [name for name in names if name.endswith(f".{last}")]) <= MANY:
        return f"; did you mean {' or '.join(map(repr, same))}?"
    few = f"; known here: {', '.join(sorted(names))}" if 0 < len(names) <= MANY else ""
    return did_you_mean(word, names, few)


def setting(default: Any, description: str, *, converter: Any = None, **metadata: Any) -> Any:
    """Return a field of a settings class: its default, one sentence, and the metadata above."""
    metadata = {"description": description, **metadata}
    return field(default=default, converter=converter, metadata=metadata)


def variable_of(key: str) -> str:
    """Return the environment variable that sets a key of the core."""
    return f"NANOCODER_{key.upper()}"


def _is_number(value: object) -> bool:
    # In Python bool is a subclass of int.
    return isinstance(value, int | float) and not isinstance(value, bool)


EXPECTED: Final[Mapping[Any, tuple[str, Callable[[Any], bool]]]] = {
    str: ("a string", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    float: ("a number", _is_number),
    tuple[str, ...]: (
        "a list of strings",
        lambda value: isinstance(value, list | tuple) and all(isinstance(i, str) for i in value),
    ),
    dict[str, Any]: ("a table", lambda value: isinstance(value, dict)),
    dict[str, str]: (
        "a table of strings",
        lambda value: isinstance(value, dict) and all(isinstance(i, str) for i in value.values()),
    ),
}

# A variable's words for a field that is true or false.
SWITCHES: Final[Mapping[str, bool]] = {"1": True, "true": True, "0": False, "false": False}


def checked(attribute: "Attribute[Any]", value: object) -> Any:
    """Return *value* validated for a core field; raises ValueError that names the expected type.

    Without cattrs, whose import takes longer than the rest of `nanocoder run` before the request.
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
                raise ValueError(f"{name!r} is not a name; use lower-case letters, digits and _")
    check_minimum(attribute, value, expected)
    return tuple(value) if isinstance(value, list) else value


def is_plain(attribute: "Attribute[Any]", value: object) -> bool:
    """Return True if *value* surely fits a field of a simple type without own validation."""
    is_free = not (attribute.validator or attribute.converter or _is_number(value))
    return is_free and attribute.type in EXPECTED and EXPECTED[attribute.type][1](value)


def check_minimum(attribute: "Attribute[Any]", value: object, expected: str = "a number") -> None:
    """Raise ValueError for a number below the minimum, which is 0 unless the field sets one."""
    default = attribute.default if isinstance(attribute.default, int | float) else 0
    minimum = attribute.metadata.get("minimum", min(0, default))
    if isinstance(value, int | float) and not (value >= minimum and math.isfinite(value)):
        raise ValueError(f"expected {expected} of at least {minimum}, got {value!r}")


def from_text(attribute: "Attribute[Any]", text: str) -> Any:
    """Parse an environment variable's *text* as the value of a core field; raises ValueError."""
    kind: Any = attribute.type
    value: Any = SWITCHES.get(text.lower(), text) if kind is bool else text
    if kind in (int, float):
        with suppress(ValueError, OverflowError):  # the text is then refused below
            value = kind(text)
    return checked(attribute, value)


def keys_of(settings_class: type) -> "dict[str, Attribute[Any]]":
    """Return the keys of a settings class with their fields."""
    settings = (attribute for attribute in fields(settings_class) if attribute.init)
    return {attribute.alias or attribute.name: attribute for attribute in settings}
