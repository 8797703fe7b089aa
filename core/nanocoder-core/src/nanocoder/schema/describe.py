"""From an attrs class to its JSON Schema.

Imports msgspec, which costs 15 ms: import this module late.
"""

import inspect
from typing import Annotated, Any, NamedTuple, Union

import attrs
import msgspec

from nanocoder.schema.annotations import (
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
from nanocoder.schema.param import Param

Notes = tuple[Param, ...]
Schema = dict[str, Any]

NUMBER = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
STRING = {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"}
ARRAY = {"min_length": "minItems", "max_length": "maxItems"}
OBJECT = {"min_length": "minProperties", "max_length": "maxProperties"}
OF_SCALAR = {str: STRING, int: NUMBER, float: NUMBER}
JSON_TYPE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
FACTORY: Any = attrs.Factory  # to mypy a function
NOT_SHOWN: Any = attrs.Factory(object)
REF = "#/$defs/"


class Description(NamedTuple):
    """A JSON Schema, and the places whose type has no JSON form."""

    schema: Schema
    unknown: tuple[str, ...]


def describe(cls: type) -> Description:
    """Describe an attrs class as a closed JSON Schema object."""
    mirrors = _Mirrors()
    raw = msgspec.json.schema(mirrors.of_class(cls, ""))
    return Description(_tidied(raw), tuple(mirrors.unknown))


class _Mirrors:
    """Copies of attrs classes in types that msgspec knows, our notes turned into its metadata."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._made: dict[type, type] = {}

    def of_class(self, cls: type, path: str) -> type:
        """Return the copy of *cls*; it shares nothing with the original but names and defaults."""
        if cls in self._made:
            return self._made[cls]
        attrs.resolve_types(cls)
        fields = [field for field in attrs.fields(cls) if field.init]
        taken = any(made.__name__ == cls.__name__ for made in self._made.values())
        name = f"{cls.__name__}_{len(self._made)}" if taken else cls.__name__
        mirrored = {f.name: attrs.field(default=_default(f), alias=f.name) for f in fields}
        made = self._made[cls] = attrs.make_class(name, mirrored, kw_only=True)
        made.__doc__ = inspect.cleandoc(cls.__doc__ or "")
        # Filled in last: a class may mention itself.
        made.__annotations__ = {
            f.name: self.of(f.type or Unannotated, f"{path}.{f.name}".lstrip(".")) for f in fields
        }
        return made

    def of(self, annotation: Any, path: str, outer: Notes = ()) -> Any:
        """Return the msgspec form of *annotation*; bounds in *outer* hold for it, too."""
        notes = opened(annotation).notes
        text = next((note.description for note in notes if note.description), "")
        return _noted(
            self._bare(annotation, path, notes + outer), {"description": text} if text else {}
        )

    def _bare(self, annotation: Any, path: str, notes: Notes) -> Any:
        kind, args, _ = opened(annotation)
        values = choices(annotation)
        if values is not None:
            return _noted(Any, _enumerated(values))
        if not is_known(annotation):
            return self._unknown(path)
        if kind in (Any, object):
            return Any
        if kind is Union:
            return self._union(args, path, notes)
        if kind in SCALARS:
            return _bounded(kind, notes, OF_SCALAR.get(kind, {}))
        return self._container(kind, args, path, notes)

    def _container(self, kind: Any, args: tuple[Any, ...], path: str, notes: Notes) -> Any:
        if kind in MAPPINGS:
            values: Any = self.of(args[1], f"{path}.*") if args else Any
            return _bounded(dict[str, values], notes, OBJECT)
        if kind is tuple and args and args[-1] is not ...:
            members = tuple(self.of(arg, f"{path}[{i}]") for i, arg in enumerate(args))
            return tuple.__class_getitem__(members)
        if kind is tuple or kind in LISTS or kind in SETS:
            items: Any = self.of(args[0], f"{path}[]") if args else Any
            # msgspec says uniqueItems itself from 0.22 on.
            unique = {"uniqueItems": True} if kind in SETS else {}
            return _noted(_bounded(list[items], notes, ARRAY), unique)
        return self.of_class(kind, path)

    def _union(self, args: tuple[Any, ...], path: str, notes: Notes) -> Any:
        joined = Union.__getitem__(tuple(self.of(arg, path, notes) for arg in args))
        try:
            msgspec.inspect.type_info(joined)
        except TypeError:  # of two classes, say: nothing in the JSON would tell them apart
            return self._unknown(path)
        return joined

    def _unknown(self, path: str) -> Any:
        self.unknown.append(path)
        return Any


def _enumerated(values: list[Any]) -> Schema:
    """Name the type, too, where there is one: some providers insist."""
    kinds = {type(value) for value in values}
    named = {"type": JSON_TYPE[kinds.pop()]} if len(kinds) == 1 else {}
    return {**named, "enum": values}


def _noted(annotation: Any, extra: Schema) -> Any:
    return Annotated[annotation, msgspec.Meta(extra_json_schema=extra)] if extra else annotation


def _bounded(annotation: Any, notes: Notes, keywords: dict[str, str]) -> Any:
    bounds = {
        keyword: getattr(note, name)
        for note in reversed(notes)
        for name, keyword in keywords.items()
        if getattr(note, name) is not None
    }
    return _noted(annotation, bounds)


def _default(field: "attrs.Attribute[Any]") -> Any:
    """Return the default to show; one without a JSON form is not shown."""
    shown: Any = field.metadata.get(SHOWN_DEFAULT, field.default)
    if shown is attrs.NOTHING:
        return attrs.NOTHING
    if isinstance(shown, FACTORY):
        empty: dict[Any, Any] = {list: [], set: [], frozenset: [], tuple: [], dict: {}}
        return empty.get(shown.factory, NOT_SHOWN)
    try:
        plain = attrs.asdict(shown) if attrs.has(type(shown)) else shown
        # Sets in an order of their own: a prompt must not change from run to run.
        return msgspec.to_builtins(plain, order="deterministic")
    except (TypeError, ValueError):
        return NOT_SHOWN


def _tidied(raw: Schema) -> Schema:
    """Close every object, put definitions where they are used, and leave out what says nothing."""
    definitions: dict[str, Schema] = raw.get("$defs", {})
    recursive = {name for name in definitions if name in _reached(name, definitions)}
    top = _closed(definitions[raw["$ref"].removeprefix(REF)], definitions, recursive)
    if recursive:
        top["$defs"] = {
            n: _closed(definitions[n], definitions, recursive) for n in sorted(recursive)
        }
    return top


def _reached(name: str, definitions: dict[str, Schema]) -> set[str]:
    reached: set[str] = set()
    new = set(_references(definitions[name]))
    while new:
        reached |= new
        new = {ref for found in new for ref in _references(definitions[found])} - reached
    return reached


def _references(node: Schema) -> list[str]:
    own = [node["$ref"].removeprefix(REF)] if "$ref" in node else []
    return own + [name for inner in _subschemas(node) for name in _references(inner)]


def _subschemas(node: Schema) -> list[Schema]:
    found = [
        *node.get("properties", {}).values(),
        *node.get("anyOf", ()),
        *node.get("prefixItems", ()),
    ]
    found += [node.get("items"), node.get("additionalProperties")]
    return [schema for schema in found if isinstance(schema, dict)]


def _closed(node: Schema, definitions: dict[str, Schema], recursive: set[str]) -> Schema:
    def closed(inner: Any) -> Any:
        return _closed(inner, definitions, recursive) if isinstance(inner, dict) else inner

    name = node.get("$ref", "").removeprefix(REF)
    if name and name not in recursive:
        here = {key: value for key, value in node.items() if key != "$ref"}
        return _closed({**definitions[name], **here}, definitions, recursive)
    first = {"type": node["type"]} if "type" in node else {}
    out = {**first, **{key: value for key, value in node.items() if key != "title"}}
    for key in ("items", "additionalProperties"):
        if key in out:
            out[key] = closed(out[key])
    for key in ("anyOf", "prefixItems"):
        if key in out:
            out[key] = [closed(inner) for inner in out[key]]
    if "properties" in out:
        out["properties"] = {key: closed(value) for key, value in out["properties"].items()}
        out["additionalProperties"] = False
        if not out.get("required"):
            out.pop("required", None)
    return out
