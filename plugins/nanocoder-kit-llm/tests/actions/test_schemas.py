import pytest
from nanocoder_kit_llm.actions.schemas import restrict

INTEGER = {"type": "integer", "minimum": -999_999_999, "maximum": 999_999_999}


def closed(properties, required=()):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(
            {
                "type": "string",
                "minLength": 3,
                "pattern": "^a",
                "format": "uri",
                "description": "x",
            },
            {"type": "string"},
            id="what the engine may not know is cut",
        ),
        pytest.param(
            {"type": "integer", "minimum": 1, "default": 5, "examples": [2], "title": "T"},
            {"type": "integer", "minimum": 1, "maximum": 999_999_999},
            id="a number has an end, notes are cut",
        ),
        pytest.param(
            {"enum": ["a", "b"], "type": "string"}, {"enum": ["a", "b"]}, id="enumeration"
        ),
        pytest.param({"const": "a", "description": "x"}, {"const": "a"}, id="constant"),
        pytest.param(
            {"type": "array", "items": {"type": "string", "maxLength": 9}, "uniqueItems": True},
            {"type": "array", "items": {"type": "string"}},
            id="array",
        ),
        pytest.param({"type": "array"}, {"type": "array", "items": {}}, id="array of anything"),
        pytest.param(
            {"oneOf": [{"type": "string"}, INTEGER]},
            {"anyOf": [{"type": "string"}, INTEGER]},
            id="one of",
        ),
        pytest.param(
            {"type": ["string", "null"], "maxLength": 3},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            id="several types",
        ),
        pytest.param({}, {}, id="anything"),
        pytest.param(True, {}, id="the schema true"),
        pytest.param(
            {"type": "object"}, {"type": "object", "additionalProperties": {}}, id="free object"
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
            {"type": "object", "additionalProperties": {**INTEGER, "minimum": 0}},
            id="map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": False},
            {"type": "object", "additionalProperties": False},
            id="no parameters",
        ),
        pytest.param(
            {
                "properties": {"b": {"type": "string"}, "a": {"type": "string"}},
                "required": ["b", "gone"],
            },
            closed({"b": {"type": "string"}, "a": {"type": "string"}}, ["b"]),
            id="object without a type, in the order of its properties",
        ),
        pytest.param(
            closed({"n": {"anyOf": [INTEGER, {"type": "null"}], "default": None}}),
            closed({"n": INTEGER}),
            id="what can be left out need not be null",
        ),
        pytest.param(
            closed({"n": {"anyOf": [INTEGER, {"type": "null"}]}}, ["n"]),
            closed({"n": {"anyOf": [INTEGER, {"type": "null"}]}}, ["n"]),
            id="what is required may be null",
        ),
        pytest.param(
            {
                "$ref": "#/$defs/A",
                "$defs": {"A": closed({"x": {"$ref": "#/$defs/B"}}), "B": {"enum": [1]}},
            },
            closed({"x": {"enum": [1]}}),
            id="references are resolved",
        ),
        pytest.param(
            {"$ref": "https://example.org/x.json"}, {}, id="a reference elsewhere is anything"
        ),
        pytest.param(
            {
                "allOf": [
                    {"$ref": "#/$defs/A"},
                    {"properties": {"y": {"type": "string"}}, "required": ["y"]},
                ],
                "$defs": {"A": {"type": "object", "properties": {"x": {"type": "string"}}}},
            },
            closed({"x": {"type": "string"}, "y": {"type": "string"}}, ["y"]),
            id="all of",
        ),
    ],
)
def test_a_schema_keeps_only_what_the_engine_compiles(schema, expected):
    assert restrict(schema) == expected


def test_a_schema_that_contains_itself_ends_in_anything():
    tree = {
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        "$ref": "#/$defs/Node",
    }

    depth, node = 0, restrict(tree)
    while node:
        depth, node = depth + 1, node["properties"]["next"]

    assert 2 <= depth <= 12
