"""Arguments that are made up for a tool fit its schema, or miss it by one thing."""

from typing import Annotated, Literal

import pytest
from attrs import frozen
from nanocoder import Effect, Param, tool
from nanocoder_testing.made_up import fitting, made_up, try_each

CALLS = 60


@frozen
class Spot:
    """A place in a file."""

    path: Annotated[str, "Where."]
    line: Annotated[int, Param("Which line.", ge=1, le=9)] = 1


@tool(effects={Effect.READ}, examples=[{"spots": [{"path": "a"}]}])
def look(
    spots: Annotated[list[Spot], "Where to look."],
    mode: Annotated[Literal["fast", "slow"], "How."] = "fast",
    share: Annotated[float, Param("How much.", ge=0, le=1)] = 1,
    note: Annotated[str | None, "What for."] = None,
    tags: Annotated[dict[str, int] | None, "Counts by name."] = None,
) -> str:
    """Look at places in files."""
    return ""


@tool(effects={Effect.EXECUTE}, risk="dangerous", examples=[{"command": "true"}])
def run(command: Annotated[str, "What to run."]) -> str:
    """Run a command."""
    return ""


def seen(strategy) -> list:
    found = []
    try_each(strategy, found.append, CALLS)
    return found


def test_what_fits_a_schema_is_valid_by_it():
    import jsonschema  # takes seconds, which the collecting of tests need not wait for

    schema = look.parameters
    values = seen(fitting(schema))
    for one in values:
        jsonschema.validate(one, schema)
    assert {one.get("mode") for one in values} == {None, "fast", "slow"}
    assert any(one["spots"] for one in values)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^[a-z]{3}$"},
        {"type": "string", "minLength": 2, "maxLength": 3},
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": ["integer", "null"]},
        {"oneOf": [{"const": 1}, {"type": "boolean"}]},
        {"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 3},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object"},
        {},
    ],
)
def test_every_word_of_a_schema_is_kept(schema):
    import jsonschema  # as above

    for one in seen(fitting(schema)):
        jsonschema.validate(one, schema)


def test_the_same_arguments_are_made_up_in_every_run():
    assert repr(seen(made_up(look))) == repr(seen(made_up(look)))


def test_some_arguments_fit_and_some_do_not():
    import jsonschema  # as above

    fits = [
        jsonschema.Draft202012Validator(look.parameters).is_valid(one)
        for one in seen(made_up(look))
    ]
    assert any(fits)
    assert not all(fits)


def test_a_tool_that_runs_commands_is_sent_none_that_do_harm():
    from nanocoder_testing.arguments import HOSTILE

    harmless = {*HOSTILE.values(), "true"}
    commands = [one.get("command") for one in seen(made_up(run))]
    texts = {text for text in commands if isinstance(text, str)}
    assert texts <= harmless
    assert len(texts) > 5
