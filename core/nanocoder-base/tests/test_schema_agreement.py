"""Check and JSON Schema come from one definition: they must accept and refuse the same values."""

import enum
from typing import Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_schema import BadArguments, Param, Signature

NUMBERS = st.integers(-5, 5) | st.integers(-(10**30), 10**30) | st.sampled_from([0.5, 2.0, -1e300])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.sampled_from(["", "a", "red", "1"])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abit"), inner, max_size=3)
    ),
    max_leaves=6,
)


class Colour(enum.Enum):
    """Values of two types."""

    RED = "red"
    ONE = 1


@attrs.frozen
class Pair:
    """Two things."""

    a: Annotated[int, Param("First.", ge=0)]
    b: Annotated[list[str], Param("Second.", max_length=2)] = attrs.field(factory=list)


LEAVES = st.sampled_from(
    [
        str, int, float, bool, type(None), Any, Colour, Pair,
        Literal["a", 1] | None,
        Annotated[int, Param(ge=0, lt=4)],
        Annotated[float | None, Param(gt=0, le=2)],
        Annotated[str, Param(min_length=1, max_length=2)],
        Annotated[str, Param(pattern="a|^$")],
        int | str, str | list[str],
    ]
)  # fmt: skip
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda kind: list[kind]),
        inner.map(lambda kind: dict[str, kind]),
        inner.map(lambda kind: kind | None),
        inner.map(lambda kind: tuple[kind, ...]),
        inner.map(lambda kind: Annotated[list[kind], Param(min_length=1)]),
    ),
    max_leaves=3,
)


def signature_of(annotation: Any) -> Signature:
    """Return the signature of a tool with one parameter, `it`."""
    return Signature.of_class(attrs.make_class("One", {"it": attrs.field(type=annotation)}))


def accepts(signature: Signature, arguments: Any) -> bool:
    """Return True if the check takes *arguments*; it may refuse, and do nothing else."""
    try:
        signature.check(arguments)
    except BadArguments as error:
        problems = error.problems
    else:
        return True
    assert problems
    assert all(": " in line for line in problems)
    return False


def likely(annotation: Any) -> st.SearchStrategy[Any]:
    """Return values that fit *annotation* more often than chance."""
    forms: dict[Any, st.SearchStrategy[Any]] = {
        Pair: st.fixed_dictionaries({"a": NUMBERS}, optional={"b": st.lists(st.text(max_size=1))}),
        Colour: st.sampled_from(["red", 1, 1.0, True]),
    }
    if annotation in forms:
        return forms[annotation]
    origin, args = getattr(annotation, "__origin__", None), getattr(annotation, "__args__", ())
    if origin in {list, tuple}:
        return st.lists(likely(args[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(st.text(max_size=2), likely(args[1]), max_size=2)
    if hasattr(annotation, "__metadata__"):
        return likely(annotation.__origin__)
    return JSON


@pytest.mark.contract("NA-01")
@pytest.mark.timeout(60)
@given(st.data())
def test_check_and_json_schema_agree_on_every_value(data):
    import jsonschema  # takes seconds, which the collecting of tests need not wait for

    annotation = data.draw(TYPES)
    signature = signature_of(annotation)
    jsonschema.Draft202012Validator.check_schema(signature.json_schema)
    validator = jsonschema.Draft202012Validator(signature.json_schema)
    arguments = {"it": data.draw(likely(annotation) | JSON)}
    assert accepts(signature, arguments) == validator.is_valid(arguments)


def a_tool(ctx, a: int, b: list[Pair] | None = None, i: Colour = Colour.RED, t: float = 1.0): ...


@given(JSON | st.dictionaries(st.sampled_from("abit"), JSON))
def test_any_json_value_is_checked_or_refused(value):
    import jsonschema  # as above

    signature = Signature.of_function(a_tool)
    validator = jsonschema.Draft202012Validator(signature.json_schema)
    assert accepts(signature, value) == validator.is_valid(value)
