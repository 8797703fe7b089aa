"""JSON values into checked Python values, nothing coerced.

Imports cattrs, which costs 40 ms: import this module late.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_origin

import attrs
from cattrs import Converter
from cattrs.cols import list_structure_factory
from cattrs.errors import BaseValidationError, IterableValidationError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, mapping_structure_factory, override

from nanocoder_schema.annotations import LISTS, MAPPINGS, SETS, choices, is_known, opened
from nanocoder_schema.bounds import bounds_of
from nanocoder_schema.errors import BadArguments
from nanocoder_schema.json_text import about_text
from nanocoder_schema.misfit import Misfit
from nanocoder_schema.problems import lines_of
from nanocoder_schema.scalars import HOOKS, choice_hook

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]


def checker(cls: type) -> Callable[[Any], dict[str, Any]]:
    """Return a function from JSON arguments to the checked keyword arguments of *cls*."""
    hook = converter().get_structure_hook(cls)
    names = [(field.alias, field.name) for field in attrs.fields(cls) if field.init]

    def check(arguments: Any) -> dict[str, Any]:
        values = _checked(hook, arguments, cls, "")
        return {alias: getattr(values, name) for alias, name in names}

    return check


def structured(cls: type[T], data: Any, where: str) -> T:
    """Make a *cls* of *data*.

    Raises: BadArguments with one line for each problem.
    """
    made: T = _checked(converter().get_structure_hook(cls), data, cls, where)
    return made


@cache
def converter() -> Converter:
    """Return the one strict converter; what is registered last is asked first."""
    strict = Converter(detailed_validation=True)
    for scalar in HOOKS:
        strict.register_structure_hook(scalar, _scalar_hook(scalar))
    for is_meant, factory in (
        (_is(attrs.has), _record),
        (_is(LISTS.__contains__), _list),
        (_is(SETS.__contains__), _set),
        (_is(MAPPINGS.__contains__), _mapping),
        (_is(lambda kind: kind is tuple), _tuple),
        (_is(lambda kind: kind is Union), _union),
        (lambda annotation: choices(annotation) is not None, _choice),
        (lambda annotation: not is_known(annotation), _unknown),
        (_is(lambda kind: kind is object), _unknown),
        (_has_notes, _annotated),
    ):
        strict.register_structure_hook_factory(is_meant, factory)
    return strict


def _has_notes(annotation: Any) -> bool:
    form: Any = get_origin(annotation)
    return form is Annotated


def _scalar_hook(scalar: Any) -> Hook:
    exact = HOOKS[scalar]

    def of_scalar(value: Any, annotation: Any) -> Any:
        # cattrs brings subclasses here, too: StrEnum is a str.
        return (
            exact(value, scalar) if annotation is scalar else _subclass_hook(annotation)(value, 0)
        )

    return of_scalar


@cache
def _subclass_hook(annotation: Any) -> Hook:
    return _unknown(annotation) if choices(annotation) is None else choice_hook(annotation)


def _is(predicate: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda annotation: predicate(opened(annotation).kind)


def _checked(hook: Hook, data: Any, cls: type, where: str) -> Any:
    try:
        return _built(hook, data, cls, where)
    except RecursionError:
        raise BadArguments([f"{where or 'the arguments'}: nested too deeply"]) from None


def _built(hook: Hook, data: Any, cls: type, where: str) -> Any:
    try:
        return hook(data, cls)
    except (BaseValidationError, Misfit) as error:
        raise BadArguments(lines_of(error, where)) from None


def _hook_of(annotation: Any, strict: Converter) -> Hook:
    try:
        return strict.get_structure_hook(annotation)
    except (
        RecursionError
    ):  # cattrs' way to say: this type is being built; ask again when it is used
        return strict.structure


def _annotated(annotation: Any, strict: Converter) -> Hook:
    found = opened(annotation)
    inner_type = annotation.__origin__
    inner = _hook_of(inner_type, strict)
    bounds = bounds_of(found.notes)
    if not bounds:
        return lambda value, _: inner(value, inner_type)

    def within_bounds(value: Any, _: Any) -> Any:
        result = inner(value, inner_type)
        broken = [text for text in (bound(value) for bound in bounds) if text]
        if broken:
            raise ValueError(", and ".join(broken))
        return result

    return within_bounds


def _record(annotation: Any, strict: Converter) -> Hook:
    cls = annotation
    attrs.resolve_types(cls)
    rules = {
        f.name: override(struct_hook=_ruled(cls, f, strict))
        for f in attrs.fields(cls)
        if f.validator
    }
    build = make_dict_structure_fn(cls, strict, _cattrs_forbid_extra_keys=True, **rules)  # type: ignore[arg-type]

    def record(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise Misfit("an object", value, hint=about_text(value))
        return build(value, cls)

    return record


def _ruled(cls: type, field: "attrs.Attribute[Any]", strict: Converter) -> Hook:
    """Run a field's own rule with its type.

    __init__ would stop at the first rule that is broken, and not name the field.
    """
    inner = _hook_of(field.type, strict)

    def ruled(value: Any, _: Any) -> Any:
        result = inner(value, field.type)
        if field.converter is None and field.validator is not None:
            # A rule about several fields finds none here; __init__ asks it again.
            with suppress(AttributeError):
                field.validator(object.__new__(cls), field, result)
        return result

    return ruled


def _choice(annotation: Any, _: Converter) -> Hook:
    return choice_hook(annotation)


def _list(annotation: Any, strict: Converter) -> Hook:
    items = opened(annotation).args or (Any,)
    build = list_structure_factory(list[items[0]], strict)  # type: ignore[valid-type]

    def sequence(value: Any, _: Any) -> list[Any]:
        # A string is iterable: "abc" must not become ["a", "b", "c"].
        if not isinstance(value, list | tuple):
            raise Misfit("a list", value, hint=about_text(value))
        items: list[Any] = build(value, annotation)
        return items

    return sequence


def _set(annotation: Any, strict: Converter) -> Hook:
    as_list = _list(annotation, strict)
    make = set if opened(annotation).kind is set else frozenset

    def distinct(value: Any, _: Any) -> Any:
        items = as_list(value, annotation)
        try:
            found = make(items)
        except TypeError:
            raise Misfit("a list of plain values", value) from None
        if len(found) < len(items):
            raise ValueError("expected a list of different values, got one of them twice")
        return found

    return distinct


def _mapping(annotation: Any, strict: Converter) -> Hook:
    args = opened(annotation).args or (str, Any)
    build = mapping_structure_factory(dict[args[0], args[1]], strict)  # type: ignore[valid-type]

    def mapping(value: Any, _: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Misfit("an object", value, hint=about_text(value))
        return build(value, annotation)

    return mapping


def _tuple(annotation: Any, strict: Converter) -> Hook:
    args = opened(annotation).args
    if not args or args[-1] is ...:
        as_list = _list(list[args[0] if args else Any], strict)  # type: ignore[misc]
        return lambda value, _: tuple(as_list(value, annotation))
    hooks = [(index, arg, _hook_of(arg, strict)) for index, arg in enumerate(args)]

    def fixed(value: Any, _: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(hooks):
            raise Misfit(f"a list of {len(hooks)}", value)
        return _each(value, hooks, annotation)

    return fixed


def _each(value: Any, hooks: list[tuple[int, Any, Hook]], annotation: Any) -> tuple[Any, ...]:
    done, failed = [], []
    for index, kind, hook in hooks:
        try:
            done.append(hook(value[index], kind))
        except Exception as error:  # noqa: BLE001 - cattrs collects whatever a hook raises
            error.add_note(IterableValidationNote(f"at {index}", index, kind))
            failed.append(error)
    if failed:
        raise IterableValidationError("", failed, annotation)
    return tuple(done)


def _union(annotation: Any, strict: Converter) -> Hook:
    members = [(arg, _hook_of(arg, strict)) for arg in opened(annotation).args]
    exact = {opened(arg).kind: (arg, hook) for arg, hook in members}

    def either(value: Any, _: Any) -> Any:
        # The member of the value's very own type goes first: 2.0 is a float where both are offered.
        first = exact.get(type(value))
        failed: list[Exception] = []
        for arg, hook in (first, *members) if first else members:
            try:
                return hook(value, arg)
            except (BaseValidationError, ValueError) as error:
                failed.append(error)
        raise _closest(failed, value)

    return either


def _closest(failed: list[Exception], value: Any) -> Exception:
    """Choose the fault inside a member whose shape fits, else name every shape."""
    inside = [error for error in failed if not isinstance(error, Misfit)]
    if inside:
        return inside[0]
    misfits = [error for error in failed if isinstance(error, Misfit)]
    expected = dict.fromkeys(error.expected for error in misfits)
    hint = next((error.hint for error in misfits if error.hint), "")
    return Misfit(" or ".join(expected), value, hint=hint)


def _unknown(annotation: Any, _: Converter | None = None) -> Hook:
    """Let any value through where the type says nothing about JSON; the lint reports the place."""
    if annotation is Path:
        return lambda value, _: Path(HOOKS[str](value, str))
    return lambda value, _: value
