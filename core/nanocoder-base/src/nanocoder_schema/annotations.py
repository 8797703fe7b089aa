"""Unwrapped annotations, and the JSON form of their types."""

import copy
import enum
import inspect
import types
import typing
from collections import abc
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NewType, Union

import attrs

from nanocoder_schema.bounds import Param

SHOWN_DEFAULT = "nanocoder.default"  # metadata: the default to show when the field has a factory
SCALARS = (str, int, float, bool, type(None))
FORMS: dict[Any, str] = {
    **dict.fromkeys((Any, object), "any"),
    **dict.fromkeys(SCALARS, "scalar"),
    **dict.fromkeys((list, tuple, abc.Sequence, abc.MutableSequence), "list"),
    **dict.fromkeys((abc.Collection, abc.Iterable), "list"),
    **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping), "mapping"),
    Union: "union",
}
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Unwrapped(NamedTuple):
    """The type of an annotation, its arguments and its `Param`s; Union for both kinds of union."""

    kind: Any
    args: tuple[Any, ...]
    notes: tuple[Param, ...]

    @property
    def form(self) -> str:
        """The form in JSON: one of FORMS, "choice", "class" or "untyped"."""
        kind, args, _ = self
        form = FORMS.get(kind, "")
        if form == "mapping" and args and unwrap(args[0]).kind is not str:
            return "untyped"
        if kind is tuple and args and args[-1] is not ...:
            return "untyped"  # providers refuse the schema of a tuple with positional types
        if isinstance(kind, type) and attrs.has(kind) and not args:
            return "class"
        if form:
            return form
        is_choice = self.members and all(isinstance(value, SCALARS) for value in self.choices)
        return "choice" if is_choice else "untyped"

    @property
    def members(self) -> tuple[Any, ...]:
        """The members of an Enum, the arguments of a Literal, or nothing."""
        if self.kind is Literal:
            return self.args
        is_enum = isinstance(self.kind, type) and issubclass(self.kind, enum.Enum)
        return tuple(self.kind) if is_enum else ()

    @property
    def choices(self) -> list[Any]:
        """The members in their JSON form."""
        return [getattr(member, "value", member) for member in self.members]


def unwrap(annotation: Any) -> Unwrapped:
    """Resolve Annotated, NewType and `type` aliases."""
    notes: list[Param] = []
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation, *extras = typing.get_args(annotation)
            extras = [Param(extra) if isinstance(extra, str) else extra for extra in extras]
            notes += [extra for extra in extras if isinstance(extra, Param)]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            break
    kind = typing.get_origin(annotation) or annotation
    kind = {types.UnionType: Union, None: type(None)}.get(kind, kind)
    return Unwrapped(kind, typing.get_args(annotation), tuple(notes))


def parameters_of(function: Callable[..., Any]) -> type:
    """Return an attrs class of the parameters of *function*, except for `ctx`.

    Raises: TypeError for parameters that cannot be passed by name.
    """
    fields = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in BY_NAME:
            raise TypeError(
                f"parameter {parameter} of {function!r} cannot be passed by name; "
                "give each parameter a name of its own"
            )
        if parameter.name != "ctx":
            fields[parameter.name] = _field(function, parameter)
    return attrs.make_class("Arguments", fields, frozen=True, kw_only=True)


def _field(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    metadata = {}
    default = attrs.NOTHING if parameter.default is parameter.empty else parameter.default
    if isinstance(default, list | dict | set):
        # Calls must not share one mutable default.
        metadata[SHOWN_DEFAULT] = default
        default = attrs.Factory(partial(copy.deepcopy, default))
    annotation = _resolve(function, parameter)
    return attrs.field(type=annotation, default=default, alias=parameter.name, metadata=metadata)


def _resolve(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Resolve a single annotation: that of `ctx` may exist only under TYPE_CHECKING."""
    if parameter.annotation is parameter.empty:
        return Unannotated
    holder = types.SimpleNamespace(__annotations__={"it": parameter.annotation})
    unwrapped = function.func if isinstance(function, partial) else inspect.unwrap(function)
    names = getattr(unwrapped, "__globals__", {})
    return typing.get_type_hints(holder, names, include_extras=True)["it"]


class Unannotated:
    """The type of a parameter without an annotation."""
