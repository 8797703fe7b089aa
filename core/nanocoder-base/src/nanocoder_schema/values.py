"""Lazily built attrs classes: frozen, with repr, equality and hash by their fields."""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from itertools import count
from threading import RLock
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

import attrs

__all__ = ["evolve", "field_types", "mutable", "plain_value", "value", "wrong_field"]

if TYPE_CHECKING:
    from attrs import define as mutable
    from attrs import evolve
    from attrs import frozen as value
else:

    def value(cls: type | None = None, /, *, eq: bool = True, kw_only: bool = False) -> Any:
        """Make *cls* a frozen attrs class, built when its fields or many instances are needed.

        It is compared and hashed by its fields, without *eq* by identity. A start defines several
        times as many classes as it uses, and most of them for a few instances, while attrs compiles
        methods for each: that took a sixth of a start.
        """
        if cls is None:
            return partial(value, eq=eq, kw_only=kw_only)
        if eq:
            cls.__eq__, cls.__hash__ = _equals, _hash
        return _built_later(cls, frozen=True, kw_only=kw_only)

    def mutable(cls: type) -> type:
        """Make *cls* as `value` does, with mutable fields and comparison by identity."""
        return _built_later(cls)

    def evolve(instance: Any, **changes: Any) -> Any:
        """Return a copy of *instance* with *changes*, like attrs.evolve but without a build."""
        fields = vars(type(instance)).get(_PLAIN)
        if not fields:
            return attrs.evolve(instance, **changes)
        return type(instance)(**{name: getattr(instance, name) for name in fields} | changes)


# One method for all classes, where attrs would compile one for each.


def _show(self: Any) -> str:
    fields = ((f.name, getattr(self, f.name)) for f in self.__attrs_attrs__ if f.repr)
    return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields)})"


def _equals(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash((type(self), *_compared(self)))


def _compared(instance: Any) -> list[Any]:
    plain = vars(type(instance)).get(_PLAIN)
    names = plain or [f.name for f in instance.__attrs_attrs__ if f.eq]
    return [getattr(instance, name) for name in names]


def _refuse_change(*_: object) -> None:
    raise attrs.exceptions.FrozenInstanceError


def wrong_field(value: Any) -> str:
    """Return a message about the first field of *value* with a wrong type, or ""."""
    for field in value.__attrs_attrs__:
        expected = field_types(field.type)
        if not isinstance(getattr(value, field.name), expected):
            names = " or ".join(kind.__name__ for kind in expected)
            actual = type(getattr(value, field.name)).__name__
            return f"{type(value).__name__}.{field.name} is {actual}, not {names}"
    return ""


@cache
def field_types(declared: Any) -> tuple[type, ...]:
    """Return the classes of a *declared* type for isinstance, without type arguments."""
    if declared is float:
        return (int, float)
    origin = get_origin(declared)
    if origin is UnionType:
        return tuple(kind for part in get_args(declared) for kind in field_types(part))
    kind = declared if origin is None else origin
    return (kind,) if isinstance(kind, type) and kind is not Any else (object,)


def plain_value(value: Any) -> Any:
    """Return the JSON form of *value* and of its choices, tuples, mappings and classes."""
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if attrs.has(type(value)):
        return {f.name: plain_value(getattr(value, f.name)) for f in attrs.fields(type(value))}
    return value


_building = RLock()
_PLAIN = "__plain_fields__"  # what `_plain_fields` returned for a class
_MANY = 50  # from about this many instances on, compiling a class is faster


class _FieldsOnDemand:
    """A descriptor in place of `__attrs_attrs__`, which builds the class at first access."""

    def __init__(self, build: Callable[[], None], cls: type) -> None:
        self._build = build
        self._cls = cls

    def __get__(self, instance: object, owner: type) -> tuple[Any, ...]:
        self._build()
        return self._cls.__attrs_attrs__  # type: ignore[attr-defined,no-any-return]


def _built_later(cls: type, *, frozen: bool = False, kw_only: bool = False) -> type:
    plain, uses = _plain_fields(cls), count()

    def build() -> None:
        with _building:  # two threads may need the class at the same time
            if vars(cls)["__attrs_attrs__"] is fields:
                if frozen:
                    del cls.__setattr__, cls.__delattr__  # attrs has its own
                options: Any = {"frozen": frozen, "kw_only": kw_only}
                attrs.define(cls, init=True, eq=False, repr=False, slots=False, **options)

    def __init__(self: object, *values: Any, **named: Any) -> None:  # noqa: N807
        if kw_only or next(uses) > _MANY or not _filled(self, plain, values, named):
            build()
            vars(cls)["__init__"](self, *values, **named)  # generated by attrs

    fields = _FieldsOnDemand(build, cls)
    setattr(cls, _PLAIN, plain)  # attrs removes the defaults from the class
    cls.__attrs_attrs__ = fields  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[misc]
    cls.__repr__ = _show  # type: ignore[assignment]
    if frozen:
        cls.__setattr__ = cls.__delattr__ = _refuse_change  # type: ignore[method-assign]
    return cls


def _filled(
    instance: Any, defaults: dict[str, Any], values: tuple[Any, ...], named: dict[str, Any]
) -> bool:
    """Set the fields of *instance*; return False, with none set, if attrs must do or refuse it."""
    by_position = dict(zip(defaults, values, strict=False))
    state = {**defaults, **by_position, **named}
    fits = len(by_position) == len(values) and by_position.keys().isdisjoint(named)
    if not (fits and defaults and state.keys() == defaults.keys()):
        return False
    for name, item in state.items():
        if item is ...:
            return False
        if item is defaults[name] and isinstance(item, _Factory):
            state[name] = item.factory()
    getattr(instance, "__attrs_pre_init__", bool)()
    vars(instance).update(state)
    getattr(instance, "__attrs_post_init__", bool)()
    return True


_Factory: Any = attrs.Factory
_Field: Any = type(attrs.field())


def _plain_fields(cls: type) -> dict[str, Any]:
    """Return the fields of *cls* with defaults, `...` for none; empty if the class needs attrs."""
    bases = [base for base in reversed(cls.__mro__[1:]) if "__attrs_attrs__" in vars(base)]
    inherited = [vars(base).get(_PLAIN, {}) for base in bases]
    own = {name: vars(cls).get(name, ...) for name in cls.__annotations__}
    is_plain = (
        all(inherited)
        and not any(isinstance(default, _Field) for default in own.values())
        and not any(name.startswith("_") for name in own)
        and not any("ClassVar" in str(kind) for kind in cls.__annotations__.values())
    )
    return dict(item for fields in (*inherited, own) for item in fields.items()) if is_plain else {}
