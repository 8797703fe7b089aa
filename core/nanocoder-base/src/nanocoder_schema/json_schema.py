"""Build the JSON Schema of an attrs class, in one walk over its fields and annotations."""

import inspect
from typing import Any, NamedTuple

import attrs

from nanocoder_schema.annotations import SHOWN_DEFAULT, Unannotated, unwrap
from nanocoder_schema.bounds import Param, check_pattern
from nanocoder_schema.json_text import json_problem
from nanocoder_schema.model_schema import BOUNDS
from nanocoder_schema.values import plain_value

Notes = tuple[Param, ...]
Schema = dict[str, Any]

JSON_TYPE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
OBJECTS, ARRAYS = ("class", "mapping"), ("list",)
FACTORY: Any = attrs.Factory  # to mypy a function
EMPTY_FACTORIES = (list, tuple, dict)


class Description(NamedTuple):
    """A JSON Schema, and the paths of fields whose type has no JSON form."""

    schema: Schema
    untyped: tuple[str, ...]


def describe(cls: type) -> Description:
    """Return the closed JSON Schema object of an attrs class."""
    walk = _Walk()
    return Description(walk.class_schema(cls, ""), tuple(walk.untyped))


class _Walk:
    """The state of a walk: paths of fields without a JSON form, and the enclosing classes."""

    def __init__(self) -> None:
        self.untyped: list[str] = []
        self._outer: list[type] = []

    def class_schema(self, cls: type, path: str) -> Schema:
        """Return the inlined schema of *cls*."""
        self._outer.append(cls)
        attrs.resolve_types(cls)
        properties, required = {}, []
        for field in attrs.fields(cls):
            if field.init:
                schema = self._schema(field.type or Unannotated, f"{path}.{field.name}".lstrip("."))
                properties[field.name] = {**schema, **_default(field)}
            if field.init and field.default is attrs.NOTHING:
                required.append(field.name)
        self._outer.pop()
        text = inspect.cleandoc(cls.__doc__ or "")
        return {
            "type": "object",
            **({"description": text} if text else {}),
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def _schema(self, annotation: Any, path: str, outer: Notes = ()) -> Schema:
        """Return the schema of *annotation*; the bounds in *outer* apply to it, too."""
        unwrapped = unwrap(annotation)
        kind, args, notes = unwrapped.kind, unwrapped.args, unwrapped.notes + outer
        head: Schema = {}
        tail: Schema = {}
        match unwrapped.form:
            case "scalar":
                head = _typed(JSON_TYPE[kind], notes)
            case "choice":
                head = _enumeration(unwrapped.choices)
            case "class" if kind not in self._outer:
                head = self.class_schema(kind, path)
            case "mapping":
                head = _typed("object", notes)
                tail = self._inner("additionalProperties", args[1:], f"{path}.*")
            case "list":
                head = _typed("array", notes)
                tail = self._inner("items", args[:1], f"{path}[]")
            case "union" if not _is_ambiguous(args):
                null_last = sorted(args, key=lambda arg: unwrap(arg).kind is type(None))
                tail = {"anyOf": [self._schema(arg, path, notes) for arg in null_last]}
            case "class" | "union" | "untyped":  # a recursive class would be inlined for ever
                self.untyped.append(path)
        text = next((note.description for note in unwrapped.notes if note.description), "")
        return {**head, **({"description": text} if text else {}), **tail}

    def _inner(self, keyword: str, args: tuple[Any, ...], path: str) -> Schema:
        schema = self._schema(args[0], path) if args else {}
        return {keyword: schema} if schema else {}


def _is_ambiguous(members: tuple[Any, ...]) -> bool:
    """Return True if a JSON object or array fits several of *members*."""
    forms = [unwrap(member).form for member in members]
    return any(sum(form in kinds for form in forms) > 1 for kinds in (OBJECTS, ARRAYS))


def _enumeration(values: list[Any]) -> Schema:
    """Return an enum schema, with the type if all *values* share one: some providers need it."""
    types = {type(value) for value in values}
    return {**({"type": JSON_TYPE[types.pop()]} if len(types) == 1 else {}), "enum": values}


def _typed(json_type: str, notes: Notes) -> Schema:
    for note in notes:
        check_pattern(note.pattern or "")
    bounds = {
        keyword: getattr(note, name)
        for note in reversed(notes)
        for name, keyword in BOUNDS.get(json_type, {}).items()
        if getattr(note, name) is not None
    }
    return {"type": json_type, **bounds}


def _default(field: "attrs.Attribute[Any]") -> Schema:
    """Return the default as a schema; empty for one without a JSON form."""
    default: Any = field.metadata.get(SHOWN_DEFAULT, field.default)
    if isinstance(default, FACTORY):
        default = default.factory() if default.factory in EMPTY_FACTORIES else attrs.NOTHING
    plain = plain_value(default)
    return {} if default is attrs.NOTHING or json_problem(plain) else {"default": plain}
