"""From an attrs class to its JSON Schema: one walk over its fields and their annotations."""

import enum
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple, Union

import attrs

from nanocoder_schema.annotations import (
    LISTS,
    MAPPINGS,
    SCALARS,
    SETS,
    SHOWN_DEFAULT,
    Unannotated,
    choices,
    is_known,
    opened,
)
from nanocoder_schema.json_text import unfit
from nanocoder_schema.param import Param

Notes = tuple[Param, ...]
Schema = dict[str, Any]

NUMBER = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
STRING = {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"}
ARRAY = {"min_length": "minItems", "max_length": "maxItems"}
OBJECT = {"min_length": "minProperties", "max_length": "maxProperties"}
OF_SCALAR = {str: STRING, int: NUMBER, float: NUMBER}
JSON_TYPE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
FACTORY: Any = attrs.Factory  # to mypy a function
EMPTY_FACTORIES = (list, set, frozenset, tuple, dict)
REF = "#/$defs/"


class Description(NamedTuple):
    """A JSON Schema, and the places whose type has no JSON form."""

    schema: Schema
    untyped: tuple[str, ...]


def describe(cls: type) -> Description:
    """Describe an attrs class as a closed JSON Schema object."""
    walk = _Walk()
    schema = walk.class_schema(cls, "")
    if "$ref" in schema:
        schema = dict(walk.definitions[schema["$ref"].removeprefix(REF)])
    if walk.definitions:
        schema["$defs"] = dict(sorted(walk.definitions.items()))
    return Description(schema, tuple(walk.untyped))


class _Walk:
    """One walk: the definitions that it needs, and the places whose type has no JSON form."""

    def __init__(self) -> None:
        self.untyped: list[str] = []
        self.definitions: dict[str, Schema] = {}
        self._names: dict[type, str] = {}

    def class_schema(self, cls: type, path: str) -> Schema:
        """Write *cls* out where it is used; a class that contains itself becomes a definition."""
        if cls in self._names:
            self.definitions.setdefault(self._names[cls], {})
            return {"$ref": REF + self._names[cls]}
        name = cls.__name__
        while name in self._names.values():
            name += "_"
        self._names[cls] = name
        schema = self._object(cls, path)
        if name not in self.definitions:
            del self._names[cls]
            return schema
        self.definitions[name] = schema
        return {"$ref": REF + name}

    def _object(self, cls: type, path: str) -> Schema:
        attrs.resolve_types(cls)
        fields = [field for field in attrs.fields(cls) if field.init]
        required = [field.name for field in fields if field.default is attrs.NOTHING]
        return {
            "type": "object",
            **({"description": inspect.cleandoc(cls.__doc__)} if cls.__doc__ else {}),
            "properties": {
                field.name: {
                    **self._schema(field.type or Unannotated, f"{path}.{field.name}".lstrip(".")),
                    **_default(field),
                }
                for field in fields
            },
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def _schema(self, annotation: Any, path: str, outer: Notes = ()) -> Schema:
        """Return the schema of *annotation*; the bounds in *outer* hold for it, too."""
        kind, args, own = opened(annotation)
        text = next((note.description for note in own if note.description), "")
        about = {"description": text} if text else {}
        values = choices(annotation)
        if values is not None:
            return {**_enumeration(values), **about}
        if not is_known(annotation) or (kind is Union and _is_ambiguous(args)):
            self.untyped.append(path)
            return about
        if kind in SCALARS:
            bounds = _bounds(own + outer, OF_SCALAR.get(kind, {}))
            return {"type": JSON_TYPE[kind], **bounds, **about}
        if kind is Union:
            members = sorted(args, key=lambda arg: opened(arg).kind is type(None))
            return {**about, "anyOf": [self._schema(arg, path, own + outer) for arg in members]}
        return self._container(annotation, path, own + outer, about)

    def _container(self, annotation: Any, path: str, notes: Notes, about: Schema) -> Schema:
        kind, args, _ = opened(annotation)
        json_type = _container_type(kind)
        if attrs.has(kind):
            return {**self.class_schema(kind, path), **about}
        if json_type == "object":
            values = self._schema(args[1], f"{path}.*") if args else {}
            head = {"type": json_type, **_bounds(notes, OBJECT), **about}
            return {**head, "additionalProperties": values} if values else head
        if kind is tuple and args and args[-1] is not ...:
            members = [self._schema(arg, f"{path}[{i}]") for i, arg in enumerate(args)]
            size = {"minItems": len(args), "maxItems": len(args)}
            return {"type": json_type, **about, **size, "prefixItems": members, "items": False}
        if json_type == "array":
            items = self._schema(args[0], f"{path}[]") if args else {}
            unique = {"uniqueItems": True} if kind in SETS else {}
            head = {"type": json_type, **_bounds(notes, ARRAY), **unique, **about}
            return {**head, "items": items} if items else head
        return about  # Any, object


def _container_type(kind: Any) -> str:
    if kind in MAPPINGS or attrs.has(kind):
        return "object"
    return "array" if kind is tuple or kind in LISTS or kind in SETS else ""


def _is_ambiguous(members: tuple[Any, ...]) -> bool:
    """Tell whether a value's JSON type may leave open which of *members* it is."""
    kinds = [_container_type(opened(member).kind) for member in members]
    return kinds.count("object") > 1 or kinds.count("array") > 1


def _enumeration(values: list[Any]) -> Schema:
    """Name the type, too, where all *values* have one: some providers insist."""
    types = {type(value) for value in values}
    return {**({"type": JSON_TYPE[types.pop()]} if len(types) == 1 else {}), "enum": values}


def _bounds(notes: Notes, keywords: Mapping[str, str]) -> Schema:
    return {
        keyword: getattr(note, name)
        for note in reversed(notes)
        for name, keyword in keywords.items()
        if getattr(note, name) is not None
    }


def _default(field: "attrs.Attribute[Any]") -> Schema:
    """Return the default to show; one without a JSON form is not shown."""
    default: Any = field.metadata.get(SHOWN_DEFAULT, field.default)
    if isinstance(default, FACTORY):
        default = default.factory() if default.factory in EMPTY_FACTORIES else attrs.NOTHING
    if default is attrs.NOTHING:
        return {}
    try:
        plain = _plain(default)
    except TypeError:  # a set whose members have no order
        return {}
    return {} if unfit(plain) else {"default": plain}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, set | frozenset):
        # The order of a set changes from run to run, and with it a model's prompt would.
        return sorted(map(_plain, value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if attrs.has(type(value)):
        return {f.name: _plain(getattr(value, f.name)) for f in attrs.fields(type(value))}
    return value
