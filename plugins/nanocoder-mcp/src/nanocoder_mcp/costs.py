"""The cost of validating arguments: a hostile schema can double it at each level."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

STEPS: Final = 200
STEPS_PER_VALUE: Final = 50
"""Schemas of real servers take fewer than ten for each value in the arguments."""
IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef")
"""Keywords that validate the same value once more; `dependentSchemas` does so, too."""
FOR_KEYS: Final = ("patternProperties", "dependentSchemas", "dependencies")
FOR_FIELDS: Final = ("additionalProperties", "unevaluatedProperties")
FOR_ITEMS: Final = ("items", "additionalItems", "prefixItems", "contains", "unevaluatedItems")
NAMES: Final = ("$id", "$anchor", "$dynamicAnchor")


def is_cheap(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Return True if a check of *arguments* takes a number of steps that is fit for them."""
    steps = STEPS + STEPS_PER_VALUE * sum(1 for _ in _values(arguments))
    names = {each[name]: each for each in _values(schema) for name in NAMES if _names(each, name)}
    waiting: list[tuple[Any, Any]] = [(schema, arguments)]
    while waiting and steps > 0:
        part, value = waiting.pop()
        steps -= 1
        following = _in_place(schema, names, part, value), _inside(part, value)
        # A step that has more of them than there are steps left is the last.
        for pairs in following:
            waiting += islice(filter(_is_judged, pairs), steps + 1)
    return not waiting


def _is_judged(pair: tuple[Any, Any]) -> bool:
    return isinstance(pair[0], Mapping)


def _names(part: Any, name: str) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get(name), str)


def _in_place(
    root: Mapping[str, Any], names: Mapping[str, Any], part: Mapping[str, Any], value: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a schema that judge the *value* of *part* once more."""
    for key in IN_PLACE:
        inner = part.get(key)
        if isinstance(inner, str):
            inner = _target(root, names, inner)
        for each in inner if isinstance(inner, list) else (inner,):
            yield each, value


def _inside(part: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the subschemas of *part* for the items of *value*, each with its item."""
    if isinstance(value, Mapping):
        fields = part.get("properties")
        for name, inner in value.items():
            yield isinstance(fields, Mapping) and fields.get(name), inner
            yield from ((part.get(key), inner) for key in FOR_FIELDS)
            yield part.get("propertyNames"), name
            for key in FOR_KEYS:
                parts = part.get(key)
                for each in parts.values() if isinstance(parts, Mapping) else ():
                    yield each, value if key != FOR_KEYS[0] else inner
    elif isinstance(value, list):
        for inner in value:
            for key in FOR_ITEMS:
                parts = part.get(key)
                yield from (
                    (each, inner) for each in (parts if isinstance(parts, list) else (parts,))
                )


def _target(root: Mapping[str, Any], names: Mapping[str, Any], reference: str) -> Any:
    """Return the part of *root* that *reference* names; all of it where it names none."""
    address, _, pointer = reference.partition("#")
    node: Any = names.get(address, root)
    if not pointer.startswith("/"):
        return names.get(pointer, node)
    for step in pointer[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(name)
        elif isinstance(node, list) and name.isdecimal():
            node = next(iter(node[int(name) :]), None)
    return node


def _values(value: Any) -> Iterator[Any]:
    """Yield *value* and all that is in it."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
