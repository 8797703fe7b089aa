"""What an annotation asks for, and whether its type has a JSON form."""

import collections.abc
import copy
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NewType, Union

import attrs

from nanocoder_schema.param import Param

SHOWN_DEFAULT = "nanocoder.default"  # metadata: the default to show when the field has a factory
SCALARS = (str, int, float, bool, type(None))
LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Collection,
    collections.abc.Iterable,
)
SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_EMPTY = inspect.Parameter.empty


class Opened(NamedTuple):
    """An annotation without its wrapping: the bare type or form, and the `Param`s."""

    kind: Any
    args: tuple[Any, ...]
    notes: tuple[Param, ...]


def opened(annotation: Any) -> Opened:
    """Look through Annotated, NewType and `type` aliases.

    *kind* is Union for both spellings of a union.
    """
    notes: list[Param] = []
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation, *extras = typing.get_args(annotation)
            notes += [
                Param(e) if isinstance(e, str) else e for e in extras if isinstance(e, str | Param)
            ]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            break
    kind = typing.get_origin(annotation) or annotation
    kind = Union if kind is types.UnionType else kind
    return Opened(type(None) if kind is None else kind, typing.get_args(annotation), tuple(notes))


def choices(annotation: Any) -> list[Any] | None:
    """Return the values of a Literal or an Enum.

    None for any other type, or when a value has no JSON form.
    """
    kind, args, _ = opened(annotation)
    if kind is Literal:
        values = [arg.value if isinstance(arg, enum.Enum) else arg for arg in args]
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        values = [member.value for member in kind]
    else:
        return None
    return values if all(isinstance(value, SCALARS) for value in values) else None


def is_known(annotation: Any) -> bool:
    """Tell whether the outermost layer of *annotation* has a JSON form."""
    kind, args, _ = opened(annotation)
    if kind in (Any, object, Union, tuple) or kind in SCALARS or kind in LISTS or kind in SETS:
        return True
    if kind in MAPPINGS:
        return not args or opened(args[0]).kind is str
    return choices(annotation) is not None or (
        isinstance(kind, type) and attrs.has(kind) and not args
    )


def parameters_of(function: Callable[..., Any], skip: frozenset[str]) -> type:
    """Make an attrs class of the parameters of *function*.

    Raises: TypeError for parameters that cannot be passed by name.
    """
    fields = {p.name: _field(function, p) for p in _parameters(function) if p.name not in skip}
    return attrs.make_class("Arguments", fields, frozen=True, kw_only=True)


def _parameters(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in by_name:
            raise TypeError(
                f"parameter {parameter} of {function!r} cannot be passed by name; "
                "give each parameter a name of its own"
            )
        yield parameter


def _field(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    metadata = {}
    default = attrs.NOTHING if parameter.default is _EMPTY else parameter.default
    if isinstance(default, list | dict | set):
        # Two calls must not share one list.
        metadata[SHOWN_DEFAULT] = default
        default = attrs.Factory(partial(copy.deepcopy, default))
    return attrs.field(
        type=_resolved(function, parameter),
        default=default,
        alias=parameter.name,
        metadata=metadata,
    )


def _resolved(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Resolve one annotation alone: that of `ctx` may only exist while types are checked."""
    if parameter.annotation is _EMPTY:
        return Unannotated
    stub = types.SimpleNamespace(__annotations__={"it": parameter.annotation})
    written = function.func if isinstance(function, partial) else inspect.unwrap(function)
    names = getattr(written, "__globals__", {})
    return typing.get_type_hints(stub, names, include_extras=True)["it"]


class Unannotated:
    """Stands for the type of a parameter that has none."""
