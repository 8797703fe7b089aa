"""Validate JSON values as Python values, without coercion; errors tell a model what to change.

This imports cattrs, which takes 40 ms: import this module late.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import attrs
from cattrs import Converter
from cattrs.cols import list_structure_factory
from cattrs.errors import (
    AttributeValidationNote,
    BaseValidationError,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, mapping_structure_factory, override

from nanocoder_schema.annotations import SCALARS, Unannotated, Unwrapped, unwrap
from nanocoder_schema.bounds import bound_problems
from nanocoder_schema.errors import BadArguments, WrongType, show
from nanocoder_schema.json_text import hint_for_text
from nanocoder_schema.text import did_you_mean

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]
Factory = Callable[[Unwrapped, Converter], Hook]

MAX_LINES = 50


def structured(cls: type[T], data: Any, where: str = "") -> T:
    """Return a *cls* built from *data*.

    Raises: BadArguments with one line for each problem.
    """
    try:
        value: T = converter().get_structure_hook(cls)(data, cls)
    except (BaseValidationError, WrongType, RecursionError) as error:
        raise BadArguments(_error_lines(error, where)) from None
    return value


@cache
def converter() -> Converter:
    """Return the one strict converter."""
    strict = Converter(detailed_validation=True, forbid_extra_keys=True)
    strict.register_structure_hook_factory(lambda _: True, _hook)
    # No cache for other annotations: A | B equals B | A, but tries A first.
    hook_of = cache(lambda cls: _hook(cls, strict))
    # cattrs has own hooks for these and their subclasses, and tries them first.
    for kind in (str, bytes, int, float, Path):
        strict.register_structure_hook(kind, lambda value, cls: hook_of(cls)(value, cls))
    return strict


def _hook(annotation: Any, strict: Converter) -> Hook:
    unwrapped = unwrap(annotation)
    hook = FACTORIES[unwrapped.form](unwrapped, strict)
    if not unwrapped.notes:
        return hook

    def within_bounds(value: Any, _: Any) -> Any:
        result = hook(value, annotation)
        problems = [line for note in unwrapped.notes for line in bound_problems(note, value)]
        if problems:
            raise ValueError(", and ".join(problems))
        return result

    return within_bounds


def _hook_of(annotation: Any, strict: Converter) -> Hook:
    try:
        return strict.get_structure_hook(annotation)
    except RecursionError:
        # cattrs raises this for a recursive class: look its hook up at its use.
        return strict.structure


def _only(expected: str, types: Any, build: Hook) -> Hook:
    """Return a hook that accepts only *types*: "abc" must not become ["a", "b", "c"]."""

    def only(value: Any, annotation: Any) -> Any:
        if not isinstance(value, types):
            raise WrongType(expected, value, hint=hint_for_text(value))
        return build(value, annotation)

    return only


def _class(unwrapped: Unwrapped, strict: Converter) -> Hook:
    cls = unwrapped.kind
    attrs.resolve_types(cls)
    validated = {
        field.name: override(struct_hook=_validated(cls, field, strict))
        for field in attrs.fields(cls)
        if field.validator or field.type is None
    }
    return _only("an object", dict, make_dict_structure_fn(cls, strict, **validated))  # type: ignore[arg-type]


def _validated(cls: type, field: "attrs.Attribute[Any]", strict: Converter) -> Hook:
    """Return a hook that runs a field's own validator after its type check.

    __init__ would stop at the first failing validator, and not name the field.
    """
    annotation = field.type or Unannotated
    hook = _hook_of(annotation, strict)

    def validated(value: Any, _: Any) -> Any:
        result = hook(value, annotation)
        if field.converter is None and field.validator is not None:
            # A validator that needs other fields fails here; __init__ runs it again.
            with suppress(AttributeError):
                field.validator(object.__new__(cls), field, result)
        return result

    return validated


def _mapping(unwrapped: Unwrapped, strict: Converter) -> Hook:
    key, item = unwrapped.args or (str, Any)
    build = mapping_structure_factory(dict[key, item], strict)  # type: ignore[valid-type]
    return _only("an object", dict, build)


def _list(unwrapped: Unwrapped, strict: Converter) -> Hook:
    item = unwrapped.args[0] if unwrapped.args else Any
    build = list_structure_factory(list[item], strict)  # type: ignore[valid-type]
    as_list = _only("a list", list | tuple, build)
    if unwrapped.kind is tuple:
        return lambda value, annotation: tuple(as_list(value, annotation))
    return as_list


def _union(unwrapped: Unwrapped, strict: Converter) -> Hook:
    members = [(unwrap(arg).kind, arg, _hook_of(arg, strict)) for arg in unwrapped.args]

    def either(value: Any, _: Any) -> Any:
        errors: list[Exception] = []
        # The member with the value's exact type is tried first: 2.0 is a float, not an int.
        for _, member, hook in sorted(members, key=lambda entry: entry[0] is not type(value)):
            try:
                return hook(value, member)
            except (BaseValidationError, ValueError) as error:
                errors.append(error)
        raise _closest(errors, value)

    return either


def _closest(errors: list[Exception], value: Any) -> Exception:
    """Return the error of the member whose shape fits, else one that lists every shape."""
    wrong_types = [error for error in errors if isinstance(error, WrongType)]
    if len(wrong_types) < len(errors):
        return next(error for error in errors if not isinstance(error, WrongType))
    expected = dict.fromkeys(error.expected for error in wrong_types)
    hint = next((error.hint for error in wrong_types if error.hint), "")
    return WrongType(" or ".join(expected), value, hint=hint)


def _anything(unwrapped: Unwrapped, _: Converter) -> Hook:
    """Return a hook that accepts any value, for a type without a JSON form."""
    if unwrapped.kind is Path:
        return lambda value, _: Path(SCALAR_HOOKS[str](value, str))
    return lambda value, _: value


def _choice(unwrapped: Unwrapped, _: Converter) -> Hook:
    """Return a hook for a Literal or an Enum, which selects by value and type: True is not 1."""
    values = unwrapped.choices
    members = {_key(value): member for value, member in zip(values, unwrapped.members, strict=True)}
    listed = ", ".join(map(show, values))
    expected = f"one of {listed}" if len(values) > 1 else listed

    def choice(value: Any, _: Any) -> Any:
        if not isinstance(value, SCALARS) or _key(value) not in members:
            raise WrongType(expected, value)
        return members[_key(value)]

    return choice


def _key(value: Any) -> tuple[type, Any]:
    if isinstance(value, float) and value.is_integer():
        return int, int(value)
    return type(value), value


def _integer(value: Any, _: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise WrongType("an integer", value)


def _number(value: Any, _: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise WrongType("a number of ordinary size", value) from None
        if math.isfinite(number):
            return number
    raise WrongType("a number", value)


SCALAR_HOOKS: dict[Any, Hook] = {
    # A model's null must not become a file named "None".
    str: _only("a string", str, lambda value, _: value),
    int: _integer,
    float: _number,
    bool: _only("true or false", bool, lambda value, _: value),
    type(None): _only("null", type(None), lambda value, _: value),
}

FACTORIES: dict[str, Factory] = {
    "any": _anything,
    "scalar": lambda unwrapped, _: SCALAR_HOOKS[unwrapped.kind],
    "choice": _choice,
    "class": _class,
    "mapping": _mapping,
    "list": _list,
    "union": _union,
    "untyped": _anything,
}


def _error_lines(error: Exception, where: str) -> list[str]:
    """Return one line for each problem in *error*, in the order of the definition."""
    try:
        lines = list(_lines(error, where))
    except RecursionError:
        return [f"{where or 'the arguments'}: nested too deeply"]
    left_out = len(lines) - MAX_LINES
    return lines if left_out <= 0 else [*lines[:MAX_LINES], f"… and {left_out:,} more problems"]


def _lines(error: Exception, path: str) -> Iterator[str]:
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _member_lines(inner, path)
    elif isinstance(error, ForbiddenExtraKeysError):
        names = [field.name for field in attrs.fields(error.cl) if field.init]
        for key in sorted(error.extra_fields, key=str):
            yield f"{_join(path, key)}: no such name{_advice(key, names)}"
    elif isinstance(error, RecursionError):
        raise error
    else:
        # attrs appends the class, the attribute and the value to its message.
        text = str(error.args[0]) if error.args else type(error).__name__
        yield f"{path or 'the arguments'}: {text}"


def _member_lines(error: Exception, path: str) -> Iterator[str]:
    # The last note is of the innermost level, the others of the outer levels.
    kinds = AttributeValidationNote | IterableValidationNote
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, kinds)]
    note = notes[-1] if notes else None
    if isinstance(note, AttributeValidationNote):
        path = _join(path, note.name)
        if isinstance(error, KeyError) and error.args == (note.name,):
            yield f"{path}: required, but missing"
            return
    elif note is not None:
        path = f"{path}[{note.index}]" if isinstance(note.index, int) else _join(path, note.index)
    yield from _lines(error, path)


def _join(path: str, name: Any) -> str:
    if isinstance(name, str) and name.isidentifier():
        return f"{path}.{name}" if path else name
    return f"{path}[{show(name)}]"


def _advice(key: Any, names: list[str]) -> str:
    there_are = f"; there are {', '.join(names)}" if names else "; there are none"
    return did_you_mean(str(key).lower(), names, there_are, cutoff=0.65)
