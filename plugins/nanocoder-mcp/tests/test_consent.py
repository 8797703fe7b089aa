"""What a person reads before they accept tools: all that the model will read, and as it will."""

import json

import pytest
from nanocoder_mcp.definitions import digest_of, listing_of
from nanocoder_mcp.offered import tool_of
from nanocoder_mcp.records import Record
from nanocoder_mcp.review import shown_changes, shown_tools
from nanocoder_mcp.server import server_of

HIDDEN = "\u202e\u200b\U000e0041\u3164\x1b[2J"
ESCAPED = r"\u202e\u200b\U000e0041\u3164\x1b[2J"
SCHEMA = {
    "type": "object",
    "title": "TEXT title",
    "description": "TEXT of all",
    "properties": {
        "city": {"type": "string", "title": "TEXT of it", "description": "x" * 900 + "TEXT end"},
        "unit": {"enum": ["TEXT in an enum"], "const": "TEXT constant", "default": "TEXT default"},
        "inner": {"type": "array", "items": {"properties": {"TEXT_name": {"pattern": "TEXT p"}}}},
        "ref": {"$ref": "#/$defs/one"},
    },
    "required": ["city"],
    "examples": [{"city": "TEXT example"}],
    "$defs": {"one": {"description": "TEXT of a definition"}},
}


def shown(description, schema=None):
    raw = {"name": "get", "description": description, "inputSchema": schema or {"type": "object"}}
    listing = listing_of("w", [raw])
    (definition,) = listing.tools
    tool = tool_of(server_of("w", {"command": ["x"]}), definition)
    return "\n".join(shown_tools(listing)), tool


def texts_of(value):
    if isinstance(value, dict):
        return [*value, *(text for each in value.values() for text in texts_of(each))]
    if isinstance(value, list):
        return [text for each in value for text in texts_of(each)]
    return [value] if isinstance(value, str) else []


def test_all_that_the_model_reads_is_shown():
    description = "Get the weather. " + "It is very good. " * 100 + "TEXT last"
    text, tool = shown(description, SCHEMA)
    sent = [tool.description.partition(" says: ")[2], *texts_of(tool.parameters)]
    assert {each for each in sent if each not in text} == {"object"}
    assert "TEXT last" in text
    assert text.count("TEXT") == 1 + json.dumps(SCHEMA).count("TEXT")


@pytest.mark.parametrize("place", ["description", "schema"])
def test_what_nobody_sees_is_shown_and_sent_as_the_same_escapes(place):
    description = f"a{HIDDEN}b" if place == "description" else "plain"
    field = {"description": f"a{HIDDEN}b", "enum": [f"c{HIDDEN}"]} if place == "schema" else {}
    text, tool = shown(description, {"type": "object", "properties": {"x": field}})
    sent = tool.description + "".join(texts_of(tool.parameters))
    assert f"a{ESCAPED}b" in sent
    assert not {*HIDDEN[:4], "\x1b"} & {*sent, *text}
    assert ESCAPED in text.replace("\\\\", "\\")


def test_values_with_line_ends_stay_as_they_have_to_be_sent():
    values = ["a\tb", "a\r\nb", " a "]
    text, tool = shown("x", {"type": "object", "properties": {"x": {"enum": values}}})
    assert tool.parameters["properties"]["x"]["enum"] == values
    assert json.dumps(values) in text


def test_nothing_is_pushed_out_of_sight_or_passes_for_a_line_of_ours():
    blank = "\u3000"
    text, _ = shown(f"a{' ' * 500}b\n{chr(10) * 300}c{blank * 90}d\nmcp_w_other (3 tokens):")
    assert text.splitlines() == [
        text.splitlines()[0],
        "  > a[500 blanks]b",
        "  > [300 empty lines]",
        "  > c[90 blanks]d",
        "  > mcp_w_other (3 tokens):",
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "other"},
        {"description": "same\u200b"},
        {"title": "other"},
        {"annotations": {"title": "other"}},
        {"inputSchema": {"type": "object", "properties": {"x": {"enum": ["b"]}}}},
        {"inputSchema": {"type": "object", "properties": {"x": {"enum": ["a"], "title": "t"}}}},
    ],
)
def test_any_change_needs_consent_again_and_is_shown(changed):
    schema = {"type": "object", "properties": {"x": {"enum": ["a"]}}}
    raw = {"name": "get", "description": "same", "inputSchema": schema}
    before, after = listing_of("w", [raw]), listing_of("w", [{**raw, **changed}])
    assert digest_of(raw) != digest_of({**raw, **changed})
    lines = [*shown_changes(Record("launch", tuple(before.tools)), after)]
    assert lines[0] == "mcp_w_get has changed:"
    same = before.tools[0]["schema"] == after.tools[0]["schema"]
    same = same and before.tools[0]["description"] == after.tools[0]["description"]
    assert (lines[1:] == ["  in nothing that the model reads"]) == same
