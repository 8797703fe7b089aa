"""Which definitions of tools a model gets."""

from types import SimpleNamespace
from typing import Annotated

from nanocoder import Effect, Param, ToolResult, hookimpl, tool
from nanocoder_testing import Scripted, opened, play


def reading(name, **fields):
    def handler() -> str:
        return f"{name} was here"

    told = {"description": f"Do what {name} does.", "effects": {Effect.READ}}
    return tool(name=name, risk="safe", **{**told, **fields})(handler)


class Tools:
    """Two tools with a short description, and three others."""

    def __init__(self):
        alter = reading("alter", effects={Effect.WRITE}, short="Alter it.")
        others = [alter, reading("beta"), reading("gamma", short="Look at it."), look_around]
        self.tools = [*map(reading, ["grep", "read_file"]), *others]

    @hookimpl
    def nanocoder_tools(self):
        return self.tools


@tool(risk="safe", effects={Effect.READ})
def look_around(ctx) -> ToolResult:
    """Name the tools on offer."""
    return ToolResult("named", data=[info.name for info in ctx.tools])


def asked(tmp_path, *turns, **options):
    """Play *turns* and return the requests that were made."""
    plugins = {"tools": Tools(), **options.pop("plugins", {})}
    return play(tmp_path, [*turns, "Done."], plugins=plugins, **options).model.requests


def test_a_small_model_gets_the_files_that_were_typed_and_none_that_an_added_text_names(tmp_path):
    (tmp_path / "a.txt").write_text("A")
    (tmp_path / "b.txt").write_text("B")
    model = Scripted(["Done."], profile="small")
    with opened(tmp_path, model=model) as (session, _):
        list(session.run("It printed b.txt\n\nread a.txt", typed="read a.txt"))
    text = model.requests[0].messages[0].text
    assert text.endswith("It printed b.txt\n\nread a.txt")
    assert "b.txt now reads" not in text


def test_all_tools_are_listed_and_a_tool_knows_them(tmp_path):
    played = play(tmp_path, [[("look_around", {})], "Done."], plugins={"tools": Tools()})
    names = ["alter", "beta", "gamma", "grep", "look_around", "read_file"]
    assert played.results[0].data == names
    first, second = played.model.requests
    assert [definition.name for definition in first.tools] == names
    assert second.tools is first.tools, "a provider encodes them once"


def test_a_small_model_is_told_the_short_texts_as_ever(tmp_path):
    (request,) = asked(tmp_path, model=Scripted(["Done."], profile="small"))
    told = [(one.name, one.description) for one in request.tools]
    assert told == [("alter", "Alter it."), ("gamma", "Look at it.")]


def test_a_small_model_must_give_what_every_example_gives(tmp_path):
    @tool(
        risk="safe",
        effects={Effect.READ},
        examples=[{"a": "x", "b": "y"}, {"a": "x"}],
        short="Look.",
    )
    def look(
        a: Annotated[str, "One."] = "",
        b: Annotated[str, "Two."] = "",
        n: Annotated[int, "Many."] = 0,
        form: Annotated[str, Param("Some.", pattern="^[xyz]?$")] = "",
    ) -> str:
        """Look at things."""
        return f"{a}{b}{n}{form}"

    class Looking:
        @hookimpl
        def nanocoder_tools(self):
            return [look]

    model = Scripted(["Done."], profile="small")
    (request,) = asked(tmp_path, model=model, plugins={"looking": Looking()})
    (told,) = [one.parameters for one in request.tools if one.name == "look"]
    assert (list(told["properties"]), told["required"]) == (["a", "b"], ["a"])


def test_a_small_model_may_give_all_parameters_of_a_tool_without_examples(tmp_path):
    @tool(risk="safe", effects={Effect.READ}, short="Add.")
    def add(a: Annotated[float, "One."], b: Annotated[float, "Two."] = 0.0) -> float:
        """Add numbers."""
        return a + b

    class Adding:
        @hookimpl
        def nanocoder_tools(self):
            return [add]

    model = Scripted(["Done."], profile="small")
    (request,) = asked(tmp_path, model=model, plugins={"adding": Adding()})
    (told,) = [one.parameters for one in request.tools if one.name == "add"]
    assert (list(told["properties"]), told["required"]) == (["a", "b"], ["a"])


def test_a_definition_leaves_out_what_the_check_says_anyway(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def measure(
        unit: Annotated[str, Param("In cm, or in m.", min_length=1)],
        depth: Annotated[int, Param("Levels, up to 9.", ge=1, le=9)] = 2,
        *,
        whole: Annotated[bool, "Everything."] = False,
        again: Annotated[bool, "Twice."] = True,
    ) -> str:
        """Measure it."""
        return "1"

    class Measures:
        @hookimpl
        def nanocoder_tools(self):
            return [measure]

    plugins = {"measures": Measures()}
    played = play(tmp_path, [[("measure", {"unit": "", "deep": 1})], "."], plugins=plugins)
    assert dict(played.model.requests[0].tools[0].parameters) == {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "description": "In cm, or in m"},
            "depth": {"type": "integer", "description": "Levels, up to 9"},
            "whole": {"type": "boolean", "description": "Everything"},
            "again": {"type": "boolean", "description": "Twice", "default": True},
        },
        "required": ["unit"],
    }
    assert played.results[0].error_class == "invalid_arguments"
    assert measure.parameters["additionalProperties"] is False


def test_a_phrase_is_told_without_its_full_stop(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def look(path: Annotated[str, "A file."], how: Annotated[str, "Twice. Then once."]) -> str:
        """Look at it."""
        return path + how

    class Looking:
        @hookimpl
        def nanocoder_tools(self):
            return [look]

    (one,) = play(tmp_path, ["ok"], plugins={"tool-look": Looking()}).model.requests[0].tools
    told = {name: field["description"] for name, field in one.parameters["properties"].items()}
    assert told == {"path": "A file", "how": "Twice. Then once."}


def test_plan_mode_offers_what_policies_hold_to_reading_but_not_to_a_small_model(tmp_path):
    runs = {"effects": {Effect.WRITE, Effect.EXECUTE}, "short": "Run it."}
    more = [reading("run", in_plan=True, **runs), reading("start", **runs)]
    plugins = {"more": SimpleNamespace(nanocoder_tools=hookimpl(lambda: more))}
    names = {one.name for one in asked(tmp_path, mode="plan", plugins=plugins)[0].tools}
    assert "run" in names
    assert not {"start", "alter"} & names
    model = Scripted(["Done."], profile="small")
    with opened(tmp_path, model=model, mode="plan", plugins=plugins) as (session, _):
        list(session.run("go"))
    assert [one.name for one in model.requests[0].tools] == []


def test_the_prompt_says_the_mode_who_answers_and_where_commands_run(tmp_path):
    def prompt(**options):
        return asked(tmp_path, **options)[0].system

    assert "Mode ask" in prompt(mode="ask")
    assert "Nobody is there to answer" in prompt(mode="ask")
    assert "Nobody" not in prompt(mode="edits", interactive=True)
    assert "Mode auto" in prompt(mode="auto")
    assert "answer with a plan" in prompt(mode="plan")
    assert "Commands run" not in prompt(), "no tool starts any"
    runs = reading("run", effects={Effect.EXECUTE})
    plugins = {"more": SimpleNamespace(nanocoder_tools=hookimpl(lambda: [runs]))}
    environment = {"HOME": str(tmp_path), "NANOCODER_SANDBOX": "none"}
    assert "without a sandbox" in prompt(plugins=plugins, environment=environment)
