"""Values: frozen, shown, compared and hashed by their fields, and built when first used."""

from collections.abc import Callable
from functools import cache, partial
from threading import RLock
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

__all__ = ["field_types", "mutable", "value", "wrong_field"]

if TYPE_CHECKING:
    from attrs import define as mutable
    from attrs import frozen as value
else:

    def value(cls: type | None = None, /, *, eq: bool = True, kw_only: bool = False) -> Any:
        """Make *cls* a frozen attrs class as soon as an instance or its fields are needed.

        It is compared and hashed by its fields, without *eq* by identity. A start defines several
        times as many classes as it uses, and attrs compiles the methods of each: that was a sixth
        of what a start costs.
        """
        if cls is None:
            return partial(value, eq=eq, kw_only=kw_only)
        if eq:
            cls.__eq__, cls.__hash__ = _equals, _hash
        return _built_later(cls, frozen=True, kw_only=kw_only)

    def mutable(cls: type) -> type:
        """Make *cls* as `value` does, with fields that may change, and compared by identity."""
        return _built_later(cls)


# One method for all classes: attrs would compile one for each.


def _show(self: Any) -> str:
    fields = ((f.name, getattr(self, f.name)) for f in self.__attrs_attrs__ if f.repr)
    return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields)})"


def _equals(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return _fields_of(self) == _fields_of(other)


def _hash(self: Any) -> int:
    return hash((type(self), *_fields_of(self)))


def _fields_of(instance: Any) -> list[Any]:
    return [getattr(instance, field.name) for field in instance.__attrs_attrs__ if field.eq]


def wrong_field(value: Any) -> str:
    """Say which field of *value* is not of its declared type; nothing if all are."""
    for field in value.__attrs_attrs__:
        expected = field_types(field.type)
        if not isinstance(getattr(value, field.name), expected):
            names = " or ".join(kind.__name__ for kind in expected)
            actual = type(getattr(value, field.name)).__name__
            return f"{type(value).__name__}.{field.name} is {actual}, not {names}"
    return ""


@cache
def field_types(declared: Any) -> tuple[type, ...]:
    """Return what a field of a *declared* type may hold, without what is in it: for isinstance."""
    if declared is float:
        return (int, float)
    origin = get_origin(declared)
    if origin is UnionType:
        return tuple(kind for part in get_args(declared) for kind in field_types(part))
    kind = declared if origin is None else origin
    return (kind,) if isinstance(kind, type) and kind is not Any else (object,)


_building = RLock()


class _FieldsOnDemand:
    """Stands for `__attrs_attrs__` of a class until somebody asks for it."""

    def __init__(self, build: Callable[[], None], cls: type) -> None:
        self._build = build
        self._cls = cls

    def __get__(self, instance: object, owner: type) -> tuple[Any, ...]:
        self._build()
        return self._cls.__attrs_attrs__  # type: ignore[attr-defined,no-any-return]


def _built_later(cls: type, **options: Any) -> type:
    def build() -> None:
        with _building:  # two threads may need the class at the same time
            if vars(cls)["__attrs_attrs__"] is fields:
                from attrs import define

                define(cls, init=True, eq=False, repr=False, slots=False, **options)

    def __init__(self: object, *values: Any, **named: Any) -> None:  # noqa: N807
        build()
        vars(cls)["__init__"](self, *values, **named)  # the one that attrs made

    fields = _FieldsOnDemand(build, cls)
    cls.__attrs_attrs__ = fields  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[misc]
    cls.__repr__ = _show  # type: ignore[assignment]
    return cls
